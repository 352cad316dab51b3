// Doing something again and again until told to end. The pauses vary, so that machines that were
// started together do not stay together, and grow while it fails. Knows nothing of what is done.

export interface Pace {
  /** Between two turns, about. */
  readonly seconds: number
  /** Any number from 0 to 1. */
  readonly random: () => number
  /** Ends the pause too, and lets no further turn begin. */
  readonly signal: AbortSignal
}

/** Failures lengthen the pause so many times at most. */
const backOffMax = 16

/** `turn` says whether it went well. Throws what a turn throws, which ends it. */
export async function repeat(turn: () => Promise<boolean>, pace: Pace): Promise<void> {
  for (let failures = 0; !pace.signal.aborted;) {
    failures = (await turn()) ? 0 : failures + 1
    await pause(pauseMs(pace, failures), pace.signal)
  }
}

/** Between a half and three halves of the time, doubled for every failure in a row. */
function pauseMs({ seconds, random }: Pace, failures: number): number {
  return seconds * 1000 * Math.min(2 ** failures, backOffMax) * (0.5 + random())
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
