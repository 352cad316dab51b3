// Recovers the readable objects of a pack with a damaged index, damaged ends or damaged entries:
// walks from entry to entry, searches for the next one after a damaged entry, and identifies
// objects by their hash. Must trust nothing that the pack declares, and must not write.

import { fromHex } from '../../bytes.ts'
import { gitHash } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { hasCode } from '../../errors.ts'
import { deltaCacheBytes, MEBIBYTE } from '../../limits.ts'
import type { Oid } from '../objects/object.ts'
import { DeltaBaseCache } from './delta-base-cache.ts'
import {
  entryHeaderBytesMax,
  entryTypeAt,
  packHeaderBytes,
  packTrailerBytes,
} from './pack-entry.ts'
import { encodePackIndex, PackIndex } from './pack-index.ts'
import { EntryReader } from './pack-scan.ts'
import { Pack } from './pack.ts'

const oidBytes = 20
const windowBytes = MEBIBYTE

/** The pack with an index of its readable objects; undefined if there is no such file. */
export function salvagePack(disk: Disk, directory: string, name: string): Pack | undefined {
  const fd = disk.openExisting(`${directory}/${name}.pack`, 'r')
  if (fd === undefined) return undefined
  let offsets: readonly number[]
  try {
    offsets = findEntries(disk, fd)
  } finally {
    disk.close(fd)
  }
  let named = new Map<Oid, number>()
  // A base that is named by oid may be found later: repeat until nothing new is found.
  for (;;) {
    const found = nameEntries(disk, directory, name, { offsets, named })
    if (found.size === named.size) break
    named = found
  }
  return Pack.openSalvaged(disk, directory, name, indexOf(named))
}

/** The offsets of entries that inflate to their declared size. */
function findEntries(disk: Disk, fd: number): readonly number[] {
  const length = disk.size(fd)
  // The trailer may be missing, and its place may hold an entry.
  const size = length + packTrailerBytes
  const read = (into: Uint8Array, position: number): number => disk.read(fd, into, position)
  const reader = new EntryReader({ size, read }, windowBytes)
  const search = new StartSearch(disk, fd, length)
  const offsets: number[] = []
  for (let at = packHeaderBytes; at < length;) {
    const entry = tolerant(() => reader.entry(at).length)
    if (entry !== undefined) offsets.push(at)
    at = entry === undefined ? search.next(at + 1) : at + entry
  }
  return offsets
}

/** Searches for bytes that look like an entry: a valid header, followed by a zlib stream. */
class StartSearch {
  readonly #disk: Disk
  readonly #fd: number
  readonly #length: number
  readonly #buffer: Uint8Array = new Uint8Array(windowBytes)
  #window: Uint8Array = new Uint8Array(0)
  #windowAt = 0

  constructor(disk: Disk, fd: number, length: number) {
    this.#disk = disk
    this.#fd = fd
    this.#length = length
  }

  /** The first candidate at or after `at`; the end of the file if there is none. */
  next(at: number): number {
    for (let candidate = at; candidate < this.#length; candidate += 1) {
      this.#load(candidate)
      if (mayStart(this.#window, candidate - this.#windowAt)) return candidate
    }
    return this.#length
  }

  #load(candidate: number): void {
    const needed = Math.min(candidate + entryHeaderBytesMax + 2, this.#length)
    if (candidate >= this.#windowAt && needed <= this.#windowAt + this.#window.length) return
    this.#window = this.#buffer.subarray(0, this.#disk.read(this.#fd, this.#buffer, candidate))
    this.#windowAt = candidate
  }
}

function mayStart(bytes: Uint8Array, start: number): boolean {
  const type = entryTypeAt(bytes, start)
  if (type === undefined || type === 'tag') return false
  let at = afterNumber(bytes, start)
  if (type === 'offsetDelta') at = afterNumber(bytes, at)
  if (type === 'refDelta') at += oidBytes
  const [method = 0, flags = 0] = bytes.subarray(at, at + 2)
  // RFC 1950: deflate, a window of 32 KiB at most, and a check over both bytes.
  return (method & 15) === 8 && method >> 4 <= 7 && (method * 256 + flags) % 31 === 0
}

/** The position after a number; a byte with its highest bit set continues in the next one. */
function afterNumber(bytes: Uint8Array, start: number): number {
  let at = start
  while ((bytes[at] ?? 0) >= 0x80) at += 1
  return at + 1
}

interface Entries {
  readonly offsets: readonly number[]
  /** The entries whose oid is known. */
  readonly named: ReadonlyMap<Oid, number>
}

function nameEntries(
  disk: Disk,
  directory: string,
  name: string,
  { offsets, named }: Entries,
): Map<Oid, number> {
  const found = new Map(named)
  const done = new Set(named.values())
  const pack = Pack.openSalvaged(disk, directory, name, indexOf(named))
  if (pack === undefined) return found
  const cache = new DeltaBaseCache(deltaCacheBytes)
  try {
    for (const offset of offsets) {
      if (done.has(offset)) continue
      const object = tolerant(() => pack.read(offset, cache))
      if (object !== undefined) found.set(gitHash(object.type, object.body), offset)
    }
  } finally {
    pack.close()
  }
  return found
}

function indexOf(named: ReadonlyMap<Oid, number>): PackIndex {
  const rows = [...named].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const oids = Buffer.concat(rows.map(([oid]) => fromHex(oid)))
  const offsets = Float64Array.from(rows, ([, offset]) => offset)
  // The checksums are never read, since this index is never written.
  const checksums = Buffer.alloc(rows.length * 4)
  return new PackIndex(encodePackIndex({ oids, checksums, offsets }, new Uint8Array(oidBytes)))
}

function tolerant<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (hasCode(error, 'pack_corrupt', 'object_corrupt')) return undefined
    throw error
  }
}
