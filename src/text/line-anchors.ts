// Finds lines that are unchanged in three texts, so that the parts between them can be merged one
// by one: common prefixes and suffixes, and between them the lines that occur once in each text, as
// in a patience diff. Takes O(n log n). Knows nothing of merging.

export type Lines = readonly string[]

export interface ThreeTexts {
  readonly base: Lines
  readonly ours: Lines
  readonly theirs: Lines
}

/** A position in each of the texts. */
export interface Anchor {
  readonly base: number
  readonly ours: number
  readonly theirs: number
}

/** Positions of equal lines, ascending in all three texts. */
export function findAnchors(texts: ThreeTexts): readonly Anchor[] {
  const { base, ours, theirs } = texts
  const first = { base: 0, ours: 0, theirs: 0 }
  const last = { base: base.length - 1, ours: ours.length - 1, theirs: theirs.length - 1 }
  const shortest = Math.min(base.length, ours.length, theirs.length)
  const head = countSame(texts, first, 1, shortest)
  const tail = countSame(texts, last, -1, shortest - head)
  return [
    ...Array.from({ length: head }, (_, index) => move(first, index)),
    ...findUniqueLines(texts, head, tail),
    ...Array.from({ length: tail }, (_, index) => move(last, index + 1 - tail)),
  ]
}

export function move({ base, ours, theirs }: Anchor, by: number): Anchor {
  return { base: base + by, ours: ours + by, theirs: theirs + by }
}

/** Counts equal lines of all three texts, from a position in one direction. */
function countSame(texts: ThreeTexts, from: Anchor, step: 1 | -1, limit: number): number {
  let count = 0
  for (; count < limit; count += 1) {
    const at = move(from, count * step)
    const line = texts.base[at.base]
    if (line !== texts.ours[at.ours] || line !== texts.theirs[at.theirs]) break
  }
  return count
}

/** Of the lines that occur once in each text, a longest sequence in the same order in all three. */
function findUniqueLines(texts: ThreeTexts, head: number, tail: number): readonly Anchor[] {
  const ours = positionsOf(texts.ours, head, tail)
  const theirs = positionsOf(texts.theirs, head, tail)
  const common: Anchor[] = []
  for (const [line, base] of positionsOf(texts.base, head, tail)) {
    const at = { base, ours: ours.get(line) ?? REPEATED, theirs: theirs.get(line) ?? REPEATED }
    if (Math.min(at.base, at.ours, at.theirs) !== REPEATED) common.push(at)
  }
  const inOurOrder = longestAscending(common, (anchor) => anchor.ours)
  return longestAscending(inOurOrder, (anchor) => anchor.theirs)
}

const REPEATED = -1

/** The positions of the lines between `head` and `tail`, in order. */
function positionsOf(lines: Lines, head: number, tail: number): ReadonlyMap<string, number> {
  const positions = new Map<string, number>()
  for (const [index, line] of lines.slice(head, lines.length - tail).entries()) {
    positions.set(line, positions.has(line) ? REPEATED : head + index)
  }
  return positions
}

interface Link {
  readonly anchor: Anchor
  readonly rank: number
  readonly before: Link | undefined
}

/** A longest subsequence in which the rank ascends; no two ranks are equal. */
function longestAscending(
  anchors: readonly Anchor[],
  rankOf: (anchor: Anchor) => number,
): readonly Anchor[] {
  // ends[n] ends the ascending sequence of n + 1 anchors with the lowest last rank.
  const ends: Link[] = []
  for (const anchor of anchors) {
    const rank = rankOf(anchor)
    const length = countBelow(ends, rank)
    ends[length] = { anchor, rank, before: ends[length - 1] }
  }
  const found: Anchor[] = []
  for (let link = ends.at(-1); link !== undefined; link = link.before) found.push(link.anchor)
  return found.toReversed()
}

function countBelow(ends: readonly Link[], rank: number): number {
  let low = 0
  let high = ends.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ends[middle]?.rank ?? rank) < rank) low = middle + 1
    else high = middle
  }
  return low
}
