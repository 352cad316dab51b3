// `sync --watch`: syncs when something has changed, until it is stopped. Once a second it compares
// the files that move with a head on this machine; every other remote is asked for its head at each
// interval, with one request. Each turn opens the store again, so that no lock is held between two.
// Reports transfers, errors and recoveries; a turn without news prints nothing.

import { setTimeout as sleep } from 'node:timers/promises'
import { systemRandom } from '../../../crypto/random.ts'
import { systemDisk } from '../../../disk/system-disk.ts'
import { StoreError } from '../../../errors.ts'
import { traceOfGit, traceOfStore } from '../../../git/disk-store/head-trace.ts'
import { findCloneHead, listRemotes } from '../../../store/clone-remotes.ts'
import { connectFetch } from '../../../transport/fetch.ts'
import { parseRemoteUrl } from '../../../transport/remote-url.ts'
import type { Answer, Context, Input } from '../../call/command.ts'
import { remoteAccess } from '../../machine/remote-access.ts'
import { repeat } from '../../machine/repeat.ts'
import { answerOf, hasMoved, syncRemotes, type RemoteOutcome } from '../../store/sync-remotes.ts'
import { answerText, errorText, exitCodeOf, stderrColumns } from '../../terminal/output.ts'

const INTERVAL_SECONDS = 30
const INTERVAL_SECONDS_MAX = 86_400
/** How often the files on this machine are compared. */
const LOOK_MS = 1000
/** Exit codes of errors that another attempt does not fix. */
const HOPELESS: ReadonlySet<number> = new Set([1, 2, 3, 7, 8, 11, 12])

export async function watch(context: Context, input: Input): Promise<Answer> {
  const seconds = input.integer('interval', 1, INTERVAL_SECONDS_MAX) ?? INTERVAL_SECONDS
  const { signal } = context.interrupts
  const syncing = new SyncWatch(context, input)
  const pace = { seconds, random, signal, woken: (ended: AbortSignal) => syncing.change(ended) }
  const ending = 'Ended; local work is safe, and the next sync continues'
  await context.interrupts.untilStopped(ending, () => repeat(() => syncing.turn(), pace))
  return { text: '', json: { type: 'sync_watch', ended: true } }
}

function random(): number {
  return (systemRandom(1)[0] ?? 0) / 255
}

/** The store, or one of its remotes. */
interface Watched {
  /** Describes the files that change with its head; undefined if it is on another machine. */
  readonly trace: (() => string) | undefined
  /** Throws if the head cannot be read. */
  readonly findHead: () => Promise<string | undefined>
  /** Its trace when its head was read last. */
  seen?: string | undefined
  /** Its head after the last sync. */
  head?: string | undefined
}

class SyncWatch {
  readonly #context: Context
  readonly #input: Input
  readonly #reporter: Reporter
  readonly #store: Watched
  /** By name. */
  #remotes: ReadonlyMap<string, Watched & { readonly url: string }> = new Map()
  /** Whether the next turn syncs, whatever it finds. */
  #isDue = true

  constructor(context: Context, input: Input) {
    const { storeDirectory } = context.environment
    this.#context = context
    this.#input = input
    this.#reporter = new Reporter(context, input.flag('json'))
    this.#store = {
      trace: () => traceIfReadable(() => traceOfStore(systemDisk, storeDirectory)),
      findHead: () => findCloneHead(storeDirectory),
    }
  }

  /**
   * Syncs if that is due or something has moved. Returns whether a remote answered. Throws an error
   * that another attempt does not fix.
   */
  async turn(): Promise<boolean> {
    if (!this.#isDue && !(await this.#findsMoved(true))) return true
    await this.#listRemotes()
    const outcomes = await outcomesOf(this.#context, this.#input)
    if (outcomes.length === 0) return true
    const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []))
    const failed = errors.length === outcomes.length
    if (failed && errors.every((error) => HOPELESS.has(exitCodeOf(error)))) throw errors[0]
    for (const outcome of outcomes) this.#reporter.report(outcome)
    this.#isDue = errors.length > 0
    this.#noteHeads(outcomes)
    return !failed
  }

  /** Resolves when something on this machine has moved, or once `ended`. */
  async change(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      await sleep(LOOK_MS, undefined, { signal: ended }).catch(() => undefined)
      if (ended.aborted || !(await this.#findsMoved(false))) continue
      this.#isDue = true
      return
    }
  }

  /** Remotes on other machines are asked only if it is time. */
  async #findsMoved(isTime: boolean): Promise<boolean> {
    for (const place of [this.#store, ...this.#remotes.values()]) {
      const trace = place.trace?.()
      if (trace === undefined ? !isTime : trace === place.seen) continue
      place.seen = trace
      try {
        if ((await place.findHead()) !== place.head) return true
      } catch {
        // The sync reports the reason.
        return true
      }
    }
    return false
  }

  /** After a sync, the remotes that it succeeded with have the head of the store. */
  #noteHeads(outcomes: readonly RemoteOutcome[]): void {
    const reports = outcomes.flatMap((outcome) => ('report' in outcome ? [outcome.report] : []))
    this.#store.head = reports.at(-1)?.head
    for (const { remote } of reports) {
      const watched = this.#remotes.get(remote)
      if (watched !== undefined) watched.head = this.#store.head
    }
  }

  async #listRemotes(): Promise<void> {
    const named = this.#input.findArgument(0)
    // The sync reports faults of the store.
    const remotes = await listRemotes(this.#context.environment.storeDirectory).catch(() => [])
    const wanted = remotes.filter(({ name }) => named === undefined || name === named)
    this.#remotes = new Map(
      wanted.map(({ name, url }) => {
        const known = this.#remotes.get(name)
        return [name, known?.url === url ? known : { url, ...this.#remoteAt(url) }]
      }),
    )
  }

  #remoteAt(url: string): Watched {
    const address = parseRemoteUrl(url, { allowHttp: true })
    const { signal } = this.#context.interrupts
    return {
      trace:
        address.kind === 'file'
          ? () => traceIfReadable(() => traceOfGit(systemDisk, address.path))
          : undefined,
      findHead: async () => {
        const connection = await connectFetch({ ...remoteAccess(this.#context), url, signal })
        await connection.close()
        return connection.refs.head
      },
    }
  }
}

/** Empty for files that cannot be looked at. */
function traceIfReadable(trace: () => string): string {
  try {
    return trace()
  } catch {
    return ''
  }
}

/**
 * An error before any remote is treated as that of a remote without a name. Empty if interrupted.
 */
async function outcomesOf(context: Context, input: Input): Promise<readonly RemoteOutcome[]> {
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

  report(outcome: RemoteOutcome): void {
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
    process.stderr.write(errorText(error, this.#json, undefined, stderrColumns()))
  }
}
