// The ways to find: by words in an index that is made for one search or kept for the next, and by a
// regular expression in a thread. Each gives the best documents of a source.

import type { WorkOptions } from '../../async.ts'
import { inSlices, type TimeSlice } from '../../time-slice.ts'
import { isAtOrBelow } from '../history/versions.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { LiveIndex } from './live-index.ts'
import { type QueryWord, weightOf } from './query-words.ts'
import { rank } from './ranking.ts'
import { RegexCollection } from './regex-collection.ts'
import { type Matching, RegexThread } from './regex-thread.ts'
import { inRegexTurn, ownSearcher, type Searcher } from './regex-turns.ts'
import type { Ranked, SelectionOptions } from './selection.ts'
import { findBestLine, type Spot } from './snippet.ts'
import type { Source } from './sources.ts'
import { allTermsOf, type Searchable, TermIndex, type TermsOf } from './term-index.ts'
import { termsBeginning } from './words.ts'

export interface Finder<D extends Searchable> {
  best(selection: SelectionOptions, options: WorkOptions): Promise<readonly Ranked<D>[]>
  /** Undefined if only the path matches. */
  spot(found: Ranked<D>, content: string, slice: TimeSlice): Promise<Spot | undefined>
}

/** Different words of texts whose comparison with a fuzzy word is remembered. */
const REMEMBERED_MAX = 65_536

/** Reads all documents, and makes an index of the terms that match. */
export function scanning<D extends Searchable>(
  source: Source<D>,
  words: readonly QueryWord[],
): Finder<D> {
  return {
    async best(selection, options) {
      const terms = new TermIndex<D>(termsFor(words))
      await source.collect(terms, options)
      return inSlices(
        rank(terms, words, () => true, selection),
        options.signal,
      )
    },
    spot: (_, content, slice) => findBestLine(content, words, slice),
  }
}

/** Reads new versions since the last search; scans if the index is lost. */
export function indexed(
  index: LiveIndex,
  whole: Source<LiveMemory>,
  words: readonly QueryWord[],
  path: string,
  otherwise: Finder<LiveMemory>,
): Finder<LiveMemory> {
  const isWanted = (memory: LiveMemory): boolean => isAtOrBelow(memory.path, path)
  return {
    async best(selection, options) {
      const best = await index.use(async (terms) => {
        await whole.collect(index, options)
        return inSlices(rank(terms, words, isWanted, selection), options.signal)
      })
      return best ?? otherwise.best(selection, options)
    },
    spot: (found, content, slice) => otherwise.spot(found, content, slice),
  }
}

export function matching<D extends Searchable>(
  source: Source<D>,
  pattern: string,
  spent: Matching,
  searcher: Searcher | undefined,
): Finder<D> {
  return {
    best: (selection, options) => {
      const match = async (): Promise<readonly Ranked<D>[]> => {
        const before = spent.ms
        const thread = await RegexThread.start(pattern, spent)
        try {
          const collection = new RegexCollection<D>(thread)
          await source.collect(collection, options)
          await collection.settle()
          return await inSlices(collection.rank(selection), options.signal)
        } finally {
          searcher?.matched(spent.ms - before)
          await thread.end()
        }
      }
      return searcher === undefined ? inRegexTurn(ownSearcher, match) : match()
    },
    spot: async ({ spot }) => spot,
  }
}

function termsFor(words: readonly QueryWord[]): TermsOf {
  const matches = (term: string): boolean => words.some((word) => weightOf(word, term) > 0)
  if (words.some(({ distance }) => distance > 0)) {
    const known = remembering(matches)
    return (text) => those(allTermsOf(text), known)
  }
  const starts = words.map(({ term }) => term)
  return (text) => those(termsBeginning(text, starts), matches)
}

function* those(
  terms: readonly string[],
  matches: (term: string) => boolean,
): Generator<string | undefined, void> {
  for (const term of terms) yield matches(term) ? term : undefined
}

function remembering(compare: (term: string) => boolean): (term: string) => boolean {
  let remembered = new Map<string, boolean>()
  return (term) => {
    const known = remembered.get(term)
    if (known !== undefined) return known
    if (remembered.size === REMEMBERED_MAX) remembered = new Map()
    const matches = compare(term)
    remembered.set(term, matches)
    return matches
  }
}
