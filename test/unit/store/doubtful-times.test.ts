// Times that clocks disagree about: compared with the definition on random histories; and the
// counts, names and sentences of plain ones.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatId } from '../../../src/format/id.ts'
import {
  doubtSentence,
  findDoubt,
  findDoubtBetween,
  type FoundDoubt,
} from '../../../src/store/history/doubtful-times.ts'
import type { History } from '../../../src/store/history/history.ts'
import { findPoint, type Point } from '../../../src/store/history/points.ts'
import { mayLieBetween } from '../../../src/store/history/record-times.ts'
import { atOnce } from '../../../src/time-slice.ts'
import { makeHistory, versionAt } from '../../support/histories.ts'
import { doubtAt } from '../../support/reference/doubtful-times.ts'
import type { TimedRecord } from '../../support/reference/times.ts'
import { full, seed } from '../../support/seed.ts'

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR
const now = Date.UTC(2026, 10, 10)
const far = Date.UTC(2099, 0, 1)

const times = fc.oneof(
  fc.integer({ min: -6, max: 2 }).map((steps) => now + (steps * DAY) / 2),
  fc.constantFrom(0, 5000, far),
)

/** In canonical order, with forks of two and their merges. */
const records: fc.Arbitrary<readonly TimedRecord[]> = fc
  .array(fc.record({ time: times, other: times, kind: fc.constantFrom('line', 'fork', 'merge') }), {
    minLength: 1,
    maxLength: 20,
  })
  .map((steps) => {
    const made: TimedRecord[] = [{ time: now - 4 * DAY, parents: [] }]
    let tips = [0]
    for (const { time, other, kind } of steps) {
      const [first = 0, second] = tips
      if (second === undefined && kind === 'fork') {
        tips = [time, other].map((one) => made.push({ time: one, parents: [first] }) - 1)
      } else if (second === undefined || kind === 'merge') {
        tips = [made.push({ time, parents: tips }) - 1]
      } else {
        const one = made.push({ time, parents: [first] }) - 1
        tips = [one, made.push({ time: other, parents: [second] }) - 1]
      }
    }
    return made
  })

function historyOf(made: readonly TimedRecord[]): History {
  return makeHistory(made.map(({ time, parents }) => ({ time, parents, rows: [{ memory: 'a' }] })))
}

function find(history: History, point: Point): FoundDoubt | undefined {
  return atOnce(findDoubt(history, point, { isGrant: () => false, now }))
}

describe('any history', () => {
  test('is doubtful as the definition has it, by either kind of time', () => {
    fc.assert(
      fc.property(records, times, (made, time) => {
        const history = historyOf(made)
        const expected = doubtAt(made, time, now)
        const { stampedLater, datedBack, leftOut } = expected
        const found = find(history, { time })
        const included = [...stampedLater, ...datedBack]
        expect([...(found?.positions ?? [])].toSorted((a, b) => a - b)).toEqual(
          included.toSorted((a, b) => a - b),
        )
        expect(found?.times.stampedLater ?? 0).toBe(stampedLater.length)
        expect(found?.times.datedBack ?? 0).toBe(datedBack.length)
        const stamped = find(history, { stampedTime: time })?.times
        expect(stamped?.stampedLater ?? 0).toBe(0)
        expect(stamped?.leftOut ?? 0).toBe(leftOut.length)
        const inBoth = expected.undated.filter((index) => expected.stamped.includes(index))
        expect(stamped?.datedBack ?? 0).toBe(inBoth.length)
      }),
      { seed, numRuns: full ? 20_000 : 500 },
    )
  })

  test('has at a stamped time the largest set that holds its ancestors', () => {
    fc.assert(
      fc.property(records, times, (made, stampedTime) => {
        const history = historyOf(made)
        const point = findPoint(history, { stampedTime })
        const isIn = made.map((_, position) => position).filter((one) => point?.has(one))
        expect(isIn).toEqual(doubtAt(made, stampedTime, now).stamped)
      }),
      { seed, numRuns: full ? 20_000 : 500 },
    )
  })

  test('is never doubtful if no clock was wrong', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 20 }), (steps) => {
        let time = now - 10 * DAY
        const history = makeHistory(
          steps.map((step) => ({ time: (time += step * HOUR), rows: [{ memory: 'a' }] })),
        )
        for (const at of [time, time - 7 * HOUR, now]) {
          expect(find(history, { time: at })).toBeUndefined()
          expect(find(history, { stampedTime: at })).toBeUndefined()
        }
      }),
      { seed },
    )
  })
})

