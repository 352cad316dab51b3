// Serves the stores of a host, with a socket or without.

import { Hono } from 'hono'
import { systemClock } from '../clock.ts'
import type { Host } from '../hosting/host.ts'
import type { HostedRoute } from '../operations/hosted.ts'
import { type Connection, jsonAnswer, newRequestId, refusalOf, send } from './answer.ts'
import { exchange, type ExchangeContext } from './exchange.ts'
import { KeyLimits } from './key-limits.ts'
import { type Address, Listener } from './listener.ts'
import { type HttpOptions, limitsDefault } from './options.ts'
import { type Route, routes } from './routes.ts'

export interface Server {
  /** Answers a request without a socket. */
  readonly fetch: (request: Request) => Promise<Response>
  /** Begins to listen. Once. */
  readonly listen: () => Promise<Address>
  /** Lets requests end, for a while, then closes the stores. */
  readonly close: () => Promise<void>
}

/** A server of the stores of a host, which it closes. */
export function serveHost(host: Host, options: HttpOptions): Server {
  const limits = { ...limitsDefault, ...options.limits }
  const clock = options.clock ?? systemClock
  const app = makeApp(
    {
      host,
      clock,
      doorways: { hosts: hostsOf(options), origins: new Set(options.allowedOrigins) },
      limits: new KeyLimits(limits, clock),
      bodyBytesMax: limits.bodyBytes,
      log: options.log ?? (() => undefined),
    },
    options.routes ?? [],
  )
  let listening: Promise<{ readonly listener: Listener; readonly address: Address }> | undefined
  return {
    fetch: async (request) => app.fetch(request, {}),
    listen: async () => {
      listening ??= Listener.open(options, limits, (request, env) => app.fetch(request, env))
      return (await listening).address
    },
    close: async () => {
      const opened = await listening?.catch(() => undefined)
      await opened?.listener.close()
      await host.close()
    },
  }
}

function makeApp(
  context: ExchangeContext,
  guests: readonly HostedRoute[],
): Hono<{ Bindings: Connection }> {
  const app = new Hono<{ Bindings: Connection }>()
  app.get('/healthz', ({ env }) => {
    return send(jsonAnswer(200, { status: 'ok' }, { 'request-id': newRequestId() }), env)
  })
  const add = (methods: string[], route: Route | HostedRoute): void => {
    app.on(methods, route.path, async ({ req, env }) =>
      send(await exchange(context, req.raw, route, req.param(), env), env),
    )
  }
  for (const route of routes) add([route.method], route)
  for (const route of guests) add(anyMethod, route)
  app.onError((error, { env }) => send(refusalOf(error), env))
  app.notFound(async ({ req, env }) => {
    return send(await exchange(context, req.raw, undefined, {}, env), env)
  })
  return app
}

/** An adapter itself refuses those that it does not take. */
const anyMethod = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** This machine's own names, and those by which it is reached. */
function hostsOf({ host, allowedHosts = [] }: HttpOptions): ReadonlySet<string> {
  const named = host === undefined ? [] : [host.includes(':') ? `[${host}]` : host]
  const names = ['localhost', '127.0.0.1', '[::1]', ...named, ...allowedHosts]
  return new Set(names.map((name) => name.toLowerCase()))
}
