// What a server knows of its workspaces and stores without opening any: a sealed file that is
// replaced as a whole, so that a deleted name no longer exists. The server changes it; the command
// line adds workspaces and stores while it runs.

import { StoreError } from '../errors.ts'
import { hasControls } from '../format/characters.ts'
import { pairsOf, type Settings } from '../format/settings.ts'
import { storeNameCharactersMax } from '../limits.ts'
import type { Page } from '../page.ts'
import type { StoreInfo } from '../store/store-report.ts'
import type { DataDirectory, HostNotice } from './data-directory.ts'
import { SealedFile } from './sealed-file.ts'

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

interface CatalogueValue {
  /** The first is where keys belong unless told otherwise. */
  readonly workspaces: readonly Workspace[]
  /** Newest first; of one time, by id, the greatest first. */
  readonly stores: readonly HostedStore[]
}

/** Whose stores are listed: a workspace, or what a session reaches of it. */
export interface StoreScope {
  readonly workspaceId: string
  readonly attached: ReadonlyMap<string, unknown> | undefined
}

export class Catalogue {
  readonly #directory: DataDirectory
  readonly #file: SealedFile<CatalogueValue>
  #indexed: CatalogueValue | undefined
  #byId: ReadonlyMap<string, HostedStore> = new Map()

  private constructor(directory: DataDirectory, file: SealedFile<CatalogueValue>) {
    this.#directory = directory
    this.#file = file
  }

  static async open(
    directory: DataDirectory,
    notice: (notice: HostNotice) => void,
    acceptRolledBack: boolean,
  ): Promise<Catalogue> {
    const role = 'catalogue'
    const file = await SealedFile.open<CatalogueValue>(
      {
        ...directory.file(role),
        first: () => {
          if (!acceptRolledBack && directory.storeIds().length > 0) throw lost()
          return { workspaces: [newWorkspace(directory, 'default')], stores: [] }
        },
        notice: (error) => notice({ about: role, error }),
      },
      acceptRolledBack,
    )
    return new Catalogue(directory, file)
  }

  /** Whether an old one was accepted when this was opened. */
  get wasRolledBack(): boolean {
    return this.#file.wasRolledBack
  }

  get workspaces(): readonly Workspace[] {
    return this.#file.read().workspaces
  }

  get stores(): readonly HostedStore[] {
    return this.#file.read().stores
  }

  find(storeId: string): HostedStore | undefined {
    const value = this.#file.read()
    if (value !== this.#indexed) {
      this.#byId = new Map(value.stores.map((store) => [store.storeId, store]))
      this.#indexed = value
    }
    return this.#byId.get(storeId)
  }

  page(scope: StoreScope, query: HostedStoreQuery): Page<HostedStore> {
    const { includeArchived = false, since = -Infinity, until = Infinity, limit } = query
    const after = query.page === undefined ? undefined : parsePlace(query.page)
    const data: HostedStore[] = []
    for (const store of this.stores) {
      if (store.createdAt < since) break
      if (after !== undefined && compareStores(store, after) <= 0) continue
      if (store.createdAt > until || !isIn(scope, store)) continue
      if (!includeArchived && store.archivedAt !== undefined) continue
      const last = data.at(-1)
      if (last !== undefined && data.length === limit) {
        return { data, nextPage: formatPlace(last) }
      }
      data.push(store)
    }
    return { data, nextPage: undefined }
  }

  /** Throws `store_full`. */
  checkRoom(): void {
    this.#file.checkRoom()
  }

  async add(workspaceId: string, info: StoreInfo): Promise<HostedStore> {
    const store = describe(workspaceId, info)
    await this.#file.update(({ workspaces, stores }) => {
      return { workspaces, stores: [...stores, store].toSorted(compareStores) }
    })
    return store
  }

  /** Replaces the known facts about a store by its own. Throws `not_found`. */
  async follow(info: StoreInfo): Promise<HostedStore> {
    const { storeId } = info
    const known = this.find(storeId)
    if (known !== undefined && isSame(known, describe(known.workspaceId, info))) return known
    const value = await this.#file.update((now) => {
      const before = getStore(now, storeId)
      const after = describe(before.workspaceId, info)
      return { ...now, stores: now.stores.map((one) => (one === before ? after : one)) }
    })
    return getStore(value, storeId)
  }

  /** Throws `not_found`. */
  async remove(storeId: string): Promise<void> {
    await this.#file.update((value) => {
      const store = getStore(value, storeId)
      return { ...value, stores: value.stores.filter((one) => one !== store) }
    })
  }

  /** Throws `invalid_input`. */
  async addWorkspace(name: string): Promise<Workspace> {
    const workspace = newWorkspace(this.#directory, checkName(name))
    await this.#file.update(({ workspaces, stores }) => {
      return { workspaces: [...workspaces, workspace], stores }
    })
    return workspace
  }

  /** For a copy. */
  snapshot(): Promise<{ readonly value: CatalogueValue; readonly bytes: Uint8Array }> {
    return this.#file.snapshot()
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

function newWorkspace(directory: DataDirectory, name: string): Workspace {
  return { workspaceId: directory.newId('wrkspc_'), name, createdAt: directory.clock() }
}

export function isIn({ workspaceId, attached }: StoreScope, store: HostedStore): boolean {
  return store.workspaceId === workspaceId && attached?.has(store.storeId) !== false
}

/** The place of a store in the list. */
type StorePosition = Pick<HostedStore, 'createdAt' | 'storeId'>

function compareStores(a: StorePosition, b: StorePosition): number {
  return b.createdAt - a.createdAt || (a.storeId < b.storeId ? 1 : a.storeId > b.storeId ? -1 : 0)
}

function formatPlace({ createdAt, storeId }: StorePosition): string {
  return `${createdAt} ${storeId}`
}

function parsePlace(text: string): StorePosition {
  const [time, storeId = ''] = text.split(' ')
  return { createdAt: Number(time), storeId }
}

function getStore({ stores }: CatalogueValue, storeId: string): HostedStore {
  return stores.find((one) => one.storeId === storeId) ?? missing()
}

function lost(): StoreError {
  return new StoreError(
    'rolled_back',
    'There are stores and no list of them: put the file catalogue back, or a whole backup',
  )
}

export function missing(): never {
  throw new StoreError('not_found', 'There is no such memory store')
}
