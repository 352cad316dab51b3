// Vectors of plaintexts: records, details, memories, settings and directories, each padded as its
// type is. FORMAT §5, §6.1, §6.2, §7.

import { concatBytes, toHex, utf8 } from '../../../src/bytes.ts'
import { sha256 } from '../../../src/crypto/digest.ts'
import { encodeDetail } from '../../../src/format/detail.ts'
import type { DetailRow } from '../../../src/format/detail.ts'
import { encodeDirectory } from '../../../src/format/directory.ts'
import type { Directory } from '../../../src/format/directory.ts'
import type { EnvelopeType } from '../../../src/format/envelope.ts'
import { encodeMemoryBlob } from '../../../src/format/memory-blob.ts'
import { signRecord, zeroHash, zeroId } from '../../../src/format/record.ts'
import type { ChangeRecord } from '../../../src/format/record.ts'
import { encodeSettings } from '../../../src/format/settings.ts'
import { plainSettings } from '../../support/forge-fault.ts'
import { countingRandom, idOf, pad, put } from '../../support/forge-seal.ts'
import type { Spoil } from '../../support/forge-seal.ts'
import { standardHistory } from '../../support/standard-forge.ts'
import type { Standard } from '../../support/standard-forge.ts'
import type { Group, Vector } from '../vector.ts'

export async function plainForms(): Promise<Partial<Record<Group, readonly Vector[]>>> {
  const standard = await standardHistory('plain vectors')
  return {
    records: records(standard),
    details: details(),
    memories: memories(),
    settings: settings(),
    directories: directories(standard.forge.directory),
  }
}

interface Plain {
  readonly type: EnvelopeType
  readonly clause: string
  readonly plaintext: Uint8Array
}

const keep: Spoil = (bytes) => bytes

function plain(one: Plain, expect: string, name: string, spoil: Spoil = keep): Vector {
  const padded = toHex(spoil(pad(one.type, one.plaintext)))
  return { name, clause: one.clause, expect, padded }
}

/** The faults of padding, which every type has. */
function padding(one: Plain): readonly Vector[] {
  const more =
    (count: number): Spoil =>
    (bytes) =>
      concatBytes(bytes, new Uint8Array(count))
  return [
    plain(one, 'envelope_padding', 'the last byte of the padding', (b) => put(b.length - 1, 1)(b)),
    plain(one, 'envelope_padding', 'the first byte of the padding', put(one.plaintext.length, 1)),
    plain(one, 'envelope_padding', 'a byte of padding more', more(1)),
    plain(one, 'envelope_padding', '256 bytes of padding more', more(256)),
    plain(one, 'envelope_padding', 'no padding', () => one.plaintext),
  ]
}

