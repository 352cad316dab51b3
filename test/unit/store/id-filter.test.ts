// The filter has no false negatives and few false positives.

import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { IdFilter } from '../../../src/store/tables/id-filter.ts'

test.each([1, 100, 5000, 40_000])('%i ids', (count) => {
  const ids = randomBytes(16 * count)
  const filter = new IdFilter(count)
  expect(filter.mayHaveAnyOf(ids)).toBe(false)
  filter.add(ids)
  expect(filter.isFull).toBe(false)
  for (let n = 0; n < count; n += 1) {
    if (!filter.mayHaveAnyOf(ids.subarray(16 * n, 16 * n + 16))) expect.fail(`${n} is denied`)
  }
  let mistaken = 0
  for (let n = 0; n < 2000; n += 1) if (filter.mayHaveAnyOf(randomBytes(16))) mistaken += 1
  expect(mistaken).toBeLessThan(60)
})

test('is full before most lookups are false positives', () => {
  const filter = new IdFilter(1)
  let added = 0
  for (; !filter.isFull; added += 1) filter.add(randomBytes(16))
  expect(added).toBe(8192)
  let mistaken = 0
  for (let n = 0; n < 1000; n += 1) if (filter.mayHaveAnyOf(randomBytes(16))) mistaken += 1
  expect(mistaken).toBeLessThan(100)
})
