// Several packs into one: some of them, so that their number stays logarithmic, or with all loose
// objects all of them, for `compact`. Entries are copied as they are,
// but for the distances to their bases; what decides which packs is pure. Neither a pack nor an
// index is ever in RAM. Must not judge which objects are needed, and removes nothing before the new
// pack is durable.

import { unwatched, type WorkWatch } from '../../async.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import type { PackStatus } from '../object-store.ts'
import { PackFile, publishPacks, type TemporaryPack } from '../pack/pack-file.ts'
import {
  type IndexMerge,
  type MergedRow,
  mergeIndexes,
  type RowValues,
  writeMergedIndex,
} from '../pack/pack-index-merge.ts'
import { MergeSource } from '../pack/pack-merge-source.ts'
import { removePacks } from '../pack/pack-removal.ts'
import { Pack } from '../pack/pack.ts'
import { packLooseObjects } from './loose-packing.ts'

/** Each pack holds at least this many times the objects of all smaller ones together. */
const growth = 2
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
 * if fewer than two of them still exist: another process was faster, or git was told to keep them.
 * Throws `pack_corrupt` or `cancelled`, with nothing changed.
 */
export async function mergePacks(
  disk: Disk,
  directory: string,
  names: readonly string[],
  watch: WorkWatch = unwatched,
): Promise<PackStatus | undefined> {
  const packs: Pack[] = []
  let merged: TemporaryPack
  try {
    openPacks(disk, directory, names, packs)
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
 * Makes one pack of these, the largest first, and of all loose objects; packs that git was told to
 * keep stay, and so does what no ref leads to. Throws as `mergePacks`.
 */
export async function compactPacks(
  disk: Disk,
  directory: string,
  names: readonly string[],
  watch: WorkWatch,
): Promise<PackStatus | undefined> {
  refuseIfCancelled(watch)
  const loose = await packLooseObjects(disk, directory)
  return mergePacks(disk, directory, [...names, ...loose], watch)
}

function refuseIfCancelled(watch: WorkWatch): void {
  if (!watch.isCancelled()) return
  throw new StoreError('cancelled', 'The merge was cancelled: all packs are as they were')
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
    const pack = Pack.openPaged(disk, directory, name)
    if (pack !== undefined) packs.push(pack)
  }
}

async function writeMerged(
  disk: Disk,
  directory: string,
  packs: readonly Pack[],
  watch: WorkWatch,
): Promise<TemporaryPack> {
  const indexes = packs.map(({ index }) => index)
  const merge = mergeIndexes(indexes)
  const file = new PackFile(disk, directory, merge.count)
  try {
    const values = copyPacks(file, packs, merge, watch)
    return await file.finishWith((index, checksum) => {
      writeMergedIndex(index, { indexes, merge }, values, checksum)
    })
  } catch (error) {
    file.abandon()
    throw error
  }
}

/** Where everything went. */
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

/** Removes what dead writers left. `now` is the time of a file just written: no clock is needed. */
function sweepTemporaries(disk: Disk, directory: string, now: number): void {
  for (const file of disk.list(directory)) {
    if (!file.startsWith('tmp_pack_') && !file.startsWith('tmp_idx_')) continue
    const age = now - (disk.stat(`${directory}/${file}`)?.mtimeMs ?? now)
    if (age > temporaryMsMax) disk.remove(`${directory}/${file}`)
  }
}
