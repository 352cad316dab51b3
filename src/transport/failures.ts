// Why a connection, a program or a host failed, as error codes with advice. Pure. The messages of a
// remote may be anything: they only select the advice, and are quoted sanitised and short, without
// control or format characters and without secrets.

import { type ErrorCode, StoreError } from '../errors.ts'
import { Bytes } from '../platform/bytes.ts'
import { cutOff } from './pkt-line.ts'
import type { Credentials } from './remote-access.ts'
import type { FileUrl, SshUrl } from './remote-url.ts'

const lengthMax = 400

/** Strings that must never be shown: passwords, and their encodings in requests. */
export function secretForms({ username, password }: Credentials): string[] {
  const basic = Bytes.from(`${username}:${password}`).toString('base64')
  const forms = [password, encodeURIComponent(password), basic, basic.replace(/=+$/, '')]
  return forms.filter((form) => form.length > 0)
}

/** One sanitised line of at most 400 characters. */
export function harmless(text: string, secrets: readonly string[] = []): string {
  let clean = text
  // The longest first, because one may contain another.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length)) {
    clean = clean.replaceAll(secret, '***')
  }
  clean = clean
    .replaceAll(/(\w:\/\/)[^\s/@]+@/g, '$1***@')
    .replaceAll(/GLKG1-[0-9A-Z]+/gi, 'GLKG1-***')
    // Escape sequences of terminals first, then all other characters that do not print.
    // oxlint-disable-next-line eslint/no-control-regex -- they are removed
    .replaceAll(/\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|.?)/g, '')
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  return clean.length <= lengthMax ? clean : `${clean.slice(0, lengthMax)}…`
}

const unreachable: ReadonlyMap<string, string> = new Map([
  ['ENOTFOUND', 'its host name is unknown'],
  ['EAI_AGAIN', 'host names cannot be resolved now'],
  ['ECONNREFUSED', 'it refuses connections'],
  ['EHOSTUNREACH', 'there is no route to it'],
  ['ENETUNREACH', 'there is no network'],
  ['EHOSTDOWN', 'it is down'],
  ['ETIMEDOUT', 'it does not answer'],
])
const cut = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'HPE_INVALID_EOF_STATE'])

/** The error of a connection to an https host, or to a proxy. */
export function connectionFailure(error: unknown, peer = 'the remote'): StoreError {
  const failed = (kind: ErrorCode, problem: string): StoreError => failure(kind, problem, peer)
  if (error instanceof StoreError) return error
  const code = codeOf(error)
  if (cut.has(code)) return cutOff(peer)
  const problem = unreachable.get(code)
  if (problem !== undefined) return failed('remote_unreachable', `cannot be reached: ${problem}`)
  if (/CERT_(?:HAS_EXPIRED|NOT_YET_VALID)/.test(code)) {
    return failed('remote_expired', `has a certificate that is not valid today (${code})`)
  }
  if (/CERT|TLS|SSL|ALTNAME|SIGNATURE/.test(code)) {
    return failed('remote_untrusted', `cannot be trusted: its certificate is refused (${code})`)
  }
  if (code.startsWith('HPE_')) return failed('remote_protocol', 'does not speak HTTP')
  return failed('remote_unreachable', `cannot be reached${code === '' ? '' : ` (${code})`}`)
}

/** An answer with a status other than 200. */
export interface Refusal {
  readonly status: number
  /** Its body. */
  readonly text: string
  /** Its header Retry-After. */
  readonly retryAfter: string | undefined
}

export function statusFailure(refusal: Refusal, secrets: readonly string[]): StoreError {
  const { status, text, retryAfter = '' } = refusal
  const message = harmless(text, secrets)
  // An HTML page has nothing useful in one line.
  const quoted = message === '' || message.startsWith('<') ? '' : `: ${message}`
  const [code, problem] = statusMeanings.get(status) ?? otherStatus(status)
  return failure(code, `${problem} (${status})${waitOf(retryAfter)}${quoted}`)
}

/** Seconds, or a date. */
function waitOf(retryAfter: string): string {
  if (/^\d{1,6}$/.test(retryAfter)) return `, and asks to wait for ${Number(retryAfter)} seconds`
  const time = Date.parse(retryAfter)
  return Number.isNaN(time) ? '' : `, and asks to wait until ${new Date(time).toISOString()}`
}

