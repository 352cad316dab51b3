// Versions by time (Memory Stores API §7.2): the latest first, whatever clocks other clones had, in
// pages that neither repeat nor skip while commits of any time come.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { History } from '../../../src/store/history/history.ts'
import { findVersions, type VersionFilter } from '../../../src/store/history/versions.ts'
import { appendMade, makeHistory } from '../../support/histories.ts'
import { full, seed } from '../../support/seed.ts'

const day = 24 * 60 * 60 * 1000

function pagesOf(history: History, filter: VersionFilter): readonly string[] {
  const { data, nextPage } = findVersions(history, { order: 'latest', ...filter })
  const ids = data.map(({ versionId }) => versionId)
  return nextPage === undefined ? ids : [...ids, ...pagesOf(history, { ...filter, page: nextPage })]
}

/** Stable: of one time, the version written later comes first. */
function sortedOf(history: History): readonly string[] {
  const { data } = findVersions(history, { limit: 1000 })
  return data.toSorted((a, b) => b.createdAt - a.createdAt).map(({ versionId }) => versionId)
}

/** Commits that come together, each with a time and some rows. */
const batches = fc.array(
  fc.array(fc.record({ time: fc.integer({ min: 0, max: 9 }), rows: fc.nat({ max: 3 }) }), {
    maxLength: 12,
  }),
  { minLength: 1, maxLength: 5 },
)

test('has every version once, at any size of pages, also when more are written', () => {
  const property = fc.property(batches, fc.integer({ min: 1, max: 7 }), (all, limit) => {
    const history = makeHistory([{}])
    for (const batch of all) {
      for (const { time, rows } of batch) {
        const memories = Array.from({ length: rows }, (_, n) => ({ memory: `m${n}` }))
        appendMade(history, { time, rows: memories })
      }
      expect(pagesOf(history, { limit })).toEqual(sortedOf(history))
      const bounds = { since: 3, until: 6 }
      const within = findVersions(history, { order: 'latest', limit: 1000, ...bounds }).data
      expect(within.every(({ createdAt }) => createdAt >= 3 && createdAt <= 6)).toBe(true)
    }
  })
  fc.assert(property, { seed, numRuns: full ? 5000 : 200 })
})

test('holds if more commits are out of order than can be inserted', () => {
  const times = Array.from({ length: 400 }, (_, n) => (n < 150 ? 1000 + n : 1150 - (n % 300)))
  const history = makeHistory([{}])
  for (const [n, time] of times.entries()) {
    appendMade(history, { time, rows: [{ memory: `m${n % 5}` }] })
    if (n === 150 || n === 155) expect(pagesOf(history, { limit: 50 })).toEqual(sortedOf(history))
  }
  expect(pagesOf(history, { limit: 50 })).toEqual(sortedOf(history))
})

test('follows the history when commits are removed and replaced', () => {
  const history = makeHistory([{}])
  for (let n = 1; n < 9; n += 1) appendMade(history, { time: 9 - n, rows: [{ memory: 'a' }] })
  expect(pagesOf(history, {})).toEqual(sortedOf(history))
  history.truncate(4)
  appendMade(history, { time: 100, oid: 'f'.repeat(40), rows: [{ memory: 'b' }] })
  expect(pagesOf(history, {})).toEqual(sortedOf(history))
})

test('compares times exactly, doubtful ones too', () => {
  const history = makeHistory([{}])
  appendMade(history, { time: 9 * day, rows: [{ memory: 'a' }] })
  appendMade(history, { time: day, rows: [{ memory: 'b' }] })
  const until = 2 * day
  expect(findVersions(history, { until }).data).toHaveLength(2)
  expect(findVersions(history, { order: 'latest', until }).data).toHaveLength(1)
})
