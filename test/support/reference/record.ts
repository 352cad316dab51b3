// FORMAT §6.1: the record of a commit and its device signature. Decoding refuses faults
// within the record; the rules of its history are §8 (trail.ts). Rows are as they are written,
// without the ids that follow from the record's hash (rows.ts). Ids and hashes are lower-case hex.

import { ascii, concat, fromHex, label, Reader, u16, u64, u8, utf8, zeros } from './bytes.ts'
import { checkPadding } from './envelope.ts'
import { isCallerId } from './identity.ts'
import { ensure, refuse } from './refusal.ts'
import { verifySignature } from './signature.ts'

export const zeroId: string = '00'.repeat(16)
export const zeroHash: string = '00'.repeat(32)

const kinds = ['genesis', 'change', 'redact', 'keyring', 'settings', 'grants'] as const
const grantRoles = { writer: 2, reader: 3, proposer: 5 } as const
/** The end of the ECMAScript calendar, in ms since 1970. */
export const timeMax: number = 8.64e15
const operations = ['created', 'modified', 'deleted'] as const
const actorTypes = ['api', 'user', 'service_account', 'session'] as const
const reasons = [
  'unspecified',
  'leaked_secret',
  'personal_data',
  'legal',
  'poisoned',
  'retention',
] as const

export type RecordKind = (typeof kinds)[number]
export type Operation = (typeof operations)[number]
export type RedactReason = (typeof reasons)[number]

export interface Actor {
  readonly type: (typeof actorTypes)[number]
  readonly id: string
}

export interface Row {
  /** Zero in a row that creates a memory. */
  readonly memoryId: string
  /** In a redact record the version to redact. */
  readonly base: string
  readonly secondBase: string
  /** undefined in the rows of a redact record. */
  readonly operation: Operation | undefined
  readonly commitment: string
}

export type GrantRole = keyof typeof grantRoles

/** §12: a row of kind 6. */
export type GrantRow =
  | {
      readonly ends: false
      /** The grant's Ed25519 public key. */
      readonly key: string
      readonly role: GrantRole
      readonly notAfter: number
    }
  | { readonly ends: true; readonly grantId: string }

export interface ChangeRecord {
  readonly kind: RecordKind
  readonly parents: readonly string[]
  readonly height: number
  readonly deviceId: string
  readonly sequence: number
  readonly previous: string
  readonly keyring: string
  /** Milliseconds since 1970. */
  readonly time: number
  readonly actor: Actor | undefined
  readonly session: string | undefined
  readonly reason: RedactReason | undefined
  readonly directoryNumber: number
  readonly keyringHash: string
  readonly settingsHash: string
  readonly rows: readonly Row[]
  /** Only in kind 6, which has no `rows`. */
  readonly grants: readonly GrantRow[]
}

// Encoding, for tests that make bytes

/** 1 for the first of the list; 0 for undefined. */
function numberOf<T>(list: readonly T[], value: T | undefined): number {
  return value === undefined ? 0 : list.indexOf(value) + 1
}

function encodeCallerId(id: string | undefined): Uint8Array {
  const bytes = utf8(id ?? '')
  return concat(u8(bytes.length), bytes, zeros(64 - bytes.length))
}

function encodeRow(row: Row): Uint8Array {
  const ids = concat(...[row.memoryId, row.base, row.secondBase].map(fromHex))
  return concat(ids, u8(numberOf(operations, row.operation)), fromHex(row.commitment))
}

function encodeGrantRow(row: GrantRow): Uint8Array {
  if (row.ends) return concat(fromHex(row.grantId), zeros(16), u8(2), zeros(48))
  const terms = concat(u8(grantRoles[row.role]), u64(row.notAfter))
  return concat(fromHex(row.key), u8(1), terms, zeros(39))
}

export function encodeSignedBody(record: ChangeRecord): Uint8Array {
  return concat(
    u8(1),
    u8(numberOf(kinds, record.kind)),
    u8(record.parents.length),
    u8(0),
    u64(record.height),
    fromHex(record.deviceId),
    u64(record.sequence),
    fromHex(record.previous),
    fromHex(record.keyring),
    ...record.parents.map(fromHex),
    u64(record.time),
    u8(numberOf(actorTypes, record.actor?.type)),
    encodeCallerId(record.actor?.id),
    encodeCallerId(record.session),
    u8(numberOf(reasons, record.reason)),
    u64(record.directoryNumber),
    fromHex(record.keyringHash),
    fromHex(record.settingsHash),
    u16(record.rows.length + record.grants.length),
    ...record.rows.map(encodeRow),
    ...record.grants.map(encodeGrantRow),
  )
}

