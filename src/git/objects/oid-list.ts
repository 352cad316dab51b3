// A set of oids as one sorted buffer of twenty bytes each: a rewrite of a long history erases
// hundreds of thousands, and strings would take ten times the memory. Pure. Also owns how this
// engine sorts long columns: natively, without a comparison function in JavaScript.

import { assert } from '../../errors.ts'
import { Bytes } from '../../platform/bytes.ts'
import type { Oid } from './object.ts'

export const oidBytes: number = 20

/** Negative if the oid at `aStart` of `a` is the lower one. Four bytes nearly always decide. */
export function compareOids(a: Bytes, aStart: number, b: Bytes, bStart: number): number {
  const difference = a.readUInt32BE(aStart) - b.readUInt32BE(bStart)
  if (difference !== 0) return difference
  return a.compare(b, bStart, bStart + oidBytes, aStart, aStart + oidBytes)
}

// A sort key of 64 bits: the value in the high bits, its row in the low ones.
const rowBits = 26
const rowsMax = 2 ** rowBits
const valueMax = 2 ** 38
const valuesPerHigh = 2 ** (32 - rowBits)

export class OidList {
  /** Sorted ascending, without duplicates. */
  readonly bytes: Bytes
  readonly count: number

  static of(oids: Iterable<Oid>): OidList {
    const collector = new OidCollector()
    for (const oid of oids) collector.add(oid)
    return collector.finish()
  }

  /** Sorts twenty-byte oids in any order, and removes duplicates. */
  static sorted(bytes: Uint8Array): OidList {
    const source = viewOf(bytes)
    const count = source.length / oidBytes
    const prefixes = new Float64Array(count)
    for (let n = 0; n < count; n += 1) {
      // The first 38 bits: of a million oids, hardly two share them.
      prefixes[n] = Math.floor(source.readUIntBE(n * oidBytes, 5) / 4)
    }
    const order = sortedRows(prefixes)
    settleTies(order, prefixes, source)
    const target = Bytes.alloc(source.length)
    let filled = 0
    for (const row of order) {
      const at = row * oidBytes
      if (
        filled > 0 &&
        source.compare(target, filled - oidBytes, filled, at, at + oidBytes) === 0
      ) {
        continue
      }
      source.copy(target, filled, at, at + oidBytes)
      filled += oidBytes
    }
    return new OidList(target.subarray(0, filled))
  }

  /** `bytes` must be sorted, without duplicates. */
  constructor(bytes: Uint8Array) {
    this.bytes = viewOf(bytes)
    this.count = bytes.length / oidBytes
    assert(Number.isInteger(this.count), 'an oid has 20 bytes')
  }

  hasOid(oid: Oid): boolean {
    return this.has(Bytes.from(oid, 'hex'))
  }

  /** `oid` has 20 bytes. */
  has(oid: Uint8Array): boolean {
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      const at = middle * oidBytes
      const order = this.bytes.compare(oid, 0, oidBytes, at, at + oidBytes)
      if (order === 0) return true
      if (order < 0) low = middle + 1
      else high = middle
    }
    return false
  }

  isAscending(): boolean {
    for (let at = oidBytes; at < this.bytes.length; at += oidBytes) {
      const before = at - oidBytes
      if (this.bytes.compare(this.bytes, at, at + oidBytes, before, at) >= 0) return false
    }
    return true
  }
}

/** The common part of a `Set` of oids and an `OidSet`. */
export interface Oids extends Iterable<Oid> {
  readonly size: number
  has(oid: Oid): boolean
}

/** A set of oids with twenty bytes each; strings would take ten times the memory. */
export class OidSet implements Oids {
  readonly list: OidList

  constructor(list: OidList) {
    this.list = list
  }

  get size(): number {
    return this.list.count
  }

  has(oid: Oid): boolean {
    return this.list.hasOid(oid)
  }

  /** In ascending order. */
  *[Symbol.iterator](): Generator<Oid> {
    const { bytes } = this.list
    for (let at = 0; at < bytes.length; at += oidBytes) {
      yield bytes.toString('hex', at, at + oidBytes)
    }
  }
}

/** The same oids as a list, without a copy where there is one. */
export function listOf(oids: Oids): OidList {
  return oids instanceof OidSet ? oids.list : OidList.of(oids)
}

/** One in this number of lookups of absent oids reaches the list. */
const bitsPerOid = 16
const probeBitsMin = 1024

