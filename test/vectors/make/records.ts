// Vectors of records with the key that signed them. FORMAT §6.1.

import { toHex } from '../../../src/bytes.ts'
import type { GrantRow, RecordBody, SignedRow } from '../../../src/format/change-record.ts'
import { decodeSignedBody, signRecord, zeroHash, zeroId } from '../../../src/format/record.ts'
import { idOf, put } from '../../support/forge-seal.ts'
import type { Forge } from '../../support/forge.ts'
import type { Vector } from '../vector.ts'
import { padding, type Plain, plain } from './plaintext.ts'

type FieldCase = readonly [expect: string, name: string, change: Partial<RecordBody>]

/** Bytes of a change with one row and one parent that are overwritten after signing. */
const changedBytes: readonly (readonly [
  expect: string,
  name: string,
  offset: number,
  ...values: readonly number[],
])[] = [
  ['upgrade_required', 'version 2', 0, 2],
  ['upgrade_required', 'kind 7', 1, 7],
  ['upgrade_required', 'kind 0', 1, 0],
  ['record_malformed', 'a reserved byte', 3, 1],
  ['record_malformed', 'three parents', 2, 3],
  ['record_malformed', 'a height of 2^53', 4, 0, 0x20],
  ['record_malformed', 'an actor type 5', 140, 5],
  ['record_malformed', 'an actor of 65 characters', 141, 65],
  ['record_malformed', 'an actor that is not filled with zeros', 205, 0x61],
  ['record_malformed', 'a session with a slash', 206, 1, 0x2f],
  ['record_malformed', 'a reason 7', 271, 7],
  ['record_malformed', 'an operation 4', 394, 4],
  ['record_rows', 'no operation', 394, 0],
  ['device_signature_invalid', 'another base', 362, 0xff],
  ['device_signature_invalid', 'another signature', 427, 0xff],
]

/** Bytes of a record that begins a grant, likewise. */
const changedGrants: typeof changedBytes = [
  ['record_rows', 'a grant that neither begins nor ends', 378, 3],
  ['record_rows', 'a grant to an owner', 379, 1],
  ['record_rows', 'a grant to an auditor', 379, 4],
  ['record_rows', 'an end with a role', 378, 2],
  ['record_rows', 'an end without a role, with a time', 378, 2, 0],
  ['record_rows', 'a grant of no role', 379, 0],
  ['record_malformed', 'a grant until 2^53', 380, 0, 0x20],
  ['record_rows', 'a reserved byte of a grant', 388, 1],
  ['record_rows', 'a scope of a grant', 426, 1],
  ['device_signature_invalid', 'the key of another grant', 346, 0xff],
]

const ones = new Uint8Array(32).fill(1)
const both = [zeroHash, ones]
const ofTwo: Partial<RecordBody> = {
  kind: 'keyring',
  keyringHash: ones,
  directoryNumber: 9,
  parents: both,
}

const fresh: SignedRow = {
  memoryId: zeroId,
  base: zeroId,
  secondBase: zeroId,
  operation: 'created',
  commitment: ones,
}
const edit: SignedRow = { ...fresh, operation: 'modified', base: idOf('b') }
const grant = { key: ones, begins: { role: 'writer', notAfter: 1_800_000_000_000 } } as const
const ending: GrantRow = { grantId: '02'.repeat(16), begins: undefined }
const granting: Partial<RecordBody> = { kind: 'grants', rows: [], grants: [grant] }
const redaction: SignedRow = {
  memoryId: idOf('a'),
  base: idOf('b'),
  secondBase: zeroId,
  operation: undefined,
  commitment: zeroHash,
}

export function records({ entries, seed, founder }: Forge): readonly Vector[] {
  const bodies = entries.map(({ signed }) => decodeSignedBody(signed))
  const last = bodies.at(-1)
  if (last === undefined) throw new Error('No record')
  const who = { seed, publicKey: toHex(founder.signing.publicKey) }
  const signBody = (record: RecordBody): Plain => {
    const plaintext = signRecord({ seed }, record, founder.signing)
    return { type: 'record', clause: '6.1', plaintext }
  }
  const honest = signBody(last)
  const honestGrant = signBody({ ...last, ...granting })
  const all = [
    ...bodies.map((body) => plain(signBody(body), 'accepted', `${body.kind} ${body.height}`)),
    ...changedBytes.map(([expect, name, offset, ...values]) =>
      plain(honest, expect, name, put(offset, ...values)),
    ),
    ...changedGrants.map(([expect, name, offset, ...values]) =>
      plain(honestGrant, expect, name, put(offset, ...values)),
    ),
    ...[
      ...allowedFields(last),
      ...refusedFields(),
      ...refusedRows(last),
      ...mergeFields(last),
      ...grantFields(last),
    ].map(([expect, name, change]) => plain(signBody({ ...last, ...change }), expect, name)),
    plain(honest, 'record_malformed', 'cut off', (bytes) => bytes.slice(0, 400)),
    ...padding(honest),
  ]
  return all.map((vector) => Object.assign({}, vector, who))
}

