// An agent that remembers, with the AI SDK, which runs the loop and tells the model of refusals.
// Run it with: node agent.mjs 'What should I do next?'

import { randomUUID } from 'node:crypto'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, stepCountIs, tool } from 'ai'
import { openDefaultStore } from 'gitlocket'
import { memoryTool, memoryToolDescription, memoryToolSchema } from 'gitlocket/anthropic'

const provider = createOpenAICompatible({
  name: 'openai',
  baseURL: process.env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1',
  apiKey: process.env.OPENAI_API_KEY,
})
const store = await openDefaultStore()
const memory = memoryTool(store, { session: `chat-${randomUUID()}`, ToolError: Error })

try {
  const { text } = await generateText({
    model: provider('gpt-5'),
    prompt: process.argv[2] ?? 'What do you remember?',
    tools: {
      memory: tool({
        description: memoryToolDescription,
        inputSchema: jsonSchema(memoryToolSchema),
        execute: memory.run,
      }),
    },
    stopWhen: stepCountIs(50),
  })
  console.log(text)
} finally {
  await store.close()
}
