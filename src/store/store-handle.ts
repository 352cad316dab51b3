// What every open store reads, in a directory or in RAM, from the snapshot of the newest verified
// head. Must decide nothing that a room of this folder decides.

import type { WorkOptions } from '../async.ts'
import { findId, formatId } from '../format/id.ts'
import { checkPath } from '../format/path.ts'
import { type Page, type Paged, paged } from '../page.ts'
import { readMemory } from './history/contents.ts'
import type { PastView } from './history/past.ts'
import type { Point } from './history/points.ts'
import { type ListedMemory, listMemories, type MemoryPrefix, type MemoryQuery } from './memories.ts'
import { checkOptions, checkPoint, checkSearch, checkText } from './request-check.ts'
import type { SearchHit, SearchQuery } from './search/search-query.ts'
import type { StoreSearch } from './search/search.ts'
import { doubtScope } from './session/doubt-scope.ts'
import type { StoreSession } from './session/session.ts'
import { type DirectoryListing, listDirectory } from './snapshot/listing.ts'
import {
  type LiveMemory,
  describeMemory,
  type Memory,
  type MemoryInfo,
} from './snapshot/live-memory.ts'
import { readInfo, type StoreInfo } from './store-report.ts'

/** An open store, for reading. */
export class StoreHandle {
  readonly #session: StoreSession
  #search: StoreSearch | undefined

  /** @internal */
  constructor(session: StoreSession) {
    this.#session = session
  }

  /** `memstore_…` */
  get id(): string {
    return formatId('store', this.#session.storeId)
  }

  /** The memory at a path, or undefined if no file is there. */
  read(path: string): Promise<Memory | undefined> {
    return this.#session.reading((snapshot) => {
      return this.#read(snapshot.paths.findMemory(checkPath(path)))
    })
  }

  /** A live memory by its id, `mem_…`; undefined for any other id. */
  memory(memoryId: string): Promise<Memory | undefined> {
    return this.#session.reading((snapshot) => {
      const id = findId('memory', checkText(memoryId, 'A memory id'))
      return this.#read(id === undefined ? undefined : snapshot.current.get(id)?.live)
    })
  }

  #read(memory: LiveMemory | undefined): Memory | undefined {
    if (memory === undefined) return undefined
    this.#session.reads.note(memory.memoryId)
    return { ...describeMemory(memory), content: readMemory(this.#session.contents, memory) }
  }

  /**
   * The file or directory at `path` and what lies up to `depth` levels below it, or undefined if
   * nothing is there. The root always exists.
   */
  async list(
    path: string,
    options: { depth?: number } = {},
  ): Promise<DirectoryListing | undefined> {
    const { depth = Number.POSITIVE_INFINITY } = checkOptions(options)
    return this.#session.reading((snapshot) => {
      return listDirectory(snapshot, path === '/' ? path : checkPath(path), depth)
    })
  }

  /** The memories below a path, by path. Rejects with `invalid_input` or `invalid_path`. */
  memories(query?: MemoryQuery & { readonly depth?: 0 | undefined }): Paged<ListedMemory>
  memories(query: MemoryQuery): Paged<ListedMemory | MemoryPrefix>
  memories(query: MemoryQuery = {}): Paged<ListedMemory | MemoryPrefix> {
    return listMemories(this.#session, query)
  }

  /** Memories by what they say, the best first. Rejects with `invalid_input` or `invalid_path`. */
  search(query: SearchQuery): Paged<SearchHit> {
    // A copy: the caller may change the query later.
    const asked = typeof query === 'object' && query !== null ? { ...query } : query
    const read = async (after?: string): Promise<Page<SearchHit>> => {
      const checked = checkSearch(asked)
      const { StoreSearch } = await import('./search/search.ts')
      this.#search ??= new StoreSearch(this.#session)
      return this.#search.page({ ...checked, after })
    }
    return paged(read, asked?.after)
  }

  /** The store as it was at a point of its history. */
  async at(point: Point, options: WorkOptions = {}): Promise<PastView> {
    const { openPast } = await import('./history/past.ts')
    const asked = checkPoint(point)
    const scope = await doubtScope(this.#session)
    return openPast(this.#session, asked, { ...checkOptions(options), scope })
  }

  /** The settings, and when they and the store came to be: no more than is known at once. */
  info(): Promise<StoreInfo> {
    return readInfo(this.#session)
  }

  /** @internal All memories as they are now, in no order: from RAM, without the history. */
  current(): Promise<readonly MemoryInfo[]> {
    return this.#session.reading(({ current }) => {
      return Array.from(current.live(), ({ live }) => describeMemory(live))
    })
  }
}
