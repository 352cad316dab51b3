// The kinds of refusal of the reference decoder: the envelope and verification codes of the
// product, by name alone. Test vectors assert the kind, which is the part of the message before the
// colon. Nothing under this folder may import from src/: it is a second implementation of
// docs/FORMAT.md.

export type Refusal =
  | 'not_a_store'
  | 'upgrade_required'
  | 'incomplete_clone'
  | 'wrong_key'
  | 'invalid_identity'
  | 'invalid_input'
  | 'invalid_path'
  | 'weak_key_parameters'
  | 'permission_denied'
  | 'object_missing'
  | 'object_corrupt'
  | 'envelope_truncated'
  | 'envelope_magic'
  | 'envelope_suite'
  | 'envelope_type'
  | 'envelope_flags'
  | 'envelope_epoch'
  | 'envelope_commitment'
  | 'envelope_tag'
  | 'envelope_padding'
  | 'envelope_salt'
  | 'store_id_mismatch'
  | 'store_seed_mismatch'
  | 'public_file_mismatch'
  | 'commit_too_large'
  | 'commit_malformed'
  | 'commit_not_canonical'
  | 'group_signature_invalid'
  | 'record_malformed'
  | 'record_parents'
  | 'record_height'
  | 'record_keyring'
  | 'record_epoch'
  | 'record_device'
  | 'device_forked'
  | 'record_late'
  | 'wraps_malformed'
  | 'start_malformed'
  | 'grant_known'
  | 'grant_foreign'
  | 'grant_ended'
  | 'record_role'
  | 'device_signature_invalid'
  | 'record_sequence'
  | 'record_chain'
  | 'record_rows'
  | 'row_base_mismatch'
  | 'row_memory_exists'
  | 'row_memory_missing'
  | 'row_missing'
  | 'row_path_conflict'
  | 'redact_target'
  | 'detail_missing'
  | 'detail_malformed'
  | 'detail_mismatch'
  | 'redaction_undone'
  | 'duplicate_record'
  | 'memory_malformed'
  | 'memory_mismatch'
  | 'tree_mismatch'
  | 'keyring_malformed'
  | 'keyring_slots'
  | 'keyring_mismatch'
  | 'keyring_chain'
  | 'keyring_conflict'
  | 'merge_needs_owner'
  | 'settings_malformed'
  | 'settings_mismatch'

/** Throws an Error whose message is `kind: sentence`. */
export function refuse(kind: Refusal, sentence: string): never {
  throw new Error(`${kind}: ${sentence}`)
}

/** Throws as `refuse` does unless `condition` holds. */
export function ensure(condition: boolean, kind: Refusal, sentence: string): asserts condition {
  if (!condition) refuse(kind, sentence)
}