describe('a record of 1970 after one of today', () => {
  const liar = '1'.repeat(32)
  const history = makeHistory([
    { time: now - 10 * DAY, rows: [{ memory: 'rules' }] },
    { time: now - 5 * DAY, rows: [{ memory: 'rules' }] },
    { time: now, deviceId: liar, session: 'agent-2', rows: [{ memory: 'rules' }] },
    { time: 5000, deviceId: liar, rows: [{ memory: 'innocent' }] },
  ])
  const yesterday = now - DAY
  const deviceId = formatId('device', liar)

  test('is named as the cause, with what it makes older', () => {
    const isGrant = (id: string): boolean => id === liar
    const { times: found } = atOnce(findDoubt(history, { time: yesterday }, { isGrant, now })) ?? {}
    expect(found).toMatchObject({ stampedLater: 1, datedBack: 1, leftOut: 0 })
    expect(found?.causes).toMatchObject([{ deviceId, byGrant: true, time: 5000 }])
    const versionId = formatId('version', versionAt(2, 'rules'))
    expect(found?.newest[1]).toMatchObject({ versionId, session: 'agent-2', time: now })
    expect(found && doubtSentence(found)).toBe(
      '1 change stamped after that time is taken for older, ' +
        `since the grant ${deviceId} has dated a record 1970-01-01T00:00:05Z`,
    )
  })

  test('is left out at the stamped time, and the change before it too', () => {
    expect(findPoint(history, { stampedTime: yesterday })?.commit.position).toBe(1)
    const { times: found } = find(history, { stampedTime: yesterday }) ?? {}
    expect(found).toMatchObject({ stampedLater: 0, datedBack: 0, leftOut: 1 })
    expect(found?.causes).toMatchObject([{ deviceId, time: now }])
  })

  test('is doubtful without a later change: it was not written before its ancestors', () => {
    const direct = makeHistory([
      { time: now - 10 * DAY, rows: [{ memory: 'rules' }] },
      { time: 5000, deviceId: liar, rows: [{ memory: 'rules' }] },
    ])
    expect(find(direct, { time: yesterday })?.times).toMatchObject({
      stampedLater: 0,
      datedBack: 1,
      causes: [{ deviceId, time: 5000 }],
    })
    const vouched = makeHistory([
      { time: now - 10 * DAY, rows: [{ memory: 'rules' }] },
      { time: 5000, rows: [{ memory: 'rules' }] },
      { time: now - 3 * DAY, rows: [{ memory: 'b' }] },
    ])
    expect(find(vouched, { time: yesterday })).toBeUndefined()
  })

  test('is not counted for memories that the question is not about', () => {
    const isGrant = (): boolean => false
    const concerns = ({ path }: { readonly path: string | undefined }): boolean =>
      path === '/innocent'
    const found = atOnce(findDoubt(history, { time: yesterday }, { isGrant, now, concerns }))
    expect(found?.times).toMatchObject({ stampedLater: 0, datedBack: 1 })
  })

  test('of 2099 makes nothing after it doubtful: that clock was ahead', () => {
    const made = makeHistory([
      { time: now - 10 * DAY, rows: [{ memory: 'a' }] },
      { time: far, deviceId: liar, rows: [{ memory: 'b' }] },
      { time: now - 8 * DAY, rows: [{ memory: 'a' }] },
    ])
    expect(find(made, { time: yesterday })?.times).toMatchObject({ stampedLater: 1, datedBack: 0 })
    expect(find(made, { stampedTime: yesterday })?.times).toMatchObject({ leftOut: 1 })
  })

  test('of two authors, the one that makes others older is named', () => {
    const other = '2'.repeat(32)
    const made = makeHistory([
      { time: now, rows: [{ memory: 'a' }] },
      { time: 7000, deviceId: other, rows: [] },
      { time: 6000, deviceId: liar, rows: [] },
      { time: 5000, deviceId: liar, rows: [] },
    ])
    expect(find(made, { time: yesterday })?.times.causes).toMatchObject([{ deviceId, time: 5000 }])
  })
})

describe('changes between two times', () => {
  const liar = '1'.repeat(32)
  const history = makeHistory([
    { time: now - 10 * DAY, rows: [{ memory: 'a' }] },
    { time: now - 5 * DAY, rows: [{ memory: 'a' }] },
    { time: now, deviceId: liar, rows: [{ memory: 'a' }] },
    { time: 5000, deviceId: liar, rows: [{ memory: 'a' }] },
  ])
  const between = (since?: number, until?: number, author = liar): FoundDoubt | undefined =>
    atOnce(
      findDoubtBetween(history, {
        since,
        until,
        isGrant: () => false,
        now,
        isSelected: ({ deviceId }) => deviceId === author,
        isBetween: (commit) => mayLieBetween(history, commit, { since, until }),
      }),
    )

  test('leave out one that is dated back, and one that is placed there', () => {
    expect(between(now - DAY)?.times).toMatchObject({ leftOut: 2, causes: [{ time: 5000 }] })
    expect(between(now - DAY)?.positions).toEqual(new Set([2, 3]))
    expect(between(now - DAY, now - HOUR)?.times).toMatchObject({ leftOut: 1 })
    expect(between(0)).toBeUndefined()
    expect(between()).toBeUndefined()
  })

  test('include changes that are stamped later, or may be newer', () => {
    const honest = history.commits.at(0)?.deviceId
    const until = now - 20 * DAY
    expect(between(undefined, until, honest)?.times).toMatchObject({ stampedLater: 2 })
    expect(between(undefined, until)?.times).toMatchObject({ datedBack: 1, stampedLater: 1 })
    expect(between(undefined, now)?.times).toMatchObject({ datedBack: 1, leftOut: 0 })
  })
})
