// A Cloudflare Worker that remembers: it opens a store at its git host with a grant, has a model
// answer with the memory as its tool, and each change is at the host before the model reads that it
// was made. Any runtime with `fetch` and WebAssembly can run it.

import { memoryTool, memoryToolDescription, memoryToolSchema, openRemote } from 'gitlocket/web'

const TURNS_MAX = 50

export default {
  async fetch(request, env) {
    if (request.headers.get('authorization') !== `Bearer ${env.CALLER_KEY}`) {
      return new Response('A key is needed\n', { status: 401 })
    }
    const store = await openRemote({
      url: env.MEMORY_URL,
      grant: env.MEMORY_GRANT,
      // Called when the host asks, and again if it refuses: the place to renew a token.
      onAuth: async () => ({ username: 'git', password: env.MEMORY_TOKEN }),
      signal: request.signal,
    })
    try {
      const session = `worker-${crypto.randomUUID()}`
      const memory = memoryTool(store, { session, ToolError: Error })
      return new Response(await answer(env, memory, await request.text()))
    } finally {
      await store.close()
    }
  },
}

async function answer(env, memory, question) {
  const messages = [{ role: 'user', content: question }]
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    const message = await complete(env, messages)
    if (!message.tool_calls?.length) return message.content
    // They start at once; the memory takes them in their order.
    const results = await Promise.all(message.tool_calls.map((call) => resultOf(memory, call)))
    messages.push(message, ...results)
  }
  throw new Error(`The model did not come to an end in ${TURNS_MAX} turns`)
}

async function complete({ MODEL_URL, MODEL_KEY }, messages) {
  const definition = {
    name: 'memory',
    description: memoryToolDescription,
    parameters: memoryToolSchema,
  }
  const tools = [{ type: 'function', function: definition }]
  const response = await fetch(`${MODEL_URL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${MODEL_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-5', messages, tools }),
  })
  if (!response.ok) throw new Error(`The model answered ${response.status}`)
  const { choices } = await response.json()
  return choices[0].message
}

async function resultOf(memory, call) {
  // A refusal tells the model the reason, and it can do better.
  const content = await remember(memory, call).catch((error) => error.message)
  return { role: 'tool', tool_call_id: call.id, content }
}

async function remember(memory, { function: { name, arguments: input } }) {
  if (name !== memory.name) throw new Error('Error: There is no such tool')
  return memory.run(JSON.parse(input))
}
