// POST /chat: a question in, the answer of a model with a memory out.

import { randomUUID } from 'node:crypto'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, stepCountIs, tool } from 'ai'
import { memoryTool, memoryToolDescription, memoryToolSchema } from 'gitlocket/anthropic'
import { memoryStore } from '../memory.js'

const provider = createOpenAICompatible({
  name: 'openai',
  baseURL: process.env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1',
  apiKey: process.env.OPENAI_API_KEY,
})

/** @param {Request} request */
export async function POST(request) {
  const store = await memoryStore()
  const memory = memoryTool(store, { session: `chat-${randomUUID()}`, ToolError: Error })
  const { text } = await generateText({
    model: provider('gpt-5'),
    prompt: await request.text(),
    tools: {
      memory: tool({
        description: memoryToolDescription,
        inputSchema: jsonSchema(memoryToolSchema),
        execute: memory.run,
      }),
    },
    stopWhen: stepCountIs(50),
  })
  return new Response(text)
}
