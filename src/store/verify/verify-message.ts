// The messages between commit-checkers.ts and verify-worker.ts: the keys once, then the results for
// each batch of commits in one transferred buffer. A refused commit is only marked as refused and
// checked again in the main thread, so that every error is thrown in one place.

import {
  ByteReader,
  ByteWriter,
  equalBytes,
  fromHex,
  type OwnedBytes,
  toHex,
  utf8,
  utf8Text,
} from '../../bytes.ts'
import type { SigningKeyPair } from '../../crypto/signature.ts'
import { assert, StoreError } from '../../errors.ts'
import type { RecordRow, SignedRow } from '../../format/change-record.ts'
import { writesVersions } from '../../format/record-rules.ts'
import { decodeSignedBody, nameRows } from '../../format/record.ts'
import type { HashedColumns } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { EpochKeys } from '../../keys/epoch.ts'
import { atOnce, inSlices } from '../../time-slice.ts'
import type { CommitSource } from '../commits/decoded-commit.ts'
import type { CheckedCommit, CommitFacts, OpenedMemory, OpenedRow } from './checked-commit.ts'
import { checkAlone } from './context-free-check.ts'

/** Device id → signing key of each device of the store. Keys never change (FORMAT §7.1). */
export type SigningKeys = ReadonlyMap<string, Uint8Array>

/** The data that a verifying thread is started with. */
export interface VerifyJob {
  /** As those of an `ObjectStore`. */
  readonly packDirectories: readonly string[]
  readonly hashed: HashedColumns | undefined
  readonly storeId: string
  readonly epochs: readonly Pick<EpochKeys, 'seed' | 'auditKey' | 'contentKey'>[]
  /** The pair of this device; see `CommitSource`. */
  readonly signing: SigningKeyPair | undefined
  readonly signingKeys: SigningKeys
}

/** Commits to check; undefined before the thread ends. */
export type VerifyBatch = readonly Oid[] | undefined

const REFUSED = 0
const CHECKED = 1
const NO_DETAIL = 0
const DELETION = 1
const MEMORY = 2
const OID_LENGTH = 20
const KID_LENGTH = 16
const ID_LENGTH = 16
const HASH_LENGTH = 32

/** Checks commits, each without its past, and encodes the results. */
export function checkBatch(
  source: CommitSource,
  signingKeys: SigningKeys,
  oids: readonly Oid[],
): OwnedBytes {
  return atOnce(batchSteps(source, signingKeys, oids))
}

/** The same checks in the main thread, in time slices; undefined for a refused commit. */
export function checkInSlices(
  source: CommitSource,
  signingKeys: SigningKeys,
  oids: readonly Oid[],
): Promise<readonly (CheckedCommit | undefined)[]> {
  return inSlices(checkSteps(source, signingKeys, oids))
}

function* checkSteps(
  source: CommitSource,
  signingKeys: SigningKeys,
  oids: readonly Oid[],
): Generator<undefined, readonly (CheckedCommit | undefined)[]> {
  const commits: (CheckedCommit | undefined)[] = []
  for (const oid of oids) {
    const checked = yield* checkWhole(source, signingKeys, oid)
    commits.push(checked && withResults(source, signingKeys, checked.commit, checked.rows))
    yield
  }
  return commits
}

/** A commit whose signature was checked with the key of its device, and whose rows are opened. */
function withResults(
  source: CommitSource,
  signingKeys: SigningKeys,
  facts: CommitFacts,
  rows: CheckedWhole['rows'],
): CheckedCommit {
  const signedBy = signingKeys.get(facts.record.deviceId)
  const { oid, tree, parents, epoch, record, body, hash } = facts
  return {
    oid,
    tree,
    parents,
    epoch,
    record,
    body,
    hash,
    isWhole: true,
    checkSignature(publicKey) {
      if (signedBy !== undefined && equalBytes(publicKey, signedBy)) return
      checkAlone(source, oid).checkSignature(publicKey)
    },
    hasDetail: (row) => rows[row] !== undefined,
    openRow(index) {
      const row = rows[index]
      assert(row !== undefined, 'a row with a detail is opened')
      return row
    },
  }
}

/** Yields after each row and each commit. */
function* batchSteps(
  source: CommitSource,
  signingKeys: SigningKeys,
  oids: readonly Oid[],
): Generator<undefined, OwnedBytes> {
  const writer = new ByteWriter()
  for (const oid of oids) {
    const checked = yield* checkWhole(source, signingKeys, oid)
    if (checked === undefined) writer.u8(REFUSED)
    else writeChecked(writer.u8(CHECKED), checked)
    yield
  }
  return writer.bytes()
}

interface CheckedWhole {
  readonly commit: CheckedCommit
  readonly rows: readonly (OpenedRow | undefined)[]
}

