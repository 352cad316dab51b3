// The ancestry of commits by their positions in the canonical order of the history: ascending
// (record height, record hash), so that parents come before their children. Stores only deviations
// from a linear history, and walks stop at cuts.

/** A commit is a cut if all commits before it are in its past; in a linear history every one is. */
export class Ancestry {
  #length = 0
  /** Commits without children, ascending. */
  #tips: number[] = []
  /** By position, left out where the only parent is the commit before. */
  readonly #parents: Map<number, readonly number[]> = new Map()
  readonly #uncut: Set<number> = new Set()

  /** The parents of the commit at a position. */
  parentsOf(position: number): readonly number[] {
    return this.#parents.get(position) ?? (position === 0 ? [] : [position - 1])
  }

  /** Whether every earlier commit is in the past of the one at a position. */
  isCut(position: number): boolean {
    return !this.#uncut.has(position)
  }

  /** Appends a commit; its parent is the commit before by default. Returns whether it is a cut. */
  append(parents?: readonly number[]): boolean {
    const position = this.#length
    this.#length += 1
    const follows = parents?.length === 1 && parents[0] === position - 1
    if (parents !== undefined && !follows) this.#parents.set(position, parents)
    else if (this.#tips.length <= 1) {
      // The common case, possibly a hundred thousand times: allocates nothing.
      this.#tips[0] = position
      return true
    }
    const known = this.parentsOf(position)
    this.#tips = [...this.#tips.filter((tip) => !known.includes(tip)), position]
    if (this.#tips.length > 1) this.#uncut.add(position)
    return this.#tips.length === 1
  }

  /** A copy of the commits below a position. */
  prefix(length: number): Ancestry {
    const prefix = new Ancestry()
    for (const [position, parents] of this.#parents) {
      if (position < length) prefix.#parents.set(position, parents)
    }
    for (const position of this.#uncut) if (position < length) prefix.#uncut.add(position)
    prefix.#length = length
    prefix.#tips = [...this.tipsBefore(length)]
    return prefix
  }

  /** The commits below a position without children there, ascending; they identify all below it. */
  tipsBefore(length: number): readonly number[] {
    return this.newest(() => true, length)
  }

  /** The commits for which `holds` that are not in the past of another such one, ascending. */
  newest(holds: (position: number) => boolean, length: number = this.#length): readonly number[] {
    const tips: number[] = []
    const awaited = new Set<number>()
    for (let position = length - 1; position >= 0; position -= 1) {
      const isPast = awaited.delete(position)
      if (!isPast && !holds(position)) continue
      if (!isPast) tips.push(position)
      // All remaining commits are in the past of this one.
      if (awaited.size === 0 && this.isCut(position)) break
      for (const parent of this.parentsOf(position)) awaited.add(parent)
    }
    return tips.toReversed()
  }

  /** Whether the commit at a position is one of `tips` or in the past of one. */
  pastOf(tips: readonly number[]): (position: number) => boolean {
    const past = new Set<number>()
    const awaited = new Set(tips)
    for (let position = Math.max(-1, ...tips); position >= 0; position -= 1) {
      if (!awaited.delete(position)) continue
      if (awaited.size === 0 && this.isCut(position)) {
        return (other) => other <= position || past.has(other)
      }
      past.add(position)
      for (const parent of this.parentsOf(position)) awaited.add(parent)
    }
    return (other) => past.has(other)
  }
}
