// `sync --watch`: syncs repeatedly until it is stopped. Each turn opens the store again, so that no
// lock is held between two. Reports transfers, errors and recoveries; a turn without news prints
// nothing.

import { systemRandom } from '../../crypto/random.ts'
import { StoreError } from '../../errors.ts'
import { usageError } from '../command-error.ts'
import type { Answer, Input } from '../command.ts'
import type { Context } from '../context.ts'
import { answerText, errorText, exitCodeOf } from '../output.ts'
import { repeat } from '../repeat.ts'
import { answerOf, hasMoved, type Outcome, syncOnce, syncRemotes } from './sync.ts'

const INTERVAL_SECONDS = 60
const INTERVAL_SECONDS_MAX = 86_400
/** Exit codes of errors that another attempt does not fix. */
const HOPELESS: ReadonlySet<number> = new Set([1, 2, 3, 7, 8, 11, 12])

export async function sync(context: Context, input: Input): Promise<Answer> {
  if (input.flag('watch')) return watch(context, input)
  if (input.text('interval') !== undefined) throw usageError('--interval needs --watch', 'sync')
  return syncOnce(context, input, undefined)
}

async function watch(context: Context, input: Input): Promise<Answer> {
  const seconds = input.integer('interval', 1, INTERVAL_SECONDS_MAX) ?? INTERVAL_SECONDS
  const { signal } = context.interrupts
  const reporter = new Reporter(context, input.flag('json'))
  const ending = 'Ended; local work is safe, and the next sync continues'
  await context.interrupts.untilStopped(ending, () =>
    repeat(() => attempt(context, input, reporter), { seconds, random, signal }),
  )
  return { text: '', json: { type: 'sync_watch', ended: true } }
}

function random(): number {
  return (systemRandom(1)[0] ?? 0) / 255
}

/** Whether a remote answered. Throws an error that another attempt does not fix. */
async function attempt(context: Context, input: Input, reporter: Reporter): Promise<boolean> {
  const outcomes = await outcomesOf(context, input)
  if (outcomes.length === 0) return true
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []))
  const failed = errors.length === outcomes.length
  if (failed && errors.every((error) => HOPELESS.has(exitCodeOf(error)))) throw errors[0]
  for (const outcome of outcomes) reporter.report(outcome)
  return !failed
}

/** An error before any remote counts as that of a remote without a name. Empty if interrupted. */
async function outcomesOf(context: Context, input: Input): Promise<readonly Outcome[]> {
  try {
    return await syncRemotes(context, input, undefined)
  } catch (error) {
    return context.interrupts.signal.aborted ? [] : [{ remote: '', error }]
  }
}

/** Prints outcomes that have not been reported yet, one remote at a time. */
class Reporter {
  readonly #context: Context
  readonly #json: boolean
  /** The error that was reported last, by remote, while it lasts. */
  readonly #lastErrors: Map<string, string> = new Map()

  constructor(context: Context, json: boolean) {
    this.#context = context
    this.#json = json
  }

  report(outcome: Outcome): void {
    const { remote } = outcome
    if ('error' in outcome) return this.#reportError(remote, outcome.error)
    const answer = answerOf(this.#context, [outcome])
    const text = answerText(answer, this.#json, process.stdout.isTTY)
    const isBack = this.#lastErrors.delete(remote) || this.#lastErrors.delete('')
    if (isBack || hasMoved(outcome.report)) process.stdout.write(text)
  }

  /** Repeats an error only if its code or message differs, not if more commits are unsent. */
  #reportError(remote: string, error: unknown): void {
    const problem = error instanceof StoreError ? `${error.code} ${error.message}` : String(error)
    if (this.#lastErrors.get(remote) === problem) return
    this.#lastErrors.set(remote, problem)
    process.stderr.write(errorText(error, this.#json, undefined))
  }
}
