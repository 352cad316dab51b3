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
  readonly bytesMax: number
  readonly #watch: WorkWatch
  #spent = 0
  #asked = 0

  constructor(packBytes: number, watch: WorkWatch) {
    this.bytesMax = Math.max(packWorkBytesMin, packBytes * packWorkMax)
    this.#watch = watch
  }

  get spent(): number {
    return this.#spent
  }

  /** Call it before the work where that is possible. Throws `pack_corrupt` or `cancelled`. */
  spend(bytes: number): void {
    assert(bytes >= 0, 'work is never given back')
    this.#spent += bytes
    if (this.#spent > this.bytesMax) throw corruptPack('it takes more work than any history')
    if (this.#spent - this.#asked < tickBytes) return
    this.#asked = this.#spent
    if (this.#watch.isCancelled()) throw new StoreError('cancelled', 'The check was cancelled')
  }
}
