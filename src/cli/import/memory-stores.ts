// A store of the Memory Stores API: Anthropic's, or a server that speaks it. Its memories keep
// their paths. Everything from the server is hostile: pages, sizes, cursors and hashes are checked,
// and answers are bounded in time and size. The key is sent to that address alone: redirections are
// not followed, and an answer, which may hold the key, is never repeated.

import { setTimeout as delay } from 'node:timers/promises'
import { concatBytes, utf8, utf8Text } from '../../bytes.ts'
import { sha256OfText } from '../../crypto/digest.ts'
import { StoreError } from '../../errors.ts'
import { MEBIBYTE, memoriesMax } from '../../limits.ts'
import { onlyLine } from '../../plain-input.ts'
import { cancelledError, checkNotCancelled } from '../../time-slice.ts'
import { parseRemoteUrl } from '../../transport/remote-url.ts'
import { CommandError, type Context, type Input, usageError } from '../call/command.ts'
import { readSecretFile } from '../machine/files.ts'
import { isObject } from '../machine/json.ts'
import { withProgress } from '../terminal/progress.ts'
import {
  type FoundTexts,
  getSource,
  type LeftOutPart,
  pathBelow,
  type TextCandidate,
} from './source.ts'

const OFFICIAL = 'https://api.anthropic.com'
/** Memory Stores API §4.3: no page with contents has more. */
const PAGE_SIZE = 20
/** The largest store of the official API, 10,000 memories of 100 kB, is smaller. */
const TOTAL_BYTES_MAX = 1024 * MEBIBYTE
/** A page may be empty and not the last one. More than this in a row would never end. */
const EMPTY_PAGES_MAX = 100

export async function findMemoryStore(context: Context, input: Input): Promise<FoundTexts> {
  const storeId = getSource(input, 'the id of the store, memstore_…,')
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(storeId)) {
    throw usageError('The source must be the id of a store, memstore_…', 'import')
  }
  const address: ApiAddress = {
    url: addressOf(input.text('url') ?? OFFICIAL),
    key: keyOf(context),
    signal: context.interrupts.signal,
  }
  const listing = new Listing()
  await withProgress(context, 'Fetching', async ({ progress }) => {
    let cursor: string | undefined
    do {
      const page = cursor === undefined ? '' : `&page=${encodeURIComponent(cursor)}`
      const query = `view=full&limit=${PAGE_SIZE}${page}`
      const path = `/v1/memory_stores/${storeId}/memories?${query}`
      cursor = listing.add(await getJson(address, path))
      progress(listing.fetched.length, Number.POSITIVE_INFINITY)
    } while (cursor !== undefined)
  })
  const candidates = listing.fetched.map(({ path, bytes }): TextCandidate => {
    const name = path.replace(/^\//, '')
    return { path: pathBelow(input, '/', name), origin: path, read: () => bytes }
  })
  return { candidates, leftOut: [], unsuitable: listing.damaged }
}

/** The pages that were read. */
class Listing {
  readonly fetched: { readonly path: string; readonly bytes: Uint8Array }[] = []
  readonly damaged: LeftOutPart[] = []
  readonly #paths = new Set<string>()
  readonly #cursors = new Set<string>()
  #bytes = 0
  #emptyPages = 0

  /** Returns the cursor of the next page, if there is one. */
  add(page: unknown): string | undefined {
    if (!isObject(page) || !Array.isArray(page['data'])) throw protocolError('a page has no list')
    const { data, next_page: next = null } = page
    if (data.length > PAGE_SIZE) throw protocolError('a page has more memories than were asked for')
    for (const item of data) this.#addMemory(item)
    this.#emptyPages = data.length === 0 ? this.#emptyPages + 1 : 0
    if (next === null) return undefined
    if (typeof next !== 'string' || !next.isWellFormed()) throw protocolError('a cursor is no text')
    if (this.#cursors.has(next) || this.#emptyPages >= EMPTY_PAGES_MAX) {
      throw protocolError('its pages have no end')
    }
    this.#cursors.add(next)
    return next
  }

  #addMemory(item: unknown): void {
    if (!isObject(item) || item['type'] !== 'memory') throw protocolError('an item is no memory')
    const { path, content, content_sha256: hash } = item
    if (typeof path !== 'string' || !path.isWellFormed() || !path.startsWith('/')) {
      throw protocolError('a memory has no path')
    }
    // Also when one was moved in the meantime: then the next run finds it once.
    if (this.#paths.has(path)) throw protocolError('it lists a path twice')
    this.#paths.add(path)
    if (this.#paths.size > memoriesMax)
      throw protocolError(`it has more than ${memoriesMax} memories`)
    if (typeof content !== 'string') throw protocolError('a memory has no content')
    if (!content.isWellFormed() || sha256OfText(content) !== hash) {
      this.damaged.push({ origin: path, reason: 'its content does not have the stated hash' })
      return
    }
    const bytes = utf8(content)
    this.#bytes += bytes.length
    if (this.#bytes > TOTAL_BYTES_MAX) {
      throw protocolError(`it holds more than ${TOTAL_BYTES_MAX} bytes`)
    }
    this.fetched.push({ path, bytes })
  }
}

function addressOf(text: string): string {
  const url = parseRemoteUrl(text)
  if (url.kind === 'http') return url.text
  throw usageError('--url must be the address of a server, https://…', 'import')
}

/** From a file or a variable, never from an argument, which every process can read. */
function keyOf({ environment }: Context): string {
  const { anthropicApiKeyFile: file, anthropicApiKey } = environment
  const given = file === undefined ? anthropicApiKey : readSecretFile('the API key', file)
  const key = given && (onlyLine(given) ?? given)
  if (key === undefined) {
    throw new CommandError(
      'unauthenticated',
      'There is no API key to read the store with',
      'Set ANTHROPIC_API_KEY, or name a file that holds the key with ANTHROPIC_API_KEY_FILE',
      { place: '' },
    )
  }
  // A header holds nothing else, and an error about one would repeat it.
  if (/^[\u0021-\u007e]+$/.test(key)) return key
  throw new StoreError('invalid_input', 'The API key must be printable ASCII without spaces')
}

/** Twenty memories of 100 kB, each character escaped, are 12 MB. */
const ANSWER_BYTES_MAX = 64 * MEBIBYTE
const ANSWER_MS_MAX = 120_000
const TRIES_MAX = 5
const FIRST_WAIT_MS = 500
/** However long the server asks for. */
const WAIT_MS_MAX = 60_000

interface ApiAddress {
  /** Without a slash at the end. */
  readonly url: string
  readonly key: string
  readonly signal: AbortSignal
}

/** Tries several times if another try may succeed. Throws a remote code. */
async function getJson(address: ApiAddress, path: string): Promise<unknown> {
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

function protocolError(problem: string): RemoteError {
  return new RemoteError('remote_protocol', { problem })
}
