// Verifies a history that a redaction has rewritten or a merge has extended below the known head:
// only the commits above the newest known one that all of them descend from (FORMAT §8.1, §10).

import { StoreError } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import type { History, HistorySource } from '../history/history.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { findNewCommits } from './new-commits.ts'
import { snapshotAt } from './snapshot-at.ts'
import { verifyForward, verifyHistory, type VerifyOptions, VersionMap } from './verify.ts'

export interface VerifiedAgain {
  readonly snapshot: Snapshot
  /**
   * The position up to which the known history is unchanged: all of that is in the past of the
   * head. -1 if nothing is.
   */
  readonly base: number
}

/**
 * `findAt` gives a verified snapshot of the commit that all new ones descend from, if the caller
 * has one. Throws what verification throws.
 */
export async function verifyRewritten(
  source: HistorySource,
  history: History,
  head: Oid,
  options: VerifyOptions = {},
  findAt: (commit: Oid) => Promise<Snapshot | undefined> = async () => undefined,
): Promise<VerifiedAgain> {
  const isCut = (oid: Oid, height: number): boolean => {
    return history.findCommit(oid, height)?.isCut === true
  }
  const found = await findNewCommits(source, head, isCut, -1, options)
  const below = found?.base
  const base = below === undefined ? undefined : findPosition(history, below)
  if (found === undefined || below === undefined || base === undefined) {
    const { snapshot } = await verifyHistory(source, head, options)
    return { snapshot, base: -1 }
  }
  const known =
    (await findAt(below)) ?? (await inSlices(snapshotAt(source, history, base), options.signal))
  checkBelow(history, base, found.redacted)
  const redacted = new Set([...known.redacted, ...found.redacted])
  const findMemory = (versionId: string): string | undefined => {
    const entry = history.find(versionId)
    return entry === undefined || entry.commit.position > base ? undefined : entry.memoryId
  }
  const versions = new VersionMap({ findMemory })
  const context = { ...source, redacted, versions }
  const snapshot = await verifyForward(context, known.with({ redacted }), found, options)
  return { snapshot, base }
}

function findPosition(history: History, oid: Oid): number | undefined {
  for (const commit of history.commits.reversed()) if (commit.oid === oid) return commit.position
  return undefined
}

/** A version redacted in the unchanged part must have been redacted there before. */
function checkBelow(history: History, base: number, redacted: ReadonlySet<string>): void {
  for (const versionId of redacted) {
    const entry = history.find(versionId)
    if (entry === undefined || entry.commit.position > base || entry.path === undefined) continue
    throw new StoreError('redaction_undone', 'A redacted version has its text back')
  }
}
