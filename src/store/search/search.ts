// `store.search`: decides which documents are searched and in which way, and makes a page of hits.
// Must not show a version that is redacted by the time of the answer.

import { hasCode } from '../../errors.ts'
import type { Page } from '../../page.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { StoreSession } from '../session/session.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import { type Finder, indexed, matching, scanning } from './finders.ts'
import { LiveIndex } from './live-index.ts'
import { pastSource, VersionSource } from './past-sources.ts'
import { parseQuery, type QueryWord } from './query-words.ts'
import type { Ranked } from './ranking.ts'
import type { Matching } from './regex-thread.ts'
import {
  type CheckedQuery,
  checkedQuery,
  encodeCursor,
  type SearchHit,
  type SearchQuery,
} from './search-query.ts'
import { lineOf, snippetOf } from './snippet.ts'
import { liveSource, type SearchSource } from './sources.ts'
import type { Searchable } from './term-index.ts'

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
