// The changes of a store for all HTTP clients that subscribe to it: one watch and one list of
// paths, from the first client on until the last has left. A server may close the store to make
// room; it is opened again after a pause, and what changed in between is told then.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Mount } from '../memory-tool/mount.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { type Affected, KnownPaths } from './subscriptions.ts'

export interface FeedListener {
  readonly changed: (affected: Affected) => void
  /** Nothing more is told: the store was deleted or closed, or cannot be read. */
  readonly ended: (error: unknown) => void
}

/** How often other processes' changes are looked for. */
const INTERVAL_MS = 500
/** Before a store is opened again that was closed to make room: longer each time. */
const PAUSE_MS = 500
const PAUSE_MAX_MS = 60_000

type FollowedMount = Pick<Mount, 'root' | 'storeId' | 'use' | 'follow'>

export class Feeds {
  readonly #feeds = new Map<string, Feed>()

  /**
   * Resolves to the function that ends it, once every later change is told. Throws what opening the
   * store throws.
   */
  async join(source: FollowedMount, listener: FeedListener): Promise<() => void> {
    const { storeId } = source
    const feed = this.#feeds.get(storeId) ?? new Feed(source, (ended) => this.#forget(ended))
    this.#feeds.set(storeId, feed)
    await feed.join(listener)
    return () => feed.leave(listener)
  }

  #forget(feed: Feed): void {
    const { storeId } = feed.source
    if (this.#feeds.get(storeId) === feed) this.#feeds.delete(storeId)
  }
}

class Feed {
  readonly source: FollowedMount
  readonly #forget: (feed: Feed) => void
  readonly #known: KnownPaths
  readonly #listeners = new Set<FeedListener>()
  readonly #ending = new AbortController()
  readonly #begun: Promise<void>
  #pauseMs = PAUSE_MS
  #hasBegun = false

  constructor(source: FollowedMount, forget: (feed: Feed) => void) {
    this.source = source
    this.#forget = forget
    this.#known = new KnownPaths(source.root)
    this.#begun = new Promise((resolve, reject) => {
      this.#run(resolve).then(resolve, reject)
    })
  }

  async join(listener: FeedListener): Promise<void> {
    this.#listeners.add(listener)
    try {
      await this.#begun
    } catch (error) {
      this.leave(listener)
      throw error
    }
  }

  leave(listener: FeedListener): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0) return
    this.#ending.abort()
    this.#forget(this)
  }

  async #run(begin: () => void): Promise<void> {
    const { signal } = this.#ending
    try {
      do {
        await this.#follow((store) => this.#tellChanges(store, begin))
        await sleep(this.#pauseMs, undefined, { signal })
        this.#pauseMs = Math.min(2 * this.#pauseMs, PAUSE_MAX_MS)
      } while (!signal.aborted)
    } catch (error) {
      if (signal.aborted) return
      this.#forget(this)
      for (const { ended } of this.#listeners) ended(error)
      throw error
    }
  }

  #follow(work: (store: MemoryStore) => Promise<void>): Promise<void> {
    const { follow, use } = this.source
    return follow === undefined ? use(({ store }) => work(store)) : follow(work)
  }

  async #tellChanges(store: MemoryStore, begin: () => void): Promise<void> {
    const { signal } = this.#ending
    const changes = store.watch({ signal, intervalMs: INTERVAL_MS })
    const affected = await this.#known.load(store)
    if (this.#hasBegun) this.#tell(affected)
    this.#hasBegun = true
    begin()
    for await (const change of changes) {
      this.#pauseMs = PAUSE_MS
      this.#tell(await this.#known.apply(store, change))
    }
  }

  #tell(affected: Affected): void {
    if (affected.paths.length === 0) return
    for (const { changed } of this.#listeners) changed(affected)
  }
}
