// What git or ssh mean when they end with an error: their words, in the C locale, into our codes.
// Pure. The words of the other side may be anything, so they decide nothing but the advice.

import { type ErrorCode, StoreError } from '../errors.ts'
import type { FileUrl, SshUrl } from './remote-url.ts'
import { harmless } from './server-text.ts'

interface Meaning {
  /** In lower case. */
  readonly phrases: readonly string[]
  readonly code: ErrorCode
  readonly sentence: string
}

interface Failure {
  /** Undefined for a signal, or if the program never ran. */
  readonly code: number | undefined
  readonly stderr: string
  readonly cause: unknown
}

/** The first row counts of which a phrase occurs. */
const meanings: readonly Meaning[] = [
  {
    phrases: ['host key verification failed', 'host identification has', 'host key is known'],
    code: 'remote_untrusted',
    sentence: 'The key of the host is unknown or has changed: connect once with ssh by hand',
  },
  {
    phrases: ['permission denied (', 'too many authentication failures'],
    code: 'remote_auth',
    sentence: 'The host does not accept the ssh keys of this machine',
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
    sentence: 'The host cannot be reached',
  },
  {
    phrases: ['dubious ownership', 'unsafe repository'],
    code: 'remote_auth',
    sentence:
      'The repository belongs to somebody else: add it to safe.directory of git if you agree',
  },
  {
    phrases: ['command not found', 'not recognized'],
    code: 'remote_protocol',
    sentence: 'The host has no git, or not where ssh finds it',
  },
  {
    phrases: ['not appear to be a git repo', 'not a git repo', 'not found', 'no such file'],
    code: 'remote_not_found',
    sentence: 'There is no git repository at the address of the remote',
  },
  {
    phrases: [
      'permission denied',
      'access denied',
      // gitolite, also where there is no such repository.
      'denied by',
      'not allowed',
      'forbidden',
      'unauthorized',
    ],
    code: 'remote_auth',
    sentence: 'The remote denies access',
  },
]

export function processFailure(remote: SshUrl | FileUrl, failure: Failure): StoreError {
  const { code, stderr, cause } = failure
  if (cause instanceof Error) return notStarted(remote, cause)
  // The path is the caller's own, but no message names one.
  const text = stderr.replaceAll(remote.path, '…')
  const options = { cause: new Error(harmless(text)) }
  const lower = text.toLowerCase()
  const meaning = meanings.find(({ phrases }) => phrases.some((phrase) => lower.includes(phrase)))
  if (meaning !== undefined) return new StoreError(meaning.code, meaning.sentence, options)
  const words = harmless(text)
  const said = words === '' ? 'without a word' : `with: ${words}`
  // 255 is ssh's own, not that of git over there.
  const isOfSsh = remote.kind === 'ssh' && code === 255
  const what = isOfSsh ? 'The connection ended' : 'The other side ended'
  return new StoreError('remote_unreachable', `${what} ${said}`, options)
}

function notStarted(remote: SshUrl | FileUrl, cause: Error): StoreError {
  const program = remote.kind === 'ssh' ? 'ssh' : 'git'
  const missing = 'code' in cause && cause.code === 'ENOENT'
  const problem = missing ? 'is not installed' : 'could not be started'
  return new StoreError('remote_unreachable', `The program ${program} ${problem}`)
}
