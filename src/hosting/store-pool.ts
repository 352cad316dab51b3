// The open stores of a server.

import type { MemoryStore } from '../store/memory-store.ts'

export class StorePool {
  readonly #open: (storeId: string) => Promise<MemoryStore>
  readonly #stores: Map<string, Promise<MemoryStore>> = new Map()

  constructor({ open }: { readonly open: (storeId: string) => Promise<MemoryStore> }) {
    this.#open = open
  }

  async use<T>(storeId: string, work: (store: MemoryStore) => Promise<T>): Promise<T> {
    const opening = this.#stores.get(storeId) ?? this.#open(storeId)
    this.#stores.set(storeId, opening)
    try {
      await opening
    } catch (error) {
      this.#stores.delete(storeId)
      throw error
    }
    return work(await opening)
  }

  async forget(storeId: string): Promise<void> {
    const opening = this.#stores.get(storeId)
    this.#stores.delete(storeId)
    const store = await opening?.catch(() => undefined)
    await store?.close()
  }

  async close(): Promise<void> {
    for (const storeId of this.#stores.keys()) await this.forget(storeId)
  }
}
