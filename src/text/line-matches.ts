// Matches the lines of a text with those of an earlier one. Deterministic, and bounded in time:
// common prefix and suffix, then a search for the shortest edit; if too much differs for that,
// lines that occur once in each text, and the same search between them. Knows nothing of versions.

import { diffArrays } from 'diff'
import { findAnchors, type Lines } from './line-anchors.ts'

/** The most removed and added lines that one search allows; its time is their square. */
const SEARCH_MAX = 1000
/** The same limit for all searches between anchors together. */
const EDITS_MAX = 10_000

/** Positions in the older and in the newer text. */
interface LinePlace {
  readonly older: number
  readonly newer: number
}

/** For each line of `newer`, its position in `older`, or -1 if it is new. */
export function matchLines(older: Lines, newer: Lines): Int32Array {
  const found = new Int32Array(newer.length).fill(-1)
  const start = countSameStart(older, newer)
  const end = countSameEnd(older, newer, Math.min(older.length, newer.length) - start)
  for (let index = 0; index < start; index += 1) found[index] = index
  for (let index = 1; index <= end; index += 1) {
    found[newer.length - index] = older.length - index
  }
  const last = { older: older.length - end, newer: newer.length - end }
  matchMiddle({ older, newer }, { older: start, newer: start }, last, found)
  return found
}

interface Texts {
  readonly older: Lines
  readonly newer: Lines
}

function matchMiddle(
  { older, newer }: Texts,
  from: LinePlace,
  to: LinePlace,
  found: Int32Array,
): void {
  const texts = {
    older: older.slice(from.older, to.older),
    newer: newer.slice(from.newer, to.newer),
  }
  if (search(texts, from, SEARCH_MAX, found) !== undefined) return
  const { older: base, newer: ours } = texts
  const end = { base: base.length, ours: ours.length }
  let edits = EDITS_MAX
  let gap = { older: 0, newer: 0 }
  for (const anchor of [...findAnchors({ base, ours, theirs: ours }), end]) {
    const between = {
      older: base.slice(gap.older, anchor.base),
      newer: ours.slice(gap.newer, anchor.ours),
    }
    const start = { older: from.older + gap.older, newer: from.newer + gap.newer }
    const most = Math.min(edits, SEARCH_MAX)
    edits -= search(between, start, most, found) ?? most
    if (anchor !== end) found[from.newer + anchor.ours] = from.older + anchor.base
    gap = { older: anchor.base + 1, newer: anchor.ours + 1 }
  }
}

/** Returns the number of edits, or undefined, with nothing matched, if it exceeds `most`. */
function search(
  { older, newer }: Texts,
  from: LinePlace,
  most: number,
  found: Int32Array,
): number | undefined {
  if (older.length === 0 || newer.length === 0) return 0
  const pieces = diffArrays([...older], [...newer], { maxEditLength: most })
  if (pieces === undefined) return undefined
  let edits = 0
  let { older: before, newer: after } = from
  for (const { added, removed, count } of pieces) {
    if (added || removed) edits += count
    else for (let index = 0; index < count; index += 1) found[after + index] = before + index
    if (!added) before += count
    if (!removed) after += count
  }
  return edits
}

function countSameStart(older: Lines, newer: Lines): number {
  const most = Math.min(older.length, newer.length)
  let count = 0
  while (count < most && older[count] === newer[count]) count += 1
  return count
}

function countSameEnd(older: Lines, newer: Lines, most: number): number {
  let count = 0
  while (count < most && older[older.length - 1 - count] === newer[newer.length - 1 - count]) {
    count += 1
  }
  return count
}

export interface LineCounts {
  readonly added: number
  readonly removed: number
}

/** The lines that only `after` has, and those that only `before` has. */
export function countChangedLines(before: string, after: string): LineCounts {
  const [older, newer] = [linesOf(before), linesOf(after)]
  const added = matchLines(older, newer).filter((place) => place === -1).length
  return { added, removed: older.length - (newer.length - added) }
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}
