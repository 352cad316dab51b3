// Merges a text of two clones whose edits overlap: keeps every line that either side added, and
// drops every line that either removed. For merges of clones, which must not wait for a user; an
// undo uses text-merge.ts, which reports a conflict instead. Deterministic, and bounded in time
// like matchLines.

import type { Lines } from './line-anchors.ts'
import { matchLines } from './line-matches.ts'
import { linesOf } from './text-merge.ts'

/** A text on both sides of a merge. `older` comes first where an order must be chosen. */
export interface TextSides {
  /** Empty if the common text is unknown. */
  readonly base: string
  readonly older: string
  readonly newer: string
}

/**
 * The result has every line that a side added, and no line of the base that a side removed. A line
 * that both sides added at the same place appears once.
 */
export function uniteTexts({ base, older, newer }: TextSides): string {
  const united = uniteLines(
    linesOf(withFinalFeed(base)),
    linesOf(withFinalFeed(older)),
    linesOf(withFinalFeed(newer)),
  ).join('')
  // A missing final line feed is merged separately: as part of its line, it would be an edit.
  const before = isOpenEnded(base, true)
  const first = isOpenEnded(older, before)
  const second = isOpenEnded(newer, before)
  const isOpen = first === before ? second : first
  return isOpen ? united.replace(/\n$/, '') : united
}

export function withFinalFeed(text: string): string {
  return isOpenEnded(text, false) ? `${text}\n` : text
}

/** An empty text has no last line that could show it. */
export function isOpenEnded(text: string, whenEmpty: boolean): boolean {
  return text === '' ? whenEmpty : !text.endsWith('\n')
}

/** An added line, and the line of the base before which it stands. */
interface AddedLine {
  readonly line: string
  readonly place: number
}

interface Edits {
  /** For each line of the base, 1 if this side kept it. */
  readonly kept: Uint8Array
  /** In the order of the text, and thus by ascending place. */
  readonly added: readonly AddedLine[]
}

function uniteLines(base: Lines, older: Lines, newer: Lines): Lines {
  const first = editsBetween(base, older)
  const second = editsBetween(base, newer)
  const united: string[] = []
  let start = { older: 0, newer: 0 }
  /** Merges the lines that were added since the last line that both sides kept. */
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

/** Merges the lines that both sides added in one region. */
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

/** Sorts the lines by their places in the base, so that appended lines follow edited ones. */
function placeBoth(older: readonly AddedLine[], newer: readonly AddedLine[]): Lines {
  const isSame = older.length === newer.length
  const areEqual = isSame && older.every(({ line }, index) => line === newer[index]?.line)
  const lines = areEqual ? older : [...older, ...newer].toSorted((a, b) => a.place - b.place)
  return lines.map(({ line }) => line)
}

/** Only lines with letters or digits are shared: blank lines and brackets are equal by chance. */
const WORD = /[\p{L}\p{N}]/u

/** The positions of lines that both sides added, ascending. */
function findCommon(
  older: readonly AddedLine[],
  newer: readonly AddedLine[],
): readonly { readonly older: number; readonly newer: number }[] {
  const first = linesWithWords(older)
  const second = linesWithWords(newer)
  const matches = matchLines(
    first.map(({ line }) => line),
    second.map(({ line }) => line),
  )
  return second.flatMap(({ position }, index) => {
    const match = first[matches[index] ?? -1]
    return match === undefined ? [] : [{ older: match.position, newer: position }]
  })
}

function linesWithWords(
  added: readonly AddedLine[],
): readonly { line: string; position: number }[] {
  return added
    .map(({ line }, position) => ({ line, position }))
    .filter(({ line }) => WORD.test(line))
}
