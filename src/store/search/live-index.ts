// The index of an open store, in RAM alone: made when it is first used, brought up to date at each
// use, and dropped as a whole once a version is redacted, the store is closed or other caches need
// the RAM. Deleted and replaced versions leave it when they are half of it.

import { Gate } from '../../async.ts'
import type { CacheBudget, CacheShare } from '../../cache-budget.ts'
import type { TimeSlice } from '../../time-slice.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { Collection } from './sources.ts'
import { slotsMax, TermIndex } from './term-index.ts'

/** With fewer removed documents it is not worthwhile to start over. */
const GONE_MIN = 1024

/**
 * Thrown by `add` if the index was emptied concurrently, or takes more RAM than all of them may.
 */
class IndexLost extends Error {}

export class LiveIndex implements Collection<LiveMemory> {
  readonly #share: CacheShare
  readonly #gate = new Gate()
  /** False once it was emptied: texts read for it may be redacted by now. */
  #isFilling = false
  #isTooLarge = false
  #terms = new TermIndex<LiveMemory>()

  constructor(budget: CacheBudget) {
    this.#share = budget.share(() => this.clear())
  }

  get size(): number {
    return this.#terms.size
  }

  /** The versions whose texts it has terms of, ids in hex. */
  get versionIds(): readonly string[] {
    return this.#terms.versionIds
  }

  keys(): Iterable<string> {
    return this.#terms.keys()
  }

  find(key: string): LiveMemory | undefined {
    return this.#terms.find(key)
  }

  async add(key: string, document: LiveMemory, content: string, slice: TimeSlice): Promise<void> {
    if (this.#isFilling) await this.#terms.add(key, document, content, slice)
    if (!this.#isFilling) throw new IndexLost()
    const more = this.#terms.bytes - this.#share.bytes
    if (this.versionIds.length < slotsMax && (more <= 0 || this.#share.grow(more))) return
    this.#isTooLarge = true
    this.clear()
    throw new IndexLost()
  }

  remove(key: string): void {
    this.#terms.remove(key)
  }

  /**
   * One search after the other, so that none changes what another one ranks. Undefined if there is
   * no room for the index, or if it was emptied concurrently.
   */
  use<T>(work: (terms: TermIndex<LiveMemory>) => Promise<T>): Promise<T | undefined> {
    return this.#gate.run(async () => {
      if (this.#isTooLarge) return undefined
      const gone = this.versionIds.length - this.size
      if (gone > GONE_MIN && gone > this.size) this.clear()
      this.#share.touch()
      this.#isFilling = true
      try {
        const result = await work(this.#terms)
        return this.#isFilling ? result : undefined
      } catch (error) {
        if (error instanceof IndexLost) return undefined
        throw error
      } finally {
        this.#isFilling = false
      }
    })
  }

  /** At once: nothing of any text is left in RAM. */
  clear(): void {
    this.#isFilling = false
    this.#terms.clear()
    this.#share.shrink(this.#share.bytes)
  }
}
