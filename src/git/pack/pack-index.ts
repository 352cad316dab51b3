// A pack index of version 2 (gitformat-pack): the offset of each object in its pack. Kept and
// searched in the buffer that was read: a hundred thousand changes open in milliseconds. Must not
// read files; paged-index.ts handles large indexes. Sizes and SHA-1 are checked before use.

import { equalBytes } from '../../bytes.ts'
import { Sha1 } from '../../crypto/sha1.ts'
import { assert } from '../../errors.ts'
import { Bytes } from '../../platform/bytes.ts'
import { corruptPack } from './pack-entry.ts'

const signature = 0xff74_4f63
/** The bytes of an oid that sort it nearly always, and how many numbers they and a double hold. */
const PREFIX_BYTES = 6
const PREFIX_MAX = 2 ** 48
const NUMBER_MAX = 2 ** 53
const oidBytes = 20
const fanoutAt = 8
/** Offsets from this value on are stored in a separate table. */
export const largeOffset: number = 0x8000_0000
/** The length of signature, version and fan-out table. */
export const indexHeadBytes: number = fanoutAt + 256 * 4
const oidsAt = indexHeadBytes
/** Positions of an oid that are guessed before its range is bisected. */
const guessesMax = 4
/** The checksums of the pack and of the index. */
export const indexTrailerBytes: number = 40
const trailerBytes = indexTrailerBytes

/** The objects of a pack and their offsets. Positions count from 0, by ascending oid. */
export interface ObjectIndex {
  readonly count: number
  /** The 20-byte trailer of the pack that the index belongs to. */
  readonly packChecksum: Uint8Array
  /** The position of the object with this 20-byte oid. */
  find(oid: Uint8Array): number | undefined
  /** 20 bytes. */
  oidAt(position: number): Uint8Array
  /** The offset of the entry; it may lie outside the pack. */
  offsetAt(position: number): number
  /** The CRC-32 of the entry, header and deflated data. */
  checksumAt(position: number): number
  close(): void
  closeRemoved(): void
}

/** A validated index. */
export class PackIndex implements ObjectIndex {
  readonly count: number
  readonly #bytes: Bytes
  readonly #checksumsAt: number
  readonly #offsetsAt: number
  readonly #largeAt: number
  readonly #largeCount: number

  /** Throws `pack_corrupt`, also for an index of version 1, which git no longer writes. */
  constructor(bytes: Uint8Array) {
    const view = Bytes.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#bytes = view
    this.count = checkLayout(view)
    this.#checksumsAt = oidsAt + this.count * oidBytes
    this.#offsetsAt = this.#checksumsAt + this.count * 4
    this.#largeAt = this.#offsetsAt + this.count * 4
    this.#largeCount = (view.length - trailerBytes - this.#largeAt) / 8
  }

  get packChecksum(): Uint8Array {
    return this.#bytes.subarray(-trailerBytes, -oidBytes)
  }

  find(oid: Uint8Array): number | undefined {
    assert(oid.length === oidBytes, 'an oid has 20 bytes')
    const first = oid[0] ?? 0
    const wanted = oidPrefix(oid)
    let low = first === 0 ? 0 : this.#fanout(first - 1)
    let high = this.#fanout(first)
    let [lowest, highest] = [first * 2 ** 24, (first + 1) * 2 ** 24]
    for (let step = 0; low < high; step += 1) {
      // Oids are distributed evenly; where they are not, bisecting finds them.
      const isGuess = step < guessesMax && highest > lowest
      const part = isGuess ? (wanted - lowest) / (highest - lowest) : 0.5
      const middle = Math.min(low + Math.floor((high - low) * part), high - 1)
      const at = oidsAt + middle * oidBytes
      const prefix = this.#bytes.readUInt32BE(at)
      // Four bytes nearly always decide; a call to compare twenty costs more than everything else
      // here.
      const order = wanted - prefix || -this.#bytes.compare(oid, 0, oidBytes, at, at + oidBytes)
      if (order === 0) return middle
      if (order > 0) {
        low = middle + 1
        lowest = prefix
      } else {
        high = middle
        highest = prefix
      }
    }
    return undefined
  }

  /** A view. */
  oidAt(position: number): Uint8Array {
    const at = oidsAt + position * oidBytes
    return this.#bytes.subarray(at, at + oidBytes)
  }

