// Finds an object in the place that answers fastest: journal, packs, then loose files that another
// git program wrote. Must not look for changes on the disk: disk-object-store.ts does.

import type { Disk } from '../../disk/disk.ts'
import type { Journal } from '../journal/journal.ts'
import {
  looseObjectIds,
  looseObjectPath,
  readAnyLooseObject,
  readLooseObject,
} from '../objects/loose-object.ts'
import type { GitObject, Oid, SizeLimit } from '../objects/object.ts'
import type { PackSet } from '../pack/pack-set.ts'

export class StoredObjects {
  readonly #disk: Disk
  readonly #directory: string
  readonly #journal: Journal
  readonly #packs: PackSet

  /** `directory` is `objects`. */
  constructor(disk: Disk, directory: string, journal: Journal, packs: PackSet) {
    this.#disk = disk
    this.#directory = directory
    this.#journal = journal
    this.#packs = packs
  }

  /** Throws `object_corrupt`, `pack_corrupt`, or what `limit` does. */
  find(oid: Oid, limit?: SizeLimit): GitObject | undefined {
    return (
      this.#journal.find(oid) ??
      this.#packs.read(oid, limit) ??
      readLooseObject(this.#disk, this.#directory, oid)
    )
  }

  has(oid: Oid): boolean {
    if (this.#packs.has(oid) || this.#journal.has(oid)) return true
    return this.#disk.stat(looseObjectPath(this.#directory, oid)) !== undefined
  }

  /** The body of a tag; undefined for any other object. */
  findTag(oid: Oid): Uint8Array | undefined {
    const packed = this.#packs.readTag(oid)
    if (packed !== undefined || this.#packs.has(oid)) return packed
    const loose = readAnyLooseObject(this.#disk, this.#directory, oid)
    return loose?.type === 'tag' ? loose.body : undefined
  }

  /** Each oid once: the objects at the time of the call, even if they move during iteration. */
  ids(): Iterable<Oid> {
    const others = new Set(looseObjectIds(this.#disk, this.#directory))
    for (const oid of this.#journal.objectIds()) others.add(oid)
    const unpacked = [...others].filter((oid) => !this.#packs.has(oid))
    return inTurn(this.#packs.objectIds(), unpacked)
  }
}

function* inTurn<T>(...lists: readonly Iterable<T>[]): Generator<T> {
  for (const list of lists) yield* list
}