/**
 * Answers millions of lookups of oids that the list rarely has: a bit per prefix of an oid rules
 * out nearly all of them without a search.
 */
export class OidProbe {
  readonly #list: OidList
  readonly #bits: Uint8Array
  readonly #shift: number

  constructor(list: OidList) {
    this.#list = list
    const width = Math.ceil(Math.log2(Math.max(probeBitsMin, bitsPerOid * list.count)))
    this.#shift = 32 - Math.min(32, width)
    this.#bits = new Uint8Array(2 ** (29 - this.#shift))
    for (let at = 0; at < list.bytes.length; at += oidBytes) {
      const bit = this.#bitOf(list.bytes, at)
      this.#bits[bit >>> 3] = (this.#bits[bit >>> 3] ?? 0) | (1 << (bit & 7))
    }
  }

  /** `oid` has 20 bytes. */
  has(oid: Uint8Array): boolean {
    const bit = this.#bitOf(oid, 0)
    const isLikely = ((this.#bits[bit >>> 3] ?? 0) & (1 << (bit & 7))) !== 0
    return isLikely && this.#list.has(oid)
  }

  /** The first bits of an oid, which is a hash. */
  #bitOf(bytes: Uint8Array, at: number): number {
    const high = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
    const low = ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)
    return ((high << 16) | low) >>> this.#shift
  }
}

/** Collects oids; `finish` makes the list. */
export class OidCollector {
  #bytes: Bytes = Bytes.alloc(64 * oidBytes)
  #length = 0

  /** Duplicates are allowed. */
  add(oid: Oid): void {
    if (this.#length === this.#bytes.length) {
      const bytes = Bytes.alloc(2 * this.#bytes.length)
      this.#bytes.copy(bytes)
      this.#bytes = bytes
    }
    this.#length += this.#bytes.write(oid, this.#length, oidBytes, 'hex')
  }

  finish(): OidList {
    return OidList.sorted(this.#bytes.subarray(0, this.#length))
  }
}

/** The row numbers of a column of integers below 2^38, sorted by value. */
export function sortedRows(column: Float64Array): Uint32Array {
  const sorted = new SortedColumn(column.slice())
  const rows = new Uint32Array(sorted.length)
  for (let rank = 0; rank < rows.length; rank += 1) rows[rank] = sorted.rowAt(rank)
  return rows
}

/** The same, in place: it overwrites the column's memory. */
export class SortedColumn {
  readonly length: number
  /** Each key as two halves, so that no BigInt is made. Little-endian, as Node.js always is. */
  readonly #halves: Uint32Array

  constructor(column: Float64Array) {
    const { buffer, byteOffset, length } = column
    assert(length <= rowsMax, 'too many rows to sort')
    this.length = length
    this.#halves = new Uint32Array(buffer, byteOffset, 2 * length)
    for (let row = 0; row < length; row += 1) {
      const value = column[row] ?? 0
      assert(value < valueMax, 'a number is too large to sort by')
      const high = Math.floor(value / valuesPerHigh)
      this.#halves[2 * row] = ((value - high * valuesPerHigh) * rowsMax + row) >>> 0
      this.#halves[2 * row + 1] = high
    }
    new BigUint64Array(buffer, byteOffset, length).sort()
  }

  /** Rank 0 is the smallest value. */
  rowAt(rank: number): number {
    return (this.#halves[2 * rank] ?? 0) & (rowsMax - 1)
  }

  valueAt(rank: number): number {
    const low = this.#halves[2 * rank] ?? 0
    const high = this.#halves[2 * rank + 1] ?? 0
    return high * valuesPerHigh + (low >>> rowBits)
  }
}

/** Rows that share a prefix are few and adjacent: insertion sort orders them. */
function settleTies(order: Uint32Array, prefixes: Float64Array, source: Bytes): void {
  const compare = (a: number, b: number): number => {
    const [left, right] = [a * oidBytes, b * oidBytes]
    return source.compare(source, right, right + oidBytes, left, left + oidBytes)
  }
  for (let n = 1; n < order.length; n += 1) {
    const row = order[n] ?? 0
    let index = n
    while (index > 0) {
      const before = order[index - 1] ?? 0
      if (prefixes[before] !== prefixes[row] || compare(before, row) <= 0) break
      order[index] = before
      index -= 1
    }
    order[index] = row
  }
}

function viewOf(bytes: Uint8Array): Bytes {
  return Bytes.from(bytes.buffer, bytes.byteOffset, bytes.length)
}
