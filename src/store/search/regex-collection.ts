// What a regular expression has matched, document by document: texts go to the thread in batches of
// bounded size, and are not kept here.

import type { TimeSlice } from '../../time-slice.ts'
import type { Collection } from './live-memories.ts'
import type { RegexMatch, RegexText, RegexThread } from './regex-thread.ts'
import { type Ranked, Selection, type SelectionOptions } from './selection.ts'
import type { Searchable } from './term-index.ts'

/** UTF-16 units of one batch, unless one text alone has more. */
const BATCH_LENGTH = 256 * 1024

interface Matched<D> {
  readonly document: D
  match: RegexMatch | undefined
}

export class RegexCollection<D extends Searchable> implements Collection<D> {
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
