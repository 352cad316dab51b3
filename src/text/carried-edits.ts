// Carries the edits of a text over to an earlier state of it, without the lines that another author
// added between the two. For changes that rested on lines which must not come along. By lines,
// deterministic, and bounded in time like matchLines.

import type { Lines } from './line-anchors.ts'
import { matchLines } from './line-matches.ts'
import { linesOf } from './text-merge.ts'
import { isOpenEnded, withFinalFeed } from './text-union.ts'

/** Only lines with letters or digits tell who wrote them: brackets are equal by chance. */
const WORD = /[\p{L}\p{N}]/u

/**
 * Applies to `kept` the edits that lead from `base` to `edited`. The result has no line of `base`
 * that `kept` lacks. Undefined if an edit replaces such lines, or writes one of them somewhere
 * else: then it cannot be told apart from them.
 */
export function carryEdits(base: string, edited: string, kept: string): string | undefined {
  if (base === kept) return edited
  const [before, after, onto] = [base, edited, kept].map((text) => linesOf(withFinalFeed(text)))
  if (before === undefined || after === undefined || onto === undefined) return undefined
  const lines = carryLines(before, after, onto)?.join('')
  if (lines === undefined) return undefined
  // A missing final line feed is carried by itself: as part of its line, it would be an edit.
  const was = isOpenEnded(base, true)
  const now = isOpenEnded(edited, was)
  const isOpen = now === was ? isOpenEnded(kept, was) : now
  return isOpen ? lines.replace(/\n$/, '') : lines
}

/** Lines of the base that an edit removes, and the lines that it puts in their place. */
interface CarriedHunk {
  readonly from: number
  readonly to: number
  readonly added: Lines
}

function carryLines(base: Lines, edited: Lines, kept: Lines): Lines | undefined {
  const places = new Int32Array(base.length).fill(-1)
  for (const [place, match] of matchLines(base, kept).entries()) {
    if (match !== -1) places[match] = place
  }
  const known = new Set(kept)
  const foreign = new Set(base.filter((line) => !known.has(line) && WORD.test(line)))
  const removed = new Uint8Array(kept.length)
  const added: string[][] = Array.from({ length: kept.length + 1 }, () => [])
  for (const hunk of hunksOf(base, edited)) {
    if (hunk.added.some((line) => foreign.has(line))) return undefined
    const there = Array.from(places.subarray(hunk.from, hunk.to))
    if (hunk.added.length > 0 && there.includes(-1)) return undefined
    for (const place of there) if (place !== -1) removed[place] = 1
    added[placeOf(hunk, places, kept.length)]?.push(...hunk.added)
  }
  for (const [place, line] of kept.entries()) if (removed[place] !== 1) added[place]?.push(line)
  return added.flat()
}

/** Before which line of the kept text a hunk stands. */
function placeOf({ from, to }: CarriedHunk, places: Int32Array, end: number): number {
  const first = places[from]
  if (from < to && first !== undefined && first !== -1) return first
  if (to === places.length) return end
  for (let at = from - 1; at >= 0; at -= 1) {
    const place = places[at] ?? -1
    if (place !== -1) return place + 1
  }
  return 0
}

function hunksOf(base: Lines, edited: Lines): readonly CarriedHunk[] {
  const matches = matchLines(base, edited)
  const hunks: CarriedHunk[] = []
  let start = { base: 0, edited: 0 }
  const close = (at: number, end: number): void => {
    const added = edited.slice(start.edited, end)
    if (at > start.base || added.length > 0) hunks.push({ from: start.base, to: at, added })
    start = { base: at + 1, edited: end + 1 }
  }
  for (const [index, match] of matches.entries()) if (match !== -1) close(match, index)
  close(base.length, edited.length)
  return hunks
}
