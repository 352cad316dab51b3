// The wire over an HTTP client of isomorphic-git's kind, where there are no sockets: browsers and
// edge functions. The client may be another program's, so that it is trusted with nothing but the
// requests: redirects are followed without credentials, and never by a request that has any; a
// stalled request is aborted and left. Must not know what the bodies mean.

import { utf8 } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { connectionFailure, secretForms, statusFailure } from './failures.ts'
import { PacketReader, protocolError } from './pkt-line.ts'
import type { Credentials, OpenWire, RemoteAccess, RemoteWire, Service } from './remote-access.ts'
import { type HttpUrl, parseRemoteUrl } from './remote-url.ts'
import { awaitMoved, moving, type Patience } from './stall.ts'
import {
  advertisementBytesMax,
  collectBody,
  collectReason,
  noList,
  skipHeader,
  tooManyRefs,
  wholeBody,
} from './wire.ts'

/** Rejected credentials in one conversation before it is given up. */
const attemptsMax = 3

/** Fits the clients of isomorphic-git, such as `isomorphic-git/http/web`. */
export interface HttpClient {
  request(request: HttpRequest): Promise<HttpResponse>
}

export interface HttpRequest {
  readonly url: string
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: AsyncIterableIterator<Uint8Array>
  readonly signal: AbortSignal
  /** For `fetch`. A client that follows redirects itself must send no credentials elsewhere. */
  readonly fetchOptions: { readonly redirect: 'follow' | 'manual' }
}

export interface HttpResponse {
  /** The address after redirects. */
  readonly url?: string | undefined
  readonly statusCode: number
  /** By names in lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: AsyncIterable<Uint8Array> | Iterable<Uint8Array> | undefined
}

export interface ClientOptions {
  readonly client: HttpClient
  /** An address that requests go through, as isomorphic-git's `corsProxy`. It sees credentials. */
  readonly corsProxy?: string | undefined
}

/** What the conversations with one remote remember. */
interface RemoteReach {
  /** The address of the repository after redirects. */
  base: string | undefined
  credentials: Credentials | undefined
  /** Forms of all credentials so far. */
  readonly secrets: Set<string>
}

/** Opens the wires to one remote. Throws `invalid_input` for an address of a proxy. */
export function wiresOver({ client, corsProxy }: ClientOptions): OpenWire {
  const known: RemoteReach = {
    base: undefined,
    credentials: undefined,
    secrets: new Set(),
  }
  const proxy = corsProxy === undefined ? undefined : checkProxy(corsProxy)
  return (url, service, access, patience) => {
    return new ClientWire({ client, proxy, known, url, service, access, patience })
  }
}

function checkProxy(text: string): string {
  const isQuery = text.endsWith('?')
  const { text: proxy } = parseRemoteUrl(isQuery ? text.slice(0, -1) : text)
  return isQuery ? `${proxy}?` : `${proxy}/`
}

