// The cache of delta bases: it finds objects as they were added, whatever the ring has overwritten.

import { expect, test } from 'vitest'
import { equalBytes } from '../../../src/bytes.ts'
import { DeltaBaseCache } from '../../../src/git/pack/delta-base-cache.ts'

function tree(key: number, length: number): Uint8Array {
  return new Uint8Array(length).map((_, at) => key * 31 + at)
}

test(
  'an object is found as it was added, or not at all; the newest always is',
  { tags: 'slow' },
  () => {
    const cache = new DeltaBaseCache(1000)
    const lengths = new Map<number, number>()
    for (let key = 0; key < 2000; key += 1) {
      const length = (key * 7919) % 400
      lengths.set(key, length)
      cache.add(key, { type: 'tree', body: tree(key, length) })
      expect(cache.find(key)?.body).toEqual(tree(key, length))
      for (let older = Math.max(0, key - 30); older < key; older += 1) {
        const found = cache.find(older)?.body
        // Sixty thousand of them: compared as bytes.
        const same = found === undefined || equalBytes(found, tree(older, lengths.get(older) ?? 0))
        if (!same) expect(found).toEqual(tree(older, lengths.get(older) ?? 0))
      }
    }
  },
)

test('keeps the newest objects, at least half of its bytes', () => {
  const cache = new DeltaBaseCache(1000)
  for (let key = 0; key < 100; key += 1) cache.add(key, { type: 'tree', body: tree(key, 100) })
  const kept = Array.from({ length: 100 }, (_, key) => key).filter((key) => cache.find(key))
  expect(kept).toEqual([90, 91, 92, 93, 94, 95, 96, 97, 98, 99])
})

test('keeps its objects while it grows, up to its largest size', () => {
  const cache = new DeltaBaseCache(1_000_000)
  const found = (count: number): readonly number[] => {
    const keys = Array.from({ length: count }, (_, key) => key)
    return keys.filter((key) => {
      const body = cache.find(key)?.body
      return body !== undefined && equalBytes(body, tree(key, 10_000))
    })
  }
  for (let key = 0; key < 100; key += 1) cache.add(key, { type: 'tree', body: tree(key, 10_000) })
  expect(found(100)).toHaveLength(100)
  cache.add(100, { type: 'tree', body: tree(100, 10_000) })
  expect(found(101)).toEqual(Array.from({ length: 100 }, (_, key) => key + 1))
})

test('a returned object may be changed without harm', () => {
  const cache = new DeltaBaseCache(1000)
  cache.add(1, { type: 'tree', body: tree(1, 10) })
  cache.find(1)?.body.fill(0)
  expect(cache.find(1)?.body).toEqual(tree(1, 10))
})

test.each([
  ['a blob', 'blob', 10],
  ['an object larger than the cache', 'tree', 1001],
])('%s is not kept', (_, type, length) => {
  const cache = new DeltaBaseCache(1000)
  cache.add(1, { type, body: tree(1, length) })
  expect(cache.find(1)).toBeUndefined()
})

test('after clear it is empty', () => {
  const cache = new DeltaBaseCache(1000)
  cache.add(1, { type: 'tree', body: tree(1, 10) })
  cache.clear()
  expect(cache.find(1)).toBeUndefined()
  cache.add(1, { type: 'tree', body: tree(2, 10) })
  expect(cache.find(1)?.body).toEqual(tree(2, 10))
})
