// The plans of commands: version rows, ids, refusals that change nothing. And the same for states
// that memories are given together.

import { describe, expect, test } from 'vitest'
import { sha256OfText } from '../../../src/crypto/digest.ts'
import { systemRandom } from '../../../src/crypto/random.ts'
import { zeroHash } from '../../../src/format/record.ts'
import type { Change, MemoryStore } from '../../../src/index.ts'
import { planStates, type StateChange } from '../../../src/store/changes/changes.ts'
import type { PlannedRow } from '../../../src/store/commits/new-rows.ts'
import type { CurrentVersion } from '../../../src/store/snapshot/live-memory.ts'
import { beforeGenesis, Snapshot } from '../../../src/store/snapshot/snapshot.ts'
import { author, contentsOf, newStore } from '../../support/stores.ts'

const create = (path: string, content = `${path}\n`): Change => ({ type: 'create', path, content })
const edit = (path: string, content: string): Change => ({
  type: 'edit',
  path,
  edit: () => content,
})
const write = (path: string, content: string): Change => ({ type: 'write', path, content })
const append = (path: string, content: string): Change => ({ type: 'append', path, content })
const remove = (path: string): Change => ({ type: 'delete', path })
const rename = (path: string, to: string): Change => ({ type: 'rename', path, to })

async function storeWith(...paths: readonly string[]): Promise<MemoryStore> {
  const { store } = await newStore()
  for (const path of paths) await store.as(author).apply([create(path)])
  return store
}

/** Operations of the newest commit, in order of the path. */
async function rowsOf(store: MemoryStore, commit: string | undefined): Promise<string[]> {
  const { data: versions } = await store.history.versions({ limit: 1000 })
  const rows = versions.filter((version) => version.commit === commit)
  return rows.map(({ operation, path }) => `${operation} ${path}`).toSorted()
}

describe('rows of a commit', () => {
  test.each<[string, Change[], string[]]>([
    ['create', [create('/new.md')], ['created /new.md']],
    ['edit', [edit('/a.md', 'x')], ['modified /a.md']],
    ['rename of a file', [rename('/a.md', '/z/a.md')], ['modified /z/a.md']],
    ['rename of a directory', [rename('/d', '/e')], ['modified /e/1.md', 'modified /e/2/3.md']],
    ['delete of a file', [remove('/a.md')], ['deleted /a.md']],
    ['delete of a directory', [remove('/d')], ['deleted /d/1.md', 'deleted /d/2/3.md']],
    ['rename below its own name', [rename('/a.md', '/a.md/b')], ['modified /a.md/b']],
    ['write of a new path', [write('/n', 'x')], ['created /n']],
    ['write of a file', [write('/a.md', 'x')], ['modified /a.md']],
    ['append to a new path', [append('/n', 'x')], ['created /n']],
    ['append to a file', [append('/a.md', 'x')], ['modified /a.md']],
    ['create and write', [create('/n'), write('/n', 'x')], ['created /n']],
    [
      'delete and write',
      [remove('/a.md'), write('/a.md', 'x')],
      ['created /a.md', 'deleted /a.md'],
    ],
    ['create and edit', [create('/n'), edit('/n', 'x')], ['created /n']],
    ['edit and rename', [edit('/a.md', 'x'), rename('/a.md', '/b')], ['modified /b']],
    ['edit and delete', [edit('/a.md', 'x'), remove('/a.md')], ['deleted /a.md']],
    ['delete and create', [remove('/a.md'), create('/a.md')], ['created /a.md', 'deleted /a.md']],
    [
      'swap of two names',
      [rename('/a.md', '/t'), rename('/b.md', '/a.md'), rename('/t', '/b.md')],
      ['modified /a.md', 'modified /b.md'],
    ],
  ])('%s', async (_, changes, rows) => {
    const store = await storeWith('/a.md', '/b.md', '/d/1.md', '/d/2/3.md')
    const { commit, versionIds } = await store.as(author).apply(changes)
    expect(await rowsOf(store, commit)).toEqual(rows)
    expect(versionIds).toHaveLength(rows.length)
    await store.maintenance.verify()
    await store.close()
  })

  test.each<[string, Change[]]>([
    ['no change', []],
    ['an edit to equal text', [edit('/a.md', '/a.md\n')]],
    ['create and delete', [create('/n'), remove('/n')]],
    ['there and back', [rename('/a.md', '/n'), rename('/n', '/a.md')]],
  ])('%s makes no commit', async (_, changes) => {
    const store = await storeWith('/a.md')
    const { head } = await store.status()
    const applied = await store.as(author).apply(changes)
    expect(applied).toMatchObject({ commit: undefined, versionIds: [] })
    expect(applied.memories).toHaveLength(changes.length)
    expect((await store.status()).head).toBe(head)
    await store.close()
  })
})

