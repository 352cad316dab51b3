// Merges packs: some of them, so that their number stays logarithmic, or all of them with all loose
// objects, for `compact`. Copies entries, and changes only the distances to their bases; never
// holds a pack or a large index in RAM. Must not decide which objects are needed, and must remove
// nothing before the new pack is durable.

import { crc32 } from 'node:zlib'
import { unwatched, type WorkWatch } from '../../async.ts'
import { equalBytes } from '../../bytes.ts'
import { Sha1 } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { FileSweep } from '../../disk/file-sweep.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { KIBIBYTE, MEBIBYTE, packIndexBytesMax } from '../../limits.ts'
import type { PackStatus } from '../object-store.ts'
import { looseObjectIds, looseObjectPath, readLooseObject } from '../objects/loose-object.ts'
import type { GitObject, Oid } from '../objects/object.ts'
import {
  corruptPack,
  decodeEntryHeader,
  encodeOffsetDeltaHeader,
  entryTypeAt,
  packHeaderBytes,
  packTrailerBytes,
} from '../pack/pack-entry.ts'
import { PackFile, publishPacks, type TemporaryPack } from '../pack/pack-file.ts'
import {
  type IndexMerge,
  type MergedRow,
  mergeIndexes,
  type RowValues,
  writeMergedIndex,
} from '../pack/pack-index-merge.ts'
import { PackLayout } from '../pack/pack-layout.ts'
import { removePacks } from '../pack/pack-removal.ts'
import { type PackObject, writePack } from '../pack/pack-writer.ts'
import { Pack } from '../pack/pack.ts'

/** Each pack has at least this many times as many objects as all smaller ones together. */
const growth = 2
/** No process writes one pack for a day. */
const temporaryMsMax = 24 * 3600 * 1000

/**
 * Chooses the packs to merge so that their sizes form a geometric progression again, like `git
 * repack --geometric=2`; largest first, empty if they already do.
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

interface MergeOptions {
  readonly watch?: WorkWatch
  /** A larger index remains in its file. */
  readonly indexBytesMax?: number
}

/**
 * Merges packs, then removes them. Resolves to the new pack, or to undefined with nothing changed
 * if fewer than two can be merged: another process merged them, or git keeps them. Throws
 * `pack_corrupt` or `cancelled`, with nothing changed.
 */
export async function mergePacks(
  disk: Disk,
  directory: string,
  names: readonly string[],
  { watch = unwatched, indexBytesMax = packIndexBytesMax }: MergeOptions = {},
): Promise<PackStatus | undefined> {
  const packs: Pack[] = []
  let merged: TemporaryPack
  try {
    for (const name of withoutKept(names, disk.list(directory))) {
      const pack = Pack.openVerified(disk, directory, name, indexBytesMax)
      if (pack !== undefined) packs.push(pack)
    }
    if (packs.length < 2) return undefined
    merged = await writeMerged(disk, directory, packs, watch)
    await publishPacks(disk, directory, [merged])
  } finally {
    for (const pack of packs) pack.close()
  }
  const replaced = packs.map(({ name }) => name).filter((name) => name !== merged.name)
  await removePacks(disk, directory, replaced)
  const now = disk.stat(`${directory}/${merged.name}.pack`)?.mtimeMs ?? 0
  sweepTemporaries(disk, directory, now)
  return { name: merged.name, objects: merged.objects, bytes: merged.bytes }
}

/**
 * Merges these packs, the largest first, and all loose objects into one pack; kept packs and
 * unreachable objects do not change. Throws what `mergePacks` throws.
 */
export async function compactPacks(
  disk: Disk,
  directory: string,
  names: readonly string[],
  watch: WorkWatch,
): Promise<PackStatus | undefined> {
  refuseIfCancelled(watch)
  const loose = await packLooseObjects(disk, directory)
  return mergePacks(disk, directory, [...names, ...loose], { watch })
}

function refuseIfCancelled(watch: WorkWatch): void {
  if (!watch.isCancelled()) return
  throw new StoreError('cancelled', 'The merge was cancelled: all packs are as they were')
}

/** The start of the progression: every pack before this index must be merged. */
function firstInProgression(sorted: readonly PackStatus[]): number {
  for (let n = sorted.length - 1; n > 0; n -= 1) {
    // The larger of the two is merged too, because the merged pack may outgrow it.
    if ((sorted[n]?.objects ?? 0) < growth * (sorted[n - 1]?.objects ?? 0)) return n + 1
  }
  return 0
}