  offsetAt(position: number): number {
    const offset = this.#bytes.readUInt32BE(this.#offsetsAt + position * 4)
    const row = largeRow(offset, this.#largeCount)
    if (row === undefined) return offset
    return readLargeOffset(this.#bytes, this.#largeAt + row * 8)
  }

  /** Views of the oids, 20 bytes each, and the CRC-32s, 4 bytes each, by position. */
  get tables(): { readonly oids: Bytes; readonly checksums: Bytes } {
    return {
      oids: this.#bytes.subarray(oidsAt, this.#checksumsAt),
      checksums: this.#bytes.subarray(this.#checksumsAt, this.#offsetsAt),
    }
  }

  /** The whole buffer, for reuse by another index; this index must not be used afterwards. */
  get memory(): Bytes {
    return this.#bytes
  }

  checksumAt(position: number): number {
    return this.#bytes.readUInt32BE(this.#checksumsAt + position * 4)
  }

  /** No file is open. */
  close(): void {}

  closeRemoved(): void {}

  #fanout(byte: number): number {
    return this.#bytes.readUInt32BE(fanoutAt + byte * 4)
  }
}

/** Collects the entries of a pack while it is written; `count` must be exact. */
export class PackIndexBuilder {
  readonly #oids: Bytes
  readonly #offsets: Float64Array
  readonly #checksums: Uint32Array
  readonly #count: number
  #filled = 0

  constructor(count: number) {
    this.#count = count
    this.#oids = Bytes.alloc(count * oidBytes)
    this.#offsets = new Float64Array(count)
    this.#checksums = new Uint32Array(count)
  }

