// The open stores of a server. Each is opened once, when it is wanted, and closed when it has not
// been used for a while, when others need its place, or when the process holds too many bytes; but
// never while someone uses it. Must not know what stores are used for.

import { memoryUsage } from 'node:process'
import { StoreError } from '../errors.ts'
import { MEBIBYTE } from '../limits.ts'
import type { MemoryStore } from '../store/memory-store.ts'

export interface StorePoolOptions {
  /** Opens the store of this id, and refuses any other in its place. */
  readonly open: (storeId: string) => Promise<MemoryStore>
  /** 200 by default. */
  readonly maxOpen?: number | undefined
  /** The most memory of the process, all of Node.js included; 512 MiB by default. */
  readonly maxBytes?: number | undefined
  /** How long a store remains open that no one uses; a minute by default. */
  readonly idleMs?: number | undefined
  /** What the process holds; replaced in tests. */
  readonly bytesHeld?: (() => number) | undefined
}

const maxOpenDefault = 200
export const maxBytesDefault: number = 512 * MEBIBYTE
const idleMsDefault = 60_000
/** Opening is work of this thread alone: more at a time are no faster, and hold more. */
const openingMax = 4
/** How many stores may be open at first, until their cost is known. */
const capacityAtFirst = 16
const samplingMs = 250
/** The samples to skip after stores were closed: their memory is freed by the next collections. */
const patience = 4
/** Of `maxBytes`: above it, stores are closed. */
const highShare = 0.8
/** The further memory that a process may need until that shows: writes to many stores at once. */
const marginBytes = 96 * MEBIBYTE
/** The share of the bytes above which stores are closed: above it, no further store is opened. */
const lowShare = 0.8

export class StorePool {
  readonly #options: StorePoolOptions
  /** By id: what new uses join. */
  readonly #joinable = new Map<string, PooledStore>()
  /** The one that waits longest is first. */
  readonly #waiting = new Set<PooledStore>()
  /** Opening or open; the least recently used is first. */
  readonly #open = new Set<PooledStore>()
  /** By id: no longer joined, and closed as soon as no one uses it. */
  readonly #leaving = new Map<string, PooledStore>()
  readonly #forgotten = new Set<string>()
  /** How many may be open now: fewer than `maxOpen` while the process holds too many bytes. */
  #capacity: number
  #opening = 0
  #sampling: NodeJS.Timeout | undefined
  /** How many samples to let pass before more stores are closed. */
  #wait = 0
  #closing: Promise<void> | undefined

  constructor(options: StorePoolOptions) {
    this.#options = options
    this.#capacity = Math.min(capacityAtFirst, options.maxOpen ?? maxOpenDefault)
  }

  /** How many stores are open or opening, or being closed. */
  get size(): number {
    return this.#open.size + this.#leaving.size
  }

  /**
   * Works with a store, which remains open in the meantime. `work` must not use the pool itself: it
   * could wait for its own place. Throws what opening throws, `not_found` for a store that is being
   * forgotten, `store_closed` after `close`.
   */
  async use<T>(storeId: string, work: (store: MemoryStore) => Promise<T>): Promise<T> {
    const pooled = this.#join(storeId)
    try {
      return await work(await pooled.opened)
    } finally {
      this.#release(pooled)
    }
  }

