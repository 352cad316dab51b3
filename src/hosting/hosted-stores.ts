// The stores of a server: made, opened, changed and erased in step with the catalogue. A store that
// is half made or half erased has a mark: at the next start it is erased, unless the catalogue has
// it. Without a mark nothing is ever erased. One whose settings are being changed has another mark,
// so that the catalogue follows at the next start. The command line makes stores while a server
// runs or starts: under a lock, which a sweep and a deletion take too.

import { Gate } from '../async.ts'
import type { CacheBudget } from '../cache-budget.ts'
import { StoreError } from '../errors.ts'
import type { Actor } from '../format/change-record.ts'
import type { Settings } from '../format/settings.ts'
import type { CreateOptions } from '../store/create.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { StoreInfo } from '../store/store-report.ts'
import type { StoreWriter } from '../store/store-writer.ts'
import { type Catalogue, type HostedStore, missing } from './catalogue.ts'
import type { Caller } from './credentials.ts'
import type { HostBackend, HostNotice } from './host-backend.ts'

/** How the server's new stores are recovered: by one of these, or it makes no store. */
export interface HostRecovery {
  /** `GLKO1-…`, from `generateOperatorSecret`. */
  readonly operatorSecret?: string | undefined
  /** Device cards. */
  readonly owners?: readonly string[] | undefined
}

export interface HostedStoresParts {
  readonly backend: HostBackend
  readonly catalogue: Catalogue
  readonly recovery: HostRecovery
  readonly notice: (notice: HostNotice) => void
  /** For the caches of all stores that it opens; undefined: as any process has. */
  readonly cacheBudget: CacheBudget | undefined
  /** The settings of the stores that it makes. */
  readonly storeLimits: CreateOptions['limits'] | undefined
  readonly refuseSecrets?: boolean | undefined
}

/** After which a store whose files could not be erased is erased again. */
const RETRY_MS = 60_000

export class HostedStores {
  readonly #parts: HostedStoresParts
  readonly #gates = new WeakMap<MemoryStore, Gate>()
  /** Those that did not open, and why: each is told of once. */
  readonly #failed = new Map<string, unknown>()

  constructor(parts: HostedStoresParts) {
    this.#parts = parts
  }

  /** Completes or erases what a crash left half done, and not what another process is making. */
  sweep(): Promise<void> {
    return this.#parts.backend.runJob('sweep', () => this.#sweep())
  }

