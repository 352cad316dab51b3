// What a query asks of the words of a text: which of them match, and how well. Pure.

import { StoreError } from '../../errors.ts'
import { isUnspaced, wordsOf } from './words.ts'

/** One word of a query, and what else stands for it. */
export interface QueryWord {
  readonly term: string
  /** Words that begin with it match. */
  readonly prefix: boolean
  /** Words that differ by at most this number of letters match. */
  readonly distance: number
}

// The weights of MiniSearch: the longer the rest of the word, the less a match counts.
const PREFIX_WEIGHT = 0.375
const PREFIX_DECAY = 0.3
const FUZZY_WEIGHT = 0.45

/** Each of them may be compared with each word of a text. */
const WORDS_MAX = 128

/** Each word once. Throws `invalid_input` for a query without words, or with too many. */
export function parseQuery(
  query: string,
  { prefix, fuzzy }: { readonly prefix: boolean; readonly fuzzy: boolean },
): readonly QueryWord[] {
  const all = wordsOf(query).map(({ term }) => term)
  // The last character of a run alone adds nothing to the pair before it.
  const terms = new Set(all.filter((term, index) => !isRestOf(term, all[index - 1])))
  if (terms.size === 0) {
    const advice = 'use a regular expression to find other characters'
    throw new StoreError('invalid_input', `The query has no letters or digits; ${advice}`)
  }
  if (terms.size > WORDS_MAX) {
    throw new StoreError('invalid_input', `The query has more than ${WORDS_MAX} words; use fewer`)
  }
  return [...terms].map((term) => {
    const pair = isUnspaced(term)
    // One character of a script without spaces begins the pairs that it is found by.
    return { term, prefix: prefix || pair, distance: fuzzy && !pair ? distanceFor(term) : 0 }
  })
}

/** From 0, if the term does not match, to 1, if it is the word itself. */
export function weightOf({ term: wanted, prefix, distance }: QueryWord, term: string): number {
  if (term === wanted) return 1
  if (prefix && term.startsWith(wanted)) {
    const rest = term.length - wanted.length
    return (PREFIX_WEIGHT * term.length) / (term.length + PREFIX_DECAY * rest)
  }
  if (distance === 0) return 0
  const edits = editsBetween(wanted, term, distance)
  return edits > distance ? 0 : (FUZZY_WEIGHT * term.length) / (term.length + edits)
}

/** Whether a term is the last character of the pair before it. */
function isRestOf(term: string, before: string | undefined): boolean {
  return before !== undefined && isUnspaced(term) && before !== term && before.endsWith(term)
}

/** None in short words, which would match half of a dictionary. */
function distanceFor(term: string): number {
  if (term.length < 3) return 0
  return term.length < 6 ? 1 : 2
}

/** Levenshtein's distance in UTF-16 units, or more than `most` if it is. */
function editsBetween(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a.charCodeAt(i - 1) === b.charCodeAt(j - 1) ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    if (Math.min(...next) > most) return most + 1
    row = next
  }
  return row[b.length] ?? 0
}
