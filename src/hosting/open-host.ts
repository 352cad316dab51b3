// Opens the data directory of a server: the process that serves its stores.
// Answers for a caller: what he cannot see does not exist for him. Must not know HTTP.

import { CacheBudget } from '../cache-budget.ts'
import { StoreError } from '../errors.ts'
import type { Settings } from '../format/settings.ts'
import type { Page } from '../page.ts'
import type { CreateOptions } from '../store/create.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { StoreWriter } from '../store/store-writer.ts'
import { BackgroundSync } from './background-sync.ts'
import { Catalogue, isIn, missing, type StoreScope } from './catalogue.ts'
import { Credentials } from './credentials.ts'
import { createCursors } from './cursors.ts'
import { DataDirectory, type HostNotice, type HostPlaces } from './data-directory.ts'
import type {
  Caller,
  CreatedSession,
  Cursors,
  Host,
  HostedStore,
  HostedStoreQuery,
  Operator,
  SessionRequest,
} from './host.ts'
import { HostedStores, type HostRecovery } from './hosted-stores.ts'
import { planResources } from './session-resources.ts'
import { maxBytesDefault, StorePool } from './store-pool.ts'

/** The part of the process's memory for the caches of all stores together. */
const CACHES_SHARE = 8

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

/**
 * Throws `locked` if another server has the directory open, `rolled_back` if an older catalogue or
 * older credentials were put back, `wrong_key`, `upgrade_required` or a storage code.
 */
export async function openHost(options: HostOptions): Promise<Host> {
  const directory = new DataDirectory(options)
  let unlock: (() => Promise<void>) | undefined
  try {
    await directory.make()
    unlock = await directory.holdForLife()
    return await openParts(directory, options, unlock)
  } catch (error) {
    await unlock?.()
    await directory.close()
    throw error
  }
}

async function openParts(
  directory: DataDirectory,
  options: HostOptions,
  unlock: () => Promise<void>,
): Promise<Host> {
  const { notice = () => undefined, acceptRolledBack = false, syncEveryMs } = options
  try {
    directory.checkApart()
  } catch (error) {
    notice({ about: 'state', error })
  }
  await directory.sweepLocks()
  const catalogue = await Catalogue.open(directory, notice, acceptRolledBack)
  const credentials = await Credentials.open(directory, notice, acceptRolledBack)
  const recovery = { operatorSecret: options.operatorSecret, owners: options.owners }
  const { storeLimits, maxBytes = maxBytesDefault } = options
  const cacheBudget = new CacheBudget(maxBytes / CACHES_SHARE)
  const made = { recovery, storeLimits, cacheBudget }
  const stores = new HostedStores({ directory, catalogue, notice, ...made })
  // An older catalogue does not know newer stores.
  if (!catalogue.wasRolledBack) await stores.sweep()
  const { maxOpen, idleMs } = options
  const open = (storeId: string): Promise<MemoryStore> => stores.open(storeId)
  const pool = new StorePool({ open, maxOpen, maxBytes, idleMs })
  const sync =
    syncEveryMs === undefined
      ? undefined
      : new BackgroundSync({
          directory,
          notice,
          everyMs: syncEveryMs,
          storeIds: () => catalogue.stores.map(({ storeId }) => storeId),
          use: (storeId, work) =>
            pool.use(storeId, async (store) => {
              await work(store)
              await stores.follow(store)
            }),
        })
  return new OpenHost({ directory, catalogue, credentials, stores, pool, sync, unlock })
}

interface OpenHostParts {
  readonly directory: DataDirectory
  readonly catalogue: Catalogue
  readonly credentials: Credentials
  readonly stores: HostedStores
  readonly pool: StorePool
  readonly sync: BackgroundSync | undefined
  readonly unlock: () => Promise<void>
}

class OpenHost implements Host {
  readonly cursors: Cursors
  readonly operator: Operator = {
    stores: () => this.#parts.catalogue.stores,
    use: (storeId, work) => this.#run(() => this.#operate(storeId, work)),
  }
  readonly #parts: OpenHostParts
  /** Changes that are under way. */
  readonly #running = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  constructor(parts: OpenHostParts) {
    this.#parts = parts
    this.cursors = createCursors(parts.directory.owner)
  }

  authenticate(token: string): Caller | undefined {
    return this.#parts.credentials.authenticate(token)
  }

  list(caller: Caller, query: HostedStoreQuery): Page<HostedStore> {
    return this.#parts.catalogue.page(scopeOf(caller), query)
  }

  get(caller: Caller, storeId: string): HostedStore {
    const store = this.#parts.catalogue.find(storeId)
    return store !== undefined && isIn(scopeOf(caller), store) ? store : missing()
  }

  create(
    caller: Caller,
    settings: Pick<Settings, 'name' | 'description' | 'metadata'>,
  ): Promise<HostedStore> {
    return this.#run(() => this.#parts.stores.create(caller, settings))
  }

  delete(caller: Caller, storeId: string): Promise<void> {
    return this.#run(async () => {
      this.get(caller, storeId)
      const { stores, pool, sync } = this.#parts
      await stores.delete(storeId, (erase) => {
        // Not before: what syncs it now may have begun since, and nothing begins after this.
        sync?.leave(storeId)
        return pool.forget(storeId, erase)
      })
    })
  }

  updateSettings(
    caller: Caller,
    storeId: string,
    change: (now: Settings) => Partial<Settings>,
  ): Promise<HostedStore> {
    return this.use(caller, storeId, (store, me) => {
      return this.#parts.stores.updateSettings(store, me, change)
    })
  }

  use<T>(
    caller: Caller,
    storeId: string,
    work: (store: MemoryStore, me: StoreWriter) => Promise<T>,
  ): Promise<T> {
    return this.#run(async () => {
      this.get(caller, storeId)
      const { actor } = caller
      return this.#parts.pool.use(storeId, (store) => work(store, store.as({ actor })))
    })
  }

  async #operate<T>(storeId: string, work: (store: MemoryStore) => Promise<T>): Promise<T> {
    const { catalogue, pool, stores } = this.#parts
    if (catalogue.find(storeId) === undefined) missing()
    return pool.use(storeId, async (store) => {
      const result = await work(store)
      await stores.follow(store)
      return result
    })
  }

  createSession(caller: Caller, request: SessionRequest): Promise<CreatedSession> {
    return this.#run(async () => {
      const resources = planResources(request, (storeId) => this.get(caller, storeId))
      const lifeMs = request.expiresIn * 1000
      const made = await this.#parts.credentials.createSession(caller, resources, lifeMs)
      return { ...made, resources }
    })
  }

  endSession({ workspaceId }: Caller, sessionId: string): Promise<void> {
    return this.#run(() => this.#parts.credentials.endSession(workspaceId, sessionId))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { sync, pool, unlock, directory } = this.#parts
    await sync?.stop()
    await Promise.allSettled(this.#running)
    try {
      await pool.close()
    } finally {
      await unlock()
      await directory.close()
    }
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

function scopeOf({ workspaceId, attached }: Caller): StoreScope {
  return { workspaceId, attached }
}
