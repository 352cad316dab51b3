// The pace of `sync --watch`, on a clock that the test moves.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { repeat } from '../../../src/cli/machine/repeat.ts'

const SECONDS = 60

/** When turns begin, ms after the first; `well` tells for each turn whether it succeeds. */
async function startsOf(well: readonly boolean[], random: number): Promise<readonly number[]> {
  const controller = new AbortController()
  const { signal } = controller
  const starts: number[] = []
  const begin = Date.now()
  const turn = async (): Promise<boolean> => {
    starts.push(Date.now() - begin)
    if (starts.length === well.length) controller.abort()
    return well[starts.length - 1] ?? true
  }
  const ended = repeat(turn, { seconds: SECONDS, random: () => random, signal })
  await vi.runAllTimersAsync()
  await ended
  return starts
}

function pausesOf(starts: readonly number[]): readonly number[] {
  return starts.slice(1).map((start, index) => (start - (starts[index] ?? 0)) / 1000)
}

describe('repeating', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test.each([
    [0, 30],
    [0.5, 60],
    [1, 90],
  ])('pauses between a half and three halves: with %d, %i s', async (random, seconds) => {
    expect(pausesOf(await startsOf([true, true, true], random))).toEqual([seconds, seconds])
  })

  test('waits twice as long after each failure in a row, up to 16 times', async () => {
    const well = [false, false, false, false, false, false, true, true, false, true]
    const pauses = [120, 240, 480, 960, 960, 960, 60, 60, 120]
    expect(pausesOf(await startsOf(well, 0.5))).toEqual(pauses)
  })

  test('ends in the middle of a pause, and leaves no timer', async () => {
    const controller = new AbortController()
    let turns = 0
    const turn = async (): Promise<boolean> => {
      turns += 1
      return true
    }
    const pace = { seconds: SECONDS, random: () => 0.5, signal: controller.signal }
    const ended = repeat(turn, pace)
    await vi.advanceTimersByTimeAsync(1000)
    controller.abort()
    await ended
    expect([turns, vi.getTimerCount()]).toEqual([1, 0])
  })

  test('may be woken in a pause, but not after a failure', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const starts: number[] = []
    const begin = Date.now()
    const turn = async (): Promise<boolean> => {
      starts.push((Date.now() - begin) / 1000)
      if (starts.length === 4) controller.abort()
      return starts.length !== 2
    }
    const woken = (ended: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, 5000)
        ended.addEventListener('abort', () => clearTimeout(timer))
      })
    const ended = repeat(turn, { seconds: SECONDS, random: () => 0.5, signal, woken })
    await vi.runAllTimersAsync()
    await ended
    expect(starts).toEqual([0, 5, 125, 130])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('never begins after it was aborted', async () => {
    const turn = (): Promise<boolean> => Promise.reject(new Error('It began'))
    await repeat(turn, { seconds: SECONDS, random: () => 0.5, signal: AbortSignal.abort() })
  })

  test('ends with the error of a turn', async () => {
    const turn = (): Promise<boolean> => Promise.reject(new Error('hopeless'))
    const { signal } = new AbortController()
    const ended = repeat(turn, { seconds: SECONDS, random: () => 0.5, signal })
    await expect(ended).rejects.toThrow('hopeless')
  })
})
