// How long work shares its thread, told without a watch: every look at the clock uses a slice up,
// so that each step of the work has to begin in another turn of the event loop.

import { vi } from 'vitest'
import { sliceMs } from '../../src/time-slice.ts'

/** `turn` tells how many turns of the event loop were begun since `work` was. */
export async function inSlices<T>(work: (turn: () => number) => Promise<T>): Promise<T> {
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += sliceMs))
  let turns = 0
  let next = setImmediate(function count(): void {
    turns += 1
    next = setImmediate(count)
  })
  try {
    return await work(() => turns)
  } finally {
    clearImmediate(next)
    clock.mockRestore()
  }
}

/** Of several moments, how many were in the turn that had the most. */
export function mostInOneTurn(turns: readonly number[]): number {
  const counts = new Map<number, number>()
  for (const turn of turns) counts.set(turn, (counts.get(turn) ?? 0) + 1)
  return Math.max(0, ...counts.values())
}
