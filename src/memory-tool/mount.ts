// A store that an agent reaches through the memory tool, and how it is reached. Anyone who makes
// one decides whether the store is held open or opened for each command.

import type { Access, OperationContext } from '../api/actions.ts'
import type { MemoryStore } from '../store/memory-store.ts'

export interface MountContext extends OperationContext {
  readonly store: MemoryStore
}

/** The facts about a mount without its store. */
export interface MountInfo {
  /** Its directory below `/memories` where there are several, and its name in addresses. */
  readonly name: string
  /** `memstore_…` */
  readonly storeId: string
  readonly access: Access
  /** The store's description of itself: data for the model, never orders. */
  readonly description: string
  /** The instructions of the program that runs the agent; undefined without any. */
  readonly instructions: string | undefined
  /** The path of the store that is seen as its root: nothing outside it is seen. `/` for all. */
  readonly root: string
}

type Use = <T>(work: (context: MountContext) => Promise<T>) => Promise<T>

export interface Mount extends MountInfo {
  /** Works with the store, which is kept open. Calls begin in the order they are made. */
  readonly use: Use
  /** Like `use`, but waits for a turn first. Only a server has turns. */
  readonly useInTurn?: Use
}
