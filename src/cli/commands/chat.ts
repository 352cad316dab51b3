// `chat`: a conversation with a model that has this store as its memory. Shows what the model does
// to the memory; the conversation itself is nowhere but in RAM.

import { agentDefaults, memoryPrompt } from '../../anthropic/memory-tool.ts'
import { loadSdk } from '../chat/anthropic-sdk.ts'
import { ChatMemory } from '../chat/chat-memory.ts'
import { ChatPrompt } from '../chat/chat-prompt.ts'
import { ChatRecord } from '../chat/chat-record.ts'
import { ChatScreen } from '../chat/chat-screen.ts'
import { type ChatListener, Conversation, type Ending } from '../chat/conversation.ts'
import { CommandError, usageError } from '../command-error.ts'
import type { Answer, Input } from '../command.ts'
import type { Context } from '../context.ts'
import { readStandardInput } from '../files.ts'
import { inkOf, plainInk } from '../ink.ts'
import { withStore } from '../open-store.ts'
import { errorText } from '../output.ts'
import { canAsk } from '../prompt.ts'

const MODEL = 'claude-sonnet-5'
const style = 'You talk with a user in a terminal. Answer briefly, in plain text without markup.'

interface Shortfall {
  readonly note: string
  /** Of a single answer. */
  readonly exitCode: number
}

/** The endings of an answer that is not what it could be. */
const shortfalls: Partial<Record<Ending, Shortfall>> = {
  max_tokens: { note: 'The answer is cut off: it is as long as one may be', exitCode: 5 },
  model_context_window_exceeded: {
    note: 'The conversation is too long for the model; start a new chat: the memory stays',
    exitCode: 5,
  },
  turns: { note: 'The model has not come to an end; tell it to go on', exitCode: 5 },
  refusal: { note: 'The model declined to answer this', exitCode: 6 },
  cancelled: { note: 'Cancelled; what was written stays', exitCode: 130 },
}

interface Call {
  readonly context: Context
  readonly conversation: Conversation
  readonly listener: ChatListener
}

export async function chat(context: Context, input: Input): Promise<Answer> {
  const question = await findQuestion(context, input)
  const sdk = await loadSdk()
  const session = input.text('session') ?? sessionAt(context.clock())
  const model = input.text('model') ?? MODEL
  const access = input.flag('read-only') ? 'read_only' : 'read_write'
  const record = new ChatRecord()
  const listener = input.flag('json') ? record : screenOf(context, input)
  return withStore(context, async (store) => {
    const memory = await ChatMemory.open(store, session, access)
    const prompt = await memoryPrompt(store, { access })
    const defaults = agentDefaults(prompt, { thinking: !input.flag('no-thinking') })
    defaults.system.push({ type: 'text', text: style })
    const conversation = new Conversation({ sdk, model, defaults, memory, listener })
    const call = { context, conversation, listener }
    try {
      if (question === undefined) return await converse(call)
      const { ending, ...answer } = await answerOnce(call, question)
      const facts = { session, model, stop_reason: ending, ...record.json }
      return { ...answer, json: { ...facts, usage: conversation.usage } }
    } finally {
      if (listener !== record && memory.hasWritten) process.stderr.write(undoNote(session))
    }
  })
}

/** Undefined if there is a terminal to ask on. */
async function findQuestion(context: Context, input: Input): Promise<string | undefined> {
  const given = input.text('message')
  if (given === undefined && canAsk(context)) {
    if (!input.flag('json')) return undefined
    throw usageError('--json needs --message, or a message on standard input', 'chat')
  }
  const question = given ?? (await readStandardInput())
  if (question.trim() === '') throw usageError('The message is empty', 'chat')
  return question
}

/** `chat-20260131T120000.000Z` */
function sessionAt(time: number): string {
  return `chat-${new Date(time).toISOString().replaceAll(/[-:]/g, '')}`
}

function screenOf(context: Context, input: Input): ChatScreen {
  const { terminal } = context.environment
  return new ChatScreen(terminal.output, terminal.errors ? inkOf(context, input) : plainInk)
}

function undoNote(session: string): string {
  return `\`gitlocket rollback --session ${session}\` takes back what this chat has written\n`
}

async function answerOnce(
  call: Call,
  question: string,
): Promise<Omit<Answer, 'json'> & { readonly ending: Ending }> {
  const ending = await ask(call, question)
  const { note, exitCode = 0 } = shortfalls[ending] ?? {}
  if (ending === 'cancelled') {
    const hint = '`gitlocket log --session` with the name of the session shows what was written'
    throw new CommandError('cancelled', 'Cancelled; what was written stays', hint)
  }
  return { ending, text: '', exitCode, ...(note !== undefined && { note }) }
}

/** Asks until the user ends it. A failure is told, and the conversation goes on. */
async function converse(call: Call): Promise<Answer> {
  const prompt = new ChatPrompt(call.context.interrupts.signal)
  process.stderr.write('Ctrl-C stops an answer, Ctrl-D or /exit ends the chat\n')
  try {
    for (;;) {
      const question = (await prompt.next())?.trim()
      if (question === undefined || question === '/exit') break
      if (question === '') continue
      prompt.pause()
      process.stderr.write(await outcomeOf(call, question))
    }
  } finally {
    prompt.close()
  }
  return { text: '', json: undefined }
}

/** What there is to say after an answer. */
async function outcomeOf(call: Call, question: string): Promise<string> {
  try {
    const shortfall = shortfalls[await ask(call, question)]
    return shortfall === undefined ? '' : `${shortfall.note}\n`
  } catch (error) {
    // Anything else is a defect, or the store: no other question would fare better.
    if (!(error instanceof CommandError)) throw error
    return errorText(error, false, undefined)
  }
}

async function ask(call: Call, question: string): Promise<Ending> {
  const { context, conversation, listener } = call
  try {
    return await context.interrupts.cancellable((signal) => conversation.ask(question, signal))
  } finally {
    listener.end()
  }
}
