// How much of a text another one has changed.

import { matchLines } from './line-matches.ts'

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
