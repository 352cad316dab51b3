// T60: an agent that was talked into something has some stores and wants more: the file of one by
// the directory of another, a store that is not mounted, one that is read-only, or paths next to or
// above the mounted part of a store. The honest twin of each path is accepted.

import { describe, expect, test } from 'vitest'
import type { Mount } from '../../src/memory-tool/mount.ts'
import { answerTool, commandRunner, type RunCommand } from '../../src/memory-tool/run-command.ts'
import { ToolSpace } from '../../src/memory-tool/tool-space.ts'
import type { Access } from '../../src/operations/operation.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { author, contentsOf, newStore } from '../support/stores.ts'

const secret = 'canary-of-what-is-not-shown'

function mountOf(
  store: MemoryStore,
  { name = 'team', access = 'read_write', root = '/' }: Partial<Mount> & { access?: Access } = {},
): Mount {
  const context = { store, me: store.as(author), access }
  return {
    name,
    storeId: store.id,
    access,
    description: '',
    instructions: undefined,
    root,
    use: (work) => work(context),
  }
}

/** Every command that a path can be given to, with another path where it needs two. */
function inputsOf(path: string, other: string): readonly object[] {
  return [
    { command: 'view', path },
    { command: 'view', path, view_range: [1, 1] },
    { command: 'create', path, file_text: 'planted' },
    { command: 'str_replace', path, old_str: secret, new_str: 'planted' },
    { command: 'insert', path, insert_line: 0, insert_text: 'planted' },
    { command: 'rename', old_path: path, new_path: other },
    { command: 'rename', old_path: other, new_path: path },
    { command: 'delete', path },
  ]
}

async function said(run: RunCommand, path: string, other: string): Promise<readonly string[]> {
  const texts: string[] = []
  for (const input of inputsOf(path, other))
    texts.push((await answerTool(run, () => input)).content)
  return texts
}

/** None is below a directory that is mounted, as `team` is. */
const elsewhere: readonly string[] = [
  '/memories/hidden/secret',
  '/memories/team/../hidden/secret',
  '/memories/team/../../hidden/secret',
  '/memories/team/d/../../../secret',
  '/memories/team/%2e%2e/hidden/secret',
  '/memories/team/..%2fhidden/secret',
  '/memories/team/..\\hidden\\secret',
  '/memories/team/%252e%252e/%252e%252e/secret',
  '/memories/Team/a',
  '/memories/TEAM/a',
  '/memories/team /a',
  '/memories/ team/a',
  '/memories/team\u200b/a',
  '/memories/t\u0435am/a',
  '/memories/\uff54eam/a',
  '/memories/team\0/a',
  '/memories/te/a',
  '/memories/team-/a',
  '/memories/teama',
  '/memories/__proto__/a',
  '/memories/constructor/a',
  '/memories/undefined/a',
  '/memories/memstore_0/a',
  '/memories/.../a',
  '/memoriesteam/a',
  '/memories\\team\\a',
  '/memories/*/a',
  'memories/team/a',
]

describe('T60: the directory of another store', () => {
  const start = { '/a': 'mine', '/d/b': 'mine' }

  async function two(): Promise<{ run: RunCommand; work: MemoryStore; hidden: MemoryStore }> {
    const { store: work } = await newStore()
    const { store: hidden } = await newStore()
    for (const [path, text] of Object.entries(start)) await work.as(author).write(path, text)
    await hidden.as(author).write('/secret', secret)
    const { store: prefix } = await newStore()
    const mounts = [mountOf(work), mountOf(prefix, { name: 'tea' })]
    return { run: commandRunner(ToolSpace.of(mounts, false)), work, hidden }
  }

  test('is reached by no path', async () => {
    const { run, work, hidden } = await two()
    for (const path of elsewhere) {
      const texts = await said(run, path, '/memories/team/a')
      for (const text of texts) {
        expect(text, path).toMatch(/^(?:Error: )?(?:Invalid|The path|Cannot)/)
        expect(text, path).not.toMatch(/canary|\bmine\b/)
      }
    }
    expect(await contentsOf(work)).toEqual(start)
    expect(await contentsOf(hidden)).toEqual({ '/secret': secret })
  })

  test('is reached by its own name, by any path', async () => {
    const { run } = await two()
    for (const path of [
      '/memories/team/a',
      '/memories/tea/../team/a',
      '/memories//team/./d/../a',
    ]) {
      const { content } = await answerTool(run, () => ({ command: 'view', path }))
      expect(content).toBe(
        "Here's the content of /memories/team/a with line numbers:\n     1\tmine",
      )
    }
  })
})

