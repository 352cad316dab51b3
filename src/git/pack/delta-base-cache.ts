// A cache of trees that were bases of deltas, oldest evicted first: neighbours in a history share
// delta chains. Bounded in bytes, in one ring buffer with numeric columns, since separate objects
// would be garbage for a full collection. Must be cleared when a pack is closed: a key is only a
// pack's serial number and an offset.

import { CacheBudget, type CacheShare } from '../../cache-budget.ts'
import type { GitObject } from '../objects/object.ts'

/** A larger object would evict too many others. */
const objectBytesMax = 65_536
const ringBytesMin = 65_536
/** Roughly the average size of a tree. */
const bytesPerRow = 256
const rowBytes = 20
const rowsMin = 1024
/** A key is in one of this many rows, starting at its first row. */
const rowsPerKey = 4
/** Knuth's multiplicative hashing: 2^32 divided by the golden ratio. */
const multiplier = 0x9e37_79b1
/** A row that was never written must not look like one of the previous lap. */
const firstLap = 2

/** The ring, and a table of its objects. */
interface CacheBuffers {
  readonly ring: Uint8Array
  readonly keys: Float64Array
  readonly starts: Uint32Array
  readonly lengths: Uint32Array
  /** How often the ring had been filled when the row was written. */
  readonly laps: Uint32Array
}

export class DeltaBaseCache {
  readonly #bytesMax: number
  readonly #share: CacheShare
  #memory: CacheBuffers | undefined
  #lap = firstLap
  /** Where the next object is written; later bytes are from the previous lap. */
  #next = 0

  /** Of a job that ends, it has a budget of its own. */
  constructor(bytesMax: number, budget: CacheBudget = new CacheBudget(Infinity)) {
    this.#bytesMax = bytesMax
    this.#share = budget.share(() => this.clear())
  }

  /** A copy. */
  find(key: number): GitObject | undefined {
    const tree = this.view(key)
    return tree && { type: 'tree', body: tree.body.slice() }
  }

  /** Like `find`, but as a view that is valid until the next `add`. */
  view(key: number): GitObject | undefined {
    const memory = this.#memory
    const row = memory && this.#findRow(memory, key)
    if (memory === undefined || row === undefined) return undefined
    this.#share.touch()
    const start = memory.starts[row] ?? 0
    return { type: 'tree', body: memory.ring.subarray(start, start + (memory.lengths[row] ?? 0)) }
  }

  /** Keeps trees only: a store's commits and blobs are never the base of a delta. */
  add(key: number, { type, body }: { readonly type: string; readonly body: Uint8Array }): void {
    if (type !== 'tree' || body.length > Math.min(objectBytesMax, this.#bytesMax)) return
    const memory = this.#withRoomFor(body.length)
    if (memory === undefined || body.length > memory.ring.length) return
    if (this.#findRow(memory, key) !== undefined) return
    if (this.#next + body.length > memory.ring.length) {
      this.#next = 0
      this.#lap += 1
    }
    memory.ring.set(body, this.#next)
    this.#place(memory, key, this.#next, body.length)
    this.#next += body.length
  }

  clear(): void {
    this.#memory = undefined
    this.#share.shrink(this.#share.bytes)
    this.#lap = firstLap
    this.#next = 0
  }

  /**
   * Doubles the ring while it may grow, since most stores need a small part of it. It grows no more
   * once it has wrapped around, so that no object in it ever moves. Undefined if the budget has no
   * room for the smallest.
   */
  #withRoomFor(length: number): CacheBuffers | undefined {
    const old = this.#memory
    if (old !== undefined && this.#lap > firstLap) return old
    let size = old?.ring.length ?? Math.min(ringBytesMin, this.#bytesMax)
    while (size < this.#bytesMax && this.#next + length > size) {
      size = Math.min(2 * size, this.#bytesMax)
    }
    if (old?.ring.length === size) return old
    if (!this.#share.grow(memoryBytes(size) - this.#share.bytes)) return old
    const memory = newMemory(size)
    this.#memory = memory
    if (old === undefined) return memory
    memory.ring.set(old.ring)
    for (const [row, key] of old.keys.entries()) {
      const { starts, lengths } = old
      if (this.#isKept(old, row)) this.#place(memory, key, starts[row] ?? 0, lengths[row] ?? 0)
    }
    return memory
  }

  #place(memory: CacheBuffers, key: number, start: number, length: number): void {
    const row = this.#rowToFill(memory, key)
    memory.keys[row] = key
    memory.starts[row] = start
    memory.lengths[row] = length
    memory.laps[row] = this.#lap
  }

  #findRow(memory: CacheBuffers, key: number): number | undefined {
    const first = firstRow(memory, key)
    for (let n = 0; n < rowsPerKey; n += 1) {
      const row = (first + n) & (memory.keys.length - 1)
      if (memory.keys[row] === key && this.#isKept(memory, row)) return row
    }
    return undefined
  }

  /** A row whose object was overwritten, or else the oldest. */
  #rowToFill(memory: CacheBuffers, key: number): number {
    const first = firstRow(memory, key)
    let oldest = first
    for (let n = 0; n < rowsPerKey; n += 1) {
      const row = (first + n) & (memory.keys.length - 1)
      if (!this.#isKept(memory, row)) return row
      if (isOlder(memory, row, oldest)) oldest = row
    }
    return oldest
  }

  /** Objects of the previous lap remain only after the current position. */
  #isKept({ laps, starts }: CacheBuffers, row: number): boolean {
    const lap = laps[row] ?? 0
    return lap === this.#lap || (lap === this.#lap - 1 && (starts[row] ?? 0) >= this.#next)
  }
}

function firstRow({ keys }: CacheBuffers, key: number): number {
  const word = (key >>> 0) + Math.floor(key / 2 ** 32)
  return Math.imul(word, multiplier) >>> (Math.clz32(keys.length) + 1)
}

function rowsOf(bytes: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(rowsMin, bytes / bytesPerRow)))
}

function memoryBytes(bytes: number): number {
  return bytes + rowsOf(bytes) * rowBytes
}

function newMemory(bytes: number): CacheBuffers {
  const rows = rowsOf(bytes)
  return {
    ring: new Uint8Array(bytes),
    keys: new Float64Array(rows),
    starts: new Uint32Array(rows),
    lengths: new Uint32Array(rows),
    laps: new Uint32Array(rows),
  }
}

function isOlder({ laps, starts }: CacheBuffers, row: number, other: number): boolean {
  const difference = (laps[row] ?? 0) - (laps[other] ?? 0)
  return difference < 0 || (difference === 0 && (starts[row] ?? 0) < (starts[other] ?? 0))
}
