// `store.search`: decides which documents are searched and in which way, by words in an index or by
// a regular expression in a thread, and makes a page of hits. Must not show a version that is
// redacted by the time of the answer.

import type { WorkOptions } from '../../async.ts'
import { hasCode } from '../../errors.ts'
import { isAtOrBelow } from '../../format/path.ts'
import type { Page } from '../../page.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import type { StoreSession } from '../session/session.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import { LiveIndex } from './live-index.ts'
import { parseQuery, type QueryWord, weightOf } from './query-words.ts'
import { rank, type Ranked, Selection, type SelectionOptions } from './ranking.ts'
import { type Matching, type RegexMatch, type RegexText, RegexThread } from './regex-thread.ts'
import { inRegexTurn, ownSearcher, type Searcher } from './regex-turns.ts'
import {
  type CheckedQuery,
  checkedQuery,
  encodeCursor,
  type SearchHit,
  type SearchQuery,
} from './search-query.ts'
import { findBestLine, lineOf, snippetOf, type Spot } from './snippet.ts'
import {
  type Collection,
  liveSource,
  pastSource,
  type SearchSource,
  VersionSource,
} from './sources.ts'
import { allTermsOf, type Searchable, TermIndex, type TermsOf } from './term-index.ts'
import { termsBeginning } from './words.ts'

/** How often a search starts over because a hit changed. */
const TRIES = 3

export class StoreSearch {
  readonly #session: StoreSession
  readonly #index: LiveIndex
  /** The first search scans: a store that is opened for one search needs no index. */
  #isFirst = true

  constructor(session: StoreSession) {
    this.#session = session
    this.#index = new LiveIndex(session.indexBudget)
    session.holdTexts(this.#index)
  }

  /** Throws `invalid_input`, `invalid_path`, `not_found` for a point, or `cancelled`. */
  async page(query: SearchQuery): Promise<Page<SearchHit>> {
    const asked = checkedQuery(query)
    const spent = { ms: 0 }
    for (let tries = 1; ; tries += 1) {
      const { rewrites } = this.#session
      try {
        const page = await this.#find(asked, spent, tries === TRIES)
        if (page !== undefined) return page
      } catch (error) {
        if (!hasCode(error, 'object_missing')) throw error
        await this.#session.reading(() => undefined)
        // Unless another process has redacted, and erased the texts that were read.
        if (this.#session.rewrites === rewrites) throw error
      }
    }
  }

  async #find(
    asked: CheckedQuery,
    spent: Matching,
    isLast: boolean,
  ): Promise<Page<SearchHit> | undefined> {
    const { path, at, allVersions, signal, progress } = asked
    const session = this.#session
    if (at !== undefined) {
      const source = await pastSource(session, path, at, { signal, progress })
      return pageOf(source, finderOf(source, asked, spent), asked, isLast)
    }
    if (allVersions === true) {
      const source = new VersionSource(session, path)
      return pageOf(source, finderOf(source, asked, spent), asked, isLast)
    }
    const source = liveSource(session, path)
    return pageOf(source, this.#liveFinder(source, asked, spent), asked, isLast)
  }

  #liveFinder(
    source: SearchSource<LiveMemory>,
    asked: CheckedQuery,
    spent: Matching,
  ): Finder<LiveMemory> {
    const finder = finderOf(source, asked, spent)
    if (asked.regex === true) return finder
    const isFirst = this.#isFirst
    this.#isFirst = false
    if (isFirst) return finder
    const words = wordsIn(asked)
    return indexed(this.#index, liveSource(this.#session, '/'), words, asked.path, finder)
  }
}

function finderOf<D extends Searchable>(
  source: SearchSource<D>,
  asked: CheckedQuery,
  spent: Matching,
): Finder<D> {
  if (asked.regex === true) return matching(source, asked.query, spent, asked.searcher)
  return scanning(source, wordsIn(asked))
}

function wordsIn({ query, prefix = true, fuzzy = false }: CheckedQuery): readonly QueryWord[] {
  return parseQuery(query, { prefix, fuzzy })
}

/** Undefined if a hit changed; the last try leaves it out. */
async function pageOf<D extends Searchable>(
  source: SearchSource<D>,
  finder: Finder<D>,
  asked: CheckedQuery,
  isLast: boolean,
): Promise<Page<SearchHit> | undefined> {
  const { limit, place, digest, signal, path } = asked
  const found = await finder.best({ most: limit + 1, after: place }, asked)
  const shown = found.slice(0, limit)
  const slice = new TimeSlice(signal)
  const hits = new Map<D, SearchHit>()
  for (const ranked of shown) {
    const content = await source.contentOf(ranked.document)
    if (content !== undefined) {
      hits.set(ranked.document, await hitOf(source, finder, ranked, content, slice))
    }
    if (slice.isOver()) await slice.next()
  }
  const there = await source.stillThere([...hits.keys()])
  if (there.size < shown.length && !isLast) return undefined
  const data = [...hits].filter(([document]) => there.has(document)).map(([, hit]) => hit)
  const last = found.length > limit ? shown.at(-1) : undefined
  const nextPage = last && encodeCursor(digest, path, { ...last.document, score: last.score })
  return { data, nextPage }
}

async function hitOf<D extends Searchable>(
  source: SearchSource<D>,
  finder: Finder<D>,
  ranked: Ranked<D>,
  content: string,
  slice: TimeSlice,
): Promise<SearchHit> {
  const { document, score } = ranked
  const spot = await finder.spot(ranked, content, slice)
  const snippet =
    spot === undefined
      ? snippetOf(document.path, 0)
      : snippetOf(lineOf(content, spot.line), spot.at)
  return { memory: source.describe(document), score, line: spot?.line, snippet }
}

interface Finder<D extends Searchable> {
  best(selection: SelectionOptions, options: WorkOptions): Promise<readonly Ranked<D>[]>
  /** Undefined if only the path matches. */
  spot(found: Ranked<D>, content: string, slice: TimeSlice): Promise<Spot | undefined>
}

/** Different words of texts whose comparison with a fuzzy word is remembered. */
const REMEMBERED_MAX = 65_536

/** Reads all documents, and makes an index of the terms that match. */
function scanning<D extends Searchable>(
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
function indexed(
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

function matching<D extends Searchable>(
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
