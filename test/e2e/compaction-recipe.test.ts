// The recipe docs/recipes/compaction in a reader's project, with both generations of the SDK: the
// model is reminded before the summary, its notes are kept, and the summary is sent back whole.

import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openDefaultStore } from '../../src/index.ts'
import { memoryCall, type Received, startMessagesApi, text } from '../support/messages-api.ts'
import { sharedDirectory } from '../support/temporary.ts'
import { commandOf, installPackage, root, run, sdks, typeErrorsOf } from './reader-project.ts'

const plan = '/memories/plan.md'
const look = memoryCall('look', { command: 'view', path: '/memories' })
const write = memoryCall('write', { command: 'create', path: plan, file_text: 'Ship it.\n' })
const again = memoryCall('again', { command: 'create', path: plan, file_text: '' })
const summary = { type: 'compaction', content: 'They plan.', encrypted_content: 'opaque' }
const script = [
  [look],
  { content: [look], inputTokens: 119_989 },
  { content: [look], inputTokens: 120_000 },
  { content: [write, again], inputTokens: 130_000 },
  [text('It is written down.')],
  { content: [summary, text('We had a plan.')], inputTokens: 20_000 },
  { content: [text('Ship it.')], inputTokens: 125_000 },
  [text('Bye.')],
]

describe.each(sdks)('with SDK %s', { tags: 'slow' }, (_, sdk) => {
  const project = sharedDirectory()
  beforeAll(() => {
    installPackage(sdk, project)
    cpSync(join(root, 'docs/recipes/compaction/agent.mjs'), join(project, 'agent.mjs'))
  })

  test('it type-checks', () => {
    expect(typeErrorsOf(project, 'agent.mjs')).toBe('')
  })

  test('reminds once before each summary, and loses nothing of it', async () => {
    const api = await startMessagesApi(script)
    onTestFinished(() => api.close())
    expect(await run(project, commandOf(project), api, ['init'])).toMatchObject({ code: 0 })
    const lines = ['Plan', 'What did we plan?', 'And now?', 'Bye']
    const finished = await run(project, 'agent.mjs', api, [], `${lines.join('\n')}\n`)
    expect(api.refusals).toEqual([])
    expect(finished).toEqual({
      code: 0,
      stdout: 'It is written down.\nWe had a plan.\nShip it.\nBye.\n',
      stderr: '',
    })
    // Reminded above 120,000 tokens, and again only after a summary.
    expect(api.received.map(isReminding)).toEqual([
      false,
      false,
      false,
      true,
      false,
      false,
      false,
      true,
    ])
    expect(api.received.at(-1)?.messages).toContainEqual({
      role: 'assistant',
      content: [summary, text('We had a plan.')],
    })
    for (const { betas, body } of api.received) {
      expect(betas).toEqual(['context-management-2025-06-27', 'compact-2026-01-12'])
      expect(body['context_management']).toMatchObject({
        edits: [
          { type: 'clear_thinking_20251015' },
          { type: 'clear_tool_uses_20250919', exclude_tools: ['memory'] },
          { type: 'compact_20260112', trigger: { type: 'input_tokens', value: 150_000 } },
        ],
      })
    }
    const store = await openDefaultStore({ HOME: project })
    expect((await store.read('/plan.md'))?.content).toBe('Ship it.\n')
    await store.close()
  })
})

describe('saving before a summary that the program asks for', { tags: 'slow' }, () => {
  const recipe = 'save-then-compact.mjs'
  const driver = `
    import Anthropic from '@anthropic-ai/sdk'
    import { openDefaultStore } from 'gitlocket'
    import { agentDefaults, memoryPrompt, memoryTool } from 'gitlocket/anthropic'
    import { saveThenCompact } from './${recipe}'
    const store = await openDefaultStore()
    const client = new Anthropic()
    const params = {
      ...agentDefaults(await memoryPrompt(store)),
      model: 'claude-sonnet-5',
      max_tokens: 16_000,
      tools: [memoryTool(store, { session: 'chat' })],
      messages: [{ role: 'user', content: 'Plan' }, { role: 'assistant', content: 'Ship it.' }],
    }
    const messages = await saveThenCompact(client, params).finally(() => store.close())
    messages.push({ role: 'user', content: 'What did we plan?' })
    const { content } = await client.beta.messages.create({
      ...params,
      betas: [...params.betas, 'compact-2026-09-04'],
      tools: [],
      messages,
    })
    console.log(content[0].text)
  `
  const signed = { ...summary, signature: 'signed', tool_changes: null }
  const project = sharedDirectory()
  beforeAll(() => {
    installPackage('@anthropic-ai/sdk', project)
    cpSync(join(root, 'docs/recipes/compaction', recipe), join(project, recipe))
    writeFileSync(join(project, 'driver.mjs'), driver)
  })

  test('it type-checks', () => {
    expect(typeErrorsOf(project, recipe)).toBe('')
  })

  test('the memories are written first, and the summary replaces the conversation', async () => {
    const api = await startMessagesApi([
      [write],
      [text('Saved.')],
      { content: [signed], stopReason: 'compaction' },
      [text('To ship it.')],
    ])
    onTestFinished(() => api.close())
    expect(await run(project, commandOf(project), api, ['init'])).toMatchObject({ code: 0 })
    const finished = await run(project, 'driver.mjs', api)
    expect(api.refusals).toEqual([])
    expect(finished).toEqual({ code: 0, stdout: 'To ship it.\n', stderr: '' })
    const [reminded, , compacting, continued] = api.received
    expect(JSON.stringify(reminded?.messages.at(-1))).toContain('Write into your memory')
    expect(compacting?.body).toMatchObject({ compaction: { type: 'summarize' } })
    expect(compacting?.messages.at(-1)).toMatchObject({ content: [text('Saved.')] })
    expect(continued?.messages).toEqual([
      { role: 'assistant', content: [signed] },
      { role: 'user', content: 'What did we plan?' },
    ])
    const store = await openDefaultStore({ HOME: project })
    expect((await store.read('/plan.md'))?.content).toBe('Ship it.\n')
    await store.close()
  })

  test('without a summary the program keeps its messages', async () => {
    const api = await startMessagesApi([{ content: [text('I was')], stopReason: 'max_tokens' }])
    onTestFinished(() => api.close())
    const finished = await run(project, 'driver.mjs', api)
    expect(api.refusals).toEqual([])
    expect(finished.code).toBe(1)
    expect(finished.stderr).toContain('The API made no summary')
  })
})

function isReminding({ messages }: Received): boolean {
  return JSON.stringify(messages.at(-1)).includes('soon be replaced by a summary')
}
