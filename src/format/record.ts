// Records (FORMAT §6.1): the signed, permanent part of a commit. Encoding, signing and a strict
// decoder that checks every rule about a single record. store/verify/verify-commit.ts checks a
// record against its history.

import {
  asciiText,
  ByteReader,
  ByteWriter,
  concatBytes,
  fromHex,
  isZero,
  label,
  toHex,
} from '../bytes.ts'
import { envelopeOverhead } from '../crypto/aead.ts'
import { hash256 } from '../crypto/digest.ts'
import { sign, type SigningKeyPair, verifySignature } from '../crypto/signature.ts'
import { StoreError } from '../errors.ts'
import { actorIdLengthMax, rowsMax } from '../limits.ts'
import { Bytes } from '../platform/bytes.ts'
import type {
  Actor,
  ActorType,
  ChangeRecord,
  GrantRole,
  GrantRow,
  Operation,
  RecordBody,
  RecordKind,
  RecordRow,
  RedactReason,
  SignedRow,
} from './change-record.ts'
import { checkPadding, paddedLength, type Seeded } from './envelope.ts'
import { newerRelease } from './public-files.ts'
import { checkRecordRules, grantRowKey } from './record-rules.ts'

export interface DecodedRecord {
  readonly record: RecordBody
  /** The bytes that the device signed, without label and store id. */
  readonly body: Uint8Array
  readonly signature: Uint8Array
  /** body ‖ signature. */
  readonly signed: Uint8Array
}

export const zeroHash: Uint8Array = new Uint8Array(32)
export const zeroId: string = '0'.repeat(32)

const VERSION = 1
/** The fields before the rows, with two parents. */
const FIXED_LENGTH = 378
const ROW_LENGTH = 81
const SIGNATURE_LENGTH = 64
/** The largest sealed record. */
export const recordBytesMax: number =
  paddedLength('record', FIXED_LENGTH + ROW_LENGTH * rowsMax + SIGNATURE_LENGTH) + envelopeOverhead
// The number of a value is its place in these lists, from 1.
export const recordKinds: readonly RecordKind[] = [
  'genesis',
  'change',
  'redact',
  'keyring',
  'settings',
  'grants',
]
export const operations: readonly Operation[] = ['created', 'modified', 'deleted']
const ACTOR_TYPES: readonly ActorType[] = ['api', 'user', 'service_account', 'session']
export const redactReasons: readonly RedactReason[] = [
  'unspecified',
  'leaked_secret',
  'personal_data',
  'legal',
  'poisoned',
  'retention',
]
// A row of grants is as long as any other, so that sizes do not tell kinds apart.
const BEGINS = 1
const ENDS = 2
const ROLE_NUMBERS: Readonly<Record<GrantRole, number>> = { writer: 2, reader: 3, proposer: 5 }
/** The end of a row that begins a grant, and of one that ends a grant. */
const BEGIN_ZEROS = new Uint8Array(39)
const END_ZEROS = new Uint8Array(48)
const HASH_LABEL = label('GLK1/record/v1')
const SIGNATURE_LABEL = label('GLK1/record-signature/v1')
const VERSION_LABEL = label('GLK1/version/v1')
const MEMORY_LABEL = label('GLK1/memory/v1')

export function isRedactReason(value: unknown): value is RedactReason {
  return redactReasons.some((reason) => reason === value)
}

export function encodeSignedBody(record: RecordBody): Uint8Array {
  const writer = new ByteWriter()
    .u8(VERSION)
    .u8(recordKinds.indexOf(record.kind) + 1)
    .u8(record.parents.length)
    .u8(0)
    .u64(record.height)
    .raw(fromHex(record.deviceId))
    .u64(record.sequence)
    .raw(record.previous)
    .raw(record.keyring)
  for (const parent of record.parents) writer.raw(parent)
  writer
    .u64(record.time)
    .u8(numberOf(ACTOR_TYPES, record.actor?.type))
    .raw(encodeName(record.actor?.id))
    .raw(encodeName(record.session))
    .u8(numberOf(redactReasons, record.reason))
    .u64(record.directoryNumber)
    .raw(record.keyringHash)
    .raw(record.settingsHash)
    .u16(record.rows.length + record.grants.length)
  for (const row of record.rows) writeRow(writer, row)
  for (const row of record.grants) writeGrantRow(writer, row)
  return writer.bytes()
}

