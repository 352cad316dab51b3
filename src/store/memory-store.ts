// The façade that a caller holds: reads from the snapshot of the newest verified head, and reaches
// the groups that do the rest (store-*.ts next to it). Must decide nothing that a room of this
// folder decides.

import type { WorkOptions } from '../async.ts'
import { assert } from '../errors.ts'
import { findId, formatId } from '../format/id.ts'
import { checkPath } from '../format/path.ts'
import { type Page, type Paged, paged } from '../page.ts'
import { type AutoSyncOptions, AutoSync, type Unsent, unsentError } from './auto-sync.ts'
import { checkAuthor } from './commits/author.ts'
import type { Author } from './commits/commit-context.ts'
import { readMemory } from './history/contents.ts'
import type { PastView } from './history/past.ts'
import type { Point } from './history/points.ts'
import { type ListedMemory, listMemories, type MemoryPrefix, type MemoryQuery } from './memories.ts'
import { checkObject, checkOptions, checkPoint, checkSearch, checkText } from './request-check.ts'
import type { SearchHit, SearchQuery } from './search/search-query.ts'
import type { StoreSearch } from './search/search.ts'
import type { StoreSession } from './session/session.ts'
import { type DirectoryListing, listDirectory } from './snapshot/listing.ts'
import {
  type LiveMemory,
  describeMemory,
  type Memory,
  type MemoryInfo,
} from './snapshot/live-memory.ts'
import { StoreDevices } from './store-devices.ts'
import { StoreGrants } from './store-grants.ts'
import { StoreHistory } from './store-history.ts'
import { StoreMaintenance } from './store-maintenance.ts'
import { StoreRemotes } from './store-remotes.ts'
import {
  readInfo,
  readStatus,
  readSummary,
  type StoreInfo,
  type StoreStatus,
  type StoreSummary,
} from './store-report.ts'
import { StoreWriter } from './store-writer.ts'
import { type StoreChange, type WatchOptions, watchStore } from './watch.ts'

/**
 * An open store. Every method may reject with a StoreError; `store_closed` after `close`. Paths are
 * store paths such as `/notes.md`.
 */
export class MemoryStore {
  readonly #session: StoreSession
  #search: StoreSearch | undefined
  #autoSync: AutoSync | undefined
  #closing: Promise<void> | undefined
  /** The past: versions, differences, authors. */
  readonly history: StoreHistory
  /** The members and their rights. */
  readonly devices: StoreDevices
  /** The grants that devices have given. */
  readonly grants: StoreGrants
  /** The remotes of `sync`. */
  readonly remotes: StoreRemotes
  /** Proofs, and what keeps the repository in order. */
  readonly maintenance: StoreMaintenance

  /** @internal Use `createStore` or `openStore`. */
  constructor(session: StoreSession) {
    this.#session = session
    this.history = new StoreHistory(session)
    this.devices = new StoreDevices(session)
    this.grants = new StoreGrants(session)
    this.remotes = new StoreRemotes(session)
    this.maintenance = new StoreMaintenance(session)
  }

  /** `memstore_…` */
  get id(): string {
    return formatId('store', this.#session.storeId)
  }

  /** All that writes, in the name of `author`. Throws `invalid_input` for one that is malformed. */
  as(author: Author): StoreWriter {
    return new StoreWriter(this.#session, checkAuthor(author))
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
    // Of the query as it is now, whatever becomes of the object.
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
    return openPast(this.#session, checkPoint(point), checkOptions(options))
  }

  /**
   * Versions as they come, from now on: of this process, of others, and of syncs. Ids and paths
   * alone, no texts. Ends when the store is closed, or by the signal.
   */
  watch(options: WatchOptions = {}): AsyncIterable<StoreChange, void> {
    return watchStore(this.#session, checkOptions(options))
  }

  /** The settings, and when they and the store came to be: no more than is known at once. */
  info(): Promise<StoreInfo> {
    return readInfo(this.#session)
  }

  /** @internal What a page about the store shows at once. */
  summary(): Promise<StoreSummary> {
    return readSummary(this.#session)
  }

  /** @internal All memories as they are now, in no order: from RAM, without the history. */
  current(): Promise<readonly MemoryInfo[]> {
    return this.#session.reading(({ current }) => {
      return Array.from(current.live(), ({ live }) => describeMemory(live))
    })
  }

  status(): Promise<StoreStatus> {
    return readStatus(this.#session)
  }

  /** @internal Sends changes a moment after they are written, the rest by `close`. Call once. */
  syncAutomatically(options: AutoSyncOptions): AutoSync {
    const asked = checkObject(options, 'The options')
    const author = checkAuthor(asked.author)
    assert(this.#autoSync === undefined, 'a store syncs automatically once')
    this.#autoSync = new AutoSync(this.#session, { ...asked, author })
    return this.#autoSync
  }

  /**
   * Waits for running writes and leaves an ordinary bare repository. A store that was opened with a
   * grant first sends what its remotes lack, for at most ten seconds: if that fails, this rejects
   * with the code of the remote once the store is closed. Closing twice is harmless.
   */
  close(): Promise<void> {
    const autoSync = this.#autoSync
    this.#closing ??= autoSync === undefined ? this.#session.close() : this.#sendAndClose(autoSync)
    return this.#closing
  }

  async #sendAndClose(autoSync: AutoSync): Promise<void> {
    // A caller of `finish` has reported the result.
    const isReported = autoSync.isFinished
    let unsent: readonly Unsent[] = []
    try {
      unsent = await autoSync.finish()
    } finally {
      await this.#session.close()
    }
    if (unsent.length > 0 && !isReported) throw unsentError(unsent)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
