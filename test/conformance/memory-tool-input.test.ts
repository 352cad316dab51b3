// Input that no model should write, and options: each refusal names the parameter and what is
// expected, and no failure shows more than our own sentences.

import { describe, expect, test } from 'vitest'
import {
  memoryTool,
  memoryToolHandlers,
  type MemoryToolOptions,
} from '../../src/anthropic/memory-tool.ts'
import { outcomeOf, rig } from './memory-tool/rig.ts'
import { type CommandName, content, create, lists, no, type Row } from './memory-tool/steps.ts'

const valid = {
  view: { path: '/memories/a' },
  create: { path: '/memories/b', file_text: 'x' },
  str_replace: { path: '/memories/a', old_str: 'x', new_str: 'y' },
  insert: { path: '/memories/a', insert_line: 0, insert_text: 'x' },
  delete: { path: '/memories/a' },
  rename: { old_path: '/memories/a', new_path: '/memories/b' },
} as const

const commandNames = ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] as const

const required: readonly (readonly [command: CommandName, parameter: string])[] = [
  ['view', 'path'],
  ['create', 'path'],
  ['create', 'file_text'],
  ['str_replace', 'path'],
  ['str_replace', 'old_str'],
  ['insert', 'path'],
  ['insert', 'insert_line'],
  ['insert', 'insert_text'],
  ['delete', 'path'],
  ['rename', 'old_path'],
  ['rename', 'new_path'],
]

const wrong: readonly unknown[] = [null, true, 1.5, [], ['/memories/a'], {}]

/** Texts that cannot be stored. */
const unstorable: readonly (readonly [command: CommandName, parameter: string, value: string])[] = [
  ['create', 'file_text', 'a\0b'],
  ['create', 'file_text', '\ud83d'],
  ['str_replace', 'new_str', '\0'],
  ['str_replace', 'new_str', '\ude00'],
  ['insert', 'insert_text', '\0'],
  ['insert', 'insert_text', 'x\ud83d'],
]

const file = create('/memories/a', 'x')
const untouched = [content('/a', 'x'), lists('/memories', '1B', '1B a')] as const

function withoutIt([command, parameter]: (typeof required)[number]): Row {
  const { [parameter]: _, ...input }: Record<string, unknown> = valid[command]
  const refusal = new RegExp(`^Error: Missing \`${parameter}\` parameter: it should be a`)
  return [
    `${command} without ${parameter}`,
    file,
    no(command, input, refusal),
    no(command, { ...input, [parameter]: undefined }, refusal),
    ...untouched,
  ]
}

function withWrong([command, parameter]: readonly [CommandName, string]): Row {
  const refusal = new RegExp(`^Error: Invalid \`${parameter}\` parameter: it should be (an?|two) `)
  const refusals = wrong.map((value) =>
    no(command, { ...valid[command], [parameter]: value }, refusal),
  )
  return [`${command} with a wrong ${parameter}`, file, ...refusals, ...untouched]
}

function withUnstorable([command, parameter, value]: (typeof unstorable)[number]): Row {
  const refusal = new RegExp(`^Error: Invalid \`${parameter}\` parameter: .*well-formed Unicode`)
  return [
    `${command} with ${parameter} ${JSON.stringify(value)}`,
    file,
    no(command, { ...valid[command], [parameter]: value }, refusal),
    ...untouched,
  ]
}

function withoutObject(command: CommandName): Row {
  const refusal = /^Error: The input should be an object with the parameters /
  const inputs = [undefined, null, 'x', 1, true, []]
  return [
    `${command} with an input that is no object`,
    file,
    ...inputs.map((input) => no(command, input, refusal)),
    ...untouched,
  ]
}

const notInteger = /^Error: Invalid `insert_line` parameter: it should be an integer/
const others: readonly Row[] = [
  [
    'an insert_line that is no integer',
    file,
    ...['1', Number.NaN, Number.POSITIVE_INFINITY, 0.5].map((insert_line) =>
      no('insert', { ...valid.insert, insert_line }, notInteger),
    ),
    ...untouched,
  ],
  [
    'an empty old_str',
    file,
    no(
      'str_replace',
      { path: '/memories/a', old_str: '', new_str: 'y' },
      /^Error: Invalid `old_str` parameter: it should be a string that is not empty/,
    ),
    ...untouched,
  ],
  [
    'unknown parameters are ignored',
    { ...file, input: { path: '/memories/a', file_text: 'x', more: 1 } },
    ...untouched,
  ],
]

