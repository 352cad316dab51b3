// Heads of a remote that are refused: which errors are a verdict on the history that it shows, and
// which of those `--repair` may answer by putting ours in its place. Decides; sync.ts acts.

import { hasCode, StoreError } from '../../errors.ts'
import type { ErrorCode } from '../../errors.ts'
import type { Oid } from '../../git/object.ts'
import { decodeCommit, openDetail, readCommitBytes } from '../decoded-commit.ts'
import type { History, HistorySource } from '../history.ts'

const failuresOfRemote: readonly ErrorCode[] = [
  'remote_unreachable',
  'remote_timeout',
  'remote_auth',
  'remote_not_found',
  'remote_protocol',
  'remote_moved',
  'pack_refused',
]

/** What stands in the way on this machine, or on the way to the other. */
const circumstances: readonly ErrorCode[] = [
  'cancelled',
  'store_closed',
  'upgrade_required',
  'out_of_memory',
  'locked',
  'storage_full',
  'storage_denied',
  'storage_failed',
  'ref_conflict',
  'pack_corrupt',
  'journal_corrupt',
  ...failuresOfRemote,
]

/** Whether the remote did not hand over what it was asked for. */
export function isFailureOfRemote(error: unknown): boolean {
  return hasCode(error, ...failuresOfRemote)
}

/** Whether verifying a head has ended with a verdict on it. */
export function isVerdict(error: unknown): error is StoreError {
  return error instanceof StoreError && !hasCode(error, ...circumstances)
}

/**
 * Not where the owners may have removed this device: it cannot tell that from a keyring that nobody
 * can open, and must not take their history from the others.
 */
export function isReplaceable(verdict: StoreError): boolean {
  return !hasCode(verdict, 'wrong_key')
}

/** As far as this is looked for; a head that is further away counts as one that does. */
const WALK_MAX = 10_000

/**
 * Whether a refused head leads to versions that are redacted here, or may: a ref to it would make
 * them reachable again.
 */
export function leadsToErased(
  { objects, storeId, epochs }: HistorySource,
  history: History,
  head: Oid,
  redacted: ReadonlySet<string>,
): boolean {
  if (redacted.size === 0) return false
  try {
    const reached = new Set([head])
    for (const oid of reached) {
      const bytes = readCommitBytes(objects, oid)
      const commit = decodeCommit(storeId, epochs, oid, bytes)
      if (history.findCommit(oid, commit.record.height) !== undefined) continue
      const details = openDetail(storeId, commit)
      const isErased = (row: number): boolean =>
        redacted.has(commit.record.rows[row]?.versionId ?? '')
      if ([...details.keys()].some(isErased) || reached.size > WALK_MAX) return true
      for (const parent of commit.parts.parents) reached.add(parent)
    }
    return false
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    return true
  }
}