test('a memory keeps its id over edits and renames; a new one at its path does not', async () => {
  const store = await storeWith('/a.md')
  const first = await store.read('/a.md')
  await store.as(author).apply([edit('/a.md', 'x'), rename('/a.md', '/b.md')])
  const moved = await store.read('/b.md')
  expect(moved?.memoryId).toBe(first?.memoryId)
  expect(moved?.createdAt).toBe(first?.createdAt)
  await store.as(author).apply([remove('/b.md'), create('/b.md')])
  expect((await store.read('/b.md'))?.memoryId).not.toBe(first?.memoryId)
  const { data: versions } = await store.history.versions({ memoryId: first?.memoryId })
  expect(versions.map((version) => version.operation)).toEqual(['deleted', 'modified', 'created'])
  await store.close()
})

describe('refusals', () => {
  test.each<[string, Change[], string]>([
    ['create over a file', [create('/a.md')], 'path_conflict'],
    ['create over a directory', [create('/d')], 'path_conflict'],
    ['create below a file', [create('/a.md/b')], 'path_conflict'],
    ['edit of nothing', [edit('/none', 'x')], 'not_found'],
    ['edit of a directory', [edit('/d', 'x')], 'not_found'],
    ['delete of nothing', [remove('/none')], 'not_found'],
    ['delete of the root', [remove('/')], 'invalid_path'],
    ['rename of nothing', [rename('/none', '/x')], 'not_found'],
    ['rename onto itself', [rename('/a.md', '/a.md')], 'path_conflict'],
    ['rename onto a file', [rename('/a.md', '/d/1.md')], 'path_conflict'],
    ['rename onto a directory', [rename('/a.md', '/d')], 'path_conflict'],
    ['a path without a slash', [create('a.md')], 'invalid_path'],
    ['a path with dots', [create('/../a.md')], 'invalid_path'],
    ['a reserved path', [create('/.anthropic-memory-store')], 'invalid_path'],
    ['a NUL in the content', [create('/n', 'a\0b')], 'invalid_input'],
    ['a lone surrogate', [create('/n', '\ud800')], 'invalid_input'],
    ['too much content', [create('/n', 'x'.repeat(102_401))], 'content_too_large'],
    ['the second of two changes', [create('/n'), create('/a.md')], 'path_conflict'],
  ])('%s: %#', async (_, changes, code) => {
    const store = await storeWith('/a.md', '/d/1.md')
    const before = { contents: await contentsOf(store), head: (await store.status()).head }
    await expect(store.as(author).apply(changes)).rejects.toMatchObject({
      name: 'StoreError',
      code,
    })
    expect({ contents: await contentsOf(store), head: (await store.status()).head }).toEqual(before)
    await store.as(author).apply([create('/still-works')])
    await store.close()
  })

  test('a directory cannot be moved into itself', async () => {
    const store = await storeWith('/d/1.md')
    await expect(store.as(author).apply([rename('/d', '/d/e')])).rejects.toHaveProperty('code')
    expect(Object.keys(await contentsOf(store))).toEqual(['/d/1.md'])
    await store.close()
  })

  test('a full store refuses creates and allows the rest', async () => {
    const { store } = await newStore({ limits: { memories: 2 } })
    await store.as(author).apply([create('/a'), create('/b')])
    await expect(store.as(author).apply([create('/c')])).rejects.toMatchObject({
      code: 'store_full',
    })
    await store.as(author).apply([edit('/a', 'x')])
    await store.as(author).apply([remove('/b')])
    await store.as(author).apply([create('/c')])
    await store.close()
  })

  test.each([
    ['no actor', {}],
    ['an unknown actor type', { actor: { type: 'robot', id: 'x' } }],
    ['an empty id', { actor: { type: 'user', id: '' } }],
    ['an id with a space', { actor: { type: 'user', id: 'a b' } }],
    ['a long id', { actor: { type: 'user', id: 'x'.repeat(65) } }],
    ['another session', { actor: { type: 'session', id: 'a' }, session: 'b' }],
    ['a long reason', { actor: { type: 'user', id: 'a' }, reason: 'x'.repeat(4097) }],
  ])('an author with %s', async (_, bad) => {
    const store = await storeWith()
    // @ts-expect-error Callers in JavaScript can pass anything.
    expect(() => store.as(bad)).toThrow(expect.objectContaining({ code: 'invalid_input' }))
    await store.close()
  })

  test.each([
    ['no list', undefined],
    ['an unknown type', [{ type: 'prepend', path: '/a' }]],
    ['a number to append', [create('/a', 'one'), { type: 'append', path: '/a', content: 7 }]],
    ['a number as content', [{ type: 'create', path: '/a', content: 7 }]],
    ['a number as path', [{ type: 'create', path: 7, content: 'x' }]],
  ])('changes with %s', async (_, bad) => {
    const store = await storeWith()
    // @ts-expect-error Callers in JavaScript can pass anything.
    await expect(store.as(author).apply(bad)).rejects.toHaveProperty('name', 'StoreError')
    await store.close()
  })
})