describe('parameters', () => {
  const tool = rig()
  const optional = [
    ['str_replace', 'new_str'],
    ['view', 'view_range'],
  ] as const
  tool.rows('', required.map(withoutIt))
  tool.rows('', [...required, ...optional].map(withWrong))
  tool.rows('', unstorable.map(withUnstorable))
  tool.rows('', commandNames.map(withoutObject))
  tool.rows('', others)
})

describe('commands', () => {
  const tool = rig()

  test('the handlers are the six commands and nothing inherited', () => {
    const { handlers } = tool
    expect(Object.keys(handlers)).toEqual(commandNames)
    expect(Object.getPrototypeOf(handlers)).toBeNull()
    for (const name of ['toString', 'constructor', '__proto__', 'hasOwnProperty', 'valueOf']) {
      expect(Reflect.get(handlers, name)).toBeUndefined()
    }
  })

  test.each([
    ['unknown', { command: 'undo_edit', path: '/memories/a' }],
    ['inherited', { command: 'toString' }],
    ['inherited from Object', { command: 'constructor' }],
    ['of another case', { command: 'View', path: '/memories' }],
    ['missing', { path: '/memories' }],
    ['no string', { command: ['view'], path: '/memories' }],
    ['null', { command: null }],
    ['in no object', 'view'],
    ['in nothing', undefined],
    ['in null', null],
  ])('a command that is %s names the parameter', async (_, input) => {
    const run = memoryTool(tool.store, { session: 's' }).run(input)
    expect(await outcomeOf(run)).toEqual({
      text:
        'Error: Invalid `command` parameter: it should be one of ' +
        'view, create, str_replace, insert, delete, rename',
      refused: true,
    })
  })
})

describe('options', () => {
  const tool = rig()
  const newFile = { path: '/memories/a', file_text: 'x' }

  test.each<[what: string, options: MemoryToolOptions, actor: object, session: string | undefined]>(
    [
      ['a session', { session: 's1' }, { type: 'session', id: 's1' }, 's1'],
      [
        'an actor of type session',
        { actor: { type: 'session', id: 's2' } },
        { type: 'session', id: 's2' },
        's2',
      ],
      ['a user', { actor: { type: 'user', id: 'u' } }, { type: 'user', id: 'u' }, undefined],
      [
        'a user in a session',
        { actor: { type: 'user', id: 'u' }, session: 's3' },
        { type: 'user', id: 'u' },
        's3',
      ],
    ],
  )('%s is recorded', async (_, options, actor, session) => {
    await tool.given()
    await memoryToolHandlers(tool.store, { ...options, reason: 'why' }).create(newFile)
    const [version] = (await tool.store.history.versions({ limit: 1 })).data
    expect(version).toMatchObject({ operation: 'created', createdBy: actor, reason: 'why' })
    expect(version?.session).toBe(session)
  })

  test.each<[what: string, options: object]>([
    ['none', {}],
    ['an empty session', { session: '' }],
    ['a session with a space', { session: 'a b' }],
    ['a session that is not the actor', { actor: { type: 'session', id: 'a' }, session: 'b' }],
    ['an unknown type of actor', { actor: { type: 'robot', id: 'a' } }],
    ['a reason that is too long', { session: 'a', reason: 'x'.repeat(4097) }],
  ])('are refused at once: %s', (_, options) => {
    // What a program without types passes has no type.
    const untyped = JSON.parse(JSON.stringify(options))
    expect(() => memoryToolHandlers(tool.store, untyped)).toThrow(
      expect.objectContaining({ code: 'invalid_input' }),
    )
  })

  test('read_only refuses every command but view, and changes nothing', async () => {
    await tool.given(create('/memories/a', 'x'))
    const { head } = await tool.store.status()
    const handlers = memoryToolHandlers(tool.store, { session: 's', access: 'read_only' })
    expect(await handlers.view({ path: '/memories/a' })).toMatch(/\tx$/)
    for (const command of commandNames.slice(1)) {
      expect(await outcomeOf(handlers[command](valid[command]))).toEqual({
        text: `Error: The access to /memories is read-only: ${command} is refused`,
        refused: true,
      })
    }
    expect((await tool.store.status()).head).toBe(head)
  })
})
