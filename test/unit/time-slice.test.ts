import { afterEach, expect, test, vi } from 'vitest'
import { SharedSlice, sliceMs, TimeSlice } from '../../src/time-slice.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

function at(): { now: number } {
  const clock = { now: 1000 }
  vi.spyOn(performance, 'now').mockImplementation(() => clock.now)
  return clock
}

test('a slice ends after its time, and the next one has all of it again', async () => {
  const clock = at()
  const slice = new TimeSlice()
  expect(slice.isOver()).toBe(false)
  clock.now += sliceMs - 1
  expect(slice.isOver()).toBe(false)
  clock.now += 1
  expect(slice.isOver()).toBe(true)
  await slice.next()
  expect(slice.isOver()).toBe(false)
})

test('a slice is over after its steps, however fast they were', async () => {
  at()
  const slice = new TimeSlice(undefined, 3)
  const asked = (): boolean[] => [1, 2, 3].map(() => slice.isOver())
  expect(asked()).toEqual([false, false, true])
  await slice.next()
  expect(asked()).toEqual([false, false, true])
})

test('between two slices timers that are due run', async () => {
  const timer = vi.fn<() => void>()
  setTimeout(timer, 0)
  const slice = new TimeSlice()
  for (let turn = 0; turn < 10_000 && timer.mock.calls.length === 0; turn += 1) await slice.next()
  expect(timer).toHaveBeenCalledTimes(1)
})

test('the end of a slice is where work is cancelled', async () => {
  const abort = new AbortController()
  const slice = new TimeSlice(abort.signal)
  await slice.next()
  abort.abort('enough')
  await expect(slice.next()).rejects.toThrow(
    expect.objectContaining({ code: 'cancelled', cause: 'enough' }),
  )
})

test('short pieces of work share a slice until others had their turn', async () => {
  const clock = at()
  const slice = new SharedSlice()
  expect(slice.isOver()).toBe(false)
  clock.now += sliceMs - 1
  expect(slice.isOver()).toBe(false)
  clock.now += 1
  expect(slice.isOver()).toBe(true)
  // A task that comes after the others had their slices does not wait.
  await new Promise((resolve) => setImmediate(resolve))
  expect(slice.isOver()).toBe(false)
})

test('tasks that wait for a shared slice continue in order, if there is time in it', async () => {
  const clock = at()
  const slice = new SharedSlice()
  const done: number[] = []
  const work = async (piece: number): Promise<void> => {
    if (slice.isOver()) await slice.next()
    clock.now += sliceMs / 2
    done.push(piece)
  }
  const all = Promise.all([0, 1, 2, 3, 4, 5].map(work))
  const counts: number[] = []
  for (let turn = 0; turn < 20 && done.length < 6; turn += 1) {
    counts.push(done.length)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await all
  expect(done).toEqual([0, 1, 2, 3, 4, 5])
  expect(new Set(counts)).toEqual(new Set([2, 4]))
})
