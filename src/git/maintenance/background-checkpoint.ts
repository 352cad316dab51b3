// Schedules checkpoints, with merges of packs: immediately when the journal is long or packs are
// many, else when the store is idle. Keeps the error of a failed attempt, which loses nothing. Its
// timer must never keep the process alive.

import { StoreError } from '../../errors.ts'
import { journalPackBytes, journalPackFrames, packsMergeAfter } from '../../limits.ts'
import type { Journal } from '../journal/journal.ts'

const idleMsDefault = 1000

export interface BackgroundCheckpointOptions {
  readonly journal: Journal
  /** How many packs are open. */
  readonly countPacks: () => number
  /** Idle time after a write, in milliseconds; a second by default, Infinity disables this. */
  readonly idleMs: number | undefined
  /** Runs a checkpoint unless another process does. */
  readonly run: () => Promise<unknown>
}

export class BackgroundCheckpoint {
  readonly #options: BackgroundCheckpointOptions
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #error: StoreError | undefined
  /** Live frames after the last attempt: the next one is due only after more have been added. */
  #framesAfterLast = 0
  /** Packs after the last attempt: without it, a busy store with many packs would always be due. */
  #packsAfterLast = 0
  #stopped = false

  constructor(options: BackgroundCheckpointOptions) {
    this.#options = options
  }

  /** Why the last attempt failed. */
  get error(): StoreError | undefined {
    return this.#error
  }

  /** Called after a write: starts a checkpoint now or later, if there is something to pack. */
  schedule(): void {
    clearTimeout(this.#timer)
    if (this.#stopped || this.#running !== undefined) return
    const { journal, idleMs = idleMsDefault, countPacks } = this.#options
    const frames = journal.liveFrames.length
    const isLong = frames - this.#framesAfterLast > journalPackFrames
    const isMany = countPacks() - this.#packsAfterLast > packsMergeAfter
    const isLarge = this.#framesAfterLast === 0 && journal.bytes > journalPackBytes
    if (isLong || isMany || isLarge) this.#start()
    else if (frames > 0 && idleMs !== Infinity) {
      this.#timer = setTimeout(() => this.#start(), idleMs).unref()
    }
  }

  /** Called after an explicit checkpoint. */
  succeeded(): void {
    clearTimeout(this.#timer)
    this.#error = undefined
    this.#framesAfterLast = 0
  }

  /** Resolves when nothing runs; never throws. */
  async settled(): Promise<void> {
    await this.#running
  }

  /** Starts no further checkpoint, and waits for a running one. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#running
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  async #run(): Promise<void> {
    try {
      await this.#options.run()
      this.#error = undefined
    } catch (error) {
      this.#error =
        error instanceof StoreError
          ? error
          : new StoreError('storage_failed', 'The journal could not be packed', { cause: error })
    }
    const { journal, countPacks } = this.#options
    this.#framesAfterLast = this.#error === undefined ? 0 : journal.liveFrames.length
    this.#packsAfterLast = countPacks()
  }
}
