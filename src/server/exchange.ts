// One request, from its headers to its answer. The order matters: nothing of a body or a resource
// is looked at before the credential.

import { errorAnswer } from '../api/error-envelope.ts'
import { checkMayCall } from '../api/hosted.ts'
import type { Clock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import type { Caller, Host } from '../hosting/host.ts'
import { authenticate, checkDoorway, checkHeaders, type Doorways } from './admission.ts'
import { type Answer, type Connection, jsonAnswer, newRequestId, whenSent } from './answer.ts'
import type { KeyLimits } from './key-limits.ts'
import { readBody, readQuery } from './request-input.ts'
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
}

export interface ExchangeContext {
  readonly host: Host
  readonly clock: Clock
  readonly doorways: Doorways
  readonly limits: KeyLimits
  readonly bodyBytesMax: number
  readonly log: (line: LogLine) => void
}

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
  const found: { caller?: Caller } = {}
  let answer: Answer
  let error: unknown
  try {
    const json = await answerTo(context, request, route, parameters, { found, connection })
    answer = jsonAnswer(200, json, headersOf(requestId, found.caller))
  } catch (thrown) {
    error = thrown
    const { status, headers, body } = errorAnswer(thrown, requestId)
    answer = jsonAnswer(status, body, { ...headersOf(requestId, found.caller), ...headers })
  }
  log({
    request_id: requestId,
    method: request.method,
    route: route?.path ?? null,
    status: answer.status,
    ms: Math.max(0, clock() - startedAt),
    key_id: found.caller?.keyId ?? null,
    ...(error !== undefined && { error: error instanceof StoreError ? error.code : 'unexpected' }),
  })
  return answer
}

async function answerTo(
  { host, clock, doorways, limits, bodyBytesMax }: ExchangeContext,
  request: Request,
  route: Route | undefined,
  parameters: Readonly<Record<string, string>>,
  { found, connection }: { readonly found: { caller?: Caller }; readonly connection: Connection },
): Promise<unknown> {
  checkDoorway(request, doorways)
  const caller = authenticate(request.headers, host)
  found.caller = caller
  const leave = limits.enter(caller.keyId)
  try {
    if (route === undefined) throw new StoreError('not_found', 'There is no such route')
    checkHeaders(request.headers, caller, route.beta)
    const { operation, body } = route
    checkMayCall(caller, operation, parameters['memory_store_id'])
    const query = readQuery(request.url, route.query)
    const fields = body === undefined ? {} : await readBody(request, body, bodyBytesMax)
    // Names are of one place each; if not, the path counts most.
    const input = { ...fields, ...query, ...parameters }
    return await operation.run({ host, caller, clock }, input)
  } finally {
    // An answer that nobody reads takes memory as long as it waits.
    whenSent(connection, leave)
  }
}

function headersOf(requestId: string, caller: Caller | undefined): Record<string, string> {
  const workspace = caller && { 'anthropic-workspace-id': caller.workspaceId }
  return { 'request-id': requestId, ...workspace }
}
