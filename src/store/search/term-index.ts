// Which documents have which terms in path and content: in RAM, made document by document in time
// slices. A search that scans makes one of the terms that its query matches, and of nothing else,
// so that both ways to search have one answer. Keeps no texts but the terms and the paths.

import SearchableMap from 'minisearch/SearchableMap'
import type { TimeSlice } from '../../time-slice.ts'
import { type QueryWord, weightOf } from './query-words.ts'
import { chunksOf, wordsOf } from './words.ts'

/** A document: a live memory, or a version of the past. */
export interface Searchable {
  readonly path: string
  /** Bytes of the content. */
  readonly size: number
  readonly versionId: string
}

/**
 * Where a term stands, in the order of slots; where it stands in both fields of a document, the
 * content comes first. See `slotOf`, `isPathOf` and `countOf`.
 */
export type Postings = readonly number[]

/** A term that stands for a word of the query. */
export interface Match {
  readonly term: string
  readonly weight: number
  readonly postings: Postings
}

/**
 * The terms of a text that an index takes, one for each word, in any order; undefined for a word
 * that was looked at in vain, so that a look may pause.
 */
export type TermsOf = (text: string) => Iterable<string | undefined>

export function allTermsOf(text: string): readonly string[] {
  return wordsOf(text).map(({ term }) => term)
}

// A posting fits into 31 bits, which V8 keeps without an object: slot, field, count.
const SLOT_SHIFT = 11
const PATH = 1 << 10
const COUNT_MAX = PATH - 1
/** Documents that one index can have, removed ones included. */
export const slotsMax: number = 2 ** 20
/** Estimates of what V8 takes. */
const TERM_BYTES = 220
const POSTING_BYTES = 10
const DOCUMENT_BYTES = 150
/** At most this many terms between two looks at the clock. */
const STEP = 256
/** As few words of a text, since each may be compared with all of a query. */
const TEXT_STEP = 16

export const slotOf = (posting: number): number => posting >>> SLOT_SHIFT
export const isPathOf = (posting: number): boolean => (posting & PATH) !== 0
export const countOf = (posting: number): number => posting & COUNT_MAX

export class TermIndex<D extends Searchable> {
  readonly #termsOf: TermsOf
  #terms = new SearchableMap<number[]>()
  #documents: (D | undefined)[] = []
  #slots: Map<string, number> = new Map()
  /** By slot, with removed documents: their terms are still indexed. */
  #versionIds: string[] = []
  #bytes = 0

  constructor(termsOf: TermsOf = allTermsOf) {
    this.#termsOf = termsOf
  }

  /** By slot; undefined for a removed document. */
  get documents(): readonly (D | undefined)[] {
    return this.#documents
  }

  /** How many documents there are. */
  get size(): number {
    return this.#slots.size
  }

  /** The keys of all documents. */
  keys(): Iterable<string> {
    return this.#slots.keys()
  }

  /** The versions whose terms are here, of removed documents too. */
  get versionIds(): readonly string[] {
    return this.#versionIds
  }

  /** What it takes, roughly. */
  get bytes(): number {
    return this.#bytes
  }

  find(key: string): D | undefined {
    const slot = this.#slots.get(key)
    return slot === undefined ? undefined : this.#documents[slot]
  }

  /** Adds a document, or replaces the one with this key. Pauses in a long one. */
  async add(key: string, document: D, content: string, slice: TimeSlice): Promise<void> {
    this.remove(key)
    const terms = this.#terms
    const counts = new Map<string, number>()
    for (const chunk of chunksOf(content)) {
      await this.#count(counts, chunk.text, slice)
      if (slice.isOver()) await slice.next()
    }
    const inPath = new Map<string, number>()
    await this.#count(inPath, document.path, slice)
    if (terms !== this.#terms) return
    const slot = this.#documents.push(document) - 1
    this.#versionIds.push(document.versionId)
    this.#slots.set(key, slot)
    this.#bytes += DOCUMENT_BYTES + 2 * document.path.length
    await this.#post(terms, counts, slot << SLOT_SHIFT, slice)
    await this.#post(terms, inPath, (slot << SLOT_SHIFT) | PATH, slice)
  }

  /** Its terms remain until the index is made again. */
  remove(key: string): void {
    const slot = this.#slots.get(key)
    if (slot === undefined) return
    this.#documents[slot] = undefined
    this.#slots.delete(key)
  }

  /** Forgets everything. A document that is being added is dropped. */
  clear(): void {
    // Not cleared: V8 keeps the entries of a cleared map alive.
    this.#terms = new SearchableMap<number[]>()
    this.#documents = []
    this.#slots = new Map()
    this.#versionIds = []
    this.#bytes = 0
  }

  /** The terms that stand for a word, in the order of their code units. */
  *matches(word: QueryWord): Generator<undefined, readonly Match[]> {
    const found = new Map<string, Match>()
    const note = (term: string, postings: Postings): void => {
      const weight = weightOf(word, term)
      if (weight > 0) found.set(term, { term, weight, postings })
    }
    const exact = this.#terms.get(word.term)
    if (exact !== undefined) note(word.term, exact)
    if (word.prefix) {
      for (const [term, postings] of this.#terms.atPrefix(word.term)) {
        note(term, postings)
        yield
      }
    }
    if (word.distance > 0) {
      const near = this.#terms.fuzzyGet(word.term, word.distance)
      for (const [term, [postings]] of near) note(term, postings)
    }
    return [...found.values()].toSorted((a, b) => (a.term < b.term ? -1 : 1))
  }

  async #count(counts: Map<string, number>, text: string, slice: TimeSlice): Promise<void> {
    let step = 0
    for (const term of this.#termsOf(text)) {
      if (term !== undefined) counts.set(term, Math.min((counts.get(term) ?? 0) + 1, COUNT_MAX))
      step += 1
      if (step % TEXT_STEP === 0 && slice.isOver()) await slice.next()
    }
  }

  /** To the terms of when the document came: those that are there now may be others. */
  async #post(
    terms: SearchableMap<number[]>,
    counts: ReadonlyMap<string, number>,
    place: number,
    slice: TimeSlice,
  ): Promise<void> {
    let step = 0
    for (const [term, count] of counts) {
      if (terms !== this.#terms) return
      const postings = terms.fetch(unshared(term), () => this.#newPostings(term))
      postings.push(place | count)
      this.#bytes += POSTING_BYTES
      step += 1
      if (step % STEP === 0 && slice.isOver()) await slice.next()
    }
  }

  #newPostings(term: string): number[] {
    this.#bytes += TERM_BYTES + 2 * term.length
    return []
  }
}

/** V8 may keep a long part of a text as a reference to all of it. */
function unshared(term: string): string {
  return term.length < 13 ? term : String.fromCharCode(...codesOf(term))
}

function codesOf(term: string): readonly number[] {
  return Array.from({ length: term.length }, (_, index) => term.charCodeAt(index))
}
