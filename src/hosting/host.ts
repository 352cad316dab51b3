// Opens the data directory of a server, the process that serves its stores, and answers for a
// caller: what it cannot see does not exist for it. Must not know HTTP.

import { CacheBudget } from '../cache-budget.ts'
import { hasCode, StoreError } from '../errors.ts'
import type { Settings } from '../format/settings.ts'
import { sessionStoresMax } from '../limits.ts'
import type { Page } from '../page.ts'
import type { CreateOptions } from '../store/create.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { StoreWriter } from '../store/store-writer.ts'
import { BackgroundSync } from './background-sync.ts'
import { Catalogue, type HostedStore, type HostedStoreQuery, isIn, missing } from './catalogue.ts'
import { type Attachment, type Caller, Credentials } from './credentials.ts'
import { createCursors, type Cursors } from './cursors.ts'
import { DataDirectory, type HostPlaces } from './data-directory.ts'
import type { HostBackend, HostNotice } from './host-backend.ts'
import { HostedStores, type HostRecovery } from './hosted-stores.ts'
import { mountNames } from './mount-names.ts'
import { maxBytesDefault, StorePool } from './store-pool.ts'

/** The part of the process's memory for the caches of all stores together. */
const CACHES_SHARE = 8
const sessionSecondsMin = 60
const sessionSecondsMax = 86_400
const MOUNT = '/mnt/memory/'

export interface HostOptions extends HostPlaces, HostRecovery {
  /** Syncs the stores that have a remote, with this pause between the rounds. Default: never. */
  readonly syncEveryMs?: number
  /** How many stores may be open at once: 200 by default. */
  readonly maxOpen?: number
  /** The most memory of the process, all of Node.js included: 512 MiB by default. */
  readonly maxBytes?: number
  /** How long a store remains open that no one uses: a minute by default. */
  readonly idleMs?: number
  /** The settings of new stores; defaults as `createStore`. */
  readonly storeLimits?: CreateOptions['limits']
  /** Accepts once a catalogue and credentials that were put back to an older state. */
  readonly acceptRolledBack?: boolean
  /** Told of failures outside of requests. Names no path, text or token. */
  readonly notice?: (notice: HostNotice) => void
}

/** All but the place. */
export type HostSettings = Omit<HostOptions, keyof HostPlaces>

export interface SessionRequest {
  readonly resources: readonly Attachment[]
  /** Seconds. */
  readonly expiresIn: number
}

/** A resource of a session, as it was attached. Wire names (Memory Stores API §10.6). */
export interface SessionResource extends Attachment {
  readonly type: 'memory_store'
  readonly name: string
  readonly description: string
  readonly mount_path: string
}

/**
 * Throws `locked` if another server has the directory open, `rolled_back` if an older catalogue or
 * older credentials were put back, `wrong_key`, `upgrade_required` or a storage code.
 */
export async function openHost(options: HostOptions): Promise<Host> {
  return openHostOn(new DataDirectory(options), options)
}

/** `openHost` on a backend, which the host closes. */
export async function openHostOn(backend: HostBackend, settings: HostSettings): Promise<Host> {
  let leave: (() => Promise<void>) | undefined
  try {
    const { notice = () => undefined } = settings
    await backend.make()
    leave = await backend.serve(notice)
    return new Host(await openParts(backend, settings, leave), settings.syncEveryMs)
  } catch (error) {
    await leave?.()
    await backend.close()
    throw error
  }
}

type HostParts = Awaited<ReturnType<typeof openParts>>

async function openParts(backend: HostBackend, settings: HostSettings, leave: () => Promise<void>) {
  const { notice = () => undefined, acceptRolledBack = false } = settings
  const catalogue = await Catalogue.open(backend, notice, acceptRolledBack)
  const credentials = await Credentials.open(backend, notice, acceptRolledBack)
  const recovery = { operatorSecret: settings.operatorSecret, owners: settings.owners }
  const { storeLimits, maxBytes = maxBytesDefault } = settings
  const cacheBudget = new CacheBudget(maxBytes / CACHES_SHARE)
  const made = { recovery, storeLimits, cacheBudget }
  const stores = new HostedStores({ backend, catalogue, notice, ...made })
  // An older catalogue does not know newer stores.
  if (!catalogue.wasRolledBack) await stores.sweep()
  const { maxOpen, idleMs } = settings
  const open = (storeId: string): Promise<MemoryStore> => stores.open(storeId)
  const pool = new StorePool({ open, maxOpen, maxBytes, idleMs })
  return { backend, catalogue, credentials, stores, pool, notice, leave }
}

