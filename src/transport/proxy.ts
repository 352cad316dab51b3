// HTTP proxies, chosen as git and curl choose them: `http.proxy` of git, the variables, NO_PROXY. A
// request to an https host passes through a tunnel (RFC 9110 §9.3.6), so that TLS ends at the host,
// and one to an http host to the proxy itself. A proxy is untrusted: its answer is bounded, and its
// words are not shown. Its credentials go to it alone.

import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http'
import { Agent as HttpsAgent, request as requestHttps, type RequestOptions } from 'node:https'
import { BlockList, isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { rootCertificates } from 'node:tls'
import { hasCode, StoreError } from '../errors.ts'
import { connectionFailure, secretForms } from './failures.ts'
import { findGitSetting } from './git-settings.ts'
import type { Credentials, ProcessEnvironment } from './remote-access.ts'
import type { Patience } from './stall.ts'

interface Proxy {
  /** The variable or setting that names it: errors show this, never the address. */
  readonly source: string
  readonly isSecure: boolean
  readonly host: string
  readonly port: number
  readonly credentials: Credentials | undefined
}

interface RouteOptions {
  readonly environment: ProcessEnvironment | undefined
  readonly patience: Patience
  /** What git has told, by URL: a program that asks a remote each minute starts git once. */
  readonly settings: Map<string, string | undefined>
}

export type Headers = Readonly<Record<string, string>>

/** Hosts recognise git by this name, and answer other clients with a page. */
export const userAgent = 'git/gitlocket'
/** The header of an answer to CONNECT: more is refused. */
const headerBytesMax = 16_384
/** The port that curl implies in the address of an http:// proxy. */
const portDefault = 1080
const agentOptions = { keepAlive: true, maxSockets: 1 }

/** How requests reach the hosts of one origin: directly or through a proxy. */
export class Route {
  readonly origin: string
  readonly #proxy: Proxy | undefined
  readonly #isSecure: boolean
  #agent: HttpAgent
  readonly #settings: RouteOptions['settings']

  /** Throws `git_config_invalid`, `cancelled`, or `remote_unreachable` for an unusable proxy. */
  static async find(
    url: string,
    how: RouteOptions & { readonly authorities: string | undefined },
  ): Promise<Route> {
    const proxy = await findProxy(new URL(url), how)
    return new Route(new URL(url), proxy, how)
  }

  private constructor(
    url: URL,
    proxy: Proxy | undefined,
    {
      settings,
      authorities,
    }: Pick<RouteOptions, 'settings'> & { readonly authorities: string | undefined },
  ) {
    this.origin = url.origin
    this.#settings = settings
    this.#proxy = proxy
    this.#isSecure = url.protocol === 'https:'
    this.#agent = this.#agentWith(authorities)
  }

  /** The proxy's, in every form in which they may be echoed. */
  get secrets(): readonly string[] {
    return this.#proxy?.credentials === undefined ? [] : secretForms(this.#proxy.credentials)
  }

  /** Trusts these certificates, too. */
  trust(authorities: string): void {
    this.#agent.destroy()
    this.#agent = this.#agentWith(authorities)
  }

  /** Where requests are sent, for messages. */
  get peer(): string {
    return this.#plainProxy === undefined ? 'the remote' : nameOf(this.#plainProxy)
  }

  /** Begins a request to a URL of the origin. */
  request(url: string, method: string, headers: Headers): ClientRequest {
    const proxy = this.#plainProxy
    if (proxy === undefined) {
      const start = this.#isSecure ? requestHttps : requestHttp
      return start(url, { method, headers, agent: this.#agent })
    }
    const all = { ...headers, host: new URL(url).host, ...authorization(proxy) }
    return startAt(proxy, { method, path: url, headers: all, agent: this.#agent })
  }

  /** Throws if the proxy answered in place of the host. */
  check(answer: IncomingMessage): void {
    const proxy = this.#plainProxy
    if (proxy === undefined || answer.statusCode !== 407) return
    answer.destroy()
    throw refusal(proxy, 407)
  }

  /**
   * Names the proxy in the error of a request. Ends tunnels that are being opened, and has the next
   * route ask for the proxy again.
   */
  explained(error: unknown): unknown {
    this.#settings.clear()
    const proxy = this.#proxy
    if (proxy === undefined) return error
    const wasOpening = this.#agent instanceof TunnelAgent && this.#agent.giveUp()
    if (hasCode(error, 'remote_timeout') && wasOpening) {
      return failure('remote_timeout', proxy, 'did not connect to the remote in time')
    }
    if (!(error instanceof StoreError) || !hasCode(error, 'remote_untrusted')) return error
    const hint = `if ${nameOf(proxy)} answers in place of hosts, name its certificate`
    return new StoreError(error.code, `${error.message}; ${hint}`, { cause: error })
  }

  /** Ends idle connections, and all others. */
  destroy(): void {
    this.#agent.destroy()
  }

  /** The proxy that requests are sent to, without a tunnel. */
  get #plainProxy(): Proxy | undefined {
    return this.#isSecure ? undefined : this.#proxy
  }

  #agentWith(authorities: string | undefined): HttpAgent {
    const more = authorities && { ca: [...rootCertificates, authorities] }
    const options = { ...agentOptions, ...more }
    if (this.#isSecure && this.#proxy !== undefined) return new TunnelAgent(this.#proxy, options)
    const isSecure = this.#plainProxy?.isSecure ?? this.#isSecure
    return isSecure ? new HttpsAgent(options) : new HttpAgent(agentOptions)
  }
}

/** With an error and no socket, or with null and a socket. */
type SocketCallback = (error: Error | null, ...sockets: Duplex[]) => void

/** Connects to hosts through tunnels, and speaks TLS with the host inside them. */
class TunnelAgent extends HttpsAgent {
  readonly #proxy: Proxy
  readonly #certificates: Pick<RequestOptions, 'ca'>
  readonly #opening: Set<ClientRequest> = new Set()

  constructor(proxy: Proxy, options: typeof agentOptions & { readonly ca?: string[] }) {
    super(options)
    this.#proxy = proxy
    this.#certificates = options.ca === undefined ? {} : { ca: options.ca }
  }

  override createConnection(
    options: RequestOptions,
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    const request = connectRequest(this.#proxy, options, this.#certificates)
    const done: SocketCallback = callback ?? (() => undefined)
    this.#opening.add(request)
    openTunnel(request, this.#proxy, (error, ...sockets) => {
      this.#opening.delete(request)
      if (error !== null) done(error)
      for (const socket of sockets) {
        const inside: RequestOptions & { readonly socket: Duplex } = { ...options, socket }
        const secure = super.createConnection(inside)
        if (secure) done(null, secure)
      }
    })
  }

  /** Whether a tunnel was being opened. */
  giveUp(): boolean {
    for (const request of this.#opening) request.destroy()
    return this.#opening.size > 0
  }

  override destroy(): void {
    this.giveUp()
    super.destroy()
  }
}

function connectRequest(
  proxy: Proxy,
  { host, port }: RequestOptions,
  certificates: RequestOptions,
): ClientRequest {
  const name = isIP(host ?? '') === 6 ? `[${host}]` : host
  const authority = `${name}:${port}`
  const headers = {
    host: authority,
    'user-agent': userAgent,
    // By default, Node asks for the end of a connection that belongs to no agent.
    connection: 'keep-alive',
    ...authorization(proxy),
  }
  const how = { method: 'CONNECT', path: authority, headers, maxHeaderSize: headerBytesMax }
  return startAt(proxy, { ...how, ...certificates, agent: false })
}

function openTunnel(request: ClientRequest, proxy: Proxy, done: SocketCallback): void {
  request.once('error', (error) => done(connectionFailure(error, nameOf(proxy))))
  request.once('connect', ({ statusCode = 0 }, socket, head) => {
    const isOpen = statusCode >= 200 && statusCode < 300
    // In TLS the client speaks first: earlier bytes are not the host's.
    if (isOpen && head.length === 0) done(null, socket)
    else {
      socket.destroy()
      done(isOpen ? notAProxy(proxy) : refusal(proxy, statusCode))
    }
  })
  request.end()
}

/** A request that the proxy itself receives. */
function startAt(proxy: Proxy, options: RequestOptions): ClientRequest {
  const { host, port, isSecure } = proxy
  // Otherwise it would come from the header Host, which names the remote.
  const servername = isIP(host) === 0 ? host : ''
  return isSecure
    ? requestHttps({ ...options, host, port, servername })
    : requestHttp({ ...options, host, port })
}

function authorization({ credentials }: Proxy): Headers {
  if (credentials === undefined) return {}
  const { username, password } = credentials
  const basic = Buffer.from(`${username}:${password}`).toString('base64')
  return { 'proxy-authorization': `Basic ${basic}` }
}

function nameOf({ source }: Pick<Proxy, 'source'>): string {
  return `the proxy that ${source} names`
}

function failure(
  code: 'remote_unreachable' | 'remote_timeout' | 'remote_protocol',
  proxy: Pick<Proxy, 'source'>,
  problem: string,
): StoreError {
  return new StoreError(code, `T${nameOf(proxy).slice(1)} ${problem}`)
}

function notAProxy(proxy: Proxy, status?: number): StoreError {
  const how = status === undefined ? '' : ` (${status})`
  return failure('remote_protocol', proxy, `does not answer like an HTTP proxy${how}`)
}

function refusal(proxy: Proxy, status: number): StoreError {
  const [, problem] = refusals.find(([statuses]) => statuses.includes(status)) ?? []
  if (problem === undefined) return notAProxy(proxy, status)
  const advice = status === 407 ? adviceOf(proxy) : ''
  return failure('remote_unreachable', proxy, `${problem} (${status})${advice}`)
}

const refusals: readonly (readonly [readonly number[], string])[] = [
  [[407], 'requires credentials'],
  [
    [401, 403, 405, 451],
    'refuses to connect to the host of the remote: allow this host at the proxy, or in the ' +
      'network settings of the sandbox',
  ],
  [[408, 500, 502, 503, 504], 'cannot reach the host of the remote'],
  [[429], 'limits the rate of requests: synchronise again later'],
]

function adviceOf({ credentials }: Proxy): string {
  return credentials === undefined
    ? ': put them into its address, as in http://user:password@host:port'
    : ' other than those in its address'
}

/** The proxy for a URL, as git finds it. */
async function findProxy(
  url: URL,
  { environment = {}, patience, settings: known }: RouteOptions,
): Promise<Proxy | undefined> {
  if (isExempt(url, environment['no_proxy'] ?? environment['NO_PROXY'] ?? '')) return undefined
  const { href } = url
  if (!known.has(href)) {
    known.set(href, await findGitSetting('http.proxy', environment, patience, href))
  }
  const setting = known.get(href)
  const named = setting === undefined ? findVariable(url, environment) : { text: setting }
  const { text = '', source = 'http.proxy of git' }: { text?: string; source?: string } =
    named ?? {}
  return text === '' ? undefined : parseProxy(text, source)
}

/** The first that is set, even if it is empty: that allows no proxy. */
function findVariable(
  { protocol }: URL,
  environment: ProcessEnvironment,
): { readonly text: string; readonly source: string } | undefined {
  // Not HTTP_PROXY: in CGI programs a request header can set it, so curl ignores it.
  const specific = protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy']
  for (const source of [...specific, 'all_proxy', 'ALL_PROXY']) {
    const text = environment[source]
    if (text !== undefined) return { text: text.trim(), source }
  }
  return undefined
}

function parseProxy(text: string, source: string): Proxy {
  const { scheme = 'http', rest = '' } =
    /^(?:(?<scheme>[a-z][a-z0-9+.-]*):\/\/)?(?<rest>.*)$/is.exec(text)?.groups ?? {}
  const unusable = (problem: string): StoreError =>
    failure('remote_unreachable', { source }, `cannot be used: ${problem}`)
  const name = scheme.toLowerCase()
  if (name.startsWith('socks')) {
    throw unusable('SOCKS is not supported; name an HTTP proxy, or use ssh')
  }
  if (name !== 'http' && name !== 'https') throw unusable('its address must begin with http://')
  try {
    const url = new URL(`${name}://${rest}`)
    // A URL drops the port that its scheme implies, which is not the one that curl implies.
    const hasPort = /:\d+$/.test(rest.replace(/[/?#].*$/s, ''))
    const implied = name === 'https' ? 443 : hasPort ? 80 : portDefault
    const [username, password] = [url.username, url.password].map(decodeURIComponent)
    const hasUser = username !== '' || password !== ''
    return {
      source,
      isSecure: name === 'https',
      host: url.hostname.replaceAll(/[[\]]/g, ''),
      port: url.port === '' ? implied : Number(url.port),
      credentials: hasUser ? { username: username ?? '', password: password ?? '' } : undefined,
    }
  } catch {
    throw unusable('its address must be like http://user:password@host:port')
  }
}

/**
 * Whether NO_PROXY names the host of a URL: by `*`, a name that covers its subdomains, with or
 * without a leading `.` or `*.`, an address, or a CIDR range; each may have a port, save a range.
 */
export function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const host = hostname.replaceAll(/[[\]]/g, '').replace(/\.$/, '')
  const used = port === '' ? (protocol === 'https:' ? '443' : '80') : port
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true
    const form = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(entry)
    const [name = '', only = used] = form?.slice(1) ?? [entry]
    return only === used && isNamed(host, name.replaceAll(/[[\]]/g, '').toLowerCase())
  })
}

function isNamed(host: string, name: string): boolean {
  if (isIP(host) !== 0) return isInRange(host, name)
  const bare = name.replace(/^\*?\./, '').replace(/\.$/, '')
  return bare !== '' && (host === bare || host.endsWith(`.${bare}`))
}

function isInRange(host: string, range: string): boolean {
  const [address = '', bits] = range.split('/', 2)
  const family = isIP(address)
  const most = family === 4 ? 32 : 128
  if (family === 0 || !/^\d{1,3}$/.test(bits ?? `${most}`) || Number(bits ?? 0) > most) return false
  const block = new BlockList()
  const kind = family === 4 ? 'ipv4' : 'ipv6'
  block.addSubnet(address, Number(bits ?? most), kind)
  return isIP(host) === family && block.check(host, kind)
}
