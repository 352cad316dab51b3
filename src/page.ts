// Pagination: a long list page by page or, by iteration, as a whole (Memory Stores API §4).

import { StoreError } from './errors.ts'

/** One page, and the cursor of the next. */
export interface Page<T> {
  readonly data: readonly T[]
  /** Pass it as `page` to read the next page; undefined on the last page. */
  readonly nextPage: string | undefined
}

/** Which page to read. */
export interface PageQuery {
  /** `full` includes contents, with at most 20 items per page. Default: `basic`. */
  readonly view?: 'basic' | 'full' | undefined
  /** From 1 to 1,000. Default: 100. */
  readonly limit?: number | undefined
  /** The `nextPage` of the previous page. */
  readonly page?: string | undefined
}

const SIZE_DEFAULT = 100
const SIZE_MAX = 1000
const FULL_SIZE_MAX = 20
const VIEWS = new Set<unknown>(['basic', 'full', undefined])

/** The number of items per page. Throws `invalid_input`. */
export function pageSizeOf({ view, limit = SIZE_DEFAULT }: PageQuery): number {
  if (!VIEWS.has(view)) throw new StoreError('invalid_input', 'The view must be basic or full')
  if (!Number.isInteger(limit) || limit < 1 || limit > SIZE_MAX) {
    throw new StoreError('invalid_input', `The limit must be an integer from 1 to ${SIZE_MAX}`)
  }
  return view === 'full' ? Math.min(limit, FULL_SIZE_MAX) : limit
}

/** Awaiting it gives the first page; iterating it gives each item of this and all later pages. */
export type Paged<T> = Promise<Page<T>> & AsyncIterable<T>

/** Reads the page of cursor `page`, or the first page without one. */
export function paged<T>(read: (page?: string) => Promise<Page<T>>, page?: string): Paged<T> {
  const first = read(page)
  // If nothing awaits the page, iterating it later reports the error.
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