function signedMessage(seed: string, body: Uint8Array): Uint8Array {
  return concat(label('GLK1/record-signature/v1'), fromHex(seed), body)
}

/** Refuses with `device_signature_invalid`. */
export function verifyRecordSignature(
  seed: string,
  record: Pick<DecodedRecord, 'body' | 'signature'>,
  publicKey: Uint8Array,
): void {
  verifySignature(signedMessage(seed, record.body), record.signature, publicKey)
}

// Decoding

export interface DecodedRecord {
  readonly record: ChangeRecord
  /** The signed body. */
  readonly body: Uint8Array
  readonly signature: Uint8Array
}

/** Padded plaintext to record. */
export function decodeRecord(padded: Uint8Array): DecodedRecord {
  const reader = new Reader(padded, 'record_malformed')
  const record = readBody(reader)
  const body = padded.slice(0, reader.offset)
  const signature = reader.raw(64)
  checkPadding('record', padded, reader.offset)
  checkFields(record)
  checkRows(record)
  return { record, body, signature }
}

function readBody(reader: Reader): ChangeRecord {
  ensure(reader.u8() === 1, 'upgrade_required', 'The record has another version')
  const kind = kinds[reader.u8() - 1] ?? refuse('upgrade_required', 'The kind is unknown')
  const parentCount = reader.u8()
  ensure(parentCount <= 2, 'record_malformed', 'A record has at most two parents')
  ensure(reader.u8() === 0, 'record_malformed', 'A reserved byte is set')
  const height = reader.u64()
  const deviceId = reader.hex(16)
  const sequence = reader.u64()
  const previous = reader.hex(32)
  const keyring = reader.hex(32)
  const parents = Array.from({ length: parentCount }, () => reader.hex(32))
  const time = reader.u64()
  ensure(time <= timeMax, 'record_malformed', 'A time is beyond the calendar')
  const actorType = oneOf(actorTypes, reader.u8())
  const actorId = readCallerId(reader)
  const session = readCallerId(reader)
  const reason = oneOf(reasons, reader.u8())
  const directoryNumber = reader.u64()
  const keyringHash = reader.hex(32)
  const settingsHash = reader.hex(32)
  const count = reader.u16()
  const length = kind === 'grants' ? 0 : count
  const rows = Array.from({ length }, () => readRow(reader))
  const grants = Array.from({ length: count - length }, () => readGrantRow(reader))
  const actor = actorOf(actorType, actorId)
  const links = { kind, parents, height, deviceId, sequence, previous, keyring }
  const facts = { time, actor, session, reason, directoryNumber, keyringHash, settingsHash }
  return { ...links, ...facts, rows, grants }
}

function readRow(reader: Reader): Row {
  const [memoryId, base, secondBase] = [reader.hex(16), reader.hex(16), reader.hex(16)]
  const operation = oneOf(operations, reader.u8())
  return { memoryId, base, secondBase, operation, commitment: reader.hex(32) }
}

function readGrantRow(reader: Reader): GrantRow {
  const [name, what] = [reader.hex(32), reader.u8()]
  if (what === 2) {
    const isEnd = name.endsWith(zeroId) && isZero(reader.raw(48))
    ensure(isEnd, 'record_rows', 'A row that ends a grant has a byte that is not zero')
    return { ends: true, grantId: name.slice(0, 32) }
  }
  ensure(what === 1, 'record_rows', 'A row neither begins nor ends a grant')
  const role = grantRoleOf(reader.u8()) ?? refuse('record_rows', 'A grant has an unknown role')
  const notAfter = reader.u64()
  ensure(notAfter <= timeMax, 'record_rows', 'A grant runs beyond the calendar')
  const isFilled = isZero(reader.raw(39))
  ensure(isFilled, 'record_rows', 'A row that begins a grant has a byte that is not zero')
  return { ends: false, key: name, role, notAfter }
}

/** The role of a grant that has this number, if any. */
export function grantRoleOf(number: number): GrantRole | undefined {
  const names = ['writer', 'reader', 'proposer'] as const
  return names.find((name) => grantRoles[name] === number)
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0)
}

