// Translates failures of git and ssh, by their messages in the C locale, into error codes. Pure.
// The messages of a remote may be anything, so they only select the advice.

import { type ErrorCode, StoreError } from '../errors.ts'
import type { FileUrl, SshUrl } from './remote-url.ts'
import { harmless } from './server-text.ts'

interface Meaning {
  /** In lower case. */
  readonly phrases: readonly string[]
  readonly code: ErrorCode
  readonly message: string
}

interface Failure {
  /** Undefined after a signal, or if the program never ran. */
  readonly code: number | undefined
  readonly stderr: string
  readonly cause: unknown
}

/** The first row with a matching phrase is used. */
const meanings: readonly Meaning[] = [
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

export function processFailure(remote: SshUrl | FileUrl, failure: Failure): StoreError {
  const { code, stderr, cause } = failure
  if (cause instanceof Error) return notStarted(remote, cause)
  // The path is the caller's, but no message contains a path.
  const text = stderr.replaceAll(remote.path, '…')
  const options = { cause: new Error(harmless(text)) }
  const lower = text.toLowerCase()
  if (remote.kind === 'ssh' && code === 127 && !/-pack\b/.test(lower))
    return missingProgram(options)
  const meaning = meanings.find(({ phrases }) => phrases.some((phrase) => lower.includes(phrase)))
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
