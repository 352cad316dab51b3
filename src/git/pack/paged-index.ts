// A pack index that remains in its file: for a million commits it has 180 MB. RAM holds its fan-out
// table and a few blocks, or all that were read as far as a budget allows. Its SHA-1 is not
// verified when it is opened, which would block the thread: the fan-out table is checked against
// the oids, and each oid against its neighbours; a wrong offset gives an object with another hash.
// Jobs that rewrite packs verify everything.

import { equalBytes } from '../../bytes.ts'
import type { CacheBudget } from '../../cache-budget.ts'
import { Sha1 } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { assert } from '../../errors.ts'
import { KIBIBYTE, MEBIBYTE } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'
import { compareOids, oidBytes } from '../objects/oid-list.ts'
import { corruptPack } from './pack-entry.ts'
import {
  countObjects,
  indexHeadBytes,
  indexTrailerBytes,
  largeRow,
  type ObjectIndex,
  readLargeOffset,
} from './pack-index.ts'
import { ReadBlocks } from './read-blocks.ts'

/** Oids are distributed evenly: the expected position is about this close. */
const firstStep = 64
/** A larger index would push every other cache out of the budget. */
const keptBytesMax = 32 * MEBIBYTE
/** The number of bytes per read during verification. */
const verifiedBytes = 256 * KIBIBYTE

export class PagedIndex implements ObjectIndex {
  readonly count: number
  readonly packChecksum: Uint8Array
  readonly #disk: Disk
  readonly #fd: number
  readonly #length: number
  /** The number of oids that start with each byte or a lower one. */
  readonly #fanout: Uint32Array
  readonly #checksumsAt: number
  readonly #offsetsAt: number
  readonly #largeAt: number
  readonly #largeCount: number
  readonly #blocks: ReadBlocks
  readonly #scratch: Bytes = Bytes.allocUnsafeSlow(3 * oidBytes)

  /**
   * Undefined if there is no such file. Throws `pack_corrupt`. Keeps the file open until `close`.
   * With a budget, what was read remains in RAM: for anyone who searches it often.
   */
  static open(disk: Disk, path: string, budget?: CacheBudget): PagedIndex | undefined {
    const fd = disk.openExisting(path, 'r')
    if (fd === undefined) return undefined
    try {
      const index = new PagedIndex(disk, fd, budget)
      index.#checkFanout()
      return index
    } catch (error) {
      disk.close(fd)
      throw error
    }
  }

