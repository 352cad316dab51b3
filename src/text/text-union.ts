// What two clones make of one text when their edits overlap: everything that either added, nothing
// that either took away. For merges of clones, which must not wait for anybody; an undo uses
// text-merge.ts, which rather gives up. Deterministic, and bounded in time as matchLines is.

import type { Lines } from './line-anchors.ts'
import { matchLines } from './line-matches.ts'
import { linesOf } from './text-merge.ts'

/** A text on both sides of a merge. `older` is first where an order must be chosen. */
export interface TextSides {
  /** Empty where nothing is known of it. */
  readonly base: string
  readonly older: string
  readonly newer: string
}

/**
 * Every line that a side added stands in it, and no line of the base that a side removed. What
 * both added to one place alike stands there once.
 */
export function uniteTexts({ base, older, newer }: TextSides): string {
  const united = uniteLines(
    linesOf(withFinalFeed(base)),
    linesOf(withFinalFeed(older)),
    linesOf(withFinalFeed(newer)),
  ).join('')
  // A missing final line feed is merged for itself: as a part of its line it would be an edit.
  const before = isOpenEnded(base, true)
  const first = isOpenEnded(older, before)
  const second = isOpenEnded(newer, before)
  const isOpen = first === before ? second : first
  return isOpen ? united.replace(/\n$/, '') : united
}

function withFinalFeed(text: string): string {
  return isOpenEnded(text, false) ? `${text}\n` : text
}

/** An empty text has no last line to tell it by. */
function isOpenEnded(text: string, whenEmpty: boolean): boolean {
  return text === '' ? whenEmpty : !text.endsWith('\n')
}

/** A line that a side added, and before which line of the base. */
interface AddedLine {
  readonly line: string
  readonly place: number
}

interface Edits {
  /** For each line of the base: 1 if it is still there. */
  readonly kept: Uint8Array
  /** In the order of the text, and so of their places. */
  readonly added: readonly AddedLine[]
}

function uniteLines(base: Lines, older: Lines, newer: Lines): Lines {
  const first = editsBetween(base, older)
  const second = editsBetween(base, newer)
  const united: string[] = []
  let start = { older: 0, newer: 0 }
  /** What was added since the last line that both sides kept is one region. */
  const closeRegion = (place: number): void => {
    const end = {
      older: countUpTo(first.added, start.older, place),
      newer: countUpTo(second.added, start.newer, place),
    }
    const added = first.added.slice(start.older, end.older)
    const lines = interleave(added, second.added.slice(start.newer, end.newer))
    for (const line of lines) united.push(line)
    start = end
  }
  for (const [place, line] of base.entries()) {
    if (first.kept[place] !== 1 || second.kept[place] !== 1) continue
    closeRegion(place)
    united.push(line)
  }
  closeRegion(base.length)
  return united
}

function editsBetween(base: Lines, side: Lines): Edits {
  const matches = matchLines(base, side)
  const kept = new Uint8Array(base.length)
  const added: AddedLine[] = []
  let place = 0
  for (const [index, line] of side.entries()) {
    const match = matches[index] ?? -1
    if (match === -1) added.push({ line, place })
    else {
      kept[match] = 1
      place = match + 1
    }
  }
  return { kept, added }
}

function countUpTo(added: readonly AddedLine[], from: number, place: number): number {
  let end = from
  while ((added[end]?.place ?? Infinity) <= place) end += 1
  return end
}

/** Both sides' lines of one region. */
function interleave(older: readonly AddedLine[], newer: readonly AddedLine[]): Lines {
  if (newer.length === 0) return older.map(({ line }) => line)
  if (older.length === 0) return newer.map(({ line }) => line)
  const pieces: Lines[] = []
  let start = { older: 0, newer: 0 }
  for (const common of [
    ...findCommon(older, newer),
    { older: older.length, newer: newer.length },
  ]) {
    const left = older.slice(start.older, common.older)
    pieces.push(placeBoth(left, newer.slice(start.newer, common.newer)))
    pieces.push(older.slice(common.older, common.older + 1).map(({ line }) => line))
    start = { older: common.older + 1, newer: common.newer + 1 }
  }
  return pieces.flat()
}

/** Lines by their places in the base, so that what was appended stays behind what was edited. */
function placeBoth(older: readonly AddedLine[], newer: readonly AddedLine[]): Lines {
  const isSame = older.length === newer.length
  const all = isSame && older.every(({ line }, index) => line === newer[index]?.line)
  const lines = all ? older : [...older, ...newer].toSorted((a, b) => a.place - b.place)
  return lines.map(({ line }) => line)
}

/** Blank lines, brackets and rules are alike by chance: to share them would mix paragraphs. */
const WORD = /[\p{L}\p{N}]/u

/** Positions of the lines that both sides added, ascending. */
function findCommon(
  older: readonly AddedLine[],
  newer: readonly AddedLine[],
): readonly { readonly older: number; readonly newer: number }[] {
  const first = wordsOf(older)
  const second = wordsOf(newer)
  const matches = matchLines(
    first.map(({ line }) => line),
    second.map(({ line }) => line),
  )
  return second.flatMap(({ position }, index) => {
    const match = first[matches[index] ?? -1]
    return match === undefined ? [] : [{ older: match.position, newer: position }]
  })
}

function wordsOf(added: readonly AddedLine[]): readonly { line: string; position: number }[] {
  return added
    .map(({ line }, position) => ({ line, position }))
    .filter(({ line }) => WORD.test(line))
}
