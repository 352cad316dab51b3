// What tells that the device whose start a clone began with has lied (FORMAT §8.3, §13): a refusal
// at or below the state that it has described. Objects are named by their hashes, so that neither
// the remote nor another member can cause one of these. Names the device, and decides nothing.

import { type ErrorCode, StoreError } from '../../errors.ts'
import { deviceIdOf, formatId } from '../../format/id.ts'
import type { StoreSession } from '../session/session.ts'

/** Failures of this machine and of the remote, or of an older release: no one has lied then. */
const circumstances: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
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
  'object_missing',
  'object_corrupt',
  'pack_corrupt',
  'journal_corrupt',
  'history_needed',
  'baseline_false',
])

/** The error for a refusal at or below the described state; any other error as it is. */
export function blamed(session: StoreSession, error: unknown): unknown {
  if (!(error instanceof StoreError) || circumstances.has(error.code)) return error
  const { code, message } = error
  return falseStart(session, `a state whose history is refused: ${message} (${code})`, error)
}

/** `what` the device has described, as the end of a sentence. */
export function falseStart(
  { identity, beginning }: StoreSession,
  what: string,
  cause?: StoreError,
): StoreError {
  const deviceId = identity.grant ? deviceIdOf(identity.grant.granterKey) : beginning?.deviceId
  const device = formatId('device', deviceId ?? '')
  return new StoreError(
    'baseline_false',
    `The device ${device}, which gave the grant of this clone, has described ${what}`,
    { cause, ...(cause && { details: cause.details }) },
  )
}
