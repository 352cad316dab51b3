// How often a sync starts over, and the pauses before that: of many clones none is left behind.

import { describe, expect, test } from 'vitest'
import { StoreError } from '../../../../src/errors.ts'
import { BackOff } from '../../../../src/store/sync/back-off.ts'

const moved = new StoreError('remote_moved', 'Moved')
const locked = new StoreError('remote_locked', 'Locked')

interface Given {
  /** From 0 to 1, always the same. */
  readonly jitter: number
  readonly patient: boolean
  /** How long each round takes. */
  readonly roundMs?: number
  readonly signal?: AbortSignal
}

function backOff({ jitter, patient, roundMs = 0, signal }: Given): BackOff {
  let now = 0
  const clock = { now: () => (now += roundMs) }
  const random = () => Uint8Array.of(Math.round(jitter * 255))
  return new BackOff({ random, clock }, { patient, signal })
}

/** The pauses of a sync that loses every race. */
function pausesOf(given: Given): number[] {
  const rounds = backOff(given)
  const pauses: number[] = []
  while (rounds.mayGoOn(moved)) pauses.push(Math.round(rounds.pauseMs(moved)))
  return pauses
}

describe('in the background', () => {
  test('runs 20 rounds, with pauses of 0.2 to 2 seconds', () => {
    expect(pausesOf({ jitter: 0, patient: true })).toEqual(Array(19).fill(200))
    expect(pausesOf({ jitter: 1, patient: true })).toEqual(Array(19).fill(2000))
    for (const ms of pausesOf({ jitter: 0.5, patient: true })) expect(ms).toBeCloseTo(1100, -2)
  })

  test('leaves more time where rounds take long', () => {
    const slow = backOff({ jitter: 1, patient: true, roundMs: 1000 })
    const pauses = [1, 2, 3].map(() => {
      slow.mayGoOn(moved)
      return slow.pauseMs(moved)
    })
    // Without a pause, one round has lasted 1, 2 and 3 s.
    expect(pauses).toEqual([2000, 8000, 18_000])
    const slowest = pausesOf({ jitter: 1, patient: true, roundMs: 60_000 })
    expect(Math.max(...slowest)).toBe(30_000)
  })
})

test('a user waits for at most 16 rounds, and a moment after the first of them', () => {
  const pauses = pausesOf({ jitter: 0.5, patient: false })
  expect(pauses).toHaveLength(15)
  expect(pauses.slice(0, 5)).toEqual([100, 100, 100, 100, 501])
})

test.each([true, false])('locks are counted apart from lost races, patient: %s', (patient) => {
  const rounds = backOff({ jitter: 0, patient })
  for (let lost = 0; lost < 8; lost += 1) expect(rounds.mayGoOn(moved)).toBe(true)
  for (let found = 0; found < 3; found += 1) expect(rounds.mayGoOn(locked)).toBe(true)
  expect(rounds.mayGoOn(locked)).toBe(false)
})

test('a pause ends when the sync is cancelled', async () => {
  const ending = new AbortController()
  const rounds = backOff({ jitter: 1, patient: true, signal: ending.signal })
  rounds.mayGoOn(moved)
  const pausing = rounds.pause(moved)
  ending.abort()
  await expect(pausing).rejects.toMatchObject({ code: 'cancelled' })
})
