// One pack and its index, read object by object, with at most two small reads of the pack; a large
// index remains in its file. Deltas are applied iteratively, within the limits of limits.ts. Must
// trust nothing in the pack; pack-set.ts verifies oids. The descriptor remains open, so a pack that
// another process removed after a merge remains readable.

import { equalBytes } from '../../bytes.ts'
import { type CacheBudget, cachesOfProcess } from '../../cache-budget.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { deltaChainBytesMax, deltaChainMax, packIndexBytesMax } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'
import type { GitObject, ObjectType, SizeLimit } from '../objects/object.ts'
import type { DeltaBaseCache } from './delta-base-cache.ts'
import { applyDelta, deltaWork, targetSize } from './delta.ts'
import {
  corruptPack,
  decodeEntryHeader,
  decodePackHeader,
  deflatedBytesMax,
  type EntryHeader,
  entryHeaderBytesMax,
  entryWork,
  inflate,
  packHeaderBytes,
  packTrailerBytes,
} from './pack-entry.ts'
import { type ObjectIndex, PackIndex } from './pack-index.ts'
import { PagedIndex } from './paged-index.ts'
import { ReadBlocks } from './read-blocks.ts'
import type { WorkBudget } from './work-budget.ts'

/** Holds nearly every entry of a store, so that one read suffices. */
const windowBytes = 4096
/** How much an encoder may exceed deflatedBytesMax before its entry is refused. */
const wasteBytesMax = 65_536
/** A larger base is read again for each delta on it. */
const sharedBaseBytesMax = 65_536

/** An object of any git program. */
export interface PackedObject {
  readonly type: ObjectType | 'tag'
  readonly body: Uint8Array
}

/** `Index` is `PackIndex` for jobs that use its tables as a whole. */
export class Pack<Index extends ObjectIndex = ObjectIndex> {
  /** File name without extension. */
  readonly name: string
  readonly index: Index
  readonly bytes: number
  readonly #disk: Disk
  readonly #fd: number
  readonly #serial: number = nextSerial()
  readonly #window: Bytes = Bytes.allocUnsafeSlow(windowBytes)
  readonly #blocks: ReadBlocks
  /** The whole object below the last delta: a thousand consecutive commits share one. */
  #sharedBase: { readonly offset: number; readonly object: PackedObject } | undefined

  /**
   * Opens a pack with its index in RAM, verified completely, for a job that ends. Undefined if the
   * index or the pack does not exist. Throws `pack_corrupt`.
   */
  static open(disk: Disk, directory: string, name: string): Pack<PackIndex> | undefined {
    const bytes = disk.readFile(`${directory}/${name}.idx`)
    if (bytes === undefined) return undefined
    return Pack.#openWithIndex(new PackIndex(bytes), disk, directory, name)
  }

  /**
   * Like `open`, for longer use: an index above `indexBytesMax` remains in its file, and RAM has
   * what was read of it as far as the budget allows.
   */
  static openBounded(
    disk: Disk,
    directory: string,
    name: string,
    {
      indexBytesMax = packIndexBytesMax,
      cacheBudget = cachesOfProcess,
    }: { readonly indexBytesMax?: number; readonly cacheBudget?: CacheBudget } = {},
  ): Pack | undefined {
    const path = `${directory}/${name}.idx`
    if ((disk.stat(path)?.size ?? 0) <= indexBytesMax) return Pack.open(disk, directory, name)
    const index = PagedIndex.open(disk, path, cacheBudget)
    return index && Pack.#openWithIndex(index, disk, directory, name)
  }

  /**
   * Opens a pack with its index verified completely, for a job that uses each row once: in RAM, or
   * above `indexBytesMax` in its file. Undefined as in `open`. Throws `pack_corrupt`.
   */
  static openVerified(
    disk: Disk,
    directory: string,
    name: string,
    indexBytesMax: number,
  ): Pack | undefined {
    const path = `${directory}/${name}.idx`
    if ((disk.stat(path)?.size ?? 0) <= indexBytesMax) return Pack.open(disk, directory, name)
    const index = PagedIndex.open(disk, path)
    if (index === undefined) return undefined
    try {
      index.verify()
    } catch (error) {
      index.close()
      throw error
    }
    return Pack.#openWithIndex(index, disk, directory, name)
  }

