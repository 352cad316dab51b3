// Determines the head from journal, branch and packs, which are read separately while other
// processes change them. Must not change any of them on the disk.

import { branchMovedError, type Journal } from '../journal/journal.ts'
import type { Oid } from '../objects/object.ts'
import type { PackSet } from '../pack/pack-set.ts'
import type { Branch } from '../refs/branch.ts'

/** Reloads that must agree before the branch is treated as moved by another program. */
const agreeingReloads = 3

export class HeadLink {
  readonly #journal: Journal
  readonly #branch: Branch
  readonly #packs: PackSet
  /** Whether the state in memory is consistent; false after a contradiction. */
  #linked = false
  #changes = 0

  constructor(journal: Journal, branch: Branch, packs: PackSet) {
    this.#journal = journal
    this.#branch = branch
    this.#packs = packs
  }

  get head(): Oid | undefined {
    return this.#journal.head ?? this.#branch.value
  }

  /** Grows when another handle may have written, and with what a checkpoint or a purge moves. */
  get changes(): number {
    return this.#changes
  }

  /**
   * Notices changes by other processes. With `isSame`, no other handle has held the writer lock
   * since this one did: then only the branch may have moved, by git, by a push into the store or by
   * a checkpoint. Returns whether nothing but the branch was looked at.
   */
  refresh(isSame: boolean): boolean {
    const isKnown = isSame && this.#linked
    if (isKnown) {
      if (this.#branch.changed()) this.reload()
      return true
    }
    this.#changes += 1
    const was = this.#linked
    this.#linked = false
    const change = this.#journal.refresh()
    if (!was || change === 'everything' || this.#branch.changed()) this.reload()
    this.#linked = true
    return false
  }

  /** What this handle did under the lock has failed: the disk is looked at again. */
  doubt(): void {
    this.#linked = false
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
      this.#branch.load()
      this.#packs.rescan()
      this.#linked = this.#journal.link(this.#branch.value)
      if (this.#linked) return
      if (this.#journal.refresh() !== 'nothing' || this.#branch.changed()) agreed = -1
    }
    throw branchMovedError()
  }
}
