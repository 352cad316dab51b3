// Records: the layout, and a refusal for everything that one record can get wrong by itself.

import { describe, expect, test } from 'vitest'
import { concatBytes, fromHex, label, toHex } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import { signingKeyPair, verifySignature } from '../../../src/crypto/signature.ts'
import type { RecordBody, SignedRow } from '../../../src/format/change-record.ts'
import { paddedLength } from '../../../src/format/envelope.ts'
import {
  decodeRecord,
  encodeSignedBody,
  recordHash,
  signRecord,
  verifyRecordSignature,
  zeroHash,
  zeroId,
} from '../../../src/format/record.ts'

const store = { seed: '11'.repeat(16) }
const id = (byte: number): string => toHex(new Uint8Array(16).fill(byte))
const hash = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
const pair = signingKeyPair(hash(1))

const row: SignedRow = {
  memoryId: id(0x21),
  base: id(0x23),
  secondBase: zeroId,
  operation: 'modified',
  commitment: hash(0x24),
}
const newRow: SignedRow = { ...row, memoryId: zeroId, base: zeroId, operation: 'created' }
const redactRow: SignedRow = {
  ...row,
  operation: undefined,
  commitment: zeroHash,
}
const change: RecordBody = {
  kind: 'change',
  height: 7,
  deviceId: id(0x31),
  sequence: 5,
  previous: hash(0x32),
  keyring: hash(0x33),
  parents: [hash(0x34)],
  time: 1_700_000_000_000,
  actor: { type: 'user', id: 'someone@example.org' },
  session: 'run-1',
  reason: undefined,
  directoryNumber: 0,
  keyringHash: zeroHash,
  settingsHash: zeroHash,
  rows: [row],
  grants: [],
}
const genesis: RecordBody = {
  ...change,
  kind: 'genesis',
  height: 0,
  parents: [],
  actor: undefined,
  session: undefined,
  keyringHash: hash(1),
  settingsHash: hash(2),
  rows: [],
}
const redact: RecordBody = { ...change, kind: 'redact', reason: 'legal', rows: [redactRow] }
const keyring: RecordBody = {
  ...change,
  kind: 'keyring',
  directoryNumber: 3,
  keyringHash: hash(1),
  rows: [],
}
const both = [hash(1), hash(2)]
const settings: RecordBody = { ...change, kind: 'settings', settingsHash: hash(1), rows: [] }

const code = (name: string): unknown => expect.objectContaining({ code: name })

function pad(bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array(paddedLength('record', bytes.length))
  padded.set(bytes)
  return padded
}

/** A padded record whose signature is zeros: decoding does not check it. */
const encoded = (record: RecordBody): Uint8Array =>
  pad(concatBytes(encodeSignedBody(record), new Uint8Array(64)))

test('hash and signature cover label and seed', () => {
  const signed = signRecord(store, change, pair)
  const body = signed.slice(0, -64)
  const seedBytes = fromHex(store.seed)
  expect(recordHash(store, signed)).toEqual(hash256(label('GLK1/record/v1'), seedBytes, signed))
  const message = concatBytes(label('GLK1/record-signature/v1'), seedBytes, body)
  verifySignature(message, signed.slice(-64), pair.publicKey)
  verifyRecordSignature(store, body, signed.slice(-64), pair.publicKey)
  const other = { seed: id(9) }
  expect(() => verifyRecordSignature(other, body, signed.slice(-64), pair.publicKey)).toThrow(
    code('device_signature_invalid'),
  )
})

