// Reads a pack without an index once, from start to end: the offset and type of each entry, and the
// oid of every whole object. Keeps columns of numbers, never the pack. Must trust nothing in it:
// the bounds of limits.ts are checked before memory is allocated or anything is inflated.

import type { WorkWatch } from '../../async.ts'
import { ByteWriter } from '../../bytes.ts'
import { gitHash } from '../../crypto/sha1.ts'
import { assert } from '../../errors.ts'
import { KIBIBYTE, MEBIBYTE, packObjectsMax } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'
import { crc32 } from '../../platform/zlib.ts'
import type { HashedColumns } from '../exchange.ts'
import type { ObjectType } from '../objects/object.ts'
import { OidTable } from '../objects/oid-table.ts'
import { HashedObjectsBuilder } from './hashed-objects.ts'
import {
  corruptPack,
  decodeEntryHeader,
  decodePackHeader,
  deflatedBytesMax,
  type EntryHeader,
  entryWork,
  inflateMeasured,
  packHeaderBytes,
  packTrailerBytes,
} from './pack-entry.ts'
import type { WorkBudget } from './work-budget.ts'

const oidBytes = 20
/** A byte of header and the shortest zlib stream. */
const entryBytesMin = 9
const windowBytes = MEBIBYTE
/** How much an encoder may exceed deflatedBytesMax before its entry is refused. */
const wasteBytesMax = 64 * KIBIBYTE
const headerBytesMax = 32
const tickObjects = 1024

/** The bytes of a pack, in RAM or in a file. */
export interface PackBytes {
  readonly size: number
  /** Returns the number of bytes read: fewer than requested only at the end. */
  read(into: Uint8Array, position: number): number
}

/** Called with each object when its oid is known; the callee may keep the body. */
export type VisitObject = (oid: string, type: ObjectType, body: Uint8Array) => void

export interface ScanOptions {
  readonly watch: WorkWatch
  readonly visit?: VisitObject | undefined
}

interface ReachedObject {
  readonly body: Uint8Array
  readonly work: number
  /** The rank of its base, if the entry is a delta. */
  readonly base?: number
}

/** Ranks count entries from 0, in the order of the pack. */
export class PackScan {
  readonly count: number
  readonly offsets: Float64Array
  readonly checksums: Uint32Array
  /** 20 bytes each; zero for a delta until it is resolved. */
  readonly oids: Bytes
  /** For each rank, the rank of an offset delta's base, else -1. */
  readonly bases: Int32Array
  /** The ranks of deltas that name their base by oid. */
  readonly namedDeltas: number[] = []
  readonly reader: EntryReader
  readonly #types: Uint8Array
  readonly #rows: OidTable
  readonly #hashed: HashedObjectsBuilder | undefined
  readonly #budget: WorkBudget
  readonly #watch: WorkWatch
  readonly #visit: VisitObject | undefined
  readonly #baseOids: ByteWriter = new ByteWriter()
  readonly #bytes: PackBytes
  #done = 0

  /** Throws `pack_corrupt`. */
  constructor(bytes: PackBytes, budget: WorkBudget, { watch, visit }: ScanOptions) {
    this.count = countOf(bytes)
    this.offsets = new Float64Array(this.count)
    this.checksums = new Uint32Array(this.count)
    this.#rows = OidTable.of(this.count)
    this.oids = this.#rows.oids
    this.#hashed = HashedObjectsBuilder.of(this.#rows, this.count)
    this.bases = new Int32Array(this.count).fill(-1)
    this.#types = new Uint8Array(this.count)
    this.#budget = budget
    this.#watch = watch
    this.#visit = visit
    this.reader = new EntryReader(bytes, windowBytes)
    this.#bytes = bytes
  }