  /** Takes ownership of the index. */
  static #openWithIndex<Index extends ObjectIndex>(
    index: Index,
    disk: Disk,
    directory: string,
    name: string,
  ): Pack<Index> | undefined {
    let fd: number | undefined
    try {
      fd = disk.openExisting(`${directory}/${name}.pack`, 'r')
      if (fd !== undefined) {
        return new Pack(disk, fd, { name, index, bytes: checkEnds(disk, fd, index) })
      }
      index.close()
      return undefined
    } catch (error) {
      index.close()
      if (fd !== undefined) disk.close(fd)
      throw error
    }
  }

  /**
   * Opens a damaged pack with an index that was made from its bytes; nothing else in it is trusted.
   * The trailer may be missing, so entries are read up to the end of the file.
   */
  static openSalvaged(
    disk: Disk,
    directory: string,
    name: string,
    index: PackIndex,
  ): Pack<PackIndex> | undefined {
    const fd = disk.openExisting(`${directory}/${name}.pack`, 'r')
    if (fd === undefined) return undefined
    return new Pack(disk, fd, { name, index, bytes: disk.size(fd) + packTrailerBytes })
  }

  private constructor(
    disk: Disk,
    fd: number,
    parts: { readonly name: string; readonly index: Index; readonly bytes: number },
  ) {
    this.#disk = disk
    this.#fd = fd
    this.name = parts.name
    this.index = parts.index
    this.bytes = parts.bytes
    this.#blocks = new ReadBlocks((into, position) => this.#disk.read(this.#fd, into, position))
  }

  close(): void {
    this.index.close()
    this.#disk.close(this.#fd)
  }

  /** Like `close`, for removed files: their space is freed in the background. */
  closeRemoved(): void {
    this.index.closeRemoved()
    this.#disk.closeInBackground(this.#fd)
  }

  /** The header of the pack, which was valid when the pack was opened. */
  readHeader(): Uint8Array {
    const header = new Uint8Array(packHeaderBytes)
    this.#disk.read(this.#fd, header, 0)
    return header
  }

  /** The bytes from `offset` on; fewer than `length` only before the trailer. */
  readRaw(offset: number, length: number): Uint8Array {
    return this.#read(offset, new Uint8Array(Math.min(length, this.bytes)))
  }

  /** Like `readRaw`, into a buffer of the caller; returns a view of the bytes read. */
  readInto(offset: number, into: Uint8Array): Uint8Array {
    return this.#read(offset, into)
  }

  /** The object at `offset`, not verified yet. Throws `pack_corrupt`, or what `limit` does. */
  read(offset: number, cache: DeltaBaseCache, limit?: SizeLimit): GitObject {
    const { type, body } = this.readAny(offset, cache, { limit })
    if (type !== 'tag') return { type, body }
    throw new StoreError('object_corrupt', 'The object is a tag, which no store contains')
  }

  /** Like `read`, but also reads tags, and spends of a budget what the object took. */
  readAny(
    offset: number,
    cache: DeltaBaseCache,
    {
      limit,
      budget,
    }: { readonly limit?: SizeLimit | undefined; readonly budget?: WorkBudget } = {},
  ): PackedObject {
    const deltas: { readonly offset: number; readonly bytes: Uint8Array }[] = []
    let work = 0
    let at = offset
    let object: PackedObject | undefined = cache.find(this.#key(at))
    while (object === undefined) {
      const { header, data } = this.#entry(at, limit)
      work += entryWork(header)
      if (header.type === 'offsetDelta' || header.type === 'refDelta') {
        deltas.push({ offset: at, bytes: data })
        checkSize(targetSize(data), limit)
        work += deltaWork(data)
        if (work > deltaChainBytesMax) throw corruptPack('a chain of deltas is too large')
        if (deltas.length > deltaChainMax) throw corruptPack('a chain of deltas is too long')
        at = this.#baseOffset(at, header)
        // The view is used for one delta, before anything is added to the cache.
        object = cache.view(this.#key(at)) ?? this.#sharedBaseAt(at)
      } else {
        object = { type: header.type, body: data }
        cache.add(this.#key(at), object)
        const isShared = deltas.length > 0 && header.size <= sharedBaseBytesMax
        if (isShared) this.#sharedBase = { offset: at, object }
      }
    }
    budget?.spend(work)
    for (const delta of deltas.toReversed()) {
      object = { type: object.type, body: applyDelta(object.body, delta.bytes) }
      cache.add(this.#key(delta.offset), object)
    }
    return object
  }

  #entry(offset: number, limit?: SizeLimit): { header: EntryHeader; data: Uint8Array } {
    return this.#entryInBlock(offset) ?? this.#entryAlone(offset, limit)
  }

  /** Undefined if the block does not hold the whole entry. */
  #entryInBlock(offset: number): { header: EntryHeader; data: Uint8Array } | undefined {
    const room = this.bytes - packTrailerBytes - offset
    if (offset < packHeaderBytes || room < entryHeaderBytesMax) return undefined
    const block = this.#blocks.at(offset).subarray(0, room)
    if (block.length < entryHeaderBytesMax) return undefined
    const header = decodeEntryHeader(block)
    if (header.length + deflatedBytesMax(header.size) > block.length) return undefined
    const data = inflate(block.subarray(header.length), header.size)
    return data && { header, data }
  }

  #entryAlone(offset: number, limit?: SizeLimit): { header: EntryHeader; data: Uint8Array } {
    const window = this.#read(offset, this.#window)
    const header = decodeEntryHeader(window)
    checkSize(header.size, limit)
    const likely = header.length + deflatedBytesMax(header.size)
    let deflated = likely <= windowBytes ? window : this.readRaw(offset, likely)
    let data = inflate(deflated.subarray(header.length), header.size)
    if (data === undefined) {
      deflated = this.readRaw(offset, likely + header.size + wasteBytesMax)
      data = inflate(deflated.subarray(header.length), header.size)
    }
    if (data === undefined) throw corruptPack('an entry ends too early')
    return { header, data }
  }

  #sharedBaseAt(offset: number): PackedObject | undefined {
    return this.#sharedBase?.offset === offset ? this.#sharedBase.object : undefined
  }

  /** The key of an entry in a cache that several packs share. */
  #key(offset: number): number {
    return this.#serial * 2 ** 40 + offset
  }

  #baseOffset(offset: number, header: EntryHeader): number {
    if (header.type === 'offsetDelta') {
      if (header.distance === 0) throw corruptPack('a delta is its own base')
      return offset - header.distance
    }
    const position = this.index.find(header.baseOid)
    if (position === undefined) throw corruptPack('the base of a delta is in another pack')
    return this.index.offsetAt(position)
  }

  #read(offset: number, into: Uint8Array): Uint8Array {
    const room = this.bytes - packTrailerBytes - offset
    if (offset < packHeaderBytes || room <= 0) throw corruptPack('an entry lies outside of it')
    const wanted = into.subarray(0, Math.min(into.length, room))
    return wanted.subarray(0, this.#disk.read(this.#fd, wanted, offset))
  }
}

function checkSize(size: number, limit: SizeLimit | undefined): void {
  if (limit !== undefined && size > limit.bytes) throw limit.refusal()
}

let serials = 0

/** Distinguishes the packs that are open together; there are never 8,192 of them. */
function nextSerial(): number {
  serials = (serials + 1) % 8192
  return serials
}

/** Checks that the pack belongs to the index, by its header and trailer; returns its size. */
function checkEnds(disk: Disk, fd: number, index: ObjectIndex): number {
  const bytes = disk.size(fd)
  const start = new Uint8Array(packHeaderBytes)
  const end = new Uint8Array(packTrailerBytes)
  if (bytes < start.length + end.length) throw corruptPack('it is too short')
  disk.read(fd, start, 0)
  disk.read(fd, end, bytes - end.length)
  if (decodePackHeader(start) !== index.count) throw corruptPack('its index has another count')
  if (!equalBytes(end, index.packChecksum)) throw corruptPack('its index is of another pack')
  return bytes
}