  async #sweep(): Promise<void> {
    const { backend, catalogue, notice } = this.#parts
    for (const { storeId, state } of await backend.unfinished()) {
      try {
        const isKnown = (await catalogue.find(storeId)) !== undefined
        if (isKnown && state === 'changed') await (await this.open(storeId)).close()
        if (isKnown || state === 'changed') await backend.settle(storeId, state)
        else await backend.eraseStore(storeId)
      } catch (error) {
        if (!(error instanceof StoreError)) throw error
        notice({ about: storeId, error })
      }
    }
  }

  /**
   * `create` for a process that is not the server: no server that starts in the meantime erases it.
   */
  createApart(...call: Parameters<HostedStores['create']>): Promise<HostedStore> {
    return this.#parts.backend.hold('stores', () => this.create(...call))
  }

  /** Rejects with `permission_denied` if no one could recover the store, and `store_full`. */
  async create(
    { actor, workspaceId }: Pick<Caller, 'actor' | 'workspaceId'>,
    settings: Pick<Settings, 'name' | 'description' | 'metadata'>,
  ): Promise<HostedStore> {
    const info = await this.#make(actor, settings)
    const { backend, catalogue } = this.#parts
    const store = await catalogue.add(workspaceId, info).catch(async (error: unknown) => {
      // If this fails too, the next start erases it.
      await this.#eraseUnlisted(info.storeId).catch(() => undefined)
      throw error
    })
    await backend.settle(info.storeId, 'making')
    return store
  }

  /** Opens a store that the catalogue has, and lets the catalogue follow what others changed. */
  async open(storeId: string): Promise<MemoryStore> {
    const { backend, catalogue, cacheBudget } = this.#parts
    if ((await catalogue.find(storeId)) === undefined) missing()
    try {
      const store = await backend.openStore(storeId, cacheBudget && { cacheBudget })
      await this.#followFirst(store)
      this.#failed.delete(storeId)
      return store
    } catch (error) {
      this.#tellOnce(storeId, error)
      throw error
    }
  }

  /** Brings the catalogue up to a store. */
  follow(store: MemoryStore): Promise<HostedStore> {
    return this.#inTurn(store, () => this.#follow(store))
  }

  /** Changes the settings of a store, and their copy in the catalogue, even after a crash. */
  updateSettings(
    store: MemoryStore,
    me: StoreWriter,
    change: (now: Settings) => Partial<Settings>,
  ): Promise<HostedStore> {
    const { backend } = this.#parts
    return this.#inTurn(store, async () => {
      await backend.mark(store.id, 'changed')
      const updating = me.settings.update(change)
      await updating.catch(() => undefined)
      // Also after an error, which the disk may have had when the change was made.
      const hosted = await this.#follow(store)
      await backend.settle(store.id, 'changed')
      await updating
      return hosted
    })
  }

  /** Of several at once, the last one brings the newest. */
  #inTurn(store: MemoryStore, work: () => Promise<HostedStore>): Promise<HostedStore> {
    const gate = this.#gates.get(store) ?? new Gate()
    this.#gates.set(store, gate)
    return gate.run(work)
  }

  async #follow(store: MemoryStore): Promise<HostedStore> {
    return this.#parts.catalogue.follow(await store.info())
  }

  async #followFirst(store: MemoryStore): Promise<void> {
    try {
      await this.follow(store)
    } catch (error) {
      await store.close().catch(() => undefined)
      throw error
    }
  }

  /** It no longer exists once it is removed from the catalogue. Rejects with `not_found`. */
  async delete(
    storeId: string,
    whenUnused: (erase: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const { backend, catalogue } = this.#parts
    // A process that has just made the store removes the same marker.
    await backend.hold('stores', async () => {
      await backend.mark(storeId, 'erasing')
      await catalogue.remove(storeId)
    })
    this.#failed.delete(storeId)
    await whenUnused(() => backend.eraseStore(storeId)).catch((error: unknown) => {
      this.#eraseLater(storeId)
      throw error
    })
  }

  async #make(
    actor: Actor,
    settings: Pick<Settings, 'name' | 'description' | 'metadata'>,
  ): Promise<StoreInfo> {
    const { backend, catalogue, recovery, cacheBudget, storeLimits: limits } = this.#parts
    const { operatorSecret, owners } = recovery
    const { refuseSecrets } = this.#parts
    if (operatorSecret === undefined && owners === undefined) throw unrecoverable()
    await catalogue.checkRoom()
    const options = {
      ...settings,
      actor,
      ...(cacheBudget && { cacheBudget }),
      ...(limits && { limits }),
      ...(refuseSecrets !== undefined && { refuseSecrets }),
      ...(operatorSecret && { operatorSecret }),
      ...(owners && { owners }),
    }
    let marked: string | undefined
    try {
      const store = await backend.createStore(options, async (storeId) => {
        await backend.mark(storeId, 'making')
        marked = storeId
      })
      try {
        return await store.info()
      } finally {
        await store.close()
      }
    } catch (error) {
      // If this fails too, the next start erases it.
      if (marked !== undefined) await backend.eraseStore(marked).catch(() => undefined)
      throw error
    }
  }

  /** As the file is now: a write that failed late may have put the store into the list. */
  async #eraseUnlisted(storeId: string): Promise<void> {
    const { backend, catalogue } = this.#parts
    const { lists } = await catalogue.snapshot()
    if (lists.stores.every((one) => one.storeId !== storeId)) await backend.eraseStore(storeId)
  }

  /** No one asks for it again: it is in no list. If the process ends first, the next start does. */
  #eraseLater(storeId: string): void {
    const { backend } = this.#parts
    const again = (): Promise<void> => {
      return backend.eraseStore(storeId).catch(() => this.#eraseLater(storeId))
    }
    setTimeout(() => void again(), RETRY_MS).unref()
  }

  #tellOnce(storeId: string, error: unknown): void {
    const why = error instanceof StoreError ? error.code : error
    if (this.#failed.get(storeId) === why) return
    this.#failed.set(storeId, why)
    this.#parts.notice({ about: storeId, error })
  }
}

function unrecoverable(): StoreError {
  return new StoreError(
    'permission_denied',
    'This server makes no memory stores, since no one could recover them: ' +
      'start it with an operator secret, or with the device cards of owners',
  )
}