  /** Reads all entries, one in each step. Throws `pack_corrupt` or `cancelled`. */
  *read(): Generator<undefined, void> {
    const end = endOf(this.#bytes)
    let at = packHeaderBytes
    for (let rank = 0; rank < this.count; rank += 1) {
      if (at >= end) throw corruptPack('it has fewer entries than it declares')
      const { header, data, length } = this.reader.entry(at)
      this.offsets[rank] = at
      this.checksums[rank] = this.reader.checksum(at, length)
      this.#note(rank, header, data)
      at += length
      yield
    }
    if (at !== end) throw corruptPack('bytes follow its last entry')
  }

  /** Undefined for a delta. */
  typeOf(rank: number): ObjectType | undefined {
    return objectTypes[(this.#types[rank] ?? 0) - 1]
  }

  oidOf(rank: number): Uint8Array {
    return this.oids.subarray(rank * oidBytes, (rank + 1) * oidBytes)
  }

  /** The inflated data of an entry, from `reader` unless it is still in RAM. */
  dataOf(rank: number, reader: EntryReader): Uint8Array {
    return this.#hashed?.dataOf(rank) ?? reader.entry(this.offsets[rank] ?? 0).data
  }

  /** The objects that are still in RAM, once all are set; undefined for a pack of few objects. */
  hashed(): HashedColumns | undefined {
    return this.#hashed?.columns()
  }

  /** The bases of `namedDeltas`, 20 bytes each, in the same order. */
  baseOids(): Uint8Array {
    return this.#baseOids.bytes()
  }

  /**
   * Records the object of an entry. `work` is what a reader inflates and copies to reach it.
   * Throws `pack_corrupt` if the pack holds it twice: each delta on it would count twice too.
   */
  setObject(rank: number, type: ObjectType, { body, work, base }: ReachedObject): void {
    this.#budget.spend(body.length + work)
    const oid = gitHash(type, body)
    this.oids.write(oid, rank * oidBytes, 'hex')
    if (!this.#rows.add(rank)) throw corruptPack('it holds an object twice')
    this.#hashed?.add(rank, type, body, base)
    this.#visit?.(oid, type, body)
    this.#done += 1
    if (this.#done % tickObjects === 0) this.#watch.progress(this.#done, this.count)
  }

  #note(rank: number, header: EntryHeader, data: Uint8Array): void {
    this.#budget.spend(entryWork(header))
    if (header.type === 'tag') throw corruptPack('it holds a tag, which no store contains')
    const isDelta = header.type === 'offsetDelta' || header.type === 'refDelta'
    if (isDelta) this.#hashed?.addDelta(rank, data)
    if (header.type === 'offsetDelta') {
      this.bases[rank] = this.#rankAt((this.offsets[rank] ?? 0) - header.distance, rank)
    } else if (header.type === 'refDelta') {
      this.namedDeltas.push(rank)
      this.#baseOids.raw(header.baseOid)
    } else {
      this.#types[rank] = objectTypes.indexOf(header.type) + 1
      this.setObject(rank, header.type, { body: data, work: entryWork(header) })
    }
  }

  /** The rank of the entry before `rank` that starts at `offset`. */
  #rankAt(offset: number, rank: number): number {
    let low = 0
    let high = rank
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.offsets[middle] ?? 0) < offset) low = middle + 1
      else high = middle
    }
    if (low === rank || this.offsets[low] !== offset) throw corruptPack('a delta has no base')
    return low
  }
}

interface InflatedEntry {
  readonly header: EntryHeader
  readonly data: Uint8Array
  /** The length in the pack. */
  readonly length: number
}

/** Reads entries through a window, which moves when it does not hold a whole entry. */
export class EntryReader {
  readonly #bytes: PackBytes
  readonly #buffer: Uint8Array
  #window: Uint8Array = new Uint8Array(0)
  #windowAt = 0

  constructor(bytes: PackBytes, length: number) {
    this.#bytes = bytes
    this.#buffer = Bytes.allocUnsafeSlow(length)
  }

  /** The header of the entry at `at`. Throws `pack_corrupt`. */
  header(at: number): EntryHeader {
    return decodeEntryHeader(this.#view(at, headerBytesMax))
  }

  /** The entry at `at`, inflated. Throws `pack_corrupt`. */
  entry(at: number): InflatedEntry {
    const header = this.header(at)
    const likely = header.length + deflatedBytesMax(header.size)
    const inflated =
      inflateMeasured(this.#view(at, likely).subarray(header.length), header.size) ??
      inflateMeasured(
        this.#view(at, likely + header.size + wasteBytesMax).subarray(header.length),
        header.size,
      )
    if (inflated === undefined) throw corruptPack('an entry ends too early')
    return { header, data: inflated.body, length: header.length + inflated.length }
  }

  /** The CRC-32 of the bytes in the pack. */
  checksum(at: number, length: number): number {
    return crc32(this.#view(at, length).subarray(0, length))
  }

  /** At least `length` bytes from `at`; fewer only before the trailer. */
  #view(at: number, length: number): Uint8Array {
    const windowEnd = this.#windowAt + this.#window.length
    if (at < this.#windowAt || at + length > windowEnd) {
      const end = endOf(this.#bytes)
      if (at < this.#windowAt || Math.min(at + length, end) > windowEnd) this.#move(at, length, end)
    }
    return this.#window.subarray(at - this.#windowAt)
  }

  #move(at: number, length: number, end: number): void {
    const wanted = Math.min(Math.max(length, this.#buffer.length), end - at)
    assert(wanted >= 0, 'an entry starts inside its pack')
    const large = wanted > this.#buffer.length
    const into = large ? new Uint8Array(wanted) : this.#buffer.subarray(0, wanted)
    this.#window = into.subarray(0, this.#bytes.read(into, at))
    this.#windowAt = at
  }
}

const objectTypes: readonly ObjectType[] = ['commit', 'tree', 'blob']

/** Where the entries end. */
function endOf({ size }: PackBytes): number {
  return size - packTrailerBytes
}

/** The declared number of objects. */
function countOf(bytes: PackBytes): number {
  const header = new Uint8Array(packHeaderBytes)
  if (endOf(bytes) < packHeaderBytes) throw corruptPack('it is too short')
  bytes.read(header, 0)
  const count = decodePackHeader(header)
  const least = packHeaderBytes + count * entryBytesMin
  if (count > packObjectsMax || endOf(bytes) < least) {
    throw corruptPack('it declares more entries than it has room for')
  }
  return count
}
