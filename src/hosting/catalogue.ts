// What a server knows of its workspaces and stores without opening any. No history keeps a deleted
// name. The server changes it; the command line adds workspaces and stores while it runs.

import { assert, StoreError } from '../errors.ts'
import { hasControls } from '../format/characters.ts'
import { pairsOf, type Settings } from '../format/settings.ts'
import { storeNameCharactersMax } from '../limits.ts'
import type { Page } from '../page.ts'
import type { StoreInfo } from '../store/store-report.ts'
import { type HostBackend, type HostNotice, newId } from './host-backend.ts'
import {
  type HostRecords,
  type Lists,
  placeIn,
  type RecordPosition,
  type RecordsSnapshot,
  type RecordTables,
  type StoredRecord,
  untilChanged,
} from './host-records.ts'
import type { ListFile } from './list-file.ts'

export interface Workspace {
  /** `wrkspc_…` */
  readonly workspaceId: string
  readonly name: string
  /** ms since 1970. */
  readonly createdAt: number
}

/** A store as the catalogue knows it: listing opens nothing. Times are ms since 1970. */
export interface HostedStore extends Pick<
  Settings,
  'name' | 'description' | 'metadata' | 'archivedAt'
> {
  /** `memstore_…` */
  readonly storeId: string
  readonly workspaceId: string
  readonly createdAt: number
  readonly updatedAt: number
}

export interface HostedStoreQuery {
  readonly includeArchived?: boolean | undefined
  /** Inclusive, ms. */
  readonly since?: number | undefined
  readonly until?: number | undefined
  readonly limit: number
  /** The `nextPage` of the page before. */
  readonly page?: string | undefined
}

/** The type of the records of each table. */
export interface CatalogueRecords {
  /** The first is where keys belong unless told otherwise. */
  readonly workspaces: Workspace
  readonly stores: HostedStore
}

export const catalogueTables: RecordTables<CatalogueRecords> = {
  workspaces: {
    idOf: ({ workspaceId }) => workspaceId,
    scopeOf: () => '',
    timeOf: ({ createdAt }) => createdAt,
    order: 'added',
  },
  stores: {
    idOf: ({ storeId }) => storeId,
    scopeOf: ({ workspaceId }) => workspaceId,
    timeOf: ({ createdAt }) => createdAt,
    order: 'newest',
  },
}

/** Whose stores are listed: a workspace, or what a session reaches of it. */
export interface StoreScope {
  readonly workspaceId: string
  readonly attached: ReadonlyMap<string, unknown> | undefined
}

export class Catalogue {
  readonly #backend: HostBackend
  readonly #records: HostRecords<CatalogueRecords>

  private constructor(backend: HostBackend, records: HostRecords<CatalogueRecords>) {
    this.#backend = backend
    this.#records = records
  }

  static async open(
    backend: HostBackend,
    notice: (notice: HostNotice) => void,
    acceptRolledBack: boolean,
    backup?: ListFile<Lists<CatalogueRecords>>,
  ): Promise<Catalogue> {
    const first = (): Lists<CatalogueRecords> => {
      return backup?.value ?? { workspaces: [newWorkspace(backend, 'default')], stores: [] }
    }
    const firstAbove = backup?.generation
    const options = {
      role: 'catalogue' as const,
      tables: catalogueTables,
      first,
      firstAbove,
      notice,
      acceptRolledBack,
    }
    return new Catalogue(backend, await backend.openRecords<CatalogueRecords>(options))
  }

  /** Whether an old one was accepted when this was opened. */
  get wasRolledBack(): boolean {
    return this.#records.wasRolledBack
  }

  workspaces(): Promise<readonly Workspace[]> {
    return this.#records.list('workspaces')
  }

  stores(): Promise<readonly HostedStore[]> {
    return this.#records.list('stores')
  }

  /** How many stores there are. */
  count(): Promise<number> {
    return this.#records.count('stores')
  }