function records({ forge }: Standard): readonly Vector[] {
  const last = forge.entries.at(-1)?.record
  if (last === undefined) throw new Error('No record')
  const { storeId, founder } = forge
  const publicKey = toHex(founder.signing.publicKey)
  const signed = (record: ChangeRecord): Plain => {
    const plaintext = signRecord(storeId, record, founder.signing)
    return { type: 'record', clause: '6.1', plaintext }
  }
  const honest = signed(last)
  const fields = (expect: string, name: string, change: Partial<ChangeRecord>): Vector =>
    plain(signed({ ...last, ...change }), expect, name)
  const body = (expect: string, name: string, ...patch: readonly number[]): Vector => {
    const [offset = 0, ...values] = patch
    return plain(honest, expect, name, put(offset, ...values))
  }
  const [row] = last.rows
  const rows = row === undefined ? [] : [row, { ...row, memoryId: 'ff'.repeat(16) }]
  const redaction = { ...emptyRow, memoryId: idOf('a'), versionId: idOf('b') }
  const all = [
    ...forge.entries.map(({ record }) =>
      plain(signed(record), 'accepted', `${record.kind} ${record.height}`),
    ),
    fields('accepted', 'two rows', { rows }),
    fields('accepted', 'every name', { actor: { type: 'api', id: 'Az09._:@-' }, session: 's' }),
    fields('accepted', 'names of 64 characters', {
      actor: { type: 'user', id: 'x'.repeat(64) },
      session: 'y'.repeat(64),
    }),
    fields('accepted', 'a redaction', { kind: 'redact', reason: 'legal', rows: [redaction] }),
    fields('accepted', 'two parents and no row', {
      parents: [zeroHash, new Uint8Array(32).fill(1)],
      rows: [],
    }),
    body('upgrade_required', 'version 2', 0, 2),
    body('upgrade_required', 'kind 6', 1, 6),
    body('upgrade_required', 'kind 0', 1, 0),
    body('record_malformed', 'a reserved byte', 3, 1),
    body('record_malformed', 'three parents', 2, 3),
    body('record_malformed', 'a height of 2^53', 4, 0, 0x20),
    body('record_malformed', 'an actor type 5', 140, 5),
    body('record_malformed', 'an actor of 65 characters', 141, 65),
    body('record_malformed', 'an actor that is not filled with zeros', 205, 0x61),
    body('record_malformed', 'a session with a slash', 206, 1, 0x2f),
    body('record_malformed', 'a reason 7', 271, 7),
    body('record_malformed', 'an operation 4', 410, 4),
    body('record_rows', 'no operation', 410, 0),
    body('device_signature_invalid', 'another version id', 362, 0xff),
    body('device_signature_invalid', 'another signature', 443, 0xff),
    fields('record_malformed', 'no actor', { actor: undefined }),
    fields('record_malformed', 'a reason in a change', { reason: 'legal' }),
    fields('record_malformed', 'no reason in a redaction', { kind: 'redact', rows: [redaction] }),
    fields('record_malformed', 'settings in a change', {
      settingsHash: new Uint8Array(32).fill(1),
    }),
    fields('record_malformed', 'a keyring in a change', {
      keyringHash: new Uint8Array(32).fill(1),
    }),
    fields('record_malformed', 'a directory number in a change', { directoryNumber: 1 }),
    fields('record_malformed', 'a change without a parent', { parents: [] }),
    fields('record_malformed', 'parents that do not ascend', {
      parents: [new Uint8Array(32).fill(1), zeroHash],
    }),
    fields('record_malformed', 'a session that contradicts the actor', {
      actor: { type: 'session', id: 'a' },
      session: 'b',
    }),
    fields('record_rows', 'no row', { rows: [] }),
    fields('record_rows', 'rows that do not ascend', { rows: rows.toReversed() }),
    fields('record_rows', 'one memory twice', { rows: [...rows.slice(0, 1), ...rows.slice(0, 1)] }),
    fields('record_rows', 'rows in a change of settings', {
      kind: 'settings',
      settingsHash: new Uint8Array(32).fill(1),
    }),
    fields('record_rows', 'a redaction that changes', { kind: 'redact', reason: 'legal' }),
    plain(honest, 'record_malformed', 'cut off', (bytes) => bytes.slice(0, 400)),
    ...padding(honest),
  ]
  return all.map((vector) => ({ ...vector, storeId, publicKey }))
}

const emptyRow = {
  base: zeroId,
  secondBase: zeroId,
  operation: undefined,
  commitment: zeroHash,
} as const

function details(): readonly Vector[] {
  const random = countingRandom('details')
  const row = (index: number, change: Partial<DetailRow> = {}): DetailRow => ({
    ...{ row: index, path: `/${index}.md`, note: index === 0 ? 'why' : '', size: 5 },
    ...{ sha256: random(32), blinding: random(32) },
    ...change,
  })
  const of = (...rows: readonly DetailRow[]): Plain => {
    return { type: 'detail', clause: '6.2', plaintext: encodeDetail(rows) }
  }
  const honest = of(row(0))
  return [
    plain(of(), 'accepted', 'no row'),
    plain(honest, 'accepted', 'one row'),
    plain(of(row(0), row(2), row(9)), 'accepted', 'three rows, others redacted'),
    plain(of(row(0, { note: 'x'.repeat(4096) })), 'accepted', 'a note of 4,096 bytes'),
    plain(of(row(0, { note: 'a\0b\nc' })), 'accepted', 'a note of any text'),
    plain(of(row(0, { path: `/${'a'.repeat(1023)}` })), 'accepted', 'a path of 1,024 bytes'),
    plain(honest, 'upgrade_required', 'version 2', put(0, 2)),
    plain(honest, 'detail_malformed', 'more rows than there are', put(1, 0, 9)),
    plain(honest, 'detail_malformed', 'a path that is too long', put(5, 4, 1)),
    plain(honest, 'detail_malformed', 'a note of 4,097 bytes', put(7, 0x10, 0x01)),
    plain(honest, 'detail_malformed', 'a path that is not UTF-8', put(45, 0x2f, 0xff)),
    plain(of(row(0, { path: 'a' })), 'detail_malformed', 'a path that is refused'),
    plain(of(row(1, { note: 'x' })), 'detail_malformed', 'a note in another row'),
    plain(of(row(1), row(1)), 'detail_malformed', 'one row twice'),
    plain(of(row(2), row(1)), 'detail_malformed', 'rows that do not ascend'),
    ...padding(honest),
  ]
}

