// Reads a store of `gitlocket serve --web-git` in a browser, and has a model answer with it. The
// page keeps the grant and all texts in the RAM of its tab, and can change nothing.

import { memoryTool, memoryToolDescription, memoryToolSchema, openRemote } from 'gitlocket/web'

const TURNS_MAX = 50
const form = document.querySelector('form')
const shown = document.querySelector('pre')

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  const asked = Object.fromEntries(new FormData(form))
  shown.textContent = '…'
  try {
    shown.textContent = await ask(asked)
  } catch (error) {
    shown.textContent = error.message
  }
})

async function ask({ address, key, grant, question, ...model }) {
  const store = await openRemote({
    url: address,
    grant,
    onAuth: async ({ attempt }) => (attempt > 1 ? undefined : { username: 'page', password: key }),
  })
  try {
    const session = `page-${crypto.randomUUID()}`
    const memory = memoryTool(store, { session, access: 'read_only', ToolError: Error })
    return await answer(model, memory, question)
  } finally {
    await store.close()
  }
}

async function answer(model, memory, question) {
  const messages = [{ role: 'user', content: question }]
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    const message = await complete(model, messages)
    if (!message.tool_calls?.length) return message.content
    const results = await Promise.all(message.tool_calls.map((call) => resultOf(memory, call)))
    messages.push(message, ...results)
  }
  throw new Error(`The model did not come to an end in ${TURNS_MAX} turns`)
}

async function complete({ model, modelKey }, messages) {
  const definition = {
    name: 'memory',
    description: memoryToolDescription,
    parameters: memoryToolSchema,
  }
  const tools = [{ type: 'function', function: definition }]
  const response = await fetch(`${model}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${modelKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-5', messages, tools }),
  })
  if (!response.ok) throw new Error(`The model answered ${response.status}`)
  const { choices } = await response.json()
  return choices[0].message
}

async function resultOf(memory, call) {
  const content = await remember(memory, call).catch((error) => error.message)
  return { role: 'tool', tool_call_id: call.id, content }
}

async function remember(memory, { function: { name, arguments: input } }) {
  if (name !== memory.name) throw new Error('Error: There is no such tool')
  return memory.run(JSON.parse(input))
}
