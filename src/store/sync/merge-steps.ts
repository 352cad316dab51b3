// Chooses ancestors of another head to merge before it: a merge has a row for every memory that
// both sides changed (FORMAT §6.4), and may need more than one commit holds. Merging an ancestor
// settles the memories that no later commit changes. Decides only: merge-heads.ts
// merges.

import { writesVersions } from '../../format/record-rules.ts'
import type { Oid } from '../../git/objects/object.ts'
import { rowsMax } from '../../limits.ts'
import { TimeSlice } from '../../time-slice.ts'
import { type CommitSource, decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import type { Divergence } from '../commits/divergence.ts'
import type { SyncOptions } from './options.ts'

/**
 * The ancestors of their head that may be merged first, the best first: the newest for which at
 * most half of what their head leaves open is open, or else the oldest. A commit has a row for each
 * memory that it changes, so that step by step every history is taken over.
 */
export async function findSteps(
  source: CommitSource,
  divergence: Divergence,
  late: ReadonlySet<Oid>,
  options: Pick<SyncOptions, 'signal' | 'rowsMax'>,
): Promise<readonly Oid[]> {
  const { ours, theirs } = divergence
  const slice = new TimeSlice(options.signal)
  const shared = [...theirs.memories].filter((memoryId) => ours.memories.has(memoryId)).length
  const most = Math.min(Math.floor(shared / 2), options.rowsMax ?? rowsMax)
  const open = new Set<string>()
  const steps: Oid[] = []
  // The newest commit is the head itself.
  for (const oid of theirs.commits.slice(1).toReversed()) {
    if (slice.isOver()) await slice.next()
    const { objects, storeId, epochs } = source
    const { record } = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
    const rows = writesVersions(record) ? record.rows : []
    for (const { memoryId } of rows) if (ours.memories.has(memoryId)) open.add(memoryId)
    if (late.has(oid)) continue
    if (open.size > most && steps.length > 0) break
    steps.push(oid)
  }
  return steps.toReversed()
}
