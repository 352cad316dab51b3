// What the model reads when the store has a guard (docs/MEMORY-TOOL.md, "Secrets"): through the
// handlers and through the tool runner of the SDK. Tokens are put together here, so that no scanner
// of repositories takes this file for a leak.

import Anthropic from '@anthropic-ai/sdk'
import { runRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool'
import { beforeAll, describe, expect, test } from 'vitest'
import { memoryTool, memoryToolHandlers } from '../../src/anthropic/memory-tool.ts'
import type { ContentGuard } from '../../src/store/guard/guard.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { author, newStore } from '../support/stores.ts'
import { outcomeOf, rig, throughHandlers, type Transport } from './memory-tool/rig.ts'
import {
  content,
  create,
  deletes,
  inserts,
  missing,
  no,
  ok,
  renames,
  replaces,
  type Row,
  shows,
} from './memory-tool/steps.ts'

const aws = ['AKIA', 'QYLPMN5HHHFPZAM2'].join('')
const github = `ghp_${'aB3dE5gH7jK9'.repeat(3)}`
const advice = 'Leave it out; note where it is kept instead'
const refusal = (what: string, found: string): string =>
  `Error: Cannot write ${what}. The memory would hold sensitive content: ${found}. ${advice}`

const rows: readonly Row[] = [
  [
    'create: a secret',
    no(
      'create',
      { path: '/memories/d/keys.md', file_text: `# Keys\n\nAWS: ${aws}\n` },
      refusal('/memories/d/keys.md', 'AWS access key in line 3'),
    ),
    content('/d/keys.md', undefined),
    missing('/memories/d'),
  ],
  [
    'create: a payment card',
    no(
      'create',
      { path: '/memories/a', file_text: 'Card: 4111 1111 1111 1111' },
      refusal('/memories/a', 'payment card number in line 1'),
    ),
  ],
  [
    'str_replace: a secret, by its line in the text as it would be',
    create('/memories/a', 'one\ntwo\nthree\n'),
    no(
      'str_replace',
      { path: '/memories/a', old_str: 'two', new_str: `2\n${github}\n${aws}` },
      refusal('/memories/a', 'GitHub token in line 3, AWS access key in line 4'),
    ),
    content('/a', 'one\ntwo\nthree\n'),
  ],
  [
    'insert: a secret that only the old text and the new make together',
    create('/memories/a', '-----BEGIN PRIVATE KEY-----\n'),
    no(
      'insert',
      { path: '/memories/a', insert_line: 1, insert_text: `${'aB3dE5gH7j'.repeat(6)}\n` },
      refusal('/memories/a', 'private key in line 1'),
    ),
  ],
  [
    'rename: to a path that is a secret, which no answer repeats',
    create('/memories/a', 'x'),
    no(
      'rename',
      { old_path: '/memories/a', new_path: `/memories/${github}` },
      refusal('this path', 'GitHub token in its path'),
    ),
    content('/a', 'x'),
  ],
  [
    'ordinary text is written',
    create('/memories/a', 'The AWS key is in the vault, under infra/aws.\n'),
    inserts('/memories/a', 1, 'Rotated on 2026-11-21.\n'),
    replaces('/memories/a', ['vault', 'safe'], 1, [
      'The AWS key is in the safe, under infra/aws.',
      'Rotated on 2026-11-21.',
    ]),
    renames('/memories/a', '/memories/b'),
    deletes('/memories/b'),
  ],
]

const toolUse = { id: 't', name: 'memory', type: 'tool_use', input: {} } as const

const throughRunner: Transport = async (store, { command, input }) => {
  const tool = memoryTool(store, { session: 'session' })
  const call = { command, ...(typeof input === 'object' ? input : {}) }
  const both = { toolUse, toolUseBlock: toolUse }
  const { content: text, isError: refused } = await runRunnableTool(tool, call, both)
  return { text, refused }
}

const transports = [
  ['our handlers', throughHandlers],
  ['the tool runner', throughRunner],
] as const

describe.each(transports)('through %s', (_, transport) => {
  const tool = rig()
  beforeAll(() => turnOn(tool.store))
  tool.rows('', rows, transport)
})

describe('a memory that held a secret before the guard was turned on', () => {
  const held = `before\nkey ${aws}\nafter\n`
  const rest: readonly Row[] = [
    ['is shown', shows('/memories/old', 'before', `key ${aws}`, 'after')],
    [
      'can be edited around it',
      ok(
        'str_replace',
        { path: '/memories/old', old_str: 'before', new_str: 'b' },
        /^The memory file/,
      ),
      inserts('/memories/old', 0, 'first\n'),
      content('/old', `first\nb\nkey ${aws}\nafter\n`),
    ],
    [
      'takes no second one',
      no(
        'insert',
        { path: '/memories/old', insert_line: 3, insert_text: `${github}\n` },
        refusal('/memories/old', 'GitHub token in line 4'),
      ),
    ],
    [
      'gives it up, and does not take it back',
      replaces('/memories/old', [aws, 'in the vault'], 1, ['before', 'key in the vault', 'after']),
      no(
        'str_replace',
        { path: '/memories/old', old_str: 'in the vault', new_str: aws },
        refusal('/memories/old', 'AWS access key in line 2'),
      ),
    ],
    ['can be renamed', renames('/memories/old', '/memories/new'), content('/new', held)],
    ['can be deleted', deletes('/memories/old'), content('/old', undefined)],
  ]

  test.each(rest.map(([rule, ...steps]) => [rule, steps] as const))('%s', async (_, steps) => {
    const { store } = await newStore()
    await store.as(author).apply([{ type: 'create', path: '/old', content: held }])
    await turnOn(store)
    for (const step of steps) {
      if ('at' in step) expect((await store.read(step.at))?.content).toBe(step.content)
      else
        expect(await throughHandlers(store, step)).toEqual({
          text: textOf(step),
          refused: step.refused,
        })
    }
    await store.close()
  })
})

test("a secret in the program's reason is named as such", async () => {
  const { store } = await newStore()
  await turnOn(store)
  const { create: handler } = memoryToolHandlers(store, { session: 's', reason: `key ${aws}` })
  const { text, refused } = await outcomeOf(handler({ path: '/memories/a', file_text: 'x' }))
  expect([refused, await store.read('/a')]).toEqual([true, undefined])
  expect(text).toMatch(
    /^Error: Cannot write\. The reason of the change would hold sensitive content/,
  )
  await store.close()
})

test('in a turn of several calls only the sensitive one fails', async () => {
  const { store } = await newStore()
  await turnOn(store)
  const asked: string[] = []
  const inputs = ['plain', aws, 'plain too'].map((file_text, index) => {
    return { command: 'create', path: `/memories/${index}`, file_text }
  })
  const turn = inputs.map((input, index) => ({
    type: 'tool_use',
    id: `t${index}`,
    name: 'memory',
    input,
  }))
  const client = new Anthropic({
    apiKey: 'k',
    maxRetries: 0,
    fetch: async (_, init) => {
      asked.push(typeof init?.body === 'string' ? init.body : '')
      const first = asked.length === 1
      const usage = { input_tokens: 1, output_tokens: 1 }
      const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', usage }
      const answer = first ? turn : [{ type: 'text', text: 'Done' }]
      return Response.json({
        ...message,
        content: answer,
        stop_reason: first ? 'tool_use' : 'end_turn',
        stop_sequence: null,
      })
    },
  })
  await client.beta.messages.toolRunner({
    model: 'm',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Remember' }],
    tools: [memoryTool(store, { session: 'session' })],
  })
  expect(JSON.parse(asked[1] ?? '').messages.at(-1).content).toEqual([
    expect.objectContaining({ content: 'File created successfully at: /memories/0' }),
    expect.objectContaining({
      content: refusal('/memories/1', 'AWS access key in line 1'),
      is_error: true,
    }),
    expect.objectContaining({ content: 'File created successfully at: /memories/2' }),
  ])
  await store.close()
})

describe('a guard of the program', () => {
  test('is asked in addition to that of the settings, and names its findings', async () => {
    const guard: ContentGuard = async (text) =>
      text.includes('Falcon') ? [{ rule: 'code name', line: 1 }] : []
    const { store } = await newStore({ guard })
    await turnOn(store)
    const told = async (file_text: string): Promise<unknown> => {
      const answer = memoryToolHandlers(store, { session: 's' }).create({
        path: '/memories/a',
        file_text,
      })
      return (await outcomeOf(answer)).text
    }
    expect(await told('Falcon')).toBe(refusal('/memories/a', 'code name in line 1'))
    expect(await told(aws)).toBe(refusal('/memories/a', 'AWS access key in line 1'))
    expect(await told('plain')).toBe('File created successfully at: /memories/a')
    await store.close()
  })

  test('that fails refuses the write and shows nothing of its error', async () => {
    const guard: ContentGuard = (_, path) => {
      // It may judge the name of the store.
      if (path === '') return []
      throw new Error(`cannot judge ${aws}`)
    }
    const { store } = await newStore({ guard })
    const handlers = memoryToolHandlers(store, { session: 's' })
    const { text, refused } = await outcomeOf(
      handlers.create({ path: '/memories/a', file_text: 'x' }),
    )
    expect([refused, await store.read('/a')]).toEqual([true, undefined])
    expect(text).toBe(
      'Error: The memory store failed unexpectedly. View the path before you try again',
    )
    await store.close()
  })
})

async function turnOn(store: MemoryStore): Promise<void> {
  await store.as(author).settings.update({ metadata: { gitlocket_guard: 'secrets' } })
}

function textOf({ text }: { readonly text: string | RegExp }): unknown {
  return typeof text === 'string' ? text : expect.stringMatching(text)
}
