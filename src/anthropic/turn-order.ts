// The tool calls of one turn start at once, but a model means them in its order. Reads and writes
// take turns: each waits for the calls of the other kind before it, never for those of its own
// kind. So writes still share one fdatasync, and a view shows exactly the writes before it.

type Effect = 'read' | 'write'

/** Runs what it is given as soon as everything that must come before has settled. */
export type TurnOrder = <T>(effect: Effect, run: () => Promise<T>) => Promise<T>

export function turnOrder(): TurnOrder {
  let current: Effect = 'write'
  /** When the calls of the other kind before the current ones have settled. */
  let ready: Promise<void> = Promise.resolve()
  /** When all calls so far have settled. Holds no answer, so that none stays in RAM. */
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
