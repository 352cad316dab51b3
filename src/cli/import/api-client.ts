// Reads JSON from a server that holds memory stores (Memory Stores API §1, §2.6). Sends the key to
// that address alone: redirections are not followed. Never repeats what the server said, which may
// hold the key. Answers are bounded in time and size.

import { setTimeout as delay } from 'node:timers/promises'
import { concatBytes, utf8Text } from '../../bytes.ts'
import { type ErrorCode, type StoreError } from '../../errors.ts'
import { MEBIBYTE } from '../../limits.ts'
import { cancelledError, checkNotCancelled } from '../../time-slice.ts'
import { CommandError } from '../call/command-error.ts'

/** Twenty memories of 100 kB, each character escaped, are 12 MB. */
const ANSWER_BYTES_MAX = 64 * MEBIBYTE
const ANSWER_MS_MAX = 120_000
const TRIES_MAX = 5
const FIRST_WAIT_MS = 500
/** However long the server asks for. */
const WAIT_MS_MAX = 60_000

export interface ApiAddress {
  /** Without a slash at the end. */
  readonly url: string
  readonly key: string
  readonly signal: AbortSignal
}

/** The server may answer another time. */
interface Busy {
  readonly error: StoreError
  /** What it asked for. */
  readonly waitMs: number | undefined
}

export class ApiClient {
  readonly #address: ApiAddress

  constructor(address: ApiAddress) {
    this.#address = address
  }

  /** The value that `path` gives. Throws a remote code. */
  async get(path: string): Promise<unknown> {
    const { signal } = this.#address
    for (let tries = 1; ; tries += 1) {
      const answer = await this.#try(path)
      if (!('error' in answer)) return answer.value
      if (tries === TRIES_MAX) throw answer.error
      const wait = answer.waitMs ?? FIRST_WAIT_MS * 2 ** (tries - 1)
      await delay(Math.min(wait, WAIT_MS_MAX), undefined, { signal }).catch(() => {
        throw cancelledError(signal)
      })
    }
  }

  async #try(path: string): Promise<{ readonly value: unknown } | Busy> {
    const { url, key, signal } = this.#address
    const timeout = AbortSignal.timeout(ANSWER_MS_MAX)
    try {
      const response = await fetch(`${url}${path}`, {
        headers: {
          accept: 'application/json',
          'x-api-key': key,
          'anthropic-version': '2023-06-01',
          'anthropic-beta': 'agent-memory-2026-07-22',
        },
        redirect: 'manual',
        signal: AbortSignal.any([signal, timeout]),
      })
      if (response.status === 200) return { value: await readJson(response) }
      await response.body?.cancel()
      return refusal(response)
    } catch (error) {
      checkNotCancelled(signal)
      if (error instanceof CommandError) throw error
      if (timeout.aborted) return { error: remoteError('remote_timeout'), waitMs: undefined }
      return { error: connectionError(error), waitMs: undefined }
    }
  }
}

async function readJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > ANSWER_BYTES_MAX) throw remoteError('remote_protocol', 'its answer is too large')
    chunks.push(chunk)
  }
  try {
    return JSON.parse(utf8Text(concatBytes(...chunks)))
  } catch {
    throw remoteError('remote_protocol', 'its answer is not JSON')
  }
}

/** Throws what no other try can cure. */
function refusal({ status, headers }: Response): Busy {
  if (status === 401 || status === 403) throw remoteError('remote_auth')
  if (status === 404) throw remoteError('remote_not_found')
  if (status >= 300 && status < 400) {
    throw remoteError('remote_protocol', 'it sends to another address, where the key does not go')
  }
  const error =
    status === 429
      ? remoteError('rate_limited')
      : remoteError('remote_protocol', `it answered with the status ${status}`)
  if (status < 500 && status !== 429 && status !== 408) throw error
  return { error, waitMs: waitOf(headers) }
}

/** In seconds or milliseconds; a date is not understood. */
function waitOf(headers: Headers): number | undefined {
  const [milliseconds, seconds] = [headers.get('retry-after-ms'), headers.get('retry-after')]
  if (milliseconds !== null && /^\d{1,12}$/.test(milliseconds)) return Number(milliseconds)
  return seconds !== null && /^\d{1,9}$/.test(seconds) ? Number(seconds) * 1000 : undefined
}

const certificateProblem = /^(?:CERT|ERR_TLS|ERR_SSL)_|_CERT|SIGNATURE|^EPROTO$/

/** Throws for what no other try can cure: no one is there, or someone else is. */
function connectionError(error: unknown): StoreError {
  const cause = error instanceof Error ? error.cause : undefined
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (certificateProblem.test(code)) throw remoteError('remote_untrusted')
  const unreachable = remoteError('remote_unreachable')
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND') throw unreachable
  return unreachable
}

type Failure =
  | 'remote_auth'
  | 'remote_not_found'
  | 'remote_protocol'
  | 'remote_timeout'
  | 'remote_unreachable'
  | 'remote_untrusted'
  | 'rate_limited'

const failures: Readonly<Record<Failure, readonly [message: string, hint: string]>> = {
  remote_auth: [
    'The server does not accept the API key',
    'Check the key in ANTHROPIC_API_KEY, and that it is of the workspace of the store',
  ],
  remote_not_found: [
    'The server has no such store',
    'Check the id of the store, and that the key is of its workspace',
  ],
  remote_protocol: [
    'The server does not answer as one of memory stores',
    'Check that --url is the address of such a server',
  ],
  remote_timeout: ['The server took too long to answer', 'Run it again later'],
  remote_unreachable: ['The server cannot be reached', 'Check the network and --url'],
  remote_untrusted: [
    'The certificate of the server is not trusted',
    'Make sure that it is the right server; then name its certificate with NODE_EXTRA_CA_CERTS',
  ],
  rate_limited: ['The server answers no more requests for now', 'Run it again later'],
}

function remoteError(code: ErrorCode & Failure, problem?: string): CommandError {
  const [message, hint] = failures[code]
  const detail = problem === undefined ? '' : `: ${problem}`
  return new CommandError(code, `${message}${detail}. Nothing was imported`, hint, { place: '' })
}
