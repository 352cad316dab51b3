// A conversation with a model that has a memory: one question at a time, with as many requests as
// its commands need. Held in RAM alone. Keeps the messages in a form that the API accepts again,
// however an answer ends. Decides nothing about how it is shown.

import type Anthropic from '@anthropic-ai/sdk'
import type { AgentDefaults } from '../../anthropic/memory-tool.ts'
import { type AnthropicSdk, failureOf } from './anthropic-sdk.ts'
import type { ChatMemory, CommandRun } from './chat-memory.ts'

type Messages = Anthropic.Beta.Messages.BetaMessageParam
type UserBlock = Anthropic.Beta.Messages.BetaTextBlockParam | ToolResult
type ToolResult = Anthropic.Beta.Messages.BetaToolResultBlockParam
type ToolCall = Anthropic.Beta.Messages.BetaToolUseBlock
type Message = Anthropic.Beta.Messages.BetaMessage

/** What is told while an answer comes. */
export interface ChatListener {
  /** The next piece of the model's text: any number of characters, unchecked. */
  text(piece: string): void
  command(run: CommandRun): void
  /** The answer has ended, in whatever way. */
  end(): void
}

/** Why an answer has ended; `turns` if the model had more commands than an answer may have. */
export type Ending = NonNullable<Message['stop_reason']> | 'cancelled' | 'turns'

/** The sums of all requests, as the API names them. */
export type ChatUsage = Readonly<Record<(typeof counted)[number], number>>

const counted = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const

export interface ChatSettings {
  readonly sdk: AnthropicSdk
  readonly model: string
  readonly defaults: AgentDefaults
  readonly memory: ChatMemory
  readonly listener: ChatListener
}

/** Requests of one answer. */
const TURNS_MAX = 50
const MAX_TOKENS = 16_000
const interrupted = '(The user interrupted the answer here.)'
const notRun = 'Error: The user interrupted the answer; this command was not run'
/** Where the model came to an end itself: all its blocks are complete. */
const complete: ReadonlySet<unknown> = new Set([
  'end_turn',
  'stop_sequence',
  'tool_use',
  'pause_turn',
])
/** After these the same conversation would end in the same way again. */
const forgotten: ReadonlySet<Ending> = new Set(['refusal', 'model_context_window_exceeded'])

export class Conversation {
  readonly #settings: ChatSettings
  readonly #client: Anthropic
  #messages: readonly Messages[] = []
  #usage: ChatUsage = {
    input_tokens: 0,
    output_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
  }

  constructor(settings: ChatSettings) {
    this.#settings = settings
    this.#client = new settings.sdk.default()
  }

  get usage(): ChatUsage {
    return this.#usage
  }

  /**
   * Resolves when the model has nothing more to say or to do, or `signal` is aborted; a command
   * that runs then is finished first. A question that fails is as if it had not been asked, but for
   * what its commands have written. Throws a CommandError if the API fails.
   */
  async ask(question: string, signal: AbortSignal): Promise<Ending> {
    const before = this.#messages
    this.#addForUser([{ type: 'text', text: question }])
    try {
      const ending = await this.#answer(signal)
      if (forgotten.has(ending)) this.#messages = before
      return ending
    } catch (error) {
      if (signal.aborted) {
        this.#addForUser([{ type: 'text', text: interrupted }])
        return 'cancelled'
      }
      this.#messages = before
      throw failureOf(this.#settings.sdk, error)
    }
  }

  async #answer(signal: AbortSignal): Promise<Ending> {
    for (let turn = 0; turn < TURNS_MAX; turn += 1) {
      const message = await this.#request(signal)
      this.#count(message.usage)
      const content = keptOf(message)
      if (content.length > 0) this.#messages = [...this.#messages, { role: 'assistant', content }]
      if (message.stop_reason === 'pause_turn' && content.length > 0) continue
      const calls = content.filter((block) => block.type === 'tool_use')
      if (calls.length === 0) return message.stop_reason ?? 'end_turn'
      this.#addForUser(await this.#run(calls, signal))
      signal.throwIfAborted()
    }
    return 'turns'
  }

  #request(signal: AbortSignal): Promise<Message> {
    const { model, defaults, memory, listener } = this.#settings
    const body = {
      ...defaults,
      model,
      max_tokens: MAX_TOKENS,
      cache_control: { type: 'ephemeral' as const },
      tools: [memory.definition],
      messages: [...this.#messages],
    }
    const stream = this.#client.beta.messages.stream(body, { signal })
    stream.on('text', (piece) => listener.text(piece))
    return stream.finalMessage()
  }

  /** One after the other, so that each is told with what it has made. */
  async #run(calls: readonly ToolCall[], signal: AbortSignal): Promise<readonly ToolResult[]> {
    const results: ToolResult[] = []
    for (const { id, name, input } of calls) {
      const { content, isError } = await this.#runOne(name, input, signal)
      const result: ToolResult = { type: 'tool_result', tool_use_id: id, content }
      results.push(isError ? { ...result, is_error: true } : result)
    }
    return results
  }

  async #runOne(
    name: string,
    input: unknown,
    signal: AbortSignal,
  ): Promise<Pick<CommandRun, 'content' | 'isError'>> {
    const { memory, listener } = this.#settings
    if (signal.aborted) return { content: notRun, isError: true }
    if (name !== memory.definition.name) {
      return { content: 'Error: There is no such tool', isError: true }
    }
    const run = await memory.run(input)
    listener.command(run)
    return run
  }

  /** Messages of one role in a row are one. */
  #addForUser(blocks: readonly UserBlock[]): void {
    const last = this.#messages.at(-1)
    if (last?.role !== 'user' || typeof last.content === 'string') {
      this.#messages = [...this.#messages, { role: 'user', content: [...blocks] }]
      return
    }
    const content = [...last.content, ...blocks]
    this.#messages = [...this.#messages.slice(0, -1), { role: 'user', content }]
  }

  #count(usage: Message['usage']): void {
    const sums = counted.map((name) => [name, this.#usage[name] + (usage[name] ?? 0)])
    this.#usage = { ...this.#usage, ...Object.fromEntries(sums) }
  }
}

/**
 * The blocks of a message that may be sent back: of one that was cut off only texts, since neither
 * thinking nor a command can be relied on then. Empty if none of it says anything.
 */
function keptOf({ content, stop_reason: reason }: Message): Message['content'] {
  const kept = content.filter((block) => {
    if (block.type === 'text') return block.text.trim() !== ''
    return complete.has(reason) && (block.type !== 'tool_use' || reason === 'tool_use')
  })
  const says = kept.some(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
  return says ? kept : []
}
