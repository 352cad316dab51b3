// A commit as an auditor checks it, who holds A and not C (FORMAT §4): record, signatures and the
// ids of blobs in trees, but neither details nor contents. The trees still show which memories are
// live, and that only those changed which the rows name.

import { assert, StoreError } from '../../errors.ts'
import type { ChangeRecord } from '../../format/change-record.ts'
import { verifyRecordSignature } from '../../format/record.ts'
import { findTreeEntry, type Oid } from '../../git/objects/object.ts'
import type { AuditKeys } from '../../keys/epoch.ts'
import type { CommitSource, DecodedCommit } from '../commits/decoded-commit.ts'
import { getTreeBody } from '../snapshot/git-reads.ts'
import { findBlob } from '../snapshot/memory-tree.ts'
import type { CheckedCommit, OpenedRow } from './checked-commit.ts'

export class TrailCommit implements CheckedCommit {
  readonly oid: Oid
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly epoch: AuditKeys
  readonly isWhole: boolean = false
  readonly record: ChangeRecord
  readonly body: Uint8Array
  readonly hash: Uint8Array
  readonly #source: CommitSource
  readonly #signature: Uint8Array

  constructor(source: CommitSource, commit: DecodedCommit<AuditKeys>) {
    const { oid, parts, epoch, record, body, signature, hash } = commit
    this.oid = oid
    this.tree = parts.tree
    this.parents = parts.parents
    this.epoch = epoch
    this.record = record
    this.body = body
    this.hash = hash
    this.#source = source
    this.#signature = signature
  }

  checkSignature(publicKey: Uint8Array): void {
    verifyRecordSignature(this.epoch, this.body, this.#signature, publicKey)
  }

  /** Always false: an auditor cannot open details (see `isWhole`). */
  hasDetail(): boolean {
    return false
  }

  /** The memory's id takes the place of its path: it is unique and never changes. */
  openRow(index: number): OpenedRow {
    const row = this.record.rows[index]
    assert(row !== undefined, 'a row of the record is opened')
    const path = `/${row.memoryId}`
    if (row.operation === 'deleted') return { path, memory: undefined }
    const { objects } = this.#source
    const memories = findTreeEntry(getTreeBody(objects, this.tree), '40000', 'm')
    const blob = memories === undefined ? undefined : findBlob(objects, memories, row.memoryId)
    if (blob === undefined) throw new StoreError('tree_mismatch', 'The tree lacks a memory')
    return { path, memory: { blob, size: 0, sha256: '', created: 0 } }
  }
}
