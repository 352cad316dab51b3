// The fields of commits and version rows in the history.

import type { Actor, Operation, RecordKind, RedactReason } from '../../format/change-record.ts'
import type { Oid } from '../../git/objects/object.ts'

/** The author of a commit, and the actor. */
export interface VersionAuthor {
  readonly deviceId: string
  readonly actor: Actor | undefined
  readonly session: string | undefined
}

/** A commit, with the fields that all its rows share. */
export interface CommitEntry {
  readonly oid: Oid
  /** Its index in the canonical order of the history; in a linear history its height. */
  readonly position: number
  readonly height: number
  /** Whether every commit before it is in its past; in a linear history always. */
  readonly isCut: boolean
  readonly kind: RecordKind
  readonly time: number
  readonly deviceId: string
  readonly actor: Actor | undefined
  readonly session: string | undefined
  readonly reason: RedactReason | undefined
  /** The versions that a redact record names. */
  readonly redacts: readonly string[]
  /** Free text given with a change, undefined if none or redacted. */
  readonly note: string | undefined
}

/** One version row. Path, size and hash are undefined once redacted. */
export interface VersionEntry {
  readonly versionId: string
  readonly memoryId: string
  readonly operation: Operation
  readonly base: string
  /** The other version that a merge combined; `zeroId` otherwise. */
  readonly secondBase: string
  /** The versions that `base` and `secondBase` name. */
  readonly bases: readonly VersionEntry[]
  readonly path: string | undefined
  readonly size: number | undefined
  readonly sha256: string | undefined
  readonly commit: CommitEntry
}

/** A commit without a position yet. */
export type NewCommit = Omit<CommitEntry, 'position' | 'isCut'>

export type VersionRow = Omit<VersionEntry, 'bases' | 'commit'>

/** The verified versions, for what a redaction may name (FORMAT §6.4). */
export interface KnownVersions {
  /** The memory of a version, undefined if there is no such version. */
  findMemory(versionId: string): string | undefined
  /** Adds a version of a record; throws `duplicate_record` if it was added before. */
  add(versionId: string, memoryId: string): void
}
