// A server of many stores for tests: asked without a socket, unless the test listens.

import { onTestFinished } from 'vitest'
import type { Host } from '../../src/hosting/host.ts'
import { openServer } from '../../src/server/serve-host.ts'
import type { Server, ServerOptions } from '../../src/server/server.ts'
import { newHostPlace, newToken } from './hosts.ts'

export interface Asked {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- each test states the shape
  readonly json: any
}

export interface Request {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string | undefined>>
}

export interface Served {
  readonly server: Server
  readonly host: Host
  /** The token of an API key. */
  readonly token: string
  /** With the headers that an SDK sends, but for those that the request replaces. */
  readonly ask: (method: string, path: string, request?: Request) => Promise<Asked>
}

/** Closed at the end of the test. */
export async function serveStores(options: Partial<ServerOptions> = {}): Promise<Served> {
  const place = newHostPlace()
  const token = await newToken(place)
  const { host, server } = await openServer({ ...place, ...options })
  onTestFinished(() => server.close())
  const ask: Served['ask'] = async (method, path, { body, headers = {} } = {}) => {
    const sent = {
      'anthropic-beta': 'agent-memory-2026-07-22',
      'x-api-key': token,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    }
    const given = Object.entries(sent).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, value]],
    )
    const bytes = typeof body === 'string' || body instanceof Uint8Array ? body : toJson(body)
    const init = { method, headers: given, ...(bytes !== undefined && { body: bytes }) }
    const response = await server.fetch(new globalThis.Request(`http://localhost${path}`, init))
    return { status: response.status, headers: response.headers, json: await response.json() }
  }
  return { server, host, token, ask }
}

function toJson(body: unknown): string | undefined {
  return body === undefined ? undefined : JSON.stringify(body)
}

/** Makes a memory store and returns its path. */
export async function newServedStore({ ask }: Served, name: string = 'notes'): Promise<string> {
  const { json } = await ask('POST', '/v1/memory_stores', { body: { name } })
  return `/v1/memory_stores/${json.id}`
}
