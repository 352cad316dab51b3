// Several packs into one, so that their number stays logarithmic. Entries are copied as they are,
// but for the distances to their bases; what decides which packs is pure. Must not judge which
// objects are needed, and removes nothing before the new pack is durable.

import { crc32 } from 'node:zlib'
import { KIBIBYTE } from '../limits.ts'
import type { Disk } from './disk.ts'
import type { PackStatus } from './object-store.ts'
import { Pack } from './pack.ts'
import {
  corruptPack,
  decodeEntryHeader,
  encodeOffsetDeltaHeader,
  packTrailerBytes,
} from './pack-entry.ts'
import type { EntryHeader } from './pack-entry.ts'
import { PackOutput, writeWithOutput } from './pack-output.ts'
import { removePacks } from './pack-removal.ts'

/** Each pack holds at least this many times the objects of all smaller ones together. */
const growth = 2
const readAheadBytes = 256 * KIBIBYTE
/** No writer works on one pack for a day. */
const temporaryMsMax = 24 * 3600 * 1000

/**
 * The packs to merge so that their sizes form a geometric progression again, as
 * `git repack --geometric=2` chooses them; empty if they do. Largest first.
 */
export function planMerge(
  packs: readonly (PackStatus & { readonly kept?: boolean })[],
): readonly string[] {
  const sorted = packs
    .filter((pack) => pack.kept !== true)
    .toSorted((a, b) => a.objects - b.objects)
  let split = firstInProgression(sorted)
  let total = 0
  for (const { objects } of sorted.slice(0, split)) total += objects
  while (split > 0 && (sorted[split]?.objects ?? Infinity) < growth * total) {
    total += sorted[split]?.objects ?? 0
    split += 1
  }
  const chosen = sorted.slice(0, split).map(({ name }) => name)
  return chosen.length < 2 ? [] : chosen.toReversed()
}

/**
 * Merges packs, then removes them. Resolves to the new pack, or to undefined with nothing changed
 * if fewer than two of them still exist: another process was faster. Throws `pack_corrupt`, with
 * nothing changed, if one is damaged.
 */
export async function mergePacks(
  disk: Disk,
  directory: string,
  names: readonly string[],
): Promise<PackStatus | undefined> {
  const packs: Pack[] = []
  let merged: PackStatus
  try {
    openPacks(disk, directory, names, packs)
    if (packs.length < 2) return undefined
    const sources = packs.map((pack) => new Source(pack))
    const count = countObjects(sources)
    merged = await writeWithOutput(new PackOutput(disk, directory, count), (output) => {
      for (const [n, source] of sources.entries()) copyEntries(output, source, sources.slice(0, n))
    })
  } finally {
    for (const pack of packs) pack.close()
  }
  const replaced = packs.map(({ name }) => name).filter((name) => name !== merged.name)
  await removePacks(disk, directory, replaced)
  const now = disk.stat(`${directory}/${merged.name}.pack`)?.mtimeMs ?? 0
  sweepTemporaries(disk, directory, now)
  return merged
}

/** Where the progression begins: every pack before that index must be merged. */
function firstInProgression(sorted: readonly PackStatus[]): number {
  for (let n = sorted.length - 1; n > 0; n -= 1) {
    // The larger of the two that break the progression goes too: the merged pack may outgrow it.
    if ((sorted[n]?.objects ?? 0) < growth * (sorted[n - 1]?.objects ?? 0)) return n + 1
  }
  return 0
}

/** Fills `packs`, so that the caller closes what was opened before a failure. */
function openPacks(disk: Disk, directory: string, names: readonly string[], packs: Pack[]): void {
  const files = new Set(disk.list(directory))
  for (const name of names) {
    if (files.has(`${name}.keep`) || files.has(`${name}.mtimes`)) continue
    const pack = Pack.open(disk, directory, name)
    if (pack !== undefined) packs.push(pack)
  }
}

/** One of the packs, its entries by offset, and where each went. */
class Source {
  readonly pack: Pack
  /** Positions in the index, by ascending offset. */
  readonly order: Uint32Array
  /** By position in the index: the offset in the new pack, or NaN. */
  readonly moved: Float64Array
  readonly #offsets: Float64Array
  #window: Uint8Array = new Uint8Array(0)
  #windowAt = 0

  constructor(pack: Pack) {
    const { count } = pack.index
    this.pack = pack
    this.moved = new Float64Array(count).fill(NaN)
    const offsets = Float64Array.from({ length: count }, (_, n) => pack.index.offsetAt(n))
    this.order = Uint32Array.from(offsets.keys()).toSorted((a, b) => {
      return (offsets[a] ?? 0) - (offsets[b] ?? 0)
    })
    this.#offsets = offsets
  }

