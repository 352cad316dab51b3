// All tool calls of one turn start together: none is lost, they take effect in the order of the
// calls, and of two that exclude each other one wins.

import { describe, expect, test } from 'vitest'
import { memoryToolHandlers } from '../../src/anthropic/memory-tool.ts'
import { outcomeOf, rig } from './memory-tool/rig.ts'
import { type CommandName, create } from './memory-tool/steps.ts'

const eight = [1, 2, 3, 4, 5, 6, 7, 8] as const
const a = '/memories/a'

describe('one turn', () => {
  const tool = rig()

  function turn(...calls: readonly (readonly [CommandName, object])[]): Promise<unknown[]> {
    const { handlers } = tool
    return Promise.all(
      calls.map(async ([command, input]) => (await outcomeOf(handlers[command](input))).text),
    )
  }

  async function contentOf(path: string): Promise<string | undefined> {
    return (await tool.store.read(path))?.content
  }

  test('eight inserts keep eight, in order, as eight versions', async () => {
    await tool.given(create(a, '0\n'))
    const insert_line = 1
    await turn(
      ...eight.map((n) => ['insert', { path: a, insert_line, insert_text: `${n}` }] as const),
    )
    expect(await contentOf('/a')).toBe('0\n8\n7\n6\n5\n4\n3\n2\n1\n')
    const memoryId = (await tool.store.read('/a'))?.memoryId
    expect((await tool.store.history.versions({ memoryId })).data).toHaveLength(9)
  })

  test('eight inserts from eight handlers keep eight', async () => {
    await tool.given(create(a))
    await Promise.all(
      eight.map((n) =>
        memoryToolHandlers(tool.store, { session: `s${n}` }).insert({
          path: a,
          insert_line: 0,
          insert_text: `${n}\n`,
        }),
      ),
    )
    expect((await contentOf('/a'))?.split('\n').toSorted().join('')).toBe('12345678')
  })

  test('eight replacements in one file keep eight', async () => {
    await tool.given(create(a, eight.map((n) => `<${n}>\n`).join('')))
    await turn(
      ...eight.map(
        (n) => ['str_replace', { path: a, old_str: `<${n}>`, new_str: `${n}!` }] as const,
      ),
    )
    expect(await contentOf('/a')).toBe(eight.map((n) => `${n}!\n`).join(''))
  })

  test('of two equal replacements one finds its text', async () => {
    await tool.given(create(a, 'x'))
    const input = { path: a, old_str: 'x', new_str: 'y' }
    const [first, second] = await turn(['str_replace', input], ['str_replace', input])
    expect(first).toMatch(/^The memory file has been edited/)
    expect(second).toMatch(/did not appear verbatim in \/memories\/a\.$/)
  })

  test('of eight creations of one path the first wins', async () => {
    await tool.given()
    const answers = await turn(
      ...eight.map((n) => ['create', { path: a, file_text: `${n}` }] as const),
    )
    expect(answers[0]).toBe(`File created successfully at: ${a}`)
    expect(new Set(answers.slice(1))).toEqual(new Set([`Error: File ${a} already exists`]))
    expect(await contentOf('/a')).toBe('1')
  })

  test('of a file and a file below it one wins', async () => {
    await tool.given()
    const answers = await turn(
      ['create', { path: '/memories/a/b', file_text: '' }],
      ['create', { path: a, file_text: '' }],
    )
    expect(answers[1]).toBe(`Error: File ${a} already exists`)
  })

  test('of two renames onto one name one wins and no file is lost', async () => {
    await tool.given(create(a, '1'), create('/memories/b', '2'))
    const answers = await turn(
      ['rename', { old_path: a, new_path: '/memories/c' }],
      ['rename', { old_path: '/memories/b', new_path: '/memories/c' }],
    )
    expect(answers[0]).toBe('Successfully renamed /memories/a to /memories/c')
    expect(answers[1]).toBe('Error: The destination /memories/c already exists')
    expect([await contentOf('/c'), await contentOf('/b')]).toEqual(['1', '2'])
  })

  test('of two renames of one file one wins', async () => {
    await tool.given(create(a, '1'))
    const answers = await turn(
      ['rename', { old_path: a, new_path: '/memories/b' }],
      ['rename', { old_path: a, new_path: '/memories/c' }],
    )
    expect(answers[1]).toBe('Error: The path /memories/a does not exist')
    expect([await contentOf('/b'), await contentOf('/c')]).toEqual(['1', undefined])
  })

  test('of two deletions one wins', async () => {
    await tool.given(create(a))
    expect(await turn(['delete', { path: a }], ['delete', { path: a }])).toEqual([
      'Successfully deleted /memories/a',
      'Error: The path /memories/a does not exist',
    ])
  })

  test('two names are not swapped, but nothing is lost', async () => {
    await tool.given(create(a, '1'), create('/memories/b', '2'))
    const answers = await turn(
      ['rename', { old_path: a, new_path: '/memories/b' }],
      ['rename', { old_path: '/memories/b', new_path: a }],
    )
    expect(answers).toEqual([
      'Error: The destination /memories/b already exists',
      'Error: The destination /memories/a already exists',
    ])
  })

  test('commands that build on one another take effect in their order', async () => {
    await tool.given()
    const b = '/memories/d/b'
    const answers = await turn(
      ['create', { path: a, file_text: 'one\n' }],
      ['insert', { path: a, insert_line: 1, insert_text: 'two' }],
      ['str_replace', { path: a, old_str: 'one', new_str: '1' }],
      ['rename', { old_path: a, new_path: b }],
      ['view', { path: b }],
      ['delete', { path: '/memories/d' }],
      ['view', { path: '/memories' }],
    )
    expect(answers[4]).toBe(`Here's the content of ${b} with line numbers:\n     1\t1\n     2\ttwo`)
    expect(answers[6]).toMatch(/\n0B\t\/memories$/)
  })

  test('a refused command does not disturb its neighbours', async () => {
    await tool.given(create(a, 'x\n'))
    const answers = await turn(
      ['insert', { path: a, insert_line: 1, insert_text: 'y' }],
      ['insert', { path: a, insert_line: 9, insert_text: 'never' }],
      ['create', { path: '/memories/a/b', file_text: 'never' }],
      ['view', { path: '/etc/passwd' }],
      ['insert', { path: a, insert_line: 2, insert_text: 'z' }],
    )
    expect(answers.filter((answer) => String(answer).startsWith('Error: '))).toHaveLength(3)
    expect(await contentOf('/a')).toBe('x\ny\nz\n')
  })
})