  /**
   * Works with a store that may be closed at any time, if others need its place: `work` then gets
   * `store_closed` from it. It is not closed for lack of use. Throws as `use` does.
   */
  async follow<T>(storeId: string, work: (store: MemoryStore) => Promise<T>): Promise<T> {
    const pooled = this.#join(storeId)
    pooled.followers += 1
    try {
      const store = await pooled.opened.finally(() => this.#release(pooled))
      return await work(store)
    } finally {
      pooled.followers -= 1
      this.#rest(pooled)
    }
  }

  /**
   * Closes a store once no one uses it, then runs `erase`; until that has ended, every new use is
   * refused. Throws `not_found` if it is being forgotten already.
   */
  async forget(storeId: string, erase?: () => Promise<void>): Promise<void> {
    this.#checkWanted(storeId)
    this.#forgotten.add(storeId)
    try {
      const pooled = this.#joinable.get(storeId)
      if (pooled?.users === 0) this.#retire(pooled)
      await (pooled ?? this.#leaving.get(storeId))?.gone
      await erase?.()
    } finally {
      this.#forgotten.delete(storeId)
    }
  }

  /** Refuses new uses, waits for those that were accepted, and closes every store. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    clearInterval(this.#sampling)
    const all = [...this.#waiting, ...this.#open, ...this.#leaving.values()]
    for (const pooled of this.#open) if (pooled.users === 0) this.#retire(pooled)
    await Promise.all(all.map(({ gone }) => gone))
  }

  #checkWanted(storeId: string): void {
    if (this.#closing !== undefined) {
      throw new StoreError('store_closed', 'The server is stopping; try again later')
    }
    if (this.#forgotten.has(storeId)) throw new StoreError('not_found', 'The store is deleted')
  }

  #join(storeId: string): PooledStore {
    this.#checkWanted(storeId)
    const pooled = this.#joinable.get(storeId) ?? new PooledStore(storeId)
    if (!this.#joinable.has(storeId)) {
      this.#joinable.set(storeId, pooled)
      this.#waiting.add(pooled)
    }
    pooled.users += 1
    clearTimeout(pooled.idle)
    this.#touch(pooled)
    this.#makeRoom()
    return pooled
  }

  #release(pooled: PooledStore): void {
    pooled.users -= 1
    if (pooled.users > 0) return
    if (this.#open.has(pooled)) {
      this.#touch(pooled)
      const { storeId } = pooled
      if (this.#closing !== undefined || this.#forgotten.has(storeId)) this.#retire(pooled)
      else this.#rest(pooled)
    } else if (this.#leaving.get(pooled.storeId) === pooled) void this.#shut(pooled)
    this.#makeRoom()
  }

  /** Closes it after a while, unless someone uses or follows it by then. */
  #rest(pooled: PooledStore): void {
    clearTimeout(pooled.idle)
    if (pooled.users > 0 || pooled.followers > 0 || !this.#open.has(pooled)) return
    const { idleMs = idleMsDefault } = this.#options
    pooled.idle = setTimeout(() => this.#retire(pooled), idleMs).unref()
  }

  #touch(pooled: PooledStore): void {
    if (this.#open.delete(pooled)) this.#open.add(pooled)
  }

  /** Opens waiting stores, and closes idle ones for them. */
  #makeRoom(): void {
    for (const pooled of this.#waiting) {
      if (this.#opening >= openingMax || this.size >= this.#capacity) break
      // Opened when its predecessor has left: until then it would keep a place from others.
      if (this.#leaving.has(pooled.storeId)) continue
      this.#waiting.delete(pooled)
      this.#open.add(pooled)
      void this.#start(pooled)
    }
    let surplus = this.#open.size + this.#waiting.size - this.#capacity
    if (surplus <= 0) return
    for (const pooled of this.#open) {
      if (surplus <= 0) return
      if (pooled.users > 0) continue
      this.#retire(pooled)
      surplus -= 1
    }
    // All are in use. Some accept no more users: or else, who waits might wait for ever.
    let needed = Math.min(this.#waiting.size - this.#leaving.size, surplus)
    for (const pooled of this.#open) {
      if (needed <= 0) return
      if (!pooled.isOpen) continue
      this.#retire(pooled)
      needed -= 1
    }
  }

  async #start(pooled: PooledStore): Promise<void> {
    const { storeId } = pooled
    this.#opening += 1
    this.#sampling ??= setInterval(() => this.#sample(), samplingMs).unref()
    try {
      await pooled.start(() => this.#options.open(storeId))
    } catch {
      // Not remembered: the next use tries again. Those who wait are told.
      this.#open.delete(pooled)
      this.#joinable.delete(storeId)
      pooled.end()
    }
    this.#opening -= 1
    this.#makeRoom()
  }

  /** No one joins it from now on. */
  #retire(pooled: PooledStore): void {
    const { storeId } = pooled
    this.#open.delete(pooled)
    this.#joinable.delete(storeId)
    this.#leaving.set(storeId, pooled)
    if (pooled.users === 0) void this.#shut(pooled)
  }

  async #shut(pooled: PooledStore): Promise<void> {
    await pooled.close()
    this.#leaving.delete(pooled.storeId)
    pooled.end()
    if (this.size === 0) {
      clearInterval(this.#sampling)
      this.#sampling = undefined
    }
    this.#makeRoom()
  }

  /**
   * What a store costs is known only of all together, and is freed only at the next collection. So
   * the number of open stores falls fast while the process holds too much, and rises slowly.
   */
  #sample(): void {
    const { maxBytes = maxBytesDefault, maxOpen = maxOpenDefault } = this.#options
    const most = Math.min(highShare * maxBytes, maxBytes - marginBytes)
    const held = this.#held() / Math.max(most, maxBytes / 2)
    const more = this.#capacity + Math.ceil(this.#capacity / 8)
    if (held < lowShare) this.#capacity = Math.min(maxOpen, more)
    if (this.#wait > 0) this.#wait -= 1
    else if (held > 1) {
      this.#wait = patience
      const kept = Math.min(this.#capacity, this.size) * Math.min(0.75, held ** -2)
      this.#capacity = Math.max(1, Math.floor(kept))
    }
    this.#makeRoom()
  }

  #held(): number {
    return this.#options.bytesHeld?.() ?? memoryUsage.rss()
  }
}

export class PooledStore {
  /** `memstore_…` */
  readonly storeId: string
  /** The requests that use it, or wait until it is open. */
  users = 0
  /** Those that learn of its changes as long as it is open. */
  followers = 0
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
