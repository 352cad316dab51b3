// The first half of FORMAT §8: every check of a commit that needs no other commit. Its result is a
// `CheckedCommit`, which a worker thread can compute too. The second half, verify-commit.ts, checks
// that against the past.

import { equalBytes, toHex } from '../../bytes.ts'
import { assert, type ErrorCode, StoreError } from '../../errors.ts'
import type { RecordRow } from '../../format/change-record.ts'
import { detailCommitment, type DetailRow } from '../../format/detail.ts'
import { memoryContext, openDeterministic } from '../../format/envelope.ts'
import { decodeMemoryBlob } from '../../format/memory-blob.ts'
import { writesVersions } from '../../format/record-rules.ts'
import { verifyRecordSignature, zeroHash } from '../../format/record.ts'
import { findTreeEntry, type GitObject, type Oid } from '../../git/objects/object.ts'
import { type AuditKeys, type EpochKeys, opensContents } from '../../keys/epoch.ts'
import { Bytes } from '../../platform/bytes.ts'
import {
  type CommitSource,
  type DecodedCommit,
  openDetail,
  readCommitBytes,
  verifyDecodedCommit,
} from '../commits/decoded-commit.ts'
import { getBlob, getTreeBody, type ObjectSource } from '../snapshot/git-reads.ts'
import { findBlob } from '../snapshot/memory-tree.ts'
import { type CheckedCommit, factsOf, type OpenedMemory } from './checked-commit.ts'

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
  if (!opensContents(epoch)) return trailCommit(source, commit)
  const whole = wholeCommit(source, { ...commit, epoch })
  const { record } = commit
  // The detail of a merge without rows must be well formed too, though no row reads it.
  if (writesVersions(record) && record.rows.length === 0) whole.hasDetail(0)
  return whole
}

/**
 * A commit as an auditor checks it, who holds A and not C (FORMAT §4): record, signatures and the
 * ids of blobs in trees, but neither details nor contents. The trees still show which memories are
 * live, and that only those changed which the rows name.
 */
function trailCommit(source: CommitSource, commit: DecodedCommit<AuditKeys>): CheckedCommit {
  const { epoch, body, signature, record, parts } = commit
  return {
    ...factsOf(commit),
    isWhole: false,
    checkSignature: (publicKey) => verifyRecordSignature(epoch, body, signature, publicKey),
    hasDetail: () => false,
    openRow(index) {
      const row = record.rows[index]
      assert(row !== undefined, 'a row of the record is opened')
      // The memory's id takes the place of its path: it is unique and never changes.
      const path = `/${row.memoryId}`
      if (row.operation === 'deleted') return { path, memory: undefined }
      const blob = getMemory(findMemory(source.objects, parts.tree, row.memoryId))
      return { path, memory: { blob, size: 0, sha256: '', created: 0 } }
    },
  }
}

function wholeCommit(source: CommitSource, commit: DecodedCommit): CheckedCommit {
  const { epoch, body, signature, record, parts } = commit
  let details: ReadonlyMap<number, DetailRow> | undefined
  const readDetails = () => (details ??= openCheckedDetail(commit))
  // The rows of one commit share their upper trees.
  const trees = record.rows.length > 1 ? cached(source.objects) : source.objects
  const find = (memoryId: string) => findMemory(trees, parts.tree, memoryId)
  return {
    ...factsOf(commit),
    isWhole: true,
    checkSignature(publicKey) {
      verifyRecordSignature(epoch, body, signature, publicKey, source.identity?.signing)
    },
    hasDetail: (row) => readDetails().has(row),
    openRow(index) {
      const row = record.rows[index]
      const detail = readDetails().get(index)
      assert(row !== undefined && detail !== undefined, 'a row with a detail is opened')
      checkDetail(row, detail)
      const { path } = detail
      if (row.operation === 'deleted') checkDeletion(detail)
      // Throws for a lost or damaged tree, which would otherwise go unnoticed in a deletion.
      const blob = find(row.memoryId)
      if (row.operation === 'deleted') return { path, memory: undefined }
      return { path, memory: openMemory(source, epoch, getMemory(blob), row, detail) }
    },
  }
}

function openCheckedDetail(commit: DecodedCommit): ReadonlyMap<number, DetailRow> {
  const details = openDetail(commit)
  for (const row of details.keys()) {
    if (row < commit.record.rows.length) continue
    refuse('detail_malformed', 'The detail has a row that the record does not have')
  }
  return details
}

/** The memory blob of a row, opened, re-sealed and compared with the detail. */
function openMemory(
  { objects }: CommitSource,
  epoch: EpochKeys,
  blob: Oid,
  row: RecordRow,
  detail: DetailRow,
): OpenedMemory {
  const bytes = getBlob(objects, blob, 'memory_mismatch')
  const context = memoryContext(epoch, row.memoryId)
  const padded = openDeterministic('memory', epoch.memory, context, detail.blinding, bytes)
  const memory = decodeMemoryBlob(padded)
  const size = Bytes.byteLength(memory.content)
  const matches =
    memory.versionId === row.versionId &&
    memory.path === detail.path &&
    size === detail.size &&
    equalBytes(memory.sha256, detail.sha256)
  if (!matches) refuse('memory_mismatch', 'A memory is not the one that its detail describes')
  return { blob, size, sha256: toHex(memory.sha256), created: memory.created }
}

function findMemory(objects: ObjectSource, root: Oid, memoryId: string): Oid | undefined {
  const memories = findTreeEntry(getTreeBody(objects, root), '40000', 'm')
  return memories === undefined ? undefined : findBlob(objects, memories, memoryId)
}

function getMemory(blob: Oid | undefined): Oid {
  return blob ?? refuse('tree_mismatch', 'The tree lacks a memory')
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
