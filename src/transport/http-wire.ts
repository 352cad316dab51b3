// The wire over https, and over http to this machine. Follows redirects of the first request only,
// and never sends credentials to another host; refuses compressed and oversized answers; ends a
// stalled request. Must not know what the bodies mean.

import {
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestHttp,
  type RequestOptions,
} from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { rootCertificates } from 'node:tls'
import { concatBytes } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { Authenticator } from './credentials.ts'
import { connectionFailure, statusFailure } from './http-failure.ts'
import { protocolError, textOf } from './pkt-line.ts'
import { withProxyHint } from './proxy.ts'
import type { Credentials, ProcessEnvironment, RemoteAccess } from './remote-access.ts'
import type { HttpUrl } from './remote-url.ts'
import { awaitMoved, moving, type Patience } from './stall.ts'
import {
  advertisementBytesMax,
  type Request,
  type Response,
  tooManyRefs,
  wholeBody,
  type Wire,
} from './wire.ts'

const redirectsMax = 5
/** The largest answer that only describes an error. */
const errorBytesMax = 16_384

export class HttpWire implements Wire {
  readonly url: string
  readonly #origin: string
  readonly #patience: Patience
  readonly #environment: ProcessEnvironment | undefined
  readonly #agent: HttpAgent
  readonly #authenticator: Authenticator
  /** The URL of the repository after redirects. */
  #base: string

  constructor(url: HttpUrl, access: RemoteAccess, patience: Patience) {
    const parsed = new URL(url.text)
    this.url = url.text
    this.#base = url.text
    this.#origin = parsed.origin
    this.#patience = patience
    this.#environment = access.environment
    this.#authenticator = new Authenticator(access, parsed, patience)
    const { certificateAuthorities: authorities } = access
    const keepAlive = { keepAlive: true, maxSockets: 1 }
    this.#agent =
      parsed.protocol === 'https:'
        ? new HttpsAgent({
            ...keepAlive,
            ...(authorities && { ca: [...rootCertificates, authorities] }),
          })
        : new HttpAgent(keepAlive)
  }

  get secrets(): readonly string[] {
    return this.#authenticator.secrets
  }

  /** GitRemoteHTTP calls this when a host requires credentials. */
  async authenticate(): Promise<Credentials | { cancel: true }> {
    if (this.#isElsewhere()) {
      throw new StoreError(
        'remote_auth',
        'The remote redirects to another host that asks for credentials: use its address instead',
      )
    }
    return (await this.#authenticator.next()) ?? { cancel: true }
  }

  accepted(): Promise<void> {
    return this.#authenticator.accepted()
  }

  async request({ url, method = 'GET', headers = {}, body }: Request): Promise<Response> {
    const tail = url.slice(this.url.length)
    if (method === 'POST') return this.#post(tail, headers, body)
    const answer = await this.#get(tail, headers)
    const { statusCode = 0, statusMessage = '' } = answer
    const chunks = this.#bodyOf(answer)
    const bytes =
      statusCode === 200
        ? await collect(chunks, advertisementBytesMax, tooManyRefs)
        : await collect(chunks, errorBytesMax)
    return {
      url,
      method,
      statusCode,
      statusMessage,
      headers: plain(answer),
      body: wholeBody(bytes),
    }
  }

  async explain(): Promise<undefined> {
    return undefined
  }

  async close(): Promise<void> {
    this.#agent.destroy()
  }

  /** Only the first request may be redirected; the later ones use its final URL. */
  async #get(tail: string, headers: Request['headers']): Promise<IncomingMessage> {
    for (let redirects = 0; ; redirects += 1) {
      const answer = await this.#send(`${this.#base}${tail}`, { method: 'GET', headers })
      const { statusCode = 0 } = answer
      if (statusCode < 300 || statusCode >= 400) return answer
      answer.destroy()
      if (redirects === redirectsMax) throw protocolError('it redirects without end')
      this.#base = redirected(`${this.#base}${tail}`, tail, answer.headers.location)
    }
  }

  async #post(tail: string, headers: Request['headers'], body: Request['body']): Promise<Response> {
    const url = `${this.#base}${tail}`
    const answer = await this.#send(url, { method: 'POST', headers, body })
    const { statusCode = 0, statusMessage = '' } = answer
    const response = { url, method: 'POST', statusCode, statusMessage, headers: plain(answer) }
    if (statusCode === 200) return { ...response, body: this.#bodyOf(answer) }
    // GitRemoteHTTP would drop the text.
    const bytes = await collect(this.#bodyOf(answer), errorBytesMax)
    throw statusFailure(statusCode, textOf(bytes), this.secrets)
  }

  /** Resolves when the headers of the answer have arrived. */
  async #send(
    url: string,
    how: {
      readonly method: string
      readonly headers: Request['headers']
      readonly body?: Request['body']
    },
  ): Promise<IncomingMessage> {
    const headers: Record<string, string> = {
      ...how.headers,
      // Hosts recognise git by this name, and answer other clients with a page.
      'user-agent': 'git/gitlocket',
      'accept-encoding': 'identity',
    }
    if (this.#isElsewhere()) for (const name of credentialHeaders) delete headers[name]
    const options: RequestOptions = { method: how.method, headers, agent: this.#agentFor(url) }
    const start = url.startsWith('https:') ? requestHttps : requestHttp
    const request = start(url, options)
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve)
      request.once('error', (error) => reject(connectionFailure(error)))
    })
    try {
      const sent = this.#write(request, how.body)
      // A refusal may arrive before everything is sent.
      return await awaitAnswer(answered, sent, this.#patience)
    } catch (error) {
      request.destroy()
      throw await withProxyHint(error, url, this.#environment)
    }
  }

  async #write(request: ReturnType<typeof requestHttp>, body: Request['body']): Promise<void> {
    for await (const chunk of body ?? []) {
      if (request.destroyed) return
      if (request.write(chunk)) continue
      await awaitMoved(drained(request), this.#patience)
    }
    request.end()
  }

  async *#bodyOf(answer: IncomingMessage): AsyncGenerator<Uint8Array> {
    const { 'content-encoding': encoding = 'identity' } = answer.headers
    if (encoding !== 'identity') throw protocolError('its answer is compressed')
    try {
      yield* moving(answer, this.#patience, () => answer.destroy())
    } catch (error) {
      throw error instanceof StoreError ? error : connectionFailure(error)
    }
  }

  #isElsewhere(): boolean {
    return new URL(this.#base).origin !== this.#origin
  }

  /** The agent fits the first host's protocol, and may have extra certificate authorities. */
  #agentFor(url: string): HttpAgent | undefined {
    return new URL(url).protocol === new URL(this.url).protocol ? this.#agent : undefined
  }
}

const credentialHeaders = ['Authorization', 'authorization', 'Cookie', 'cookie']

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

function drained(request: ReturnType<typeof requestHttp>): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      request.off('drain', done)
      request.off('close', done)
      request.off('response', done)
      resolve()
    }
    request.on('drain', done)
    request.on('close', done)
    request.on('response', done)
  })
}

async function collect(
  chunks: AsyncIterable<Uint8Array>,
  limit: number,
  tooLong = (): StoreError => protocolError('its answer is too long'),
): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > limit) throw tooLong()
    parts.push(chunk)
  }
  return concatBytes(...parts)
}

function plain({ headers }: IncomingMessage): Record<string, string> {
  return { 'content-type': headers['content-type'] ?? '' }
}
