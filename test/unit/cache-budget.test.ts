// What the caches of several stores hold together, and what they give up first.

import { describe, expect, test } from 'vitest'
import { CacheBudget } from '../../src/cache-budget.ts'
import { DeltaBaseCache } from '../../src/git/pack/delta-base-cache.ts'
import { ContentCache } from '../../src/store/history/contents.ts'
import { author, newStore } from '../support/stores.ts'

const text = 'x'.repeat(900)
/** The size of one such text: two bytes for each unit, and its entry. */
const textBytes = 2000

function filled(cache: ContentCache, name: string, count: number): ContentCache {
  for (let n = 0; n < count; n += 1) cache.add(`${name}${n}`, text)
  return cache
}

function found(cache: ContentCache, name: string, count: number): readonly number[] {
  const numbers = Array.from({ length: count }, (_, n) => n)
  return numbers.filter((n) => cache.find(`${name}${n}`) !== undefined)
}

describe('caches that share a budget', () => {
  test('hold no more than it has; the one used longest ago gives up its oldest entries', () => {
    const budget = new CacheBudget(6 * textBytes)
    const [a, b] = [new ContentCache(budget), new ContentCache(budget)]
    filled(a, 'a', 3)
    filled(b, 'b', 3)
    expect(budget.bytes).toBe(6 * textBytes)
    // Now a is the one that was used last.
    a.find('a0')
    filled(a, 'c', 1)
    expect(found(a, 'a', 3)).toEqual([0, 1, 2])
    filled(b, 'd', 2)
    expect(found(b, 'b', 3)).toEqual([1, 2])
    expect(found(a, 'a', 3)).toEqual([1, 2])
    expect(budget.bytes).toBe(6 * textBytes)
  })

  test('a single cache evicts its own entries, and keeps no entry above the budget', () => {
    const budget = new CacheBudget(2.5 * textBytes)
    const cache = filled(new ContentCache(budget), 'a', 4)
    expect(found(cache, 'a', 4)).toEqual([2, 3])
    cache.add('large', 'y'.repeat(3 * textBytes))
    expect(cache.find('large')).toBeUndefined()
    expect(budget.bytes).toBe(0)
  })

  test('cleared bytes are free for other caches', () => {
    const budget = new CacheBudget(2 * textBytes)
    filled(new ContentCache(budget), 'a', 2).clear()
    expect(budget.bytes).toBe(0)
    expect(found(filled(new ContentCache(budget), 'b', 2), 'b', 2)).toEqual([0, 1])
  })

  test(
    'trees that are delta bases are evicted together, and reads are right without room',
    { tags: 'slow' },
    () => {
      const budget = new CacheBudget(200_000)
      const [a, b] = [new DeltaBaseCache(1_000_000, budget), new DeltaBaseCache(1_000_000, budget)]
      const body = (key: number): Uint8Array => new Uint8Array(20_000).fill(key)
      const kept = (cache: DeltaBaseCache): number[] =>
        Array.from({ length: 30 }, (_, key) => key).filter((key) => {
          const tree = cache.find(key)?.body
          if (tree !== undefined) expect(tree).toEqual(body(key))
          return tree !== undefined
        })
      for (let key = 0; key < 30; key += 1) {
        a.add(key, { type: 'tree', body: body(key) })
        expect(budget.bytes).toBeLessThanOrEqual(200_000)
      }
      expect(kept(a)).toContain(29)
      b.add(1, { type: 'tree', body: body(1) })
      b.add(2, { type: 'tree', body: body(2) })
      expect(kept(b)).toEqual([1, 2])
      filled(new ContentCache(budget), 'c', 60)
      expect(kept(a)).toEqual([])
      expect(budget.bytes).toBeLessThanOrEqual(200_000)
    },
  )
})

test('open stores share the budget that they are given, and closed ones use none', async () => {
  const cacheBudget = new CacheBudget(10 * textBytes)
  const stores = []
  for (let n = 0; n < 3; n += 1) stores.push((await newStore({ cacheBudget })).store)
  for (const store of stores) {
    for (let n = 0; n < 6; n += 1) await store.as(author).write(`/${n}`, `${n}${text}`)
    for (let n = 0; n < 6; n += 1) expect((await store.read(`/${n}`))?.content).toBe(`${n}${text}`)
    expect(cacheBudget.bytes).toBeLessThanOrEqual(10 * textBytes)
  }
  expect(cacheBudget.bytes).toBeGreaterThan(8 * textBytes)
  await Promise.all(stores.map((store) => store.close()))
  expect(cacheBudget.bytes).toBe(0)
})
