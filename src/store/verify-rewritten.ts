// Verifies a history of which a part is known: where it was rewritten by a redaction, only what
// lies above the newest commit that both have (FORMAT §8.1, §10).

import { StoreError } from '../errors.ts'
import type { Oid } from '../git/object.ts'
import type { History, HistorySource } from './history.ts'
import type { Snapshot } from './snapshot.ts'
import { snapshotAt } from './snapshot-at.ts'
import { findNewCommits, VersionMap, verifyForward, verifyHistory } from './verify.ts'
import type { VerifyOptions } from './verify.ts'

/** `base` is the height of that commit, -1 for none. Throws what verification refuses. */
export async function verifyRewritten(
  source: HistorySource,
  history: History,
  head: Oid,
  options: VerifyOptions = {},
): Promise<{ readonly snapshot: Snapshot; readonly base: number }> {
  const isKnown = (oid: Oid, height: number): boolean => history.commits[height]?.oid === oid
  const { oids, redacted, base } = await findNewCommits(source, head, isKnown, options)
  if (base === -1) return { ...(await verifyHistory(source, head, options)), base }
  const snapshot = snapshotAt(source, history, base)
  checkBelow(history, base, redacted)
  for (const versionId of redacted) snapshot.redacted.add(versionId)
  const findMemory = (versionId: string): string | undefined => {
    const entry = history.find(versionId)
    return entry === undefined || entry.commit.height > base ? undefined : entry.memoryId
  }
  const versions = new VersionMap({ findMemory })
  await verifyForward({ ...source, redacted: snapshot.redacted, versions }, snapshot, oids, options)
  return { snapshot, base }
}

/** What is redacted in the part that stayed must have been redacted there before. */
function checkBelow(history: History, base: number, redacted: ReadonlySet<string>): void {
  for (const versionId of redacted) {
    const entry = history.find(versionId)
    if (entry === undefined || entry.commit.height > base || entry.path === undefined) continue
    throw new StoreError('redaction_undone', 'A redacted version has its detail back')
  }
}
