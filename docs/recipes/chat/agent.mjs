// A conversation on a terminal with a model that has the store as its memory. Prints the answers as
// they come, and each command of the memory on standard error. Ctrl-C stops an answer, Ctrl-D ends
// the conversation. Run it with: node agent.mjs

import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import Anthropic from '@anthropic-ai/sdk'
import { openDefaultStore } from 'gitlocket'
import { agentDefaults, memoryPrompt, memoryTool } from 'gitlocket/anthropic'

const model = 'claude-sonnet-5'
const style = 'You talk with a user in a terminal. Answer briefly, in plain text without markup.'

const client = new Anthropic()
const store = await openDefaultStore()
const session = `chat-${randomUUID()}`
const memory = memoryTool(store, { session, ToolError: Error })
const defaults = agentDefaults(await memoryPrompt(store))
defaults.system.push({ type: 'text', text: style })

/** @type {Anthropic.Beta.BetaMessageParam[]} */
let messages = []
/** @type {AbortController | undefined} */
let answering

const lines = createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' })
lines.on('SIGINT', () => (answering === undefined ? lines.close() : answering.abort()))
lines.prompt()
try {
  for await (const question of lines) {
    if (question.trim() !== '') await ask(question)
    lines.prompt()
  }
} finally {
  await store.close()
}
console.error(`\`gitlocket rollback --session ${session}\` takes back what this chat has written`)

/**
 * A question that fails or is stopped is dropped from the conversation, so that the next one can be
 * asked; what its commands have written stays.
 * @param {string} question
 */
async function ask(question) {
  const before = messages
  answering = new AbortController()
  try {
    messages = await answer([...before, { role: 'user', content: question }], answering.signal)
  } catch (error) {
    messages = before
    console.error(answering.signal.aborted ? '\nStopped' : `\n${visible(messageOf(error))}`)
  }
  answering = undefined
}

/**
 * Returns the conversation with the model's answer, and with the commands that it took.
 * @param {Anthropic.Beta.BetaMessageParam[]} conversation
 * @param {AbortSignal} signal
 */
async function answer(conversation, signal) {
  for (let turn = 0; turn < 50; turn += 1) {
    const stream = client.beta.messages.stream(
      {
        ...defaults,
        model,
        max_tokens: 16_000,
        cache_control: { type: 'ephemeral' },
        tools: [{ type: memory.type, name: memory.name }],
        messages: conversation,
      },
      { signal },
    )
    stream.on('text', (text) => process.stdout.write(visible(text)))
    const { content, stop_reason } = await stream.finalMessage()
    process.stdout.write('\n')
    conversation = [...conversation, { role: 'assistant', content }]
    if (stop_reason === 'end_turn') return conversation
    if (stop_reason === 'pause_turn') continue
    if (stop_reason !== 'tool_use') throw new Error(`The model ended with ${stop_reason}`)
    conversation.push({ role: 'user', content: await resultsOf(content, signal) })
  }
  throw new Error('The model did not come to an end in 50 turns')
}

/**
 * Runs the commands one after the other. A running one is finished before an answer stops.
 * @param {Anthropic.Beta.BetaContentBlock[]} content
 * @param {AbortSignal} signal
 */
async function resultsOf(content, signal) {
  /** @type {Anthropic.Beta.BetaToolResultBlockParam[]} */
  const results = []
  for (const block of content) {
    if (block.type !== 'tool_use') continue
    signal.throwIfAborted()
    console.error(visible(`memory ${JSON.stringify(block.input)}`))
    const result = await memory.run(block.input).then(
      (text) => ({ content: text }),
      (error) => ({ content: messageOf(error), is_error: true }),
    )
    if ('is_error' in result) console.error(visible(result.content))
    results.push({ type: 'tool_result', tool_use_id: block.id, ...result })
  }
  return results
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error)
}

/**
 * A model's text must not drive the terminal: no control characters, no change of direction.
 * @param {string} text
 */
function visible(text) {
  return text.replaceAll(/(?!\n)[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
}
