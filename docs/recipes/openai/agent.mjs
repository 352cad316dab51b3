// An agent that remembers, with the package `openai` alone: each tool call of the model is a
// command for its memory, and the answers go back to it until it has no more calls.
// Run it with: node agent.mjs 'What should I do next?'

import { randomUUID } from 'node:crypto'
import { openDefaultStore } from 'gitlocket'
import { memoryTool, memoryToolDescription, memoryToolSchema } from 'gitlocket/anthropic'
import OpenAI from 'openai'

const client = new OpenAI()
const store = await openDefaultStore()
const memory = memoryTool(store, { session: `chat-${randomUUID()}`, ToolError: Error })

/** @type {OpenAI.ChatCompletionTool} */
const definition = {
  type: 'function',
  function: {
    name: memory.name,
    description: memoryToolDescription,
    parameters: memoryToolSchema,
  },
}

try {
  console.log(await answer(process.argv[2] ?? 'What do you remember?'))
} finally {
  await store.close()
}

/** @param {string} question */
async function answer(question) {
  /** @type {OpenAI.ChatCompletionMessageParam[]} */
  const messages = [{ role: 'user', content: question }]
  for (let turn = 0; turn < 50; turn += 1) {
    const body = { model: 'gpt-5', messages, tools: [definition] }
    const { choices } = await client.chat.completions.create(body)
    const { message } = choices[0]
    if (!message.tool_calls?.length) return message.content
    messages.push(message, ...(await Promise.all(message.tool_calls.map(resultOf))))
  }
  throw new Error('The model did not come to an end in 50 turns')
}

/**
 * The calls of one turn start at once; the memory takes them in their order.
 * @param {OpenAI.ChatCompletionMessageToolCall} call
 * @returns {Promise<OpenAI.ChatCompletionToolMessageParam>}
 */
async function resultOf(call) {
  // What is refused says why, and the model can do better.
  const content = await remember(call).catch((error) => error.message)
  return { role: 'tool', tool_call_id: call.id, content }
}

/** @param {OpenAI.ChatCompletionMessageToolCall} call */
async function remember(call) {
  if (call.type !== 'function') throw new Error('Error: There is no such tool')
  return memory.run(JSON.parse(call.function.arguments))
}
