// One request of HTTP: in the protocol of 2026, which has no sessions, and in those of 2025, whose
// session id carries no more here than the name that the client gave itself with `initialize`.

import { createMcpHandler } from '@modelcontextprotocol/server'
import { toHex } from '../bytes.ts'
import { systemRandom } from '../crypto/random.ts'
import { clientName } from './author.ts'
import { makeServer, type Served } from './protocol.ts'

const SESSION_HEADER = 'mcp-session-id'
const SESSION_BYTES = 16
const INVALID_REQUEST = -32_600

/** `servedFor` gets the name that is known before the request is read by the protocol. */
export async function handleHttp(
  request: Request,
  servedFor: (name: unknown) => Served,
): Promise<Response> {
  const body = await bodyOf(request)
  // One request of many calls would be many for which one was let in.
  if (Array.isArray(body)) return refused('Batches are not taken: send one message a request')
  const asked = Reflect.has(Object(body), 'method') ? Reflect.get(Object(body), 'method') : ''
  const isFirst = asked === 'initialize'
  const served = servedFor(nameIn(request.headers.get(SESSION_HEADER)))
  const handler = createMcpHandler(() => makeServer(served), { maxSubscriptions: 0 })
  const response = await handler.fetch(request, body === undefined ? {} : { parsedBody: body })
  return isFirst && response.ok ? withSession(response, clientNameIn(body)) : response
}

/** Undefined for anything but JSON: the protocol reports it. */
async function bodyOf(request: Request): Promise<unknown> {
  if (request.method !== 'POST') return undefined
  try {
    return JSON.parse(await request.clone().text())
  } catch {
    return undefined
  }
}

function clientNameIn(body: unknown): unknown {
  const params: unknown = Reflect.get(Object(body), 'params')
  const clientInfo: unknown = Reflect.get(Object(params), 'clientInfo')
  return Reflect.get(Object(clientInfo), 'name')
}

function withSession(response: Response, name: unknown): Response {
  const headers = new Headers(response.headers)
  headers.set(SESSION_HEADER, `${clientName(name)}.${toHex(systemRandom(SESSION_BYTES))}`)
  return new Response(response.body, { status: response.status, headers })
}

function nameIn(session: string | null): string | undefined {
  return session === null ? undefined : session.replace(/\.[^.]*$/, '')
}

function refused(message: string): Response {
  const error = { jsonrpc: '2.0', id: null, error: { code: INVALID_REQUEST, message } }
  return Response.json(error, { status: 400 })
}
