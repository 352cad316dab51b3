// Walks back from two heads of one history at once, the highest commits first, to where all that is
// left is in the past of both. What was gone through is what the heads have each of its own, and
// the few common commits that stand as high.

import { HeightQueue } from './height-queue.ts'

/** From which of the two heads a commit was reached. */
export type Reach = 'ours' | 'theirs' | 'both'

/** Commits that were reached and not gone through. Every commit is higher than its parents. */
export class Frontier<Commit> {
  readonly #heightOf: (commit: Commit) => number
  readonly #queue: HeightQueue<Commit> = new HeightQueue()
  readonly #reached: Map<Commit, Reach> = new Map()
  /** How many were reached from one head alone. */
  #ownCount = 0

  constructor(heightOf: (commit: Commit) => number) {
    this.#heightOf = heightOf
  }

  add(commit: Commit, reach: Reach): void {
    const before = this.#reached.get(commit)
    if (before === undefined) this.#queue.add(commit, this.#heightOf(commit))
    const after = before === undefined || before === reach ? reach : 'both'
    this.#reached.set(commit, after)
    if (before !== undefined && before !== 'both') this.#ownCount -= 1
    if (after !== 'both') this.#ownCount += 1
  }

  /** The highest; undefined once everything left, and all below it, is common. */
  take(): { readonly commit: Commit; readonly reach: Reach } | undefined {
    if (this.#ownCount === 0) return undefined
    const commit = this.#queue.take()
    const reach = commit === undefined ? undefined : this.#reached.get(commit)
    if (commit === undefined || reach === undefined) return undefined
    this.#reached.delete(commit)
    if (reach !== 'both') this.#ownCount -= 1
    return { commit, reach }
  }
}
