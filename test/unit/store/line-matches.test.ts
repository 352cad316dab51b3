// Matches lines of a text with those of an earlier one: obvious cases by hand, properties for any
// texts, and a bound on the time.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { matchLines } from '../../../src/text/line-matches.ts'
import { full, seed } from '../../support/seed.ts'

function matched(older: string, newer: string): string {
  return [...matchLines(older.split(''), newer.split(''))].join(' ')
}

/** The length of a longest common subsequence, by the textbook. */
function longestCommon(a: readonly string[], b: readonly string[]): number {
  let row = Array.from({ length: b.length + 1 }, () => 0)
  for (const line of a) {
    const above = row
    row = [0]
    for (const [index, other] of b.entries()) {
      const same = line === other ? (above[index] ?? 0) + 1 : 0
      row.push(Math.max(same, above[index + 1] ?? 0, row[index] ?? 0))
    }
  }
  return row.at(-1) ?? 0
}

describe('lines are matched', () => {
  test.each([
    ['', '', ''],
    ['', 'ab', '-1 -1'],
    ['ab', '', ''],
    ['abc', 'abc', '0 1 2'],
    ['abc', 'axc', '0 -1 2'],
    ['abc', 'ac', '0 2'],
    ['ac', 'abc', '0 -1 1'],
    ['abcd', 'xabcdy', '-1 0 1 2 3 -1'],
    // A moved line: only one of the two matches.
    ['abc', 'bca', '1 2 -1'],
    // Repeated lines.
    ['aaa', 'aaaa', '0 1 2 -1'],
    ['aaaa', 'aaa', '0 1 2'],
    ['a-b-c', 'a-x-c', '0 1 -1 3 4'],
    ['xaaay', 'yaaax', '-1 1 2 3 -1'],
    ['--a--b--', '--b--a--', '0 1 -1 3 4 -1 6 7'],
  ])('%j → %j', (older, newer, places) => {
    expect(matched(older, newer)).toBe(places)
  })

  test('to equal ones, in order, and as many as possible', { tags: 'slow' }, () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 })
    const property = fc.property(text, text, (older, newer) => {
      const places = [...matchLines(older, newer)]
      expect(places).toHaveLength(newer.length)
      const kept = places.filter((place) => place !== -1)
      expect(kept).toEqual([...new Set(kept)].toSorted((a, b) => a - b))
      for (const [index, place] of places.entries()) {
        if (place !== -1) expect(older[place]).toBe(newer[index])
      }
      expect(kept).toHaveLength(longestCommon(older, newer))
      expect([...matchLines(older, newer)]).toEqual(places)
    })
    fc.assert(property, { seed, numRuns: full ? 100_000 : 1000 })
  })
})

describe('of 100,000 lines', () => {
  const numbers = Array.from({ length: 100_000 }, (_, n) => n)
  test.each([
    { name: 'that are the same', of: (n: number) => `${n}`, to: (n: number) => `${n}` },
    { name: 'that all differ', of: (n: number) => `a ${n}`, to: (n: number) => `b ${n}` },
    {
      name: 'of which every tenth differs',
      of: (n: number) => `${n}`,
      to: (n: number) => (n % 10 === 0 ? `new ${n}` : `${n}`),
    },
    { name: 'in the other order', of: (n: number) => `${n}`, to: (n: number) => `${-n}` },
    { name: 'of two kinds', of: (n: number) => `${n % 2}`, to: (n: number) => `${(n >> 1) % 2}` },
    { name: 'of ten kinds', of: (n: number) => `${n % 10}`, to: (n: number) => `${(n * n) % 10}` },
    {
      name: 'of many kinds, each twice',
      of: (n: number) => `${n % 50_000}`,
      to: (n: number) => `${(n * 7919) % 50_000}`,
    },
  ])('$name, the matching takes seconds at most', { tags: 'slow' }, ({ of, to }) => {
    const started = performance.now()
    matchLines(numbers.map(of), numbers.map(to))
    expect(performance.now() - started).toBeLessThan(10_000)
  })

  test('a few new ones among equal ones are found', () => {
    const older = numbers.map(() => 'x')
    const places = matchLines(older, ['new', ...older, 'more', ...older.slice(0, 10), 'last'])
    expect(places.filter((place) => place === -1)).toHaveLength(13)
  })
})
