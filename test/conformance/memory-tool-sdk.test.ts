// The tool in the SDK: the types of both generations, the real tool runner over a scripted network,
// `betaMemoryTool`, a program without the SDK, and unexpected failures.

import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import Anthropic from '@anthropic-ai/sdk'
import {
  betaMemoryTool,
  type MemoryToolHandlers as Handlers1,
} from '@anthropic-ai/sdk/helpers/beta/memory'
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool'
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError'
import Anthropic0 from 'anthropic-sdk-0'
import {
  betaMemoryTool as betaMemoryTool0,
  type MemoryToolHandlers as Handlers0,
} from 'anthropic-sdk-0/helpers/beta/memory'
import type { BetaRunnableTool as RunnableTool0 } from 'anthropic-sdk-0/lib/tools/BetaRunnableTool'
import { ToolError as ToolError0 } from 'anthropic-sdk-0/lib/tools/ToolError'
import { describe, expect, test } from 'vitest'
import {
  memoryTool,
  memoryToolHandlers,
  type MemoryToolProps,
} from '../../src/anthropic/memory-tool.ts'
import { generateIdentity } from '../../src/keys/identity.ts'
import { createStore } from '../../src/store/create.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { outcomeOf, rig } from './memory-tool/rig.ts'
import { create } from './memory-tool/steps.ts'

const options = { session: 'session' }
const props: MemoryToolProps = {
  cache_control: { type: 'ephemeral', ttl: '1h' },
  defer_loading: true,
  allowed_callers: ['direct'],
}

/** Answers the model's turns from a list, and keeps the requests. */
function scripted(turns: readonly object[]): { fetch: typeof fetch; asked: string[] } {
  const asked: string[] = []
  const usage = { input_tokens: 1, output_tokens: 1 }
  return {
    asked,
    fetch: async (_, init) => {
      const turn = turns[asked.length]
      asked.push(typeof init?.body === 'string' ? init.body : '')
      const stop_reason = turn === undefined ? 'end_turn' : 'tool_use'
      const content = turn ?? [{ type: 'text', text: 'Done' }]
      const message = { id: 'msg', type: 'message', role: 'assistant', model: 'm', usage }
      return Response.json({ ...message, stop_reason, stop_sequence: null, content })
    },
  }
}

const calls = [
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((n) => ({
    command: 'insert',
    path: '/memories/a',
    insert_line: 0,
    insert_text: `${n}`,
  })),
  { command: 'create', path: '/memories/a', file_text: '' },
  { command: 'view', path: '/memories/missing' },
].map((input, index) => ({ type: 'tool_use', id: `t${index}`, name: 'memory', input }))

const request = {
  model: 'm',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Remember' }],
} as const

/** What the runner sent to the model: the tools, and their answers. */
function read(asked: readonly string[]): { first: unknown; results: unknown } {
  const { tools } = JSON.parse(asked[0] ?? '')
  return { first: tools, results: JSON.parse(asked[1] ?? '').messages.at(-1).content }
}

describe('the tool runner of the SDK', () => {
  const tool = rig()

  const definition = { ...props, type: 'memory_20250818', name: 'memory' }
  const missing = 'The path /memories/missing does not exist. Please provide a valid path.'
  const answers = [
    ...Array.from({ length: 8 }, () => ({ content: 'The file /memories/a has been edited.' })),
    { content: 'Error: File /memories/a already exists', is_error: true },
    { content: missing, is_error: true },
  ].map((answer) => expect.objectContaining(answer))

  test('1.x: a turn of ten calls', async () => {
    await tool.given(create('/memories/a', '0\n'))
    const { fetch, asked } = scripted([calls])
    const client = new Anthropic({ apiKey: 'k', fetch, maxRetries: 0 })
    const tools = [memoryTool(tool.store, options, props)]
    await client.beta.messages.toolRunner({ ...request, messages: [...request.messages], tools })
    expect(read(asked)).toEqual({ first: [definition], results: answers })
    expect((await tool.store.read('/a'))?.content).toBe('8\n7\n6\n5\n4\n3\n2\n1\n0\n')
  })

  test('0.x: a turn of ten calls', async () => {
    await tool.given(create('/memories/a', '0\n'))
    const { fetch, asked } = scripted([calls])
    const client = new Anthropic0({ apiKey: 'k', fetch, maxRetries: 0 })
    const tools = [memoryTool(tool.store, { ...options, ToolError: ToolError0 }, props)]
    await client.beta.messages.toolRunner({ ...request, messages: [...request.messages], tools })
    expect(read(asked)).toEqual({ first: [definition], results: answers })
    expect((await tool.store.read('/a'))?.content).toBe('8\n7\n6\n5\n4\n3\n2\n1\n0\n')
  })
})

