// The history of an open store, as long as somebody asks about it: filled by one question after
// another, and let go of when none has come for a while. Whoever still has it then and asks again
// gets the same one, so that a redaction reaches every history that is in use.

import { Gate } from '../../async.ts'
import type { Oid } from '../../git/objects/object.ts'
import { catchUp, type CatchUpOptions } from '../history/catch-up.ts'
import { History, type HistorySource } from '../history/history.ts'
import { isOverdue, isWorthWriting } from '../local/history-cache.ts'

/** Where the history is kept while nobody asks. */
export interface HistoryShelf {
  /** Reads what is kept into an empty history. */
  read(history: History, signal: AbortSignal | undefined): Promise<void>
  /** Runs work while no other process writes and no command of this one runs; may throw. */
  alone(work: () => Promise<void>): Promise<void>
  /** Keeps what is not kept yet, if that is worth it. Called by such work. */
  write(history: History): Promise<void>
}

/** One question is often followed by another. */
const LET_GO_AFTER_MS = 10_000

export class HeldHistory {
  readonly #shelf: HistoryShelf
  readonly #gate = new Gate()
  #held: History | undefined
  #last: WeakRef<History>
  #timer: NodeJS.Timeout | undefined
  /** Not while it is being kept, nor again once that has failed. */
  #mayKeep = true

  /** Empty, or what opening has read of it. */
  constructor(history: History, shelf: HistoryShelf) {
    this.#shelf = shelf
    this.#last = new WeakRef(history)
    if (history.commits.length > 0) this.#hold(history)
  }

  /** As far as it is in RAM. */
  get now(): History {
    return this.#held ?? this.#last.deref() ?? new History()
  }

  /** Up to a head; undefined, with nothing done, if that is not wanted any more. */
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
      if (this.#mayKeep && isOverdue(history)) void this.#keep(history)
      return history
    })
  }

  /** After a redaction of our own: by position the new names of commits, and what was erased. */
  async forget(
    oldHead: Oid,
    rewritten: ReadonlyMap<number, Oid>,
    versionIds: ReadonlySet<string>,
  ): Promise<void> {
    // Until its turn comes, nobody may keep it on disk.
    this.now.isSuperseded = true
    await this.#gate.run(async () => {
      const history = this.now
      // Unless somebody was faster, who has read the commits under their new names.
      const isOld = history.head?.oid === oldHead
      history.applyRedaction(isOld ? rewritten : new Map(), versionIds)
      history.isSuperseded = false
    })
  }

  /** Nothing happens by itself any more. */
  close(): void {
    clearTimeout(this.#timer)
  }

  /** From now on for a while. */
  #hold(history: History): void {
    this.#held = history
    if (this.#last.deref() !== history) this.#last = new WeakRef(history)
    clearTimeout(this.#timer)
    // Failing leaves it in RAM, from where it can be asked as well.
    this.#timer = setTimeout(() => void this.letGo().catch(() => undefined), LET_GO_AFTER_MS)
    this.#timer.unref()
  }

  /** Unless it could not be kept: to read all of it from git again would take far longer. */
  async letGo(): Promise<void> {
    const history = this.#held
    if (history === undefined) return
    if (isWorthWriting(history)) await this.#write(history)
    if (!isWorthWriting(history)) this.#held = undefined
  }

  /** Whoever is asked all the time never lets go, and what was read shall outlive a death. */
  async #keep(history: History): Promise<void> {
    this.#mayKeep = false
    this.#mayKeep = await this.#write(history).then(
      () => true,
      () => false,
    )
  }

  #write(history: History): Promise<void> {
    return this.#shelf.alone(() => this.#gate.run(() => this.#shelf.write(history)))
  }
}
