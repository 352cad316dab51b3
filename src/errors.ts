// The one error class of the product and the closed list of its codes.
// `operations/error-surface.ts` maps each code to HTTP status, exit code, retryability and advice;
// a code without a row there does not compile. Messages never hold plaintext of a memory, key
// material or host paths.

/** What the caller asked for cannot be done; nothing was changed. */
export type RequestCode =
  | 'invalid_input'
  | 'invalid_path'
  | 'not_found'
  | 'path_conflict'
  | 'move_into_itself'
  | 'no_match'
  | 'multiple_matches'
  | 'invalid_line'
  | 'too_many_lines'
  | 'precondition_failed'
  | 'time_doubtful'
  | 'content_too_large'
  | 'change_too_large'
  | 'store_full'
  | 'read_only'
  | 'permission_denied'
  | 'store_archived'
  | 'redacted'
  | 'version_current'
  | 'sensitive_content'
  | 'cancelled'
  | 'unauthenticated'
  | 'request_too_large'
  | 'rate_limited'

/** The store cannot be opened, or not with this key. */
export type OpenCode =
  | 'not_a_store'
  | 'store_exists'
  | 'store_closed'
  | 'unsupported_repository'
  | 'upgrade_required'
  | 'incomplete_clone'
  | 'wrong_key'
  | 'invalid_identity'
  | 'weak_key_parameters'
  | 'out_of_memory'

/** The disk or another process prevents the operation. */
export type StorageCode =
  | 'locked'
  | 'storage_full'
  | 'storage_denied'
  | 'storage_failed'
  | 'ref_conflict'
  | 'object_missing'
  | 'object_corrupt'
  | 'pack_corrupt'
  | 'journal_corrupt'
  | 'ref_corrupt'

/** A remote failed or cannot be reached. Local work is safe. */
export type RemoteCode =
  | 'membership_pending'
  | 'grant_expired'
  | 'grant_keys_missing'
  | 'history_needed'
  | 'baseline_old'
  | 'remote_unreachable'
  | 'remote_timeout'
  | 'remote_busy'
  | 'remote_full'
  | 'remote_auth'
  | 'remote_untrusted'
  | 'remote_expired'
  | 'remote_not_found'
  | 'remote_protocol'
  | 'remote_shallow'
  | 'remote_moved'
  | 'remote_locked'
  | 'push_rejected'
  | 'pack_refused'
  | 'git_config_invalid'

/** FORMAT §3: an envelope that must not be opened. */
export type EnvelopeCode =
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

/** FORMAT §5–§8: a history that must not be accepted. */
export type VerificationCode =
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
  | 'record_after_revocation'
  | 'grant_known'
  | 'grant_limit'
  | 'grant_time'
  | 'grant_foreign'
  | 'grant_ended'
  | 'wraps_malformed'
  | 'baseline_malformed'
  | 'baseline_false'
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
  | 'not_canonical'
  | 'duplicate_record'
  | 'memory_malformed'
  | 'memory_mismatch'
  | 'tree_mismatch'
  | 'keyring_malformed'
  | 'keyring_mismatch'
  | 'keyring_slots'
  | 'keyring_chain'
  | 'keyring_conflict'
  | 'merge_needs_owner'
  | 'merge_held'
  | 'settings_malformed'
  | 'settings_mismatch'
  | 'certificate_invalid'
  | 'report_invalid'
  | 'anchor_corrupt'
  | 'freshness_corrupt'
  | 'left_out_corrupt'
  | 'rolled_back'

export type ErrorCode =
  | RequestCode
  | OpenCode
  | StorageCode
  | RemoteCode
  | EnvelopeCode
  | VerificationCode

