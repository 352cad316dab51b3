// What changed of who may read and write, where two sides of a merge meet.

import type { RaisedRole } from '../../format/directory-join.ts'
import type { Head, KeyringState } from '../snapshot/snapshot.ts'

/** Neither knows of the other; in the order of the parents that have them in force. */
export type TwoKeyrings = readonly [first: KeyringState, second: KeyringState]

/** Who changed a keyring, and whether that gave anybody a right or a way in. */
export interface KeyringChange {
  readonly authorId: string
  /** Of the recovery entries by which the author did it; none of a device. 32 hex digits each. */
  readonly slotIds: readonly string[]
  readonly givesRights: boolean
  readonly raised: readonly RaisedRole[]
}

export interface ParentHead {
  readonly head: Head
  readonly authorId: string
  /** What keyring records did that are in its past and not in that of the other parent. */
  readonly keyringChanges: readonly KeyringChange[]
}
