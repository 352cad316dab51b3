// A progress bar on standard error, on a terminal only, for work that takes longer than a moment:
// the phase, its units and rate, and the time that remains once the rate is known.

import type { Progress } from '../../async.ts'
import type { TransferProgress } from '../../transport/remote-access.ts'
import type { Context } from '../call/command.ts'

/** Work that ends sooner shows nothing. */
const QUIET_MS = 400
const REDRAW_MS = 100
const BAR_CELLS = 16
/** A rate of the first moments would promise hours. */
const ESTIMATE_MS = 3000

interface Shown {
  readonly progress: Progress
  /** For work with a remote, whose phases have names of their own. */
  readonly transfer: (step: TransferProgress) => void
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
}

/** The phases of a transfer, in bytes unless they count objects. */
const phases = {
  receiving: { title: 'Receiving', inBytes: true },
  checking: { title: 'Checking', inBytes: false },
  sending: { title: 'Sending', inBytes: true },
} as const

/** Runs `work` with callbacks that draw. Clears the line at the end. */
export async function withProgress<T>(
  context: Context,
  title: string,
  work: (shown: Shown) => Promise<T>,
): Promise<T> {
  const { signal } = context.interrupts
  if (!context.environment.terminal.errors) {
    return work({ progress: () => undefined, transfer: () => undefined, signal })
  }
  const { clock } = context
  const start = clock()
  let phase = { title, start, done: 0 }
  let drawn = 0
  const draw = (state: Omit<ProgressState, 'elapsedMs'>): void => {
    const now = clock()
    // A new phase has its own rate, and so has a second pass.
    const isNew = state.title !== phase.title || state.done < phase.done
    phase = { title: state.title, start: isNew ? now : phase.start, done: state.done }
    if (now - start < QUIET_MS || now - drawn < REDRAW_MS) return
    drawn = now
    const line = progressLine({ ...state, elapsedMs: now - phase.start })
    process.stderr.write(`\r${line.slice(0, context.environment.terminal.columns - 1)}\u001b[K`)
  }
  const progress: Progress = (done, total) => draw({ title, done, total })
  const transfer = ({ phase: name, done, total = Number.POSITIVE_INFINITY }: TransferProgress) => {
    if (name === 'sending' && done >= total) draw({ title: 'Waiting for the remote', done: 0 })
    else draw({ ...phases[name], done, total })
  }
  try {
    return await work({ progress, transfer, signal })
  } finally {
    if (drawn !== 0) process.stderr.write('\r\u001b[K')
  }
}

export interface ProgressState {
  readonly title: string
  readonly done: number
  /** Infinite if no one knows how much there is; undefined if there is nothing to count. */
  readonly total?: number
  /** Whether bytes are counted; else things. */
  readonly inBytes?: boolean
  /** Since the phase began. */
  readonly elapsedMs: number
}

/**
 * `Verifying  [########--------]  50 %  1,000 of 2,000  250/s  about 4 s`, in bytes `Sending
 * [----------------]  2 %  0.7 of 29.0 MB  103 kB/s  about 5 min`, and without a total
 * `Fetching  1,000  250/s`.
 */
export function progressLine(state: ProgressState): string {
  const { title, done, total, inBytes = false, elapsedMs } = state
  if (total === undefined) return `${title}…`
  const unit = inBytes ? unitOf(total === Number.POSITIVE_INFINITY ? done : total) : noUnit
  const parts = [title]
  if (total === Number.POSITIVE_INFINITY) parts.push(amountText(done, unit) + unit.name)
  else {
    const share = total === 0 ? 1 : Math.min(done / total, 1)
    const cells = Math.round(share * BAR_CELLS)
    parts.push(`[${'#'.repeat(cells)}${'-'.repeat(BAR_CELLS - cells)}]`)
    parts.push(`${Math.floor(share * 100)} %`)
    parts.push(`${amountText(done, unit)} of ${amountText(total, unit)}${unit.name}`)
  }
  if (done > 0 && elapsedMs > 0) {
    const perSecond = (done * 1000) / elapsedMs
    const rateUnit = inBytes ? unitOf(perSecond) : noUnit
    parts.push(`${amountText(perSecond, rateUnit)}${rateUnit.name}/s`)
    const remainingMs = (elapsedMs / done) * (total - done)
    const isKnown = elapsedMs >= ESTIMATE_MS && Number.isFinite(remainingMs) && remainingMs > 0
    if (isKnown) parts.push(`about ${durationText(remainingMs)}`)
  }
  return parts.join('  ')
}

interface Unit {
  readonly name: string
  readonly size: number
}

const noUnit: Unit = { name: '', size: 1 }
const units: readonly Unit[] = [
  { name: ' GB', size: 1e9 },
  { name: ' MB', size: 1e6 },
  { name: ' kB', size: 1e3 },
]

function unitOf(bytes: number): Unit {
  return units.find(({ size }) => bytes >= size) ?? { name: ' B', size: 1 }
}

/** `0.7`, `102`, `1,000`: a digit behind the point where a share of ten would be lost. */
function amountText(amount: number, { size }: Unit): string {
  const value = amount / size
  if (size > 1 && value < 100) return value.toFixed(1)
  return Number(value.toFixed(value < 10 ? 1 : 0)).toLocaleString('en')
}

function durationText(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000)
  return seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
}
