// Rewrites a pack without erased objects (FORMAT §10). Runs of live entries are copied; a delta
// whose distance changes gets a new header, and one whose base is erased is encoded again. Streams
// with a few columns per entry. Must not check copied bytes: they keep their CRC-32 from the old
// index, and readers check oids.

import { crc32 } from 'node:zlib'
import { concatBytes } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { MEBIBYTE } from '../../limits.ts'
import { compareOids, oidBytes, type OidList } from '../objects/oid-list.ts'
import { DeltaBaseCache } from './delta-base-cache.ts'
import { makeDelta } from './delta.ts'
import {
  corruptPack,
  decodeEntryHeader,
  deflate,
  deltaDistanceAt,
  encodeEntryHeader,
  encodeOffsetDeltaHeader,
  entryHeaderBytesMax,
  entryTypeAt,
} from './pack-entry.ts'
import { PackFile, publishPacks, type TemporaryPack } from './pack-file.ts'
import { encodePackIndex, type PackIndex } from './pack-index.ts'
import { PackLayout } from './pack-layout.ts'
import { removePacks } from './pack-removal.ts'
import { PackWindow } from './pack-window.ts'
import { Pack, type PackedObject } from './pack.ts'

const cacheBytes = 8 * MEBIBYTE

/**
 * Erases objects from every pack in `directory`, including kept and cruft packs. A crash leaves
 * each pack unchanged or next to its successor. Throws `pack_corrupt` for a damaged pack.
 */
export async function filterPacks(disk: Disk, directory: string, dead: OidList): Promise<void> {
  for (const file of disk.list(directory)) {
    if (!file.startsWith('pack-') || !file.endsWith('.idx')) continue
    await filterPack(disk, directory, { name: file.slice(0, -'.idx'.length), dead })
  }
}

async function filterPack(
  disk: Disk,
  directory: string,
  { name, dead }: { readonly name: string; readonly dead: OidList },
): Promise<void> {
  const pack = Pack.open(disk, directory, name)
  // An index without its pack holds no object.
  if (pack === undefined) return
  try {
    const deadEntries = markDead(pack.index, dead)
    if (deadEntries.count === 0) return
    if (deadEntries.count < pack.index.count) {
      const filter = new PackFilter(pack, deadEntries)
      await publishPacks(disk, directory, [await filter.write(disk, directory)])
    }
  } finally {
    pack.close()
  }
  await removePacks(disk, directory, [name])
}

interface DeadEntries {
  /** For each position in the index, 1 if the entry is erased. */
  readonly flags: Uint8Array
  readonly count: number
}

/** Walks both lists once, since they have the same order. */
function markDead(index: PackIndex, dead: OidList): DeadEntries {
  const flags = new Uint8Array(index.count)
  const { oids } = index.tables
  let count = 0
  let at = 0
  for (let position = 0; position < flags.length && at < dead.bytes.length; position += 1) {
    const start = position * oidBytes
    let order = compareOids(dead.bytes, at, oids, start)
    while (order < 0 && at + oidBytes < dead.bytes.length) {
      at += oidBytes
      order = compareOids(dead.bytes, at, oids, start)
    }
    if (order !== 0) continue
    flags[position] = 1
    count += 1
    at += oidBytes
  }
  return { flags, count }
}

/** A changed entry: these bytes, followed by the last `kept` bytes of the old entry. */
interface Change {
  readonly bytes: Uint8Array
  readonly kept: number
}

class PackFilter {
  readonly #pack: Pack<PackIndex>
  readonly #deadEntries: DeadEntries
  readonly #layout: PackLayout
  /** For each position, the offset in the new pack; NaN for an erased entry. */
  readonly #moved: Float64Array
  /** CRC-32s by position, in the memory of the index, which only this filter has open. */
  readonly #checksums: Buffer
  readonly #cache = new DeltaBaseCache(cacheBytes)
  readonly #window: PackWindow
  /** Old bytes from here to the current entry are live and not copied yet. */
  #runAt = 0

  constructor(pack: Pack<PackIndex>, deadEntries: DeadEntries) {
    this.#pack = pack
    this.#deadEntries = deadEntries
    this.#layout = new PackLayout(pack)
    this.#moved = new Float64Array(pack.index.count).fill(NaN)
    this.#checksums = pack.index.tables.checksums
    this.#window = new PackWindow(pack)
  }

