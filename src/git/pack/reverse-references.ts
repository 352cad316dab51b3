// Finds out whether an object that is kept references one that must be erased (FORMAT §10). If
// not, no erased object was reachable, unless a walk would start at it. Reads each pack once from
// start to end, which takes a third of the time of a walk through the history. References from
// unreachable objects are found too, so a result of true does not mean that the history needs the
// object. Must not check names: a damaged object references nothing that a reader could find.

import { asciiText, fromHex } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { hasCode } from '../../errors.ts'
import { MEBIBYTE } from '../../limits.ts'
import { looseObjectIds, readAnyLooseObject } from '../objects/loose-object.ts'
import { type CommitLinks, findAllLinks, findLinksInStart } from '../objects/object.ts'
import { oidBytes, type OidList, OidProbe } from '../objects/oid-list.ts'
import { DeltaBaseCache } from './delta-base-cache.ts'
import {
  corruptPack,
  decodeEntryHeader,
  deltaDistanceAt,
  entryHeaderBytesMax,
  entryTypeAt,
  inflateStart,
} from './pack-entry.ts'
import type { PackIndex } from './pack-index.ts'
import { packNames } from './pack-inspection.ts'
import { PackLayout } from './pack-layout.ts'
import { PackWindow } from './pack-window.ts'
import { Pack, type PackedObject } from './pack.ts'

const cacheBytes = 8 * MEBIBYTE
/** What deflates to this is longer than what a commit begins with: its tree and its parents. */
const commitStartBytes = 192
const tagStart = /^object ([0-9a-f]{40})\n/

/**
 * Whether an object, packed or loose, that is not in `dead` names one that is, or is damaged, so
 * that what it names is unknown. `directory` is `objects/pack`.
 */
export function hasReverseReference(disk: Disk, directory: string, dead: OidList): boolean {
  const probe = new OidProbe(dead)
  return (
    packNames(disk, directory).some((name) =>
      hasReverseReferenceInPack(disk, directory, name, probe),
    ) || hasLooseReverseReference(disk, directory.slice(0, directory.lastIndexOf('/')), probe)
  )
}

function hasReverseReferenceInPack(
  disk: Disk,
  directory: string,
  name: string,
  dead: OidProbe,
): boolean {
  const pack = Pack.open(disk, directory, name)
  if (pack === undefined) return false
  try {
    return new ReverseReferences(pack, dead).any()
  } catch (error) {
    if (hasCode(error, 'pack_corrupt')) return true
    throw error
  } finally {
    pack.close()
  }
}

function hasLooseReverseReference(disk: Disk, objects: string, dead: OidProbe): boolean {
  return looseObjectIds(disk, objects).some((oid) => {
    if (dead.has(fromHex(oid), 0)) return false
    try {
      const object = readAnyLooseObject(disk, objects, oid)
      return object !== undefined && namesDead(object, dead)
    } catch (error) {
      if (hasCode(error, 'object_corrupt')) return true
      throw error
    }
  })
}

class ReverseReferences {
  readonly #pack: Pack<PackIndex>
  readonly #dead: OidProbe
  readonly #layout: PackLayout
  readonly #window: PackWindow
  readonly #cache = new DeltaBaseCache(cacheBytes)
  /** By rank, 1 for a blob, also one that is a delta: a blob names nothing. */
  readonly #blobs: Uint8Array

  constructor(pack: Pack<PackIndex>, dead: OidProbe) {
    this.#pack = pack
    this.#dead = dead
    this.#layout = new PackLayout(pack)
    this.#window = new PackWindow(pack)
    this.#blobs = new Uint8Array(this.#layout.count)
  }

  any(): boolean {
    const { oids } = this.#pack.index.tables
    for (let rank = 0; rank < this.#layout.count; rank += 1) {
      const entry = this.#entry(rank)
      if (this.#isBlob(entry, rank)) this.#blobs[rank] = 1
      else if (this.#dead.has(oids, this.#layout.positionOf(rank) * oidBytes)) continue
      else if (this.#refers(entry, rank)) return true
    }
    return false
  }

  /** The start of an entry. */
  #entry(rank: number): Buffer {
    const start = this.#layout.offsetOf(rank)
    const last = this.#layout.offsetOf(this.#layout.count)
    const end = Math.min(start + entryHeaderBytesMax + commitStartBytes, last)
    if (!this.#window.shows(start, end)) this.#window.moveTo(start)
    return this.#window.view(start, end)
  }

  #isBlob(entry: Buffer, rank: number): boolean {
    const type = entryTypeAt(entry, 0)
    if (type !== 'offsetDelta') return type === 'blob'
    const offset = this.#layout.offsetOf(rank) - deltaDistanceAt(entry, 0)
    const base = this.#layout.rankBefore(rank, offset)
    if (base === undefined || base === rank) throw corruptPack('a delta has no base')
    return this.#blobs[base] === 1
  }

  #refers(entry: Buffer, rank: number): boolean {
    const links = entryTypeAt(entry, 0) === 'commit' ? findStartLinks(entry) : undefined
    if (links !== undefined) return linksToDead(links, this.#dead)
    return namesDead(this.#pack.readAny(this.#layout.offsetOf(rank), this.#cache), this.#dead)
  }
}

/** The links of a commit from the start of its entry; undefined if that does not hold them all. */
function findStartLinks(entry: Buffer): CommitLinks | undefined {
  const { length } = decodeEntryHeader(entry)
  const body = inflateStart(entry.subarray(length))
  return body && findLinksInStart(body)
}

function namesDead({ type, body }: PackedObject, dead: OidProbe): boolean {
  if (type === 'tree') return treeNamesDead(body, dead)
  if (type === 'commit') {
    const links = findAllLinks(body)
    return links === undefined || linksToDead(links, dead)
  }
  const tagged = type === 'tag' ? tagStart.exec(asciiText(body.subarray(0, 48)))?.[1] : undefined
  return tagged !== undefined && dead.has(fromHex(tagged), 0)
}

function linksToDead({ tree, parents }: CommitLinks, dead: OidProbe): boolean {
  return [tree, ...parents].some((oid) => dead.has(fromHex(oid), 0))
}

/** Each entry of a tree is a mode, a name, a NUL and an oid. */
function treeNamesDead(body: Uint8Array, dead: OidProbe): boolean {
  const end = body.length - oidBytes
  for (let at = 0; at < end; at += 1) {
    if (body[at] !== 0) continue
    if (dead.has(body, at + 1)) return true
    at += oidBytes
  }
  return false
}
