// The context of the operations that answer the console. They decide nothing that `MemoryStore`
// decides; they put together what a screen shows.

import type { WorkOptions } from '../../async.ts'
import type { Clock } from '../../clock.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { StoreWriter } from '../../store/store-writer.ts'
import type { SyncOptions } from '../../store/sync/options.ts'
import { type Access, operationsIn } from '../operation.ts'

/** The merges that the user of this device has looked at: a note, no part of the store. */
export interface SeenMerges {
  /** Version ids, `memver_…`. */
  readonly read: () => ReadonlySet<string>
  readonly mark: (versionIds: readonly string[]) => void
}

export interface ConsoleContext {
  readonly store: MemoryStore
  /** Writes in the name of the user of this console, with the reason of one change. */
  readonly writer: (reason?: string) => StoreWriter
  readonly access: Access
  readonly seen: SeenMerges
  /** How this machine may talk to remotes. */
  readonly remoteAccess: NonNullable<SyncOptions['access']>
  /** As of `findResidue`, for proofs that a text is erased. */
  readonly textsOutside: () => readonly string[]
  readonly clock: Clock
  /** Belongs to the request: its signal is aborted if the page no longer waits. */
  readonly work: WorkOptions
}

export const consoleOperation = operationsIn<ConsoleContext>()
