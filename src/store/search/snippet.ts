// The line of a text that shows best why it was found, and the part of it that is shown. Pure.

import type { TimeSlice } from '../../time-slice.ts'
import { type QueryWord, weightOf } from './query-words.ts'
import { chunksOf, wordsOf } from './words.ts'

/** A match in a text. */
export interface Spot {
  /** 1-based. */
  readonly line: number
  /** Where the match begins in the line, in UTF-16 units. */
  readonly at: number
}

const SNIPPET_LENGTH = 200
/** How much of it stands before the match, in a longer line. */
const BEFORE = 60
const ELLIPSIS = '…'

/** The first of the lines with the most words of the query; undefined if none has any. */
export async function findBestLine(
  content: string,
  words: readonly QueryWord[],
  slice: TimeSlice,
): Promise<Spot | undefined> {
  let best: (Spot & { readonly score: number }) | undefined
  let line = 0
  for (let start = 0; start <= content.length;) {
    const newline = content.indexOf('\n', start)
    const end = newline === -1 ? content.length : newline
    line += 1
    const found = await scoreLine(content.slice(start, end), words, slice)
    if (found !== undefined && found.score > (best?.score ?? 0)) best = { line, ...found }
    // Nothing beats a line with all the words as they are.
    if (best?.score === 2 * words.length) return best
    if (slice.isOver()) await slice.next()
    start = end + 1
  }
  return best
}

/** The text of a line, by its number. */
export function lineOf(content: string, line: number): string {
  let start = 0
  for (let before = 1; before < line; before += 1) {
    const newline = content.indexOf('\n', start)
    if (newline === -1) return ''
    start = newline + 1
  }
  const end = content.indexOf('\n', start)
  return content.slice(start, end === -1 ? undefined : end)
}

/** At most 200 UTF-16 units around a place of a line, without control characters. */
export function snippetOf(line: string, at: number): string {
  if (line.length <= SNIPPET_LENGTH) return clean(line)
  const start = Math.min(Math.max(0, at - BEFORE), line.length - SNIPPET_LENGTH)
  const from = isInPair(line, start) ? start + 1 : start
  // One unit for each ellipsis.
  const stop = Math.min(line.length, from + SNIPPET_LENGTH - 2)
  const to = isInPair(line, stop) ? stop - 1 : stop
  const before = from === 0 ? '' : ELLIPSIS
  const behind = to === line.length ? '' : ELLIPSIS
  return before + clean(line.slice(from, to)) + behind
}

/** The parts of a snippet that match words, as offsets: where each begins and ends. */
export function matchesIn(
  snippet: string,
  words: readonly QueryWord[],
): readonly (readonly [start: number, end: number])[] {
  const found = wordsOf(snippet).filter(({ term }) =>
    words.some((word) => weightOf(word, term) > 0),
  )
  return found.map(({ at, length }) => [at, at + length] as const)
}

/** Two for each word that is there as it is, less where something else stands for it. */
async function scoreLine(
  line: string,
  words: readonly QueryWord[],
  slice: TimeSlice,
): Promise<{ readonly score: number; readonly at: number } | undefined> {
  const weights = words.map(() => 0)
  let first: number | undefined
  for (const chunk of chunksOf(line)) {
    for (const { term, at } of wordsOf(chunk.text)) {
      for (const [index, word] of words.entries()) {
        const weight = weightOf(word, term)
        if (weight <= (weights[index] ?? 0)) continue
        weights[index] = weight
        first ??= chunk.at + at
      }
      if (slice.isOver()) await slice.next()
    }
    if (slice.isOver()) await slice.next()
  }
  if (first === undefined) return undefined
  const score = weights.reduce((sum, weight) => sum + (weight > 0 ? 1 + weight : 0), 0)
  return { score, at: first }
}

function clean(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}

function isInPair(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff
}
