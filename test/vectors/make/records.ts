// Vectors of records with the key that signed them. FORMAT §6.1.

import { toHex } from '../../../src/bytes.ts'
import type { ChangeRecord, RecordRow } from '../../../src/format/change-record.ts'
import { signRecord, zeroHash, zeroId } from '../../../src/format/record.ts'
import { idOf, put } from '../../support/forge-seal.ts'
import type { Forge } from '../../support/forge.ts'
import type { Vector } from '../vector.ts'
import { padding, type Plain, plain } from './plaintext.ts'

type FieldCase = readonly [expect: string, name: string, change: Partial<ChangeRecord>]

/** Bytes of a change with one row and one parent that are overwritten after signing. */
const changedBytes: readonly (readonly [
  expect: string,
  name: string,
  offset: number,
  ...values: readonly number[],
])[] = [
  ['upgrade_required', 'version 2', 0, 2],
  ['upgrade_required', 'kind 6', 1, 6],
  ['upgrade_required', 'kind 0', 1, 0],
  ['record_malformed', 'a reserved byte', 3, 1],
  ['record_malformed', 'three parents', 2, 3],
  ['record_malformed', 'a height of 2^53', 4, 0, 0x20],
  ['record_malformed', 'an actor type 5', 140, 5],
  ['record_malformed', 'an actor of 65 characters', 141, 65],
  ['record_malformed', 'an actor that is not filled with zeros', 205, 0x61],
  ['record_malformed', 'a session with a slash', 206, 1, 0x2f],
  ['record_malformed', 'a reason 7', 271, 7],
  ['record_malformed', 'an operation 4', 410, 4],
  ['record_rows', 'no operation', 410, 0],
  ['device_signature_invalid', 'another version id', 362, 0xff],
  ['device_signature_invalid', 'another signature', 443, 0xff],
]

const ones = new Uint8Array(32).fill(1)
const both = [zeroHash, ones]
const join: Partial<ChangeRecord> = {
  kind: 'keyring',
  keyringHash: ones,
  directoryNumber: 9,
  parents: both,
}

const redaction: RecordRow = {
  memoryId: idOf('a'),
  versionId: idOf('b'),
  base: zeroId,
  secondBase: zeroId,
  operation: undefined,
  commitment: zeroHash,
}

export function records({ entries, storeId, founder }: Forge): readonly Vector[] {
  const last = entries.at(-1)?.record
  if (last === undefined) throw new Error('No record')
  const who = { storeId, publicKey: toHex(founder.signing.publicKey) }
  const signed = (record: ChangeRecord): Plain => {
    const plaintext = signRecord(storeId, record, founder.signing)
    return { type: 'record', clause: '6.1', plaintext }
  }
  const honest = signed(last)
  const all = [
    ...entries.map(({ record }) =>
      plain(signed(record), 'accepted', `${record.kind} ${record.height}`),
    ),
    ...changedBytes.map(([expect, name, offset, ...values]) =>
      plain(honest, expect, name, put(offset, ...values)),
    ),
    ...[...allowedFields(last), ...refusedFields(last), ...mergeFields(last)].map(
      ([expect, name, change]) => plain(signed({ ...last, ...change }), expect, name),
    ),
    plain(honest, 'record_malformed', 'cut off', (bytes) => bytes.slice(0, 400)),
    ...padding(honest),
  ]
  return all.map((vector) => Object.assign({}, vector, who))
}

/** The rows of the record, and of another memory. */
function twoRows({ rows }: ChangeRecord): readonly RecordRow[] {
  return rows.flatMap((row) => [row, { ...row, memoryId: 'ff'.repeat(16) }])
}

function allowedFields(last: ChangeRecord): readonly FieldCase[] {
  const rows = twoRows(last)
  return [
    ['accepted', 'the last time of the calendar', { time: 8.64e15 }],
    ['accepted', 'two rows', { rows }],
    ['accepted', 'every name', { actor: { type: 'api', id: 'Az09._:@-' }, session: 's' }],
    [
      'accepted',
      'names of 64 characters',
      {
        actor: { type: 'user', id: 'x'.repeat(64) },
        session: 'y'.repeat(64),
      },
    ],
    ['accepted', 'a redaction', { kind: 'redact', reason: 'legal', rows: [redaction] }],
    [
      'accepted',
      'two parents and no row',
      {
        parents: [zeroHash, new Uint8Array(32).fill(1)],
        rows: [],
      },
    ],
  ]
}

function refusedFields(last: ChangeRecord): readonly FieldCase[] {
  const rows = twoRows(last)
  return [
    ['record_malformed', 'a time beyond the calendar', { time: 8.64e15 + 1 }],
    ['record_malformed', 'no actor', { actor: undefined }],
    ['record_malformed', 'a reason in a change', { reason: 'legal' }],
    ['record_malformed', 'no reason in a redaction', { kind: 'redact', rows: [redaction] }],
    [
      'record_malformed',
      'settings in a change',
      {
        settingsHash: ones,
      },
    ],
    [
      'record_malformed',
      'a keyring in a change',
      {
        keyringHash: ones,
      },
    ],
    ['record_malformed', 'a directory number in a change', { directoryNumber: 1 }],
    ['record_malformed', 'a change without a parent', { parents: [] }],
    [
      'record_malformed',
      'parents that do not ascend',
      {
        parents: [ones, zeroHash],
      },
    ],
    [
      'record_malformed',
      'a session that contradicts the actor',
      {
        actor: { type: 'session', id: 'a' },
        session: 'b',
      },
    ],
    ['record_rows', 'no row', { rows: [] }],
    ['record_rows', 'rows that do not ascend', { rows: rows.toReversed() }],
    ['record_rows', 'one memory twice', { rows: [...rows.slice(0, 1), ...rows.slice(0, 1)] }],
    [
      'record_rows',
      'rows in a change of settings',
      {
        kind: 'settings',
        settingsHash: ones,
      },
    ],
    ['record_rows', 'a redaction that changes', { kind: 'redact', reason: 'legal' }],
  ]
}

/** Two parents: merges, and joins of keyrings (FORMAT §7.2). */
function mergeFields(last: ChangeRecord): readonly FieldCase[] {
  const rows = twoRows(last)
  return [
    ['accepted', 'a merge with a row of two bases', { parents: both, rows: rows.map(twoBased) }],
    ['accepted', 'a merge of keyrings with a row', { ...join, rows: rows.map(twoBased) }],
    ['accepted', 'a merge of keyrings without a row', { ...join, rows: [] }],
    ['record_malformed', 'one parent twice', { parents: [ones, ones] }],
    [
      'record_malformed',
      'a redaction with two parents',
      { kind: 'redact', reason: 'legal', parents: both, rows: [redaction] },
    ],
    [
      'record_malformed',
      'a change of settings with two parents',
      { kind: 'settings', settingsHash: ones, parents: both, rows: [] },
    ],
    ['record_malformed', 'a merge of keyrings without an actor', { ...join, actor: undefined }],
    ['record_rows', 'a merge that creates', { parents: both, rows: rows.map(created) }],
    ['record_rows', 'a merge of keyrings that creates', { ...join, rows: rows.map(created) }],
  ]
}

function twoBased(row: RecordRow): RecordRow {
  return { ...row, operation: 'modified', base: idOf('first'), secondBase: idOf('second') }
}

function created(row: RecordRow): RecordRow {
  return { ...row, operation: 'created', base: zeroId, secondBase: zeroId }
}
