// Changes of a memory by its id (Memory Stores API §6.5 to §6.10, §10.1), and what each change of a
// commit leaves.

import { describe, expect, test } from 'vitest'
import { sha256OfText } from '../../../src/crypto/digest.ts'
import type { Change, Memory, MemoryStore } from '../../../src/index.ts'
import { author, newStore } from '../../support/stores.ts'

const paths = ['/a.md', '/d/1.md', '/e']
const stale = sha256OfText('stale')

async function storeWithFiles(): Promise<MemoryStore> {
  const { store } = await newStore()
  await store.as(author).apply(paths.map((path) => ({ type: 'create', path, content: path })))
  return store
}

async function get(store: MemoryStore, path: string): Promise<Memory> {
  const memory = await store.read(path)
  if (memory === undefined) throw new Error(`nothing at ${path}`)
  return memory
}

type Asked = Omit<Extract<Change, { type: 'update' }>, 'type' | 'memoryId'>

async function update(store: MemoryStore, path: string, asked: Asked) {
  const { memoryId } = await get(store, path)
  return store.as(author).apply([{ type: 'update', memoryId, ...asked }])
}

describe('an update', () => {
  test.each<[string, Asked, string, string]>([
    ['the content', { content: 'x' }, '/a.md', 'x'],
    ['the path', { path: '/b.md' }, '/b.md', '/a.md'],
    ['both', { content: 'x', path: '/b.md' }, '/b.md', 'x'],
    ['the path to one below its own', { path: '/a.md/b' }, '/a.md/b', '/a.md'],
    ['what it expects', { content: 'x', expectedSha256: sha256OfText('/a.md') }, '/a.md', 'x'],
  ])('of %s writes one version', async (_, asked, path, content) => {
    const store = await storeWithFiles()
    const before = await get(store, '/a.md')
    const { versionIds, memories } = await update(store, '/a.md', asked)
    const { content: left, ...info } = await get(store, path)
    expect(left).toBe(content)
    expect(memories).toEqual([info])
    expect(versionIds).toEqual([info.versionId])
    expect(info).toMatchObject({ memoryId: before.memoryId, createdAt: before.createdAt })
    const [newest] = (await store.history.versions({ memoryId: info.memoryId })).data
    expect(newest).toMatchObject({ operation: 'modified', path, baseVersionId: before.versionId })
  })

  test.each<[string, Asked]>([
    ['the content that it has', { content: '/a.md' }],
    ['the path that it has', { path: '/a.md' }],
    ['both', { content: '/a.md', path: '/a.md' }],
    ['both, expecting another content', { content: '/a.md', expectedSha256: stale }],
  ])('to %s changes nothing', async (_, asked) => {
    const store = await storeWithFiles()
    const { head } = await store.status()
    const { content, ...info } = await get(store, '/a.md')
    const applied = await update(store, '/a.md', asked)
    expect(applied).toEqual({ commit: undefined, versionIds: [], memories: [info] })
    expect((await store.status()).head).toBe(head)
    expect(content).toBe('/a.md')
  })

  test.each<[string, Asked, string]>([
    ['nothing', {}, 'invalid_input'],
    ['what is no hash', { content: '/a.md', expectedSha256: 'x' }, 'invalid_input'],
    ['an upper-case hash', { content: 'x', expectedSha256: stale.toUpperCase() }, 'invalid_input'],
    ['a stale hash', { content: 'x', expectedSha256: stale }, 'precondition_failed'],
    ['a stale hash, for a move', { path: '/b', expectedSha256: stale }, 'precondition_failed'],
    ['a bad path and a stale hash', { path: 'b', expectedSha256: stale }, 'invalid_path'],
    ['NUL and a stale hash', { content: '\0', expectedSha256: stale }, 'invalid_input'],
    ['a taken path', { path: '/e' }, 'path_conflict'],
    ['a path below a memory', { path: '/e/x' }, 'path_conflict'],
    ['the path of a directory', { path: '/d' }, 'path_conflict'],
  ])('with %s is refused, and changes nothing', async (_, asked, code) => {
    const store = await storeWithFiles()
    const { head } = await store.status()
    await expect(update(store, '/a.md', asked)).rejects.toMatchObject({ code })
    expect((await store.status()).head).toBe(head)
    expect((await get(store, '/a.md')).content).toBe('/a.md')
  })

  test('names the memory that is in the way', async () => {
    const store = await storeWithFiles()
    const { memoryId } = await get(store, '/d/1.md')
    await expect(update(store, '/a.md', { path: '/d' })).rejects.toMatchObject({
      details: { path: '/d/1.md', memoryId },
    })
  })

  test('may follow other changes of its memory in one commit, even its creation', async () => {
    const store = await storeWithFiles()
    const { memoryId } = await get(store, '/a.md')
    const { versionIds, memories } = await store.as(author).apply([
      { type: 'update', memoryId, content: 'x' },
      { type: 'update', memoryId, path: '/b', expectedSha256: sha256OfText('x') },
      { type: 'create', path: '/n', content: 'n' },
      { type: 'rename', path: '/n', to: '/m' },
      { type: 'rename', path: '/d', to: '/f' },
      { type: 'delete', path: '/e' },
    ])
    const info = expect.objectContaining({ memoryId, path: '/b', sha256: sha256OfText('x') })
    const made = expect.objectContaining({ path: '/m', sizeBytes: 1 })
    expect(memories).toEqual([info, info, made, made, undefined, undefined])
    expect(versionIds).toHaveLength(4)
  })
})

