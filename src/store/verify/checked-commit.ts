// A commit as verification sees it, opened by this thread, by a worker, or for an auditor, who
// reads no contents.

import type { ChangeRecord } from '../../format/change-record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { AuditKeys } from '../../keys/epoch.ts'
import type { DecodedCommit } from '../commits/decoded-commit.ts'

/** A memory in the tree of the commit that wrote it. An auditor sees only the blob id. */
export interface OpenedMemory {
  readonly blob: Oid
  /** Bytes of UTF-8. */
  readonly size: number
  /** SHA-256 of the content, 64 hex digits. */
  readonly sha256: string
  readonly created: number
}

/** A row with its detail, which matches the record's commitment. */
export interface OpenedRow {
  readonly path: string
  /** Undefined for a deletion. */
  readonly memory: OpenedMemory | undefined
}

/** The parts of a commit with canonical bytes, a valid group signature and a well-formed record. */
export interface CommitFacts {
  readonly oid: Oid
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly epoch: AuditKeys
  readonly record: ChangeRecord
  /** The encoded record, which the author signed, and its hash. */
  readonly body: Uint8Array
  readonly hash: Uint8Array
}

/** Its methods throw when called, so that no error code depends on which thread checked first. */
export interface CheckedCommit extends CommitFacts {
  /** Whether details and contents are checked too; false for an auditor. */
  readonly isWhole: boolean
  /** Checks the author's signature. Throws `device_signature_invalid`. */
  checkSignature(publicKey: Uint8Array): void
  /** Whether the row has a detail. Throws if the detail as a whole is malformed. */
  hasDetail(row: number): boolean
  /** The row's detail and memory. Throws a `detail_`, `memory_`, `envelope_` or git code. */
  openRow(row: number): OpenedRow
}

export function factsOf(commit: DecodedCommit<AuditKeys>): CommitFacts {
  const { oid, parts, epoch, record, body, hash } = commit
  return { oid, tree: parts.tree, parents: parts.parents, epoch, record, body, hash }
}
