// Heads of a remote that are refused: which errors are a verdict on the history that it shows, and
// which of those `--repair` may answer by putting ours in its place. Decides; receive.ts acts.

import { type ErrorCode, hasCode, StoreError } from '../../errors.ts'

const failuresOfRemote: readonly ErrorCode[] = [
  'remote_unreachable',
  'remote_timeout',
  'remote_auth',
  'remote_untrusted',
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
  'ref_corrupt',
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
