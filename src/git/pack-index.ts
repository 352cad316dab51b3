// A pack index of version 2 (gitformat-pack): where in its pack each object is. Kept as the one
// buffer it was read into and searched there: a hundred thousand changes open in milliseconds. Must
// not read files. An index is believed only if its sizes and its SHA-1 are right.

import { concatBytes, equalBytes } from '../bytes.ts'
import { Sha1 } from '../crypto/sha1.ts'
import { assert } from '../errors.ts'
import { corruptPack } from './pack-entry.ts'

const signature = 0xff74_4f63
const oidBytes = 20
const fanoutAt = 8
const oidsAt = fanoutAt + 256 * 4
const trailerBytes = 40
const largeOffset = 0x8000_0000

/** A validated index. Positions number its objects from 0, by ascending oid. */
export class PackIndex {
  readonly count: number
  readonly #bytes: Buffer
  readonly #checksumsAt: number
  readonly #offsetsAt: number
  readonly #largeAt: number
  readonly #largeCount: number

  /** Throws `pack_corrupt`, also for an index of version 1, which no git writes any more. */
  constructor(bytes: Uint8Array) {
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#bytes = view
    this.count = checkLayout(view)
    this.#checksumsAt = oidsAt + this.count * oidBytes
    this.#offsetsAt = this.#checksumsAt + this.count * 4
    this.#largeAt = this.#offsetsAt + this.count * 4
    this.#largeCount = (view.length - trailerBytes - this.#largeAt) / 8
  }

  /** The 20 bytes at the end of the pack that this index belongs to. */
  get packChecksum(): Uint8Array {
    return this.#bytes.subarray(-trailerBytes, -oidBytes)
  }

  /** The position of the object that these 20 bytes name. */
  find(oid: Uint8Array): number | undefined {
    const first = oid[0]
    assert(first !== undefined && oid.length === oidBytes, 'an oid has 20 bytes')
    let low = first === 0 ? 0 : this.#fanout(first - 1)
    let high = this.#fanout(first)
    while (low < high) {
      const middle = (low + high) >>> 1
      const at = oidsAt + middle * oidBytes
      const order = this.#bytes.compare(oid, 0, oidBytes, at, at + oidBytes)
      if (order === 0) return middle
      if (order < 0) low = middle + 1
      else high = middle
    }
    return undefined
  }

  /** 20 bytes, a view. */
  oidAt(position: number): Uint8Array {
    const at = oidsAt + position * oidBytes
    return this.#bytes.subarray(at, at + oidBytes)
  }

  /** Where the entry starts in the pack; not yet known to lie inside it. */
  offsetAt(position: number): number {
    const offset = this.#bytes.readUInt32BE(this.#offsetsAt + position * 4)
    if (offset < largeOffset) return offset
    const row = offset - largeOffset
    if (row >= this.#largeCount) throw corruptPack('its index points outside its own tables')
    const large = this.#bytes.readBigUInt64BE(this.#largeAt + row * 8)
    if (large > BigInt(Number.MAX_SAFE_INTEGER)) throw corruptPack('its index has an absurd offset')
    return Number(large)
  }

  /** CRC-32 of the entry, header and deflated data. */
  checksumAt(position: number): number {
    return this.#bytes.readUInt32BE(this.#checksumsAt + position * 4)
  }

  #fanout(byte: number): number {
    return this.#bytes.readUInt32BE(fanoutAt + byte * 4)
  }
}

/** Collects the entries of a pack while it is written; `count` must be exact. */
export class PackIndexBuilder {
  readonly #oids: Buffer
  readonly #offsets: Float64Array
  readonly #checksums: Uint32Array
  readonly #count: number
  #filled = 0

  constructor(count: number) {
    this.#count = count
    this.#oids = Buffer.alloc(count * oidBytes)
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
    const fanout = Buffer.alloc(256 * 4)
    const oids = Buffer.alloc(this.#count * oidBytes)
    const checksums = Buffer.alloc(this.#count * 4)
    const offsets = Buffer.alloc(this.#count * 4)
    const large: number[] = []
    for (const [position, added] of order.entries()) {
      const oid = this.#oidOf(added)
      oids.set(oid, position * oidBytes)
      fanout.writeUInt32BE(position + 1, (oid[0] ?? 0) * 4)
      checksums.writeUInt32BE(this.#checksums[added] ?? 0, position * 4)
      const offset = this.#offsets[added] ?? 0
      const isLarge = offset >= largeOffset
      offsets.writeUInt32BE(isLarge ? largeOffset + large.length : offset, position * 4)
      if (isLarge) large.push(offset)
    }
    fillFanout(fanout)
    const body = [encodeIndexHeader(), fanout, oids, checksums, offsets, encodeLarge(large)]
    const bytes = concatBytes(...body, packChecksum)
    return concatBytes(bytes, new Sha1().update(bytes).digest())
  }

  /** What was added, by ascending oid. Six bytes of an oid decide nearly always. */
  #order(): Uint32Array {
    const prefixes = new Float64Array(this.#count)
    for (let n = 0; n < this.#count; n += 1) prefixes[n] = this.#oids.readUIntBE(n * oidBytes, 6)
    const order = Uint32Array.from(prefixes.keys()).toSorted((a, b) => {
      const difference = (prefixes[a] ?? 0) - (prefixes[b] ?? 0)
      return difference === 0 ? Buffer.compare(this.#oidOf(a), this.#oidOf(b)) : difference
    })
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

/** The number of objects, once sizes, fan-out and SHA-1 are right. */
function checkLayout(view: Buffer): number {
  if (view.length < oidsAt + trailerBytes) throw corruptPack('its index is too short')
  if (view.readUInt32BE(0) !== signature || view.readUInt32BE(4) !== 2) {
    throw corruptPack('its index is not of version 2')
  }
  let count = 0
  for (let byte = 0; byte < 256; byte += 1) {
    const next = view.readUInt32BE(fanoutAt + byte * 4)
    if (next < count) throw corruptPack('the fan-out of its index goes backwards')
    count = next
  }
  const large = view.length - trailerBytes - oidsAt - count * 28
  // The first entry of a pack is never far enough from its start to need a large offset.
  if (large < 0 || large % 8 !== 0 || large / 8 > Math.max(0, count - 1)) {
    throw corruptPack('the size of its index does not match its count')
  }
  const body = view.subarray(0, -oidBytes)
  if (!equalBytes(new Sha1().update(body).digest(), view.subarray(-oidBytes))) {
    throw corruptPack('the checksum of its index is wrong')
  }
  return count
}

function encodeIndexHeader(): Uint8Array {
  const header = Buffer.alloc(fanoutAt)
  header.writeUInt32BE(signature, 0)
  header.writeUInt32BE(2, 4)
  return header
}

/** A first byte that no oid has gets the count of the one before it. */
function fillFanout(fanout: Buffer): void {
  let count = 0
  for (let at = 0; at < fanout.length; at += 4) {
    count = Math.max(count, fanout.readUInt32BE(at))
    fanout.writeUInt32BE(count, at)
  }
}

function encodeLarge(offsets: readonly number[]): Uint8Array {
  const table = Buffer.alloc(offsets.length * 8)
  for (const [row, offset] of offsets.entries()) table.writeBigUInt64BE(BigInt(offset), row * 8)
  return table
}
