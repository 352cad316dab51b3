// Reads JSON from a server that holds memory stores (Memory Stores API §1, §2.6). Sends the key to
// that address alone: redirections are not followed. Never repeats an answer, which may hold the
// key. Answers are bounded in time and size.

import { setTimeout as delay } from 'node:timers/promises'
import { concatBytes, utf8Text } from '../../bytes.ts'
import { MEBIBYTE } from '../../limits.ts'
import { cancelledError, checkNotCancelled } from '../../time-slice.ts'
import { CommandError } from '../call/command.ts'

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

/** Tries several times if another try may succeed. Throws a remote code. */
export async function getJson(address: ApiAddress, path: string): Promise<unknown> {
  const { signal } = address
  for (let tries = 1; ; tries += 1) {
    try {
      return await fetchJson(address, path)
    } catch (error) {
      checkNotCancelled(signal)
      if (!(error instanceof RemoteError) || !error.isBusy || tries === TRIES_MAX) throw error
      const wait = error.waitMs ?? FIRST_WAIT_MS * 2 ** (tries - 1)
      await delay(Math.min(wait, WAIT_MS_MAX), undefined, { signal }).catch(() => {
        throw cancelledError(signal)
      })
    }
  }
}

async function fetchJson({ url, key, signal }: ApiAddress, path: string): Promise<unknown> {
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
    if (response.status === 200) return await readJson(response)
    await response.body?.cancel()
    throw refusal(response)
  } catch (error) {
    if (error instanceof RemoteError) throw error
    throw timeout.aborted ? new RemoteError('remote_timeout', { isBusy: true }) : broken(error)
  }
}

async function readJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > ANSWER_BYTES_MAX) throw protocolError('its answer is too large')
    chunks.push(chunk)
  }
  try {
    return JSON.parse(utf8Text(concatBytes(...chunks)))
  } catch {
    throw protocolError('its answer is not JSON')
  }
}

function refusal({ status, headers }: Response): RemoteError {
  if (status === 401 || status === 403) return new RemoteError('remote_auth')
  if (status === 404) return new RemoteError('remote_not_found')
  const isRedirection = status >= 300 && status < 400
  const problem = isRedirection
    ? 'it sends to another address, where the key does not go'
    : `it answered with the status ${status}`
  const waitMs = waitOf(headers)
  if (status === 429) return new RemoteError('rate_limited', { isBusy: true, waitMs })
  return new RemoteError('remote_protocol', {
    problem,
    isBusy: status >= 500 || status === 408,
    waitMs,
  })
}

/** In seconds or milliseconds; a date is not understood. */
function waitOf(headers: Headers): number | undefined {
  const [milliseconds, seconds] = [headers.get('retry-after-ms'), headers.get('retry-after')]
  if (milliseconds !== null && /^\d{1,12}$/.test(milliseconds)) return Number(milliseconds)
  return seconds !== null && /^\d{1,9}$/.test(seconds) ? Number(seconds) * 1000 : undefined
}

const certificateProblem = /^(?:CERT|ERR_TLS|ERR_SSL)_|_CERT|SIGNATURE|^EPROTO$/

/** Another try cannot help if no server listens, or another one. */
function broken(error: unknown): RemoteError {
  const cause = error instanceof Error ? error.cause : undefined
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (certificateProblem.test(code)) return new RemoteError('remote_untrusted')
  const isBusy = code !== 'ECONNREFUSED' && code !== 'ENOTFOUND'
  return new RemoteError('remote_unreachable', { isBusy })
}

const failures = {
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
    'Check that --url is the address of such a server, and run it again',
  ],
  remote_timeout: ['The server took too long to answer', 'Run it again later'],
  remote_unreachable: ['The server cannot be reached', 'Check the network and --url'],
  remote_untrusted: [
    'The certificate of the server is not trusted',
    'Make sure that it is the right server; then name its certificate with NODE_EXTRA_CA_CERTS',
  ],
  rate_limited: ['The server answers no more requests for now', 'Run it again later'],
} as const

interface RemoteFacts {
  readonly problem?: string
  /** Another try may succeed, after the time that the server asks for. */
  readonly isBusy?: boolean
  readonly waitMs?: number | undefined
}

class RemoteError extends CommandError {
  readonly isBusy: boolean
  readonly waitMs: number | undefined

  constructor(code: keyof typeof failures, { problem, isBusy = false, waitMs }: RemoteFacts = {}) {
    const [message, hint] = failures[code]
    const detail = problem === undefined ? '' : `: ${problem}`
    super(code, `${message}${detail}. Nothing was imported`, hint, { place: '' })
    this.isBusy = isBusy
    this.waitMs = waitMs
  }
}

export function protocolError(problem: string): RemoteError {
  return new RemoteError('remote_protocol', { problem })
}
