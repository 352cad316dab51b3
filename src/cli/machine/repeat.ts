// Repeats a turn until it is aborted. The pauses vary, so that machines that were started together
// drift apart, and grow after failures; without any, there may be a reason to end one early. Knows
// nothing about the work.

export interface Pace {
  /** The average pause between two turns. */
  readonly seconds: number
  /** Any number from 0 to 1. */
  readonly random: () => number
  /** Ends the pause too, and prevents further turns. */
  readonly signal: AbortSignal
  /** Resolves when the next turn has a reason not to wait, or once `ended`. Must not throw. */
  readonly woken?: ((ended: AbortSignal) => Promise<void>) | undefined
}

/** Failures lengthen the pause by this factor at most. */
const backOffMax = 16

/** `turn` returns whether it succeeded. An error from a turn is thrown and ends the repetition. */
export async function repeat(turn: () => Promise<boolean>, pace: Pace): Promise<void> {
  for (let failures = 0; !pace.signal.aborted;) {
    failures = (await turn()) ? 0 : failures + 1
    await pause(pauseMs(pace, failures), pace, failures === 0 ? pace.woken : undefined)
  }
}

/** Between a half and three halves of the time, doubled for every failure in a row. */
function pauseMs({ seconds, random }: Pace, failures: number): number {
  return seconds * 1000 * Math.min(2 ** failures, backOffMax) * (0.5 + random())
}

function pause(ms: number, { signal }: Pace, woken: Pace['woken']): Promise<void> {
  return new Promise((resolve) => {
    const ended = new AbortController()
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      ended.abort()
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
    else void woken?.(ended.signal).then(end)
  })
}
