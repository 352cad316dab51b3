// What `subscriptions/listen` reports: memories that were created, changed, moved or deleted by
// this process, by others, and by syncs. Sends addresses only, never texts. The protocol's library
// holds the subscriptions and drops notifications without a subscriber.

import type { Server } from '@modelcontextprotocol/server'
import type { Mount } from '../memory-tool/mount.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { StoreChange } from '../store/watch.ts'
import { uriOf } from './protocol.ts'

export interface ListeningClient {
  /** Undefined until the client has chosen a protocol with subscriptions. */
  readonly server: () => Server | undefined
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
  const known = new KnownPaths(store, mount.root)
  await known.load()
  for await (const change of changes) {
    const { paths, isListChanged } = await known.apply(change)
    await drained()
    if (signal.aborted) return
    for (const path of paths) await server()?.sendResourceUpdated({ uri: uriOf(mount, path) })
    if (isListChanged) await server()?.sendResourceListChanged()
  }
}

interface Affected {
  readonly paths: readonly string[]
  readonly isListChanged: boolean
}

/** The paths of a mount by memory: a version that moves a memory names only the new path. */
class KnownPaths {
  readonly #store: MemoryStore
  readonly #root: string
  #paths = new Map<string, string>()

  constructor(store: MemoryStore, root: string) {
    this.#store = store
    this.#root = root
  }

  async load(): Promise<void> {
    const memories = await this.#store.current()
    this.#paths = new Map(
      memories.flatMap(({ memoryId, path }) => (this.#isSeen(path) ? [[memoryId, path]] : [])),
    )
  }

  async apply(change: StoreChange): Promise<Affected> {
    const before = this.#paths
    // A redacted version does not tell where its memory was.
    if (change.type === 'resync' || change.path === undefined) {
      await this.load()
      return {
        paths: [...new Set([...before.values(), ...this.#paths.values()])],
        isListChanged: true,
      }
    }
    const { memoryId, operation, path } = change
    const from = before.get(memoryId)
    const isHere = this.#isSeen(path)
    const to = isHere && operation !== 'deleted' ? path : undefined
    if (to === undefined) this.#paths.delete(memoryId)
    else this.#paths.set(memoryId, to)
    const paths = [...new Set([from, isHere ? path : undefined])].filter((one) => one !== undefined)
    // The paths may have been loaded after this change, and contain it.
    const isListChanged = from !== to || (isHere && operation !== 'modified')
    return { paths, isListChanged }
  }

  #isSeen(path: string): boolean {
    return this.#root === '/' || path.startsWith(`${this.#root}/`)
  }
}
