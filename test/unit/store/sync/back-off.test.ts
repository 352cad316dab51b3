// How often a sync starts over, and the pauses before that: of many clones none is left behind.

import { describe, expect, test } from 'vitest'
import { StoreError } from '../../../../src/errors.ts'
import { BackOff } from '../../../../src/store/sync/back-off.ts'

const moved = new StoreError('remote_moved', 'Moved')
const locked = new StoreError('remote_locked', 'Locked')

/** Jitter from 0 to 1, always the same. */
function backOff(jitter: number, patient: boolean, signal?: AbortSignal): BackOff {
  return new BackOff(() => Uint8Array.of(Math.round(jitter * 255)), { patient, signal })
}

/** The pauses of a sync that loses every race. */
function pausesOf(jitter: number, patient: boolean): number[] {
  const rounds = backOff(jitter, patient)
  const pauses: number[] = []
  while (rounds.mayGoOn(moved)) pauses.push(Math.round(rounds.pauseMs(moved)))
  return pauses
}

describe('in the background', () => {
  test('runs 20 rounds, with pauses of 0.2 to 2 seconds', () => {
    for (const jitter of [0, 0.25, 0.5, 1]) {
      const pauses = pausesOf(jitter, true)
      expect(pauses).toHaveLength(19)
      for (const ms of pauses) expect(ms).toBeGreaterThanOrEqual(200)
      for (const ms of pauses) expect(ms).toBeLessThanOrEqual(2000)
    }
  })

  test('a clone that has lost more races tries again sooner', () => {
    expect(pausesOf(1, true)).toEqual([
      2000, 1900, 1800, 1700, 1600, 1500, 1400, 1300, 1200, 1100, 1000, 900, 800, 700, 600, 500,
      400, 400, 400,
    ])
    expect(new Set(pausesOf(0, true))).toEqual(new Set([200]))
  })
})

test('a user waits for at most 16 rounds, and a moment after the first of them', () => {
  const pauses = pausesOf(0.5, false)
  expect(pauses).toHaveLength(15)
  expect(pauses.slice(0, 5)).toEqual([100, 100, 100, 100, 501])
})

test.each([true, false])('locks are counted apart from lost races, patient: %s', (patient) => {
  const rounds = backOff(0, patient)
  for (let lost = 0; lost < 8; lost += 1) expect(rounds.mayGoOn(moved)).toBe(true)
  for (let found = 0; found < 3; found += 1) expect(rounds.mayGoOn(locked)).toBe(true)
  expect(rounds.mayGoOn(locked)).toBe(false)
})

test('a pause ends when the sync is cancelled', async () => {
  const ending = new AbortController()
  const rounds = backOff(1, true, ending.signal)
  rounds.mayGoOn(moved)
  const pausing = rounds.pause(moved)
  ending.abort()
  await expect(pausing).rejects.toMatchObject({ code: 'cancelled' })
})
