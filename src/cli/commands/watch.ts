// `sync --watch`: syncs again and again until it is interrupted. The pauses vary, so that machines
// that were started together do not stay together, and grow while a remote fails.

import { syncExitCodes } from '../../api/exit-codes.ts'
import type { Answer, Input } from '../command.ts'
import { usageError } from '../command.ts'
import type { Context } from '../context.ts'
import { answerText, errorText, exitCodeOf, visible } from '../output.ts'
import { syncOnce } from './sync.ts'

const INTERVAL_SECONDS = 60
const INTERVAL_SECONDS_MAX = 86_400
const BACK_OFF_MAX = 16
/** Another attempt does not help against these exit codes. */
const HOPELESS: ReadonlySet<number> = new Set([1, 2, 3, 7, 8, 11, 12])

export async function sync(context: Context, input: Input): Promise<Answer> {
  if (input.flag('watch')) return watch(context, input)
  if (input.text('interval') !== undefined) throw usageError('--interval needs --watch', 'sync')
  return syncOnce(context, input, undefined)
}

async function watch(context: Context, input: Input): Promise<Answer> {
  const seconds = input.integer('interval', 1, INTERVAL_SECONDS_MAX) ?? INTERVAL_SECONDS
  const { signal } = context.interrupts
  for (let failures = 0; !signal.aborted;) {
    failures = (await attempt(context, input)) ? 0 : failures + 1
    await pause(seconds * Math.min(2 ** failures, BACK_OFF_MAX), signal)
  }
  return { text: '', json: { ended: true } }
}

/** Whether it went well. Throws what will not go away by itself. */
async function attempt(context: Context, input: Input): Promise<boolean> {
  try {
    const answer = await syncOnce(context, input, undefined)
    if (answer.exitCode !== syncExitCodes.nothingToDo) {
      process.stderr.write(visible(answerText(answer, input.flag('json'), false)))
    }
    return true
  } catch (error) {
    if (context.interrupts.signal.aborted) return true
    if (HOPELESS.has(exitCodeOf(error))) throw error
    process.stderr.write(errorText(error, input.flag('json'), undefined))
    return false
  }
}

/** Between a half and three halves of the time. */
function pause(seconds: number, signal: AbortSignal): Promise<void> {
  const share = 0.5 + (process.hrtime()[1] % 1000) / 1000
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, seconds * share * 1000)
    const end = (): void => {
      clearTimeout(timer)
      resolve()
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}
