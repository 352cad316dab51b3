// Reads one commit and checks what needs no other commit: size, structure, envelope and salt,
// record, canonical bytes and group signature (the first half of FORMAT §8). Checks against the
// history are in verify-commit.ts.

import { assert, StoreError } from '../../errors.ts'
import type { ChangeRecord } from '../../format/change-record.ts'
import { type CommitParts, parseCommit, verifyCommitBytes } from '../../format/commit.ts'
import { decodeDetail, detailBytesMax, type DetailRow } from '../../format/detail.ts'
import { detailContext, openDeterministic, readKid, recordContext } from '../../format/envelope.ts'
import { writesVersions } from '../../format/record-rules.ts'
import { decodeRecord, recordHash, zeroHash, nameRows } from '../../format/record.ts'
import type { Oid, SizeLimit } from '../../git/objects/object.ts'
import type { AuditKeys, EpochKeys } from '../../keys/epoch.ts'
import type { Identity } from '../../keys/identity.ts'
import { commitBytesMax } from '../../limits.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'

/** The epochs that a keyring opens, by kid. */
export type Epochs<Keys extends AuditKeys = EpochKeys> = ReadonlyMap<string, Keys>

/** A commit with its opened record. An auditor's has `AuditKeys`. */
export interface DecodedCommit<Keys extends AuditKeys = EpochKeys> {
  readonly oid: Oid
  readonly parts: CommitParts
  readonly epoch: Keys
  readonly record: ChangeRecord
  /** The signed bytes of the record, and the device's signature. */
  readonly body: Uint8Array
  readonly signature: Uint8Array
  /** The record's hash. */
  readonly hash: Uint8Array
}

const commitLimit: SizeLimit = {
  bytes: commitBytesMax,
  refusal: () => {
    return new StoreError('commit_too_large', 'A commit is larger than the format allows')
  },
}

export function readCommitBytes(objects: ObjectSource, oid: Oid): Uint8Array {
  const object = objects.read(oid, commitLimit)
  if (object === undefined) throw new StoreError('object_missing', `The commit ${oid} is missing`)
  if (object.type !== 'commit') throw malformed('A parent is not a commit', oid)
  if (object.body.length > commitLimit.bytes) throw commitLimit.refusal()
  return object.body
}

/**
 * Opens the record; the bytes around it are not checked yet. Nothing after the record is decoded
 * unless a member has made that.
 */
export function decodeCommit<Keys extends AuditKeys>(
  storeId: string,
  epochs: Epochs<Keys>,
  oid: Oid,
  bytes: Uint8Array,
): DecodedCommit<Keys> {
  let opened: OpenedRecord<Keys> | undefined
  const parts = parseCommit(bytes, (sealed) => {
    opened = openRecord(storeId, epochs, oid, sealed)
    return detailBytesMax(opened.record.rows.length)
  })
  assert(opened !== undefined, 'a commit has a record')
  return { oid, parts, ...opened }
}

type OpenedRecord<Keys extends AuditKeys> = Omit<DecodedCommit<Keys>, 'oid' | 'parts'>

function openRecord<Keys extends AuditKeys>(
  storeId: string,
  epochs: Epochs<Keys>,
  oid: Oid,
  sealed: Uint8Array,
): OpenedRecord<Keys> {
  const kid = readKid('record', sealed)
  const epoch = epochs.get(kid)
  if (epoch === undefined) {
    throw new StoreError('envelope_epoch', `The commit ${oid} is sealed under an unknown epoch`)
  }
  const context = recordContext(epoch)
  const padded = openDeterministic('record', epoch.record, context, zeroHash, sealed)
  const { record: signedRecord, body, signature, signed } = decodeRecord(padded)
  const hash = recordHash(epoch, signed)
  const record = nameRows(storeId, signedRecord, hash)
  return { epoch, record, body, signature, hash }
}

/** `decodeCommit` with checks of canonical bytes and group signature. */
export function verifyDecodedCommit<Keys extends AuditKeys>(
  storeId: string,
  epochs: Epochs<Keys>,
  oid: Oid,
  bytes: Uint8Array,
): DecodedCommit<Keys> {
  const commit = decodeCommit(storeId, epochs, oid, bytes)
  verifyCommitBytes(bytes, commit.parts, commit.epoch.group)
  const { record, parts } = commit
  if (parts.height !== record.height) {
    throw new StoreError(
      'record_height',
      `The commit ${oid} does not have the height of its record`,
    )
  }
  if ((parts.detail !== undefined) !== writesVersions(record)) {
    throw malformed('A commit must have a detail if and only if it writes versions', oid)
  }
  return commit
}

/** The rows of the detail by row index; none for a kind without a detail. */
export function openDetail(commit: DecodedCommit): ReadonlyMap<number, DetailRow> {
  const { detail } = commit.parts
  if (detail === undefined) return new Map()
  const context = detailContext(commit.epoch, commit.hash)
  const padded = openDeterministic('detail', commit.epoch.detail, context, zeroHash, detail)
  return new Map(decodeDetail(padded).map((row) => [row.row, row]))
}

function malformed(what: string, oid: Oid): StoreError {
  return new StoreError('commit_malformed', what, { details: { commit: oid } })
}

/** What commits are read and checked with. */
export interface CommitSource {
  readonly objects: ObjectSource
  readonly storeId: string
  /** An auditor's epochs lack C: only the trail is checked then (context-free-check.ts). */
  readonly epochs: Epochs<AuditKeys>
  /** This device, whose own signatures are made again rather than verified. */
  readonly identity?: Pick<Identity, 'signing'> | undefined
  /** The device that gave a grant, where a snapshot has it: else it is looked for in the past. */
  readonly granterOf?: ((grantId: string) => string | undefined) | undefined
}
