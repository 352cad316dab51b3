// The objects of a store and its head: the journal, packs, loose files that another git program
// wrote, and the branch, which are read separately while other processes change them. Owns which of
// them is asked. Must not change any of them on the disk.

import type { CacheBudget } from '../../cache-budget.ts'
import type { Disk } from '../../disk/disk.ts'
import type { ProcessLock } from '../../disk/process-lock.ts'
import { StoreError } from '../../errors.ts'
import { branchMovedError, Journal } from '../journal/journal.ts'
import {
  looseObjectIds,
  looseObjectPath,
  readAnyLooseObject,
  readLooseObject,
} from '../objects/loose-object.ts'
import type { GitObject, Oid, SizeLimit } from '../objects/object.ts'
import { PackSet } from '../pack/pack-set.ts'
import { Branch } from '../refs/branch.ts'
import type { GitFileLockContext } from '../refs/git-file-lock.ts'

/** Reloads that must agree before the branch is treated as moved by another program. */
const agreeingReloads = 3

export class StoredObjects {
  readonly packDirectory: string
  readonly journal: Journal
  readonly branch: Branch
  readonly packs: PackSet
  readonly #disk: Disk
  /** `objects`. */
  readonly #directory: string
  readonly #lock: ProcessLock
  /** Whether the state in memory is consistent; false after a contradiction. */
  #linked = false
  #changes = 0
  #closed = false

  /** `lock` is the writer lock. Opens no file. */
  constructor(files: GitFileLockContext, lock: ProcessLock, cacheBudget?: CacheBudget) {
    const { disk, directory, ownDirectory, random } = files
    this.#disk = disk
    this.#directory = `${directory}/objects`
    this.packDirectory = `${this.#directory}/pack`
    this.#lock = lock
    const isQuiet = (): boolean => !lock.isHeldElsewhere()
    this.journal = new Journal({ disk, directory: ownDirectory, random, isQuiet })
    this.branch = new Branch(disk, directory)
    this.packs = new PackSet(disk, this.packDirectory, { cacheBudget })
  }

  get head(): Oid | undefined {
    return this.journal.head ?? this.branch.value
  }

  /** Grows when another handle may have written, and with what a checkpoint or a purge moves. */
  get changes(): number {
    return this.#changes
  }

  /** Throws `object_corrupt`, `pack_corrupt`, or what `limit` does. */
  read(oid: Oid, limit?: SizeLimit): GitObject | undefined {
    this.#assertOpen()
    const found = this.find(oid, limit)
    if (found !== undefined) return found
    // Another process may just have packed or written it.
    this.rescan()
    return this.find(oid, limit)
  }

  /** Like `read`, without a look at the disk for new objects. */
  find(oid: Oid, limit?: SizeLimit): GitObject | undefined {
    return (
      this.journal.find(oid) ??
      this.packs.read(oid, limit) ??
      readLooseObject(this.#disk, this.#directory, oid)
    )
  }

  /** Also without a look for new objects. */
  has(oid: Oid): boolean {
    this.#assertOpen()
    if (this.packs.has(oid) || this.journal.has(oid)) return true
    return this.#disk.stat(looseObjectPath(this.#directory, oid)) !== undefined
  }

  /** The body of a tag; undefined for any other object. */
  findTag(oid: Oid): Uint8Array | undefined {
    const packed = this.packs.readTag(oid)
    if (packed !== undefined || this.packs.has(oid)) return packed
    const loose = readAnyLooseObject(this.#disk, this.#directory, oid)
    return loose?.type === 'tag' ? loose.body : undefined
  }

  /** Each oid once: the objects at the time of the call, even if they move during iteration. */
  ids(): Iterable<Oid> {
    this.rescan()
    const others = new Set(looseObjectIds(this.#disk, this.#directory))
    for (const oid of this.journal.objectIds()) others.add(oid)
    const unpacked = [...others].filter((oid) => !this.packs.has(oid))
    return inTurn(this.packs.objectIds(), unpacked)
  }

  /**
   * Notices changes by other processes. With `isSame`, no other handle has held the writer lock
   * since this one did: then only the branch may have moved, by git, by a push into the store or by
   * a checkpoint. Returns whether nothing but the branch was looked at.
   */
  refresh(isSame: boolean = this.#lock.isMarked): boolean {
    this.#assertOpen()
    if (isSame && this.#linked) {
      if (this.branch.changed()) this.reload()
      return true
    }
    this.#changes += 1
    const was = this.#linked
    this.#linked = false
    const change = this.journal.refresh()
    if (!was || change === 'everything' || this.branch.changed()) this.reload()
    this.#linked = true
    return false
  }

  /** What this handle did under the lock has failed: the disk is looked at again. */
  doubt(): void {
    this.#linked = false
  }

  /** Also looks for new packs. */
  rescan(): void {
    this.refresh()
    this.packs.rescan()
  }

  /**
   * The journal is read before the branch: a checkpoint moves the branch first, so frames that it
   * then removes from the journal are already below the branch. If the two do not fit, one of them
   * was read too early.
   */
  reload(): void {
    this.#changes += 1
    this.#linked = false
    for (let agreed = 0; agreed < agreeingReloads; agreed += 1) {
      this.branch.load()
      this.packs.rescan()
      this.#linked = this.journal.link(this.branch.value)
      if (this.#linked) return
      if (this.journal.refresh() !== 'nothing' || this.branch.changed()) agreed = -1
    }
    throw branchMovedError()
  }

  close(): void {
    this.#closed = true
    this.packs.close()
    this.journal.close()
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError()
  }
}

export function closedError(): StoreError {
  return new StoreError('store_closed', 'The store is closed')
}

function* inTurn<T>(...lists: readonly Iterable<T>[]): Generator<T> {
  for (const list of lists) yield* list
}