/** The signed body and the device's signature: the plaintext of a record before padding. */
export function signRecord(place: Seeded, record: RecordBody, pair: SigningKeyPair): Uint8Array {
  const body = encodeSignedBody(record)
  return concatBytes(body, sign(signedMessage(place, body), pair))
}

/** Throws `device_signature_invalid`. */
export function verifyRecordSignature(
  place: Seeded,
  body: Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
  own?: SigningKeyPair,
): void {
  verifySignature(signedMessage(place, body), signature, publicKey, own)
}

/** The hash that identifies a record in the history; `signed` is body ‖ signature. */
export function recordHash({ seed }: Seeded, signed: Uint8Array): Uint8Array {
  return hash256(HASH_LABEL, fromHex(seed), signed)
}

/**
 * The record with the ids of its rows (FORMAT §1). They follow from its hash, `hash`: no one can
 * choose an id that another history has.
 */
export function nameRows(storeId: string, record: RecordBody, hash: Uint8Array): ChangeRecord {
  const { kind, rows } = record
  if (kind === 'redact') return { ...record, rows: rows.map((row) => targetOf(row)) }
  const idOf = (purpose: Uint8Array, index: number): string => {
    const place = new ByteWriter().u16(index).bytes()
    return toHex(hash256(purpose, fromHex(storeId), hash, place).subarray(0, 16))
  }
  const named = rows.map((row, index): RecordRow => {
    const { base, secondBase, operation, commitment } = row
    const memoryId = row.memoryId === zeroId ? idOf(MEMORY_LABEL, index) : row.memoryId
    const versionId = idOf(VERSION_LABEL, index)
    return { memoryId, versionId, base, secondBase, operation, commitment }
  })
  return { ...record, rows: named }
}

function targetOf({ base: versionId, memoryId, ...nothing }: SignedRow): RecordRow {
  return { ...nothing, memoryId, versionId, base: zeroId }
}

/**
 * Decodes a padded plaintext. Throws `upgrade_required` for an unknown version or kind,
 * `record_malformed`, `record_rows` and `envelope_padding`.
 */
export function decodeRecord(padded: Uint8Array): DecodedRecord {
  const reader = new ByteReader(padded, malformed)
  const record = readBody(reader)
  const body = padded.subarray(0, reader.offset)
  const signature = reader.raw(SIGNATURE_LENGTH)
  const signed = padded.subarray(0, reader.offset)
  checkPadding('record', padded, signed.length)
  checkRecordRules(record)
  return { record, body, signature, signed }
}

/** Decodes what `encodeSignedBody` encoded. Does not check the rules of a record. */
export function decodeSignedBody(body: Uint8Array): RecordBody {
  return readBody(new ByteReader(body, malformed))
}

function readBody(reader: ByteReader): RecordBody {
  if (reader.u8() !== VERSION) throw newerRelease()
  const kind = recordKinds[reader.u8() - 1]
  if (kind === undefined) throw newerRelease()
  const parentCount = reader.u8()
  if (parentCount > 2) throw malformed('it has more than two parents')
  if (reader.u8() !== 0) throw malformed('a reserved byte is not zero')
  const fields = {
    kind,
    height: reader.u64(),
    deviceId: toHex(reader.view(16)),
    sequence: reader.u64(),
    previous: reader.raw(32),
    keyring: reader.raw(32),
    parents: Array.from({ length: parentCount }, () => reader.raw(32)),
    time: reader.u64(),
    actor: readActor(reader),
    session: readName(reader),
    reason: readNumbered(reader, redactReasons, 'the redaction reason'),
    directoryNumber: reader.u64(),
    keyringHash: reader.raw(32),
    settingsHash: reader.raw(32),
  }
  const rows = { length: reader.u16() }
  if (kind === 'grants') {
    return { ...fields, rows: [], grants: Array.from(rows, () => readGrantRow(reader)) }
  }
  return { ...fields, rows: Array.from(rows, () => readRow(reader)), grants: [] }
}

