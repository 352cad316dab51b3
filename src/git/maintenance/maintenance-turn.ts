// One repack, or one measurement of unreachable objects, of a handle: waits for a running
// background checkpoint, and is cancelled when the handle closes. Must not know packs.

import { StoreError } from '../../errors.ts'
import type { CompactOptions } from '../object-store.ts'
import type { BackgroundCheckpoint } from './background-checkpoint.ts'

export class MaintenanceTurn {
  readonly #background: BackgroundCheckpoint
  readonly #closing = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(background: BackgroundCheckpoint) {
    this.#background = background
  }

  /**
   * Runs `run`, which resolves to undefined if another process packs for too long; this then throws
   * `locked`. Throws `cancelled`, and what `run` throws.
   */
  take<T>(
    { signal, progress }: CompactOptions,
    run: (options: CompactOptions) => Promise<T | undefined>,
  ): Promise<T> {
    const signals = [this.#closing.signal, ...(signal === undefined ? [] : [signal])]
    const work = this.#work({ signal: AbortSignal.any(signals), progress }, run)
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

  async #work<T>(
    options: CompactOptions,
    run: (options: CompactOptions) => Promise<T | undefined>,
  ): Promise<T> {
    await this.#background.settled()
    const result = await run(options)
    if (result === undefined) throw packedElsewhereError()
    this.#background.succeeded()
    // Writers continued in the meantime.
    this.#background.schedule()
    return result
  }
}

export function packedElsewhereError(): StoreError {
  return new StoreError('locked', 'Another process is packing the store: try again later')
}
