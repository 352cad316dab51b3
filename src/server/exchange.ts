// One request, from its headers to its answer. The order matters: nothing of a body or a resource
// is looked at before the credential.

import type { Clock } from '../clock.ts'
import { hasCode, StoreError } from '../errors.ts'
import type { Caller } from '../hosting/credentials.ts'
import type { Host } from '../hosting/host.ts'
import { KIBIBYTE, MEBIBYTE } from '../limits.ts'
import {
  checkMayCall,
  type HostedCall,
  type HostedRoute,
  type StreamTerms,
} from '../operations/hosted.ts'
import {
  type HttpAnswer,
  type Connection,
  errorAnswer,
  jsonAnswer,
  newRequestId,
  whenSent,
} from './answer.ts'
import type { KeyLimits, Lease } from './key-limits.ts'
import type { LogLine } from './options.ts'
import {
  authenticate,
  authenticateFetch,
  checkDoorway,
  checkHeaders,
  crossOriginHeaders,
  type Doorways,
  readBody,
  readBytes,
  readQuery,
  sentBytes,
} from './request.ts'
import type { Route } from './routes.ts'
import { findTrace, type Trace, traceResponse } from './trace.ts'

export interface ExchangeContext {
  readonly host: Host
  readonly clock: Clock
  readonly doorways: Doorways
  readonly limits: KeyLimits
  readonly bodyBytesMax: number
  /** Aborted when the server closes. */
  readonly closing: AbortSignal
  readonly log: (line: LogLine) => void
}

/** The caller, as soon as it is known. */
interface Found {
  caller?: Caller
  lease?: Lease
  /** What went wrong behind an answer that does not say so. */
  fault?: unknown
  trace?: Trace | undefined
}

/** Set aside for an answer until its size is known: for a page of a list, and for any other. */
const PAGE_BYTES = 4 * MEBIBYTE
const ANSWER_BYTES = 128 * KIBIBYTE
/** What a stream holds for a client that reads slowly. */
const STREAM_BYTES = 128 * KIBIBYTE

/** `parameters` are those of the path. */
export async function exchange(
  context: ExchangeContext,
  request: Request,
  route: Route | HostedRoute | undefined,
  parameters: Readonly<Record<string, string>>,
  connection: Connection,
): Promise<HttpAnswer> {
  const { clock, log } = context
  const startedAt = clock()
  const requestId = newRequestId()
  const found: Found = { trace: findTrace(request.headers.get('traceparent')) }
  let answer: HttpAnswer
  try {
    const own = await answerTo(context, request, route, parameters, found)
    answer = { ...own, headers: { ...own.headers, ...headersOf(requestId, found) } }
  } catch (thrown) {
    found.fault = thrown
    const { status, headers, body } = errorAnswer(thrown, requestId)
    answer = jsonAnswer(status, body, { ...headersOf(requestId, found), ...headers })
  }
  if (route !== undefined && 'fetching' in route) {
    const { headers, status } = answer
    answer = { ...answer, headers: { ...headers, ...crossOriginHeaders(route, request, status) } }
  }
  keepUntilSent(found, answer, connection)
  log({
    request_id: requestId,
    method: request.method,
    route: route?.path ?? null,
    status: answer.status,
    ms: Math.max(0, clock() - startedAt),
    key_id: found.caller?.keyId ?? null,
    ...(found.trace && { trace_id: found.trace.traceId, span_id: found.trace.spanId }),
    ...(found.fault !== undefined && failureOf(found.fault)),
  })
  return answer
}

async function answerTo(
  context: ExchangeContext,
  request: Request,
  route: Route | HostedRoute | undefined,
  parameters: Readonly<Record<string, string>>,
  found: Found,
): Promise<HttpAnswer> {
  const { host, clock, doorways, limits, bodyBytesMax } = context
  const { fetching } = route !== undefined && 'handle' in route ? route : {}
  checkDoorway(request, fetching === undefined ? doorways : { ...doorways, ...fetching })
  const admit = fetching === undefined ? authenticate : authenticateFetch
  const caller = await admit(request.headers, host)
  found.caller = caller
  const lease = limits.enter(caller.keyId, caller.actor.id)
  found.lease = lease
  if (route === undefined) throw new StoreError('not_found', 'There is no such route')
  if ('handle' in route) return answerOfGuest(context, request, route, { caller, lease, found })
  checkHeaders(request.headers, caller, route.beta)
  const { operation, body } = route
  checkMayCall(caller, operation, parameters['memory_store_id'])
  const query = readQuery(request.url, route.query)
  const ofBody = body === undefined ? 0 : sentBytes(request.headers, bodyBytesMax)
  await lease.hold(ofBody + (route.query.includes('limit') ? PAGE_BYTES : ANSWER_BYTES))
  const fields = body === undefined ? {} : await readBody(request, body, bodyBytesMax)
  // Names are of one place each; if not, the path counts most.
  const input = { ...fields, ...query, ...parameters }
  return jsonAnswer(200, await operation.run({ host, caller, clock }, input), {})
}

