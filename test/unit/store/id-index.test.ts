// An index of ids finds what a map finds, after additions and in every prefix.

import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { IdIndex } from '../../../src/store/tables/id-index.ts'

function idAt(number: number): string {
  return createHash('sha256').update(String(number)).digest('hex').slice(0, 32)
}

const ids = Array.from({ length: 5000 }, (_, number) => idAt(number))

function indexOf(count: number): IdIndex {
  const index = new IdIndex()
  for (const id of ids.slice(0, count)) index.add(id)
  return index
}

/** The numbers that are found, by index in `ids`. */
function foundIn(index: IdIndex): readonly (number | undefined)[] {
  return ids.map((id) => index.find(id))
}

test('finds each id that was added, and no other', () => {
  const index = indexOf(3000)
  expect(foundIn(index)).toEqual(ids.map((_, number) => (number < 3000 ? number : undefined)))
  expect([index.size, index.idAt(2999)]).toEqual([3000, ids[2999]])
  expect([index.find(''), index.find('no id'), index.find('z'.repeat(32))]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test('numbers an id once', () => {
  const index = indexOf(10)
  expect([index.add(ids[3] ?? ''), index.size]).toEqual([3, 10])
})

test.each([0, 1, 63, 700, 2000, 2600, 2999, 3000])('a prefix of %i is independent', (size) => {
  const index = indexOf(3000)
  const prefix = index.prefix(size)
  expect(foundIn(prefix)).toEqual(foundIn(indexOf(size)))
  for (const id of ids.slice(size).toReversed()) prefix.add(id)
  expect(prefix.find(ids.at(-1) ?? '')).toBe(size === ids.length ? size - 1 : size)
  expect(new Set(foundIn(prefix)).size).toBe(ids.length)
  expect(foundIn(index)).toEqual(foundIn(indexOf(3000)))
})
