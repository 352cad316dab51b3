// A progress bar on standard error, on a terminal only, for work that takes longer than a moment.

import type { Progress } from '../store/verify.ts'
import type { Context } from './context.ts'

/** Work that ends sooner shows nothing. */
const QUIET_MS = 400
const REDRAW_MS = 100
const BAR_CELLS = 24

/** Runs `work` with a callback that draws, and leaves the line empty afterwards. */
export async function withProgress<T>(
  context: Context,
  title: string,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  if (!context.environment.terminal.errors) return work(() => undefined)
  const { clock } = context
  const start = clock()
  let drawn = 0
  const progress: Progress = (done, total) => {
    const now = clock()
    if (now - start < QUIET_MS || now - drawn < REDRAW_MS) return
    drawn = now
    const line = progressLine(title, done, total, now - start)
    process.stderr.write(`\r${line.slice(0, context.environment.terminal.columns - 1)}\u001b[K`)
  }
  try {
    return await work(progress)
  } finally {
    if (drawn !== 0) process.stderr.write('\r\u001b[K')
  }
}

/** `Verifying  [######------]  50 %  1,000 of 2,000  12 s left` */
export function progressLine(
  title: string,
  done: number,
  total: number,
  elapsedMs: number,
): string {
  const share = total === 0 ? 1 : Math.min(done / total, 1)
  const cells = Math.round(share * BAR_CELLS)
  const bar = '#'.repeat(cells) + '-'.repeat(BAR_CELLS - cells)
  const left = share === 0 ? '' : `  ${inWords((elapsedMs / share) * (1 - share))} left`
  const counts = `${done.toLocaleString('en')} of ${total.toLocaleString('en')}`
  return `${title}  [${bar}]  ${Math.floor(share * 100)} %  ${counts}${left}`
}

function inWords(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000)
  return seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
}
