// A store that an agent reaches through the memory tool, and how it is reached. Anyone who makes
// one decides whether the store is held open or opened for each command.

import { hasCode, StoreError } from '../errors.ts'
import { mountNames } from '../hosting/mount-names.ts'
import { sessionStoresMax } from '../limits.ts'
import { checkNewStorePath } from '../operations/actions.ts'
import type { Access, OperationContext } from '../operations/operation.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { StoreHandle } from '../store/store-handle.ts'
import type { StoreWriter } from '../store/store-writer.ts'
import { isHidden } from './render.ts'

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

/** Calls begin in the order they are made. */
export type Use<Context> = <T>(work: (context: Context) => Promise<T>) => Promise<T>

/** What the commands of the memory tool need. */
export interface ToolContext extends OperationContext {
  readonly store: StoreHandle
}

/** What other tools need: a store with all that it can. */
export interface MountContext extends ToolContext {
  readonly store: MemoryStore
  readonly me: StoreWriter
}

/** A mount that the memory tool can work with. */
export interface ToolMount extends MountInfo {
  /** Works with the store, which is kept open. Calls begin in the order they are made. */
  readonly use: Use<ToolContext>
}

export interface Mount extends ToolMount {
  readonly use: Use<MountContext>
  /** Like `use`, but waits for a turn first. Only a server has turns. */
  readonly useInTurn?: Use<MountContext>
  /**
   * Works with the store for as long as it is open; resolves if it was closed to make room, and may
   * be called again then. Left out where nothing but its owner closes a store.
   */
  readonly follow?: (work: (store: MemoryStore) => Promise<void>) => Promise<void>
}

/** Throws `invalid_input`. */
export function checkMounts(mounts: readonly Pick<MountInfo, 'name' | 'storeId'>[]): void {
  const ids = new Set(mounts.map(({ storeId }) => storeId))
  if (mounts.length === 0 || mounts.length > sessionStoresMax || ids.size < mounts.length) {
    throw invalid(`There must be 1 to ${sessionStoresMax} stores, each of them once`)
  }
  for (const { name } of mounts) checkMountName(name)
  if (new Set(mounts.map(({ name }) => mountKey(name))).size < mounts.length) {
    throw invalid('Stores must have mounts of different names, also if case is ignored')
  }
}

/** One segment of a path that listings show. Throws `invalid_input`. */
export function checkMountName(name: unknown): string {
  if (typeof name !== 'string' || name === '' || name.includes('/') || isHidden(name))
    throw noName()
  try {
    checkNewStorePath(`/${name}`)
    return name
  } catch (error) {
    throw hasCode(error, 'invalid_path') ? noName() : error
  }
}

/** The names that are given, and for the other stores names made of what these are called. */
export function chooseNames(
  stores: readonly {
    readonly storeId: string
    readonly name: string
    readonly mount: string | undefined
  }[],
): readonly string[] {
  const taken = stores.flatMap(({ mount }) => (mount === undefined ? [] : [mountKey(mount)]))
  const others = stores.filter(({ mount }) => mount === undefined)
  const made = mountNames(others, taken)
  return stores.map((store) => store.mount ?? made[others.indexOf(store)] ?? store.storeId)
}

/** Equal for names that differ in case alone. */
function mountKey(name: string): string {
  return name.toUpperCase().toLowerCase()
}

function noName(): StoreError {
  const rule = 'one segment of a path, which does not begin with a dot and is not node_modules'
  return invalid(`The name of a mount must be ${rule}`)
}

function invalid(message: string): StoreError {
  return new StoreError('invalid_input', message, { details: { parameter: 'mount' } })
}