describe('T60: a read-only mount', () => {
  test('is read by no other command, and errors do not reveal existing paths', async () => {
    const { store } = await newStore()
    await store.as(author).write('/there', secret)
    const mount = mountOf(store, { access: 'read_only' })
    let used = 0
    const counted: Mount = { ...mount, use: (work) => ((used += 1), mount.use(work)) }
    const run = commandRunner(ToolSpace.of([counted], false))
    const [there, missing] = await Promise.all(
      ['/memories/team/there', '/memories/team/missing'].map(async (path) =>
        (await said(run, path, '/memories/team/x')).slice(2),
      ),
    )
    expect(there).toEqual(missing)
    expect(used).toBe(4)
    expect(await contentsOf(store)).toEqual({ '/there': secret })
  })
})

const besides: readonly string[] = [
  '/memories/../beside',
  '/memories/d/../../beside',
  '/memories/..%2fbeside',
  '/memories/../foobar/x',
  '/memories/p/beside',
  '/memories/beside',
  '/memories/bar/x',
  '/memories/top',
  '/p/beside',
  '/memories/.anthropic-memory-store',
]

describe('T60: next to and above the root of a mount', () => {
  const outside = { '/top': secret, '/p/beside': secret, '/p/foobar/x': secret, '/p/fo': secret }
  const inside = { '/p/foo/a': 'mine', '/p/foo/d/b': 'mine' }

  async function part(
    root: string,
    files: Readonly<Record<string, string>>,
  ): Promise<{ run: RunCommand; several: RunCommand; store: MemoryStore }> {
    const { store } = await newStore()
    for (const [path, text] of Object.entries(files)) await store.as(author).write(path, text)
    const mount = mountOf(store, { root })
    const run = commandRunner(ToolSpace.of([mount], true))
    return { run, several: commandRunner(ToolSpace.of([mount], false)), store }
  }

  async function view(run: RunCommand, path: string): Promise<string> {
    return (await answerTool(run, () => ({ command: 'view', path }))).content
  }

  test('nothing is listed, nor counted', async () => {
    const { run, several } = await part('/p/foo', { ...outside, ...inside })
    expect((await view(run, '/memories')).split('\n').slice(1)).toEqual([
      '8B\t/memories',
      '4B\t/memories/a',
      '4B\t/memories/d/',
      '4B\t/memories/d/b',
    ])
    expect((await view(several, '/memories')).split('\n').slice(1)).toEqual([
      '8B\t/memories',
      '8B\t/memories/team/',
      '4B\t/memories/team/a',
      '4B\t/memories/team/d/',
    ])
  })

  test('nothing is reached', async () => {
    const { run, store } = await part('/p/foo', { ...outside, ...inside })
    for (const path of besides) {
      for (const input of [
        ...inputsOf(path, '/memories/a').slice(0, 2),
        { command: 'delete', path },
      ]) {
        const { content, is_error } = await answerTool(run, () => input)
        expect(is_error, path).toBe(true)
        // A refusal repeats the input.
        expect(content.replaceAll(path, '')).not.toMatch(/canary|\/p\b|foo/)
      }
    }
    expect(await contentsOf(store)).toEqual({ ...outside, ...inside })
  })

  test.each<[what: string, files: Readonly<Record<string, string>>]>([
    ['is missing', outside],
    ['is a file', { ...outside, '/p/foo': secret }],
    ['lies below a file', { '/p': secret }],
  ])('a root that %s is an empty directory', async (_, files) => {
    const { run, store } = await part('/p/foo', files)
    expect((await view(run, '/memories')).split('\n').slice(1)).toEqual(['0B\t/memories'])
    expect(await view(run, '/memories/a')).toBe(
      'The path /memories/a does not exist. Please provide a valid path.',
    )
    for (const input of inputsOf('/memories', '/memories/a')) {
      const { content } = await answerTool(run, () => input)
      expect(content).not.toMatch(/canary|\/p\b|foo/)
    }
    expect(await contentsOf(store)).toEqual(files)
  })

  test('a file at or above the root is not named', async () => {
    for (const files of [{ '/p/foo': secret }, { '/p': secret }]) {
      const { run, store } = await part('/p/foo', files)
      const input = { command: 'create', path: '/memories/a', file_text: 'x' }
      expect((await answerTool(run, () => input)).content).toBe(
        'Error: Cannot create /memories/a: /memories is a file, not a directory',
      )
      expect(await contentsOf(store)).toEqual(files)
    }
  })

  test('a root that is missing is made by the first file, and cannot be removed', async () => {
    const { run, store } = await part('/p/foo', outside)
    const input = { command: 'create', path: '/memories/a', file_text: 'x' }
    expect((await answerTool(run, () => input)).content).toBe(
      'File created successfully at: /memories/a',
    )
    for (const refused of [
      { command: 'delete', path: '/memories' },
      { command: 'rename', old_path: '/memories', new_path: '/memories/b' },
      { command: 'rename', old_path: '/memories/a', new_path: '/memories' },
      { command: 'create', path: '/memories', file_text: '' },
    ]) {
      expect((await answerTool(run, () => refused)).is_error).toBe(true)
    }
    expect(await contentsOf(store)).toEqual({ ...outside, '/p/foo/a': 'x' })
  })
})