function readActor(reader: ByteReader): Actor | undefined {
  const type = readNumbered(reader, ACTOR_TYPES, 'the actor type')
  const id = readName(reader)
  if ((type === undefined) !== (id === undefined)) {
    throw malformed('an actor has a type without an id, or an id without a type')
  }
  return type === undefined || id === undefined ? undefined : { type, id }
}

/** An actor or session id: u8 length ‖ 64 bytes, zero-filled; undefined if the length is 0. */
function readName(reader: ByteReader): string | undefined {
  const length = reader.u8()
  const field = reader.view(actorIdLengthMax)
  if (length > actorIdLengthMax) throw malformed('an actor or session id is too long')
  if (!isZero(field.subarray(length))) {
    throw malformed('an actor or session id is not filled with zeros')
  }
  return length === 0 ? undefined : asciiText(field.subarray(0, length))
}

function encodeName(name: string | undefined): Uint8Array {
  const field = new Uint8Array(1 + actorIdLengthMax)
  if (name === undefined) return field
  field[0] = name.length
  field.set(Bytes.from(name, 'latin1'), 1)
  return field
}

function writeRow(writer: ByteWriter, row: SignedRow): void {
  const { memoryId, base, secondBase } = row
  writer
    .raw(fromHex(memoryId + base + secondBase))
    .u8(numberOf(operations, row.operation))
    .raw(row.commitment)
}

function readRow(reader: ByteReader): SignedRow {
  const ids = toHex(reader.view(48))
  return {
    memoryId: ids.slice(0, 32),
    base: ids.slice(32, 64),
    secondBase: ids.slice(64),
    operation: readNumbered(reader, operations, 'the operation of a row'),
    commitment: reader.raw(32),
  }
}

function writeGrantRow(writer: ByteWriter, row: GrantRow): void {
  writer.raw(grantRowKey(row))
  if (row.begins === undefined) {
    writer.u8(ENDS).raw(END_ZEROS)
    return
  }
  const { role, notAfter } = row.begins
  writer.u8(BEGINS).u8(ROLE_NUMBERS[role]).u64(notAfter).raw(BEGIN_ZEROS)
}

function readGrantRow(reader: ByteReader): GrantRow {
  const [key, what] = [reader.raw(32), reader.u8()]
  if (what === ENDS) {
    if (!isZero(key.subarray(16)) || !isZero(reader.raw(END_ZEROS.length))) {
      throw badGrant('a reserved byte is not zero')
    }
    return { grantId: toHex(key.subarray(0, 16)), begins: undefined }
  }
  const [role, notAfter] = [findGrantRole(reader.u8()), reader.u64()]
  if (what !== BEGINS || role === undefined) throw badGrant('it neither begins nor ends a grant')
  if (!isZero(reader.raw(BEGIN_ZEROS.length))) throw badGrant('a reserved byte is not zero')
  return { key, begins: { role, notAfter } }
}

/** The number of a grant's role, where a byte names it (FORMAT §12, §13). */
export function grantRoleNumber(role: GrantRole): number {
  return ROLE_NUMBERS[role]
}

export function findGrantRole(number: number): GrantRole | undefined {
  return (['writer', 'reader', 'proposer'] as const).find((role) => ROLE_NUMBERS[role] === number)
}

function badGrant(problem: string): StoreError {
  return new StoreError('record_rows', `A row of grants is not allowed: ${problem}`)
}

/** Values are numbered from 1; 0 means undefined. */
function numberOf<T>(names: readonly T[], name: T | undefined): number {
  return name === undefined ? 0 : names.indexOf(name) + 1
}

function readNumbered<T>(reader: ByteReader, names: readonly T[], what: string): T | undefined {
  const number = reader.u8()
  if (number > names.length) throw malformed(`${what} is unknown`)
  return number === 0 ? undefined : names[number - 1]
}

function signedMessage({ seed }: Seeded, body: Uint8Array): Uint8Array {
  return concatBytes(SIGNATURE_LABEL, fromHex(seed), body)
}

function malformed(problem: string): StoreError {
  return new StoreError('record_malformed', `A record is malformed: ${problem}`)
}
