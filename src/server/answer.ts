// Answers: JSON with the headers that all have, as a Response, or written to the connection, which
// takes a fraction of the time.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { toHex } from '../bytes.ts'
import { systemRandom } from '../crypto/random.ts'
import { type ErrorDetails, StoreError } from '../errors.ts'
import { surfaceOf } from '../operations/error-surface.ts'
import type { Wire } from '../operations/wire.ts'

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | ReadableStream<Uint8Array>
}

export interface TextAnswer extends HttpAnswer {
  readonly body: string
}

/** The connection of a request; a request that did not come through `listen` has no connection. */
export interface Connection {
  readonly incoming?: IncomingMessage
  readonly outgoing?: ServerResponse
}

/** How long a client that is still sending has to read the answer before it is cut off. */
export const LINGER_MS = 500

const always = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

export function jsonAnswer(
  status: number,
  json: unknown,
  headers: Readonly<Record<string, string>>,
): TextAnswer {
  return { status, headers: { ...always, ...headers }, body: JSON.stringify(json) }
}

/** A page for a person who opens the address in a browser. It tells nothing about the stores. */
export function textAnswer(body: string): HttpAnswer {
  const type = { 'content-type': 'text/plain; charset=utf-8' }
  return { status: 200, headers: { ...always, ...type, 'request-id': newRequestId() }, body }
}

/** Refuses a request that has no route or caller to name. */
export function refusalOf(error: unknown): TextAnswer {
  const requestId = newRequestId()
  const { status, headers, body } = errorAnswer(error, requestId)
  return jsonAnswer(status, body, { ...headers, 'request-id': requestId })
}

const ID_BYTES = 12

export function newRequestId(): string {
  return `req_${toHex(systemRandom(ID_BYTES))}`
}

export async function send(answer: HttpAnswer, connection: Connection): Promise<Response> {
  const { status, headers, body } = answer
  const { incoming, outgoing } = connection
  if (incoming === undefined || outgoing === undefined) {
    return new Response(body, { status, headers })
  }
  if (typeof body !== 'string') {
    outgoing.writeHead(status, headers)
    // Ended in order, an answer that was cut short would seem to be whole.
    void pump(body, outgoing).catch(() => outgoing.destroy())
    return RESPONSE_ALREADY_SENT
  }
  // The body may have come with the headers, and be parsed after them.
  if (!incoming.complete) await new Promise(setImmediate)
  const length = Buffer.byteLength(body)
  if (incoming.complete) {
    outgoing.writeHead(status, { ...headers, 'content-length': length })
    outgoing.end(body)
  } else {
    // The rest of the body is not read. Closed at once, many systems would lose the answer, too.
    outgoing.writeHead(status, { ...headers, 'content-length': length, connection: 'close' })
    outgoing.write(body)
    const end = setTimeout(() => outgoing.end(), LINGER_MS)
    outgoing.once('close', () => clearTimeout(end))
  }
  return RESPONSE_ALREADY_SENT
}

/** Reads no more of a stream than the client takes, and cancels it when the client leaves. */
async function pump(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  const reader = body.getReader()
  const closed = new Promise<void>((resolve) => whenSent({ outgoing }, resolve))
  void closed.then(() => reader.cancel()).catch(() => undefined)
  for (;;) {
    const { value } = await reader.read()
    if (value === undefined) break
    const isTaken = outgoing.write(value)
    if (!isTaken) await Promise.race([new Promise((go) => outgoing.once('drain', go)), closed])
  }
  outgoing.end()
}

/** Calls it when the answer has left, or the client has. */
export function whenSent({ outgoing }: Connection, act: () => void): void {
  if (outgoing === undefined || outgoing.destroyed || outgoing.writableFinished) act()
  else outgoing.once('close', act)
}

const FULL = 507
const diskFull =
  'The disk of the server is full: its operator must free space; acknowledged writes are ' +
  'safe, and reading still works'
const failed = 'The server failed; its log has the error of this request'

export function errorAnswer(
  error: unknown,
  requestId: string,
): Omit<HttpAnswer, 'body'> & { readonly body: Wire } {
  const { status, type } = surfaceOf(error)
  const described = error instanceof StoreError && status < 500 ? error : undefined
  // Faults of a store or the machine are for its operator alone.
  const message = described?.message ?? (status === FULL ? diskFull : failed)
  const conflict =
    type === 'memory_path_conflict_error' ? conflictOf(described?.details ?? {}) : undefined
  const isFinal =
    type === 'memory_precondition_failed_error' ||
    Boolean(conflict?.conflicting_memory_id) ||
    status === FULL
  return {
    status,
    headers: {
      // SDKs repeat a 409 and a 507 that do not say this.
      ...(isFinal && { 'x-should-retry': 'false' }),
      ...(status === 429 && { 'retry-after': '1' }),
    },
    body: { type: 'error', error: { type, message, ...conflict }, request_id: requestId },
  }
}

function conflictOf({ memoryId, path }: ErrorDetails): {
  readonly conflicting_memory_id: string
  readonly conflicting_path: string
} {
  return { conflicting_memory_id: memoryId ?? '', conflicting_path: path ?? '' }
}
