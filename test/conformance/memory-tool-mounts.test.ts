// Several stores, each a directory of /memories (docs/MEMORY-TOOL.md, "Several stores"): what
// /memories itself answers, access, renames between stores, and the names of the directories.
// @module-tag slow

import { describe, expect, test } from 'vitest'
import {
  type CommandName,
  type MemoryMount,
  memoryTool,
  memoryToolHandlers,
} from '../../src/anthropic/memory-tool.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { author, contentsOf, newStore } from '../support/stores.ts'
import { outcomeOf } from './memory-tool/rig.ts'
import { lists } from './memory-tool/steps.ts'

const options = { session: 'session' }
const directories = 'The directories are /memories/work, /memories/home, /memories/team'

/** Three stores: work and home can be written, team only read. */
async function three(): Promise<{
  readonly stores: readonly [work: MemoryStore, home: MemoryStore, team: MemoryStore]
  readonly ask: (command: CommandName, input: unknown) => Promise<unknown>
}> {
  const work = (await newStore()).store
  const home = (await newStore()).store
  const team = (await newStore()).store
  await home.as(author).write('/diary.md', 'home')
  await work.as(author).write('/plans/now.md', '12345678')
  await work.as(author).write('/.hidden', '1234')
  await team.as(author).write('/rules.md', 'rules')
  const handlers = memoryToolHandlers(
    [
      { store: work, mount: 'work' },
      { store: home, mount: 'home' },
      { store: team, mount: 'team', access: 'read_only' },
    ],
    options,
  )
  const ask = async (command: CommandName, input: unknown): Promise<unknown> =>
    (await outcomeOf(handlers[command](input))).text
  return { stores: [work, home, team], ask }
}

const untouched = [
  { '/plans/now.md': '12345678', '/.hidden': '1234' },
  { '/diary.md': 'home' },
  { '/rules.md': 'rules' },
]

async function allOf(stores: readonly MemoryStore[]): Promise<readonly unknown[]> {
  return Promise.all(stores.map(contentsOf))
}

describe('/memories', () => {
  test('lists the stores by name, and one level of each', async () => {
    const { ask } = await three()
    for (const path of ['/memories', '/memories/', '/memories/work/..', '/memories/x/../.']) {
      expect(await ask('view', { path })).toBe(
        lists('/memories', '21B', '4B home/', '4B home/diary.md', '5B team/', '5B team/rules.md')
          .text + '\n12B\t/memories/work/\n8B\t/memories/work/plans/',
      )
    }
  })

  test('is a directory for every command', async () => {
    const { stores, ask } = await three()
    const path = '/memories'
    const to = '/memories/work/x'
    expect([
      await ask('view', { path, view_range: [1, 2] }),
      await ask('create', { path, file_text: '' }),
      await ask('str_replace', { path, old_str: 'a' }),
      await ask('insert', { path, insert_line: 0, insert_text: 'a' }),
      await ask('delete', { path }),
      await ask('rename', { old_path: path, new_path: to }),
      await ask('rename', { old_path: '/memories/work/plans', new_path: path }),
    ]).toEqual([
      'Error: Invalid `view_range` parameter: a directory has no lines; leave it out',
      'Error: File /memories already exists',
      'Error: The path /memories does not exist. Please provide a valid path.',
      'Error: The path /memories does not exist',
      'Error: Cannot delete the /memories directory itself',
      'Error: Cannot rename the /memories directory itself',
      'Error: The destination /memories already exists',
    ])
    expect(await allOf(stores)).toEqual(untouched)
  })

  test.each(['/memories/a.md', '/memories/wor/a.md', '/memories/Work/a', '/memories/team2/x/y'])(
    'takes no %s, and says where files go',
    async (path) => {
      const { stores, ask } = await three()
      const missing = `The path ${path} does not exist`
      const noFiles = `/memories itself takes no files. ${directories}`
      expect([
        await ask('view', { path }),
        await ask('create', { path, file_text: '' }),
        await ask('str_replace', { path, old_str: 'a' }),
        await ask('insert', { path, insert_line: 0, insert_text: 'a' }),
        await ask('delete', { path }),
        await ask('rename', { old_path: path, new_path: '/memories/work/x' }),
        await ask('rename', { old_path: '/memories/work/plans', new_path: path }),
      ]).toEqual([
        `${missing}. Please provide a valid path. ${directories}`,
        `Error: Cannot create ${path}: ${noFiles}`,
        `Error: ${missing}. Please provide a valid path. ${directories}`,
        `Error: ${missing}. ${directories}`,
        `Error: ${missing}. ${directories}`,
        `Error: ${missing}. ${directories}`,
        `Error: Cannot rename /memories/work/plans to ${path}: ${noFiles}`,
      ])
      expect(await allOf(stores)).toEqual(untouched)
    },
  )
})

