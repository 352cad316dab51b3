// Opens a data directory and serves its stores, with a socket or without.

import { setMaxListeners } from 'node:events'
import { Hono, type HonoRequest } from 'hono'
import { systemClock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import type { HostBackend } from '../hosting/host-backend.ts'
import {
  type Host,
  type HostOptions,
  type HostSettings,
  openHost,
  openHostOn,
} from '../hosting/host.ts'
import type { HostedRoute } from '../operations/hosted.ts'
import {
  type Connection,
  type HttpAnswer,
  jsonAnswer,
  newRequestId,
  refusalOf,
  send,
  textAnswer,
} from './answer.ts'
import { exchange, type ExchangeContext } from './exchange.ts'
import { KeyLimits } from './key-limits.ts'
import { type Address, Listener } from './listener.ts'
import type { Metrics } from './metrics.ts'
import { type HttpOptions, limitsDefault } from './options.ts'
import { checkDoorway, preflightHeaders } from './request.ts'
import { type Route, routes } from './routes.ts'

export interface Server {
  /** Answers a request without a socket. */
  readonly fetch: (request: Request) => Promise<Response>
  /** Begins to listen. Once. */
  readonly listen: () => Promise<Address>
  /** Has `/readyz` answer 503 from now on: a balancer then sends no more requests. */
  readonly drain: () => void
  /** Lets requests end, for a while, then closes the stores. */
  readonly close: () => Promise<void>
}

/** `createServer`, which also gives the host, for its operator. */
export async function openServer(options: ServedHost & HttpOptions): Promise<OpenServer> {
  // Only a server with figures needs the library.
  const metrics = options.metrics && new (await import('./metrics.ts')).Metrics()
  const notice: HostOptions['notice'] = (told) => {
    metrics?.countFailure(told.error)
    options.notice?.(told)
  }
  const { webGit } = options
  const fetches = webGit && (await (await import('./web-git.ts')).webGitRoutes(webGit))
  const routed = { ...options, routes: [...(options.routes ?? []), ...(fetches ?? [])] }
  const host =
    'backend' in options
      ? await openHostOn(options.backend, { ...options, notice })
      : await openHost({ ...options, notice })
  metrics?.watch(host)
  return { host, server: serveHost(host, routed, metrics) }
}

/** A data directory, or another backend, which the host closes. */
type ServedHost = HostOptions | (HostSettings & { readonly backend: HostBackend })

interface OpenServer {
  readonly host: Host
  /** Closes the host. */
  readonly server: Server
}

function serveHost(host: Host, options: HttpOptions, metrics: Metrics | undefined): Server {
  const limits = { ...limitsDefault, ...options.limits }
  const clock = options.clock ?? systemClock
  const closing = new AbortController()
  // Each stream listens to it.
  setMaxListeners(0, closing.signal)
  let isDraining = false
  const log: ExchangeContext['log'] = (line) => {
    metrics?.countRequest(line)
    options.log?.(line)
  }
  const doorways = { hosts: hostsOf(options), origins: new Set(options.allowedOrigins) }
  const { bodyBytes: bodyBytesMax } = limits
  const bounds = { doorways, limits: new KeyLimits(limits, clock), bodyBytesMax }
  const app = makeApp(
    { host, clock, ...bounds, closing: closing.signal, log },
    options.routes ?? [],
    async () => (isDraining ? 'draining' : readinessOf(host)),
  )
  const answer = (request: Request, env: Connection) => app.fetch(request, env)
  let listening: Promise<Listening> | undefined
  return {
    fetch: async (request) => answer(request, {}),
    listen: async () => {
      listening ??= withMetrics(Listener.open(options, limits, answer), metrics, options.metrics)
      return (await listening).address
    },
    drain: () => {
      isDraining = true
    },
    close: async () => {
      isDraining = true
      closing.abort()
      const opened = await listening?.catch(() => undefined)
      await opened?.listener.close()
      await metrics?.close()
      await host.close()
    },
  }
}

interface Listening {
  readonly listener: Listener
  readonly address: Address
}

/** Both listen, or neither does. */
async function withMetrics(
  opening: Promise<Listening>,
  metrics: Metrics | undefined,
  options: HttpOptions['metrics'],
): Promise<Listening> {
  const opened = await opening
  if (metrics === undefined || options === undefined) return opened
  try {
    const metricsUrl = await metrics.listen(options)
    return { ...opened, address: { ...opened.address, metricsUrl } }
  } catch (error) {
    await opened.listener.close()
    throw error
  }
}

function makeApp(
  context: ExchangeContext,
  guests: readonly HostedRoute[],
  readiness: () => Promise<string>,
): Hono<{ Bindings: Connection }> {
  const app = new Hono<{ Bindings: Connection }>()
  // For a person with a browser; a client of the API learns that there is no such route.
  app.get('/', async ({ req, env }, next) => {
    if (req.header('accept')?.includes('text/html') !== true) return next()
    return send(textAnswer(front), env)
  })
  app.get('/healthz', ({ env }) => send(stateAnswer(200, 'ok'), env))
  app.get('/readyz', async ({ env }) => {
    const state = await readiness()
    return send(stateAnswer(state === 'ok' ? 200 : 503, state), env)
  })
  const add = (methods: string[], route: Route | HostedRoute): void => {
    app.on(methods, route.path, async ({ req, env }) =>
      send(await exchange(context, req.raw, route, req.param(), env), env),
    )
  }
  for (const route of routes) add([route.method], route)
  for (const route of guests) {
    if (route.fetching !== undefined) app.on(['OPTIONS'], route.path, preflight(context, route))
    add(anyMethod, route)
  }
  app.onError((error, { env }) => send(refusalOf(error), env))
  app.notFound(async ({ req, env }) => {
    return send(await exchange(context, req.raw, undefined, {}, env), env)
  })
  return app
}

/** Lets the pages of allowed origins ask; the request itself is looked at when it comes. */
function preflight(
  { doorways }: ExchangeContext,
  route: HostedRoute,
): (call: { readonly req: HonoRequest; readonly env: Connection }) => Promise<Response> {
  return ({ req, env }) => {
    checkDoorway(req.raw, { ...doorways, ...route.fetching })
    const headers = { ...preflightHeaders(route, req.raw), 'request-id': newRequestId() }
    return send({ status: 200, headers, body: '' }, env)
  }
}

const front = `This is gitlocket, an encrypted memory server for AI agents. It runs.

  /v1/memory_stores   Anthropic's Memory Stores API, with an API key
  /mcp                the same memories by the Model Context Protocol
  /healthz, /readyz   whether it runs, and takes requests

The operator of this machine makes keys with: gitlocket api-key create
`

/** `ok`, or the code of what prevents the host from serving. */
async function readinessOf(host: Host): Promise<string> {
  try {
    await host.ready()
    return 'ok'
  } catch (error) {
    return error instanceof StoreError ? error.code : 'unexpected'
  }
}

function stateAnswer(status: number, state: string): HttpAnswer {
  return jsonAnswer(status, { status: state }, { 'request-id': newRequestId() })
}

/** An adapter itself refuses those that it does not take. */
const anyMethod = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** This machine's own names, and those by which it is reached. */
function hostsOf({ host, allowedHosts = [] }: HttpOptions): ReadonlySet<string> {
  const named = host === undefined ? [] : [host.includes(':') ? `[${host}]` : host]
  const names = ['localhost', '127.0.0.1', '[::1]', ...named, ...allowedHosts]
  return new Set(names.map((name) => name.toLowerCase()))
}
