// A progress bar on standard error, on a terminal only, for work that takes longer than a moment,
// with its rate and the time that remains.

import type { Progress } from '../../async.ts'
import type { Context } from '../call/command.ts'

/** Work that ends sooner shows nothing. */
const QUIET_MS = 400
const REDRAW_MS = 100
const BAR_CELLS = 24

/** Runs `work` with a callback that draws, and the signal of Ctrl-C. Clears the line at the end. */
export async function withProgress<T>(
  context: Context,
  title: string,
  work: (options: { readonly progress: Progress; readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const { signal } = context.interrupts
  if (!context.environment.terminal.errors) return work({ progress: () => undefined, signal })
  const { clock } = context
  const start = clock()
  let phase = { start, done: 0 }
  let drawn = 0
  const progress: Progress = (done, total) => {
    const now = clock()
    // A second pass has its own rate.
    phase = { start: done < phase.done ? now : phase.start, done }
    if (now - start < QUIET_MS || now - drawn < REDRAW_MS) return
    drawn = now
    const line = progressLine(title, done, total, now - phase.start)
    process.stderr.write(`\r${line.slice(0, context.environment.terminal.columns - 1)}\u001b[K`)
  }
  try {
    return await work({ progress, signal })
  } finally {
    if (drawn !== 0) process.stderr.write('\r\u001b[K')
  }
}

/**
 * `Verifying  [######------]  50 %  1,000 of 2,000  250/s  4 s left`, or `Fetching  1,000  250/s`
 * if no one knows how much there is: then `total` is infinite.
 */
export function progressLine(
  title: string,
  done: number,
  total: number,
  elapsedMs: number,
): string {
  const rate = done === 0 || elapsedMs === 0 ? '' : `  ${rateText((done * 1000) / elapsedMs)}`
  if (total === Number.POSITIVE_INFINITY) return `${title}  ${done.toLocaleString('en')}${rate}`
  const share = total === 0 ? 1 : Math.min(done / total, 1)
  const cells = Math.round(share * BAR_CELLS)
  const bar = '#'.repeat(cells) + '-'.repeat(BAR_CELLS - cells)
  const remaining = share === 0 ? '' : `  ${durationText((elapsedMs / share) * (1 - share))} left`
  const counts = `${done.toLocaleString('en')} of ${total.toLocaleString('en')}`
  return `${title}  [${bar}]  ${Math.floor(share * 100)} %  ${counts}${rate}${remaining}`
}

function rateText(perSecond: number): string {
  const rounded = perSecond < 10 ? Number(perSecond.toFixed(1)) : Math.round(perSecond)
  return `${rounded.toLocaleString('en')}/s`
}

function durationText(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000)
  return seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
}
