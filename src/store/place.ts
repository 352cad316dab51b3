// Where a commit stands among those that were verified before it, beyond what a snapshot of its
// parent says.

import type { RaisedRole } from '../format/directory-join.ts'
import type { OtherParent } from './commit.ts'
import type { OpenVersions } from './divergence.ts'
import type { Head, KeyringState } from './snapshot.ts'

/** Neither knows of the other; in the order of the parents that have them in force. */
export type TwoKeyrings = readonly [first: KeyringState, second: KeyringState]

/** Who changed a keyring, and whether that gave anybody a right or a way in. */
export interface KeyringChange {
  readonly authorId: string
  readonly givesRights: boolean
  readonly raised: readonly RaisedRole[]
}

export interface Place {
  /** Of a commit with two parents that are verified, neither an ancestor of the other. */
  readonly merging?: Merging | undefined
  /** Whether a version was verified, but is not in the past of the commit. */
  isElsewhere(versionId: string): boolean
}

/** `ours` is the snapshot's side of a merge, `theirs` the other parent's. */
export interface Merging {
  readonly other: OtherParent
  /** By memory id. */
  readonly open: ReadonlyMap<string, OpenVersions>
  /** By ascending record hash. */
  readonly parents: readonly ParentHead[]
  readonly isOursFirst: boolean
}

export interface ParentHead {
  readonly head: Head
  readonly authorId: string
  /** What keyring records did that are in its past and not in that of the other parent. */
  readonly keyringChanges: readonly KeyringChange[]
}
