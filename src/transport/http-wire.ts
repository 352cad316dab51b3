// The wire over https, and over http to this machine. Follows redirects of the first request only,
// and never sends credentials to another host; refuses compressed and oversized answers; ends a
// stalled request. Must not know what the bodies mean.

import type { ClientRequest, IncomingMessage } from 'node:http'
import { hasCode, StoreError } from '../errors.ts'
import { Authenticator } from './credentials.ts'
import { connectionFailure, type Refusal, statusFailure, secretForms } from './failures.ts'
import { checkGitSettings, findCertificates } from './git-settings.ts'
import { PacketReader, protocolError } from './pkt-line.ts'
import { type Headers, Route, userAgent } from './proxy.ts'
import type {
  Credentials,
  ProcessEnvironment,
  RemoteAccess,
  RemoteWire,
  Service,
} from './remote-access.ts'
import type { HttpUrl } from './remote-url.ts'
import { awaitMoved, drained, moving, type Patience } from './stall.ts'
import {
  advertisementBytesMax,
  collectBody,
  collectReason,
  noList,
  skipHeader,
  tooManyRefs,
  wholeBody,
} from './wire.ts'

const redirectsMax = 5

interface Outgoing {
  readonly method: string
  readonly headers: Headers
  readonly body?: AsyncIterable<Uint8Array>
}

/**
 * A connection that was idle for longer is not used again: the host may have closed it while this
 * thread was packing, which a request would notice when it is too late to send it again.
 */
const idleMsMax = 1000

export class HttpWire implements RemoteWire {
  readonly #origin: string
  readonly #service: Service
  readonly #patience: Patience
  readonly #environment: ProcessEnvironment | undefined
  /** To the host of the latest request. */
  #route: Route | undefined
  /** Certificates to trust in addition to those of the platform. */
  #authorities: string | undefined
  /** Whether other certificates have been looked for, or are not to be. */
  #trustsAll: boolean
  readonly #authenticator: Authenticator
  /** The URL of the repository after redirects. */
  #base: string
  readonly #url: string
  /** Of this address, and of others. */
  readonly #accepted: Map<string, Credentials>
  readonly #proxies: Map<string, string | undefined>
  /** The credentials of each request; undefined before the host has asked for any. */
  #credentials: Credentials | undefined
  /** When the last answer ended. */
  #idleSince = 0

  constructor(url: HttpUrl, service: Service, access: RemoteAccess, patience: Patience) {
    const parsed = new URL(url.text)
    this.#base = url.text
    this.#origin = parsed.origin
    this.#service = service
    this.#url = url.text
    this.#accepted = access.accepted ?? new Map()
    this.#proxies = access.proxies ?? new Map()
    this.#credentials = this.#accepted.get(url.text)
    this.#patience = patience
    this.#environment = access.environment
    this.#authenticator = new Authenticator(access, parsed, patience)
    this.#authorities = access.certificateAuthorities
    this.#trustsAll = (this.#authorities ?? '') !== ''
  }