  async find(storeId: string): Promise<HostedStore | undefined> {
    return (await this.#records.find('stores', storeId))?.record
  }

  async page(scope: StoreScope, query: HostedStoreQuery): Promise<Page<HostedStore>> {
    const { includeArchived = false, since = -Infinity, until = Infinity, limit } = query
    const after = query.page === undefined ? undefined : parsePlace(query.page)
    const { workspaceId, attached } = scope
    const found = await this.#records.page('stores', {
      scope: workspaceId,
      among: attached && [...attached.keys()],
      since,
      until,
      after,
      isWanted: ({ archivedAt }) => includeArchived || archivedAt === undefined,
      limit: limit + 1,
    })
    const last = found.length > limit ? found[limit - 1] : undefined
    return { data: found.slice(0, limit), nextPage: last && formatPlace(last) }
  }

  /** Throws `store_full`. */
  checkRoom(): Promise<void> {
    return this.#records.checkRoom()
  }

  async add(workspaceId: string, info: StoreInfo): Promise<HostedStore> {
    const record = describe(workspaceId, info)
    const isMade = await this.#records.change([{ kind: 'add', table: 'stores', record }])
    assert(isMade, 'the id of a new store is random')
    return record
  }

  /** Replaces the known facts about a store by its own. Throws `not_found`. */
  follow(info: StoreInfo): Promise<HostedStore> {
    return untilChanged(async () => {
      const { record: known, revision } = await this.#get(info.storeId)
      const record = describe(known.workspaceId, info)
      if (isSame(known, record)) return known
      const step = { kind: 'replace', table: 'stores', record, revision } as const
      return (await this.#records.change([step])) ? record : undefined
    })
  }

  /** Throws `not_found`. */
  async remove(storeId: string): Promise<void> {
    const step = { kind: 'remove', table: 'stores', id: storeId } as const
    if (!(await this.#records.change([step]))) missing()
  }

  /** Throws `invalid_input`. */
  async addWorkspace(name: string): Promise<Workspace> {
    const record = newWorkspace(this.#backend, checkName(name))
    const isMade = await this.#records.change([{ kind: 'add', table: 'workspaces', record }])
    assert(isMade, 'the id of a new workspace is random')
    return record
  }

  async #get(storeId: string): Promise<StoredRecord<HostedStore>> {
    return (await this.#records.find('stores', storeId)) ?? missing()
  }

  /** For a copy. */
  snapshot(): Promise<RecordsSnapshot<CatalogueRecords>> {
    return this.#records.snapshot()
  }
}

/** In one order of the keys: texts are compared. */
function describe(workspaceId: string, { storeId, settings, ...times }: StoreInfo): HostedStore {
  const { name, description, archivedAt } = settings
  const { createdAt, updatedAt } = times
  const metadata = pairsOf(settings.metadata, 'users')
  return { storeId, workspaceId, name, description, metadata, archivedAt, createdAt, updatedAt }
}

function isSame(a: HostedStore, b: HostedStore): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** A name for people. Throws `invalid_input`. */
export function checkName(name: string): string {
  const length = typeof name === 'string' ? Array.from(name).length : 0
  if (length > 0 && length <= storeNameCharactersMax && name.isWellFormed() && !hasControls(name)) {
    return name
  }
  throw new StoreError(
    'invalid_input',
    `A name must be 1 to ${storeNameCharactersMax} characters without control characters`,
  )
}

function newWorkspace(backend: HostBackend, name: string): Workspace {
  return { workspaceId: newId(backend, 'wrkspc_'), name, createdAt: backend.clock() }
}

export function isIn({ workspaceId, attached }: StoreScope, store: HostedStore): boolean {
  return store.workspaceId === workspaceId && attached?.has(store.storeId) !== false
}

function formatPlace(store: HostedStore): string {
  const { time, id } = placeIn(catalogueTables.stores, store)
  return `${time} ${id}`
}

function parsePlace(text: string): RecordPosition {
  const [time, id = ''] = text.split(' ')
  return { time: Number(time), id }
}

export function missing(): never {
  throw new StoreError('not_found', 'There is no such memory store')
}
