// A commit as verification sees it, whoever has opened it: this thread, another one, or an auditor
// who reads no contents.

import type { ChangeRecord } from '../../format/change-record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { AuditKeys } from '../../keys/epoch.ts'

/** A memory as the tree of the commit that wrote it holds it. An auditor sees the blob alone. */
export interface OpenedMemory {
  readonly blob: Oid
  /** Bytes of UTF-8. */
  readonly size: number
  /** SHA-256 of the content, 64 hex digits. */
  readonly sha256: string
  readonly created: number
}

/** A row whose detail is there and is the one that the record commits to. */
export interface OpenedRow {
  readonly path: string
  /** Undefined for a deletion. */
  readonly memory: OpenedMemory | undefined
}

/**
 * A commit with canonical bytes, a group signature and a well-formed record. Its methods refuse
 * when they are asked, so that the code of a refusal does not depend on who judged first.
 */
export interface CheckedCommit {
  readonly oid: Oid
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly epoch: AuditKeys
  /** Whether details and contents were judged, too: not by an auditor. */
  readonly isWhole: boolean
  readonly record: ChangeRecord
  /** What the author signed: the record, encoded. */
  readonly body: Uint8Array
  /** The record's hash. */
  readonly hash: Uint8Array
  /** The author's signature. Throws `device_signature_invalid`. */
  checkSignature(publicKey: Uint8Array): void
  /** Whether the detail of a row is there. Throws what is wrong with the detail as a whole. */
  hasDetail(row: number): boolean
  /** The row's detail and memory blob. Throws `detail_`, `memory_`, `envelope_` or a git code. */
  openRow(row: number): OpenedRow
}