/** What another adapter answers: as a whole, unless it began a stream. */
async function answerOfGuest(
  { host, bodyBytesMax, closing }: ExchangeContext,
  request: Request,
  route: HostedRoute,
  {
    caller,
    lease,
    found,
  }: { readonly caller: Caller; readonly lease: Lease; readonly found: Found },
): Promise<HttpAnswer> {
  const { method, url, headers } = request
  const hasBody = method !== 'GET' && method !== 'HEAD'
  await lease.hold((hasBody ? sentBytes(headers, bodyBytesMax) : 0) + PAGE_BYTES)
  const body = hasBody ? await readBytes(request, bodyBytesMax) : null
  const received = new Request(url, { method, headers, body })
  const tell = (error: unknown): void => {
    found.fault ??= error
  }
  const searcher = searcherOf(caller, lease, body?.length ?? 0)
  const joinTrace = (traceparent: unknown): void => {
    found.trace ??= findTrace(traceparent)
  }
  let isStream = false
  const beginStream = (): StreamTerms => {
    lease.beginStream()
    isStream = true
    const admit = route.fetching === undefined ? authenticate : authenticateFetch
    return { closing, isAdmitted: async () => isAdmitted(admit(headers, host)) }
  }
  const call = { host, caller, request: received, searcher, tell, joinTrace, beginStream }
  const response = await route.handle(call)
  const own = { ...Object.fromEntries(response.headers), 'cache-control': 'no-store' }
  const answered = jsonAnswer(response.status, '', own)
  const stream = isStream ? response.body : null
  return { ...answered, body: stream ?? (await response.text()) }
}

async function isAdmitted(admitting: Promise<Caller>): Promise<boolean> {
  try {
    await admitting
    return true
  } catch (error) {
    if (hasCode(error, 'unauthenticated')) return false
    throw error
  }
}

/**
 * While it waits for a thread, a search needs no room for an answer, and must not keep it from
 * other requests of its key. With a thread it gets that room at once: threads are few, and one
 * that waited for bytes would be lost to all other keys.
 */
function searcherOf(
  { keyId, actor }: Caller,
  lease: Lease,
  bodyBytes: number,
): HostedCall['searcher'] {
  const { checkMatching, matched, holdOnly } = lease
  return {
    key: keyId,
    session: actor.id,
    waits: () => {
      checkMatching()
      holdOnly(bodyBytes)
    },
    begins: () => {
      checkMatching()
      holdOnly(bodyBytes + PAGE_BYTES)
    },
    matched,
  }
}

/** An answer that the client does not read takes memory as long as it waits. */
function keepUntilSent({ lease }: Found, { body }: HttpAnswer, connection: Connection): void {
  if (lease === undefined) return
  lease.holdOnly(typeof body === 'string' ? body.length : STREAM_BYTES)
  const { leave } = lease
  whenSent(connection, leave)
}

const FRAMES_MAX = 5

/** Reports only the place of an error without a code: its message may hold anything. */
function failureOf(error: unknown): Pick<LogLine, 'error' | 'at'> {
  if (error instanceof StoreError) return { error: error.code }
  if (!(error instanceof Error)) return { error: 'unexpected' }
  const { stack = '', name, message } = error
  const start = `${name}: ${message}\n`
  const calls = stack.startsWith(start) ? stack.slice(start.length) : ''
  const frames = [...calls.matchAll(/([\w.-]+:\d+:\d+)\)?$/gm)].map(([, place = '']) => place)
  return { error: 'unexpected', at: frames.slice(0, FRAMES_MAX) }
}

function headersOf(requestId: string, { caller, trace }: Found): Record<string, string> {
  const workspace = caller && { 'anthropic-workspace-id': caller.workspaceId }
  const traced = trace && { traceresponse: traceResponse(trace) }
  return { 'request-id': requestId, ...workspace, ...traced }
}