describe('a deletion by id', () => {
  test('deletes that memory alone', async () => {
    const store = await storeWithFiles()
    const { memoryId, sha256: expectedSha256 } = await get(store, '/a.md')
    const removed = await store.as(author).apply([{ type: 'delete', memoryId, expectedSha256 }])
    expect(removed).toMatchObject({ memories: [undefined] })
    expect(await store.read('/a.md')).toBeUndefined()
    await store.as(author).write('/a.md', 'another')
    const again = store.as(author).apply([{ type: 'delete', memoryId }])
    await expect(again).rejects.toMatchObject({ code: 'not_found' })
    expect((await get(store, '/a.md')).content).toBe('another')
  })

  test.each([
    [stale, 'precondition_failed'],
    ['', 'invalid_input'],
  ])('that expects %s is refused', async (expectedSha256, code) => {
    const store = await storeWithFiles()
    const { memoryId } = await get(store, '/a.md')
    const removed = store.as(author).apply([{ type: 'delete', memoryId, expectedSha256 }])
    await expect(removed).rejects.toMatchObject({ code })
    expect(await get(store, '/a.md')).toMatchObject({ memoryId })
  })
})

test.each(['', 'mem_', 'mem_000000000000000000000000', '/a.md', '__proto__'])(
  'a memory with the id %j does not exist',
  async (memoryId) => {
    const store = await storeWithFiles()
    for (const change of [
      { type: 'update', memoryId, content: 'x' },
      { type: 'delete', memoryId },
    ] as const) {
      const applied = store.as(author).apply([change])
      await expect(applied).rejects.toMatchObject({ code: 'not_found' })
    }
    expect(await store.memory(memoryId)).toBeUndefined()
  },
)

test('refuses an id that is not a text', async () => {
  const store = await storeWithFiles()
  for (const type of ['update', 'delete']) {
    const change: unknown = { type, memoryId: 5, content: 'x' }
    // @ts-expect-error: a caller without types
    const applied = store.as(author).apply([change])
    await expect(applied).rejects.toMatchObject({ code: 'invalid_input' })
  }
})

test('a memory is read by its id at any path, until it is deleted', async () => {
  const store = await storeWithFiles()
  const { memoryId } = await get(store, '/a.md')
  await store.as(author).move('/a.md', '/z/b.md')
  expect(await store.memory(memoryId)).toEqual(await get(store, '/z/b.md'))
  await store.as(author).delete('/z')
  expect(await store.memory(memoryId)).toBeUndefined()
})

test('only one of several changes that expect the same content is made', async () => {
  const store = await storeWithFiles()
  const { memoryId, sha256: expectedSha256 } = await get(store, '/a.md')
  const writes = Array.from({ length: 8 }, (_, n) => {
    const change = { type: 'update', memoryId, content: `${n}`, expectedSha256 } as const
    return store.as({ actor: { type: 'api', id: `key_${n}` } }).apply([change])
  })
  const done = await Promise.allSettled(writes)
  const won = done.flatMap((one) => (one.status === 'fulfilled' ? one.value.memories : []))
  expect(won).toHaveLength(1)
  expect((await get(store, '/a.md')).versionId).toBe(won[0]?.versionId)
  for (const one of done) {
    if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'precondition_failed' })
  }
})