  get secrets(): readonly string[] {
    const secrets = [...this.#authenticator.secrets, ...(this.#route?.secrets ?? [])]
    return this.#credentials === undefined
      ? secrets
      : [...secrets, ...secretForms(this.#credentials)]
  }

  /** Credentials are asked for when the host does, and go with the requests after that. */
  async list(): Promise<PacketReader> {
    for (;;) {
      const answer = await this.#get(`/info/refs?service=${this.#service}`)
      const { statusCode = 0, headers } = answer
      if (statusCode === 200) {
        const bytes = await collectBody(this.#bodyOf(answer), advertisementBytesMax, tooManyRefs)
        await this.#noteAccepted()
        const type = mediaType(headers['content-type'])
        if (type !== `application/x-${this.#service}-advertisement`) throw noList()
        const packets = new PacketReader(wholeBody(bytes), this.#patience.signal)
        await skipHeader(packets, this.#service)
        return packets
      }
      const text = await collectReason(this.#bodyOf(answer))
      if (!asksForCredentials(statusCode))
        throw statusFailure(refusalOf(answer, text), this.secrets)
      await this.#authenticate()
    }
  }

  async send(body: AsyncIterable<Uint8Array>, length: number): Promise<AsyncIterable<Uint8Array>> {
    const service = this.#service
    const headers = {
      'content-type': `application/x-${service}-request`,
      'content-length': String(length),
      accept: `application/x-${service}-result`,
      ...this.#authorization(),
    }
    const answer = await this.#send(`${this.#base}/${service}`, { method: 'POST', headers, body })
    const { statusCode = 0 } = answer
    if (statusCode === 200) return this.#bodyOf(answer)
    const text = await collectReason(this.#bodyOf(answer))
    throw statusFailure(refusalOf(answer, text), this.secrets)
  }

  async explain(): Promise<undefined> {
    return undefined
  }

  async close(): Promise<void> {
    this.#route?.destroy()
  }

  #authorization(): Headers {
    if (this.#credentials === undefined) return {}
    const { username, password } = this.#credentials
    const basic = Buffer.from(`${username}:${password}`).toString('base64')
    return { authorization: `Basic ${basic}` }
  }

  async #noteAccepted(): Promise<void> {
    if (this.#credentials === undefined) return
    this.#accepted.set(this.#url, this.#credentials)
    await this.#authenticator.accepted()
  }

  /** Finds the next credentials. Throws `remote_auth` if there are no others. */
  async #authenticate(): Promise<void> {
    if (this.#isElsewhere()) {
      throw new StoreError(
        'remote_auth',
        'The remote redirects to another host that asks for credentials: use its address instead',
      )
    }
    this.#accepted.delete(this.#url)
    this.#credentials = await this.#authenticator.next()
    if (this.#credentials === undefined) {
      await checkGitSettings(this.#environment, this.#patience)
      const { withheld } = this.#authenticator
      const problem = 'The remote requires credentials, or rejects those of this machine'
      throw new StoreError('remote_auth', withheld ? `${problem}: ${withheld}` : problem)
    }
  }

  /** Only the list may be redirected; the request after it uses its final URL. */
  async #get(tail: string): Promise<IncomingMessage> {
    for (let redirects = 0; ; redirects += 1) {
      const how = { method: 'GET', headers: this.#authorization() }
      const answer = await this.#sendTrusting(`${this.#base}${tail}`, how)
      const { statusCode = 0 } = answer
      if (statusCode < 300 || statusCode >= 400) return answer
      answer.destroy()
      if (redirects === redirectsMax) throw protocolError('it redirects without end')
      this.#base = redirected(`${this.#base}${tail}`, tail, answer.headers.location)
    }
  }

  /** Most hosts need no other certificates, so that git is asked for them after a refusal only. */
  async #sendTrusting(url: string, how: Outgoing): Promise<IncomingMessage> {
    try {
      return await this.#send(url, how)
    } catch (error) {
      if (this.#trustsAll || !hasCode(error, 'remote_untrusted')) throw error
      this.#trustsAll = true
      const found = await findCertificates(url, this.#environment, this.#patience)
      if (found === undefined) throw error
      this.#authorities = found
      this.#route?.trust(found)
      return await this.#send(url, how)
    }
  }

  /** Resolves when the headers of the answer have arrived. */
  async #send(url: string, how: Outgoing): Promise<IncomingMessage> {
    const headers: Record<string, string> = {
      ...how.headers,
      'user-agent': userAgent,
      'accept-encoding': 'identity',
    }
    if (this.#isElsewhere()) delete headers['authorization']
    const route = await this.#routeTo(url)
    if (performance.now() - this.#idleSince > idleMsMax) route.destroy()
    const request = route.request(url, how.method, headers)
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve)
      request.once('error', (error) => reject(connectionFailure(error, route.peer)))
    })
    try {
      const sent = this.#write(request, how.body)
      // A refusal may arrive before everything is sent.
      const answer = await awaitAnswer(answered, sent, this.#patience)
      route.check(answer)
      return answer
    } catch (error) {
      request.destroy()
      throw route.explained(error)
    }
  }

  async #routeTo(url: string): Promise<Route> {
    if (this.#route?.origin === new URL(url).origin) return this.#route
    this.#route?.destroy()
    const [environment, patience] = [this.#environment, this.#patience]
    const how = { environment, patience, settings: this.#proxies, authorities: this.#authorities }
    this.#route = await Route.find(url, how)
    return this.#route
  }

  async #write(request: ClientRequest, body: AsyncIterable<Uint8Array> | undefined): Promise<void> {
    for await (const chunk of body ?? []) {
      if (request.destroyed) return
      if (request.write(chunk)) continue
      await awaitMoved(drained(request, 'response'), this.#patience)
    }
    request.end()
  }

  async *#bodyOf(answer: IncomingMessage): AsyncGenerator<Uint8Array> {
    const { 'content-encoding': encoding = 'identity' } = answer.headers
    if (encoding !== 'identity') throw protocolError('its answer is compressed')
    try {
      yield* moving(answer, this.#patience, () => answer.destroy())
      this.#idleSince = performance.now()
    } catch (error) {
      throw error instanceof StoreError ? error : connectionFailure(error)
    }
  }

  #isElsewhere(): boolean {
    return new URL(this.#base).origin !== this.#origin
  }
}

/** Without parameters; its letter case does not matter (RFC 9110). */
function mediaType(value: string = ''): string {
  return (value.split(';')[0] ?? '').trim().toLowerCase()
}

/** Azure DevOps shows those who are not signed in a page, with 203. */
function refusalOf({ statusCode = 0, headers }: IncomingMessage, text: string): Refusal {
  return { status: statusCode, text, retryAfter: headers['retry-after'] }
}

function asksForCredentials(statusCode: number): boolean {
  return statusCode === 401 || statusCode === 203
}

/** The redirected URL without the tail. Throws unless git would follow the redirect safely. */
function redirected(from: string, tail: string, location: string | undefined): string {
  let to: URL
  try {
    to = new URL(location ?? '', from)
  } catch {
    throw protocolError('it redirects without a valid address')
  }
  const before = new URL(from)
  const isSafe =
    to.protocol === 'https:' ||
    (before.protocol === 'http:' && to.hostname === before.hostname && to.protocol === 'http:')
  if (location === undefined || !isSafe) throw protocolError('it redirects to an unsafe address')
  if (to.username !== '' || to.password !== '' || !to.href.endsWith(tail)) {
    throw protocolError('it redirects elsewhere, perhaps to a web page')
  }
  return to.href.slice(0, -tail.length)
}

async function awaitAnswer(
  answered: Promise<IncomingMessage>,
  sent: Promise<void>,
  patience: Patience,
): Promise<IncomingMessage> {
  answered.catch(() => undefined)
  const failed = sent.then(
    () => undefined,
    (error: unknown) => ({ error }),
  )
  const first = await Promise.race([answered, failed])
  if (first !== undefined && 'error' in first) throw first.error
  return awaitMoved(answered, patience)
}
