// A scripted Messages API on a local port, for the real SDK over real HTTP: it answers each request
// with the next reply of a script, streamed if it is asked to, and refuses, as the real one would,
// what the API does not allow. Holds message threads, which the newer generation of the SDK uses.
// Knows nothing of gitlocket.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import {
  betasOf,
  type Block,
  blocksOf,
  checkBody,
  checkMessages,
  checkRequest,
  isToolResult,
  isToolUse,
  type Message,
  messageOf,
  recordOf,
  unthreadableIn,
} from './messages-api-rules.ts'
import { eventOf, eventsOf } from './messages-api-stream.ts'

export interface Received {
  readonly betas: readonly string[]
  readonly body: Readonly<Record<string, unknown>>
  /** The whole conversation, with what the server holds of it. */
  readonly messages: readonly Message[]
}

export interface MessagesApi {
  readonly url: string
  readonly received: readonly Received[]
  /** The refused requests, each with the reason. */
  readonly refusals: readonly string[]
  close(): Promise<void>
}

/** Stops a stream after `after` events. */
interface Halt {
  readonly after: number
  /** `wait` for the client to go, `break` the connection, or send an error as the last event. */
  readonly ending: 'wait' | 'break' | Block
}

export interface Reply {
  readonly content: readonly Block[]
  /** Default: `tool_use` if there is a call, else `end_turn`. */
  readonly stopReason?: string
  readonly stopDetails?: Block
  readonly inputTokens?: number
  readonly halt?: Halt
}

/** An answer that is an error, as if the API were overloaded or the key wrong. */
export interface Failure {
  readonly status: number
  readonly type: string
  readonly message: string
  readonly details?: Block
  readonly headers?: Readonly<Record<string, string>>
}

/** The content alone is a reply. */
export type Turn = readonly Block[] | Reply | Failure

export function text(words: string): Block {
  return { type: 'text', text: words }
}

export function memoryCall(id: string, input: unknown): Block {
  return { type: 'tool_use', id, name: 'memory', input }
}

/** Starts it. A reply with a tool call asks for results; one without ends the conversation. */
export async function startMessagesApi(script: readonly Turn[]): Promise<MessagesApi> {
  const conversation = new Conversation(script)
  const server = createServer((request, response) => void answer(conversation, request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    received: conversation.received,
    refusals: conversation.refusals,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Answer {
  readonly message: Block
  readonly isStreamed: boolean
  readonly halt: Halt | undefined
}

class Conversation {
  readonly received: Received[] = []
  readonly refusals: string[] = []
  readonly #script: readonly Turn[]
  readonly #given: Block[] = []
  #held: readonly Message[] = []
  #turn = 0
  #paused = false

  constructor(script: readonly Turn[]) {
    this.#script = script
  }

  /** The answer to a request. Throws what the API would refuse. */
  reply(request: IncomingMessage, json: string): Answer | Failure {
    checkRequest(request)
    const betas = betasOf(request)
    const body = recordOf(JSON.parse(json), 'body')
    checkBody(body, betas)
    const unsupported = unthreadableIn(body)
    // No mistake of the program's: the SDK asks again without a thread.
    if (unsupported.length > 0) return threadRefusal(unsupported)
    const messages = this.#messagesOf(body)
    checkMessages(messages, this.#given, this.#paused || body['compaction'] !== undefined)
    const next = this.#script[this.#turn]
    if (next === undefined) throw new Error('The script has no reply left')
    this.#turn += 1
    this.received.push({ betas, body, messages })
    if ('status' in next) return next
    const reply = 'content' in next ? next : { content: next }
    this.#given.push(...reply.content)
    this.#held = [...messages, { role: 'assistant', content: reply.content }]
    const message = messageFor(reply, `msg_${this.#turn - 1}`, body)
    this.#paused = message['stop_reason'] === 'pause_turn'
    return { message, isStreamed: body['stream'] === true, halt: reply.halt }
  }

  #messagesOf(body: Block): readonly Message[] {
    if (!Array.isArray(body['messages'])) throw new Error('messages: should be a list')
    const sent = body['messages'].map(messageOf)
    if (body['thread'] === undefined) return sent
    const { type, previous_message_id: previous } = recordOf(body['thread'], 'thread')
    if (type === 'create') return sent
    if (previous !== `msg_${this.#turn - 1}`) throw new Error('thread: not found')
    return [...this.#held, ...sent]
  }
}

function threadRefusal(unsupported: readonly string[]): Failure {
  return {
    status: 400,
    type: 'invalid_request_error',
    message: `thread: not supported with ${unsupported.join(', ')}`,
    details: { error_code: 'thread_unsupported_request', unsupported },
  }
}

function messageFor(reply: Reply, id: string, body: Block): Block {
  const { content, stopReason, stopDetails, inputTokens } = reply
  return {
    id,
    type: 'message',
    role: 'assistant',
    model: body['model'],
    content,
    stop_reason: stopReason ?? (content.some(isToolUse) ? 'tool_use' : 'end_turn'),
    stop_details: stopDetails ?? null,
    stop_sequence: null,
    usage: { input_tokens: inputTokens ?? 100, output_tokens: 10 },
  }
}

async function answer(
  conversation: Conversation,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const json = await readText(request)
  try {
    const found = conversation.reply(request, json)
    if ('status' in found) return fail(response, found)
    if (found.isStreamed) return stream(response, found)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(found.message))
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    conversation.refusals.push(message)
    fail(response, { status: 400, type: 'invalid_request_error', message })
  }
}

function fail(response: ServerResponse, failure: Failure): void {
  const { status, headers, ...error } = failure
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ type: 'error', error }))
}

function stream(response: ServerResponse, { message, halt }: Answer): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const events = eventsOf(message)
  for (const event of events.slice(0, halt?.after)) response.write(event)
  if (halt === undefined) {
    response.end()
    return
  }
  const { ending } = halt
  if (ending === 'break') setImmediate(() => response.destroy())
  else if (ending !== 'wait') response.end(eventOf(ending))
}

/** The results of tools in the newest message of a request, by the id of the call. */
export function resultsOf(received: Received | undefined): Readonly<Record<string, Block>> {
  const results = blocksOf(received?.messages.at(-1)).filter(isToolResult)
  return Object.fromEntries(results.map((result) => [result['tool_use_id'], result]))
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port')
  return address.port
}
