// The types with which a merge compares the keyring records of its two sides. Holds types only.

import type { RaisedRole } from '../../format/directory-join.ts'
import type { AdmittedBy, RecoveryEntry } from '../../format/directory.ts'
import type { Head, KeyringState } from '../snapshot/snapshot.ts'

/** Two concurrent keyrings (FORMAT §7.2), in the order of the parents that have them in force. */
export type TwoKeyrings = readonly [first: KeyringState, second: KeyringState]

/** One keyring record: its author, and whom it adds, raises or removes. */
export interface KeyringChange {
  readonly authorId: string
  /** The devices that the directory before does not have; none in a join. */
  readonly added: readonly string[]
  /** The ids (FORMAT §1) of the recovery keys that it adds: anybody may repeat a slot id. */
  readonly addedKeys: readonly string[]
  /** Those of the added devices that it makes owners. */
  readonly addedOwners: readonly string[]
  /** The devices that no directory before has as removed. */
  readonly removes: readonly string[]
  /** The entry of a recovery identity in the directory before; undefined for a device. */
  readonly recovery: RecoveryEntry | undefined
  /** Who set the role of a device in the directory before; undefined for a recovery identity. */
  readonly roleBy: AdmittedBy | undefined
  /** Whether it joins two keyrings: its directory follows from both. */
  readonly isJoin: boolean
  readonly raised: readonly RaisedRole[]
}

export interface ParentHead {
  readonly head: Head
  /** Whether it is late with respect to the other parent (FORMAT §7.4). */
  readonly isLate: boolean
  /** The changes by keyring records that are in its past and not in that of the other parent. */
  readonly keyringChanges: readonly KeyringChange[]
}
