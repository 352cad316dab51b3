// The stores that are open: each is opened for the first who needs it, and closed when nobody has
// needed it for a while.

/**
 * @typedef {import('gitlocket').MemoryStore} MemoryStore
 * @typedef {{ store: Promise<MemoryStore>, users: number, idle?: NodeJS.Timeout }} Entry
 */

export class OpenStores {
  /** @type {Map<string, Entry>} */
  #entries = new Map()
  #open
  #idleMs

  /**
   * @param {(tenant: string) => Promise<MemoryStore>} open
   * @param {number} idleMs
   */
  constructor(open, idleMs) {
    this.#open = open
    this.#idleMs = idleMs
  }

  /**
   * Runs `work` with the store of a tenant, which stays open meanwhile.
   * @template T
   * @param {string} tenant
   * @param {(store: MemoryStore) => Promise<T>} work
   */
  async use(tenant, work) {
    const entry = this.#entries.get(tenant) ?? this.#start(tenant)
    clearTimeout(entry.idle)
    entry.users += 1
    try {
      return await work(await entry.store)
    } finally {
      entry.users -= 1
      if (entry.users === 0) entry.idle = setTimeout(() => this.#end(tenant, entry), this.#idleMs)
    }
  }

  /** Closes all of them, when nobody uses one any more. */
  async close() {
    await Promise.all([...this.#entries].map(([tenant, entry]) => this.#end(tenant, entry)))
  }

  /** @param {string} tenant */
  #start(tenant) {
    /** @type {Entry} */
    const entry = { store: this.#open(tenant), users: 0 }
    this.#entries.set(tenant, entry)
    // One that cannot be opened is not kept: the next who needs it tries again.
    entry.store.catch(() => this.#entries.delete(tenant))
    return entry
  }

  /**
   * Whoever comes while it closes opens the store anew: it may be open more than once.
   * @param {string} tenant
   * @param {Entry} entry
   */
  async #end(tenant, entry) {
    clearTimeout(entry.idle)
    if (this.#entries.get(tenant) === entry) this.#entries.delete(tenant)
    const store = await entry.store.catch(() => undefined)
    await store?.close().catch(console.error)
  }
}
