// What `agentDefaults` gives: it fits both generations of the SDK, in all their ways to ask, and
// the scripted Messages API, which refuses wrong edits, accepts it with every option.

import Anthropic from '@anthropic-ai/sdk'
import Anthropic0 from 'anthropic-sdk-0'
import { ToolError as ToolError0 } from 'anthropic-sdk-0/lib/tools/ToolError'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  agentDefaults,
  type AgentDefaultsOptions,
  memoryPrompt,
  memoryTool,
} from '../../src/anthropic/memory-tool.ts'
import {
  memoryCall,
  type MessagesApi,
  resultsOf,
  startMessagesApi,
  text,
  type Turn,
} from '../support/messages-api.ts'
import { rig } from './memory-tool/rig.ts'

const contextBeta = 'context-management-2025-06-27'
const clearing = {
  type: 'clear_tool_uses_20250919',
  trigger: { type: 'input_tokens', value: 100_000 },
  keep: { type: 'tool_uses', value: 3 },
  clear_at_least: { type: 'input_tokens', value: 10_000 },
  exclude_tools: ['memory'],
}
const thinking = {
  type: 'clear_thinking_20251015',
  keep: { type: 'thinking_turns', value: 1 },
}

describe('the values', () => {
  test('by default: thinking is cleared first, then tools except the memory', () => {
    expect(agentDefaults('# Memory')).toEqual({
      betas: [contextBeta],
      context_management: { edits: [thinking, clearing] },
      system: [{ type: 'text', text: '# Memory' }],
      thinking: { type: 'adaptive' },
    })
  })

  test('clears no thinking for a model that does not think', () => {
    expect(agentDefaults('# Memory', { thinking: false })).toEqual({
      betas: [contextBeta],
      context_management: { edits: [clearing] },
      system: [{ type: 'text', text: '# Memory' }],
    })
  })

  test('with every option', () => {
    const options = {
      keepThinking: 'all',
      clearAbove: 30_000,
      keepToolUses: 0,
      clearAtLeast: 1,
      excludeTools: ['memory', 'search'],
      compactAbove: 150_000,
    } as const
    const { betas, context_management: management } = agentDefaults('', options)
    expect(betas).toEqual([contextBeta, 'compact-2026-01-12'])
    expect(management.edits).toEqual([
      { type: 'clear_thinking_20251015', keep: 'all' },
      {
        type: 'clear_tool_uses_20250919',
        trigger: { type: 'input_tokens', value: 30_000 },
        keep: { type: 'tool_uses', value: 0 },
        clear_at_least: { type: 'input_tokens', value: 1 },
        exclude_tools: ['memory', 'search'],
      },
      { type: 'compact_20260112', trigger: { type: 'input_tokens', value: 150_000 } },
    ])
  })

  test('each call returns new values', () => {
    const [one, other] = [agentDefaults('a'), agentDefaults('a')]
    one.system.push({ type: 'text', text: 'b' })
    one.context_management.edits.pop()
    one.betas.pop()
    expect(agentDefaults('a')).toEqual(other)
  })

  const refused: readonly AgentDefaultsOptions[] = [
    { keepThinking: 0 },
    { keepThinking: 1.5 },
    { clearAbove: 0 },
    { clearAbove: Number.NaN },
    { keepToolUses: -1 },
    { clearAtLeast: 0 },
    { compactAbove: 49_999 },
    { compactAbove: Number.POSITIVE_INFINITY },
  ]

  test.each(refused)('refuses %o', (options) => {
    const [parameter] = Object.keys(options)
    const refusal = { code: 'invalid_input', details: { parameter } }
    expect(() => agentDefaults('', options)).toThrow(expect.objectContaining(refusal))
  })
})

