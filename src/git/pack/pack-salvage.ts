// What is still readable in a pack whose index, ends or entries are damaged: walks the bytes from
// entry to entry, looks for the next one after each that does not inflate, and names every object
// by its hash. Believes nothing that the pack says of itself. Writes nothing.

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

/** The pack with an index of what can be read; undefined if there is no such file. */
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
  // A delta may name its base by oid, and that may come later: until nothing more is found.
  for (;;) {
    const found = nameEntries(disk, directory, name, { offsets, named })
    if (found.size === named.size) break
    named = found
  }
  return Pack.openSalvaged(disk, directory, name, indexOf(named))
}

/** Where an entry starts that inflates to what its header declares. */
function findEntries(disk: Disk, fd: number): readonly number[] {
  const length = disk.size(fd)
  // The trailer may be missing, and what stands in its place may be an entry.
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

/** Bytes that look like the start of an entry: a header of any kind, and a zlib stream after it. */
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

  /** The first place from `at` on; the end of the file if there is none. */
  next(at: number): number {
    for (let place = at; place < this.#length; place += 1) {
      this.#load(place)
      if (mayStart(this.#window, place - this.#windowAt)) return place
    }
    return this.#length
  }

  #load(place: number): void {
    const needed = Math.min(place + entryHeaderBytesMax + 2, this.#length)
    if (place >= this.#windowAt && needed <= this.#windowAt + this.#window.length) return
    this.#window = this.#buffer.subarray(0, this.#disk.read(this.#fd, this.#buffer, place))
    this.#windowAt = place
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

/** Where what follows starts; a byte whose highest bit is set goes on in the next one. */
function afterNumber(bytes: Uint8Array, start: number): number {
  let at = start
  while ((bytes[at] ?? 0) >= 0x80) at += 1
  return at + 1
}

interface Entries {
  readonly offsets: readonly number[]
  /** What has a name already. */
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
  // Nobody asks this index for checksums: it is never written.
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