/** The names of the packs that git does not keep. */
function withoutKept(names: readonly string[], files: readonly string[]): readonly string[] {
  const present = new Set(files)
  return names.filter((name) => !present.has(`${name}.keep`) && !present.has(`${name}.mtimes`))
}

async function writeMerged(
  disk: Disk,
  directory: string,
  packs: readonly Pack[],
  watch: WorkWatch,
): Promise<TemporaryPack> {
  const indexes = packs.map(({ index }) => index)
  const merge = mergeIndexes(indexes)
  return PackFile.write(disk, directory, merge.count, (file) => {
    const values = copyPacks(file, packs, merge, watch)
    return file.finishWith((index, checksum) => {
      writeMergedIndex(index, { indexes, merge }, values, checksum)
    })
  })
}

/** Copies the packs; returns the new offset and checksum of every row. */
function copyPacks(
  file: PackFile,
  packs: readonly Pack[],
  merge: IndexMerge,
  watch: WorkWatch,
): RowValues {
  const sources: MergeSource[] = []
  const oldOffset = ({ from, position }: MergedRow): number => {
    return packs[from]?.index.offsetAt(position) ?? NaN
  }
  const movedTo = (row: MergedRow): number => sources[row.from]?.movedTo(oldOffset(row)) ?? NaN
  let done = 0
  const total = packs.reduce((sum, { index }) => sum + index.count, 0)
  for (const [from, pack] of packs.entries()) {
    const dropped = new Map<number, number>()
    for (const { position, keptIn, keptAt } of merge.dropped[from] ?? []) {
      dropped.set(oldOffset({ from, position }), movedTo({ from: keptIn, position: keptAt }))
    }
    const source = new MergeSource(pack)
    source.copy(file, dropped, (share) => {
      refuseIfCancelled(watch)
      watch.progress(done + Math.floor(share * pack.index.count), total)
    })
    done += pack.index.count
    sources.push(source)
  }
  return {
    offsetOf: movedTo,
    checksumOf(row) {
      const changed = sources[row.from]?.changedChecksum(oldOffset(row))
      return changed ?? packs[row.from]?.index.checksumAt(row.position) ?? NaN
    },
  }
}

/** Removes files of dead writers. `now` is the time of a file just written: no clock is needed. */
function sweepTemporaries(disk: Disk, directory: string, now: number): void {
  for (const file of disk.list(directory)) {
    if (!file.startsWith('tmp_pack_') && !file.startsWith('tmp_idx_')) continue
    const age = now - (disk.stat(`${directory}/${file}`)?.mtimeMs ?? now)
    if (age > temporaryMsMax) disk.remove(`${directory}/${file}`)
  }
}

/** The most that is held in RAM; a larger object is packed alone. */
const batchBytesMax = 8 * MEBIBYTE

/**
 * Packs loose objects, undeltified, so that a repack can copy them from packs; damaged ones and
 * tags are skipped. `directory` is `objects/pack`. Returns the names of the new packs.
 */
async function packLooseObjects(disk: Disk, directory: string): Promise<string[]> {
  const loose = directory.slice(0, directory.lastIndexOf('/'))
  const names: string[] = []
  let batch: PackObject[] = []
  let bytes = 0
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return
    names.push((await writePack(disk, directory, batch)).name)
    await removeLoose(disk, loose, batch)
    batch = []
    bytes = 0
  }
  for (const oid of looseObjectIds(disk, loose)) {
    const object = readIfSound(disk, loose, oid)
    if (object === undefined) continue
    if (bytes + object.body.length > batchBytesMax) await flush()
    batch.push({ oid, ...object })
    bytes += object.body.length
  }
  await flush()
  return names
}

function readIfSound(disk: Disk, directory: string, oid: Oid): GitObject | undefined {
  try {
    return readLooseObject(disk, directory, oid)
  } catch (error) {
    if (hasCode(error, 'object_corrupt')) return undefined
    throw error
  }
}

async function removeLoose(
  disk: Disk,
  directory: string,
  objects: readonly PackObject[],
): Promise<void> {
  const sweep = new FileSweep(disk)
  for (const { oid } of objects) sweep.removeKnown(looseObjectPath(directory, oid))
  await sweep.sync()
}

const windowBytes = 256 * KIBIBYTE
/** Entries between two calls of `tick`. */
const tickEntries = 1024

class MergeSource {
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
