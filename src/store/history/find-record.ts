// Finds a record in a history. Redactions give commits other ids, but not their records, so whether
// a history contains another one is decided on records.

import { equalBytes } from '../../bytes.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import type { CommitEntry } from './history-rows.ts'
import type { History, HistorySource } from './history.ts'

/** The entry of a record, under whichever commit id; undefined if the history lacks it. */
export function findRecord(
  source: HistorySource,
  history: History,
  { height, record }: { readonly height: number; readonly record: Uint8Array },
): CommitEntry | undefined {
  return history.atHeight(height).find(({ oid }) => {
    const bytes = readCommitBytes(source.objects, oid)
    return equalBytes(decodeCommit(source.storeId, source.epochs, oid, bytes).hash, record)
  })
}
