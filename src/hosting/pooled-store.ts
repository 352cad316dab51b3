// One store in the pool: waiting for a place, opening, open, or leaving. Must not decide which.

import type { MemoryStore } from '../store/memory-store.ts'

export class PooledStore {
  /** `memstore_…` */
  readonly storeId: string
  /** The requests that use it, or wait until it is open. */
  users = 0
  /** Rejects if it cannot be opened. */
  readonly opened: Promise<MemoryStore>
  /** Resolves when it is closed, or could not be opened. */
  readonly gone: Promise<void>
  /** Closes it when no one has used it for a while. */
  idle: NodeJS.Timeout | undefined
  #store: MemoryStore | undefined
  #settle: ((opening: Promise<MemoryStore>) => void) | undefined
  #finish: (() => void) | undefined

  constructor(storeId: string) {
    this.storeId = storeId
    this.opened = new Promise((resolve) => {
      this.#settle = resolve
    })
    this.gone = new Promise((resolve) => {
      this.#finish = resolve
    })
    // Anyone who uses it is told; no one may be left that does.
    this.opened.catch(() => undefined)
  }

  get isOpen(): boolean {
    return this.#store !== undefined
  }

  /** Throws what `open` throws. */
  async start(open: () => Promise<MemoryStore>): Promise<void> {
    const opening = open()
    this.#settle?.(opening)
    this.#store = await opening
  }

  /** A failure loses nothing: acknowledged changes are durable, and the next opening finds them. */
  async close(): Promise<void> {
    clearTimeout(this.idle)
    await this.#store?.close().catch(() => undefined)
  }

  /** Once it holds no place any more. */
  end(): void {
    this.#finish?.()
  }
}
