// The tool calls of one turn start together, but the model means them in order. Reads and writes
// alternate: each call waits for the calls of the other kind before it, never for those of its own
// kind. So writes still share one fdatasync, and a view shows exactly the writes before it.

import type { Effect } from '../api/operation.ts'

/** Runs a call as soon as every call that must precede it has settled. */
export type TurnOrder = <T>(effect: Effect, run: () => Promise<T>) => Promise<T>

export function turnOrder(): TurnOrder {
  let current: Effect = 'write'
  /** Resolves when the calls of the other kind before the current ones have settled. */
  let ready: Promise<void> = Promise.resolve()
  /** Resolves when all calls so far have settled. Holds no answer, so that none remains in RAM. */
  let settled: Promise<void> = ready
  return (effect, run) => {
    if (effect !== current) ready = settled
    current = effect
    const answer = ready.then(run)
    const before = settled
    settled = answer.then(
      () => before,
      () => before,
    )
    return answer
  }
}
