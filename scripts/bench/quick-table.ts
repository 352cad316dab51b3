// Two builds that took turns, as a table: old, new, their ratio with its noise, and what got worse.

import { renderTable } from './page.ts'
import { milliseconds, quantiles, ratio } from './statistics.ts'

/** Of one row, the milliseconds of each build in each round. */
export interface Pairs {
  readonly name: string
  readonly old: readonly number[]
  readonly new: readonly number[]
}

/** Below this a difference is nobody's concern. */
const tolerated = 1.05
const columns = ['', 'old', 'new', 'new ÷ old', 'its quartiles', '']

export interface Verdict {
  readonly times: number
  readonly quartiles: readonly [number, number]
  readonly verdict: 'worse' | 'better' | ''
}

/**
 * Of the ratios of the rounds: worse if their median is above the tolerance and nine tenths of
 * them are above 1, better if it is the other way round. With ten rounds, a build beside itself
 * is called worse in one row of a hundred at most.
 */
export function judge(pairs: Pairs): Verdict {
  const ratios = pairs.new.map((value, round) => value / (pairs.old[round] ?? Number.NaN))
  const [low, first, times, third, high] = quantiles(ratios, [0.1, 0.25, 0.5, 0.75, 0.9])
  const quartiles = [first, third] as const
  if (times > tolerated && low > 1) return { times, quartiles, verdict: 'worse' }
  if (times < 1 / tolerated && high < 1) return { times, quartiles, verdict: 'better' }
  return { times, quartiles, verdict: '' }
}

export function quickTable(all: readonly Pairs[]): string {
  const rows = all.map((pairs) => {
    const { times, quartiles, verdict } = judge(pairs)
    const [oldMedian] = quantiles(pairs.old, [0.5])
    const [newMedian] = quantiles(pairs.new, [0.5])
    const noise = quartiles.map(ratio).join(' – ')
    return [
      pairs.name,
      milliseconds(oldMedian),
      milliseconds(newMedian),
      ratio(times),
      noise,
      verdict,
    ]
  })
  return renderTable(columns, rows)
}
