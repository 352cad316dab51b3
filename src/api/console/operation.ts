// What answers a question of the console: a schema of its input, and a function. Operations decide
// nothing that `MemoryStore` decides; they put together what a screen shows.

import type { z } from 'zod'
import type { WorkOptions } from '../../async.ts'
import type { Clock } from '../../clock.ts'
import type { MemoryStore } from '../../store/memory-store.ts'
import type { StoreWriter } from '../../store/store-writer.ts'
import type { SyncOptions } from '../../store/sync/options.ts'
import type { Access, Effect } from '../actions.ts'
import type { InputOf, QuestionName, ResultOf } from './contract.ts'

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
  /** As of `findResidue`, for what proves that a text is gone. */
  readonly textsOutside: () => readonly string[]
  readonly clock: Clock
  /** Of the request: its signal is aborted if the page no longer waits. */
  readonly work: WorkOptions
}

export interface ConsoleOperation<Name extends QuestionName, Context = ConsoleContext> {
  /** For a refusal: `the deletion of memories`. */
  readonly name: string
  readonly effect: Effect
  readonly input: z.ZodType<InputOf<Name>>
  readonly run: (context: Context, input: InputOf<Name>) => Promise<ResultOf<Name>>
}

/** All operations of a part of the contract. */
export type OperationsOf<Api, Context = ConsoleContext> = {
  readonly [Name in keyof Api & QuestionName]: ConsoleOperation<Name, Context>
}