/** As isomorphic-git asks its proxy. */
function throughProxy(url: string, proxy: string | undefined): string {
  if (proxy === undefined) return url
  return proxy + (proxy.endsWith('?') ? url : url.replace(/^https?:\/\//, ''))
}

interface WireParts {
  readonly client: HttpClient
  readonly proxy: string | undefined
  readonly known: RemoteReach
  readonly url: HttpUrl
  readonly service: Service
  readonly access: RemoteAccess
  readonly patience: Patience
}

interface WireRequest {
  readonly method: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Only without credentials. */
  readonly follows?: boolean
}

class ClientWire implements RemoteWire {
  readonly #parts: WireParts
  /** The repository as it was asked for, through the proxy. */
  readonly #start: string
  readonly #ending = new AbortController()
  #attempt = 0

  constructor(parts: WireParts) {
    this.#parts = parts
    this.#start = throughProxy(parts.url.text, parts.proxy)
  }

  get secrets(): readonly string[] {
    return [...this.#parts.known.secrets]
  }

  /** Credentials are asked for when the host does, and go with the requests after that. */
  async list(): Promise<PacketReader> {
    const { service, patience } = this.#parts
    for (;;) {
      const answer = await this.#getList()
      const { statusCode, headers = {} } = answer
      if (statusCode === 200) {
        const bytes = await collectBody(this.#bodyOf(answer), advertisementBytesMax, tooManyRefs)
        if (mediaType(headers['content-type']) !== `application/x-${service}-advertisement`) {
          throw noList()
        }
        const packets = new PacketReader(wholeBody(bytes), patience.signal)
        await skipHeader(packets, service)
        return packets
      }
      if (!asksForCredentials(statusCode)) throw await this.#refusalOf(answer)
      await this.#authenticate()
    }
  }

  async send(body: AsyncIterable<Uint8Array>, length: number): Promise<AsyncIterable<Uint8Array>> {
    const { service } = this.#parts
    const headers = {
      'content-type': `application/x-${service}-request`,
      accept: `application/x-${service}-result`,
    }
    // Browsers send no streams.
    const bytes = await collectBody(body, length)
    for (;;) {
      const answer = await this.#ask(`/${service}`, { method: 'POST', headers, body: bytes })
      if (answer.statusCode === 200) return this.#bodyOf(answer)
      // They may have expired since the list.
      const isExpired = asksForCredentials(answer.statusCode) && this.#attempt === 0
      if (!isExpired || this.#parts.known.credentials === undefined) {
        throw isRedirect(answer) ? redirects() : await this.#refusalOf(answer)
      }
      await this.#authenticate()
    }
  }

  async explain(): Promise<undefined> {
    return undefined
  }

  async close(): Promise<void> {
    this.#ending.abort()
  }

  /** The list of refs, whose final address is that of the repository. */
  async #getList(): Promise<HttpResponse> {
    const { service, known } = this.#parts
    const tail = `/info/refs?service=${service}`
    if (known.credentials !== undefined) {
      const answer = await this.#ask(tail, { method: 'GET' })
      if (!isRedirect(answer)) return answer
      // Found again below, without credentials.
      known.base = undefined
    }
    const answer = await this.#ask(tail, { method: 'GET', follows: true })
    if (isRedirect(answer)) throw redirects()
    known.base = baseAfter(this.#start, tail, answer.url)
    return answer
  }

  /** Finds the next credentials. Throws `remote_auth` if there are no others. */
  async #authenticate(): Promise<void> {
    const { known, url, access } = this.#parts
    if (this.#isElsewhere()) {
      throw new StoreError(
        'remote_auth',
        'The remote redirects to another host that asks for credentials: use its address instead',
      )
    }
    this.#attempt += 1
    const before = known.credentials
    known.credentials = undefined
    const asked = { url: url.text, attempt: this.#attempt }
    const found =
      this.#attempt > attemptsMax
        ? undefined
        : await awaitMoved(Promise.resolve(access.credentials?.(asked)), this.#parts.patience)
    const isSame = before?.username === found?.username && before?.password === found?.password
    if (found === undefined || isSame) {
      throw new StoreError(
        'remote_auth',
        'The remote requires credentials, or rejects those that `onAuth` gave',
      )
    }
    known.credentials = checkCredentials(found)
    for (const form of secretForms(found)) known.secrets.add(form)
  }

  /** Resolves when the headers of the answer have arrived. */
  async #ask(tail: string, how: WireRequest): Promise<HttpResponse> {
    const { client, known, patience } = this.#parts
    const { method, headers, body, follows = false } = how
    const isFree = follows || this.#isElsewhere() || known.credentials === undefined
    const authorization = isFree ? undefined : basic(known.credentials)
    const request: HttpRequest = {
      url: `${follows ? this.#start : (known.base ?? this.#start)}${tail}`,
      method,
      headers: { ...headers, ...(authorization && { authorization }) },
      ...(body && { body: wholeBody(body) }),
      signal: this.#ending.signal,
      fetchOptions: { redirect: follows ? 'follow' : 'manual' },
    }
    try {
      return await awaitMoved(Promise.resolve(client.request(request)), patience)
    } catch (error) {
      this.#ending.abort()
      throw connectionFailure(causeOf(error))
    }
  }

  async *#bodyOf({ body = [] }: HttpResponse): AsyncGenerator<Uint8Array> {
    try {
      yield* moving(chunksOf(body), this.#parts.patience, () => undefined)
    } catch (error) {
      this.#ending.abort()
      throw connectionFailure(causeOf(error))
    }
  }

  async #refusalOf(answer: HttpResponse): Promise<StoreError> {
    const text = await collectReason(this.#bodyOf(answer))
    const { statusCode: status, headers = {} } = answer
    return statusFailure({ status, text, retryAfter: headers['retry-after'] }, this.secrets)
  }

  #isElsewhere(): boolean {
    const { base } = this.#parts.known
    return base !== undefined && new URL(base).origin !== new URL(this.#start).origin
  }
}

/** Without parameters; its letter case does not matter (RFC 9110). */
function mediaType(value: string = ''): string {
  return (value.split(';')[0] ?? '').trim().toLowerCase()
}

function asksForCredentials(statusCode: number): boolean {
  return statusCode === 401 || statusCode === 203
}

/** Browsers show a redirect that they do not follow without its status. */
function isRedirect({ statusCode }: HttpResponse): boolean {
  return statusCode === 0 || (statusCode >= 300 && statusCode < 400)
}

function redirects(): StoreError {
  return protocolError('it redirects a request that must not be: use the address it redirects to')
}

function checkCredentials({ username, password }: Credentials): Credentials {
  if (typeof username === 'string' && typeof password === 'string') return { username, password }
  const message = '`onAuth` must return a `username` and a `password`, or undefined'
  throw new StoreError('invalid_input', message)
}

function basic(credentials: Credentials | undefined): string | undefined {
  if (credentials === undefined) return undefined
  const bytes = utf8(`${credentials.username}:${credentials.password}`)
  return `Basic ${btoa(String.fromCharCode(...bytes))}`
}

/** The repository's address after redirects. Throws unless git would follow them safely. */
function baseAfter(start: string, tail: string, url: string | undefined): string {
  if (url === undefined || url === '' || url === `${start}${tail}`) return start
  const [from, to] = [new URL(start), parsed(url)]
  const isSafe =
    to?.protocol === 'https:' ||
    (from.protocol === 'http:' && to?.protocol === 'http:' && to.hostname === from.hostname)
  if (to === undefined || !isSafe) throw protocolError('it redirects to an unsafe address')
  if (to.username !== '' || to.password !== '' || !to.href.endsWith(tail)) {
    throw protocolError('it redirects elsewhere, perhaps to a web page')
  }
  return to.href.slice(0, -tail.length)
}

function parsed(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined
}

async function* chunksOf(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* body
}

/** `fetch` hides the reason in the cause of its error. */
function causeOf(error: unknown): unknown {
  return error instanceof TypeError && error.cause !== undefined ? error.cause : error
}
