// Which commits are in whose causal past, by their places in the canonical order of the history:
// ascending (record height, record hash), so that parents come before their children. Costs nothing
// where the history is a line: what differs from one is kept, and walks stop at cuts.

/** A commit after which everything before it is in its past is a cut: in a line every one is. */
export class Ancestry {
  #length = 0
  /** Commits without children, ascending. */
  #tips: number[] = []
  /** Of the commits whose only parent is not the commit before. */
  readonly #parents: Map<number, readonly number[]> = new Map()
  readonly #uncut: Set<number> = new Set()

  /** Parents of the commit at a place. */
  parentsOf(position: number): readonly number[] {
    return this.#parents.get(position) ?? (position === 0 ? [] : [position - 1])
  }

  /** Whether every earlier commit is in the past of the one at a place. */
  isCut(position: number): boolean {
    return !this.#uncut.has(position)
  }

  /** Without `parents`, the commit before is the only one. Returns whether this one is a cut. */
  append(parents?: readonly number[]): boolean {
    const position = this.#length
    this.#length += 1
    const follows = parents?.length === 1 && parents[0] === position - 1
    if (parents !== undefined && !follows) this.#parents.set(position, parents)
    else if (this.#tips.length <= 1) {
      // A hundred thousand times in a line: makes nothing new.
      this.#tips[0] = position
      return true
    }
    const known = this.parentsOf(position)
    this.#tips = [...this.#tips.filter((tip) => !known.includes(tip)), position]
    if (this.#tips.length > 1) this.#uncut.add(position)
    return this.#tips.length === 1
  }

  /** Another one with the commits below a place. */
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

  /** The commits below a place that have no children there, ascending: they tell which all are. */
  tipsBefore(length: number): readonly number[] {
    return this.newest(() => true, length)
  }

  /** Of the commits for which `holds`, those that are not in the past of another one, ascending. */
  newest(holds: (position: number) => boolean, length: number = this.#length): readonly number[] {
    const tips: number[] = []
    const awaited = new Set<number>()
    for (let position = length - 1; position >= 0; position -= 1) {
      const isPast = awaited.delete(position)
      if (!isPast && !holds(position)) continue
      if (!isPast) tips.push(position)
      // All that is left is in the past of this one.
      if (awaited.size === 0 && this.isCut(position)) break
      for (const parent of this.parentsOf(position)) awaited.add(parent)
    }
    return tips.toReversed()
  }

  /** Whether the commit at a place is one of `tips` or in the past of one. */
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
