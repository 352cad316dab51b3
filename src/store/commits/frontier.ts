// Walks back from two heads of one history, the highest commits first, until all that is left is in
// the past of both. Visits the commits that only one head has, and the few common commits of the
// same heights.

import { countLeading } from './count-leading.ts'

/** The head that a commit was reached from. */
export type Reach = 'ours' | 'theirs' | 'both'

/** The commits that were reached and not yet visited. Every commit is higher than its parents. */
export class Frontier<Commit> {
  readonly #heightOf: (commit: Commit) => number
  readonly #queue: HeightQueue<Commit> = new HeightQueue()
  readonly #reached: Map<Commit, Reach> = new Map()
  /** The number of commits that were reached from one head only. */
  #oneSided = 0

  constructor(heightOf: (commit: Commit) => number) {
    this.#heightOf = heightOf
  }

  add(commit: Commit, reach: Reach): void {
    const before = this.#reached.get(commit)
    if (before === undefined) this.#queue.add(commit, this.#heightOf(commit))
    const after = before === undefined || before === reach ? reach : 'both'
    this.#reached.set(commit, after)
    if (before !== undefined && before !== 'both') this.#oneSided -= 1
    if (after !== 'both') this.#oneSided += 1
  }

  /** Removes and returns the highest commit; undefined once all that is left is common. */
  take(): { readonly commit: Commit; readonly reach: Reach } | undefined {
    if (this.#oneSided === 0) return undefined
    const commit = this.#queue.take()
    const reach = commit === undefined ? undefined : this.#reached.get(commit)
    if (commit === undefined || reach === undefined) return undefined
    this.#reached.delete(commit)
    if (reach !== 'both') this.#oneSided -= 1
    return { commit, reach }
  }
}

interface WaitingCommit<Commit> {
  readonly commit: Commit
  readonly height: number
}

/** The highest commit comes first, so that a walk visits all children of a commit before it. */
export class HeightQueue<Commit> {
  /** Ascending by height, so that the next is the last. */
  readonly #waiting: WaitingCommit<Commit>[] = []

  get size(): number {
    return this.#waiting.length
  }

  add(commit: Commit, height: number): void {
    const index = countLeading(this.#waiting, (one) => one.height < height)
    this.#waiting.splice(index, 0, { commit, height })
  }

  take(): Commit | undefined {
    return this.#waiting.pop()?.commit
  }
}
