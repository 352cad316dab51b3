// Translates failures of connections to https hosts, and their status codes, into error codes.
// Pure.

import { type ErrorCode, StoreError } from '../errors.ts'
import { cutOff } from './pkt-line.ts'
import { harmless } from './server-text.ts'

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

/** Translates an error of the connection itself. */
export function connectionFailure(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const code = codeOf(error)
  if (cut.has(code)) return cutOff()
  const problem = unreachable.get(code)
  if (problem !== undefined) return failure('remote_unreachable', `cannot be reached: ${problem}`)
  if (/CERT_(?:HAS_EXPIRED|NOT_YET_VALID)/.test(code)) {
    return failure('remote_expired', `has a certificate that is not valid today (${code})`)
  }
  if (/CERT|TLS|SSL|ALTNAME|SIGNATURE/.test(code)) {
    return failure('remote_untrusted', `cannot be trusted: its certificate is refused (${code})`)
  }
  if (code.startsWith('HPE_')) return failure('remote_protocol', 'does not speak HTTP')
  return failure('remote_unreachable', `cannot be reached${code === '' ? '' : ` (${code})`}`)
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

function failure(code: ErrorCode, problem: string): StoreError {
  return new StoreError(code, `The remote ${problem}`)
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}
