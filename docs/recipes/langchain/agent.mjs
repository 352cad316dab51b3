// An agent that remembers, with LangChain: a tool of `@langchain/core`, a chat model, and the loop
// between them. Run it with: node agent.mjs 'What should I do next?'

import { randomUUID } from 'node:crypto'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { openDefaultStore } from 'gitlocket'
import { memoryTool, memoryToolDescription, memoryToolSchema } from 'gitlocket/anthropic'

const store = await openDefaultStore()
const { name, run } = memoryTool(store, { session: `chat-${randomUUID()}`, ToolError: Error })
const memory = tool(run, { name, description: memoryToolDescription, schema: memoryToolSchema })
const model = new ChatOpenAI({ model: 'gpt-5' }).bindTools([memory])

try {
  console.log(await answer(process.argv[2] ?? 'What do you remember?'))
} finally {
  await store.close()
}

/** @param {string} question */
async function answer(question) {
  /** @type {import('@langchain/core/messages').BaseMessage[]} */
  const messages = [new HumanMessage(question)]
  for (let turn = 0; turn < 50; turn += 1) {
    const message = await model.invoke(messages)
    if (!message.tool_calls?.length) return message.text
    messages.push(message, ...(await Promise.all(message.tool_calls.map(resultOf))))
  }
  throw new Error('The model did not come to an end in 50 turns')
}

/**
 * The calls of one turn start at once; the memory takes them in their order.
 * @param {import('@langchain/core/messages/tool').ToolCall} call
 */
async function resultOf({ id = '', args }) {
  // What is refused says why, and the model can do better.
  const content = await memory.invoke(args).catch((error) => error.message)
  return new ToolMessage({ content, tool_call_id: id })
}
