// What each error code means to callers: HTTP status and error type (Memory Stores API §2), exit
// code, whether the same request may succeed later, and what to do. The one table for all adapters;
// a code without a row does not compile. docs/ERRORS.md is generated from it.

import { type ErrorCode, StoreError } from '../errors.ts'
import type { ExitCode } from './exit-codes.ts'

/** `error.type` of an answer of the Memory Stores API. */
export type WireErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'conflict_error'
  | 'memory_path_conflict_error'
  | 'memory_precondition_failed_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'api_error'
  | 'timeout_error'

export interface ErrorSurface {
  /** HTTP status. */
  readonly status: number
  readonly type: WireErrorType
  readonly exitCode: ExitCode
  /** Whether the same request may succeed if it is made again. */
  readonly retryable: boolean
  /** What to do, as one sentence without a final period. */
  readonly advice: string
}

/** About the anchor: why it is not backed up with the store. */
export const keepStateApart: string =
  'never restore the state directory from a backup: its anchor reveals that a store was rolled ' +
  'back, and an older anchor does not'

/** About a store that was restored from a backup on purpose. */
export const afterBackup: string =
  'After restoring the store from a backup, accept it with `gitlocket verify ' +
  '--accept-rolled-back`, then run `gitlocket sync` before you write anything'

/** About a database of servers that was put back to an older state. */
export const afterDatabase: string =
  'If the database was put back on purpose, end the servers and run ' +
  '`gitlocket serve accept-restored`; if no one did, find out who changed it'

/** About files that are damaged or missing. */
export const mendStore: string =
  'Run `gitlocket doctor --repair`; with `--from` and a remote, a backup or another clone, it ' +
  'takes the missing objects from there'

const distrust =
  'Do not use this copy; compare it with another device or a backup, and find out why it differs'
const makeRoom = 'Delete memories that are no longer needed, or ask an owner to raise the limit'

