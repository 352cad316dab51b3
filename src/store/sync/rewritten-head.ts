// Moves a verified snapshot to the head that a redaction has rewritten.

import type { CurrentVersion } from '../snapshot/live-memory.ts'
import type { Head, Snapshot, Undo } from '../snapshot/snapshot.ts'

/** The records at a rewritten head are the same, and erased versions are not live. */
export function moveToRewritten(
  snapshot: Snapshot,
  head: Pick<Head, 'commit' | 'tree'>,
  versionIds: ReadonlySet<string>,
): Undo {
  const memories = new Map<string, CurrentVersion>()
  for (const version of snapshot.current.live()) {
    if (!versionIds.has(version.versionId)) continue
    memories.set(version.live.memoryId, { ...version, live: undefined })
  }
  const unchanged = {
    devices: new Map(),
    grants: new Map(),
    keyring: undefined,
    settings: undefined,
  }
  const undo = snapshot.apply({ head: { ...snapshot.head, ...head }, memories, ...unchanged })
  const added = [...versionIds].filter((id) => !snapshot.redacted.has(id))
  for (const versionId of added) snapshot.redacted.add(versionId)
  return () => {
    undo()
    for (const versionId of added) snapshot.redacted.delete(versionId)
  }
}