/** What the operator of the machine may do, who can open every store anyway. */
export type Operator = Host['operator']

/** The stores of a server: for a caller, what it cannot see does not exist. */
export class Host {
  readonly cursors: Cursors
  readonly operator = {
    /** Of all workspaces, newest first. */
    stores: (): Promise<readonly HostedStore[]> => this.#parts.catalogue.stores(),
    countStores: (): Promise<number> => this.#parts.catalogue.count(),
    find: (storeId: string): Promise<HostedStore | undefined> => {
      return this.#parts.catalogue.find(storeId)
    },
    /** How many stores are open or being opened. */
    openStores: (): number => this.#parts.pool.size,
    /** When a store was last synced in the background; undefined if none was. */
    lastSync: (): number | undefined => this.#sync?.lastSync,
    /** Works with a store; the catalogue then knows its settings. Throws `not_found`. */
    use: <T>(storeId: string, work: (store: MemoryStore) => Promise<T>): Promise<T> => {
      return this.#run(async () => {
        if ((await this.#parts.catalogue.find(storeId)) === undefined) missing()
        return this.#useAndFollow(storeId, work)
      })
    },
  }
  readonly #parts: HostParts
  readonly #sync: BackgroundSync | undefined
  readonly #sweeping: NodeJS.Timeout | undefined
  /** Changes that are under way. */
  readonly #running = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(parts: HostParts, syncEveryMs: number | undefined) {
    const { backend, catalogue, notice } = parts
    this.#parts = parts
    this.cursors = createCursors(backend.owner)
    const { sweepEveryMs } = backend
    if (sweepEveryMs !== undefined && !catalogue.wasRolledBack) {
      this.#sweeping = setInterval(() => void this.#sweep(), sweepEveryMs).unref()
    }
    if (syncEveryMs === undefined) return
    this.#sync = new BackgroundSync({
      backend,
      notice,
      everyMs: syncEveryMs,
      storeIds: async () => (await catalogue.stores()).map(({ storeId }) => storeId),
      use: (storeId, work) => this.#useAndFollow(storeId, work),
    })
  }

  /** Throws why requests cannot be served now, such as `upgrade_required`. */
  ready(): Promise<void> {
    return this.#parts.backend.ready()
  }

  /** Whose token it is; undefined for any that is unknown, revoked or expired. */
  authenticate(token: string): Promise<Caller | undefined> {
    return this.#parts.credentials.authenticate(token)
  }

  /** Whose token it is, of those that fetch one store by git. */
  authenticateFetch(token: string): Promise<Caller | undefined> {
    return this.#parts.credentials.authenticateFetch(token)
  }

  /** Newest first; of one time, by id, the greatest first. A session sees its attached stores. */
  list(caller: Caller, query: HostedStoreQuery): Promise<Page<HostedStore>> {
    return this.#parts.catalogue.page(caller, query)
  }

  /** Throws `not_found`, also for a store of another workspace. */
  async get(caller: Caller, storeId: string): Promise<HostedStore> {
    const store = await this.#parts.catalogue.find(storeId)
    return store !== undefined && isIn(caller, store) ? store : missing()
  }

  /** Resolves when store and catalogue are durable. */
  create(
    caller: Caller,
    settings: Pick<Settings, 'name' | 'description' | 'metadata'>,
  ): Promise<HostedStore> {
    return this.#run(() => this.#parts.stores.create(caller, settings))
  }

  /** Erases the store and every trace of it. Throws `not_found`. */
  delete(caller: Caller, storeId: string): Promise<void> {
    return this.#run(async () => {
      await this.get(caller, storeId)
      const { stores, pool } = this.#parts
      await stores.delete(storeId, (erase) => {
        // Not before: what syncs it now may have begun since, and nothing begins after this.
        this.#sync?.leave(storeId)
        return pool.forget(storeId, erase)
      })
    })
  }

  /** Changes settings, in the store and then in the catalogue. `change` must be pure. */
  updateSettings(
    caller: Caller,
    storeId: string,
    change: (now: Settings) => Partial<Settings>,
  ): Promise<HostedStore> {
    return this.use(caller, storeId, (store, me) => {
      return this.#parts.stores.updateSettings(store, me, change)
    })
  }

  /** Works with a store, which remains open in the meantime. `me` writes in the caller's name. */
  use<T>(
    caller: Caller,
    storeId: string,
    work: (store: MemoryStore, me: StoreWriter) => Promise<T>,
  ): Promise<T> {
    return this.#run(async () => {
      await this.get(caller, storeId)
      const { actor } = caller
      return this.#parts.pool.use(storeId, (store) => work(store, store.as({ actor })))
    })
  }

  /**
   * Works with a store that may be closed at any time, if others need its place: then `work` ends
   * or throws `store_closed`, and this resolves. Throws `not_found`, and `store_closed` once the
   * host closes.
   */
  async follow(
    caller: Caller,
    storeId: string,
    work: (store: MemoryStore) => Promise<void>,
  ): Promise<void> {
    await this.get(caller, storeId)
    try {
      await this.#parts.pool.follow(storeId, work)
    } catch (error) {
      if (this.#closing !== undefined || !hasCode(error, 'store_closed')) throw error
    }
  }

  /**
   * The token is returned here and nowhere else. Throws `not_found` for a store that the caller
   * cannot see, `store_archived`.
   */
  createSession(
    caller: Caller,
    request: SessionRequest,
  ): Promise<
    Awaited<ReturnType<Credentials['createSession']>> & {
      readonly resources: readonly SessionResource[]
    }
  > {
    return this.#run(async () => {
      const resources = await planResources(request, (storeId) => this.get(caller, storeId))
      const lifeMs = request.expiresIn * 1000
      const made = await this.#parts.credentials.createSession(caller, resources, lifeMs)
      return { ...made, resources }
    })
  }

  /** Throws `not_found`. Only the key that made the session, or another of its workspace. */
  endSession({ workspaceId }: Caller, sessionId: string): Promise<void> {
    return this.#run(() => this.#parts.credentials.endSession(workspaceId, sessionId))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { pool, leave, backend } = this.#parts
    clearInterval(this.#sweeping)
    await this.#sync?.stop()
    await Promise.allSettled(this.#running)
    try {
      await pool.close()
    } finally {
      await leave()
      await backend.close()
    }
  }

  /** No one waits for it. */
  async #sweep(): Promise<void> {
    const { stores, notice } = this.#parts
    await this.#run(() => stores.sweep()).catch((error: unknown) => {
      notice({ about: 'catalogue', error })
    })
  }

  #useAndFollow<T>(storeId: string, work: (store: MemoryStore) => Promise<T>): Promise<T> {
    const { pool, stores } = this.#parts
    return pool.use(storeId, async (store) => {
      const result = await work(store)
      await stores.follow(store)
      return result
    })
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new StoreError('store_closed', 'The server is stopping')
    const running = work()
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }
}