describe('types and classes', () => {
  const tool = rig()

  test('the handlers fit betaMemoryTool of both generations', async () => {
    const handlers1: Handlers1 = tool.handlers
    const handlers0: Handlers0 = tool.handlers
    const command = { command: 'view', path: '/memories' } as const
    expect(await betaMemoryTool(handlers1, props).run(command)).toMatch(/\n0B\t\/memories$/)
    expect(await betaMemoryTool0(handlers0).run(command)).toMatch(/\n0B\t\/memories$/)
  })

  test('betaMemoryTool reaches no inherited member', () => {
    const runnable = betaMemoryTool(tool.handlers)
    // What a model may write has no type.
    const input = JSON.parse('{"command":"toString"}')
    expect(() => runnable.run(input)).toThrow('toString not implemented')
  })

  test('the tool fits BetaRunnableTool of both generations, with its further properties', () => {
    const made = memoryTool(tool.store, options, props)
    const tools: [BetaRunnableTool, RunnableTool0] = [made, made]
    expect(tools[0]).toMatchObject({ ...props, type: 'memory_20250818', name: 'memory' })
  })

  test('further properties cannot rename the tool', () => {
    const extra = JSON.parse('{"name":"other","type":"other","run":1}')
    expect(memoryTool(tool.store, options, extra)).toMatchObject({
      type: 'memory_20250818',
      name: 'memory',
      run: expect.any(Function),
    })
  })

  test('a refusal is a ToolError of the ESM copy', async () => {
    const error = await tool.handlers.view({ path: '/memories/x' }).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(ToolError)
  })

  test('a refusal is a ToolError of the copy that the options name', async () => {
    const handlers = memoryToolHandlers(tool.store, { ...options, ToolError: ToolError0 })
    const error = await handlers.view({ path: '/memories/x' }).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(ToolError0)
    expect(error).not.toBeInstanceOf(ToolError)
  })
})

describe('unexpected failures', () => {
  test('reports a closed store', async () => {
    const { store } = await newStore(temporaryDirectory())
    await store.close()
    for (const command of ['view', 'delete'] as const) {
      const answer = memoryToolHandlers(store, options)[command]({ path: '/memories/a' })
      expect((await outcomeOf(answer)).text).toBe('Error: The store is closed; open it again')
    }
  })

  test('a store without its files names no host path and no errno', async () => {
    const directory = temporaryDirectory()
    const { store } = await newStore(directory)
    rmSync(directory, { recursive: true })
    const handlers = memoryToolHandlers(store, options)
    for (const n of [1, 2]) {
      const answer = handlers.create({ path: `/memories/${n}`, file_text: 'x' })
      const { text, refused } = await outcomeOf(answer)
      if (!refused) continue
      expect(text).toMatch(/^Error: [A-Z]/)
      expect(text).not.toMatch(/E[A-Z]{4,}|node:|\bat /)
      expect(text).not.toContain(directory)
    }
    await store.close().catch(() => undefined)
  })

  test('hides a foreign error, and keeps it as the cause', async () => {
    const { store } = await newStore(temporaryDirectory())
    const cause = new Error(`ENOENT: ${store.id}`)
    const input = {
      get path(): string {
        throw cause
      },
    }
    const error = await memoryToolHandlers(store, options)
      .view(input)
      .catch((thrown) => thrown)
    expect(error.message).toBe(
      'Error: The memory store failed unexpectedly. View the path before you try again',
    )
    expect(error.cause).toBe(cause)
    expect(JSON.stringify(error)).not.toContain('ENOENT')
    await store.close()
  })
})

test(
  'without the SDK a refusal is a plain Error without the prefix',
  { tags: 'slow' },
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--import',
      script(`
      import { register } from 'node:module'
      register(${JSON.stringify(script(withoutSdk))})`),
      '--input-type=module',
      '--eval',
      program(temporaryDirectory()),
    ])
    expect(JSON.parse(stdout)).toEqual(['Error', 'The path /memories/x does not exist'])
  },
)

const withoutSdk = `
  export async function resolve(specifier, context, next) {
    if (specifier.startsWith('@anthropic-ai/')) throw new Error('not installed')
    return next(specifier, context)
  }`

function script(text: string): string {
  return `data:text/javascript,${encodeURIComponent(text)}`
}

function program(directory: string): string {
  return `
    import { memoryToolHandlers } from ${built('anthropic/memory-tool.js')}
    import { generateIdentity } from ${built('keys/identity.js')}
    import { createStore } from ${built('store/create.js')}
    const directory = ${JSON.stringify(directory)}
    const identity = await generateIdentity()
    const places = { directory: directory + '/store', stateDirectory: directory + '/state' }
    const { store } = await createStore({ ...places, identity })
    const handlers = memoryToolHandlers(store, { session: 's' })
    const error = await handlers.delete({ path: '/memories/x' }).catch((thrown) => thrown)
    console.log(JSON.stringify([error.constructor.name, error.message]))
    await store.close()`
}

/** The compiled module as the text of a specifier. */
function built(path: string): string {
  const url = pathToFileURL(join(import.meta.dirname, '../../dist', path))
  return JSON.stringify(url.href)
}

async function newStore(directory: string): ReturnType<typeof createStore> {
  const places = { directory: join(directory, 'store'), stateDirectory: join(directory, 'state') }
  return createStore({ ...places, identity: await generateIdentity() })
}
