// What a repair says when it is done. Types alone.

import type { StoreError } from '../../errors.ts'
import type { RecordKind } from '../../format/change-record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Damage } from '../../git/repair/repository-survey.ts'

export interface RepairReport {
  /** `memstore_…`; undefined if nothing readable says which store it is. */
  readonly storeId: string
  /** Whether there was nothing to mend; nothing was touched then. */
  readonly sound: boolean
  /** Whether the store is whole now: its history verifies, and nothing that is known is missing. */
  readonly whole: boolean
  readonly damages: readonly Damage[]
  readonly head: { readonly commit: Oid; readonly height: number }
  /** Objects that were put into new packs: read here, and from the copy. */
  readonly saved: { readonly here: number; readonly elsewhere: number }
  /** Objects of redacted versions that a damaged list has named: a checkpoint erases them. */
  readonly toErase: number
  /** Where in the store the damaged files are now; undefined if none was moved. */
  readonly aside: string | undefined
  /** Remotes that count as never seen, since the commit where they were is lost. */
  readonly forgotten: readonly string[]
  /** Changes that are known and could not be attached to the history, newest first. */
  readonly detached: readonly LostChange[]
  /** Objects of the history that nobody has. */
  readonly missing: readonly LostObject[]
  /** Why the history does not verify; undefined if it does. */
  readonly verdict: StoreError | undefined
  readonly anchor: AnchorFate
  /** Commits of the copy that are not here: a sync takes them over. */
  readonly unmerged: Oid | undefined
}

/**
 * `kept`: it is as it was, and the head contains what it names. `none`: there is none, so that
 * nothing tells whether the store was put back. `renewed`: it was damaged, and a new one names the
 * verified head. `damaged`: the head does not verify, so that no new one was made. `behind`: the
 * store is older than what it names.
 */
export type AnchorFate = 'kept' | 'none' | 'renewed' | 'damaged' | 'behind'

export interface LostChange {
  readonly commit: Oid
  /** The rest is undefined for a commit that cannot be opened. */
  readonly kind: RecordKind | undefined
  readonly time: number | undefined
  /** `device_…`. */
  readonly deviceId: string | undefined
  /** Of the memories that it changed; empty once redacted. */
  readonly paths: readonly string[]
}

export interface LostObject {
  readonly oid: Oid
  readonly type: 'commit' | 'tree' | 'blob'
  /** The oldest commit that names it. */
  readonly commit: Oid
  readonly time: number | undefined
  /** Of a blob: the memory whose version it is, as far as that can be told. */
  readonly path: string | undefined
}