/** Every code, in the order of errors.ts. */
export const errorSurface: Readonly<Record<ErrorCode, ErrorSurface>> = {
  invalid_input: invalid(
    'Change the request as the message describes; the same one is refused again',
  ),
  invalid_path: invalid('Give a path such as /notes/today.md'),
  not_found: row(
    404,
    'not_found_error',
    3,
    'List the memories with `gitlocket ls -R`; `gitlocket log` also lists deleted ones',
  ),
  path_conflict: row(
    409,
    'memory_path_conflict_error',
    4,
    'Choose another path, or rename or delete the file that is in the way',
  ),
  move_into_itself: invalid('Choose a destination outside the directory that moves'),
  no_match: invalid('View the file and copy the text exactly, white space included'),
  multiple_matches: invalid('Include more of the surrounding text, so that it occurs once'),
  invalid_line: invalid('View the file and give one of its lines'),
  too_many_lines: limit('Read the content as a whole, or split it into several files'),
  precondition_failed: row(
    409,
    'memory_precondition_failed_error',
    4,
    'Read the memory again and repeat the change on its current content',
  ),
  time_doubtful: invalid(
    'Take the times as they are stamped (`--stamped`), undo the session or the grant that wrote ' +
      'it, or name a version instead of a time',
  ),
  content_too_large: limit('Split the content into smaller files'),
  change_too_large: limit('Change the subdirectories one by one'),
  store_full: limit(makeRoom),
  read_only: refused('Ask for read_write access if the change is wanted'),
  permission_denied: refused('Run it on a device whose role allows it: an owner gives roles'),
  store_archived: refused('Write to another store; this one can only be read and emptied', {
    status: 400,
    type: 'invalid_request_error',
  }),
  redacted: refused('It cannot be recovered; read another version', {
    status: 400,
    type: 'invalid_request_error',
  }),
  // Not a 409: SDKs repeat those, and this remains refused.
  version_current: refused('Delete or overwrite the memory first; `redact` can do it in one step', {
    status: 400,
    type: 'invalid_request_error',
  }),
  sensitive_content: refused('Leave the secret out; say where it is kept instead', {
    status: 400,
    type: 'invalid_request_error',
  }),
  cancelled: row(
    504,
    'timeout_error',
    130,
    'Start again; the steps already completed are kept',
    true,
  ),

  unauthenticated: row(
    401,
    'authentication_error',
    6,
    'Send an API key of this server that is not revoked, or the token of a session that runs',
  ),
  request_too_large: row(413, 'request_too_large', 5, 'Send less in one request'),
  rate_limited: row(
    429,
    'rate_limit_error',
    10,
    'Send fewer requests at once; this one was not begun',
    true,
  ),

  not_a_store: unopened(
    'Check the path of the store; `gitlocket init` creates one, `gitlocket join` clones one',
  ),
  store_exists: row(409, 'conflict_error', 4, 'Open the store that is there, or name another path'),
  store_closed: row(500, 'api_error', 1, 'Open the store again'),
  unsupported_repository: unopened('Use a bare repository with SHA-1 objects and plain files'),
  upgrade_required: unopened('Use the version of gitlocket that wrote it, or a newer one'),
  incomplete_clone: unopened('Clone again with the whole history'),
  wrong_key: locked('Check which identity, passphrase or recovery key belongs to this store'),
  invalid_identity: locked(
    'Correct the identity or the permissions of its file, restore it from a backup, or enrol ' +
      'this machine again; if others may have read it, remove this device',
  ),
  weak_key_parameters: locked('Do not enter the passphrase; get the store from a trusted copy'),
  out_of_memory: row(500, 'api_error', 9, 'Free memory, or use a machine that has more', true),

  locked: row(409, 'conflict_error', 10, 'Wait for the other process, or end it', true),
  storage_full: row(
    507,
    'api_error',
    9,
    'Free space on the disk; acknowledged writes are safe, and reading still works',
  ),
  storage_denied: storage('Check owner and permissions of the files of the store'),
  storage_failed: storage('Check the disk and the log of the system'),
  ref_conflict: row(409, 'conflict_error', 10, 'Try again; something else moved the branch', true),
  object_missing: tampered(mendStore),
  object_corrupt: tampered(mendStore),
  pack_corrupt: tampered(mendStore),
  journal_corrupt: row(
    500,
    'api_error',
    17,
    'Write nothing; run `gitlocket doctor`, which reports the intact part and how to continue',
  ),
  ref_corrupt: tampered(mendStore),

  remote_unreachable: offline('Check the network and the address; synchronise again later'),
  remote_timeout: offline('Synchronise again later; the other side or the network is too slow'),
  remote_busy: offline('Synchronise again later, after the time that the message names, if any'),
  remote_full: refusedByRemote(
    'Free space on the host, or raise the quota of the repository; then synchronise again',
  ),
  remote_auth: refusedByRemote(
    'For https, give a credential helper of git the account, or set GITLOCKET_TOKEN to `token` ' +
      'or `user:token`, and GITLOCKET_TOKEN_HOST to its host; for ssh, use a key that the host ' +
      'knows',
  ),
  remote_untrusted: refusedByRemote(
    'Make sure that it is the right host; then, for https, name the certificates to trust with ' +
      'GIT_SSL_CAINFO or http.sslCAInfo of git, and for ssh, connect once by hand',
  ),
  membership_pending: row(409, 'conflict_error', 13, 'Run `gitlocket sync`, and then this again'),
  grant_expired: refused('Have a device of the store give another one: `gitlocket grant give`'),
  grant_keys_missing: row(
    409,
    'conflict_error',
    4,
    'Sync the device that gave the grant, and then this one; or ask for another grant',
    true,
  ),
  history_needed: row(
    409,
    'conflict_error',
    4,
    'If the message does not name another way, run `gitlocket fetch --all`',
  ),
  baseline_old: row(
    409,
    'conflict_error',
    4,
    'Sync the device that gave the grant, and then this one; if that device does sync, compare ' +
      'the words of `gitlocket status` there and here, and do not trust the remote',
    true,
  ),
  remote_expired: refusedByRemote(
    'Correct the clock of this machine if it is wrong; else renew the certificate of the host',
  ),
  remote_not_found: refusedByRemote('Check the address, or create the repository on the host'),
  remote_protocol: refusedByRemote('Check that the address is that of a git repository'),
  remote_shallow: refusedByRemote(
    'Make it whole with `git fetch --unshallow` there, or synchronise with another repository',
  ),
  remote_moved: row(409, 'conflict_error', 10, 'Synchronise again; another device pushed', true),
  remote_locked: refusedByRemote(
    'If no other push to it is running, delete the file that the remote names, which a program ' +
      'that died has left there; then synchronise again',
  ),
  push_rejected: refusedByRemote('Follow the message, then synchronise again'),
  pack_refused: tampered('Do not trust this remote; nothing that it sent was kept'),
  git_config_invalid: invalid(
    'Correct the configuration of git: `git config --global --list` shows where the mistake is',
  ),

  envelope_truncated: tampered(distrust),
  envelope_magic: tampered(distrust),
  envelope_suite: tampered(distrust),
  envelope_type: tampered(distrust),
  envelope_flags: tampered(distrust),
  envelope_epoch: tampered(distrust),
  envelope_commitment: tampered(distrust),
  envelope_tag: tampered(distrust),
  envelope_padding: tampered(distrust),
  envelope_salt: tampered(distrust),

  store_id_mismatch: tampered(
    'Check the address: two stores are never merged; `gitlocket join` opens the other one in ' +
      'another directory',
  ),
  store_seed_mismatch: tampered(distrust),
  public_file_mismatch: tampered(distrust),
  commit_too_large: tampered(distrust),
  commit_malformed: tampered(distrust),
  commit_not_canonical: tampered(distrust),
  group_signature_invalid: tampered(distrust),
  record_malformed: tampered(distrust),
  record_parents: tampered(distrust),
  record_height: tampered(distrust),
  record_keyring: tampered(distrust),
  record_epoch: tampered(distrust),
  record_device: tampered(distrust),
  device_forked: tampered(
    'Remove the device, whose identity was copied or restored, and enrol each machine again',
  ),
  grant_known: tampered(distrust),
  grant_limit: tampered(distrust),
  grant_foreign: tampered(distrust),
  grant_ended: tampered(distrust),
  grant_time: tampered(distrust),
  wraps_malformed: tampered(distrust),
  baseline_malformed: tampered(
    'Run `gitlocket sync`, which fetches it again, or sync the device that gave the grant',
  ),
  baseline_false: tampered(
    'Remove the device that the message names: it has misled those who hold its grants',
  ),
  record_after_revocation: tampered(
    'Ask the owner who removed the device whether its later changes are wanted',
  ),
  record_role: tampered(distrust),
  device_signature_invalid: tampered(distrust),
  record_sequence: tampered(distrust),
  record_chain: tampered(distrust),
  record_rows: tampered(distrust),
  row_base_mismatch: tampered(distrust),
  row_memory_exists: tampered(distrust),
  row_memory_missing: tampered(distrust),
  row_missing: tampered(distrust),
  row_path_conflict: tampered(distrust),
  redact_target: tampered(distrust),
  detail_missing: tampered(distrust),
  detail_malformed: tampered(distrust),
  detail_mismatch: tampered(distrust),
  redaction_undone: tampered('Do not use this copy: it holds content that was erased elsewhere'),
  not_canonical: tampered(distrust),
  duplicate_record: tampered(distrust),
  memory_malformed: tampered(distrust),
  memory_mismatch: tampered(distrust),
  tree_mismatch: tampered(distrust),
  keyring_malformed: tampered(distrust),
  keyring_mismatch: tampered(distrust),
  keyring_slots: tampered(distrust),
  keyring_chain: tampered(distrust),
  keyring_conflict: row(
    409,
    'conflict_error',
    4,
    'To follow the remote, and write again what this device has written since, `gitlocket sync ' +
      '--take-theirs`; to keep local changes, and write again what others have written there, ' +
      '`gitlocket sync --repair` by an owner (with `--redo`, also what else they did)',
  ),
  merge_needs_owner: tampered(distrust),
  merge_held: row(
    409,
    'conflict_error',
    4,
    'An owner merges it with `gitlocket sync --merge-held` and the commit that is named; for ' +
      'what this device did itself, `gitlocket sync --take-theirs` leaves it, and writes again ' +
      'what this device has written since',
  ),
  settings_malformed: tampered(distrust),
  settings_mismatch: tampered(distrust),
  certificate_invalid: tampered(
    'Do not believe it; if this copy of the store is older than the redaction, sync and try again',
  ),
  report_invalid: tampered(
    'Do not believe it; ask its author for both files, unchanged; if this copy of the store ' +
      'may be older than the device that signed, sync and try again',
  ),
  anchor_corrupt: tampered(
    `Run \`gitlocket doctor --repair\`, which makes a new one; ${keepStateApart}`,
  ),
  freshness_corrupt: tampered(
    'If no one has put the data of the server back to an older state, start it once with ' +
      '`gitlocket serve --accept-rolled-back`, which makes a new one',
  ),
  left_out_corrupt: tampered(
    'If you know why, run `gitlocket audit --accept-rolled-back`, which moves it aside and ' +
      'begins a new one; what it listed is then in earlier audits alone',
  ),
  rolled_back: row(
    500,
    'api_error',
    12,
    `${afterBackup} (auditors: \`audit --accept-rolled-back\`); if no one did, accept nothing: ` +
      'compare the words of `gitlocket status` with another machine',
  ),
}

