// A priority queue of commits, the highest first. A walk back through a history in this order
// visits all children of a commit before the commit itself.

import { countLeading } from './count-leading.ts'

interface Waiting<Commit> {
  readonly commit: Commit
  readonly height: number
}

export class HeightQueue<Commit> {
  /** Ascending by height, so that the next is the last. */
  readonly #waiting: Waiting<Commit>[] = []

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