/** Throws `invalid_input`, `store_archived`, and what `get` throws for one that is not there. */
async function planResources(
  { resources, expiresIn }: SessionRequest,
  get: (storeId: string) => Promise<HostedStore>,
): Promise<readonly SessionResource[]> {
  const ids = resources.map((one) => one.memory_store_id)
  if (ids.length === 0 || ids.length > sessionStoresMax || new Set(ids).size < ids.length) {
    throw invalid(
      `A session has 1 to ${sessionStoresMax} memory stores, each of them once`,
      'resources',
    )
  }
  if (
    !Number.isInteger(expiresIn) ||
    expiresIn < sessionSecondsMin ||
    expiresIn > sessionSecondsMax
  ) {
    const right = `an integer from ${sessionSecondsMin} to ${sessionSecondsMax}`
    throw invalid(`The seconds until a session expires must be ${right}`, 'expires_in')
  }
  const stores = await Promise.all(ids.map(get))
  if (stores.some(({ archivedAt }) => archivedAt !== undefined)) {
    throw new StoreError('store_archived', 'An archived memory store cannot be attached')
  }
  const names = mountNames(stores)
  return resources.map(({ memory_store_id, access, instructions }, index) => ({
    type: 'memory_store',
    memory_store_id,
    access,
    instructions,
    name: stores[index]?.name ?? '',
    description: stores[index]?.description ?? '',
    mount_path: MOUNT + names[index],
  }))
}

function invalid(message: string, parameter: string): StoreError {
  return new StoreError('invalid_input', message, { details: { parameter } })
}
