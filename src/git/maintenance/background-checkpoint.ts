// When the journal is packed without being asked, and packs are merged with it: at once when it is
// long or packs have become many, else when the store has been quiet. Keeps the error of an attempt
// that failed, which loses nothing. Must never keep the process alive by its timer.

import { StoreError } from '../../errors.ts'
import { journalPackBytes, journalPackFrames, packsMergeAfter } from '../../limits.ts'
import type { Journal } from '../journal/journal.ts'

const idleMsDefault = 1000

export interface BackgroundCheckpointOptions {
  readonly journal: Journal
  /** How many packs are open. */
  readonly countPacks: () => number
  /** Quiet time after a write, in milliseconds, a second by default; Infinity: never by itself. */
  readonly idleMs: number | undefined
  /** Packs unless another process is at it. */
  readonly run: () => Promise<unknown>
}

export class BackgroundCheckpoint {
  readonly #options: BackgroundCheckpointOptions
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #error: StoreError | undefined
  /** Live frames after the last attempt: more must come before the next one is due. */
  #left = 0
  /** Packs after the last attempt: a store that is never quiet gets one with each fetch. */
  #packs = 0
  #stopped = false

  constructor(options: BackgroundCheckpointOptions) {
    this.#options = options
  }

  /** Why the last attempt failed. */
  get error(): StoreError | undefined {
    return this.#error
  }

  /** After a write: starts packing, now or later, if there is something to pack. */
  schedule(): void {
    clearTimeout(this.#timer)
    if (this.#stopped || this.#running !== undefined) return
    const { journal, idleMs = idleMsDefault, countPacks } = this.#options
    const frames = journal.liveFrames.length
    const long = frames - this.#left > journalPackFrames
    const many = countPacks() - this.#packs > packsMergeAfter
    if (long || many || (this.#left === 0 && journal.bytes > journalPackBytes)) this.#start()
    else if (frames > 0 && idleMs !== Infinity) {
      this.#timer = setTimeout(() => this.#start(), idleMs).unref()
    }
  }

  /** After a checkpoint that was asked for. */
  succeeded(): void {
    clearTimeout(this.#timer)
    this.#error = undefined
    this.#left = 0
  }

  /** Resolves when nothing runs; never throws. */
  async settled(): Promise<void> {
    await this.#running
  }

  /** Starts nothing any more. */
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
    this.#left = this.#error === undefined ? 0 : journal.liveFrames.length
    this.#packs = countPacks()
  }
}
