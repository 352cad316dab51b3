// A conversation without end: the API replaces it by a summary when it has grown long, and before
// that the model is asked to write down what has to last. Each line of standard input is a message.
// Run it with: node agent.mjs

import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import Anthropic from '@anthropic-ai/sdk'
import { openDefaultStore } from 'gitlocket'
import { agentDefaults, memoryPrompt, memoryTool } from 'gitlocket/anthropic'

/** Tokens from which the API makes a summary, and before that those that call for a reminder. */
const compactAbove = 150_000
const remindAbove = 120_000
const reminder =
  'This conversation will soon be replaced by a summary. Write into your memory now what has to ' +
  'last: decisions, results, what is next.'

const client = new Anthropic()
const store = await openDefaultStore()
const memory = memoryTool(store, { session: `chat-${randomUUID()}`, ToolError: Error })
const defaults = agentDefaults(await memoryPrompt(store), { compactAbove })

/** @type {Anthropic.Beta.BetaMessageParam[]} */
const messages = []
let tokens = 0
let isReminded = false

try {
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(await answer(line))
  }
} finally {
  await store.close()
}

/** @param {string} question */
async function answer(question) {
  say([text(question)])
  for (let turn = 0; turn < 50; turn += 1) {
    const { content, stop_reason, usage } = await client.beta.messages.create({
      ...defaults,
      model: 'claude-sonnet-5',
      max_tokens: 16_000,
      tools: [{ type: memory.type, name: memory.name }],
      messages,
    })
    // The whole content: a summary in it stands for all that came before.
    messages.push({ role: 'assistant', content })
    tokens = tokensOf(usage)
    if (content.some(({ type }) => type === 'compaction')) isReminded = false
    if (stop_reason === 'tool_use') say(await Promise.all(content.flatMap(resultOf)))
    else if (stop_reason === 'end_turn') return content.map(textOf).join('')
    else throw new Error(`The model ended with ${stop_reason}`)
  }
  throw new Error('The model did not come to an end in 50 turns')
}

/**
 * Adds what the user, or a tool, has to say.
 * @param {Anthropic.Beta.BetaContentBlockParam[]} content
 */
function say(content) {
  const reminds = tokens > remindAbove && !isReminded
  if (reminds) isReminded = true
  messages.push({ role: 'user', content: reminds ? [...content, text(reminder)] : content })
}

/**
 * @param {string} words
 * @returns {Anthropic.Beta.BetaTextBlockParam}
 */
function text(words) {
  return { type: 'text', text: words }
}

/**
 * The commands of one turn start at once; the memory takes them in their order.
 * @param {Anthropic.Beta.BetaContentBlock} block
 * @returns {Promise<Anthropic.Beta.BetaToolResultBlockParam>[]}
 */
function resultOf(block) {
  if (block.type !== 'tool_use') return []
  const { id, input } = block
  return [
    memory.run(input).then(
      (content) => ({ type: 'tool_result', tool_use_id: id, content }),
      ({ message }) => ({ type: 'tool_result', tool_use_id: id, content: message, is_error: true }),
    ),
  ]
}

/** @param {Anthropic.Beta.BetaContentBlock} block */
function textOf(block) {
  return block.type === 'text' ? block.text : ''
}

/**
 * How long the conversation is.
 * @param {Anthropic.Beta.BetaUsage} usage
 */
function tokensOf({ cache_creation_input_tokens, cache_read_input_tokens, ...usage }) {
  const cached = (cache_creation_input_tokens ?? 0) + (cache_read_input_tokens ?? 0)
  return usage.input_tokens + cached + usage.output_tokens
}
