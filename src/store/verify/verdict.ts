// Tells a refusal by verification from failures that prove nothing about a history: those of this
// machine, of the connection, and of a release that is too old. Decides nothing else.

import { type ErrorCode, hasCode, StoreError } from '../../errors.ts'

const failuresOfRemote: readonly ErrorCode[] = [
  'remote_unreachable',
  'remote_timeout',
  'remote_busy',
  'remote_full',
  'remote_auth',
  'remote_untrusted',
  'remote_expired',
  'remote_not_found',
  'remote_protocol',
  'remote_shallow',
  'remote_moved',
  'remote_locked',
  'pack_refused',
]

/** Failures of this machine or of the connection, which say nothing about the history. */
const circumstances: readonly ErrorCode[] = [
  'cancelled',
  'store_closed',
  'upgrade_required',
  'baseline_old',
  'out_of_memory',
  'locked',
  'storage_full',
  'storage_denied',
  'storage_failed',
  'ref_conflict',
  'ref_corrupt',
  'pack_corrupt',
  'journal_corrupt',
  'git_config_invalid',
  ...failuresOfRemote,
]

/** Whether the remote failed to answer a request. */
export function isFailureOfRemote(error: unknown): boolean {
  return hasCode(error, ...failuresOfRemote)
}

/** Whether verification has refused the head, instead of failing to finish. */
export function isVerdict(error: unknown): error is StoreError {
  return error instanceof StoreError && !hasCode(error, ...circumstances)
}
