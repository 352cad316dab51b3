// Keeps the best of many candidates: those of one page, after the last one of the page before.
// Pure.

import type { Spot } from './snippet.ts'
import type { Searchable } from './term-index.ts'

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
