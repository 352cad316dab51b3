// The port for the place where a host keeps its stores, its records, and the notes about stores
// that a crash left unfinished. A data directory is one kind (data-directory.ts); a database that
// several servers share is another. Decides nothing about stores: `hosted-stores.ts` does.

import type { Progress } from '../async.ts'
import type { CacheBudget } from '../cache-budget.ts'
import type { Clock } from '../clock.ts'
import type { Random } from '../crypto/random.ts'
import { StoreError } from '../errors.ts'
import { encodeBase32 } from '../format/base32.ts'
import type { Identity } from '../keys/identity.ts'
import type { CreateOptions } from '../store/create.ts'
import type { CacheOwner } from '../store/local/sealed-cache.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { StoreEnvironment, StorePlaces } from '../store/session/open-options.ts'
import type { HostRecords, Lists, ReadList, RecordTables } from './host-records.ts'

/** About the server itself, or about a store of it, by its id: for people who run it. */
export interface HostNotice {
  readonly about: string
  readonly error: unknown
}

export type RecordsRole = 'catalogue' | 'credentials'

export interface RecordsOptions<T> {
  readonly role: RecordsRole
  readonly tables: RecordTables<T>
  /** The records of a host that never had any. */
  readonly first: () => Lists<T>
  /** They are newer than this generation: that of the backup which they are from. */
  readonly firstAbove?: number | undefined
  readonly notice: (notice: HostNotice) => void
  /** Accepts once an older state that was put back. */
  readonly acceptRolledBack: boolean
}

/**
 * What happens to a store while its state and the catalogue may differ. `making` and `erasing` may
 * look the same: the catalogue tells, which lists a store that was made, and none that is erased.
 */
export type UnfinishedState = 'making' | 'erasing' | 'changed'

export interface Unfinished {
  /** `memstore_…` */
  readonly storeId: string
  readonly state: UnfinishedState
}

/** Work for one server at a time, of all that share a backend. */
export type HostJob = 'sweep' | 'sync'

/** Work that waits until no other process of a backend is at the same. */
export type HostClaim = 'stores' | 'rotation'

/** How a store is opened. */
export interface StoreUse {
  readonly progress?: Progress
  readonly signal?: AbortSignal
  /** What its caches may hold, together with those of other stores. */
  readonly cacheBudget?: CacheBudget
  /** Accepts once a store that was restored to an older state. */
  readonly acceptRolledBack?: boolean
}

export type NewStoreOptions = Omit<CreateOptions, keyof StorePlaces>

export interface HostBackend {
  readonly clock: Clock
  readonly random: Random
  /** Seals what belongs to no store, such as cursors. */
  readonly owner: CacheOwner
  /** How often a server looks for the unfinished work of dead ones; undefined: when it starts. */
  readonly sweepEveryMs: number | undefined

  /** Makes missing places. */
  make(): Promise<void>
  /** Whether the lists of a host are here, other things, or nothing. */
  contents(): Promise<'host' | 'other' | 'nothing'>
  /**
   * Runs `work`, which restores a host, where nothing is yet. If it fails, all of it is removed. No
   * server starts here before it has ended. Throws `invalid_input` if something is here, unless
   * that is what a process left which died at the same work: then it is removed first.
   */
  fill<T>(notice: (notice: HostNotice) => void, work: () => Promise<T>): Promise<T>
  /**
   * Becomes a server of the backend until the result is called. Throws `locked` if another process
   * is one, unless several may be.
   */
  serve(notice: (notice: HostNotice) => void): Promise<() => Promise<void>>
  /**
   * Whether requests can be served now. Throws `upgrade_required` if other servers write what this
   * release cannot read, or a storage code.
   */
  ready(): Promise<void>
  /** Called while no work of this process runs, after all else. */
  close(): Promise<void>

