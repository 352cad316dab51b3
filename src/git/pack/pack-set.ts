// All packs of a store as one set of objects. Every object is verified against its oid. A damaged,
// incomplete or partly removed pack is skipped: another pack may hold the same object. Must not
// know journals or loose objects.

import { fromHex, toHex } from '../../bytes.ts'
import { type CacheBudget, cachesOfProcess } from '../../cache-budget.ts'
import { gitHash } from '../../crypto/sha1.ts'
import type { Disk } from '../../disk/disk.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { deltaCacheBytes, packIndexBytesMax } from '../../limits.ts'
import type { PackStatus } from '../object-store.ts'
import type { GitObject, Oid, SizeLimit } from '../objects/object.ts'
import { DeltaBaseCache } from './delta-base-cache.ts'
import { corruptPack } from './pack-entry.ts'
import type { ObjectIndex } from './pack-index.ts'
import { Pack } from './pack.ts'

/** Other processes may merge packs during a scan; each merge requires another scan. */
const scansMax = 5

export interface PackSetEntry extends PackStatus {
  /** Kept by git: with a `.keep` file, or a cruft pack (`.mtimes`). */
  readonly kept: boolean
}

export interface PackSetOptions {
  /** A larger index is not kept in RAM. */
  readonly indexBytesMax?: number
  readonly cacheBudget?: CacheBudget | undefined
}

export class PackSet {
  readonly #disk: Disk
  readonly #directory: string
  readonly #indexOptions: { readonly indexBytesMax: number; readonly cacheBudget: CacheBudget }
  readonly #packs = new Map<string, Pack>()
  /** Neighbours in a history are neighbours in a pack: the last used pack is searched first. */
  #byUse: readonly Pack[] = []
  readonly #damaged = new Set<string>()
  readonly #cache: DeltaBaseCache
  #listing = ''

  /** `directory` is `objects/pack`. Reads nothing before the first `rescan`. */
  constructor(disk: Disk, directory: string, options: PackSetOptions = {}) {
    const { indexBytesMax = packIndexBytesMax, cacheBudget = cachesOfProcess } = options
    this.#disk = disk
    this.#directory = directory
    this.#indexOptions = { indexBytesMax, cacheBudget }
    this.#cache = new DeltaBaseCache(deltaCacheBytes, cacheBudget)
  }

  /**
   * Undefined if no pack has the object. Throws `pack_corrupt`, `object_corrupt`, or what `limit`
   * does.
   */
  read(oid: Oid, limit?: SizeLimit): GitObject | undefined {
    return this.#firstOf(oid, (pack, position) => {
      return verified(oid, pack.read(pack.index.offsetAt(position), this.#cache, limit))
    })
  }

