// Where a commit stands among those that were verified before it, beyond what a snapshot of its
// parent says.

import type { ParentHead } from '../access/keyring-change.ts'
import type { OtherParent } from '../commits/commit-context.ts'
import type { OpenVersions } from '../commits/divergence.ts'

export interface MergeContext {
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
