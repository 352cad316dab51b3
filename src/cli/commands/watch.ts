// `sync --watch`: syncs again and again until it is told to end. Each turn opens the store anew, so
// that no lock is held between two. Says what moved, what went wrong, and when that is over; a turn
// in which nothing happens says nothing.

import { syncExitCodes } from '../../api/exit-codes.ts'
import { systemRandom } from '../../crypto/random.ts'
import { StoreError } from '../../errors.ts'
import { usageError } from '../command-error.ts'
import type { Answer, Input } from '../command.ts'
import type { Context } from '../context.ts'
import { answerText, errorText, exitCodeOf } from '../output.ts'
import { repeat } from '../repeat.ts'
import { answerOf, type Outcome, syncOnce, syncRemotes } from './sync.ts'

const INTERVAL_SECONDS = 60
const INTERVAL_SECONDS_MAX = 86_400
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
  const news = new News(input.flag('json'))
  const ending = 'Ended; local work is safe, and the next sync goes on'
  await context.interrupts.untilTold(ending, () =>
    repeat(() => attempt(context, input, news), { seconds, random, signal }),
  )
  return { text: '', json: { ended: true } }
}

function random(): number {
  return (systemRandom(1)[0] ?? 0) / 255
}

/** Whether a remote answered. Throws what will not go away by itself. */
async function attempt(context: Context, input: Input, news: News): Promise<boolean> {
  const outcomes = await outcomesOf(context, input)
  if (outcomes.length === 0) return true
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []))
  const failed = errors.length === outcomes.length
  if (failed && errors.every((error) => HOPELESS.has(exitCodeOf(error)))) throw errors[0]
  for (const outcome of outcomes) news.tell(outcome)
  return !failed
}

/** What stands before all remotes counts as the failure of one without a name. None: it ends. */
async function outcomesOf(context: Context, input: Input): Promise<readonly Outcome[]> {
  try {
    return await syncRemotes(context, input, undefined)
  } catch (error) {
    return context.interrupts.signal.aborted ? [] : [{ remote: '', error }]
  }
}

/** What has not been said yet, one remote at a time. */
class News {
  readonly #json: boolean
  /** The error that was told last, by remote, while it lasts. */
  readonly #wrong: Map<string, string> = new Map()

  constructor(json: boolean) {
    this.#json = json
  }

  tell(outcome: Outcome): void {
    const { remote } = outcome
    if ('error' in outcome) return this.#tellError(remote, outcome.error)
    const answer = answerOf([outcome])
    const text = answerText(answer, this.#json, process.stdout.isTTY)
    const isBack = this.#wrong.delete(remote) || this.#wrong.delete('')
    if (isBack || answer.exitCode !== syncExitCodes.upToDate) process.stdout.write(text)
  }

  /** Again only if something else is wrong, not if more waits to be sent. */
  #tellError(remote: string, error: unknown): void {
    const what = error instanceof StoreError ? `${error.code} ${error.message}` : String(error)
    if (this.#wrong.get(remote) === what) return
    this.#wrong.set(remote, what)
    process.stderr.write(errorText(error, this.#json, undefined))
  }
}
