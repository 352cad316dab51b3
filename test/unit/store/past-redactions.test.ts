// The records of redactions are grouped in one pass, however many there are.

import { expect, test } from 'vitest'
import type { CommitEntry } from '../../../src/store/history/history-rows.ts'
import { groupRecords } from '../../../src/store/redaction/past-redactions.ts'

const COUNT = 10_000

interface Made {
  readonly height: number
  readonly time: number
  readonly deviceId?: string
}

/** A redact record that counts how often its height is read. */
function record({ height, time, deviceId = 'd' }: Made, read: () => void = () => {}): CommitEntry {
  return {
    oid: `${height}-${deviceId}`,
    position: height,
    get height() {
      read()
      return height
    },
    isCut: true,
    kind: 'redact',
    time,
    deviceId,
    actor: { type: 'user', id: 'anna' },
    session: undefined,
    reason: 'legal',
    redacts: [],
    note: undefined,
  }
}

function grouped(commits: readonly CommitEntry[]): readonly (readonly CommitEntry[])[] {
  const groups = groupRecords(commits)
  for (let step = groups.next(); ; step = groups.next()) if (step.done === true) return step.value
}

test('ten thousand redactions read each record once', () => {
  let reads = 0
  const commits = Array.from({ length: COUNT }, (_, index) => {
    return record({ height: 2 * index, time: index }, () => (reads += 1))
  })
  expect(grouped(commits)).toHaveLength(COUNT)
  expect(reads).toBe(COUNT)
})

test('records of one redaction follow one on the other, next to those of another device', () => {
  const commits = [
    record({ height: 1, time: 5 }),
    record({ height: 1, time: 5, deviceId: 'e' }),
    record({ height: 2, time: 5 }),
    record({ height: 2, time: 5, deviceId: 'e' }),
    record({ height: 3, time: 6 }),
    record({ height: 5, time: 6 }),
  ]
  const heights = grouped(commits).map((group) => group.map((one) => [one.deviceId, one.height]))
  expect(heights).toEqual([
    [
      ['d', 1],
      ['d', 2],
    ],
    [
      ['e', 1],
      ['e', 2],
    ],
    [['d', 3]],
    [['d', 5]],
  ])
})

test('two alike of a cloned device are both continued', () => {
  const pair = [1, 2].flatMap((height) => [
    record({ height, time: 5 }),
    record({ height, time: 5 }),
  ])
  expect(grouped(pair).map(({ length }) => length)).toEqual([2, 2])
})