  /** The body of a tag; undefined if no pack has it, or if it is another object. */
  readTag(oid: Oid): Uint8Array | undefined {
    const object = this.#firstOf(oid, (pack, position) => {
      return pack.readAny(pack.index.offsetAt(position), this.#cache)
    })
    if (object?.type !== 'tag') return undefined
    return gitHash(object.type, object.body) === oid ? object.body : undefined
  }

  /** Every oid in the packs, each once. Throws `pack_corrupt` if a pack is damaged. */
  objectIds(): Iterable<Oid> {
    if (this.#damaged.size > 0) throw corruptPack('its index or its ends are wrong')
    // From the packs as they are now, even if they are merged during the iteration.
    return idsIn(Array.from(this.#packs.values(), ({ index }) => index))
  }

  /** Throws `pack_corrupt` if the index that may contain the oid is damaged. */
  has(oid: Oid): boolean {
    return this.#firstOf(oid, () => true) ?? false
  }

  /**
   * Opens new packs and closes removed ones. Costs one directory listing if nothing changed: the
   * directory's time stamp is too coarse to rely on.
   */
  rescan(): void {
    for (let scan = 0; scan < scansMax; scan += 1) {
      const names = this.#disk.list(this.#directory)
      const listing = names.join('\n')
      if (listing === this.#listing) return
      // New packs are opened before removed ones are closed: a merged object is always available.
      if (!this.#openNew(names)) continue
      this.#dropAllBut(new Set(names))
      this.#byUse = [...this.#packs.values()]
      this.#listing = listing
      return
    }
  }

  /** The number of open packs. */
  get size(): number {
    return this.#packs.size
  }

  packs(): PackSetEntry[] {
    const files = new Set(this.#listing.split('\n'))
    return Array.from(this.#packs.values(), ({ name, index, bytes }) => {
      const kept = files.has(`${name}.keep`) || files.has(`${name}.mtimes`)
      return { name, objects: index.count, bytes, kept }
    })
  }

  /** The open packs; kept ones on request only. */
  open(withKept: boolean): readonly Pack[] {
    const kept = new Set(this.packs().flatMap((pack) => (pack.kept ? pack.name : [])))
    return [...this.#packs.values()].filter(({ name }) => withKept || !kept.has(name))
  }

  /** The names of damaged packs. */
  damaged(): string[] {
    return [...this.#damaged]
  }

  /** Closes every file; a later `rescan` opens them again. */
  close(): void {
    for (const pack of this.#packs.values()) pack.close()
    this.#packs.clear()
    this.#byUse = []
    this.#damaged.clear()
    this.#cache.clear()
    this.#listing = ''
  }

  /**
   * The answer of the first undamaged pack; throws if every pack that may have the object is
   * damaged.
   */
  #firstOf<T>(oid: Oid, ask: (pack: Pack, position: number) => T): T | undefined {
    const name = fromHex(oid)
    let failure: StoreError | undefined
    for (const [rank, pack] of this.#byUse.entries()) {
      try {
        const position = pack.index.find(name)
        if (position === undefined) continue
        const answer = ask(pack, position)
        if (rank > 0) this.#prefer(pack)
        return answer
      } catch (error) {
        if (!hasCode(error, 'pack_corrupt', 'object_corrupt')) throw error
        failure ??= error
      }
    }
    if (failure !== undefined) throw failure
    return undefined
  }

  #prefer(pack: Pack): void {
    this.#byUse = [pack, ...this.#byUse.filter((other) => other !== pack)]
  }

  #dropAllBut(files: ReadonlySet<string>): void {
    for (const [name, pack] of this.#packs) {
      if (files.has(`${name}.idx`) && files.has(`${name}.pack`)) continue
      pack.closeRemoved()
      this.#packs.delete(name)
      this.#cache.clear()
    }
  }

  /** False if a pack disappeared, so that the listing may lack its replacement. */
  #openNew(files: readonly string[]): boolean {
    const present = new Set(files)
    this.#damaged.clear()
    for (const file of files) {
      const name = packName(file)
      if (name === undefined || this.#packs.has(name) || !present.has(`${name}.pack`)) continue
      if (!this.#open(name)) return false
    }
    return true
  }

  #open(name: string): boolean {
    try {
      const pack = Pack.openBounded(this.#disk, this.#directory, name, this.#indexOptions)
      if (pack === undefined) return false
      this.#packs.set(name, pack)
    } catch (error) {
      if (!hasCode(error, 'pack_corrupt')) throw error
      this.#damaged.add(name)
    }
    return true
  }
}

function* idsIn(indexes: readonly ObjectIndex[]): Generator<Oid> {
  for (const [n, index] of indexes.entries()) {
    for (let position = 0; position < index.count; position += 1) {
      const oid = index.oidAt(position)
      const seen = indexes.slice(0, n).some((earlier) => earlier.find(oid) !== undefined)
      if (!seen) yield toHex(oid)
    }
  }
}

/** `pack-….idx` without its extension; undefined for every other file. */
function packName(file: string): string | undefined {
  return file.startsWith('pack-') && file.endsWith('.idx') ? file.slice(0, -4) : undefined
}

function verified(oid: Oid, object: GitObject): GitObject {
  if (gitHash(object.type, object.body) === oid) return object
  throw new StoreError('object_corrupt', `The object ${oid} does not match its name`)
}
