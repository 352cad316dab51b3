// `sync --watch`: syncs when something has changed, until it is stopped. What is on this machine is
// watched; every other remote is asked for its head at every interval, with one request. Each turn
// opens the store again, so that no lock is held between two. Reports transfers, errors and
// recoveries; a turn without news prints nothing.

import { setTimeout as sleep } from 'node:timers/promises'
import { systemRandom } from '../../crypto/random.ts'
import { StoreError } from '../../errors.ts'
import { findCloneHead, listRemotes } from '../../store/clone-remotes.ts'
import { connectFetch } from '../../transport/fetch.ts'
import { parseRemoteUrl } from '../../transport/remote-url.ts'
import type { Answer, Input } from '../call/command.ts'
import type { Context } from '../call/context.ts'
import { remoteAccess } from '../machine/remote-access.ts'
import { repeat } from '../machine/repeat.ts'
import { changesOfRemote, changesOfStore, WatchedPlace } from '../machine/watched-place.ts'
import { answerText, errorText, exitCodeOf } from '../terminal/output.ts'
import { answerOf, hasMoved, type Outcome, syncRemotes } from './sync.ts'

const INTERVAL_SECONDS = 30
const INTERVAL_SECONDS_MAX = 86_400
/** Changes often come several at a time: so long after the first one they go together. */
const GATHER_MS = 250
/** Exit codes of errors that another attempt does not fix. */
const HOPELESS: ReadonlySet<number> = new Set([1, 2, 3, 7, 8, 11, 12])

export async function watch(context: Context, input: Input): Promise<Answer> {
  const seconds = input.integer('interval', 1, INTERVAL_SECONDS_MAX) ?? INTERVAL_SECONDS
  const { signal } = context.interrupts
  const syncing = new SyncWatch(context, input, seconds)
  const ending = 'Ended; local work is safe, and the next sync continues'
  const pace = { seconds, random, signal, woken: (ended: AbortSignal) => syncing.change(ended) }
  try {
    await context.interrupts.untilStopped(ending, () => repeat(() => syncing.turn(), pace))
  } finally {
    syncing.close()
  }
  return { text: '', json: { type: 'sync_watch', ended: true } }
}

function random(): number {
  return (systemRandom(1)[0] ?? 0) / 255
}

/** A remote, its address, and the last head that it showed. */
interface WatchedRemote {
  readonly url: string
  /** Undefined if it is not on this machine. */
  readonly place: WatchedPlace | undefined
  /** Its head after the last sync. */
  head?: string | undefined
}

class SyncWatch {
  readonly #context: Context
  readonly #input: Input
  readonly #seconds: number
  readonly #reporter: Reporter
  readonly #store: WatchedPlace
  readonly #remotes: Map<string, WatchedRemote> = new Map()
  readonly #told: Set<string> = new Set()
  /** The head of the store after the last sync. */
  #head: string | undefined
  /** Whether the next turn syncs, whatever it finds. */
  #isDue = true
  #wake = (): void => undefined

  constructor(context: Context, input: Input, seconds: number) {
    const { storeDirectory } = context.environment
    this.#context = context
    this.#input = input
    this.#seconds = seconds
    this.#reporter = new Reporter(context, input.flag('json'))
    this.#store = new WatchedPlace(() => changesOfStore(storeDirectory), this.#onChange)
  }

  /**
   * Syncs if that is due or something has moved. Returns whether a remote answered. Throws an error
   * that another attempt does not fix.
   */
  async turn(): Promise<boolean> {
    if (!this.#isDue && !(await this.#findsMoved(true))) return true
    await this.#watchAll()
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
      if (![this.#store, ...this.#places].some((place) => place.isChanged)) {
        await this.#nextChange(ended)
      }
      await sleep(GATHER_MS, undefined, { signal: ended }).catch(() => undefined)
      if (ended.aborted || !(await this.#findsMoved(false))) continue
      this.#isDue = true
      return
    }
  }

  close(): void {
    for (const place of [this.#store, ...this.#places]) place.close()
  }

  get #places(): readonly WatchedPlace[] {
    return [...this.#remotes.values()].flatMap(({ place }) => place ?? [])
  }

  readonly #onChange = (): void => this.#wake()

  #nextChange(ended: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
      ended.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  /** Looks where a change was noticed and, if it is time, where none would be. */
  async #findsMoved(isTime: boolean): Promise<boolean> {
    const mayHave = (place: WatchedPlace | undefined): boolean => {
      const isSeen = place !== undefined && place.problem === undefined
      return isSeen ? place.takeChanged() : isTime
    }
    if (mayHave(this.#store) && (await this.#storeHead()) !== this.#head) return true
    for (const remote of this.#remotes.values()) {
      if (mayHave(remote.place) && (await this.#hasMoved(remote))) return true
    }
    return false
  }

  /** Undefined if it cannot be read: then a sync tells why. */
  #storeHead(): Promise<string | undefined> {
    const { storeDirectory } = this.#context.environment
    return findCloneHead(storeDirectory).catch(() => undefined)
  }

  /** Also if it cannot be asked: then a sync tells why. */
  async #hasMoved({ url, head }: WatchedRemote): Promise<boolean> {
    const { signal } = this.#context.interrupts
    try {
      const connection = await connectFetch({ ...remoteAccess(this.#context), url, signal })
      await connection.close()
      return connection.refs.head !== head
    } catch {
      return true
    }
  }

  /** After a sync, the remotes that it succeeded with have what the store has. */
  #noteHeads(outcomes: readonly Outcome[]): void {
    const reports = outcomes.flatMap((outcome) => ('report' in outcome ? [outcome.report] : []))
    this.#head = reports.at(-1)?.head
    for (const { remote } of reports) {
      const watched = this.#remotes.get(remote)
      if (watched !== undefined) watched.head = this.#head
    }
  }

  /** Before a sync, so that nothing is missed after it. */
  async #watchAll(): Promise<void> {
    const { storeDirectory } = this.#context.environment
    const named = this.#input.findArgument(0)
    // The sync reports faults of the store.
    const remotes = await listRemotes(storeDirectory).catch(() => [])
    const wanted = remotes.filter(({ name }) => named === undefined || name === named)
    for (const [name, { url, place }] of this.#remotes) {
      if (wanted.some((remote) => remote.name === name && remote.url === url)) continue
      place?.close()
      this.#remotes.delete(name)
    }
    for (const { name, url } of wanted) {
      if (this.#remotes.has(name)) continue
      this.#remotes.set(name, { url, place: this.#placeOf(url) })
    }
    this.#renew(this.#store, 'the store')
    for (const [name, { place }] of this.#remotes) if (place) this.#renew(place, name)
  }

  #placeOf(url: string): WatchedPlace | undefined {
    const address = parseRemoteUrl(url, { allowHttp: true })
    if (address.kind !== 'file') return undefined
    return new WatchedPlace(() => changesOfRemote(address.path), this.#onChange)
  }

  /** Says once that changes there are not noticed; that nothing is there, the sync says. */
  #renew(place: WatchedPlace, what: string): void {
    place.renew()
    const { problem } = place
    if (problem === undefined || problem === 'ENOENT' || this.#told.has(what)) return
    this.#told.add(what)
    if (this.#input.flag('json')) return
    const often = `they are looked for every ${this.#seconds} seconds`
    process.stderr.write(`gitlocket: Changes of ${what} cannot be watched (${problem}): ${often}\n`)
  }
}

/**
 * An error before any remote is treated as that of a remote without a name. Empty if interrupted.
 */
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
    process.stderr.write(errorText(error, this.#json, undefined, process.stderr.isTTY))
  }
}