  /** The offset of the nth entry; for n past the last one, the end of the entries. */
  offsetOf(n: number): number {
    const position = this.order[n]
    if (position === undefined) return this.pack.bytes - packTrailerBytes
    return this.#offsets[position] ?? 0
  }

  /** The position in the index of the entry that starts at `offset`. */
  findByOffset(offset: number): number | undefined {
    let low = 0
    let high = this.order.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.offsetOf(middle) < offset) low = middle + 1
      else high = middle
    }
    return this.offsetOf(low) === offset ? this.order[low] : undefined
  }

  /** Where the object is in the new pack, if it is there already. */
  findMoved(oid: Uint8Array): number | undefined {
    const position = this.pack.index.find(oid)
    const offset = position === undefined ? undefined : this.moved[position]
    return offset === undefined || Number.isNaN(offset) ? undefined : offset
  }

  /** The bytes of the nth entry, checked against the index's CRC-32. */
  entry(n: number): Uint8Array {
    const start = this.offsetOf(n)
    const length = this.offsetOf(n + 1) - start
    if (start < this.#windowAt || start + length > this.#windowAt + this.#window.length) {
      this.#window = this.pack.readRaw(start, Math.max(length, readAheadBytes))
      this.#windowAt = start
    }
    const bytes = this.#window.subarray(start - this.#windowAt, start - this.#windowAt + length)
    if (crc32(bytes) !== this.pack.index.checksumAt(this.order[n] ?? 0)) {
      throw corruptPack('an entry does not match its checksum')
    }
    return bytes
  }
}

function countObjects(sources: readonly Source[]): number {
  let count = 0
  for (const [n, { pack }] of sources.entries()) {
    const before = sources.slice(0, n)
    for (let position = 0; position < pack.index.count; position += 1) {
      const oid = pack.index.oidAt(position)
      if (!before.some((source) => source.pack.index.find(oid) !== undefined)) count += 1
    }
  }
  return count
}

/**
 * `before` are the sources that were copied already. An object that one of them holds is left out,
 * and deltas on it are pointed at that copy: it never depends on a later pack, so no cycle arises.
 */
function copyEntries(output: PackOutput, source: Source, before: readonly Source[]): void {
  for (const [n, position] of source.order.entries()) {
    const oid = source.pack.index.oidAt(position)
    const known = findIn(before, oid)
    source.moved[position] = known ?? output.offset
    if (known === undefined) copyEntry(output, source, { n, oid, before })
  }
}

function copyEntry(
  output: PackOutput,
  source: Source,
  entry: { readonly n: number; readonly oid: Uint8Array; readonly before: readonly Source[] },
): void {
  const bytes = source.entry(entry.n)
  const header = decodeEntryHeader(bytes)
  const data = bytes.subarray(header.length)
  const base = findBase(source, header, { at: source.offsetOf(entry.n), before: entry.before })
  if (base === undefined) output.add(entry.oid, bytes.subarray(0, header.length), data)
  else {
    const moved = encodeOffsetDeltaHeader(header.size, output.offset - base)
    output.add(entry.oid, moved, data)
  }
}

/**
 * The new offset of the base of a delta. Undefined for a whole object, and for a delta whose base,
 * named by oid, comes later in the same pack: that one is copied with its name.
 */
function findBase(
  source: Source,
  header: EntryHeader,
  place: { readonly at: number; readonly before: readonly Source[] },
): number | undefined {
  if (header.type === 'refDelta') {
    const base = findIn([source, ...place.before], header.baseOid)
    if (base === undefined && source.pack.index.find(header.baseOid) === undefined) {
      throw corruptPack('the base of a delta is in another pack')
    }
    return base
  }
  if (header.type !== 'offsetDelta') return undefined
  const position = source.findByOffset(place.at - header.distance)
  const base = position === undefined ? undefined : source.moved[position]
  if (base === undefined || Number.isNaN(base)) throw corruptPack('a delta has no base')
  return base
}

function findIn(sources: readonly Source[], oid: Uint8Array): number | undefined {
  for (const source of sources) {
    const offset = source.findMoved(oid)
    if (offset !== undefined) return offset
  }
  return undefined
}

/** Removes what dead writers left. `now` is the time of a file just written: no clock is needed. */
function sweepTemporaries(disk: Disk, directory: string, now: number): void {
  for (const file of disk.list(directory)) {
    if (!file.startsWith('tmp_pack_') && !file.startsWith('tmp_idx_')) continue
    const age = now - (disk.stat(`${directory}/${file}`)?.mtimeMs ?? now)
    if (age > temporaryMsMax) disk.remove(`${directory}/${file}`)
  }
}