  /** Throws `rolled_back`, `wrong_key`, `upgrade_required` or a storage code. */
  openRecords<T extends object>(options: RecordsOptions<T>): Promise<HostRecords<T>>

  /**
   * All stores that are here, also those that are being made, each with a text that differs after
   * every change of its head, and perhaps more often. Opens none of them.
   */
  heads(): Promise<ReadonlyMap<string, string>>
  /** Opens the store of this id, and refuses any other in its place. */
  openStore(storeId: string, use?: StoreUse): Promise<MemoryStore>
  /** `reserve` learns the new id before anything of the store is kept. */
  createStore(
    options: NewStoreOptions,
    reserve: (storeId: string) => Promise<void>,
  ): Promise<MemoryStore>
  /** Erases the store, its caches, its state outside, and its marks: all that exist. */
  eraseStore(storeId: string): Promise<void>
  /** Writes a complete copy of a store to the absent directory `to`: a bare repository. Durable. */
  copyStore(storeId: string, to: string): Promise<void>
  /** Makes the store of this id from such a copy. */
  restoreStore(storeId: string, from: string): Promise<void>
  /** Without opening the store: most have no remote. */
  hasRemote(storeId: string): Promise<boolean>

  /** Durable before it resolves, and after a crash in `unfinished`. */
  mark(storeId: string, state: UnfinishedState): Promise<void>
  /** Removes the mark, durably: with an older catalogue, it would have the store erased. */
  settle(storeId: string, state: UnfinishedState): Promise<void>
  /** The stores that no living process works at, though they have a mark. */
  unfinished(): Promise<readonly Unfinished[]>
  /**
   * Runs `work` while no other process is at the same: `stores` makes a store next to a server, or
   * erases marked ones. Throws `locked`.
   */
  hold<T>(claim: HostClaim, work: () => Promise<T>): Promise<T>
  /** Runs `work`, unless another server is at the same job; then it does nothing. */
  runJob(job: HostJob, work: () => Promise<void>): Promise<void>
}

/** A store in a directory, as the old device has it. */
export type RotatingPlace = StoreEnvironment & StorePlaces

/** A backend whose identity can be replaced. */
export interface RotatingBackend extends HostBackend {
  /** Runs `work` while no server runs. Throws `locked` if one does. */
  withoutServers<T>(notice: (notice: HostNotice) => void, work: () => Promise<T>): Promise<T>
  /**
   * Makes a store that of the identity `next`. `change` works on it, or on a copy of it that then
   * becomes the store. Nothing of it remains sealed for the identity of this backend.
   */
  rotateStore(
    storeId: string,
    next: Identity,
    change: (place: RotatingPlace) => Promise<void>,
  ): Promise<void>
  /**
   * Seals a list for the identity of this backend, in place of the same list that another one had
   * sealed. Throws `locked` if that has changed since it was read.
   */
  takeRecords<T extends object>(
    role: RecordsRole,
    tables: RecordTables<T>,
    list: ReadList<T>,
  ): Promise<void>
}

export function notEmptyError(): StoreError {
  return new StoreError('invalid_input', 'The directory or database to copy to must be empty')
}

/** For the lists and databases of servers from before format 1 was frozen. */
export function unreleasedHostError(what: string): StoreError {
  return new StoreError(
    'upgrade_required',
    `${what}: made by a release from before format 1 was frozen; \`export\` the memories of each ` +
      'store with that release, and `import` them into new stores',
  )
}

const ID_BYTES = 16
/** 26 digits of base32 have 130 bits: the first two are zero. */
const LEADING_ZEROS = 2

/**
 * The public id of a key, workspace or session, in the form of FORMAT §1.1, so that one can be the
 * actor of a record (§1.2).
 */
export function newId(
  { random }: Pick<HostBackend, 'random'>,
  prefix: 'wrkspc_' | 'apikey_' | 'sesn_',
): string {
  return prefix + encodeBase32(random(ID_BYTES), LEADING_ZEROS)
}