describe('the directory of a store', () => {
  test('is a root: it can be listed, and nothing else', async () => {
    const { stores, ask } = await three()
    const path = '/memories/work'
    expect([
      await ask('view', { path }),
      await ask('create', { path, file_text: '' }),
      await ask('str_replace', { path, old_str: 'a' }),
      await ask('insert', { path, insert_line: 0, insert_text: 'a' }),
      await ask('delete', { path }),
      await ask('rename', { old_path: path, new_path: '/memories/home/x' }),
      await ask('rename', { old_path: `${path}/plans`, new_path: path }),
      await ask('rename', { old_path: '/memories/home/diary.md', new_path: path }),
    ]).toEqual([
      lists(path, '12B', '8B plans/', '8B plans/now.md').text,
      'Error: File /memories/work already exists',
      'Error: The path /memories/work does not exist. Please provide a valid path.',
      'Error: The path /memories/work does not exist',
      'Error: Cannot delete the /memories/work directory itself',
      'Error: Cannot rename the /memories/work directory itself',
      'Error: The destination /memories/work already exists',
      'Error: The destination /memories/work already exists',
    ])
    expect(await allOf(stores)).toEqual(untouched)
  })

  test('exists when the store is empty', async () => {
    const { stores, ask } = await three()
    await stores[1].as(author).delete('/diary.md')
    expect(await ask('view', { path: '/memories/home' })).toBe(lists('/memories/home', '0B').text)
  })

  test('that is read-only refuses all changes, at any path', async () => {
    const { stores, ask } = await three()
    const refused = 'Error: The access to /memories/team is read-only:'
    for (const path of ['/memories/team/rules.md', '/memories/team/missing', '/memories/team']) {
      expect([
        await ask('create', { path, file_text: '' }),
        await ask('str_replace', { path, old_str: 'a' }),
        await ask('insert', { path, insert_line: 0, insert_text: 'a' }),
        await ask('delete', { path }),
        await ask('rename', { old_path: path, new_path: '/memories/team/x' }),
        await ask('rename', { old_path: path, new_path: '/memories/work/x' }),
        await ask('rename', { old_path: '/memories/work/plans', new_path: path }),
      ]).toEqual([
        `${refused} create is refused`,
        `${refused} str_replace is refused`,
        `${refused} insert is refused`,
        `${refused} delete is refused`,
        `${refused} rename is refused`,
        `${refused} rename is refused`,
        `${refused} rename is refused`,
      ])
    }
    expect(await allOf(stores)).toEqual(untouched)
  })
})

test('refuses a rename between stores, and its advice works', async () => {
  const { stores, ask } = await three()
  const [old_path, new_path] = ['/memories/work/plans/now.md', '/memories/home/now.md']
  expect(await ask('rename', { old_path, new_path })).toBe(
    `Error: Cannot rename ${old_path} to ${new_path}: they are in different stores, ` +
      `which have no commit in common. Create ${new_path}, then delete ${old_path}`,
  )
  expect(await allOf(stores)).toEqual(untouched)
  await ask('create', { path: new_path, file_text: '12345678' })
  await ask('delete', { path: old_path })
  expect((await allOf(stores)).slice(0, 2)).toEqual([
    { '/.hidden': '1234' },
    { '/diary.md': 'home', '/now.md': '12345678' },
  ])
})

test('the calls of a turn take effect in their order, in every store', async () => {
  const { ask } = await three()
  const create = (path: string): Promise<unknown> => ask('create', { path, file_text: 'x' })
  const texts = await Promise.all([
    create('/memories/work/a'),
    create('/memories/home/a'),
    ask('view', { path: '/memories/home' }),
    ask('delete', { path: '/memories/home/a' }),
    ask('view', { path: '/memories/home' }),
  ])
  expect(texts[2]).toBe(lists('/memories/home', '5B', '1B a', '4B diary.md').text)
  expect(texts[4]).toBe(lists('/memories/home', '4B', '4B diary.md').text)
})

