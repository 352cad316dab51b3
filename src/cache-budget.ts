// The bytes that caches may hold together, however many stores are open: of the cache that was used
// longest ago, the oldest entries go first. Knows only caches that hold something, so that a closed
// store leaves nothing behind. Must not know what they hold.

import { MEBIBYTE } from './limits.ts'

export class CacheBudget {
  readonly #bytesMax: number
  #bytes = 0
  #uses = 0
  readonly #holding: Set<CacheShare> = new Set()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  /** `shed(bytes)` evicts the oldest entries until `bytes` are free or none is left. */
  share(shed: (bytes: number) => void): CacheShare {
    return new CacheShare(this, shed)
  }

  /** For the shares: the time of a use. */
  nextUse(): number {
    this.#uses += 1
    return this.#uses
  }

  /** For the shares: whether the others could make room. */
  take(share: CacheShare, bytes: number): boolean {
    if (bytes > this.#bytesMax) return false
    while (this.#bytes + bytes > this.#bytesMax) {
      const oldest = this.#oldestBut(share)
      if (oldest === undefined) return false
      oldest.shed(this.#bytes + bytes - this.#bytesMax)
    }
    this.#bytes += bytes
    this.#holding.add(share)
    return true
  }

  giveBack(share: CacheShare, bytes: number): void {
    this.#bytes -= bytes
    if (share.bytes === 0) this.#holding.delete(share)
  }

  #oldestBut(share: CacheShare): CacheShare | undefined {
    let oldest: CacheShare | undefined
    for (const other of this.#holding) {
      if (other !== share && other.lastUse < (oldest?.lastUse ?? Infinity)) oldest = other
    }
    return oldest
  }
}

export class CacheShare {
  readonly #budget: CacheBudget
  readonly #shed: (bytes: number) => void
  #bytes = 0
  #lastUse = 0

  /** @internal Use `CacheBudget.share`. */
  constructor(budget: CacheBudget, shed: (bytes: number) => void) {
    this.#budget = budget
    this.#shed = shed
  }

  get bytes(): number {
    return this.#bytes
  }

  get lastUse(): number {
    return this.#lastUse
  }

  /** Call at each use of the cache: those that are not used give up their bytes first. */
  touch(): void {
    this.#lastUse = this.#budget.nextUse()
  }

  /** False, and nothing has changed here, if this cache would have to give up bytes itself. */
  grow(bytes: number): boolean {
    this.touch()
    if (!this.#budget.take(this, bytes)) return false
    this.#bytes += bytes
    return true
  }

  shrink(bytes: number): void {
    this.#bytes -= bytes
    this.#budget.giveBack(this, bytes)
  }

  /** For the budget. A cache that gives up too little gives up its share all the same. */
  shed(bytes: number): void {
    const wanted = Math.max(0, this.#bytes - bytes)
    this.#shed(bytes)
    if (this.#bytes > wanted) this.shrink(this.#bytes)
  }
}

/** Shared by all stores that this process opens without a budget of their own. */
export const cachesOfProcess: CacheBudget = new CacheBudget(64 * MEBIBYTE)
/** The same, of indexes for searches: one that does not fit is worth nothing. */
export const indexesOfProcess: CacheBudget = new CacheBudget(256 * MEBIBYTE)