function* checkWhole(
  source: CommitSource,
  signingKeys: SigningKeys,
  oid: Oid,
): Generator<undefined, CheckedWhole | undefined> {
  try {
    const commit = checkAlone(source, oid)
    const { deviceId, rows } = commit.record
    const signingKey = signingKeys.get(deviceId)
    if (signingKey === undefined) return undefined
    commit.checkSignature(signingKey)
    if (!writesVersions(commit.record)) return { commit, rows: [] }
    const opened: (OpenedRow | undefined)[] = []
    for (const row of rows.keys()) {
      opened.push(commit.hasDetail(row) ? commit.openRow(row) : undefined)
      yield
    }
    return { commit, rows: opened }
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

function writeChecked(writer: ByteWriter, { commit, rows }: CheckedWhole): void {
  const { tree, parents, epoch, hash, body } = commit
  writer.raw(fromHex(tree)).u8(parents.length)
  for (const parent of parents) writer.raw(fromHex(parent))
  writer.raw(fromHex(epoch.kid)).raw(hash).u32(body.length).raw(body)
  if (!writesVersions(commit.record)) return
  for (const [index, { memoryId, versionId }] of commit.record.rows.entries()) {
    writer.raw(fromHex(memoryId + versionId))
    writeRow(writer, rows[index])
  }
}

function writeRow(writer: ByteWriter, row: OpenedRow | undefined): void {
  if (row === undefined) {
    writer.u8(NO_DETAIL)
    return
  }
  const path = utf8(row.path)
  const { memory } = row
  writer
    .u8(memory === undefined ? DELETION : MEMORY)
    .u16(path.length)
    .raw(path)
  if (memory === undefined) return
  writer
    .raw(fromHex(memory.blob + memory.sha256))
    .u32(memory.size)
    .u64(memory.created)
}

/** Decodes the result of `checkBatch` for these commits. Checks refused commits again. */
export function decodeBatch(
  source: CommitSource,
  signingKeys: SigningKeys,
  oids: readonly Oid[],
  message: Uint8Array,
): Iterable<CheckedCommit> {
  const reader = new ByteReader(message, malformedMessage)
  return readBatch(reader, source, signingKeys, oids)
}

function* readBatch(
  reader: ByteReader,
  source: CommitSource,
  signingKeys: SigningKeys,
  oids: readonly Oid[],
): Generator<CheckedCommit> {
  for (const oid of oids) {
    if (reader.u8() === REFUSED) yield checkAlone(source, oid)
    else yield readChecked(reader, source, signingKeys, oid)
  }
}

function readChecked(
  reader: ByteReader,
  source: CommitSource,
  signingKeys: SigningKeys,
  oid: Oid,
): CheckedCommit {
  const tree = toHex(reader.view(OID_LENGTH))
  const parents = Array.from({ length: reader.u8() }, () => toHex(reader.view(OID_LENGTH)))
  const epoch = source.epochs.get(toHex(reader.view(KID_LENGTH)))
  assert(epoch !== undefined, 'a thread has the epochs that it was given')
  const hash = reader.raw(HASH_LENGTH)
  const body = reader.raw(reader.u32())
  const signed = decodeSignedBody(body)
  const rows: (OpenedRow | undefined)[] = []
  const record = writesVersions(signed)
    ? { ...signed, rows: signed.rows.map((row) => readNamed(reader, row, rows)) }
    : nameRows(source.storeId, signed, hash)
  const facts = { oid, tree, parents, epoch, record, body, hash }
  return withResults(source, signingKeys, facts, rows)
}

/** A row with the ids that the thread has computed (FORMAT §1); adds its path and memory. */
function readNamed(
  reader: ByteReader,
  { base, secondBase, operation, commitment }: SignedRow,
  opened: (OpenedRow | undefined)[],
): RecordRow {
  const ids = toHex(reader.view(2 * ID_LENGTH))
  opened.push(readRow(reader))
  const memoryId = ids.slice(0, 2 * ID_LENGTH)
  const versionId = ids.slice(2 * ID_LENGTH)
  return { memoryId, versionId, base, secondBase, operation, commitment }
}

function readRow(reader: ByteReader): OpenedRow | undefined {
  const type = reader.u8()
  if (type === NO_DETAIL) return undefined
  const path = utf8Text(reader.view(reader.u16()))
  return { path, memory: type === DELETION ? undefined : readMemory(reader) }
}

function readMemory(reader: ByteReader): OpenedMemory {
  const hashes = toHex(reader.view(OID_LENGTH + HASH_LENGTH))
  return {
    blob: hashes.slice(0, 2 * OID_LENGTH),
    sha256: hashes.slice(2 * OID_LENGTH),
    size: reader.u32(),
    created: reader.u64(),
  }
}

function malformedMessage(problem: string): StoreError {
  return new StoreError(
    'storage_failed',
    `The message of a verifying thread is malformed: ${problem}`,
  )
}
