// Times of records: which are doubtful and where they are placed, compared with the definition of
// FORMAT §6.5, also for a growing history; and the latest possible times.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { History } from '../../../src/store/history/history.ts'
import {
  findPlacedTime,
  LatestTimes,
  mayLieBetween,
  placedTime,
} from '../../../src/store/history/record-times.ts'
import { appendMade, makeHistory } from '../../support/histories.ts'
import { placedTimes, type TimedRecord } from '../../support/reference/times.ts'
import { full, seed } from '../../support/seed.ts'

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR
const now = Date.UTC(2026, 10, 1)
const far = Date.UTC(2099, 0, 1)

/** Of a history in canonical order, so that heights ascend; one tip in the end. */
const records: fc.Arbitrary<readonly TimedRecord[]> = fc
  .array(
    fc.record({
      time: fc.oneof(
        fc.integer({ min: 0, max: 6 }).map((steps) => now + (steps * DAY) / 2),
        fc.constantFrom(0, 1, far, now + DAY, now + DAY + 1),
      ),
      kind: fc.constantFrom('line', 'line', 'fork', 'merge'),
    }),
    { minLength: 1, maxLength: 25 },
  )
  .map((steps) => {
    // Two clones at most: each level has one record or two, as heights in a real history.
    const made: TimedRecord[] = [{ time: now, parents: [] }]
    let tips = [0]
    for (const { time, kind } of steps) {
      const [first = 0, second] = tips
      if (second !== undefined) {
        if (kind === 'merge') tips = [made.push({ time, parents: [first, second] }) - 1]
        else {
          const one = made.push({ time, parents: [first] }) - 1
          tips = [one, made.push({ time: time + HOUR, parents: [second] }) - 1]
        }
      } else if (kind === 'fork') {
        const one = made.push({ time, parents: [first] }) - 1
        tips = [one, made.push({ time: time - HOUR, parents: [first] }) - 1]
      } else tips = [made.push({ time, parents: [first] }) - 1]
    }
    if (tips.length > 1) made.push({ time: now + DAY, parents: tips })
    return made
  })

function placedIn(history: History): readonly number[] {
  return Array.from(history.commits, (commit) => placedTime(history, commit))
}

describe('placed times', () => {
  test('agree with the definition', () => {
    const check = (made: readonly TimedRecord[]): void => {
      expect(placedIn(makeHistory(made))).toEqual(placedTimes(made))
    }
    fc.assert(fc.property(records, check), { seed, numRuns: full ? 20_000 : 400 })
  })

  test('of a growing history that is queried while it grows are the same', () => {
    const check = (made: readonly TimedRecord[]): void => {
      const history = makeHistory([])
      for (const [index, record] of made.entries()) {
        appendMade(history, record)
        // Diverged clones have no single head yet.
        const known = made.slice(0, index + 1)
        if (history.head?.isCut === true) expect(placedIn(history)).toEqual(placedTimes(known))
      }
    }
    fc.assert(fc.property(records, check), { seed, numRuns: full ? 5000 : 150 })
  })

  test('follow a past that is replaced', () => {
    const history = makeHistory([{ time: now }, { time: far }, { time: now + 1 }])
    expect(placedIn(history)).toEqual([now, now + 1, now + 1])
    history.truncate(2)
    appendMade(history, { time: far + 1, oid: 'ab'.repeat(20) })
    expect(placedIn(history)).toEqual([now, far, far + 1])
  })

  test('doubt nothing within 24 hours, and nothing that has no successor', () => {
    const history = makeHistory([{ time: now + DAY }, { time: now }, { time: far }])
    expect(Array.from(history.commits, (one) => findPlacedTime(history, one))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })
})

describe('a doubtful record lies', () => {
  const between = (history: History, since: number, until: number): readonly number[] =>
    [...history.commits]
      .filter((commit) => mayLieBetween(history, commit, { since, until }))
      .map(({ position }) => position)

  test('at its placed time, if the head confirms that', () => {
    const history = makeHistory([{ time: now }, { time: far }, { time: now + DAY }])
    expect(between(history, now + 1, now + DAY)).toEqual([1, 2])
    expect(between(history, now + DAY + 1, far + DAY)).toEqual([])
  })

  test('anywhere up to its own time, if the later record may be the wrong one', () => {
    const history = makeHistory([{ time: now }, { time: 5 }, { time: now + DAY }])
    expect(between(history, now - 9, now)).toEqual([0])
    expect(between(history, 0, 9)).toEqual([0, 1])
    expect(between(history, now + 1, far)).toEqual([2])
  })
})

describe('the latest time of a record', () => {
  const latestAt = (times: readonly number[], at: number): readonly number[] => {
    const history = makeHistory(times.map((time) => ({ time })))
    const latest = new LatestTimes(history, at)
    return Array.from(history.commits, (commit) => latest.of(commit))
  }

  test.each<[name: string, times: readonly number[], latest: readonly number[]]>([
    ['is its own where clocks agree', [now, now + 1, now + 2], [now, now + 1, now + 2]],
    ['is not before what it was written on', [now, 5, 6, now + 9], [now, now, now, now + 9]],
    ['is its successors’ if it is to come', [now, far, now + 7], [now, now + 7, now + 7]],
    [
      'is in the future if no later record shows otherwise',
      [now, far, far + 1],
      [now, far, far + 1],
    ],
    ['is no long gone one of a successor’s', [now, far, 5], [now, now, now]],
  ])('%s', (_, times, latest) => {
    expect(latestAt(times, now + DAY)).toEqual(latest)
  })

  test('can be asked for in any order', () => {
    const history = makeHistory([{ time: now }, { time: 5 }, { time: now + 9 }])
    const latest = new LatestTimes(history, far)
    const [first, second, third] = history.commits
    expect([third, first, second, second].map((one) => one && latest.of(one))).toEqual([
      now + 9,
      now,
      now,
      now,
    ])
  })
})
