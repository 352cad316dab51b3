// The difference of two texts as rows of a table: lines next to each other, changed words marked,
// and runs of equal lines that can be folded. Must not touch the page.

import { diffArrays, diffWordsWithSpace } from 'diff'

/** A part of a line; `isMarked`: the other side has other words there. */
export interface DiffPart {
  readonly text: string
  readonly isMarked: boolean
}

/** A line of one side, counted from 1. */
export interface DiffLine {
  readonly number: number
  readonly parts: readonly DiffPart[]
}

/** Undefined on a side where there is no such line. */
export interface DiffRow {
  readonly isEqual: boolean
  readonly left: DiffLine | undefined
  readonly right: DiffLine | undefined
}

/** A run of equal lines that is folded, by the index of its first row. */
export interface Fold {
  readonly fold: number
  readonly lines: number
}

/** Beyond it two texts are treated as having nothing in common: the page must not hang. */
const LINES_TIMEOUT_MS = 500
const WORDS_TIMEOUT_MS = 20
/** Equal lines that remain in sight around changed ones. */
const AROUND = 3

export function diffRows(before: string, after: string, withWords: boolean): readonly DiffRow[] {
  const [older, newer] = [linesOf(before), linesOf(after)]
  const blocks = diffArrays(older, newer, { timeout: LINES_TIMEOUT_MS }) ?? [
    { value: older, removed: true, added: false },
    { value: newer, removed: false, added: true },
  ]
  const rows = new Rows(withWords)
  let removed: readonly string[] = []
  for (const { value, ...block } of blocks) {
    // Removed lines wait for those added in their place.
    if (block.removed) removed = value
    else {
      rows.addChange(removed, block.added ? value : [])
      removed = []
      if (!block.added) rows.addEqual(value)
    }
  }
  rows.addChange(removed, [])
  return rows.all
}

/** Numbers the lines of both sides. */
class Rows {
  readonly all: DiffRow[] = []
  readonly #withWords: boolean
  #left = 1
  #right = 1

  constructor(withWords: boolean) {
    this.#withWords = withWords
  }

  addEqual(lines: readonly string[]): void {
    for (const line of lines) {
      const parts = whole(line)
      this.all.push({ isEqual: true, left: this.#nextLeft(parts), right: this.#nextRight(parts) })
    }
  }

  addChange(removed: readonly string[], added: readonly string[]): void {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      const [was, is] = [removed[at], added[at]]
      const isPair = was !== undefined && is !== undefined && this.#withWords
      const parts = isPair ? words(was, is) : undefined
      this.all.push({
        isEqual: false,
        left: was === undefined ? undefined : this.#nextLeft(parts?.left ?? whole(was)),
        right: is === undefined ? undefined : this.#nextRight(parts?.right ?? whole(is)),
      })
    }
  }

  #nextLeft(parts: readonly DiffPart[]): DiffLine {
    const number = this.#left
    this.#left += 1
    return { number, parts }
  }

  #nextRight(parts: readonly DiffPart[]): DiffLine {
    const number = this.#right
    this.#right += 1
    return { number, parts }
  }
}

/** The rows, with long runs of equal ones folded but those that are unfolded. */
export function foldRows(
  rows: readonly DiffRow[],
  unfolded: ReadonlySet<number>,
): readonly (DiffRow | Fold)[] {
  const near = new Set<number>()
  for (const [index, { isEqual }] of rows.entries()) {
    if (isEqual) continue
    for (let at = index - AROUND; at <= index + AROUND; at += 1) near.add(at)
  }
  const shown: (DiffRow | Fold)[] = []
  for (let index = 0; index < rows.length;) {
    let end = index
    while (end < rows.length && !near.has(end)) end += 1
    // A fold of one line takes as much room as that line.
    if (end - index > 1 && !unfolded.has(index)) shown.push({ fold: index, lines: end - index })
    else shown.push(...rows.slice(index, end))
    index = end
    for (; index < rows.length && near.has(index); index += 1)
      shown.push(...rows.slice(index, index + 1))
  }
  return shown
}

/** The rows of one column: removed lines, then added ones. */
export function inlineRows(rows: readonly (DiffRow | Fold)[]): readonly (DiffRow | Fold)[] {
  const shown: (DiffRow | Fold)[] = []
  let added: DiffRow[] = []
  const flush = (): void => {
    shown.push(...added)
    added = []
  }
  for (const row of rows) {
    if ('fold' in row || row.isEqual) {
      flush()
      shown.push(row)
      continue
    }
    if (row.left !== undefined) shown.push({ ...row, right: undefined })
    if (row.right !== undefined) added.push({ ...row, left: undefined })
  }
  flush()
  return shown
}

export function countRows(rows: readonly DiffRow[]): {
  readonly added: number
  readonly removed: number
} {
  const changed = rows.filter(({ isEqual }) => !isEqual)
  return {
    added: changed.filter(({ right }) => right !== undefined).length,
    removed: changed.filter(({ left }) => left !== undefined).length,
  }
}

function words(before: string, after: string) {
  const found = diffWordsWithSpace(before, after, { timeout: WORDS_TIMEOUT_MS })
  if (found === undefined) return undefined
  const left: DiffPart[] = []
  const right: DiffPart[] = []
  for (const { value: text, added, removed } of found) {
    const isMarked = added || removed
    if (!added) left.push({ text, isMarked })
    if (!removed) right.push({ text, isMarked })
  }
  return { left, right }
}

function whole(text: string): readonly DiffPart[] {
  return [{ text, isMarked: false }]
}

/** A text that ends in a newline has no line after it. */
function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}
