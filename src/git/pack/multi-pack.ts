// All objects of several packs under one numbering, to send or walk them. Numbers follow the order
// of the packs, then the entries in file order; of an object in several packs, the first copy
// counts. Uses columns of numbers and bytes, so a million objects take forty megabytes. Must not
// write.

import { toHex } from '../../bytes.ts'
import { gitHash } from '../../crypto/sha1.ts'
import { StoreError } from '../../errors.ts'
import { KIBIBYTE, MEBIBYTE } from '../../limits.ts'
import { crc32 } from '../../platform/zlib.ts'
import { DeltaBaseCache } from './delta-base-cache.ts'
import { corruptPack, decodeEntryHeader, type EntryHeader } from './pack-entry.ts'
import { PackLayout } from './pack-layout.ts'
import type { Pack, PackedObject } from './pack.ts'

const readAheadBytes = 128 * KIBIBYTE
const cacheBytes = 8 * MEBIBYTE
/** Objects that are looked up in other packs between two yields. */
const markedAtOnce = 256

/**
 * An entry as stored, checked against the CRC-32 of the index. Views, valid until the next read.
 */
export interface RawEntry {
  readonly header: EntryHeader
  readonly headerBytes: Uint8Array
  readonly deflated: Uint8Array
}

export class MultiPack {
  /** One more than the highest number. */
  readonly end: number
  /** The number of different objects. */
  readonly count: number
  readonly #parts: readonly Part[]
  readonly #cache = new DeltaBaseCache(cacheBytes)

  private constructor(parts: readonly Part[], end: number, count: number) {
    this.end = end
    this.count = count
    this.#parts = parts
  }

  /** Yields regularly, so that it can run in slices. */
  static *of(packs: readonly Pack[]): Generator<undefined, MultiPack> {
    const parts: Part[] = []
    let end = 0
    let count = 0
    for (const pack of packs) {
      const part = new Part(pack, end)
      yield
      count += yield* part.markRepeated(parts)
      parts.push(part)
      end += part.count
    }
    return new MultiPack(parts, end, count)
  }

  /** The number of the object with this 20-byte oid. */
  find(oid: Uint8Array): number | undefined {
    for (const part of this.#parts) {
      const number = part.find(oid)
      if (number !== undefined) return number
    }
    return undefined
  }

  oidOf(number: number): Uint8Array {
    return this.#partOf(number).oidOf(number)
  }

  /** The position of the object in the index of its pack. */
  positionOf(number: number): number {
    return this.#partOf(number).positionOf(number)
  }

  /** Whether the number is a repeated copy, which `find` never returns. */
  isRepeated(number: number): boolean {
    return this.#partOf(number).isRepeated(number)
  }

  /** The size of the entry in its pack. */
  bytesOf(number: number): number {
    const part = this.#partOf(number)
    return part.offsetOf(number + 1) - part.offsetOf(number)
  }

  /** Throws `pack_corrupt`, or `object_corrupt` if the body does not match its oid. */
  read(number: number): PackedObject {
    const part = this.#partOf(number)
    const object = part.pack.readAny(part.offsetOf(number), this.#cache)
    const oid = toHex(part.oidOf(number))
    if (gitHash(object.type, object.body) === oid) return object
    throw new StoreError('object_corrupt', `The object ${oid} does not match its name`)
  }

  /** Throws `pack_corrupt`. */
  entry(number: number): RawEntry {
    return this.#partOf(number).entry(number)
  }

  /** The number of a delta's base; undefined for a whole object. */
  baseOf(number: number, header: EntryHeader): number | undefined {
    if (header.type === 'refDelta') return this.find(header.baseOid)
    if (header.type !== 'offsetDelta') return undefined
    const part = this.#partOf(number)
    const base = part.numberAt(number, header.distance)
    return part.isRepeated(base) ? this.find(part.oidOf(base)) : base
  }

  #partOf(number: number): Part {
    const part = this.#parts.find(({ start, count }) => number < start + count)
    if (part === undefined) throw new RangeError('No object has this number')
    return part
  }
}

/** One of the packs; its numbers begin at `start`. */
class Part {
  readonly pack: Pack
  readonly start: number
  readonly #layout: PackLayout
  /** The rank of each position in the index. */
  readonly #ranks: Uint32Array
  /** For each rank, 1 if an earlier pack holds the object. */
  readonly #repeated: Uint8Array
  readonly #window: Uint8Array = new Uint8Array(readAheadBytes)
  #read: Uint8Array = new Uint8Array(0)
  #readAt = 0

  constructor(pack: Pack, start: number) {
    this.pack = pack
    this.start = start
    this.#layout = new PackLayout(pack)
    this.#ranks = new Uint32Array(this.#layout.count)
    for (let rank = 0; rank < this.#ranks.length; rank += 1) {
      this.#ranks[this.#layout.positionOf(rank)] = rank
    }
    this.#repeated = new Uint8Array(this.#layout.count)
  }

  get count(): number {
    return this.#ranks.length
  }

  /** Marks objects that `earlier` parts hold; returns the number of the others. */
  *markRepeated(earlier: readonly Part[]): Generator<undefined, number> {
    let fresh = 0
    for (let position = 0; position < this.count; position += 1) {
      if (position % markedAtOnce === 0) yield
      const oid = this.pack.index.oidAt(position)
      const known = earlier.some((part) => part.pack.index.find(oid) !== undefined)
      if (known) this.#repeated[this.#ranks[position] ?? 0] = 1
      else fresh += 1
    }
    return fresh
  }

  find(oid: Uint8Array): number | undefined {
    const position = this.pack.index.find(oid)
    return position === undefined ? undefined : this.start + (this.#ranks[position] ?? 0)
  }

  isRepeated(number: number): boolean {
    return this.#repeated[number - this.start] === 1
  }

  oidOf(number: number): Uint8Array {
    return this.pack.index.oidAt(this.positionOf(number))
  }

  positionOf(number: number): number {
    return this.#layout.positionOf(number - this.start)
  }

  offsetOf(number: number): number {
    return this.#layout.offsetOf(number - this.start)
  }

  /** The number of the entry that starts `distance` bytes before that of `number`. */
  numberAt(number: number, distance: number): number {
    const rank = this.#layout.rankBefore(number - this.start, this.offsetOf(number) - distance)
    if (rank === undefined || distance === 0) throw corruptPack('a delta has no base')
    return this.start + rank
  }

  entry(number: number): RawEntry {
    const start = this.offsetOf(number)
    const bytes = this.#bytes(start, this.offsetOf(number + 1) - start)
    if (crc32(bytes) !== this.pack.index.checksumAt(this.positionOf(number))) {
      throw corruptPack('an entry does not match its checksum')
    }
    const header = decodeEntryHeader(bytes)
    const headerBytes = bytes.subarray(0, header.length)
    return { header, headerBytes, deflated: bytes.subarray(header.length) }
  }

  #bytes(start: number, length: number): Uint8Array {
    if (start < this.#readAt || start + length > this.#readAt + this.#read.length) {
      const large = length > this.#window.length
      this.#read = large
        ? this.pack.readRaw(start, length)
        : this.pack.readInto(start, this.#window)
      this.#readAt = start
    }
    return this.#read.subarray(start - this.#readAt, start - this.#readAt + length)
  }
}
