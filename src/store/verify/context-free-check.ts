// The first half of FORMAT §8: every check of a commit that needs no other commit. Its result is a
// `CheckedCommit`, which a worker thread can compute too. The second half, verify-commit.ts, checks
// that against the past.

import { equalBytes, toHex } from '../../bytes.ts'
import { assert, type ErrorCode, StoreError } from '../../errors.ts'
import type { ChangeRecord, RecordRow } from '../../format/change-record.ts'
import { detailCommitment, type DetailRow } from '../../format/detail.ts'
import { memoryContext, openDeterministic } from '../../format/envelope.ts'
import { decodeMemoryBlob } from '../../format/memory-blob.ts'
import { writesVersions } from '../../format/record-rules.ts'
import { verifyRecordSignature, zeroHash } from '../../format/record.ts'
import { findTreeEntry, type GitObject, type Oid } from '../../git/objects/object.ts'
import { type AuditKeys, type EpochKeys, opensContents } from '../../keys/epoch.ts'
import {
  type CommitSource,
  type DecodedCommit,
  openDetail,
  readCommitBytes,
  verifyDecodedCommit,
} from '../commits/decoded-commit.ts'
import { getBlob, getTreeBody, type ObjectSource } from '../snapshot/git-reads.ts'
import { findBlob } from '../snapshot/memory-tree.ts'
import type { CheckedCommit, OpenedMemory, OpenedRow } from './checked-commit.ts'
import { TrailCommit } from './trail-commit.ts'

/** Reads and checks a commit in this thread. */
export function checkAlone(source: CommitSource, oid: Oid): CheckedCommit {
  const bytes = readCommitBytes(source.objects, oid)
  return checkDecodedAlone(source, verifyDecodedCommit(source.storeId, source.epochs, oid, bytes))
}

export function checkDecodedAlone(
  source: CommitSource,
  commit: DecodedCommit<AuditKeys>,
): CheckedCommit {
  const { epoch } = commit
  if (!opensContents(epoch)) return new TrailCommit(source, commit)
  const whole = new CommitAlone(source, { ...commit, epoch })
  const { record } = commit
  // The detail of a merge without rows must be well formed too, though no row reads it.
  if (writesVersions(record) && record.rows.length === 0) whole.hasDetail(0)
  return whole
}

class CommitAlone implements CheckedCommit {
  readonly oid: Oid
  readonly tree: Oid
  readonly parents: readonly Oid[]
  readonly epoch: EpochKeys
  readonly isWhole: boolean = true
  readonly record: ChangeRecord
  readonly body: Uint8Array
  readonly hash: Uint8Array
  readonly #source: CommitSource
  readonly #commit: DecodedCommit
  #details: ReadonlyMap<number, DetailRow> | undefined
  #trees: ObjectSource | undefined

  constructor(source: CommitSource, commit: DecodedCommit) {
    const { oid, parts, epoch, record, body, hash } = commit
    this.oid = oid
    this.tree = parts.tree
    this.parents = parts.parents
    this.epoch = epoch
    this.record = record
    this.body = body
    this.hash = hash
    this.#source = source
    this.#commit = commit
  }

  checkSignature(publicKey: Uint8Array): void {
    const { body, signature } = this.#commit
    const own = this.#source.identity?.signing
    verifyRecordSignature(this.epoch, body, signature, publicKey, own)
  }

  hasDetail(row: number): boolean {
    return this.#readDetails().has(row)
  }

  openRow(index: number): OpenedRow {
    const row = this.record.rows[index]
    const detail = this.#readDetails().get(index)
    assert(row !== undefined && detail !== undefined, 'a row with a detail is opened')
    checkDetail(row, detail)
    if (row.operation === 'deleted') {
      checkDeletion(detail)
      // Throws for a lost or damaged tree, which would otherwise go unnoticed.
      this.#findBlob(row.memoryId)
      return { path: detail.path, memory: undefined }
    }
    return { path: detail.path, memory: this.#openMemory(row, detail) }
  }

  #readDetails(): ReadonlyMap<number, DetailRow> {
    if (this.#details !== undefined) return this.#details
    const details = openDetail(this.#commit)
    for (const row of details.keys()) {
      if (row < this.record.rows.length) continue
      refuse('detail_malformed', 'The detail has a row that the record does not have')
    }
    this.#details = details
    return details
  }

  /** The memory blob of a row, opened, re-sealed and compared with the detail. */
  #openMemory(row: RecordRow, detail: DetailRow): OpenedMemory {
    const blob = this.#findBlob(row.memoryId)
    if (blob === undefined) return refuse('tree_mismatch', 'The tree lacks a memory')
    const bytes = getBlob(this.#source.objects, blob, 'memory_mismatch')
    const context = memoryContext(this.epoch, row.memoryId)
    const padded = openDeterministic('memory', this.epoch.memory, context, detail.blinding, bytes)
    const memory = decodeMemoryBlob(padded)
    const size = Buffer.byteLength(memory.content)
    const matches =
      memory.versionId === row.versionId &&
      memory.path === detail.path &&
      size === detail.size &&
      equalBytes(memory.sha256, detail.sha256)
    if (!matches) refuse('memory_mismatch', 'A memory is not the one that its detail describes')
    return { blob, size, sha256: toHex(memory.sha256), created: memory.created }
  }

  #findBlob(memoryId: string): Oid | undefined {
    // The rows of one commit share their upper trees.
    this.#trees ??= cached(this.#source.objects)
    const memories = findTreeEntry(getTreeBody(this.#trees, this.tree), '40000', 'm')
    return memories === undefined ? undefined : findBlob(this.#trees, memories, memoryId)
  }
}

function checkDetail(row: RecordRow, detail: DetailRow): void {
  if (!equalBytes(detailCommitment(detail.blinding, detail), row.commitment)) {
    refuse('detail_mismatch', 'A detail is not the one that the record commits to')
  }
}

function checkDeletion(detail: DetailRow): void {
  if (detail.size !== 0 || !equalBytes(detail.sha256, zeroHash)) {
    refuse('detail_mismatch', 'The detail of a deletion has a size or a content hash')
  }
}

/** Caches objects, so that each is read once. */
function cached(objects: ObjectSource): ObjectSource {
  const known = new Map<Oid, GitObject | undefined>()
  return {
    read(oid) {
      const object = known.get(oid) ?? objects.read(oid)
      known.set(oid, object)
      return object
    },
  }
}

function refuse(code: ErrorCode, message: string): never {
  throw new StoreError(code, message)
}
