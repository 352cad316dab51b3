// What checking a pack of a remote may cost, in bytes: those that the check inflates, copies and
// hashes, and those that reading each object once will. Bounded by the bytes that were sent, since
// anyone who sends them needs no key. Counts, and ends the work; must not know what is done.

import type { WorkWatch } from '../../async.ts'
import { assert, StoreError } from '../../errors.ts'
import { MEBIBYTE, packWorkBytesMin, packWorkMax } from '../../limits.ts'
import { corruptPack } from './pack-entry.ts'

/** How much is done before the watch is asked again. */
const tickBytes = MEBIBYTE

export class WorkBudget {
  readonly #watch: WorkWatch
  readonly #sizeFor: ((wanted: number) => number) | undefined
  #bytesMax: number
  #spent = 0
  #asked = 0

  /** For a pack of `packBytes` bytes, or for one that comes (see `PackBytes.sizeFor`). */
  constructor(packBytes: number | ((wanted: number) => number), watch: WorkWatch) {
    this.#sizeFor = typeof packBytes === 'number' ? undefined : packBytes
    this.#bytesMax = boundOf(typeof packBytes === 'number' ? packBytes : 0)
    this.#watch = watch
  }

  get bytesMax(): number {
    return this.#bytesMax
  }

  get spent(): number {
    return this.#spent
  }

  /** Call it before the work where that is possible. Throws `pack_corrupt` or `cancelled`. */
  spend(bytes: number): void {
    assert(bytes >= 0, 'work is never given back')
    this.#spent += bytes
    if (this.#spent > this.#bytesMax) this.#raise()
    if (this.#spent - this.#asked < tickBytes) return
    this.#asked = this.#spent
    if (this.#watch.isCancelled()) throw new StoreError('cancelled', 'The check was cancelled')
  }

  /** Waits for as much of the pack as allows the work: the verdict must not depend on its pace. */
  #raise(): void {
    this.#bytesMax = boundOf(this.#sizeFor?.(Math.ceil(this.#spent / packWorkMax)) ?? 0)
    if (this.#spent > this.#bytesMax) throw corruptPack('it takes more work than any history')
  }
}

function boundOf(packBytes: number): number {
  return Math.max(packWorkBytesMin, packBytes * packWorkMax)
}
