// What a command becomes: version rows, ids, refusals that change nothing.

import { describe, expect, test } from 'vitest'
import type { Change, MemoryStore } from '../../../src/index.ts'
import { author, contentsOf, newStore } from '../../support/stores.ts'

const create = (path: string, content = `${path}\n`): Change => ({ type: 'create', path, content })
const edit = (path: string, content: string): Change => ({
  type: 'edit',
  path,
  edit: () => content,
})
const remove = (path: string): Change => ({ type: 'delete', path })
const rename = (path: string, to: string): Change => ({ type: 'rename', path, to })

async function storeWith(...paths: readonly string[]): Promise<MemoryStore> {
  const { store } = await newStore()
  for (const path of paths) await store.apply([create(path)], author)
  return store
}

/** Operations of the newest commit, in order of the path. */
async function rowsOf(store: MemoryStore, commit: string | undefined): Promise<string[]> {
  const { versions } = await store.versions({ limit: 1000 })
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
    const { commit, versionIds } = await store.apply(changes, author)
    expect(await rowsOf(store, commit)).toEqual(rows)
    expect(versionIds).toHaveLength(rows.length)
    await store.verify()
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
    expect(await store.apply(changes, author)).toEqual({ commit: undefined, versionIds: [] })
    expect((await store.status()).head).toBe(head)
    await store.close()
  })
})

test('a memory keeps its id over edits and renames; a new one at its path does not', async () => {
  const store = await storeWith('/a.md')
  const first = await store.read('/a.md')
  await store.apply([edit('/a.md', 'x'), rename('/a.md', '/b.md')], author)
  const moved = await store.read('/b.md')
  expect(moved?.memoryId).toBe(first?.memoryId)
  expect(moved?.createdAt).toBe(first?.createdAt)
  await store.apply([remove('/b.md'), create('/b.md')], author)
  expect((await store.read('/b.md'))?.memoryId).not.toBe(first?.memoryId)
  const { versions } = await store.versions({ memoryId: first?.memoryId })
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
    await expect(store.apply(changes, author)).rejects.toMatchObject({ name: 'StoreError', code })
    expect({ contents: await contentsOf(store), head: (await store.status()).head }).toEqual(before)
    await store.apply([create('/still-works')], author)
    await store.close()
  })

  test('a directory cannot be moved into itself', async () => {
    const store = await storeWith('/d/1.md')
    await expect(store.apply([rename('/d', '/d/e')], author)).rejects.toHaveProperty('code')
    expect(Object.keys(await contentsOf(store))).toEqual(['/d/1.md'])
    await store.close()
  })

  test('a full store refuses creates and allows the rest', async () => {
    const { store } = await newStore({ limits: { memories: 2 } })
    await store.apply([create('/a'), create('/b')], author)
    await expect(store.apply([create('/c')], author)).rejects.toMatchObject({ code: 'store_full' })
    await store.apply([edit('/a', 'x')], author)
    await store.apply([remove('/b')], author)
    await store.apply([create('/c')], author)
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
    await expect(store.apply([create('/a')], bad)).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await store.read('/a')).toBeUndefined()
    await store.close()
  })

  test.each([
    ['no list', undefined],
    ['an unknown type', [{ type: 'append', path: '/a' }]],
    ['a number as content', [{ type: 'create', path: '/a', content: 7 }]],
    ['a number as path', [{ type: 'create', path: 7, content: 'x' }]],
  ])('changes with %s', async (_, bad) => {
    const store = await storeWith()
    // @ts-expect-error Callers in JavaScript can pass anything.
    await expect(store.apply(bad, author)).rejects.toHaveProperty('name', 'StoreError')
    await store.close()
  })
})

test('commands of one turn see each other: eight edits keep eight', async () => {
  const store = await storeWith('/log.md')
  const line = (index: number): Change => ({
    type: 'edit',
    path: '/log.md',
    edit: (content) => `${content}line ${index}\n`,
  })
  await Promise.all(Array.from({ length: 8 }, (_, index) => store.apply([line(index)], author)))
  const lines = (await store.read('/log.md'))?.content.split('\n').slice(1, -1)
  expect(lines?.toSorted()).toEqual(Array.from({ length: 8 }, (_, index) => `line ${index}`))
  expect((await store.versions()).versions).toHaveLength(9)
  await store.close()
})
