// What a server of many stores offers to the operations in api/: who is calling, which stores there
// are, and a store to work with.

import type { Actor } from '../format/change-record.ts'
import type { Settings } from '../format/settings.ts'
import type { Page } from '../page.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import type { StoreWriter } from '../store/store-writer.ts'

export type Access = 'read_write' | 'read_only'

/** The caller: an API key, or the session whose token was shown. */
export interface Caller {
  /** `{type: 'api', id: 'apikey_…'}` or `{type: 'session', id: 'sesn_…'}`. */
  readonly actor: Actor
  /** `wrkspc_…`: all that the caller can see belongs to it. */
  readonly workspaceId: string
  /** `apikey_…`: the key, or the one that made the session. For logs and limits. */
  readonly keyId: string
  /** For a session: the stores that it reaches, by `memstore_…`. Undefined for a key. */
  readonly attached: ReadonlyMap<string, Access> | undefined
  /** For a session: its program's instructions about these stores, by `memstore_…`. */
  readonly instructions: ReadonlyMap<string, string>
}

/** A store as the catalogue knows it: listing opens nothing. Times are ms since 1970. */
export interface HostedStore extends Pick<
  Settings,
  'name' | 'description' | 'metadata' | 'archivedAt'
> {
  /** `memstore_…` */
  readonly storeId: string
  readonly workspaceId: string
  readonly createdAt: number
  readonly updatedAt: number
}

export interface HostedStoreQuery {
  readonly includeArchived?: boolean | undefined
  /** Inclusive, ms. */
  readonly since?: number | undefined
  readonly until?: number | undefined
  readonly limit: number
  /** The `nextPage` of the page before. */
  readonly page?: string | undefined
}

/** A resource of a session, as it was attached. Wire names (Memory Stores API §10.6). */
export interface SessionResource {
  readonly type: 'memory_store'
  readonly memory_store_id: string
  readonly access: Access
  readonly instructions: string | null
  readonly name: string
  readonly description: string
  readonly mount_path: string
}

/** The token is returned here and nowhere else. */
export interface CreatedSession {
  readonly sessionId: string
  readonly token: string
  readonly expiresAt: number
  readonly resources: readonly SessionResource[]
}

export interface SessionRequest {
  readonly resources: readonly {
    readonly memory_store_id: string
    readonly access: Access
    readonly instructions: string | null
  }[]
  /** Seconds. */
  readonly expiresIn: number
}

/** Opaque cursors, which only this server can make and which survive its restart. */
export interface Cursors {
  /** `page_…`. `list` names the list and its filters: no other list takes the cursor. */
  seal(list: string, after: string): string
  /** The value of a sealed cursor. Throws `invalid_input` for any other text. */
  open(list: string, cursor: string): string
}

/** What the operator of the machine may, who can open every store anyway. */
export interface Operator {
  /** Of all workspaces, newest first. */
  stores(): readonly HostedStore[]
  /** Works with a store; the catalogue then knows its settings. Throws `not_found`. */
  use<T>(storeId: string, work: (store: MemoryStore) => Promise<T>): Promise<T>
}

export interface Host {
  readonly cursors: Cursors
  readonly operator: Operator
  /** Whose token it is; undefined for any that is unknown, revoked or expired. */
  authenticate(token: string): Caller | undefined
  /** Newest first; of one time, by id, the greatest first. A session sees its attached stores. */
  list(caller: Caller, query: HostedStoreQuery): Page<HostedStore>
  /** Throws `not_found`, also for a store of another workspace. */
  get(caller: Caller, storeId: string): HostedStore
  /** Resolves when store and catalogue are durable. */
  create(
    caller: Caller,
    settings: Pick<Settings, 'name' | 'description' | 'metadata'>,
  ): Promise<HostedStore>
  /** Erases the store and every trace of it. Throws `not_found`. */
  delete(caller: Caller, storeId: string): Promise<void>
  /** Changes settings, in the store and then in the catalogue. `change` must be pure. */
  updateSettings(
    caller: Caller,
    storeId: string,
    change: (now: Settings) => Partial<Settings>,
  ): Promise<HostedStore>
  /** Works with a store, which remains open in the meantime. `me` writes in the caller's name. */
  use<T>(
    caller: Caller,
    storeId: string,
    work: (store: MemoryStore, me: StoreWriter) => Promise<T>,
  ): Promise<T>
  /** Throws `not_found` for a store that the caller cannot see, `store_archived`. */
  createSession(caller: Caller, request: SessionRequest): Promise<CreatedSession>
  /** Throws `not_found`. Only the key that made the session, or another of its workspace. */
  endSession(caller: Caller, sessionId: string): Promise<void>
  close(): Promise<void>
}