const statusMeanings: ReadonlyMap<number, readonly [ErrorCode, string]> = new Map([
  [401, ['remote_auth', 'does not accept the credentials of this machine']],
  [403, ['remote_auth', 'denies access to this account']],
  [404, ['remote_not_found', 'has no repository there, or none that this account can access']],
  [408, ['remote_timeout', 'timed out waiting for this machine']],
  [410, ['remote_not_found', 'no longer has the repository']],
  [413, ['push_rejected', 'refuses a push of that size: raise the limit there']],
  [429, ['remote_busy', 'limits the rate of requests']],
  [507, ['remote_full', 'has no space for the push']],
])

function otherStatus(status: number): readonly [ErrorCode, string] {
  if (status >= 500) return ['remote_busy', 'has an internal error']
  return ['remote_protocol', 'does not answer like a git server']
}

function failure(code: ErrorCode, problem: string, peer = 'the remote'): StoreError {
  return new StoreError(code, `T${peer.slice(1)} ${problem}`)
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

interface Phrases {
  readonly phrases: readonly string[]
}

/** The first row of which a phrase is in the text. */
function findMatching<T extends Phrases>(rows: readonly T[], text: string): T | undefined {
  return rows.find(({ phrases }) => phrases.some((phrase) => text.includes(phrase)))
}

/** Messages of git and ssh in the C locale; phrases are in lower case. */
const meanings: readonly (Phrases & { readonly code: ErrorCode; readonly message: string })[] = [
  {
    phrases: ['host key verification failed', 'host identification has', 'host key is known'],
    code: 'remote_untrusted',
    message: 'The key of the host is unknown or has changed: connect to it once with ssh',
  },
  {
    phrases: ['permission denied (', 'too many authentication failures'],
    code: 'remote_auth',
    message: 'The host does not accept the ssh keys of this machine',
  },
  {
    phrases: [
      'could not resolve hostname',
      'name or service not known',
      'no route to host',
      'network is unreachable',
      'connection refused',
      'connection reset',
      'connection closed',
      'timed out',
    ],
    code: 'remote_unreachable',
    message: 'The host cannot be reached',
  },
  {
    phrases: ['dubious ownership', 'unsafe repository'],
    code: 'remote_auth',
    message: "The repository belongs to another user: add it to git's safe.directory to trust it",
  },
  {
    phrases: ['command not found', 'not recognized', '-pack: not found'],
    code: 'remote_protocol',
    message: 'The host has no git in the path of its ssh server',
  },
  {
    phrases: ['not appear to be a git repo', 'not a git repo', 'not found', 'no such file'],
    code: 'remote_not_found',
    message: 'There is no git repository at the address of the remote',
  },
  {
    phrases: [
      'permission denied',
      'access denied',
      // gitolite, also for a missing repository.
      'denied by',
      'not allowed',
      'forbidden',
      'unauthorized',
    ],
    code: 'remote_auth',
    message: 'The remote denies access',
  },
]

/** Explains the end of a program; no `code` after a signal, or if it never ran. */
export function processFailure(
  remote: SshUrl | FileUrl,
  { code, stderr, cause }: { code: number | undefined; stderr: string; cause: unknown },
): StoreError {
  if (cause instanceof Error) return notStarted(remote, cause)
  // The path is the caller's, but no message contains a path.
  const text = stderr.replaceAll(remote.path, '…')
  const options = { cause: new Error(harmless(text)) }
  const lower = text.toLowerCase()
  if (remote.kind === 'ssh' && code === 127 && !/-pack\b/.test(lower))
    return missingProgram(options)
  const meaning = findMatching(meanings, lower)
  if (meaning !== undefined) return new StoreError(meaning.code, meaning.message, options)
  const output = harmless(text)
  const ending = output === '' ? 'without a message' : `with: ${output}`
  // ssh itself exits with 255; git does not.
  const isFromSsh = remote.kind === 'ssh' && code === 255
  const what = isFromSsh ? 'The connection ended' : 'The remote process ended'
  return new StoreError('remote_unreachable', `${what} ${ending}`, options)
}

/** The local shell's message: the host's would name git's service. */
function missingProgram(options: ErrorOptions): StoreError {
  return new StoreError(
    'remote_unreachable',
    'The program that GIT_SSH_COMMAND or core.sshCommand of git names is not installed',
    options,
  )
}

function notStarted(remote: SshUrl | FileUrl, cause: Error): StoreError {
  const program = remote.kind === 'ssh' ? 'ssh' : 'git'
  const missing = 'code' in cause && cause.code === 'ENOENT'
  const problem = missing ? 'is not installed' : 'could not be started'
  return new StoreError('remote_unreachable', `The program ${program} ${problem}`)
}

/** What to change at a host that rejects a push; phrases are in lower case. */
const advices: readonly (Phrases & { readonly text: string })[] = [
  {
    // Before branch protection in general: the protection may only concern forced pushes.
    phrases: [
      'non-fast-forward',
      'non-ff',
      'nonfastforward',
      'force push',
      'force-push',
      'forcepush',
      'rewrite history',
      // gitolite.
      'fatal: + refs/',
    ],
    text:
      'it rejects rewritten history, which a redaction needs: allow forced pushes to ' +
      'refs/heads/main once and sync again, or report to it the objects that the certificate lists',
  },
  {
    phrases: [
      'protected branch',
      'gh006',
      'gh013',
      'not allowed to',
      'tf402455',
      'repository rule',
    ],
    text: 'refs/heads/main is protected there: allow this account to push to it',
  },
  {
    phrases: ['currently checked out', 'denycurrentbranch'],
    text: 'it has a working tree with that branch checked out: use a bare repository',
  },
  {
    phrases: ['exists; cannot create'],
    text: 'a branch there is named below refs/heads/main/: rename or delete it',
  },
  {
    phrases: ['unable to resolve reference', 'reference broken'],
    text: 'refs/heads/main is damaged there: restore it or delete it',
  },
  { phrases: ['deletion', 'hidden ref'], text: 'it does not allow updates of refs/heads/main' },
  {
    phrases: ['too large', 'exceeds', 'maximum'],
    text: 'it limits the size of a push, a file or a repository: raise the limit there',
  },
  {
    phrases: ['read-only file', 'unable to create temporary'],
    text: 'the repository cannot be written there: make its file system and its files writable',
  },
  {
    phrases: ['permission', 'denied', 'read-only', 'read only', 'archived', 'not authori'],
    text: 'this account has no write access',
  },
  { phrases: ['hook declined'], text: 'a hook there declines it' },
  {
    // Last: rows above explain why git's programs end like this, where that is known.
    phrases: ['abnormal exit', 'unpacker error', 'unresolved delta', 'index-pack'],
    text:
      'git there could not store the pack; `sync --repair` sends everything, without deltas on ' +
      'objects there; if that is refused too, `git fsck` there names the damage',
  },
]

const noSpace = ['no space', 'disk full', 'quota']

/** The ref has moved, in the messages of git's server and of others. */
const raceLost = [
  'but expected',
  'fetch first',
  'stale info',
  'incorrect old value',
  'reference already exists',
]

/**
 * `remote_moved` if another push was faster, `remote_locked` if one may still run, `remote_full`,
 * else `push_rejected`. `messages` came with the `reason`.
 */
export function rejection(
  remote: { harmless(text: string): string },
  reason: string,
  messages: readonly string[],
): StoreError {
  const all = [reason, ...messages].join('\n').toLowerCase()
  if (raceLost.some((phrase) => all.includes(phrase))) {
    return new StoreError('remote_moved', 'Another push moved the branch of the remote first')
  }
  const quoted = remote.harmless([reason, ...messages.slice(-5)].join(' / '))
  if (noSpace.some((phrase) => all.includes(phrase))) {
    return new StoreError(
      'remote_full',
      `The remote has no space for the push (it reported: ${quoted})`,
    )
  }
  const advice = findMatching(advices, all)
  const isHeld = /\.lock': file exists/.test(all)
  if (isHeld || (advice === undefined && /cannot lock ref|failed to lock/.test(all))) {
    const said = remote.harmless(messages.find((line) => /lock/i.test(line)) ?? reason)
    return new StoreError(
      'remote_locked',
      `The remote cannot lock its branch (it reported: ${said})`,
    )
  }
  const why = advice === undefined ? '' : `: ${advice.text}`
  return new StoreError(
    'push_rejected',
    `The remote refused the push${why} (it reported: ${quoted})`,
  )
}