/** The rows of the record, and of another memory. */
function twoRows({ rows }: RecordBody): readonly SignedRow[] {
  return rows.flatMap((row) => [row, { ...row, memoryId: 'ff'.repeat(16) }])
}

function allowedFields(last: RecordBody): readonly FieldCase[] {
  const rows = twoRows(last)
  return [
    ['accepted', 'the last time of the calendar', { time: 8.64e15 }],
    ['accepted', 'two rows', { rows }],
    ['accepted', 'two new memories before another one', { rows: [fresh, fresh, ...rows] }],
    ['accepted', 'a memory that is restored', { rows: rows.map(restored) }],
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

function refusedFields(): readonly FieldCase[] {
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
  ]
}

function refusedRows(last: RecordBody): readonly FieldCase[] {
  const rows = twoRows(last)
  return [
    ['record_rows', 'no row', { rows: [] }],
    ['record_rows', 'rows that do not ascend', { rows: rows.toReversed() }],
    ['record_rows', 'one memory twice', { rows: [...rows.slice(0, 1), ...rows.slice(0, 1)] }],
    ['record_rows', 'a new memory after another one', { rows: [...rows, fresh] }],
    ['record_rows', 'a new memory with an id', { rows: [{ ...fresh, memoryId: idOf('a') }] }],
    ['record_rows', 'an edit of no memory', { rows: [{ ...edit, memoryId: zeroId }] }],
    ['record_rows', 'a restored memory without an id', { rows: [{ ...fresh, base: idOf('b') }] }],
    [
      'record_rows',
      'a redaction of no memory',
      { kind: 'redact', reason: 'legal', rows: [{ ...redaction, memoryId: zeroId }] },
    ],
    [
      'record_rows',
      'one version redacted twice',
      { kind: 'redact', reason: 'legal', rows: [redaction, redaction] },
    ],
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

/** Two parents: merges. */
function mergeFields(last: RecordBody): readonly FieldCase[] {
  const rows = twoRows(last)
  return [
    ['accepted', 'a merge with a row of two bases', { parents: both, rows: rows.map(twoBased) }],
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
    ['record_malformed', 'a change of the keyring with two parents', { ...ofTwo, rows: [] }],
    ['record_rows', 'a merge that creates', { parents: both, rows: [fresh] }],
    ['record_rows', 'a merge that restores', { parents: both, rows: rows.map(restored) }],
  ]
}

/** Kind 6 (FORMAT §12). */
function grantFields({ rows }: RecordBody): readonly FieldCase[] {
  const many = Array.from({ length: 65 }, (_, index): GrantRow => {
    return { ...grant, key: new Uint8Array(32).fill(index) }
  })
  return [
    ['accepted', 'a grant and the end of another', { ...granting, grants: [grant, ending] }],
    ['accepted', 'a grant without an actor', { ...granting, actor: undefined }],
    ['accepted', '64 grants', { ...granting, grants: many.slice(1) }],
    ['record_rows', '65 grants', { ...granting, grants: many }],
    ['record_rows', 'no grant', { ...granting, grants: [] }],
    ['record_rows', 'grants that do not ascend', { ...granting, grants: [ending, grant] }],
    ['record_rows', 'one grant twice', { ...granting, grants: [grant, grant] }],
    [
      'record_rows',
      'a grant beyond the calendar',
      { ...granting, grants: [{ ...grant, begins: { role: 'reader', notAfter: 8.64e15 + 1 } }] },
    ],
    ['record_malformed', 'grants with two parents', { ...granting, parents: both }],
    ['record_malformed', 'a reason in grants', { ...granting, reason: 'legal' }],
    ['record_malformed', 'settings in grants', { ...granting, settingsHash: ones }],
    ['record_rows', 'versions in grants', { kind: 'grants', rows }],
  ]
}

function twoBased(row: SignedRow): SignedRow {
  return { ...row, operation: 'modified', base: idOf('first'), secondBase: idOf('second') }
}

function restored(row: SignedRow): SignedRow {
  return { ...row, operation: 'created', base: idOf('first'), secondBase: zeroId }
}
