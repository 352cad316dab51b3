// Checks whether a pack is intact: every entry, its checksum, its index. Of a damaged pack, finds
// what is still readable. Must not write.

import { unwatched } from '../../async.ts'
import { equalBytes } from '../../bytes.ts'
import { gitHash, Sha1 } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { hasCode } from '../../errors.ts'
import { deltaCacheBytes, MEBIBYTE } from '../../limits.ts'
import { atOnce } from '../../time-slice.ts'
import { DeltaBaseCache } from './delta-base-cache.ts'
import { packTrailerBytes } from './pack-entry.ts'
import { PackIndex } from './pack-index.ts'
import { PackLayout } from './pack-layout.ts'
import { checkPack } from './pack-resolve.ts'
import { salvagePack } from './pack-salvage.ts'
import { Pack } from './pack.ts'

export interface InspectedPack {
  /** File name without extension. */
  readonly name: string
  readonly state: 'sound' | 'index' | 'damaged'
  /** What can be read; undefined if the pack is missing. */
  readonly pack: Pack | undefined
  /** For state `index`, where only the index is damaged: the correct index file. */
  readonly index?: Uint8Array | undefined
}

/** Reads the whole pack. */
export function inspectPack(disk: Disk, directory: string, name: string): InspectedPack {
  const checksum = checksumOf(disk, `${directory}/${name}.pack`)
  if (checksum !== undefined) {
    const pack = openWhole(disk, directory, name)
    if (pack !== undefined) return { name, state: 'sound', pack }
    const index = rebuildIndex(disk, `${directory}/${name}.pack`, checksum)
    if (index !== undefined) {
      const opened = Pack.openSalvaged(disk, directory, name, new PackIndex(index))
      return { name, state: 'index', pack: opened, index }
    }
  }
  return { name, state: 'damaged', pack: salvagePack(disk, directory, name) }
}

/** The names of all packs and indexes, without extension. */
export function packNames(disk: Disk, directory: string): readonly string[] {
  const files = disk.list(directory).filter((file) => /^pack-.*\.(?:pack|idx)$/.test(file))
  return [...new Set(files.map((file) => file.replace(/\.[a-z]+$/, '')))]
}

/** Undefined unless every object of the index is in the pack. */
function openWhole(disk: Disk, directory: string, name: string): Pack | undefined {
  const pack = orUndefined(() => Pack.open(disk, directory, name))
  if (pack === undefined) return undefined
  if (orUndefined(() => readsWhole(pack)) === true) return pack
  pack.close()
  return undefined
}

function readsWhole(pack: Pack): boolean {
  const cache = new DeltaBaseCache(deltaCacheBytes)
  const layout = new PackLayout(pack)
  for (let rank = 0; rank < layout.count; rank += 1) {
    const { type, body } = pack.readAny(layout.offsetOf(rank), cache)
    const oid = Buffer.from(gitHash(type, body), 'hex')
    if (!equalBytes(oid, pack.index.oidAt(layout.positionOf(rank)))) return false
  }
  return true
}

/** The checksum at the end of a pack; undefined if it does not match the bytes before. */
function checksumOf(disk: Disk, path: string): Uint8Array | undefined {
  return withFile(disk, path, (fd) => {
    const end = disk.size(fd) - packTrailerBytes
    if (end < 0) return undefined
    const sha1 = new Sha1()
    const buffer = new Uint8Array(MEBIBYTE)
    for (let at = 0; at < end; at += buffer.length) {
      const part = buffer.subarray(0, Math.min(buffer.length, end - at))
      sha1.update(part.subarray(0, disk.read(fd, part, at)))
    }
    const trailer = new Uint8Array(packTrailerBytes)
    disk.read(fd, trailer, end)
    return equalBytes(sha1.digest(), trailer) ? trailer : undefined
  })
}

function rebuildIndex(disk: Disk, path: string, checksum: Uint8Array): Uint8Array | undefined {
  return withFile(disk, path, (fd) => {
    const read = (into: Uint8Array, position: number): number => disk.read(fd, into, position)
    return orUndefined(() => {
      const checked = atOnce(checkPack({ size: disk.size(fd), read }, { watch: unwatched }))
      return checked.encodeIndex(checksum)
    })
  })
}

function withFile<T>(disk: Disk, path: string, work: (fd: number) => T): T | undefined {
  const fd = disk.openExisting(path, 'r')
  if (fd === undefined) return undefined
  try {
    return work(fd)
  } finally {
    disk.close(fd)
  }
}

function orUndefined<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (hasCode(error, 'pack_corrupt', 'object_corrupt')) return undefined
    throw error
  }
}
