// Finds what redactions have replaced in the history of a head, if the list of it is damaged:
// commits outside the history with a record that is in it, which a redaction has rewritten, and the
// objects that only they reach. Must not erase anything.

import { toHex } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Erased } from '../../git/repair/repair-site.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import type { OpenSource } from './lost.ts'
import { findCommit, closureOf } from './object-closure.ts'

/** `commits` are all readable commits, `kept` the objects that the head reaches. */
export async function erasedBeside(
  source: OpenSource,
  commits: readonly Oid[],
  kept: ReadonlySet<Oid>,
  signal: AbortSignal | undefined,
): Promise<Erased> {
  const records = new Set(commits.flatMap((oid) => (kept.has(oid) ? recordOf(source, oid) : [])))
  const rewritten = [...new Set(commits)].filter((oid) => {
    return !kept.has(oid) && recordOf(source, oid).some((record) => records.has(record))
  })
  const tips = new Set(rewritten)
  for (const oid of rewritten) {
    for (const parent of findCommit(source.objects, oid)?.parents ?? []) tips.delete(parent)
  }
  const dead = new Set<Oid>()
  for (const tip of tips) {
    for (const oid of (await closureOf(source.objects, tip, signal)).oids) {
      if (!kept.has(oid)) dead.add(oid)
    }
  }
  return { commits: rewritten, dead }
}

/** The record hash in hex; empty for a commit that cannot be opened. */
function recordOf({ objects, storeId, epochs }: OpenSource, oid: Oid): readonly string[] {
  try {
    return [toHex(decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid)).hash)]
  } catch (error) {
    if (error instanceof StoreError) return []
    throw error
  }
}
