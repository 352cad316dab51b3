// The report of a repair. Holds types only.

import type { StoreError } from '../../errors.ts'
import type { RecordKind } from '../../format/change-record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Damage } from '../../git/repair/repository-survey.ts'

export interface RepairReport {
  /** `memstore_…`; undefined if nothing readable names the store. */
  readonly storeId: string
  /** Whether the store needed no repair; nothing was changed then. */
  readonly sound: boolean
  /** Whether the store is complete now: its history verifies, and nothing known is missing. */
  readonly whole: boolean
  readonly damages: readonly Damage[]
  readonly head: { readonly commit: Oid; readonly height: number }
  /** The number of objects that were written into new packs: read here, and from the copy. */
  readonly saved: { readonly here: number; readonly elsewhere: number }
  /** The number of objects listed again in place of a damaged list: a checkpoint erases them. */
  readonly toErase: number
  /** The directory in the store with the damaged files; undefined if none was moved. */
  readonly aside: string | undefined
  /** Remotes treated as never seen, since the commit that they had is lost. */
  readonly forgotten: readonly string[]
  /** Known changes that are not in the history, newest first. */
  readonly detached: readonly LostChange[]
  /** Objects of the history that neither this store nor the copy has. */
  readonly missing: readonly LostObject[]
  /** Why the history does not verify; undefined if it does. */
  readonly verdict: StoreError | undefined
  readonly anchor: AnchorFate
  /** A head of the copy that the history does not contain: a sync takes it over. */
  readonly unmerged: Oid | undefined
}

/**
 * `kept`: the anchor is unchanged, and the head contains what it names. `none`: there is no anchor,
 * so a rollback of the store would not be noticed. `renewed`: it was damaged, and a new one names
 * the verified head. `damaged`: the head does not verify, so no new one was made. `behind`: the
 * store is older than what it names.
 */
export type AnchorFate = 'kept' | 'none' | 'renewed' | 'damaged' | 'behind'

export interface LostChange {
  readonly commit: Oid
  /** This and the next fields are undefined for a commit that cannot be opened. */
  readonly kind: RecordKind | undefined
  readonly time: number | undefined
  /** `device_…`. */
  readonly deviceId: string | undefined
  /** The paths of the memories that it changed; empty once redacted. */
  readonly paths: readonly string[]
}

export interface LostObject {
  readonly oid: Oid
  readonly type: 'commit' | 'tree' | 'blob'
  /** The oldest commit that names it. */
  readonly commit: Oid
  readonly time: number | undefined
  /** The path of the memory of a blob; undefined if unknown, and for other objects. */
  readonly path: string | undefined
}
