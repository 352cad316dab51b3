// `store.memories`: what lies below a path, in the order of the bytes of paths, so that a page goes
// on where the one before ended, whatever was written in the meantime (Memory Stores API §6.11).

import { StoreError } from '../errors.ts'
import { checkPath, isAtOrBelow } from '../format/path.ts'
import { type Page, type Paged, paged, type PageQuery, pageSizeOf } from '../page.ts'
import { readMemory } from './history/contents.ts'
import { checkObject } from './request-check.ts'
import type { StoreSession } from './session/session.ts'
import { type PathEntry, pathsInOrder } from './snapshot/listing.ts'
import { type LiveMemory, describeMemory, type MemoryInfo } from './snapshot/live-memory.ts'
import type { Snapshot } from './snapshot/snapshot.ts'

/** A memory as a list has it. */
export interface ListedMemory extends MemoryInfo {
  readonly type: 'memory'
  /** Only where contents were asked for. */
  readonly content?: string
}

/** A directory with memories in it. */
export interface MemoryPrefix {
  readonly type: 'memory_prefix'
  /** Ends in `/`. */
  readonly path: string
}

export interface MemoryQuery extends PageQuery {
  /** A directory, or the path of one memory: `/` if left out. */
  readonly path?: string | undefined
  /** 1: a directory below `path` is one item of the list. 0 if left out: all that is in it. */
  readonly depth?: 0 | 1 | undefined
}

/** Rejects with `invalid_input` or `invalid_path`. */
export function listMemories(
  session: StoreSession,
  query: MemoryQuery,
): Paged<ListedMemory | MemoryPrefix> {
  // A copy: the caller may change the query later.
  const asked = typeof query === 'object' && query !== null ? { ...query } : query
  const read = (page?: string) =>
    session.reading((snapshot) => {
      return readPage(session, snapshot, checkQuery({ ...checkObject(asked, 'The query'), page }))
    })
  return paged(read, asked?.page)
}

function readPage(
  session: StoreSession,
  snapshot: Snapshot,
  query: MemoryQuery,
): Page<ListedMemory | MemoryPrefix> {
  const { path = '/', depth = 0, page: after } = query
  const limit = pageSizeOf(query)
  const node = snapshot.paths.find(path)
  if (node === undefined) return { data: [], nextPage: undefined }
  const found = pathsInOrder(node, path, { after, shallow: depth === 1 })
  const data: (ListedMemory | MemoryPrefix)[] = []
  for (const entry of found) {
    const last = data.length === limit ? data.at(-1) : undefined
    if (last !== undefined) return { data, nextPage: last.path }
    data.push(describe(session, entry, query.view === 'full'))
  }
  return { data, nextPage: undefined }
}

function describe(
  session: StoreSession,
  { path, memory }: PathEntry<LiveMemory>,
  full: boolean,
): ListedMemory | MemoryPrefix {
  if (memory === undefined) return { type: 'memory_prefix', path }
  const listed = { type: 'memory', ...describeMemory(memory) } as const
  if (!full) return listed
  session.reads.note(memory.memoryId)
  return { ...listed, content: readMemory(session.contents, memory) }
}

function checkQuery(query: MemoryQuery): MemoryQuery {
  const { path = '/', depth = 0, page } = query
  if (path !== '/') checkPath(path)
  if (depth !== 0 && depth !== 1) throw new StoreError('invalid_input', 'The depth must be 0 or 1')
  if (page !== undefined && !isCursor(page, path)) {
    throw new StoreError('invalid_input', 'The cursor belongs to another query')
  }
  return query
}

/** A path, or one of a directory with its `/`. */
function isCursor(page: unknown, path: string): boolean {
  return typeof page === 'string' && page.startsWith('/') && isAtOrBelow(page, path)
}
