// Which commit is the head, as journal, branch and packs say together: each is read by itself, and
// other processes change them meanwhile. Must not change any of them on the disk.

import { branchMovedError, type Journal } from '../journal/journal.ts'
import type { Oid } from '../objects/object.ts'
import type { PackSet } from '../pack/pack-set.ts'
import type { Branch } from '../refs/branch.ts'

/** Reloads that must agree before the branch is said to have moved away from the journal. */
const agreeingReloads = 3

export class HeadLink {
  readonly #journal: Journal
  readonly #branch: Branch
  readonly #packs: PackSet
  /** Whether memory follows from what the disk said; false after a contradiction. */
  #linked = false

  constructor(journal: Journal, branch: Branch, packs: PackSet) {
    this.#journal = journal
    this.#branch = branch
    this.#packs = packs
  }

  get head(): Oid | undefined {
    return this.#journal.head ?? this.#branch.value
  }

  /** Notices what other processes did. */
  refresh(): void {
    const news = this.#journal.refresh()
    const same = this.#linked && news !== 'everything'
    if (!same || this.#branch.changed()) this.reload()
  }

  /**
   * The journal was read before the branch, because a checkpoint moves the branch first: what it
   * took from the journal is then behind the branch. If they do not fit, one of them is older.
   */
  reload(): void {
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