describe('in requests', () => {
  const tool = rig()
  const look = memoryCall('look', { command: 'view', path: '/memories' })
  const rest = {
    model: 'claude-sonnet-5',
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'Remember' }],
  } as const

  async function scripted(script: readonly Turn[]): Promise<MessagesApi> {
    const api = await startMessagesApi(script)
    onTestFinished(() => api.close())
    return api
  }

  const options: readonly AgentDefaultsOptions[] = [
    {},
    { thinking: false },
    { keepThinking: 'all', compactAbove: 50_000, keepToolUses: 0, excludeTools: ['search'] },
  ]

  test.each(options)('1.x: create, stream and the tool runner, with %o', async (chosen) => {
    const api = await scripted([[text('a')], [text('b')], [look], [text('c')]])
    const { messages } = new Anthropic({ apiKey: 'k', baseURL: api.url, maxRetries: 0 }).beta
    const request = { ...rest, ...agentDefaults(await memoryPrompt(tool.store), chosen) }
    const list = [...rest.messages]
    const memory = memoryTool(tool.store, { session: 'session' })
    const { type, name } = memory
    await messages.create({ ...request, messages: list, tools: [{ type, name }] })
    await messages.stream({ ...request, messages: list, tools: [{ type, name }] }).finalMessage()
    await messages.toolRunner({ ...request, messages: list, tools: [memory] })
    check(api)
  })

  test.each(options)('0.x: create, stream and the tool runner, with %o', async (chosen) => {
    const api = await scripted([[text('a')], [text('b')], [look], [text('c')]])
    const { messages } = new Anthropic0({ apiKey: 'k', baseURL: api.url, maxRetries: 0 }).beta
    const request = { ...rest, ...agentDefaults(await memoryPrompt(tool.store), chosen) }
    const list = [...rest.messages]
    const memory = memoryTool(tool.store, { session: 'session', ToolError: ToolError0 })
    const { type, name } = memory
    await messages.create({ ...request, messages: list, tools: [{ type, name }] })
    await messages.stream({ ...request, messages: list, tools: [{ type, name }] }).finalMessage()
    await messages.toolRunner({ ...request, messages: list, tools: [memory] })
    check(api)
  })

  function check(api: MessagesApi): void {
    expect(api.refusals).toEqual([])
    expect(api.received).toHaveLength(4)
    for (const { betas } of api.received) expect(betas).toContain(contextBeta)
    // What continues a thread leaves out what the thread has.
    for (const { body } of api.received.slice(0, 3)) {
      expect(JSON.stringify(body['system'])).toContain('# Memory')
    }
    expect(resultsOf(api.received[3])['look']?.['content']).toContain('/memories')
  }

  test('cannot be threaded: the tool runner sends them without a thread', async () => {
    const api = await scripted([[look], [text('a')], [text('b')]])
    const { messages } = new Anthropic({ apiKey: 'k', baseURL: api.url, maxRetries: 0 }).beta
    const given = agentDefaults(await memoryPrompt(tool.store))
    const list = [...rest.messages]
    const tools = [memoryTool(tool.store, { session: 'session' })]
    await messages.toolRunner({ ...rest, ...given, messages: list, tools })
    for (const { body } of api.received) expect(body).not.toHaveProperty('thread')
    const { model, max_tokens } = rest
    const hi = { role: 'user', content: 'Hi' } as const
    await expect(messages.thread({ model, max_tokens, ...given }).send(hi)).rejects.toMatchObject({
      status: 400,
      errorCode: 'thread_unsupported_request',
    })
    await messages.thread({ model, max_tokens, system: given.system }).send(hi)
    expect(api.received.at(-1)?.body).toHaveProperty('thread')
  })

  test('the API refuses another order of the edits, or the edit without thinking', async () => {
    const api = await scripted([])
    const { messages } = new Anthropic({ apiKey: 'k', baseURL: api.url, maxRetries: 0 }).beta
    const given = agentDefaults('# Memory')
    const list = [...rest.messages]
    const edits = given.context_management.edits.toReversed()
    const reversed = { ...rest, ...given, messages: list, context_management: { edits } }
    const idle = { ...rest, ...given, messages: list, thinking: { type: 'disabled' as const } }
    const secret = { ...rest, ...given, messages: list, betas: [] }
    for (const request of [reversed, idle, secret]) {
      await expect(messages.create(request)).rejects.toThrow(/^400/)
    }
    expect(api.refusals).toEqual([
      expect.stringContaining('must be the first'),
      expect.stringContaining('requires `thinking`'),
      expect.stringContaining(contextBeta),
    ])
  })
})
