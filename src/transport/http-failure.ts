// What went wrong between us and an https host, or what it answered, in our codes. Pure.

import { type ErrorCode, StoreError } from '../errors.ts'
import { cutOff } from './pkt-line.ts'
import { harmless } from './server-text.ts'

const unreachable: ReadonlyMap<string, string> = new Map([
  ['ENOTFOUND', 'its name is unknown'],
  ['EAI_AGAIN', 'names cannot be looked up now'],
  ['ECONNREFUSED', 'it refuses connections'],
  ['EHOSTUNREACH', 'no route leads there'],
  ['ENETUNREACH', 'there is no network'],
  ['EHOSTDOWN', 'it is down'],
  ['ETIMEDOUT', 'it does not answer'],
])
const cut = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'HPE_INVALID_EOF_STATE'])

/** An error of the connection itself. */
export function connectionFailure(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const code = codeOf(error)
  if (cut.has(code)) return cutOff()
  const problem = unreachable.get(code)
  if (problem !== undefined) return failure('remote_unreachable', `cannot be reached: ${problem}`)
  if (/CERT|TLS|SSL|ALTNAME|SIGNATURE/.test(code)) {
    return failure('remote_untrusted', `cannot be trusted: its certificate is refused (${code})`)
  }
  if (code.startsWith('HPE_')) return failure('remote_protocol', 'does not speak HTTP')
  return failure('remote_unreachable', `cannot be reached${code === '' ? '' : ` (${code})`}`)
}

/** An answer with another status than 200; `text` is its body. */
export function statusFailure(
  status: number,
  text: string,
  secrets: readonly string[],
): StoreError {
  const words = harmless(text, secrets)
  // A page for people says nothing in one line.
  const said = words === '' || words.startsWith('<') ? '' : `: ${words}`
  const [code, problem] = statusMeanings.get(status) ?? otherStatus(status)
  return failure(code, `${problem} (${status})${said}`)
}

const statusMeanings: ReadonlyMap<number, readonly [ErrorCode, string]> = new Map([
  [401, ['remote_auth', 'does not accept the credentials of this machine']],
  [403, ['remote_auth', 'denies access to this account']],
  [404, ['remote_not_found', 'has no repository there, or none that this account may see']],
  [408, ['remote_timeout', 'waited too long for this machine']],
  [410, ['remote_not_found', 'has the repository no more']],
  [413, ['push_rejected', 'refuses a push of that size: raise the limit there']],
  [429, ['remote_unreachable', 'wants to be asked less often']],
])

function otherStatus(status: number): readonly [ErrorCode, string] {
  if (status >= 500) return ['remote_unreachable', 'has trouble of its own']
  return ['remote_protocol', 'answers as no git host does']
}

function failure(code: ErrorCode, what: string): StoreError {
  return new StoreError(code, `The remote ${what}`)
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}
