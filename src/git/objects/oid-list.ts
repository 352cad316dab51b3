// A set of object names as one sorted buffer, twenty bytes each: a rewrite of a long history leaves
// hundreds of thousands, which as strings would take ten times the room. Pure. Also owns the one
// way in which this engine sorts long columns: natively, without a comparison in JavaScript.

import { assert } from '../../errors.ts'
import type { Oid } from './object.ts'

export const oidBytes: number = 20

// A key of 64 bits: the value above, the row that it came from below.
const rowBits = 26
const rowsMax = 2 ** rowBits
const valueMax = 2 ** 38
const valuesPerHigh = 2 ** (32 - rowBits)

export class OidList {
  /** Ascending, each once. */
  readonly bytes: Buffer
  readonly count: number

  static of(oids: Iterable<Oid>): OidList {
    const collector = new OidCollector()
    for (const oid of oids) collector.add(oid)
    return collector.finish()
  }

  /** Twenty bytes each, in any order, also repeated. */
  static sorted(bytes: Uint8Array): OidList {
    const source = viewOf(bytes)
    const count = source.length / oidBytes
    const prefixes = new Float64Array(count)
    for (let n = 0; n < count; n += 1) {
      // The first 38 bits: two oids of a million rarely share them.
      prefixes[n] = Math.floor(source.readUIntBE(n * oidBytes, 5) / 4)
    }
    const order = sortedRows(prefixes)
    settleTies(order, prefixes, source)
    const target = Buffer.alloc(source.length)
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

  /** `bytes` must be sorted, without repetitions. */
  constructor(bytes: Uint8Array) {
    this.bytes = viewOf(bytes)
    this.count = bytes.length / oidBytes
    assert(Number.isInteger(this.count), 'an oid has 20 bytes')
  }

  hasOid(oid: Oid): boolean {
    return this.has(Buffer.from(oid, 'hex'))
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

/** Grows, and answers nothing before it is finished. */
export class OidCollector {
  #bytes: Buffer = Buffer.alloc(64 * oidBytes)
  #length = 0

  /** Also repeatedly. */
  add(oid: Oid): void {
    if (this.#length === this.#bytes.length) {
      const bytes = Buffer.alloc(2 * this.#bytes.length)
      this.#bytes.copy(bytes)
      this.#bytes = bytes
    }
    this.#length += this.#bytes.write(oid, this.#length, oidBytes, 'hex')
  }

  finish(): OidList {
    return OidList.sorted(this.#bytes.subarray(0, this.#length))
  }
}

/** The rows of a column of whole numbers below 2^38, by ascending number. */
export function sortedRows(column: Float64Array): Uint32Array {
  const sorted = new SortedColumn(column.slice())
  const rows = new Uint32Array(sorted.length)
  for (let rank = 0; rank < rows.length; rank += 1) rows[rank] = sorted.rowAt(rank)
  return rows
}

/** The same in the memory of the column itself, which holds something else from then on. */
export class SortedColumn {
  readonly length: number
  /** Two halves of each key, so that no BigInt is ever made. Little-endian, as every Node.js is. */
  readonly #words: Uint32Array

  constructor(column: Float64Array) {
    const { buffer, byteOffset, length } = column
    assert(length <= rowsMax, 'too many rows to sort')
    this.length = length
    this.#words = new Uint32Array(buffer, byteOffset, 2 * length)
    for (let row = 0; row < length; row += 1) {
      const value = column[row] ?? 0
      assert(value < valueMax, 'a number is too large to sort by')
      const high = Math.floor(value / valuesPerHigh)
      this.#words[2 * row] = ((value - high * valuesPerHigh) * rowsMax + row) >>> 0
      this.#words[2 * row + 1] = high
    }
    new BigUint64Array(buffer, byteOffset, length).sort()
  }

  /** Ranks count from 0, from the smallest number on. */
  rowAt(rank: number): number {
    return (this.#words[2 * rank] ?? 0) & (rowsMax - 1)
  }

  valueAt(rank: number): number {
    const low = this.#words[2 * rank] ?? 0
    const high = this.#words[2 * rank + 1] ?? 0
    return high * valuesPerHigh + (low >>> rowBits)
  }
}

/** Rows with one prefix are few and next to each other: insertion puts them right. */
function settleTies(order: Uint32Array, prefixes: Float64Array, source: Buffer): void {
  const compare = (a: number, b: number): number => {
    const [left, right] = [a * oidBytes, b * oidBytes]
    return source.compare(source, right, right + oidBytes, left, left + oidBytes)
  }
  for (let n = 1; n < order.length; n += 1) {
    const row = order[n] ?? 0
    let place = n
    while (place > 0) {
      const before = order[place - 1] ?? 0
      if (prefixes[before] !== prefixes[row] || compare(before, row) <= 0) break
      order[place] = before
      place -= 1
    }
    order[place] = row
  }
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}
