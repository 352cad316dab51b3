// Syncs the stores of a server that have a remote, one after another, again and again. A failure is
// told, and tried again in the next round.

import { pause } from '../async.ts'
import type { Actor } from '../format/change-record.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { HostBackend, HostNotice } from './host-backend.ts'

export interface BackgroundSyncParts {
  readonly backend: HostBackend
  readonly everyMs: number
  readonly storeIds: () => Promise<readonly string[]>
  /** Works with an open store. */
  readonly use: (storeId: string, work: (store: MemoryStore) => Promise<void>) => Promise<void>
  readonly notice: (notice: HostNotice) => void
}

const actor: Actor = { type: 'service_account', id: 'gitlocket-server' }

export class BackgroundSync {
  readonly #parts: BackgroundSyncParts
  readonly #ending = new AbortController()
  #timer: NodeJS.Timeout | undefined
  /** The store that is synced now. */
  #current: { readonly storeId: string; readonly leaving: AbortController } | undefined
  #round: Promise<void> = Promise.resolve()
  /** When a store was last synced with a remote, ms since 1970. */
  lastSync: number | undefined

  constructor(parts: BackgroundSyncParts) {
    this.#parts = parts
    this.#schedule()
  }

  /** Ends a running sync, and waits for it. */
  async stop(): Promise<void> {
    this.#ending.abort()
    clearTimeout(this.#timer)
    await this.#round
  }

  /** Ends the sync of a store before it is erased: a remote may be slow. */
  leave(storeId: string): void {
    if (this.#current?.storeId === storeId) this.#current.leaving.abort()
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      const { signal } = this.#ending
      this.#round = this.#told('catalogue', signal, () => this.#syncRound()).finally(() => {
        if (!signal.aborted) this.#schedule()
      })
    }, this.#parts.everyMs)
    this.#timer.unref()
  }

  #syncRound(): Promise<void> {
    return this.#parts.backend.runJob('sync', () => this.#syncAll())
  }

  async #syncAll(): Promise<void> {
    for (const storeId of await this.#parts.storeIds()) {
      // Ten thousand stores without a remote: requests go on in the meantime.
      await pause(undefined)
      if (this.#ending.signal.aborted) return
      const leaving = new AbortController()
      const signal = AbortSignal.any([this.#ending.signal, leaving.signal])
      this.#current = { storeId, leaving }
      await this.#told(storeId, signal, async () => {
        if (await this.#parts.backend.hasRemote(storeId)) await this.#sync(storeId, signal)
      })
      this.#current = undefined
    }
  }

  /** A remote that fails does not keep the others of the store from being synced. */
  #sync(storeId: string, signal: AbortSignal): Promise<void> {
    return this.#parts.use(storeId, async (store) => {
      for (const { name } of await store.remotes.list()) {
        await this.#told(storeId, signal, async () => {
          const { grants } = await store.as({ actor }).sync({ remote: name, signal })
          this.lastSync = this.#parts.backend.clock()
          if (grants?.failure !== undefined) throw grants.failure
        })
      }
    })
  }

  /** No one waits for this work: an error is told, unless it was ended. */
  async #told(about: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!signal.aborted) this.#parts.notice({ about, error })
    }
  }
}
