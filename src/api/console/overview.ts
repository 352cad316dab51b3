// What the frame of the page shows of a store, whatever the view is.

import { guardMetadataKey } from '../../store/guard/guard.ts'
import type { Conflict } from '../../store/history/conflicts.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { MemoriesApi } from './contract-memories.ts'
import { nothing } from './fields.ts'
import type { ConsoleOperation, OperationsOf } from './operation.ts'

/** Merges beyond it are found in the histories of their memories. */
export const mergesMax: number = 1000

const overview: ConsoleOperation<'store.overview'> = {
  name: 'the overview',
  effect: 'read',
  input: nothing,
  run: async ({ store, access, seen }) => {
    const status = await store.status()
    const { settings, remotes, deviceName = '' } = status
    const looked = seen.read()
    const merges = await mergesOf(store, status.head)
    return {
      storeId: status.storeId,
      name: settings.name,
      description: settings.description,
      audience: 'member',
      access,
      archivedAt: settings.archivedAt,
      deviceId: status.deviceId,
      deviceName,
      role: status.role,
      head: status.head,
      headFingerprint: status.headFingerprint,
      commits: status.commits,
      memories: status.memories,
      contentBytes: status.contentBytes,
      remotes: remotes.map(({ name, url, unsent }) => ({ name, url, unsent })),
      unseenMerges: merges.filter(({ versionId }) => !looked.has(versionId)).length,
      guard: Object.hasOwn(settings.metadata, guardMetadataKey),
    }
  },
}

export const overviewOperations: OperationsOf<Pick<MemoriesApi, 'store.overview'>> = {
  'store.overview': overview,
}

interface KnownMerges {
  readonly head: string
  readonly merges: Promise<readonly Conflict[]>
}

const known: WeakMap<MemoryStore, KnownMerges> = new WeakMap()

/** Newest first; looked for once for each head, since the whole history is. */
export function mergesOf(store: MemoryStore, head: string): Promise<readonly Conflict[]> {
  const last = known.get(store)
  if (last?.head === head) return last.merges
  const merges = store.history.conflicts({ limit: mergesMax })
  known.set(store, { head, merges })
  // The next one who asks looks again.
  merges.catch(() => known.delete(store))
  return merges
}
