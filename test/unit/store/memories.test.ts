// `store.memories` (Memory Stores API §4.2, §6.11): every memory below a path once, in the byte
// order of paths, in pages that are consistent while others write.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { MemoryStore } from '../../../src/index.ts'
import { pathsInOrder } from '../../../src/store/snapshot/listing.ts'
import { PathTree, type PlacedMemory } from '../../../src/store/snapshot/path-tree.ts'
import { full, seed } from '../../support/seed.ts'
import { author, newStore } from '../../support/stores.ts'

const paths = ['/a', '/b-c', '/b/1', '/b/2/x', '/b/2/y', '/b0', '/é', '/\u{fb01}', '/🎉']

async function storeWith(all: readonly string[]): Promise<MemoryStore> {
  const { store } = await newStore()
  await store.as(author).apply(all.map((path) => ({ type: 'write', path, content: path })))
  return store
}

describe('a list of memories', () => {
  test('has all of them in order, and no contents', async () => {
    const store = await storeWith(paths.toReversed())
    const { data, nextPage } = await store.memories()
    expect(data.map(({ path }) => path)).toEqual(paths)
    expect(nextPage).toBeUndefined()
    for (const memory of data) {
      const { content, ...info } = (await store.read(memory.path)) ?? { content: undefined }
      expect(memory).toEqual({ type: 'memory', ...info })
      expect(content).toBe(memory.path)
    }
  })

  test.each([
    ['/', 0, paths],
    ['/', 1, ['/a', '/b-c', '/b/', '/b0', '/é', '/\u{fb01}', '/🎉']],
    ['/b', 0, ['/b/1', '/b/2/x', '/b/2/y']],
    ['/b', 1, ['/b/1', '/b/2/']],
    ['/b/2/x', 0, ['/b/2/x']],
    ['/none', 0, []],
  ] as const)('below %s at depth %i', async (path, depth, expected) => {
    const store = await storeWith(paths)
    for (const limit of [1, 2, 3, 100]) {
      const found: string[] = []
      for await (const entry of store.memories({ path, depth, limit })) found.push(entry.path)
      expect(found).toEqual(expected)
    }
  })

  test('has contents if they are requested, twenty at a time', async () => {
    const store = await storeWith(paths)
    const { data } = await store.memories({ view: 'full', path: '/b' })
    expect(data.map(({ content }) => content)).toEqual(['/b/1', '/b/2/x', '/b/2/y'])
    const other = await storeWith(Array.from({ length: 21 }, (_, index) => `/${index}`))
    const page = await other.memories({ view: 'full', limit: 100 })
    expect([page.data.length, page.nextPage]).toEqual([20, '/8'])
  })

  test('continues after the cursor, even if its memory was deleted', async () => {
    const store = await storeWith(paths)
    const me = store.as(author)
    const first = await store.memories({ limit: 3 })
    await me.delete('/b')
    await me.write('/a0', 'x')
    const { nextPage: page } = first
    const rest = await store.memories({ page })
    expect(rest.data.map(({ path }) => path)).toEqual(['/b0', '/é', '/\u{fb01}', '/🎉'])
  })

  test('rejects in the iteration, even on a later page', async () => {
    const store = await storeWith([])
    const list = store.memories({ limit: 0 })
    await new Promise((resolve) => setTimeout(resolve, 5))
    await expect(list[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'invalid_input',
    })
    await store.close()
  })

  test('refuses a malformed path', async () => {
    const store = await storeWith([])
    await expect(store.memories({ path: 'b' })).rejects.toMatchObject({ code: 'invalid_path' })
    const iterated = (async () => {
      for await (const memory of store.memories({ limit: 0 })) expect(memory).toBeUndefined()
    })()
    await expect(iterated).rejects.toMatchObject({ code: 'invalid_input' })
  })
})

test('a tree is walked in the byte order of paths, from any path on', () => {
  const name = fc.string({
    unit: fc.constantFrom('a', 'b', '-', '0', '\u{fb01}', '🎉'),
    maxLength: 3,
    minLength: 1,
  })
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `/${names.join('/')}`)
  const property = fc.property(fc.array(path, { maxLength: 30 }), path, (all, after) => {
    let tree = PathTree.of<PlacedMemory>()
    const added = new Set<string>()
    for (const one of all) {
      if (tree.findOccupant(one) !== undefined) continue
      tree = tree.with({ path: one, size: 0, updated: 0 })
      added.add(one)
    }
    const sorted = [...added].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    const found = [...pathsInOrder(tree.root, '/', { after })].map((entry) => entry.path)
    const isAfter = (one: string): boolean =>
      Buffer.compare(Buffer.from(one), Buffer.from(after)) > 0
    expect(found).toEqual(sorted.filter(isAfter))
  })
  fc.assert(property, { seed, numRuns: full ? 20_000 : 200 })
})