function memories(): readonly Vector[] {
  const of = (content: string, path = '/a.md'): Plain => {
    const facts = { versionId: idOf('version'), created: 1_700_000_000_000 }
    const blob = { path, content, ...facts, sha256: sha256(utf8(content)) }
    return { type: 'memory', clause: '5', plaintext: encodeMemoryBlob(blob) }
  }
  const honest = of('hello\n')
  const spoiltText = (...bytes: readonly number[]): Plain => {
    const text = Uint8Array.from(bytes)
    const { plaintext } = of('x'.repeat(text.length))
    const hashed = put(32, ...sha256(text))(plaintext)
    return { ...honest, plaintext: put(plaintext.length - text.length, ...text)(hashed) }
  }
  return [
    plain(honest, 'accepted', 'a text'),
    plain(of(''), 'accepted', 'an empty text'),
    plain(of('\ufeffä🦉\r\n\u2028\u0001'), 'accepted', 'a text of any characters'),
    plain(of('x'.repeat(5000)), 'accepted', '5,000 bytes'),
    plain(of('x', `/${'a'.repeat(1023)}`), 'accepted', 'a path of 1,024 bytes'),
    plain(honest, 'upgrade_required', 'version 2', put(0, 2)),
    plain(honest, 'memory_malformed', 'a reserved byte', put(1, 1)),
    plain(honest, 'memory_malformed', 'a path that is longer than all', put(2, 0xff, 0xff)),
    plain(honest, 'memory_malformed', 'a text of more than 16 MiB', put(4, 1, 0, 0, 1)),
    plain(honest, 'memory_malformed', 'a time of 2^53', put(24, 0, 0x20)),
    plain(honest, 'memory_malformed', 'another hash', put(32, 0xff, 0xff)),
    plain(of('x', '/a/../b'), 'memory_malformed', 'a path that is refused'),
    plain(spoiltText(0x61, 0, 0x62), 'memory_malformed', 'NUL'),
    plain(spoiltText(0xff), 'memory_malformed', 'a text that is not UTF-8'),
    plain(spoiltText(0xed, 0xa0, 0x80), 'memory_malformed', 'a surrogate'),
    ...padding(honest),
  ]
}