  async write(disk: Disk, directory: string): Promise<TemporaryPack> {
    const file = new PackFile(disk, directory, this.#pack.index.count - this.#deadEntries.count)
    try {
      this.#runAt = this.#layout.offsetOf(0)
      for (let rank = 0; rank < this.#layout.count; rank += 1) this.#place(file, rank)
      this.#copyRun(file, this.#layout.offsetOf(this.#layout.count))
      return await file.finish((checksum) => this.#encodeIndex(checksum))
    } catch (error) {
      file.abandon()
      throw error
    }
  }

  #place(file: PackFile, rank: number): void {
    const start = this.#layout.offsetOf(rank)
    const end = this.#layout.offsetOf(rank + 1)
    if (this.#deadEntries.flags[this.#layout.positionOf(rank)] === 1) {
      this.#copyRun(file, start)
      this.#runAt = end
      return
    }
    this.#show(file, start)
    const newStart = file.offset + start - this.#runAt
    this.#moved[this.#layout.positionOf(rank)] = newStart
    const change = this.#change(rank, newStart)
    if (change === undefined) return
    this.#copyRun(file, start)
    file.append(change.bytes)
    this.#runAt = end - change.kept
    const checksum = crc32(this.#view(end - change.kept, end), crc32(change.bytes))
    this.#checksums.writeUInt32BE(checksum, this.#layout.positionOf(rank) * 4)
  }

  /** The change that an entry needs at `newStart`; undefined if it need not change. */
  #change(rank: number, newStart: number): Change | undefined {
    const start = this.#layout.offsetOf(rank)
    const entry = this.#window.view(start, this.#window.end)
    const type = entryTypeAt(entry, 0)
    if (type === 'refDelta') {
      const { baseOid } = decodeEntryHeader(entry)
      const base = this.#pack.index.find(baseOid)
      const erased = base !== undefined && this.#deadEntries.flags[base] === 1
      return erased ? this.#reencoded(rank, newStart, undefined) : undefined
    }
    if (type !== 'offsetDelta') return undefined
    const distance = deltaDistanceAt(entry, 0)
    const base = this.#baseRank(rank, distance)
    const moved = this.#movedTo(base)
    if (Number.isNaN(moved)) return this.#reencoded(rank, newStart, base)
    if (newStart - moved === distance) return undefined
    const { size, length } = decodeEntryHeader(entry)
    const bytes = encodeOffsetDeltaHeader(size, newStart - moved)
    return { bytes, kept: this.#layout.offsetOf(rank + 1) - start - length }
  }

  #movedTo(rank: number): number {
    return this.#moved[this.#layout.positionOf(rank)] ?? NaN
  }

  #baseRank(rank: number, distance: number): number {
    const base = this.#layout.rankBefore(rank, this.#layout.offsetOf(rank) - distance)
    if (base === undefined || base === rank) throw corruptPack('a delta has no base')
    return base
  }

  /**
   * Encodes an object whose base is erased: as a delta on the next live base in its chain, or
   * whole.
   */
  #reencoded(rank: number, newStart: number, base: number | undefined): Change {
    const object = this.#read(rank)
    const live = base === undefined ? undefined : this.#liveBase(base)
    if (live !== undefined) {
      const delta = makeDelta(this.#read(live).body, object.body)
      if (delta.length * 2 < object.body.length) {
        const distance = newStart - this.#movedTo(live)
        const header = encodeOffsetDeltaHeader(delta.length, distance)
        return { bytes: concatBytes(header, deflate(delta, 1)), kept: 0 }
      }
    }
    const level = object.type === 'blob' ? 0 : 1
    const header = encodeEntryHeader(object.type, object.body.length)
    return { bytes: concatBytes(header, deflate(object.body, level)), kept: 0 }
  }

  #liveBase(erased: number): number | undefined {
    let rank = erased
    while (Number.isNaN(this.#movedTo(rank))) {
      const header = decodeEntryHeader(
        this.#pack.readRaw(this.#layout.offsetOf(rank), entryHeaderBytesMax),
      )
      if (header.type !== 'offsetDelta') return undefined
      rank = this.#baseRank(rank, header.distance)
    }
    return rank
  }

  #read(rank: number): PackedObject {
    return this.#pack.readAny(this.#layout.offsetOf(rank), this.#cache)
  }

  /**
   * Loads the header at `start` into the window, after copying the part of the run that it held.
   */
  #show(file: PackFile, start: number): void {
    const end = Math.min(start + entryHeaderBytesMax, this.#layout.offsetOf(this.#layout.count))
    if (this.#window.shows(start, end)) return
    this.#copyRun(file, start)
    if (!this.#window.shows(start, end)) this.#window.moveTo(start)
  }

  /** Bytes of the old pack, from the window if possible. */
  #view(from: number, to: number): Uint8Array {
    if (this.#window.shows(from, to)) return this.#window.view(from, to)
    return this.#pack.readRaw(from, to - from)
  }

  /** Copies the run up to `end`. */
  #copyRun(file: PackFile, end: number): void {
    while (this.#runAt < end) {
      if (!this.#window.shows(this.#runAt, this.#runAt + 1)) this.#window.moveTo(this.#runAt)
      const next = Math.min(end, this.#window.end)
      file.append(this.#window.view(this.#runAt, next))
      this.#runAt = next
    }
  }

  /** Reuses the memory of the old index, which is no longer needed. */
  #encodeIndex(packChecksum: Uint8Array): Uint8Array {
    const { flags } = this.#deadEntries
    const { tables, memory } = this.#pack.index
    let kept = 0
    for (let position = 0; position < flags.length; position += 1) {
      if (flags[position] === 1) continue
      this.#moved[kept] = this.#moved[position] ?? NaN
      kept += 1
    }
    const remaining = {
      oids: keepRows(tables.oids, flags, oidBytes),
      checksums: keepRows(this.#checksums, flags, 4),
      offsets: this.#moved.subarray(0, kept),
    }
    return encodePackIndex(remaining, packChecksum, memory)
  }
}

/** Moves the rows that are not flagged together, in place. */
function keepRows(table: Buffer, flags: Uint8Array, width: number): Buffer {
  let filled = 0
  let from = 0
  while (from < flags.length) {
    const erased = flags.indexOf(1, from)
    const to = erased === -1 ? flags.length : erased
    filled += table.copy(table, filled, from * width, to * width)
    from = to + 1
  }
  return table.subarray(0, filled)
}
