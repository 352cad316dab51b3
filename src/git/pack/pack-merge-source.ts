// One of several packs that are merged. Entries are copied, so new offsets follow from the old ones
// and a few points where the shift changes: after an entry that another pack holds too, and after a
// delta whose distance changes in length. The bytes are verified by the pack's checksum.

import { crc32 } from 'node:zlib'
import { equalBytes } from '../../bytes.ts'
import { Sha1 } from '../../crypto/sha1.ts'
import { KIBIBYTE } from '../../limits.ts'
import {
  corruptPack,
  decodeEntryHeader,
  encodeOffsetDeltaHeader,
  entryTypeAt,
  packHeaderBytes,
  packTrailerBytes,
} from './pack-entry.ts'
import type { PackFile } from './pack-file.ts'
import { PackLayout } from './pack-layout.ts'
import type { Pack } from './pack.ts'

const windowBytes = 256 * KIBIBYTE
/** Entries between two calls of `tick`. */
const tickEntries = 1024

export class MergeSource {
  readonly #pack: Pack
  readonly #end: number
  readonly #sha1: Sha1
  /** From each of these old offsets on, entries move by the shift at the same index. */
  readonly #shiftStarts: number[] = []
  readonly #shifts: number[] = []
  /** CRC-32s of entries with a changed header, by old offset. */
  readonly #checksums: Map<number, number> = new Map()
  readonly #window: Buffer = Buffer.allocUnsafeSlow(windowBytes)
  #windowAt = 0
  #windowEnd = 0

  constructor(pack: Pack) {
    this.#pack = pack
    this.#end = pack.bytes - packTrailerBytes
    this.#sha1 = new Sha1().update(pack.readHeader())
  }

  /**
   * Appends the entries to `file`, except those at the old offsets in `dropped`. Their objects are
   * at its new offsets, which precede this pack, so that no cycle of deltas arises. Calls `tick`
   * regularly with the share of the pack that is done. Throws `pack_corrupt`, and what `tick`
   * throws.
   */
  copy(file: PackFile, dropped: ReadonlyMap<number, number>, tick: (share: number) => void): void {
    if (dropped.size === 0) this.#copyAll(file, tick)
    else this.#copyEntries(file, dropped, tick)
    if (!equalBytes(this.#sha1.digest(), this.#pack.index.packChecksum)) {
      throw corruptPack('its bytes do not match its checksum')
    }
  }

  /** The new offset of the entry that was copied from this old offset. */
  movedTo(offset: number): number {
    let low = 0
    let high = this.#shiftStarts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#shiftStarts[middle] ?? 0) <= offset) low = middle + 1
      else high = middle
    }
    return offset + (this.#shifts[low - 1] ?? 0)
  }

  /** The CRC-32 of a copied entry whose header changed. */
  changedChecksum(offset: number): number | undefined {
    return this.#checksums.get(offset)
  }

  #copyAll(file: PackFile, tick: (share: number) => void): void {
    this.#shiftFrom(packHeaderBytes, file.offset)
    for (let at = packHeaderBytes; at < this.#end;) {
      const bytes = this.#pack.readInto(at, this.#window)
      if (bytes.length === 0) throw corruptPack('it is shorter than it was')
      this.#sha1.update(bytes)
      file.append(bytes)
      at += bytes.length
      tick(at / this.#end)
    }
  }

  #copyEntries(
    file: PackFile,
    dropped: ReadonlyMap<number, number>,
    tick: (share: number) => void,
  ): void {
    const layout = new PackLayout(this.#pack)
    for (let rank = 0; rank < layout.count; rank += 1) {
      if (rank % tickEntries === 0) tick(rank / layout.count)
      const start = layout.offsetOf(rank)
      const bytes = this.#entry(start, layout.offsetOf(rank + 1) - start)
      this.#sha1.update(bytes)
      if (dropped.has(start)) continue
      this.#shiftFrom(start, file.offset)
      const isDelta = entryTypeAt(bytes, 0) === 'offsetDelta'
      if (isDelta) this.#copyDelta(file, bytes, { rank, start, layout, dropped })
      else file.append(bytes)
    }
  }

  #copyDelta(
    file: PackFile,
    bytes: Uint8Array,
    entry: {
      readonly rank: number
      readonly start: number
      readonly layout: PackLayout
      readonly dropped: ReadonlyMap<number, number>
    },
  ): void {
    const header = decodeEntryHeader(bytes)
    if (header.type !== 'offsetDelta') throw corruptPack('an entry has two types')
    const base = entry.start - header.distance
    if (entry.layout.rankBefore(entry.rank, base) === undefined) {
      throw corruptPack('a delta has no base')
    }
    const distance = file.offset - (entry.dropped.get(base) ?? this.movedTo(base))
    if (distance === header.distance) {
      file.append(bytes)
      return
    }
    const head = encodeOffsetDeltaHeader(header.size, distance)
    const data = bytes.subarray(header.length)
    this.#checksums.set(entry.start, crc32(data, crc32(head)))
    file.append(head)
    file.append(data)
  }

  /** From `start` on, entries move by `to - start`. */
  #shiftFrom(start: number, to: number): void {
    if (this.#shifts.at(-1) === to - start) return
    this.#shiftStarts.push(start)
    this.#shifts.push(to - start)
  }

  /** A view, valid until the next call. */
  #entry(start: number, length: number): Uint8Array {
    if (length > this.#window.length) return this.#pack.readRaw(start, length)
    if (start + length > this.#windowEnd) {
      this.#windowAt = start
      this.#windowEnd = start + this.#pack.readInto(start, this.#window).length
    }
    return this.#window.subarray(start - this.#windowAt, start - this.#windowAt + length)
  }
}
