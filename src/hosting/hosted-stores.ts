// The stores of a server on the disk: made, opened, changed and erased in step with the catalogue.
// A store that is half made or half erased has a marker: at the next start it is erased, unless the
// catalogue has it. Without a marker nothing is ever erased. One whose settings are being changed
// has another marker, so that the catalogue follows at the next start. The command line makes
// stores while a server runs or starts: under a lock, which a sweep and a deletion take too.

import { Gate } from '../async.ts'
import type { CacheBudget } from '../cache-budget.ts'
import { StoreError } from '../errors.ts'
import type { Actor } from '../format/change-record.ts'
import { findId } from '../format/id.ts'
import type { Settings } from '../format/settings.ts'
import { type CreateOptions, createStoreAt } from '../store/create.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { openStore } from '../store/open.ts'
import type { StoreEnvironment, StorePlaces } from '../store/session/open-options.ts'
import type { StoreInfo } from '../store/store-report.ts'
import type { StoreWriter } from '../store/store-writer.ts'
import { type Catalogue, type HostedStore, missing } from './catalogue.ts'
import type { Caller } from './credentials.ts'
import type { DataDirectory, HostNotice } from './data-directory.ts'

/** How the server's new stores are recovered: by one of these, or it makes no store. */
export interface HostRecovery {
  /** `GLKO1-…`, from `generateOperatorSecret`. */
  readonly operatorSecret?: string | undefined
  /** Device cards. */
  readonly owners?: readonly string[] | undefined
}

export interface HostedStoresParts {
  readonly directory: DataDirectory
  readonly catalogue: Catalogue
  readonly recovery: HostRecovery
  readonly notice: (notice: HostNotice) => void
  /** For the caches of all stores that it opens; undefined: as any process has. */
  readonly cacheBudget: CacheBudget | undefined
  /** The settings of the stores that it makes. */
  readonly storeLimits: CreateOptions['limits'] | undefined
  readonly refuseSecrets?: boolean | undefined
}

/** Ends the marker of a store whose settings are being changed. */
const changed = '.changed'

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
    return this.#parts.directory.holdStores(() => this.#sweep())
  }

  async #sweep(): Promise<void> {
    const { directory, catalogue, notice } = this.#parts
    for (const marker of directory.disk.list(directory.unfinished)) {
      const storeId = marker.replace(changed, '')
      if (findId('store', storeId) === undefined) continue
      try {
        const isKnown = (await catalogue.find(storeId)) !== undefined
        if (isKnown && marker !== storeId) await (await this.open(storeId)).close()
        if (isKnown || marker !== storeId) await this.#unmark(marker)
        else await this.#erase(storeId)
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
    return this.#parts.directory.holdStores(() => this.create(...call))
  }

  /** Rejects with `permission_denied` if no one could recover the store, and `store_full`. */
  async create(
    { actor, workspaceId }: Pick<Caller, 'actor' | 'workspaceId'>,
    settings: Pick<Settings, 'name' | 'description' | 'metadata'>,
  ): Promise<HostedStore> {
    const info = await this.#make(actor, settings)
    const { catalogue } = this.#parts
    const store = await catalogue.add(workspaceId, info).catch(async (error: unknown) => {
      // If this fails too, the next start erases it.
      await this.#eraseUnlisted(info.storeId).catch(() => undefined)
      throw error
    })
    await this.#unmark(info.storeId)
    return store
  }

  /** Opens a store that the catalogue has, and lets the catalogue follow what others changed. */
  async open(storeId: string): Promise<MemoryStore> {
    const { directory, catalogue, cacheBudget } = this.#parts
    if ((await catalogue.find(storeId)) === undefined) missing()
    try {
      const place = directory.placeOf(storeId)
      const store = await openStore({ ...place, ...(cacheBudget && { cacheBudget }) })
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
    const marker = store.id + changed
    return this.#inTurn(store, async () => {
      await this.#mark(marker)
      const updating = me.settings.update(change)
      await updating.catch(() => undefined)
      // Also after an error, which the disk may have had when the change was made.
      const hosted = await this.#follow(store)
      await this.#unmark(marker)
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
    const { directory, catalogue } = this.#parts
    // A process that has just made the store removes the same marker.
    await directory.holdStores(async () => {
      await this.#mark(storeId)
      await catalogue.remove(storeId)
    })
    this.#failed.delete(storeId)
    await whenUnused(() => this.#erase(storeId)).catch((error: unknown) => {
      this.#eraseLater(storeId)
      throw error
    })
  }

  async #make(
    actor: Actor,
    settings: Pick<Settings, 'name' | 'description' | 'metadata'>,
  ): Promise<StoreInfo> {
    const { directory, catalogue, recovery, storeLimits: limits, refuseSecrets } = this.#parts
    const { operatorSecret, owners } = recovery
    if (operatorSecret === undefined && owners === undefined) throw unrecoverable()
    await catalogue.checkRoom()
    let marked: string | undefined
    const place = async (storeId: string): Promise<string> => {
      await this.#mark(storeId)
      marked = storeId
      return directory.storePath(storeId)
    }
    try {
      const who = {
        actor,
        ...(limits && { limits }),
        ...(refuseSecrets !== undefined && { refuseSecrets }),
        ...(operatorSecret && { operatorSecret }),
        ...(owners && { owners }),
      }
      const { store } = await createStoreAt({ ...this.#options(), ...settings, ...who }, place)
      try {
        return await store.info()
      } finally {
        await store.close()
      }
    } catch (error) {
      // If this fails too, the next start erases it.
      if (marked !== undefined) await this.#erase(marked).catch(() => undefined)
      throw error
    }
  }

  #options(): StoreEnvironment & Omit<StorePlaces, 'directory'> {
    const { directory, cacheBudget } = this.#parts
    const { disk, random, clock, identity, storeStates: stateDirectory } = directory
    const environment = { disk, random, clock, identity, stateDirectory }
    return { ...environment, ...(cacheBudget && { cacheBudget }) }
  }

  async #mark(marker: string): Promise<void> {
    const { disk, unfinished } = this.#parts.directory
    const path = `${unfinished}/${marker}`
    if (disk.stat(path) === undefined) disk.close(disk.open(path, 'wx'))
    await disk.syncDirectory(unfinished)
  }

  /** Durably: with an older catalogue, the marker would have the store erased. */
  async #unmark(marker: string): Promise<void> {
    const { disk, unfinished } = this.#parts.directory
    disk.remove(`${unfinished}/${marker}`)
    await disk.syncDirectory(unfinished)
  }

  /** The store, its caches and its state. Of a link, the link. */
  async #erase(storeId: string): Promise<void> {
    const { disk, stores, storeStates } = this.#parts.directory
    for (const parent of [stores, storeStates]) {
      disk.removeTree(`${parent}/${storeId}`)
      if (disk.stat(parent) !== undefined) await disk.syncDirectory(parent)
    }
    await this.#unmark(storeId + changed)
    await this.#unmark(storeId)
  }

  /** As the file is now: a write that failed late may have put the store into the list. */
  async #eraseUnlisted(storeId: string): Promise<void> {
    const { lists } = await this.#parts.catalogue.snapshot()
    if (lists.stores.every((one) => one.storeId !== storeId)) await this.#erase(storeId)
  }

  /** No one asks for it again: it is in no list. If the process ends first, the next start does. */
  #eraseLater(storeId: string): void {
    const again = (): void => void this.#erase(storeId).catch(() => this.#eraseLater(storeId))
    setTimeout(again, RETRY_MS).unref()
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
