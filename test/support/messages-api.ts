// A scripted Messages API on a local port, for the real SDK over real HTTP: it answers each request
// with the next reply of a script, and refuses, as the real one would, what the API does not allow.
// Holds message threads, which the newer generation of the SDK uses. Knows nothing of gitlocket.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { text as readText } from 'node:stream/consumers'

type Block = Readonly<Record<string, unknown>>

interface Message {
  readonly role: string
  readonly content: string | readonly Block[]
}

export interface Received {
  readonly betas: readonly string[]
  readonly body: Readonly<Record<string, unknown>>
  /** The whole conversation, with what the server holds of it. */
  readonly messages: readonly Message[]
}

export interface MessagesApi {
  readonly url: string
  readonly received: readonly Received[]
  /** What was refused, and why. */
  readonly refusals: readonly string[]
  close(): Promise<void>
}

export function text(words: string): Block {
  return { type: 'text', text: words }
}

export function memoryCall(id: string, input: Readonly<Record<string, unknown>>): Block {
  return { type: 'tool_use', id, name: 'memory', input }
}

/** Starts it. A reply with a tool call asks for results; one without ends the conversation. */
export async function startMessagesApi(
  script: readonly (readonly Block[])[],
): Promise<MessagesApi> {
  const conversation = new Conversation(script)
  const server = createServer((request, response) => void answer(conversation, request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    received: conversation.received,
    refusals: conversation.refusals,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

class Conversation {
  readonly received: Received[] = []
  readonly refusals: string[] = []
  readonly #script: readonly (readonly Block[])[]
  #held: readonly Message[] = []

  constructor(script: readonly (readonly Block[])[]) {
    this.#script = script
  }

  /** The reply to a request. Throws what the API would refuse. */
  reply(request: IncomingMessage, json: string): Block {
    checkRequest(request)
    const body = recordOf(JSON.parse(json), 'body')
    const messages = this.#messagesOf(body)
    checkResults(messages)
    const turn = this.received.length
    const content = this.#script[turn]
    if (content === undefined) throw new Error('The script has no reply left')
    this.received.push({ betas: betasOf(request), body, messages })
    this.#held = [...messages, { role: 'assistant', content }]
    const stopReason = content.some(isToolUse) ? 'tool_use' : 'end_turn'
    return {
      id: `msg_${turn}`,
      type: 'message',
      role: 'assistant',
      model: body['model'],
      content,
      stop_reason: stopReason,
      stop_sequence: null,
      usage: { input_tokens: 100, output_tokens: 10 },
    }
  }

  #messagesOf(body: Block): readonly Message[] {
    if (!Array.isArray(body['messages'])) throw new Error('messages: should be a list')
    const sent = body['messages'].map(messageOf)
    if (body['thread'] === undefined) return sent
    const { type, previous_message_id: previous } = recordOf(body['thread'], 'thread')
    if (type === 'create') return sent
    if (previous !== `msg_${this.received.length - 1}`) throw new Error('thread: not found')
    return [...this.#held, ...sent]
  }
}

async function answer(
  conversation: Conversation,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const json = await readText(request)
  response.setHeader('content-type', 'application/json')
  try {
    response.end(JSON.stringify(conversation.reply(request, json)))
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    conversation.refusals.push(message)
    response.statusCode = 400
    response.end(
      JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }),
    )
  }
}

function checkRequest({ method, url = '', headers }: IncomingMessage): void {
  if (method !== 'POST' || url.split('?')[0] !== '/v1/messages') {
    throw new Error(`${method} ${url}: no such endpoint`)
  }
  const credential = headers['x-api-key'] ?? headers.authorization
  if (credential === undefined) throw new Error('x-api-key: header is required')
  if (headers['anthropic-version'] === undefined) {
    throw new Error('anthropic-version: header is required')
  }
}

/** Each tool call is answered once, in the message right after it, and nothing else is. */
function checkResults(messages: readonly Message[]): void {
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant') continue
    const calls = blocksOf(message).filter(isToolUse)
    const results = blocksOf(messages[index + 1]).filter(isToolResult)
    const asked = calls.map((call) => call['id'])
    const answered = results.map((result) => result['tool_use_id'])
    if (asked.length !== answered.length || asked.some((id) => !answered.includes(id))) {
      throw new Error(`messages.${index + 1}: each tool_use needs its tool_result`)
    }
  }
}

/** The results of tools in the newest message of a request, by the id of the call. */
export function resultsOf(received: Received | undefined): Readonly<Record<string, Block>> {
  const results = blocksOf(received?.messages.at(-1)).filter(isToolResult)
  return Object.fromEntries(results.map((result) => [result['tool_use_id'], result]))
}

function blocksOf(message: Message | undefined): readonly Block[] {
  return message === undefined || typeof message.content === 'string' ? [] : message.content
}

function isToolUse(block: Block): boolean {
  return block['type'] === 'tool_use'
}

function isToolResult(block: Block): boolean {
  return block['type'] === 'tool_result'
}

function messageOf(value: unknown): Message {
  const { role, content } = recordOf(value, 'message')
  if (typeof role !== 'string') throw new Error('role: should be text')
  if (typeof content === 'string') return { role, content }
  if (!Array.isArray(content)) throw new Error('content: should be text or a list')
  return { role, content: content.map((block) => recordOf(block, 'content')) }
}

function recordOf(value: unknown, name: string): Block {
  if (typeof value === 'object' && value !== null) return { ...value }
  throw new Error(`${name}: should be an object`)
}

function betasOf({ headers }: IncomingMessage): readonly string[] {
  return [headers['anthropic-beta'] ?? []].flat().flatMap((value) => value.split(','))
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port')
  return address.port
}
