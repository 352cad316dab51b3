// The order of measurements. Everything that is compared takes turns in one run, so that disk,
// caches and other load affect all alike.

/** One contender in a comparison. `take` measures and keeps its own samples. */
export interface Turn {
  /** Takes part in each `every`th round only, for slow contenders. */
  readonly every: number
  take(): Promise<void>
}

/** Runs all rounds; each starts with another turn, so that the order varies. */
export async function takeTurns(turns: readonly Turn[], rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (let index = 0; index < turns.length; index += 1) {
      const turn = turns[(index + round) % turns.length]
      if (turn !== undefined && round % turn.every === 0) await turn.take()
    }
  }
}

/** The duration of `work` in milliseconds. */
export async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
