// The command line of `npm run soak`.

import { parseArgs } from 'node:util'

export interface Options {
  readonly minutes: number
  /** What the random choices follow from. Timing is the machine's: no two runs are the same. */
  readonly seed: string
  /** Where the scratch directory is made; the system's temporary directory if undefined. */
  readonly directory: string | undefined
}

export const usage = `npm run soak -- [options]
  --minutes <n>      how long, 10 unless told otherwise; one line is printed for each
  --seed <text>      what the random choices follow from
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
