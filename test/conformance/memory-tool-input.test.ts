// Input that no model should write, and options: each refusal names the parameter and the expected
// value, and no failure shows more than our own sentences.

import { describe, expect, test } from 'vitest'
import {
  memoryTool,
  memoryToolHandlers,
  type MemoryToolOptions,
} from '../../src/anthropic/memory-tool.ts'
import { outcomeOf, rig } from './memory-tool/rig.ts'
import { valid } from './memory-tool/rows-input.ts'
import { create } from './memory-tool/steps.ts'

const commandNames = ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] as const

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
