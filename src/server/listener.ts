// The socket: listens with limits on what clients send and how slowly, and closes without cutting
// off a request that is being answered.

import { once } from 'node:events'
import {
  createServer,
  IncomingMessage,
  type Server as HttpServer,
  type ServerOptions,
  ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { getRequestListener } from '@hono/node-server'
import { assert, StoreError } from '../errors.ts'
import { type Connection, LINGER_MS, refusalOf, send } from './answer.ts'
import type { HttpOptions, ServerLimits } from './options.ts'

export interface Address {
  readonly host: string
  readonly port: number
  /** For the `baseURL` of a client. */
  readonly url: string
  /** Of the figures for Prometheus, if the options ask for them. */
  readonly metricsUrl?: string
}

const HOST_DEFAULT = '127.0.0.1'
const CHECK_MS = 1000

export class Listener {
  readonly #server: HttpServer
  readonly #limits: ServerLimits
  readonly #sockets = new Set<IncomingMessage['socket']>()

  private constructor(server: HttpServer, limits: ServerLimits) {
    this.#server = server
    this.#limits = limits
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  /** Throws `invalid_input` for an address that is not this machine's own, without TLS. */
  static async open(
    options: HttpOptions,
    limits: ServerLimits,
    fetch: (request: Request, connection: Connection) => Response | Promise<Response>,
  ): Promise<{ readonly listener: Listener; readonly address: Address }> {
    const { host = HOST_DEFAULT, port = 0, tls, behindProxy = false } = options
    if (tls === undefined && !behindProxy && !isLoopback(host)) {
      throw new StoreError(
        'invalid_input',
        'Without TLS, the server listens on this machine alone: give it a certificate and its ' +
          'key, or say that a proxy speaks TLS for it',
      )
    }
    const server = makeServer(tls, limits, fetch)
    const listener = new Listener(server, limits)
    const url = await listenOn(server, port, host, tls === undefined ? 'http' : 'https')
    return { listener, address: { host, port: Number(new URL(url).port), url } }
  }

  /** Resolves when all connections have ended, of themselves or cut off. */
  async close(): Promise<void> {
    const server = this.#server
    const closed = new Promise((resolve) => {
      server.close(resolve)
    })
    server.closeIdleConnections()
    // A connection whose answer is under way waits for another request after it.
    const idle = setInterval(() => server.closeIdleConnections(), CHECK_MS / 10)
    // Those too whose TLS has not begun, which Node's list of connections lacks.
    const cutOff = (): void => this.#sockets.forEach((socket) => void socket.destroy())
    const late = setTimeout(cutOff, this.#limits.closeMs)
    await closed
    clearInterval(idle)
    clearTimeout(late)
  }
}

const problems: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Another program listens there: choose another port, or 0 for a free one',
  EACCES: 'This user may not listen there: choose a port from 1024 on',
  EADDRNOTAVAIL: 'This machine does not have that address',
}

function whyNot(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return problems[code] ?? 'The address cannot be listened on'
}

function makeServer(
  tls: HttpOptions['tls'],
  limits: ServerLimits,
  fetch: (request: Request, connection: Connection) => Response | Promise<Response>,
): HttpServer {
  const { headerBytes, headersMs, requestMs, keepAliveMs } = limits
  const bounds = {
    maxHeaderSize: headerBytes,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: Math.min(CHECK_MS, headersMs),
  }
  const answer = getRequestListener(
    (request, { incoming, outgoing }) => fetch(request, connectionOf(incoming, outgoing)),
    { overrideGlobalObjects: false, autoCleanupIncoming: false, errorHandler: refuse },
  )
  const turns = new Turns()
  // It never rejects.
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse): void =>
    turns.take(incoming, outgoing, () => void answer(incoming, outgoing))
  const server =
    tls === undefined ? createServer(bounds, onRequest) : makeTlsServer(bounds, tls, onRequest)
  server.maxHeadersCount = limits.headers
  server.maxConnections = limits.connections
  server.timeout = limits.stillMs
  // Of an expectation that it does not know, Node would answer itself.
  server.on('checkExpectation', onRequest)
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    socket.end(rawAnswer(error.code))
    setTimeout(() => socket.destroy(), LINGER_MS)
  })
  return server
}

function makeTlsServer(
  bounds: ServerOptions,
  tls: NonNullable<HttpOptions['tls']>,
  onRequest: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): HttpServer {
  try {
    return createTlsServer(
      { ...bounds, handshakeTimeout: bounds.headersTimeout, ...tls },
      onRequest,
    )
  } catch (error) {
    throw new StoreError('invalid_input', 'The certificate or its key cannot be used', {
      cause: error,
    })
  }
}

/** The server speaks no HTTP/2, whose messages are of other classes. */
function connectionOf(incoming: unknown, outgoing: unknown): Connection {
  assert(incoming instanceof IncomingMessage && outgoing instanceof ServerResponse, 'HTTP/1')
  return { incoming, outgoing }
}

/** Answers a request with an invalid URL or Host header. */
function refuse(): Promise<Response> {
  return send(refusalOf(new StoreError('invalid_input', 'The request is malformed')), {})
}

/** The status for Node's codes for bytes that are not a request; any other is a 400. */
const rawStatuses: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
}

/**
 * The answer to bytes that are not a request, too long or too slow: there is no message to answer.
 */
function rawAnswer(code: string = ''): string {
  const status = rawStatuses[code] ?? '400 Bad Request'
  const problem = 'The request is malformed, or took too long'
  const { headers, body } = refusalOf(new StoreError('invalid_input', problem))
  const lines = Object.entries({
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** Returns the URL, without a path. Throws `invalid_input`. */
export async function listenOn(
  server: HttpServer,
  port: number,
  host: string,
  protocol: 'http' | 'https',
): Promise<string> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new StoreError('invalid_input', whyNot(error), { cause: error })
  }
  const address = server.address()
  const taken = typeof address === 'object' && address !== null ? address.port : 0
  return `${protocol}://${host.includes(':') ? `[${host}]` : host}:${taken}`
}

/** On one connection: each takes some kilobytes, before anybody has looked at its credential. */
const waitingMax = 32

interface Line {
  last: ServerResponse
  waiting: number
}

export class Turns {
  readonly #lines: WeakMap<IncomingMessage['socket'], Line> = new WeakMap()

  /** Calls `act` when it is its turn; never if the connection ends before. */
  take({ socket }: IncomingMessage, outgoing: ServerResponse, act: () => void): void {
    const line = this.#lines.get(socket)
    if (line === undefined || line.last.writableFinished) {
      this.#lines.set(socket, { last: outgoing, waiting: 0 })
      act()
      return
    }
    // To read no more of them is not enough: Node continues after each request that it has parsed.
    if (line.waiting >= waitingMax) {
      socket.destroy()
      return
    }
    const ahead = line.last
    line.last = outgoing
    line.waiting += 1
    ahead.once('close', () => {
      line.waiting -= 1
      if (!socket.destroyed) act()
    })
  }
}
