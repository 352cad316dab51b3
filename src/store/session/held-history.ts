// The history of an open store: filled on demand and released when no query has used it for a
// while. As long as a caller still holds it, later queries get the same object, so that a redaction
// reaches every history in use.

import { Gate } from '../../async.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inBackground, type Timer } from '../../platform/timers.ts'
import { catchUp, type CatchUpOptions } from '../history/catch-up.ts'
import type { History, HistorySource } from '../history/history.ts'
import { isOverdue, isWorthWriting } from '../local/history-cache.ts'

/** Where the history is stored while it is not in use. */
export interface HistoryShelf {
  /** A history that begins where this clone's does. */
  begin(): History
  /** Reads the cached history into an empty one. */
  read(history: History, signal: AbortSignal | undefined): Promise<void>
  /** Runs work while no other process writes and no command of this process runs; may throw. */
  alone(work: () => Promise<void>): Promise<void>
  /** Stores new parts of the history, if that is worthwhile. Called inside `alone`. */
  write(history: History): Promise<void>
}

/** Queries often come in quick succession. */
const RELEASE_AFTER_MS = 10_000

export class HeldHistory {
  readonly #shelf: HistoryShelf
  readonly #gate = new Gate()
  #held: History | undefined
  #last: WeakRef<History> | undefined
  #timer: Timer | undefined
  /** False while the history is being stored, and forever once that has failed. */
  #mayStore = true

  constructor(shelf: HistoryShelf) {
    this.#shelf = shelf
  }

  /** The history as far as it is in RAM. */
  get now(): History {
    return this.#held ?? this.#last?.deref() ?? this.#shelf.begin()
  }

  /** The history up to a head; undefined, with nothing done, unless `isWanted`. */
  upTo(
    source: HistorySource,
    head: Oid,
    options: CatchUpOptions,
    isWanted: () => boolean,
  ): Promise<History | undefined> {
    return this.#gate.run(async () => {
      if (!isWanted()) return undefined
      const history = this.now
      this.#hold(history)
      if (history.commits.length === 0) await this.#shelf.read(history, options.signal)
      await catchUp(history, source, head, options)
      if (this.#mayStore && isOverdue(history)) void this.#store(history)
      return history
    })
  }

  /** Applies our own redaction: the new ids of commits by position, and the erased versions. */
  async forget(
    oldHead: Oid,
    rewritten: ReadonlyMap<number, Oid>,
    versionIds: ReadonlySet<string>,
  ): Promise<void> {
    // It must not be stored before the redaction is applied.
    this.now.isSuperseded = true
    await this.#gate.run(async () => {
      const history = this.now
      // Otherwise a query has already read the commits under their new ids.
      const isOld = history.head?.oid === oldHead
      history.applyRedaction(isOld ? rewritten : new Map(), versionIds)
      history.isSuperseded = false
    })
  }

  /** Stops the timer. */
  close(): void {
    clearTimeout(this.#timer)
  }

  /** Holds the history until it was unused for a while. */
  #hold(history: History): void {
    this.#held = history
    if (this.#last?.deref() !== history) this.#last = new WeakRef(history)
    clearTimeout(this.#timer)
    // On failure it is kept in RAM, where it works as well.
    this.#timer = inBackground(() => void this.letGo().catch(() => undefined), RELEASE_AFTER_MS)
  }

  /**
   * Releases the history, unless it cannot be stored: reading it from git would take far longer.
   */
  async letGo(): Promise<void> {
    const history = this.#held
    if (history === undefined) return
    if (isWorthWriting(history)) await this.#write(history)
    if (!isWorthWriting(history)) this.#held = undefined
  }

  /** Stores a history that is in constant use, so that it survives a crash. */
  async #store(history: History): Promise<void> {
    this.#mayStore = false
    this.#mayStore = await this.#write(history).then(
      () => true,
      () => false,
    )
  }

  #write(history: History): Promise<void> {
    return this.#shelf.alone(() => this.#gate.run(() => this.#shelf.write(history)))
  }
}
