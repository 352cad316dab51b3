// The objects of a store as a verification reads them: from packs, whose indexes are in RAM while
// it runs, since it looks up a dozen objects for each commit, at random places of the index. Holds
// no lock: another process may remove a pack in the meantime, and what is missing or damaged here
// is read from the store, which knows what replaced it. Of a pack that was just received, most is
// still in RAM (decision 0064).

import { systemDisk } from '../../disk/system-disk.ts'
import { hasCode } from '../../errors.ts'
import type { HashedColumns } from '../../git/exchange.ts'
import type { GitObject, Oid, SizeLimit } from '../../git/objects/object.ts'
import { HashedObjects } from '../../git/pack/hashed-objects.ts'
import { PackSet } from '../../git/pack/pack-set.ts'
import { MEBIBYTE } from '../../limits.ts'
import { hasObject, type ObjectSource } from '../snapshot/git-reads.ts'

/** A larger index is read from its file: that of a pack with half a million objects is in RAM. */
const indexBytesMax = 16 * MEBIBYTE

/** With fewer commits than this, opening packs takes longer than it saves. */
export const worthwhileCommits = 1000

export class PackedObjects implements ObjectSource {
  readonly packDirectories: readonly string[]
  readonly hashed: HashedColumns | undefined
  readonly #received: HashedObjects | undefined
  readonly #packs: readonly PackSet[]
  readonly #others: ObjectSource

  /**
   * `others` has the unpacked objects, `hashed` those that were just received. Opens files until
   * `close`.
   */
  constructor(
    packDirectories: readonly string[],
    others: ObjectSource = noObjects,
    hashed?: HashedColumns,
  ) {
    this.packDirectories = packDirectories
    this.hashed = hashed
    this.#others = others
    this.#received = hashed && new HashedObjects(hashed)
    this.#packs = packDirectories.map((place) => new PackSet(systemDisk, place, { indexBytesMax }))
    for (const set of this.#packs) set.rescan()
  }

  read(oid: Oid, limit?: SizeLimit): GitObject | undefined {
    return (
      this.#received?.read(oid, limit) ??
      this.#first((set) => set.read(oid, limit)) ??
      this.#others.read(oid, limit)
    )
  }

  has(oid: Oid): boolean {
    if (this.#received?.has(oid) === true) return true
    const found = this.#first((set) => set.has(oid) || undefined)
    return found ?? hasObject(this.#others, oid)
  }

  close(): void {
    this.#received?.clear()
    for (const set of this.#packs) set.close()
  }

  #first<T>(ask: (set: PackSet) => T | undefined): T | undefined {
    for (const set of this.#packs) {
      try {
        const answer = ask(set)
        if (answer !== undefined) return answer
      } catch (error) {
        if (!hasCode(error, 'pack_corrupt', 'object_corrupt')) throw error
      }
    }
    return undefined
  }
}

const noObjects: ObjectSource = { read: () => undefined, has: () => false }
