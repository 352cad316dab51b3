// The figures of a server for Prometheus, on a port of their own: requests, open stores, failures,
// and those of the process. No label holds a path, a name or an id.

import { once } from 'node:events'
import { createServer, type Server as HttpServer, type ServerResponse } from 'node:http'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { StoreError } from '../errors.ts'
import type { Host } from '../hosting/host.ts'
import { listenOn } from './listener.ts'
import type { LogLine, MetricsOptions } from './options.ts'

const HOST_DEFAULT = '127.0.0.1'
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** A client chooses its method, and each new label would take memory. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const SCRAPE_MS = 10_000

/** The figures of the process: its observers run until it ends, so that all servers share them. */
let ofProcess: Registry | undefined

function figuresOfProcess(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
  }
  return ofProcess
}

export class Metrics {
  readonly #registry = new Registry()
  readonly #registers = [this.#registry]
  readonly #requests = new Counter({
    name: 'gitlocket_requests_total',
    help: 'Answered requests, by the pattern of their path',
    labelNames: ['method', 'route', 'status'],
    registers: this.#registers,
  })
  readonly #seconds = new Histogram({
    name: 'gitlocket_request_seconds',
    help: 'How long requests took, by the pattern of their path',
    labelNames: ['route'],
    buckets: BUCKETS,
    registers: this.#registers,
  })
  readonly #refusals = new Counter({
    name: 'gitlocket_request_errors_total',
    help: 'Requests that failed or were refused, by the code of the error',
    labelNames: ['code'],
    registers: this.#registers,
  })
  readonly #failures = new Counter({
    name: 'gitlocket_background_failures_total',
    help: 'Failures outside of requests, such as of a sync, by the code of the error',
    labelNames: ['code'],
    registers: this.#registers,
  })
  #server: HttpServer | undefined

  watch(host: Host): void {
    const gauge: Gauge = new Gauge({
      name: 'gitlocket_open_stores',
      help: 'Stores that are open in this process',
      registers: this.#registers,
      collect: () => gauge.set(host.operator.openStores()),
    })
  }

  countRequest({ method, route, status, ms, error }: LogLine): void {
    const path = route ?? 'none'
    this.#requests.inc({ method: METHODS.has(method) ? method : 'other', route: path, status })
    this.#seconds.observe({ route: path }, ms / 1000)
    if (error !== undefined) this.#refusals.inc({ code: error })
  }

  countFailure(error: unknown): void {
    this.#failures.inc({ code: error instanceof StoreError ? error.code : 'unexpected' })
  }

  /** Returns the URL of the figures. Throws `invalid_input`. */
  async listen({ port, host = HOST_DEFAULT }: MetricsOptions): Promise<string> {
    const registries = [figuresOfProcess(), this.#registry]
    this.#server = createServer({ requestTimeout: SCRAPE_MS }, ({ method, url }, answer) => {
      if (method === 'GET' && url === '/metrics') void write(answer, registries)
      else answer.writeHead(404).end()
    })
    return `${await listenOn(this.#server, port, host, 'http')}/metrics`
  }

  async close(): Promise<void> {
    const server = this.#server
    if (server?.listening !== true) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
}

async function write(answer: ServerResponse, registries: readonly Registry[]): Promise<void> {
  const texts = await Promise.all(registries.map((one) => one.metrics()))
  answer.writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }).end(texts.join(''))
}