test('a change is not affected by later modifications of its object', async () => {
  const store = await storeWith()
  const change = { type: 'create', path: '/a', content: 'one' } as const
  const asked = { ...change }
  const applied = store.as(author).apply([asked])
  Object.assign(asked, { content: 'two' })
  await applied
  expect((await store.read('/a'))?.content).toBe('one')
  await store.close()
})

test('commands of one turn see each other: eight edits are all kept', async () => {
  const store = await storeWith('/log.md')
  const line = (index: number): Change => ({
    type: 'edit',
    path: '/log.md',
    edit: (content) => `${content}line ${index}\n`,
  })
  await Promise.all(Array.from({ length: 8 }, (_, index) => store.as(author).apply([line(index)])))
  const lines = (await store.read('/log.md'))?.content.split('\n').slice(1, -1)
  expect(lines?.toSorted()).toEqual(Array.from({ length: 8 }, (_, index) => `line ${index}`))
  expect((await store.history.versions()).data).toHaveLength(9)
  await store.close()
})

test('keeps all concurrent appends to a memory that does not exist yet', async () => {
  const store = await storeWith()
  const lines = Array.from({ length: 8 }, (_, index) => `line ${index}`)
  const applied = lines.map(async (line) => store.as(author).append('/log.md', `${line}\n`))
  await Promise.all(applied)
  expect((await store.read('/log.md'))?.content).toBe(lines.map((line) => `${line}\n`).join(''))
  expect((await store.history.versions()).data.map(({ operation }) => operation).at(-1)).toBe(
    'created',
  )
  await store.close()
})