/** Member `number` of the list, from 1; undefined for 0. */
function oneOf<T>(list: readonly T[], number: number): T | undefined {
  ensure(number <= list.length, 'record_malformed', 'A field has an unknown value')
  return list[number - 1]
}

function readCallerId(reader: Reader): string | undefined {
  const length = reader.u8()
  ensure(length <= 64, 'record_malformed', 'An actor or session id is too long')
  const id = ascii(reader.raw(length))
  const filled = reader.raw(64 - length).every((byte) => byte === 0)
  ensure(filled, 'record_malformed', 'An actor or session field is not filled with zeros')
  if (length === 0) return undefined
  ensure(isCallerId(id), 'record_malformed', 'An actor or session id has another character')
  return id
}

function actorOf(type: Actor['type'] | undefined, id: string | undefined): Actor | undefined {
  const both = (type === undefined) === (id === undefined)
  ensure(both, 'record_malformed', 'An actor has a type and an id, or neither')
  return type === undefined || id === undefined ? undefined : { type, id }
}

/** Whether the rows are versions; then there is a detail. */
export function hasVersions(record: Pick<ChangeRecord, 'kind' | 'parents'>): boolean {
  return record.kind === 'change'
}

/** What a kind must and must not carry. */
function checkFields(record: ChangeRecord): void {
  const { kind, actor, session } = record
  const only = (present: boolean, ...allowed: readonly RecordKind[]) => {
    const right = present === allowed.includes(kind)
    ensure(right, 'record_malformed', 'A field does not belong to the kind, or is missing')
  }
  only(record.parents.length === 0, 'genesis')
  const right = kind === 'change' || record.parents.length < 2
  ensure(right, 'record_malformed', 'A record of this kind has one parent')
  only(record.reason !== undefined, 'redact')
  only(record.keyringHash !== zeroHash, 'genesis', 'keyring')
  only(record.settingsHash !== zeroHash, 'genesis', 'settings')
  const numbered = kind === 'genesis' || kind === 'keyring' || record.directoryNumber === 0
  ensure(numbered, 'record_malformed', 'Only keyrings have a directory number')
  const actorNeeded = kind === 'redact' || hasVersions(record)
  ensure(!actorNeeded || actor !== undefined, 'record_malformed', 'The actor is missing')
  const contradicts = actor?.type === 'session' && session !== undefined && session !== actor.id
  ensure(!contradicts, 'record_malformed', 'The session is not the actor')
  const [first, second] = record.parents
  const ascending = first === undefined || second === undefined || first < second
  ensure(ascending, 'record_malformed', 'The parents do not ascend')
}

function checkRows(record: ChangeRecord): void {
  const { kind, parents, rows, grants } = record
  const granted = kind !== 'grants' || (grants.length > 0 && grants.length <= 64)
  ensure(granted, 'record_rows', 'Kind 6 has another number of rows')
  const keys = grants.map((row) => (row.ends ? row.grantId + zeroId : row.key))
  const rise = keys.every((key, index) => key > (keys[index - 1] ?? ''))
  ensure(rise, 'record_rows', 'The rows of grants do not ascend')
  const least = kind === 'redact' || (kind === 'change' && parents.length < 2) ? 1 : 0
  const most = kind === 'redact' || hasVersions(record) ? 16_384 : 0
  const counted = rows.length >= least && rows.length <= most
  ensure(counted, 'record_rows', 'The kind has another number of rows')
  let before = ''
  for (const row of rows) {
    const creates = row.operation === 'created' && row.base === zeroId
    const unnamed = row.memoryId === zeroId
    ensure(unnamed === creates, 'record_rows', 'A row names its memory unless it creates it')
    const key = kind === 'redact' ? row.memoryId + row.base : row.memoryId
    const ascends = key > before || (creates && key === before)
    ensure(ascends, 'record_rows', 'The rows do not ascend')
    before = key
    if (kind === 'redact') checkRedactRow(row)
    else {
      ensure(row.operation !== undefined, 'record_rows', 'A row has no operation')
      const merged = row.operation === 'created' && parents.length === 2
      ensure(!merged, 'record_rows', 'A merge creates and restores no memory')
    }
  }
}

function checkRedactRow(row: Row): void {
  const isTarget = row.secondBase === zeroId && row.operation === undefined
  const bare = isTarget && row.commitment === zeroHash
  ensure(bare, 'record_rows', 'A row of a redact record names a version and no more')
}