describe('the names of directories', () => {
  async function named(...stores: readonly [name: string, mount?: string][]): Promise<string[]> {
    const mounts: MemoryMount[] = []
    for (const [name, mount] of stores) mounts.push({ ...(await newStore({ name })), mount })
    const text = await memoryTool(mounts, options).run({ command: 'view', path: '/memories' })
    const rows = text.split('\n').slice(2)
    return rows.map((row) => row.replace(/^0B\t\/memories\//, '').replace(/[0-9a-z]{24}\//, '…/'))
  }

  test('are the names of the stores, as slugs', async () => {
    expect(await named(['Team Notes!'], ['Ünïcode'], ['a_b/c'])).toEqual([
      'a-b-c/',
      'n-code/',
      'team-notes/',
    ])
  })

  test('end with the id of the store if they clash or are empty', async () => {
    expect(await named(['日記'])).toEqual(['…/'])
    expect(await named(['Notes'], ['notes'])).toEqual(['notes-…/', 'notes-…/'])
    expect(await named(['Notes'], ['other', 'NOTES'])).toEqual(['NOTES/', 'notes-…/'])
  })

  test('that the caller gives are unchanged', async () => {
    expect(await named(['x', 'Tägebuch 1'], ['x', '日記'])).toEqual(['Tägebuch 1/', '日記/'])
  })

  test.each<[what: string, mounts: readonly string[]]>([
    ['two that differ in case', ['work', 'WORK']],
    ['two that are equal', ['work', 'work']],
    ['an empty one', ['']],
    ['two segments', ['a/b']],
    ['a dot', ['.']],
    ['the directory above', ['..']],
    ['a hidden one', ['.work']],
    ['node_modules', ['node_modules']],
    ['one with a line end', ['a\nb']],
    ['one with a format character', ['a\u200bb']],
    ['one that is not in NFC', ['a\u0308']],
    ['half a surrogate pair', ['\ud83d']],
    ['one of 1,025 bytes', ['x'.repeat(1025)]],
  ])('cannot be %s', async (_, names) => {
    const mounts: MemoryMount[] = []
    for (const mount of names) mounts.push({ store: (await newStore()).store, mount })
    expect(() => memoryTool(mounts, options)).toThrow(
      expect.objectContaining({ code: 'invalid_input' }),
    )
  })
})

describe('a list of mounts', () => {
  test('has one to eight stores, each of them once', async () => {
    const { store } = await newStore()
    const nine = await Promise.all(Array.from({ length: 9 }, () => newStore()))
    for (const mounts of [
      [],
      nine,
      [
        { store, mount: 'a' },
        { store, mount: 'b' },
      ],
    ]) {
      expect(() => memoryToolHandlers(mounts, options)).toThrow(
        expect.objectContaining({ code: 'invalid_input' }),
      )
    }
    expect(
      await memoryTool(nine.slice(1), options).run({ command: 'view', path: '/memories' }),
    ).toMatch(/^(.*\n){9}.*$/)
  })

  test('may have instructions of 4,096 characters', async () => {
    const { store } = await newStore()
    const give = (instructions: string): unknown => memoryTool([{ store, instructions }], options)
    expect(() => give('𝕏'.repeat(4096))).not.toThrow()
    for (const text of ['x'.repeat(4097), '\ud83d']) {
      expect(() => give(text)).toThrow(expect.objectContaining({ code: 'invalid_input' }))
    }
  })

  test('is limited by the access of the options', async () => {
    const { store } = await newStore()
    const mounts: MemoryMount[] = [{ store, mount: 'a', access: 'read_write' }]
    const { create } = memoryToolHandlers(mounts, { ...options, access: 'read_only' })
    const asked = create({ path: '/memories/a/b', file_text: '' })
    expect((await outcomeOf(asked)).text).toMatch('The access to /memories/a is read-only')
  })

  test('makes directories, even of one store', async () => {
    const { store } = await newStore({ name: 'Only' })
    const view = memoryTool([{ store }], options).run({ command: 'view', path: '/memories' })
    expect(await view).toBe(lists('/memories', '0B', '0B only/').text)
  })

  test('is not affected by later changes of the array', async () => {
    const { store } = await newStore({ name: 'Only' })
    const mounts = [{ store, mount: 'a', access: 'read_only' as 'read_only' | 'read_write' }]
    const tool = memoryTool(mounts, options)
    mounts[0] = { store, mount: 'b', access: 'read_write' }
    const create = tool.run({ command: 'create', path: '/memories/a/x', file_text: '' })
    expect((await outcomeOf(create)).text).toMatch('read-only')
  })
})
