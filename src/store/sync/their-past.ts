// The history of a verified head, from which ancestors are merged before it: the state after each,
// and the versions that a merge of one has brought. Below a redaction an ancestor is no head of its
// own, since no record in its past says what was erased: it was verified with the whole (FORMAT
// §8.1). Must not be given a head that is not verified.

import type { WorkOptions } from '../../async.ts'
import { assert } from '../../errors.ts'
import { treeOf } from '../../format/commit-sections.ts'
import { parseLinks } from '../../format/commit.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import { readCommitBytes } from '../commits/decoded-commit.ts'
import { catchUp } from '../history/catch-up.ts'
import type { CommitEntry, VersionEntry } from '../history/history-rows.ts'
import { History, type HistorySource } from '../history/history.ts'
import type { Rewritten } from '../redaction/rewrite.ts'
import type { StoreSession } from '../session/session.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { snapshotAt } from '../verify/snapshot-at.ts'
import type { RemoteHead } from './remote-head.ts'
import { moveToRewritten } from './rewritten-head.ts'

/** Our redactions that were applied to their history. */
export interface AppliedRedactions extends Pick<Rewritten, 'commits'> {
  readonly versionIds: ReadonlySet<string>
}

/** The history of a verified head, which must be part of the store. */
export async function loadTheirs(
  { objects, storeId }: StoreSession,
  { snapshot, epochs }: RemoteHead,
  options: WorkOptions,
): Promise<History> {
  const history = new History()
  await catchUp(history, { objects, storeId, epochs }, snapshot.head.commit, options)
  return history
}

export class TheirPast {
  /** As it was verified: contents that our redactions erase can still be read. */
  readonly #history: History
  readonly #redactions: AppliedRedactions | undefined
  /** The positions of rewritten commits. */
  readonly #positions: ReadonlyMap<Oid, number>
  #merged: readonly CommitEntry[] = []

  constructor(history: History, redactions?: AppliedRedactions) {
    this.#history = history
    this.#redactions = redactions
    this.#positions = new Map(
      Array.from(redactions?.commits ?? [], ([position, oid]) => [oid, position]),
    )
  }

  /** The state after an ancestor, as our redactions leave it. */
  async snapshotAt(source: HistorySource, oid: Oid, options: WorkOptions): Promise<Snapshot> {
    const past = this.#history.prefix(this.#history.commits.length)
    await catchUp(past, source, this.#entryOf(source, oid).oid, options)
    const newest = past.commits.length - 1
    const snapshot = await inSlices(snapshotAt(source, past, newest), options.signal)
    if (this.#redactions === undefined) return snapshot
    const tree = treeOf(readCommitBytes(source.objects, oid))
    moveToRewritten(snapshot, { commit: oid, tree }, this.#redactions.versionIds)
    return snapshot
  }

  addMerged(source: HistorySource, oid: Oid): void {
    this.#merged = [...this.#merged, this.#entryOf(source, oid)]
  }

  /**
   * Finds versions that our history, to which the merged ancestors belong, has in common with
   * theirs. Of a redacted one a merge of an ancestor has taken nothing.
   */
  commonWith(ours: History): (versionId: string) => VersionEntry | undefined {
    const isMerged = this.#history.pastOf(...this.#merged)
    return (versionId) => {
      const entry = this.#history.find(versionId)
      if (entry === undefined || ours.find(versionId) !== undefined) return entry
      return isMerged(entry.commit.position) && entry.path !== undefined ? entry : undefined
    }
  }

  /** The commit as it was verified. */
  #entryOf({ objects }: HistorySource, oid: Oid): CommitEntry {
    const position = this.#positions.get(oid)
    const entry =
      position === undefined
        ? this.#history.findCommit(oid, parseLinks(readCommitBytes(objects, oid)).height)
        : this.#history.commits.at(position)
    assert(entry !== undefined, 'an ancestor is in the history')
    return entry
  }
}
