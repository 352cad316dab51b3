// Pages of the Memory Stores API (§4.2): the cursor that a caller sees belongs to one list and its
// filters.

import type { Cursors } from '../hosting/host.ts'
import type { Page } from '../page.ts'
import { pageJson, type Wire } from './wire.ts'

export interface WireList<T> {
  /** The name of the list, and every parameter that selects its items. */
  readonly list: readonly unknown[]
  readonly toWire: (item: T) => Wire
  /** Gets the cursor of the list itself. */
  readonly read: (page: string | undefined) => Promise<Page<T>>
}

/** Throws `invalid_input` for a cursor of another list. */
export async function readPage<T>(
  cursors: Cursors,
  page: string | undefined,
  { list, toWire, read }: WireList<T>,
): Promise<Wire> {
  const name = JSON.stringify(list)
  const { data, nextPage } = await read(page === undefined ? undefined : cursors.open(name, page))
  return pageJson(
    data.map(toWire),
    nextPage === undefined ? undefined : cursors.seal(name, nextPage),
  )
}

export const emptyPage: Page<never> = { data: [], nextPage: undefined }