function settings(): readonly Vector[] {
  const honest: Plain = {
    type: 'settings',
    clause: '5.1',
    plaintext: encodeSettings(plainSettings),
  }
  const json = Buffer.from(honest.plaintext.subarray(6)).toString('utf8')
  const of = (expect: string, name: string, from: string | RegExp, to: string): Vector => {
    const text = utf8(json.replace(from, to))
    const length = Uint8Array.of(1, 0, 0, 0, text.length >> 8, text.length)
    return plain({ ...honest, plaintext: concatBytes(length, text) }, expect, name)
  }
  const metadata = (pairs: Readonly<Record<string, string>>): string => {
    const sorted = Object.keys(pairs).toSorted()
    return `"metadata":{${sorted.map((key) => `${JSON.stringify(key)}:${JSON.stringify(pairs[key])}`).join(',')}}`
  }
  const none = '"metadata":{}'
  const refused = 'settings_malformed'
  return [
    plain(honest, 'accepted', 'as a new store has them'),
    of('accepted', 'metadata', none, metadata({ b: '', a: 'x', B: 'ä🦉' })),
    of('accepted', 'metadata with keys that are numbers', none, metadata({ '10': 'x', '9': 'y' })),
    of('accepted', 'archived', 'null', '1700000000000'),
    of('accepted', 'a name of 255 wide characters', 'forged', '🦉'.repeat(255)),
    of(refused, 'a name of 256 characters', 'forged', 'x'.repeat(256)),
    of(refused, 'no name', 'forged', ''),
    of(refused, 'a control character in the name', 'forged', String.raw`a\u0007`),
    of(
      refused,
      'a description of 1,025 characters',
      '"description":""',
      `"description":"${'x'.repeat(1025)}"`,
    ),
    of(
      refused,
      '17 pairs',
      none,
      metadata(Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, '']))),
    ),
    of(refused, 'an empty key', none, metadata({ '': 'x' })),
    of(refused, 'a value of 513 characters', none, metadata({ a: 'x'.repeat(513) })),
    of(refused, 'metadata in another order', none, '"metadata":{"b":"","a":""}'),
    of(refused, 'a value that is no text', none, '"metadata":{"a":1}'),
    of(refused, 'white space', '{', '{ '),
    of(refused, 'a field more', '{', '{"x":1,'),
    of(refused, 'a field less', '"description":"",', ''),
    of(refused, 'an escape that need not be', 'forged', String.raw`\u0066orged`),
    of(refused, 'a limit of 0', '102400', '0'),
    of(refused, 'a limit above 16 MiB', '102400', '16777217'),
    of(refused, 'a limit of 1,000,001 memories', '10000}', '1000001}'),
    of(refused, 'no JSON', '{', '['),
    plain(honest, 'upgrade_required', 'version 2', put(0, 2)),
    plain(honest, refused, 'a reserved byte', put(1, 1)),
    plain(honest, refused, 'a length beyond the end', put(2, 0, 0, 0xff, 0xff)),
    ...padding(honest),
  ]
}

function directories(directory: Directory): readonly Vector[] {
  const of = (change: Partial<Directory>): Plain => {
    const plaintext = encodeDirectory({ ...directory, ...change })
    return { type: 'directory', clause: '7', plaintext }
  }
  const honest = of({})
  const [first] = directory.devices
  const [entry] = directory.recovery
  if (first === undefined || entry === undefined) throw new Error('No device')
  const device = (change: Partial<typeof first>): Plain =>
    of({ devices: [{ ...first, ...change }] })
  const second = { ...entry, slotId: 'ff'.repeat(16) }
  return [
    plain(honest, 'accepted', 'three devices'),
    plain(of({ recovery: [entry, second] }), 'accepted', 'two recovery keys'),
    plain(of({ recovery: [] }), 'accepted', 'no recovery key'),
    plain(
      of({ number: 0, previous: [], founderRandom: zeroHash, devices: [{ ...first, added: 0 }] }),
      'accepted',
      'number 0',
    ),
    plain(honest, 'upgrade_required', 'version 2', put(0, 2)),
    plain(honest, 'keyring_malformed', 'more devices than there are', put(2, 0, 200)),
    plain(honest, 'keyring_malformed', '251 devices', put(2, 0, 251)),
    plain(of({ previous: [] }), 'keyring_malformed', 'no previous directory'),
    plain(
      of({ devices: directory.devices.toReversed() }),
      'keyring_malformed',
      'devices that do not ascend',
    ),
    plain(of({ devices: [first, first] }), 'keyring_malformed', 'one device twice'),
    plain(
      device({ deviceId: 'ff'.repeat(16) }),
      'keyring_malformed',
      "an id that is not the key's",
    ),
    plain(device({ added: 9 }), 'keyring_malformed', 'a device that is still to come'),
    plain(device({ removed: 9 }), 'keyring_malformed', 'a device that is still to go'),
    plain(
      of({ recovery: [second, entry] }),
      'keyring_malformed',
      'recovery entries that do not ascend',
    ),
    plain(
      of({
        recovery: [
          { ...entry, type: 'passphrase' },
          { ...second, type: 'passphrase' },
        ],
      }),
      'keyring_malformed',
      'two passphrases',
    ),
    ...padding(honest),
  ]
}
