// Checks whether a pack is intact: every entry, its checksum, its index. Finds the readable objects
// of a damaged pack. Must not write.

import { unwatched } from '../../async.ts'
import { equalBytes } from '../../bytes.ts'
import { gitHash, Sha1 } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { hasCode } from '../../errors.ts'
import { deltaCacheBytes, MEBIBYTE } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'
import { DeltaBaseCache } from './delta-base-cache.ts'
import { packTrailerBytes } from './pack-entry.ts'
import { PackIndex } from './pack-index.ts'
import { PackLayout } from './pack-layout.ts'
import { checkPack } from './pack-resolve.ts'
import { salvagePack } from './pack-salvage.ts'
import { Pack } from './pack.ts'
import { WorkBudget } from './work-budget.ts'

export interface InspectedPack {
  /** File name without extension. */
  readonly name: string
  readonly state: 'sound' | 'index' | 'damaged'
  /** What can be read; undefined if the pack is missing. */
  readonly pack: Pack | undefined
  /** For state `index`, where only the index is damaged: the correct index file. */
  readonly index?: Uint8Array | undefined
}

/** Reads the whole pack, an entry in each step. */
export function* inspectPack(
  disk: Disk,
  directory: string,
  name: string,
): Generator<undefined, InspectedPack> {
  const checksum = yield* checksumOf(disk, `${directory}/${name}.pack`)
  if (checksum !== undefined) {
    const pack = yield* openWhole(disk, directory, name)
    if (pack !== undefined) return { name, state: 'sound', pack }
    const index = yield* rebuildIndex(disk, `${directory}/${name}.pack`, checksum)
    if (index !== undefined) {
      const opened = Pack.openSalvaged(disk, directory, name, new PackIndex(index))
      return { name, state: 'index', pack: opened, index }
    }
  }
  return { name, state: 'damaged', pack: yield* salvagePack(disk, directory, name) }
}

/** The names of all packs and indexes, without extension. */
export function packNames(disk: Disk, directory: string): readonly string[] {
  const files = disk.list(directory).filter((file) => /^pack-.*\.(?:pack|idx)$/.test(file))
  return [...new Set(files.map((file) => file.replace(/\.[a-z]+$/, '')))]
}

/** Undefined unless every object of the index is in the pack. */
function* openWhole(
  disk: Disk,
  directory: string,
  name: string,
): Generator<undefined, Pack | undefined> {
  let pack: Pack<PackIndex> | undefined
  let isWhole = false
  try {
    pack = Pack.open(disk, directory, name)
    isWhole = pack !== undefined && (yield* readsWhole(pack))
  } catch (error) {
    if (!isDamage(error)) throw error
  } finally {
    if (!isWhole) pack?.close()
  }
  return isWhole ? pack : undefined
}

function* readsWhole(pack: Pack<PackIndex>): Generator<undefined, boolean> {
  const cache = new DeltaBaseCache(deltaCacheBytes)
  const budget = new WorkBudget(pack.bytes, unwatched)
  const layout = new PackLayout(pack)
  for (let rank = 0; rank < layout.count; rank += 1) {
    const { type, body } = pack.readAny(layout.offsetOf(rank), cache, { budget })
    const oid = Bytes.from(gitHash(type, body), 'hex')
    if (!equalBytes(oid, pack.index.oidAt(layout.positionOf(rank)))) return false
    yield
  }
  return true
}

/** The checksum at the end of a pack; undefined if it does not match the bytes before. */
function* checksumOf(disk: Disk, path: string): Generator<undefined, Uint8Array | undefined> {
  return yield* withFile(disk, path, function* hash(fd) {
    const end = disk.size(fd) - packTrailerBytes
    if (end < 0) return undefined
    const sha1 = new Sha1()
    const buffer = new Uint8Array(MEBIBYTE)
    for (let at = 0; at < end; at += buffer.length) {
      const part = buffer.subarray(0, Math.min(buffer.length, end - at))
      sha1.update(part.subarray(0, disk.read(fd, part, at)))
      yield
    }
    const trailer = new Uint8Array(packTrailerBytes)
    disk.read(fd, trailer, end)
    return equalBytes(sha1.digest(), trailer) ? trailer : undefined
  })
}

function* rebuildIndex(
  disk: Disk,
  path: string,
  checksum: Uint8Array,
): Generator<undefined, Uint8Array | undefined> {
  return yield* withFile(disk, path, function* rebuild(fd) {
    const read = (into: Uint8Array, position: number): number => disk.read(fd, into, position)
    try {
      const checked = yield* checkPack({ size: disk.size(fd), read }, { watch: unwatched })
      return checked.encodeIndex(checksum)
    } catch (error) {
      if (!isDamage(error)) throw error
      return undefined
    }
  })
}

function* withFile<T>(
  disk: Disk,
  path: string,
  work: (fd: number) => Generator<undefined, T | undefined>,
): Generator<undefined, T | undefined> {
  const fd = disk.openExisting(path, 'r')
  if (fd === undefined) return undefined
  try {
    return yield* work(fd)
  } finally {
    disk.close(fd)
  }
}

function isDamage(error: unknown): boolean {
  return hasCode(error, 'pack_corrupt', 'object_corrupt')
}
