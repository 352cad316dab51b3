// Heads of remotes that were refused for good: the next syncs, also of later processes, refuse them
// again without fetching and verifying them, until the remote shows another head. A note must not
// lock a clone out of an honest head: it holds only what no later sync could judge otherwise, and
// only as long as the clone knows no more that such a judgement depends on.

import { type ErrorCode, hasCode, StoreError } from '../../errors.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { StoreSession } from '../session/session.ts'
import type { Peer } from './remote-state.ts'

/** Raised by a release that accepts a head which an earlier one has refused. */
const VERIFICATION_VERSION = 1

/**
 * Refusals that follow from the bytes of commits, which their ids fix. Keys and objects may arrive
 * later, a redaction elsewhere explains missing details and other trees, and users decide on
 * the rest: those are not in the list.
 */
const lasting: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'envelope_truncated',
  'envelope_magic',
  'envelope_type',
  'envelope_flags',
  'envelope_commitment',
  'envelope_tag',
  'envelope_padding',
  'envelope_salt',
  'commit_too_large',
  'commit_malformed',
  'commit_not_canonical',
  'group_signature_invalid',
  'record_malformed',
  'record_parents',
  'record_height',
  'record_keyring',
  'record_epoch',
  'record_device',
  'record_after_revocation',
  'record_role',
  'record_sequence',
  'record_chain',
  'record_rows',
  'device_signature_invalid',
  'grant_known',
  'grant_limit',
  'grant_time',
  'grant_foreign',
  'grant_ended',
  'row_base_mismatch',
  'row_memory_exists',
  'row_memory_missing',
  'row_path_conflict',
  'detail_malformed',
  'detail_mismatch',
  'duplicate_record',
  'memory_malformed',
  'memory_mismatch',
  'keyring_malformed',
  'keyring_mismatch',
  'keyring_slots',
  'keyring_chain',
  'settings_malformed',
  'settings_mismatch',
])

/** The refusal of a head that this clone has refused before and would refuse again. */
export async function findNotedRefusal(
  { session, remote }: Peer,
  head: Oid,
): Promise<StoreError | undefined> {
  const { name, url } = remote
  const noted = await session.seenRemotes.findRefusal(name, url, head)
  if (noted === undefined || noted.basis !== (await basisOf(session))) return undefined
  const { code, message, details } = noted
  return new StoreError(code, message, { details })
}

/** Notes a refusal that lasts. A note that cannot be written is left out. */
export async function noteRefusal(
  { session, remote }: Peer,
  head: Oid,
  { code, message, details }: StoreError,
): Promise<void> {
  if (!lasting.has(code)) return
  const { name, url } = remote
  const basis = await basisOf(session)
  const refusal = { name, url, head, basis, code, message, details }
  const { objects, seenRemotes } = session
  try {
    await objects.exclusive(() => seenRemotes.noteRefusal(refusal))
  } catch (error) {
    if (!(error instanceof StoreError) || hasCode(error, 'cancelled', 'store_closed')) throw error
  }
}

/** All that a judgement depends on but the head: the release, redactions, the beginning. */
async function basisOf(session: StoreSession): Promise<string> {
  const redacted = await session.reading((now) => now.redacted.size)
  const begins = session.beginning?.snapshot.head.commit ?? 'genesis'
  return `${VERIFICATION_VERSION} ${redacted} ${begins}`
}
