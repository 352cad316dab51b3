// What subscriptions report: memories that were created, changed, moved or deleted by this process,
// by others, and by syncs. Sends addresses only, never texts. In the protocol of 2026 its library
// holds the subscriptions and drops notifications without a subscriber.

import type { Server } from '@modelcontextprotocol/server'
import type { Mount } from '../memory-tool/mount.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { StoreChange } from '../store/watch.ts'
import { uriOf } from './protocol.ts'

export interface ListeningClient {
  /** Undefined until the client has chosen a protocol with subscriptions. */
  readonly server: () => Server | undefined
  /** For a client of 2025: the only addresses that it is told. */
  readonly subscribed: () => ReadonlySet<string> | undefined
  /** Resolves when the client has read all notifications. */
  readonly drained: () => Promise<void>
  /** Told of faults of a store or the machine. */
  readonly tell: (error: unknown) => void
  readonly signal: AbortSignal
}

/** Reports every change after this call, until the signal. */
export function notifyOfChanges(mounts: readonly Mount[], client: ListeningClient): void {
  for (const mount of mounts) {
    mount
      .use(({ store }) => follow(store, mount, client))
      .catch((error: unknown) => {
        if (!client.signal.aborted) client.tell(error)
      })
  }
}

async function follow(store: MemoryStore, mount: Mount, client: ListeningClient): Promise<void> {
  const { server, drained, signal } = client
  const changes = store.watch({ signal })
  const known = new KnownPaths(mount.root)
  await known.load(store)
  for await (const change of changes) {
    const { paths, isListChanged } = await known.apply(store, change)
    await drained()
    if (signal.aborted) return
    const subscribed = client.subscribed()
    for (const path of paths) {
      const uri = uriOf(mount, path)
      if (subscribed?.has(uri) !== false) await server()?.sendResourceUpdated({ uri })
    }
    if (isListChanged && subscribed === undefined) await server()?.sendResourceListChanged()
  }
}

/** What changed for a client that sees a mount. */
export interface Affected {
  /** Of memories that were created, changed or deleted there, or moved from or to there. */
  readonly paths: readonly string[]
  readonly isListChanged: boolean
}

/** The paths of a mount by memory: a version that moves a memory names only the new path. */
export class KnownPaths {
  readonly #root: string
  #known: Map<string, KnownMemory> = new Map()

  constructor(root: string) {
    this.#root = root
  }

  /** What differs from the state known before. */
  async load(store: MemoryStore): Promise<Affected> {
    const before = this.#known
    const now = new Map<string, KnownMemory>()
    for (const { memoryId, path, versionId } of await store.current()) {
      if (this.#isSeen(path)) now.set(memoryId, { path, versionId })
    }
    this.#known = now
    const ids = new Set([...before.keys(), ...now.keys()])
    const changed = [...ids].flatMap((id) => {
      const [old, young] = [before.get(id), now.get(id)]
      return old?.versionId === young?.versionId ? [] : [[old?.path, young?.path] as const]
    })
    const paths = changed.flat().filter((path) => path !== undefined)
    return {
      paths: [...new Set(paths)],
      isListChanged: changed.some(([from, to]) => from !== to),
    }
  }

  async apply(store: MemoryStore, change: StoreChange): Promise<Affected> {
    // A redacted version does not tell where its memory was.
    if (change.type === 'resync' || change.path === undefined) {
      const before = this.#paths
      await this.load(store)
      return { paths: [...new Set([...before, ...this.#paths])], isListChanged: true }
    }
    const { memoryId, versionId, operation, path } = change
    const from = this.#known.get(memoryId)?.path
    const isHere = this.#isSeen(path)
    const to = isHere && operation !== 'deleted' ? path : undefined
    if (to === undefined) this.#known.delete(memoryId)
    else this.#known.set(memoryId, { path: to, versionId })
    const paths = [...new Set([from, isHere ? path : undefined])].filter((one) => one !== undefined)
    // The paths may have been loaded after this change, and contain it.
    const isListChanged = from !== to || (isHere && operation !== 'modified')
    return { paths, isListChanged }
  }

  get #paths(): readonly string[] {
    return Array.from(this.#known.values(), ({ path }) => path)
  }

  #isSeen(path: string): boolean {
    return this.#root === '/' || path.startsWith(`${this.#root}/`)
  }
}

interface KnownMemory {
  readonly path: string
  readonly versionId: string
}
