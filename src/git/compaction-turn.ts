// A compaction from the point of view of the handle that was asked for one: waits for what packs
// already, and ends early if the handle closes, which has to wait for it. Must not know packs.

import { StoreError } from '../errors.ts'
import type { BackgroundCheckpoint } from './background-checkpoint.ts'
import type { CompactOptions } from './object-store.ts'

export class CompactionTurn {
  readonly #background: BackgroundCheckpoint
  readonly #run: (options: CompactOptions) => Promise<boolean>
  readonly #closing = new AbortController()
  #running: Promise<void> = Promise.resolve()

  /** `run` resolves to false if another process packs for too long. */
  constructor(
    background: BackgroundCheckpoint,
    run: (options: CompactOptions) => Promise<boolean>,
  ) {
    this.#background = background
    this.#run = run
  }

  /** Throws `locked`, `cancelled`, or what the compaction throws. */
  take({ signal, progress }: CompactOptions): Promise<void> {
    const signals = [this.#closing.signal, ...(signal === undefined ? [] : [signal])]
    const work = this.#compact({ signal: AbortSignal.any(signals), progress })
    const earlier = this.#running
    this.#running = work.then(
      () => earlier,
      () => earlier,
    )
    return work
  }

  /** Cancels what runs and resolves when it has ended; never throws. */
  async stop(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #compact(options: CompactOptions): Promise<void> {
    await this.#background.settled()
    if (!(await this.#run(options))) throw packedElsewhereError()
    this.#background.succeeded()
    // Writers went on meanwhile.
    this.#background.schedule()
  }
}

export function packedElsewhereError(): StoreError {
  return new StoreError('locked', 'Another process is packing the store: try again later')
}