describe('record_malformed:', () => {
  test.each<readonly [string, RecordBody]>([
    ['a change without an actor', { ...change, actor: undefined }],
    ['a redaction without an actor', { ...redact, actor: undefined }],
    [
      'a session that is not the actor',
      { ...change, actor: { type: 'session', id: 'a' }, session: 'b' },
    ],
    ['a character that ids do not have', { ...change, session: 'a b' }],
    ['a slash in an actor id', { ...change, actor: { type: 'user', id: 'a/b' } }],
    ['a redaction without a reason', { ...redact, reason: undefined }],
    ['a change with a reason', { ...change, reason: 'legal' }],
    ['a change with a directory number', { ...change, directoryNumber: 1 }],
    ['a genesis with a directory number', { ...genesis, directoryNumber: 1 }],
    ['a change that names a keyring', { ...change, keyringHash: hash(1) }],
    ['a change that names settings', { ...change, settingsHash: hash(1) }],
    ['settings that name a keyring', { ...settings, keyringHash: hash(1) }],
    ['a keyring that names settings', { ...keyring, settingsHash: hash(1) }],
    ['a keyring that names no keyring', { ...keyring, keyringHash: zeroHash }],
    ['settings that name no settings', { ...settings, settingsHash: zeroHash }],
    ['a genesis without a keyring', { ...genesis, keyringHash: zeroHash }],
    ['a genesis with a parent', { ...genesis, parents: [hash(1)] }],
    ['a change without a parent', { ...change, parents: [] }],
    ['parents that descend', { ...change, parents: [hash(2), hash(1)] }],
    ['the same parent twice', { ...change, parents: [hash(1), hash(1)] }],
    ['a redaction with two parents', { ...redact, parents: both }],
    ['settings with two parents', { ...settings, parents: both }],
    ['a keyring record with two parents', { ...keyring, parents: both }],
    ['three parents', { ...change, parents: [hash(1), hash(2), hash(3)] }],
  ])('%s', (_, record) => {
    expect(() => decodeRecord(encoded(record))).toThrow(code('record_malformed'))
  })

  const actorAt = 4 + 8 + 16 + 8 + 32 + 32 + 32 + 8
  const sessionAt = actorAt + 66
  test.each([
    ['a reserved byte', 3, 1],
    ['a height beyond 2^53', 4, 0x20],
    ['an unknown actor type', actorAt, 5],
    ['an actor type without an id', actorAt + 1, 0],
    ['an id without an actor type', actorAt, 0],
    ['an actor id of 65 bytes', actorAt + 1, 65],
    ['bytes after an actor id', actorAt + 65, 1],
    ['a session without a length', sessionAt, 0],
    ['bytes after a session', sessionAt + 64, 1],
    ['an unknown reason', sessionAt + 65, 7],
    ['an unknown operation', 314 + 32 + 48, 4],
  ])('%s', (_, at, byte) => {
    expect(() => decodeRecord(encoded(change).with(at, byte))).toThrow(code('record_malformed'))
  })
})

describe('record_rows:', () => {
  const second = { ...row, memoryId: id(0x22) }
  test.each<readonly [string, RecordBody]>([
    ['a change without rows', { ...change, rows: [] }],
    ['a redaction without rows', { ...redact, rows: [] }],
    ['a genesis with a row', { ...genesis, rows: [row] }],
    ['settings with a row', { ...settings, rows: [row] }],
    ['a keyring with a row', { ...keyring, rows: [row] }],
    ['a new memory with an id', { ...change, rows: [{ ...newRow, memoryId: id(0x21) }] }],
    ['an edit of no memory', { ...change, rows: [{ ...row, memoryId: zeroId }] }],
    ['a restored memory without an id', { ...change, rows: [{ ...newRow, base: id(1) }] }],
    ['a redaction of no memory', { ...redact, rows: [{ ...redactRow, memoryId: zeroId }] }],
    ['a new memory after others', { ...change, rows: [row, newRow] }],
    ['rows that descend', { ...change, rows: [second, row] }],
    ['two rows of one memory', { ...change, rows: [row, { ...row, base: id(0x99) }] }],
    ['one version redacted twice', { ...redact, rows: [redactRow, redactRow] }],
    ['a row without an operation', { ...change, rows: [{ ...row, operation: undefined }] }],
    [
      'a redaction with an operation',
      { ...redact, rows: [{ ...redactRow, operation: 'deleted' }] },
    ],
    ['a redaction with a second base', { ...redact, rows: [{ ...redactRow, secondBase: id(1) }] }],
    ['a redaction with a commitment', { ...redact, rows: [{ ...redactRow, commitment: hash(1) }] }],
  ])('%s', (_, record) => {
    expect(() => decodeRecord(encoded(record))).toThrow(code('record_rows'))
  })

  test('one row more than allowed', () => {
    const rows = Array.from({ length: 16_385 }, (_, index) => {
      return { ...row, memoryId: (index + 1).toString(16).padStart(32, '0') }
    })
    expect(() => decodeRecord(encoded({ ...change, rows }))).toThrow(code('record_rows'))
    const most = decodeRecord(encoded({ ...change, rows: rows.slice(1) }))
    expect(most.record.rows).toHaveLength(16_384)
  })
})

test('two versions of one memory may be redacted at once', () => {
  const rows = [redactRow, { ...redactRow, base: id(0x99) }]
  expect(decodeRecord(encoded({ ...redact, rows })).record.rows).toEqual(rows)
})

test('a record is a function of rows and parents in size', () => {
  const short = { ...change, actor: { type: 'api', id: 'a' }, session: undefined } as const
  expect(encodeSignedBody(short)).toHaveLength(encodeSignedBody(change).length)
})
