// A long list, a page at a time or, by iteration, all of it (Memory Stores API §4).

import { StoreError } from './errors.ts'

/** One page, and where the next one begins. */
export interface Page<T> {
  readonly data: readonly T[]
  /** Give it as `page` to go on; undefined at the end. */
  readonly nextPage: string | undefined
}

/** What a page is to hold. */
export interface PageQuery {
  /** `full`: with contents, and at most 20 in a page. `basic` if left out. */
  readonly view?: 'basic' | 'full' | undefined
  /** 1 to 1,000; 100 if left out. */
  readonly limit?: number | undefined
  /** The cursor that the page before gave. */
  readonly page?: string | undefined
}

const SIZE_DEFAULT = 100
const SIZE_MAX = 1000
const FULL_SIZE_MAX = 20
const VIEWS = new Set<unknown>(['basic', 'full', undefined])

/** Items in a page. Throws `invalid_input`. */
export function pageSizeOf({ view, limit = SIZE_DEFAULT }: PageQuery): number {
  if (!VIEWS.has(view)) throw new StoreError('invalid_input', 'The view must be basic or full')
  if (!Number.isInteger(limit) || limit < 1 || limit > SIZE_MAX) {
    throw new StoreError('invalid_input', `The limit must be an integer from 1 to ${SIZE_MAX}`)
  }
  return view === 'full' ? Math.min(limit, FULL_SIZE_MAX) : limit
}

/** Awaited, the first page; iterated, each item of this page and of all that follow. */
export type Paged<T> = Promise<Page<T>> & AsyncIterable<T>

/** Reads the page that the cursor `page` leads to; the first one without. */
export function paged<T>(read: (page?: string) => Promise<Page<T>>, page?: string): Paged<T> {
  const first = read(page)
  // Whoever iterates later meets it then.
  first.catch(() => undefined)
  const all = async function* (): AsyncGenerator<T, void> {
    let current = await first
    for (;;) {
      yield* current.data
      if (current.nextPage === undefined) return
      current = await read(current.nextPage)
    }
  }
  return Object.assign(first, { [Symbol.asyncIterator]: all })
}