/** Machine-readable facts about a failure; the message is for the user. */
export interface ErrorDetails {
  /** The commit, as 40 hex digits, at which verification stopped. */
  readonly commit?: string
  /** The store path that conflicts, or that was refused. */
  readonly path?: string
  /** The memory at that path, if there is one. */
  readonly memoryId?: string
  /** The parameter of an operation that is missing or wrong. */
  readonly parameter?: string
  /** The owner, `dev_…`, who took the keys from this device. */
  readonly removedBy?: string
  /** `auditor` if the keys of this device allow no more than that role. */
  readonly role?: string
  /** The 1-based lines at which a text occurs, one entry per occurrence. */
  readonly lines?: readonly number[]
  /** SHA-256, in hex, of a refused text that an owner could let through. */
  readonly sha256?: string
  /** The versions, `memver_…`, that prevent the operation. */
  readonly versionIds?: readonly string[]
  /** A size, count or line that was too large, and its bound. */
  readonly actual?: number
  readonly limit?: number
  /** Commits that a remote has received before sending more failed. */
  readonly sentCommits?: number
  /** For a store that was put back: the head that was verified here last, and the present one. */
  readonly verified?: HeadState
  readonly present?: HeadState
  /** For a revert by time that would change nothing because of it. */
  readonly doubtful?: DoubtfulTimes
  /** The `RedactionCertificate` of a redaction that is not erased from the disk yet. */
  readonly certificate?: object
}

/** A head, as people compare heads of different times or machines. */
export interface HeadState {
  /** 40 hex digits; undefined where an earlier release noted the head. */
  readonly commit: string | undefined
  readonly height: number
  /** ms since 1970: when it was verified here, or written. */
  readonly time: number | undefined
  /** Twelve words (FORMAT §9.2). */
  readonly words: readonly string[]
}

/** The author and the time of a record. */
export interface DoubtfulRecord {
  /** One of the versions that it wrote, `memver_…`, if it wrote any. */
  readonly versionId: string | undefined
  /** Its author, `dev_…`: a device, or the holder of a grant. */
  readonly deviceId: string
  readonly byGrant: boolean
  readonly session: string | undefined
  /** The time that it states, ms since 1970. */
  readonly time: number
}

/** Changes whose place in time is in doubt; at least one of the numbers is not 0. */
export interface DoubtfulTimes {
  /** Included as older than the time, though they are stamped later. */
  readonly stampedLater: number
  /** Included by times of their own that changes before them contradict: they may be newer. */
  readonly datedBack: number
  /** Left out, though it is uncertain that they belong to another time. */
  readonly leftOut: number
  /** The newest few of all these, newest first. */
  readonly newest: readonly DoubtfulRecord[]
  /** The records that cause the doubt: one for each of a few devices and grants. */
  readonly causes: readonly DoubtfulRecord[]
}

export interface StoreErrorOptions {
  readonly cause?: unknown
  readonly details?: ErrorDetails
}

/**
 * An expected failure. `code` is stable; `message` is one sentence without a final period: what
 * failed, and what to do.
 */
export class StoreError extends Error {
  override readonly name: string = 'StoreError'
  readonly code: ErrorCode
  readonly details: ErrorDetails

  /** @internal */
  constructor(code: ErrorCode, message: string, options: StoreErrorOptions = {}) {
    // It may repeat an input with an unpaired surrogate, which would make a request malformed.
    super(
      message.toWellFormed(),
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.code = code
    this.details = wellFormed(options.details ?? {})
  }
}

function wellFormed(details: ErrorDetails): ErrorDetails {
  const { path, parameter } = details
  return {
    ...details,
    ...(typeof path === 'string' && { path: path.toWellFormed() }),
    ...(typeof parameter === 'string' && { parameter: parameter.toWellFormed() }),
  }
}

/** Whether `error` is a StoreError with one of these codes. */
export function hasCode(error: unknown, ...codes: readonly ErrorCode[]): error is StoreError {
  return error instanceof StoreError && codes.includes(error.code)
}

/** Throws if `condition` is false, which is a bug in this program. Never caught. */
export function assert(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`Internal error: ${what}`)
}
