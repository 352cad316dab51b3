// Which documents of an index match a query, and in what order: BM25+ as MiniSearch has it, over
// contents and paths. All numbers come from whole numbers in a fixed order, so that an index and a
// scan of the same documents give the same scores to the last bit. Keeps the best: one page. Pure.

import type { QueryWord } from './query-words.ts'
import type { Spot } from './snippet.ts'
import {
  countOf,
  isPathOf,
  type Match,
  type Postings,
  type Searchable,
  slotOf,
  type TermIndex,
} from './term-index.ts'

export interface Ranked<T> {
  readonly document: T
  /** Above 0. */
  readonly score: number
  /** Where the document matches, if finding it told. */
  readonly spot?: Spot | undefined
}

/** The place of a hit among all: better scores first, then by path. No two are at one place. */
export interface HitPlace {
  readonly score: number
  readonly path: string
  readonly versionId: string
}

export interface SelectionOptions {
  readonly most: number
  /** Where the page before ended. */
  readonly after: HitPlace | undefined
}

export class Selection<T extends Searchable> {
  readonly #options: SelectionOptions
  /** Best first. */
  #best: { readonly place: HitPlace; readonly ranked: Ranked<T> }[] = []

  constructor(options: SelectionOptions) {
    this.#options = options
  }

  offer(ranked: Ranked<T>): void {
    const { after, most } = this.#options
    const { score, document } = ranked
    const { path, versionId } = document
    const place = { score, path, versionId }
    if (after !== undefined && compare(place, after) <= 0) return
    const last = this.#best.at(-1)
    if (this.#best.length === most && last !== undefined && compare(place, last.place) > 0) return
    const index = this.#best.findIndex((other) => compare(place, other.place) < 0)
    this.#best.splice(index === -1 ? this.#best.length : index, 0, { place, ranked })
    if (this.#best.length > most) this.#best.pop()
  }

  best(): readonly Ranked<T>[] {
    return this.#best.map(({ ranked }) => ranked)
  }
}

/** Below 0 if `a` comes before `b`. */
function compare(a: HitPlace, b: HitPlace): number {
  if (a.score !== b.score) return b.score - a.score
  if (a.path !== b.path) return a.path < b.path ? -1 : 1
  if (a.versionId === b.versionId) return 0
  return a.versionId < b.versionId ? -1 : 1
}

/** How soon more of the same term counts less, how much length counts, and what any match does. */
const K = 1.2
const B = 0.7
const D = 0.5
const PATH_BOOST = 2
/** At most this many postings between two looks at the clock. */
const STEP = 4096

/** The documents that are searched, and what their lengths are compared with. */
interface SearchedPart {
  readonly size: number
  readonly content: number
  readonly path: number
  readonly has: (slot: number) => boolean
}

/**
 * A page of the documents that match, best first. Those with all words of the query come before
 * the others: their scores are between 1 and 2, those of the others between 0 and 1.
 */
export function* rank<T extends Searchable>(
  index: TermIndex<T>,
  words: readonly QueryWord[],
  isWanted: (document: T) => boolean,
  options: SelectionOptions,
): Generator<undefined, readonly Ranked<T>[]> {
  const { documents } = index
  const scope = yield* scopeOf(documents, isWanted)
  const sums = new Float64Array(documents.length)
  const matched = new Uint16Array(documents.length)
  for (const [number, word] of words.entries()) {
    for (const match of yield* index.matches(word)) {
      yield* addScores(match, { documents, scope, sums, matched, number })
    }
  }
  const selection = new Selection<T>(options)
  for (const [slot, document] of documents.entries()) {
    if (slot % STEP === 0) yield
    const sum = sums[slot] ?? 0
    if (document === undefined || sum === 0) continue
    const isComplete = matched[slot] === words.length
    selection.offer({ document, score: sum / (1 + sum) + (isComplete ? 1 : 0) })
  }
  return selection.best()
}

interface Scores {
  readonly documents: readonly (Searchable | undefined)[]
  readonly scope: SearchedPart
  readonly sums: Float64Array
  /** The number of words that each has: of those up to word `number`. */
  readonly matched: Uint16Array
  readonly number: number
}

function* addScores(
  { weight, postings }: Match,
  { documents, scope, sums, matched, number }: Scores,
): Generator<undefined, void> {
  const [inContents, inPaths] = yield* countDocuments(postings, scope)
  const contents = rarity(scope.size, inContents)
  const paths = rarity(scope.size, inPaths) * PATH_BOOST
  for (const [at, posting] of postings.entries()) {
    if (at % STEP === 0) yield
    const slot = slotOf(posting)
    const document = documents[slot]
    if (document === undefined || !scope.has(slot)) continue
    const isPath = isPathOf(posting)
    const length = isPath ? document.path.length / scope.path : document.size / scope.content
    const score = (isPath ? paths : contents) * saturation(countOf(posting), length)
    sums[slot] = (sums[slot] ?? 0) + weight * score
    // A word counts once, whatever stands for it.
    if (matched[slot] === number) matched[slot] = number + 1
  }
}

function rarity(documents: number, having: number): number {
  return Math.log(1 + (documents - having + 0.5) / (having + 0.5))
}

function saturation(count: number, relativeLength: number): number {
  return D + (count * (K + 1)) / (count + K * (1 - B + B * relativeLength))
}

/** How many documents have a term in their contents, and how many in their paths. */
function* countDocuments(
  postings: Postings,
  { has }: SearchedPart,
): Generator<undefined, readonly [contents: number, paths: number]> {
  let [contents, paths] = [0, 0]
  for (const [at, posting] of postings.entries()) {
    if (at % STEP === 0) yield
    if (!has(slotOf(posting))) continue
    if (isPathOf(posting)) paths += 1
    else contents += 1
  }
  return [contents, paths]
}

function* scopeOf<T extends Searchable>(
  documents: readonly (T | undefined)[],
  isWanted: (document: T) => boolean,
): Generator<undefined, SearchedPart> {
  const wanted = new Uint8Array(documents.length)
  let [size, content, path] = [0, 0, 0]
  for (const [slot, document] of documents.entries()) {
    if (slot % STEP === 0) yield
    if (document === undefined || !isWanted(document)) continue
    wanted[slot] = 1
    size += 1
    content += document.size
    path += document.path.length
  }
  const has = (slot: number): boolean => wanted[slot] === 1
  // Where all contents are empty, none has a length to compare.
  return { size, content: Math.max(content, 1) / size, path: path / size, has }
}
