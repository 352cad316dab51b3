// One request, from its headers to its answer. The order matters: nothing of a body or a resource
// is looked at before the credential.

import { errorAnswer } from '../api/error-envelope.ts'
import { checkMayCall } from '../api/hosted.ts'
import type { Clock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import type { Caller, Host } from '../hosting/host.ts'
import { KIBIBYTE, MEBIBYTE } from '../limits.ts'
import { authenticate, checkDoorway, checkHeaders, type Doorways } from './admission.ts'
import { type Answer, type Connection, jsonAnswer, newRequestId, whenSent } from './answer.ts'
import type { KeyLimits, Stay } from './key-limits.ts'
import { readBody, readQuery, sentBytes } from './request-input.ts'
import type { Route } from './routes.ts'

/** What is known of a request that has been answered; nothing that it holds. */
export interface LogLine {
  readonly request_id: string
  readonly method: string
  /** The pattern of its path; null if there is no such route. */
  readonly route: string | null
  readonly status: number
  readonly ms: number
  /** Null without a valid credential. */
  readonly key_id: string | null
  /** The code of the error; `unexpected` for one that has none. */
  readonly error?: string
  /** Where that was thrown: the newest calls, by file and line. */
  readonly at?: readonly string[]
}

export interface ExchangeContext {
  readonly host: Host
  readonly clock: Clock
  readonly doorways: Doorways
  readonly limits: KeyLimits
  readonly bodyBytesMax: number
  readonly log: (line: LogLine) => void
}

/** Who asks, as soon as that is known. */
interface Found {
  caller?: Caller
  stay?: Stay
}

/** Set aside for an answer until its size is known: for a page of a list, and for any other. */
const PAGE_BYTES = 4 * MEBIBYTE
const ANSWER_BYTES = 128 * KIBIBYTE

/** `parameters` are those of the path. */
export async function exchange(
  context: ExchangeContext,
  request: Request,
  route: Route | undefined,
  parameters: Readonly<Record<string, string>>,
  connection: Connection,
): Promise<Answer> {
  const { clock, log } = context
  const startedAt = clock()
  const requestId = newRequestId()
  const found: Found = {}
  let answer: Answer
  let error: unknown
  try {
    const json = await answerTo(context, request, route, parameters, found)
    answer = jsonAnswer(200, json, headersOf(requestId, found.caller))
  } catch (thrown) {
    error = thrown
    const { status, headers, body } = errorAnswer(thrown, requestId)
    answer = jsonAnswer(status, body, { ...headersOf(requestId, found.caller), ...headers })
  }
  keepUntilSent(found, answer, connection)
  log({
    request_id: requestId,
    method: request.method,
    route: route?.path ?? null,
    status: answer.status,
    ms: Math.max(0, clock() - startedAt),
    key_id: found.caller?.keyId ?? null,
    ...(error !== undefined && failureOf(error)),
  })
  return answer
}

async function answerTo(
  { host, clock, doorways, limits, bodyBytesMax }: ExchangeContext,
  request: Request,
  route: Route | undefined,
  parameters: Readonly<Record<string, string>>,
  found: Found,
): Promise<unknown> {
  checkDoorway(request, doorways)
  const caller = authenticate(request.headers, host)
  found.caller = caller
  const stay = limits.enter(caller.keyId)
  found.stay = stay
  if (route === undefined) throw new StoreError('not_found', 'There is no such route')
  checkHeaders(request.headers, caller, route.beta)
  const { operation, body } = route
  checkMayCall(caller, operation, parameters['memory_store_id'])
  const query = readQuery(request.url, route.query)
  const ofBody = body === undefined ? 0 : sentBytes(request.headers, bodyBytesMax)
  await stay.hold(ofBody + (route.query.includes('limit') ? PAGE_BYTES : ANSWER_BYTES))
  const fields = body === undefined ? {} : await readBody(request, body, bodyBytesMax)
  // Names are of one place each; if not, the path counts most.
  const input = { ...fields, ...query, ...parameters }
  return operation.run({ host, caller, clock }, input)
}

/** An answer that nobody reads takes memory as long as it waits. */
function keepUntilSent({ stay }: Found, { body }: Answer, connection: Connection): void {
  if (stay === undefined) return
  stay.holdOnly(body.length)
  const { leave } = stay
  whenSent(connection, leave)
}

const FRAMES_MAX = 5

/** Of an error without a code the place alone: its message may hold anything. */
function failureOf(error: unknown): Pick<LogLine, 'error' | 'at'> {
  if (error instanceof StoreError) return { error: error.code }
  if (!(error instanceof Error)) return { error: 'unexpected' }
  const { stack = '', name, message } = error
  const start = `${name}: ${message}\n`
  const calls = stack.startsWith(start) ? stack.slice(start.length) : ''
  const frames = [...calls.matchAll(/([\w.-]+:\d+:\d+)\)?$/gm)].map(([, place = '']) => place)
  return { error: 'unexpected', at: frames.slice(0, FRAMES_MAX) }
}

function headersOf(requestId: string, caller: Caller | undefined): Record<string, string> {
  const workspace = caller && { 'anthropic-workspace-id': caller.workspaceId }
  return { 'request-id': requestId, ...workspace }
}
