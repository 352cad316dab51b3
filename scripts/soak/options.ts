// The command line of `npm run soak`.

import { parseArgs } from 'node:util'

export interface Options {
  readonly minutes: number
  /** The seed of the random choices. Timing is the machine's: no two runs are the same. */
  readonly seed: string
  /** The parent of the scratch directory; the system's temporary directory if undefined. */
  readonly directory: string | undefined
}

export const usage = `npm run soak -- [options]
  --minutes <n>      how long, 10 by default; one line is printed for each
  --seed <text>      the seed of the random choices
  --directory <dir>  where to work`

/** Throws a TypeError that says what is wrong. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
      directory: { type: 'string' },
    },
  })
  const minutes = Number(values.minutes)
  if (!Number.isSafeInteger(minutes) || minutes < 1) {
    throw new TypeError('--minutes takes a whole number from 1 on')
  }
  return { minutes, seed: values.seed, directory: values.directory }
}
