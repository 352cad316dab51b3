// The entries of a pack in file order, which an index knows only by oid. One typed column, so that
// a million entries take eight megabytes. Pure.

import { SortedColumn } from '../objects/oid-list.ts'
import { packTrailerBytes } from './pack-entry.ts'
import type { Pack } from './pack.ts'

/** Ranks count entries from 0, by ascending offset; positions are those of the index. */
export class PackLayout {
  readonly #sorted: SortedColumn
  readonly #end: number

  constructor({ index, bytes }: Pack) {
    const column = new Float64Array(index.count)
    for (let n = 0; n < column.length; n += 1) column[n] = index.offsetAt(n)
    this.#sorted = new SortedColumn(column)
    this.#end = bytes - packTrailerBytes
  }

  get count(): number {
    return this.#sorted.length
  }

  positionOf(rank: number): number {
    return this.#sorted.rowAt(rank)
  }

  /** The offset of an entry; for the rank after the last one, the end of the entries. */
  offsetOf(rank: number): number {
    return rank < this.#sorted.length ? this.#sorted.valueAt(rank) : this.#end
  }

  /** The rank of the entry at `offset`, searched backwards from `rank`: bases are often near. */
  rankBefore(rank: number, offset: number): number | undefined {
    let high = rank
    let low = rank - 1
    for (let step = 1; low > 0 && this.offsetOf(low) > offset; step *= 2) {
      high = low
      low = Math.max(0, low - step)
    }
    low = Math.max(0, low)
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.offsetOf(middle) < offset) low = middle + 1
      else high = middle
    }
    return this.offsetOf(low) === offset ? low : undefined
  }
}