describe('states of memories, live or deleted', () => {
  const live = { a: '/a', b: '/b', c: '/c/d' }
  const idOf = (name: string): string => name.repeat(32)

  /** Memories `a`, `b` and `c` are live, `e` is deleted. A content is its memory's name. */
  function snapshotOf(limits: { contentBytes: number; memories: number }): Snapshot {
    const settings = { name: '', description: '', metadata: {}, archivedAt: undefined, limits }
    const directory = {
      number: 0,
      previous: undefined,
      devices: [],
      removed: [],
      recovery: [],
      quota: 0,
      givers: 'owners and writers' as const,
      founderRandom: undefined,
    }
    const keyring = { record: zeroHash, oid: '', kid: '', archived: [], directory }
    const memories: [string, CurrentVersion][] = []
    for (const [name, path] of Object.entries(live)) {
      const ids = { memoryId: idOf(name), versionId: `${name}1`.repeat(16) }
      const sha256 = sha256OfText(name)
      const memory = { ...ids, path, size: 1, sha256, created: 5, updated: 6, blob: '', kid: '' }
      const { versionId, created } = memory
      memories.push([idOf(name), { versionId, operation: 'created', created, live: memory }])
    }
    const versionId = 'e9'.repeat(16)
    const deletion = { versionId, operation: 'deleted', created: 4, live: undefined } as const
    memories.push([idOf('e'), deletion])
    const times = { height: -1, updated: 0, created: 0 }
    const brought = { oid: '', value: settings, record: zeroHash, ...times }
    return Snapshot.of({ head: beforeGenesis, keyring, settings: brought }, { memories })
  }

  async function plan(
    targets: Readonly<Record<string, string | undefined>>,
    limits: { contentBytes: number; memories: number } = { contentBytes: 9, memories: 4 },
  ): Promise<{ readonly rows: readonly PlannedRow[]; readonly snapshot: Snapshot }> {
    const snapshot = snapshotOf(limits)
    const states = Object.entries(targets).map(([name, target]): StateChange => {
      const [path = '', content = name] = target?.split(' ') ?? []
      return { memoryId: idOf(name), target: target === undefined ? target : { path, content } }
    })
    const readContent = (): string => ''
    const context = { snapshot, random: systemRandom, now: 7, readContent }
    return { rows: await planStates(context, states), snapshot }
  }

  test.each<[string, Record<string, string | undefined>, string[]]>([
    ['another content', { a: '/a new' }, ['a1 modified /a new']],
    ['another path', { a: '/z/y' }, ['a1 modified /z/y a']],
    ['two paths swapped', { a: '/b', b: '/a' }, ['a1 modified /b a', 'b1 modified /a b']],
    [
      'a directory for a file',
      { a: '/b/x', b: undefined },
      ['a1 modified /b/x a', 'b1 deleted /b'],
    ],
    ['a file for a directory', { a: '/c', c: '/a/b' }, ['a1 modified /c a', 'c1 modified /a/b c']],
    ['a deleted memory that is restored', { e: '/e old' }, ['e9 created /e old']],
    ['a place in a full store', { e: '/a', a: undefined }, ['a1 deleted /a', 'e9 created /a e']],
    ['a path that no new memory gets', { a: '/\u0378' }, ['a1 modified /\u0378 a']],
    ['the state that it has', { a: '/a', b: '/b' }, []],
    ['deleted, as it is', { e: undefined }, []],
    ['nothing', {}, []],
  ])('%s', async (_, targets, expected) => {
    const { rows, snapshot } = await plan(targets)
    const described = rows.map(({ base, operation, path, content }) => {
      return [base.slice(0, 2), operation, path, content].filter(Boolean).join(' ')
    })
    expect(described).toEqual(expected)
    for (const { memoryId, base, created, content, size, sha256 } of rows) {
      expect(base).toBe(snapshot.current.get(memoryId)?.versionId)
      expect(created).toBe(snapshot.current.get(memoryId)?.created)
      if (content !== undefined)
        expect([size, sha256]).toEqual([content.length, sha256OfText(content)])
    }
  })

  test.each<[string, Record<string, string | undefined>, string]>([
    ['a path that stays taken', { a: '/b' }, 'path_conflict'],
    ['a path below a file', { a: '/b/x' }, 'path_conflict'],
    ['a path above a file', { a: '/c' }, 'path_conflict'],
    ['one path for two', { a: '/x', b: '/x' }, 'path_conflict'],
    ['overlapping paths', { a: '/x', e: '/x/y' }, 'path_conflict'],
    ['a malformed path', { a: '/../x' }, 'invalid_path'],
    ['too long a content', { a: '/a 0123456789' }, 'content_too_large'],
    ['an unknown memory', { f: '/f' }, 'not_found'],
    ['an unknown memory, deleted', { f: undefined }, 'not_found'],
  ])('refused: %s', async (_, targets, code) => {
    const refusal = expect.objectContaining({ name: 'StoreError', code })
    await expect(plan(targets)).rejects.toThrow(refusal)
  })

  test('a full store restores nothing, and a lowered limit allows moves', async () => {
    const full = { contentBytes: 9, memories: 3 }
    const isFull = expect.objectContaining({ code: 'store_full' })
    await expect(plan({ e: '/e' }, full)).rejects.toThrow(isFull)
    const lowered = { contentBytes: 0, memories: 1 }
    expect((await plan({ a: '/b', b: '/a' }, lowered)).rows).toHaveLength(2)
    await expect(plan({ a: '/a b' }, lowered)).rejects.toThrow(
      expect.objectContaining({ code: 'content_too_large' }),
    )
  })

  test('two states for one memory are an internal error', async () => {
    const snapshot = snapshotOf({ contentBytes: 9, memories: 9 })
    const context = { snapshot, random: systemRandom, now: 7, readContent: () => '' }
    const twice: StateChange[] = [
      { memoryId: idOf('a'), target: undefined },
      { memoryId: idOf('a'), target: { path: '/x', content: '' } },
    ]
    await expect(planStates(context, twice)).rejects.toThrow('Internal error')
    expect(snapshot.count).toBe(3)
  })
})
