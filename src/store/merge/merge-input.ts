// The input of a merge plan, and the order of two versions. The caller has compared the two heads
// (docs/FORMAT.md §6.4) and reads contents on request. Must not read git.

import type { CurrentVersion, LiveMemory } from '../snapshot/live-memory.ts'

export type VersionRef = Pick<CurrentVersion, 'versionId'>

/** A memory of which each parent has a version that does not descend from the other's. */
export interface OpenMemory {
  readonly memoryId: string
  /** The version at the parent that the merge is made on: the base of the row. */
  readonly ours: CurrentVersion
  /** The version at the other parent: the second base of the row. */
  readonly theirs: CurrentVersion
  /** The version that both descend from; undefined without one. */
  readonly base: BaseState | undefined
}

export interface BaseState {
  /** Undefined once redacted. */
  readonly path: string | undefined
  /** SHA-256 of the content, 64 hex digits; undefined for a deletion and once redacted. */
  readonly sha256: string | undefined
  /** Undefined once redacted. Called at most once. */
  readonly content: () => string | undefined
}

export interface MergeInput {
  readonly open: readonly OpenMemory[]
  /** Live memories that only one parent changed or created, as that parent has them. */
  readonly changed: readonly LiveMemory[]
  /**
   * Whether a memory of `changed` must not change: only our side changed it, and there may be
   * more of those than a commit has rows. Then those of theirs give way, whichever is older.
   */
  readonly isFixed: (memoryId: string) => boolean
  /** Whether either parent has a memory at, above or below a path. */
  readonly isOccupied: (path: string) => boolean
  /** The decrypted content of a live memory of either parent. */
  readonly readContent: (memory: LiveMemory) => string
  /** The path in the detail of an open version that is not live; undefined once redacted. */
  readonly readPath: (version: CurrentVersion) => string | undefined
  /** Whether `a` was written after `b`: by the time of its record, then by the record's hash. */
  readonly isLater: (a: VersionRef, b: VersionRef) => boolean
  /** Bytes by the settings in force after the merge; rows by the format, fewer in tests. */
  readonly limits: { readonly contentBytes: number; readonly rows?: number | undefined }
}

/** Older first, the same on every machine: versions of one commit are ordered by their ids. */
export function inOrder<Version extends VersionRef>(
  a: Version,
  b: Version,
  isLater: MergeInput['isLater'],
): readonly [older: Version, newer: Version] {
  if (isLater(a, b)) return [b, a]
  return isLater(b, a) || a.versionId < b.versionId ? [a, b] : [b, a]
}
