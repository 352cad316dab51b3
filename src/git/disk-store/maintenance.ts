// When the journal is packed, and packs are merged, repacked or measured: immediately when the
// journal is long or packs are many, else when the store is idle, or when the caller asks. Keeps
// the error of a failed attempt in the background, which loses nothing. Its timer must never keep
// the process alive.

import { StoreError } from '../../errors.ts'
import {
  journalBytesMax,
  journalPackBytes,
  journalPackFrames,
  journalWaitBytes,
  packsMergeAfter,
  purgeWaitMs,
} from '../../limits.ts'
import type { CompactOptions, ObjectAmount } from '../object-store.ts'
import { Checkpointer } from './checkpoint.ts'
import type { StoreParts } from './store-parts.ts'
import type { WriterTurn } from './writer-turn.ts'

const idleMsDefault = 1000

export class Maintenance {
  readonly #parts: StoreParts
  readonly #idleMs: number
  readonly #checkpointer: Checkpointer
  readonly #closing = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #asked: Promise<void> = Promise.resolve()
  #error: StoreError | undefined
  /** Live frames after the last attempt: the next one is due only after more have been added. */
  #framesAfterLast = 0
  /** Packs after the last attempt: without it, a busy store with many packs would always be due. */
  #packsAfterLast = 0

  /** `idleMs` is the time after a write; Infinity disables checkpoints of an idle store. */
  constructor(parts: StoreParts, writer: WriterTurn, idleMs: number = idleMsDefault) {
    this.#parts = parts
    this.#idleMs = idleMs
    this.#checkpointer = new Checkpointer(parts, writer)
  }

  get error(): StoreError | undefined {
    return this.#error
  }

  /** A writer waits while much is being packed. */
  async beforeWrite(): Promise<void> {
    if (this.#parts.objects.journal.bytes > journalWaitBytes) await this.#running
  }

  /** Throws the error of the last attempt if that has let the journal grow too long. */
  checkRoom(): void {
    if (this.#parts.objects.journal.bytes <= journalBytesMax) return
    if (this.#error !== undefined) throw this.#error
  }

  /** Called after a write: starts a checkpoint now or later, if there is something to pack. */
  schedule(): void {
    clearTimeout(this.#timer)
    if (this.#closing.signal.aborted || this.#running !== undefined) return
    const { journal, packs } = this.#parts.objects
    const frames = journal.liveFrames.length
    const isLong = frames - this.#framesAfterLast > journalPackFrames
    const isMany = packs.size - this.#packsAfterLast > packsMergeAfter
    const isLarge = this.#framesAfterLast === 0 && journal.bytes > journalPackBytes
    if (isLong || isMany || isLarge) this.#start()
    else if (frames > 0 && this.#idleMs !== Infinity) {
      this.#timer = setTimeout(() => this.#start(), this.#idleMs).unref()
    }
  }

  async checkpoint(): Promise<void> {
    const { objects, intents, lockWaitMs } = this.#parts
    await this.#running
    const erases = intents.pending(objects.head) > 0
    const waitMs = erases ? Math.max(purgeWaitMs, lockWaitMs) : lockWaitMs
    if (!(await this.#checkpointer.run(waitMs, false))) throw packedElsewhereError()
    this.#succeeded()
  }

  async compact(options: CompactOptions): Promise<void> {
    await this.#take(options, (how) => this.#checkpointer.compact(this.#parts.lockWaitMs, how))
  }

  findUnreachable(options: CompactOptions): Promise<ObjectAmount> {
    return this.#take(options, (how) => {
      return this.#checkpointer.measureUnreachable(this.#parts.lockWaitMs, how)
    })
  }

  /** Starts nothing further, cancels what runs and resolves when it has ended. */
  async stop(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#timer)
    await this.#running
    await this.#asked
  }

  /** The last checkpoint, after `stop`. */
  async finish(): Promise<void> {
    // A process that is packing all this time has the store open, and packs again when it closes.
    await this.#checkpointer.run(this.#parts.lockWaitMs, true)
  }

  /** Releases what a failed release has left. */
  abandon(): void {
    this.#checkpointer.abandon()
  }

  #take<T>(
    { signal, progress }: CompactOptions,
    run: (options: CompactOptions) => Promise<T | undefined>,
  ): Promise<T> {
    const signals = [this.#closing.signal, ...(signal === undefined ? [] : [signal])]
    const work = this.#runAsked(() => run({ signal: AbortSignal.any(signals), progress }))
    const earlier = this.#asked
    this.#asked = work.then(
      () => earlier,
      () => earlier,
    )
    return work
  }

  /** `run` resolves to undefined if another process packs for too long; this throws `locked`. */
  async #runAsked<T>(run: () => Promise<T | undefined>): Promise<T> {
    await this.#running
    const result = await run()
    if (result === undefined) throw packedElsewhereError()
    this.#succeeded()
    // Writers continued in the meantime.
    this.schedule()
    return result
  }

  #succeeded(): void {
    clearTimeout(this.#timer)
    this.#error = undefined
    this.#framesAfterLast = 0
  }

  #start(): void {
    this.#running ??= this.#runInBackground().finally(() => {
      this.#running = undefined
    })
  }

  /** Nothing is done if another process packs. */
  async #runInBackground(): Promise<void> {
    try {
      await this.#checkpointer.run(0, false)
      this.#error = undefined
    } catch (error) {
      this.#error =
        error instanceof StoreError
          ? error
          : new StoreError('storage_failed', 'The journal could not be packed', { cause: error })
    }
    const { journal, packs } = this.#parts.objects
    this.#framesAfterLast = this.#error === undefined ? 0 : journal.liveFrames.length
    this.#packsAfterLast = packs.size
  }
}

function packedElsewhereError(): StoreError {
  return new StoreError('locked', 'Another process is packing the store: try again later')
}