  add(oid: Uint8Array, offset: number, checksum: number): void {
    assert(this.#filled < this.#count, 'a pack has more objects than announced')
    this.#oids.set(oid, this.#filled * oidBytes)
    this.#offsets[this.#filled] = offset
    this.#checksums[this.#filled] = checksum
    this.#filled += 1
  }

  /** The index file. Throws `pack_corrupt` if an object was added twice. */
  encode(packChecksum: Uint8Array): Uint8Array {
    assert(this.#filled === this.#count, 'a pack has fewer objects than announced')
    const order = this.#order()
    const oids = Bytes.alloc(this.#count * oidBytes)
    const checksums = Bytes.alloc(this.#count * 4)
    const offsets = new Float64Array(this.#count)
    for (const [position, added] of order.entries()) {
      oids.set(this.#oidOf(added), position * oidBytes)
      checksums.writeUInt32BE(this.#checksums[added] ?? 0, position * 4)
      offsets[position] = this.#offsets[added] ?? 0
    }
    return encodePackIndex({ oids, checksums, offsets }, packChecksum)
  }

  /**
   * The order of the entries by ascending oid. Numbers are sorted in a tenth of the time that a
   * comparison in JavaScript takes: each is the first bits of an oid, and the entry's own number.
   */
  #order(): Uint32Array {
    const numbers = 2 ** Math.ceil(Math.log2(this.#count + 1))
    const prefixUnit = Math.max(1, (PREFIX_MAX * numbers) / NUMBER_MAX)
    const keys = new Float64Array(this.#count)
    for (let n = 0; n < this.#count; n += 1) {
      const prefix = Math.floor(this.#oids.readUIntBE(n * oidBytes, PREFIX_BYTES) / prefixUnit)
      keys[n] = prefix * numbers + n
    }
    const sorted = keys.toSorted()
    const order = Uint32Array.from(sorted, (key) => key % numbers)
    for (let start = 0, end = 1; start < order.length; start = end, end += 1) {
      const prefix = Math.floor((sorted[start] ?? 0) / numbers)
      while (end < order.length && Math.floor((sorted[end] ?? 0) / numbers) === prefix) end += 1
      if (end - start === 1) continue
      order.subarray(start, end).sort((a, b) => Bytes.compare(this.#oidOf(a), this.#oidOf(b)))
    }
    for (let n = 1; n < order.length; n += 1) {
      if (equalBytes(this.#oidOf(order[n - 1] ?? 0), this.#oidOf(order[n] ?? 0))) {
        throw corruptPack('it holds an object twice')
      }
    }
    return order
  }

  #oidOf(added: number): Uint8Array {
    return this.#oids.subarray(added * oidBytes, (added + 1) * oidBytes)
  }
}

export interface PackIndexTables {
  /** 20 bytes each, ascending. */
  readonly oids: Bytes
  /** CRC-32 of each entry, 4 bytes each. */
  readonly checksums: Bytes
  readonly offsets: Float64Array
}

/**
 * Encodes an index file from columns in ascending order of oids. Uses one buffer, since an index
 * has many megabytes: `memory` if it is large enough. The columns may lie in it at the place where
 * the index has them, or after it.
 */
export function encodePackIndex(
  tables: PackIndexTables,
  packChecksum: Uint8Array,
  memory: Bytes = Bytes.alloc(0),
): Uint8Array {
  const { oids, checksums, offsets } = tables
  const checksumsAt = oidsAt + oids.length
  const offsetsAt = checksumsAt + checksums.length
  const large = offsets.reduce((sum, offset) => sum + (offset >= largeOffset ? 1 : 0), 0)
  const largeAt = offsetsAt + offsets.length * 4
  const length = largeAt + large * 8 + trailerBytes
  const file = memory.length < length ? Bytes.alloc(length) : memory.subarray(0, length)
  file.set(encodeIndexHead(countByFirstByte(oids)))
  file.set(oids, oidsAt)
  file.set(checksums, checksumsAt)
  let row = 0
  for (let position = 0; position < offsets.length; position += 1) {
    const offset = offsets[position] ?? 0
    const isLarge = offset >= largeOffset
    file.writeUInt32BE(isLarge ? largeOffset + row : offset, offsetsAt + position * 4)
    if (isLarge) file.set(encodeLargeOffset(offset), largeAt + row * 8)
    if (isLarge) row += 1
  }
  file.set(packChecksum, file.length - trailerBytes)
  const body = file.subarray(0, -oidBytes)
  file.set(new Sha1().update(body).digest(), body.length)
  return file
}

/** Encodes signature, version and fan-out table, given the number of oids per first byte. */
export function encodeIndexHead(perByte: Uint32Array): Uint8Array {
  const head = Bytes.alloc(indexHeadBytes)
  head.writeUInt32BE(signature, 0)
  head.writeUInt32BE(2, 4)
  let count = 0
  for (const [byte, names] of perByte.entries()) {
    count += names
    head.writeUInt32BE(count, fanoutAt + byte * 4)
  }
  return head
}

/** Encodes a row of the table of large offsets. */
export function encodeLargeOffset(offset: number): Uint8Array {
  const bytes = Bytes.alloc(8)
  bytes.writeBigUInt64BE(BigInt(offset))
  return bytes
}

/** Checks sizes, fan-out and SHA-1; returns the number of objects. */
function checkLayout(view: Bytes): number {
  const count = countObjects(view.subarray(0, indexHeadBytes), view.length)
  const body = view.subarray(0, -oidBytes)
  if (!equalBytes(new Sha1().update(body).digest(), view.subarray(-oidBytes))) {
    throw corruptPack('the checksum of its index is wrong')
  }
  return count
}

/** Checks that a head fits an index of `length` bytes; returns the number of objects. */
export function countObjects(head: Bytes, length: number): number {
  if (head.length < oidsAt || length < oidsAt + trailerBytes) {
    throw corruptPack('its index is too short')
  }
  if (head.readUInt32BE(0) !== signature || head.readUInt32BE(4) !== 2) {
    throw corruptPack('its index is not of version 2')
  }
  let count = 0
  for (let byte = 0; byte < 256; byte += 1) {
    const next = head.readUInt32BE(fanoutAt + byte * 4)
    if (next < count) throw corruptPack('the fan-out of its index decreases')
    count = next
  }
  const large = length - trailerBytes - oidsAt - count * 28
  // The first entry of a pack never needs a large offset.
  if (large < 0 || large % 8 !== 0 || large / 8 > Math.max(0, count - 1)) {
    throw corruptPack('the size of its index does not match its count')
  }
  return count
}

/** The row of a large offset in a table of `count` rows; undefined for a small offset. */
export function largeRow(offset: number, count: number): number | undefined {
  if (offset < largeOffset) return undefined
  const row = offset - largeOffset
  if (row >= count) throw corruptPack('its index points outside its own tables')
  return row
}

/** Decodes a row of the table of large offsets. */
export function readLargeOffset(bytes: Bytes, at: number): number {
  const large = bytes.readBigUInt64BE(at)
  if (large > BigInt(Number.MAX_SAFE_INTEGER)) throw corruptPack('its index has an absurd offset')
  return Number(large)
}

/** Counts the oids per first byte. */
function countByFirstByte(oids: Bytes): Uint32Array {
  const counts = new Uint32Array(256)
  for (let at = 0; at < oids.length; at += oidBytes) {
    const byte = oids[at] ?? 0
    counts[byte] = (counts[byte] ?? 0) + 1
  }
  return counts
}

/** The first four bytes, for the search of the index. */
function oidPrefix(oid: Uint8Array): number {
  const high = (oid[0] ?? 0) * 256 + (oid[1] ?? 0)
  const low = (oid[2] ?? 0) * 256 + (oid[3] ?? 0)
  return high * 65_536 + low
}