  private constructor(disk: Disk, fd: number, budget: CacheBudget | undefined) {
    const length = disk.size(fd)
    const head = Bytes.alloc(indexHeadBytes)
    const headLength = disk.read(fd, head, 0)
    this.count = countObjects(head.subarray(0, headLength), length)
    this.#disk = disk
    this.#fd = fd
    this.#length = length
    this.#fanout = Uint32Array.from({ length: 256 }, (_, n) => head.readUInt32BE(8 + n * 4))
    this.#checksumsAt = indexHeadBytes + this.count * oidBytes
    this.#offsetsAt = this.#checksumsAt + this.count * 4
    this.#largeAt = this.#offsetsAt + this.count * 4
    this.#largeCount = (length - indexTrailerBytes - this.#largeAt) / 8
    const read = (into: Uint8Array, position: number): number => disk.read(fd, into, position)
    this.#blocks = new ReadBlocks(read, length <= keptBytesMax ? budget : undefined)
    this.packChecksum = Uint8Array.from(this.#bytes(length - indexTrailerBytes, oidBytes))
  }

  close(): void {
    this.#blocks.forget()
    this.#disk.close(this.#fd)
  }

  closeRemoved(): void {
    this.#blocks.forget()
    this.#disk.closeInBackground(this.#fd)
  }

  /** Verifies the checksum of the whole index. Throws `pack_corrupt`. */
  verify(): void {
    const sha1 = new Sha1()
    const window = Bytes.allocUnsafeSlow(verifiedBytes)
    const end = this.#length - oidBytes
    for (let at = 0; at < end;) {
      const read = this.#disk.read(
        this.#fd,
        window.subarray(0, Math.min(verifiedBytes, end - at)),
        at,
      )
      if (read === 0) throw corruptPack('its index is too short')
      sha1.update(window.subarray(0, read))
      at += read
    }
    if (!equalBytes(sha1.digest(), this.#bytes(end, oidBytes))) {
      throw corruptPack('the checksum of its index is wrong')
    }
  }

  find(oid: Uint8Array): number | undefined {
    assert(oid.length === oidBytes, 'an oid has 20 bytes')
    const wanted = Bytes.from(oid.buffer, oid.byteOffset, oidBytes)
    let low = this.#startOf(oid[0] ?? 0)
    let high = this.#startOf((oid[0] ?? 0) + 1)
    let next = low + Math.floor((high - low) * fractionOf(oid))
    let reach = firstStep
    let goesUp: boolean | undefined
    let passed = false
    while (low < high) {
      const position = Math.min(Math.max(next, low), high - 1)
      const order = this.#compare(wanted, position)
      if (order === 0) return position
      const isAbove = order > 0
      if (isAbove) low = position + 1
      else high = position
      // Doubles the step until the position is passed, then bisects.
      goesUp ??= isAbove
      passed ||= isAbove !== goesUp
      next = passed ? (low + high) >>> 1 : position + (isAbove ? reach : -reach)
      reach *= 2
    }
    return undefined
  }

  oidAt(position: number): Uint8Array {
    const { names, at } = this.#names(position)
    return Uint8Array.from(names.subarray(at, at + oidBytes))
  }

  offsetAt(position: number): number {
    const offset = this.#bytes(this.#offsetsAt + position * 4, 4).readUInt32BE()
    const row = largeRow(offset, this.#largeCount)
    return row === undefined ? offset : readLargeOffset(this.#bytes(this.#largeAt + row * 8, 8), 0)
  }

  checksumAt(position: number): number {
    return this.#bytes(this.#checksumsAt + position * 4, 4).readUInt32BE()
  }

  /** Compares `oid` with the oid at `position`. */
  #compare(oid: Bytes, position: number): number {
    const { names, at } = this.#names(position)
    // In this order: Deno takes an end in a longer second one for one behind the first.
    return -compareOids(names, at, oid, 0)
  }

  /**
   * The oid at `position`, at offset `at`, with its neighbours, as a temporary view. A damaged oid
   * could misdirect a search only if it were out of order with a neighbour.
   */
  #names(position: number): { readonly names: Bytes; readonly at: number } {
    const from = Math.max(0, position - 1)
    const to = Math.min(this.count, position + 2)
    const names = this.#bytes(indexHeadBytes + from * oidBytes, (to - from) * oidBytes)
    for (let at = oidBytes; at < names.length; at += oidBytes) {
      if (compareOids(names, at, names, at - oidBytes) <= 0) {
        throw corruptPack('the names in its index are out of order')
      }
    }
    return { names, at: (position - from) * oidBytes }
  }

  /** The number of oids that start with a lower byte. */
  #startOf(byte: number): number {
    return byte === 0 ? 0 : (this.#fanout[byte - 1] ?? 0)
  }

  /**
   * Checks the first and the last oid of each first byte. Reads these bytes alone: blocks would be
   * all of the index, each time a store is opened.
   */
  #checkFanout(): void {
    const first = new Uint8Array(1)
    for (let byte = 0; byte < 256; byte += 1) {
      const [start, end] = [this.#startOf(byte), this.#startOf(byte + 1)]
      if (start === end) continue
      for (const position of [start, end - 1]) {
        const read = this.#disk.read(this.#fd, first, indexHeadBytes + position * oidBytes)
        if (read < 1 || first[0] !== byte) throw corruptPack('the fan-out of its index is wrong')
      }
    }
  }

  /** A view, valid until the next call. */
  #bytes(at: number, length: number): Bytes {
    const block = this.#blocks.at(at)
    if (block.length >= length) return Bytes.from(block.buffer, block.byteOffset, length)
    const bytes = this.#scratch.subarray(0, length)
    bytes.set(block)
    const rest = this.#blocks.at(at + block.length).subarray(0, length - block.length)
    if (block.length + rest.length < length) throw corruptPack('its index is too short')
    bytes.set(rest, block.length)
    return bytes
  }
}

/** The expected position among the oids with the same first byte, if distributed evenly. */
function fractionOf(oid: Uint8Array): number {
  return ((oid[1] ?? 0) * 65_536 + (oid[2] ?? 0) * 256 + (oid[3] ?? 0)) / 2 ** 24
}
