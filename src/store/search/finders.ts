// The ways to find: by words in an index that is made for one search or kept for the next, and by a
// regular expression in a thread. Each gives the best documents of a source.

import type { WorkOptions } from '../../async.ts'
import { inSlices, type TimeSlice } from '../../time-slice.ts'
import { isAtOrBelow } from '../history/versions.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { LiveIndex } from './live-index.ts'
import { type QueryWord, weightOf } from './query-words.ts'
import { rank, type Ranked, Selection, type SelectionOptions } from './ranking.ts'
import { type Matching, type RegexMatch, type RegexText, RegexThread } from './regex-thread.ts'
import { inRegexTurn, ownSearcher, type Searcher } from './regex-turns.ts'
import { findBestLine, type Spot } from './snippet.ts'
import type { Collection, SearchSource } from './sources.ts'
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
  source: SearchSource<D>,
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
  whole: SearchSource<LiveMemory>,
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
  source: SearchSource<D>,
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

/** UTF-16 units of one batch, unless one text alone has more. */
const BATCH_LENGTH = 256 * 1024

interface Matched<D> {
  readonly document: D
  match: RegexMatch | undefined
}

/** Texts go to the thread in batches of bounded size, and are not kept here. */
class RegexCollection<D extends Searchable> implements Collection<D> {
  readonly #thread: RegexThread
  readonly #found: Map<string, Matched<D>> = new Map()
  #batch: { readonly text: RegexText; readonly matched: Matched<D> }[] = []
  #length = 0

  constructor(thread: RegexThread) {
    this.#thread = thread
  }

  get size(): number {
    return this.#found.size
  }

  keys(): Iterable<string> {
    return this.#found.keys()
  }

  find(key: string): D | undefined {
    return this.#found.get(key)?.document
  }

  async add(key: string, document: D, content: string, slice: TimeSlice): Promise<void> {
    const matched: Matched<D> = { document, match: undefined }
    this.#found.set(key, matched)
    this.#batch.push({ text: { path: document.path, content }, matched })
    this.#length += content.length
    if (this.#length < BATCH_LENGTH) return
    await this.settle()
    if (slice.isOver()) await slice.next()
  }

  remove(key: string): void {
    this.#found.delete(key)
  }

  /** Waits for the texts of the last batch. */
  async settle(): Promise<void> {
    const batch = this.#batch
    this.#batch = []
    this.#length = 0
    if (batch.length === 0) return
    const matches = await this.#thread.match(batch.map(({ text }) => text))
    for (const [index, { matched }] of batch.entries()) matched.match = matches[index]
  }

  /** Those with the most lines that match come first; a path is treated as a line. */
  *rank(options: SelectionOptions): Generator<undefined, readonly Ranked<D>[]> {
    const selection = new Selection<D>(options)
    for (const { document, match } of this.#found.values()) {
      yield
      const score = (match?.lines ?? 0) + (match?.path === true ? 1 : 0)
      if (score > 0) selection.offer({ document, score, spot: match?.spot })
    }
    return selection.best()
  }
}