/** For any error other than a StoreError, which is a bug in this program. */
export const unexpectedSurface: ErrorSurface = {
  status: 500,
  type: 'api_error',
  exitCode: 1,
  retryable: false,
  advice: 'Report it with the steps to reproduce it',
}

export function surfaceOf(error: unknown): ErrorSurface {
  return error instanceof StoreError ? errorSurface[error.code] : unexpectedSurface
}

/**
 * What to tell users. Of a check that failed they need to know that it did, and the code; which
 * part of the format it was about is for those who look into it: `error.message`.
 */
export function plainMessage(error: StoreError, subject = 'The store'): string {
  const { code, details, message } = error
  if (errorSurface[code].advice !== distrust) return message
  const at = details.commit === undefined ? '' : `, at the commit ${details.commit.slice(0, 12)}`
  return `${subject} does not verify: it is damaged, or someone has changed it (${code}${at})`
}

function row(
  status: number,
  type: WireErrorType,
  exitCode: ExitCode,
  advice: string,
  retryable: boolean = false,
): ErrorSurface {
  return { status, type, exitCode, retryable, advice }
}

function invalid(advice: string): ErrorSurface {
  return row(400, 'invalid_request_error', 2, advice)
}

function limit(advice: string): ErrorSurface {
  return row(400, 'invalid_request_error', 5, advice)
}

function refused(
  advice: string,
  wire: Pick<ErrorSurface, 'status' | 'type'> = { status: 403, type: 'permission_error' },
): ErrorSurface {
  return row(wire.status, wire.type, 6, advice)
}

function unopened(advice: string): ErrorSurface {
  return row(500, 'api_error', 7, advice)
}

function locked(advice: string): ErrorSurface {
  return row(500, 'api_error', 8, advice)
}

function storage(advice: string): ErrorSurface {
  return row(500, 'api_error', 9, advice)
}

function offline(advice: string): ErrorSurface {
  return row(504, 'timeout_error', 13, advice, true)
}

function refusedByRemote(advice: string): ErrorSurface {
  return row(500, 'api_error', 14, advice)
}

function tampered(advice: string): ErrorSurface {
  return row(500, 'api_error', 11, advice)
}
