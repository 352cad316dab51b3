// What checking a commit needs to know of the commits verified before it, in addition to the
// snapshot of its parent.

import type { OtherParent } from '../commits/commit-context.ts'
import type { OpenVersions } from '../commits/divergence.ts'
import type { Head } from '../snapshot/snapshot.ts'

export interface MergeContext {
  /** Set for a commit with two verified parents, neither an ancestor of the other. */
  readonly merging?: Merging | undefined
  /** Whether a version was verified but is not in the past of the commit. */
  isElsewhere(versionId: string): boolean
}

/** `ours` is the snapshot's side of a merge, `theirs` the other parent's. */
export interface Merging {
  readonly other: OtherParent
  /** The memories that both sides changed, by memory id. */
  readonly open: ReadonlyMap<string, OpenVersions>
  /** In ascending order of the record hash. */
  readonly parents: readonly Head[]
  readonly isOursFirst: boolean
  /** Whether a parent is late, and who alone may merge these two (FORMAT §7.4). */
  readonly isLate: boolean
  readonly needsOwner: boolean
}
