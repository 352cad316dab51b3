// Vectors of plaintexts: records, details, memories, settings and directories, each padded as its
// type is. FORMAT §5, §6.1, §6.2, §7.

import { concatBytes, utf8 } from '../../../src/bytes.ts'
import { sha256 } from '../../../src/crypto/digest.ts'
import { type DetailRow, encodeDetail } from '../../../src/format/detail.ts'
import {
  type DeviceEntry,
  type Directory,
  encodeDirectory,
  type RecoveryEntry,
} from '../../../src/format/directory.ts'
import { recoveryIdOf } from '../../../src/format/id.ts'
import { encodeMemoryBlob } from '../../../src/format/memory-blob.ts'
import { zeroHash } from '../../../src/format/record.ts'
import { encodeSettings } from '../../../src/format/settings.ts'
import { plainSettings } from '../../support/forge-fault.ts'
import { countingRandom, idOf, put, type Spoil } from '../../support/forge-seal.ts'
import { standardHistory } from '../../support/standard-forge.ts'
import type { Group, Vector } from '../vector.ts'
import { padding, type Plain, plain } from './plaintext.ts'
import { records } from './records.ts'

export async function plainForms(): Promise<Partial<Record<Group, readonly Vector[]>>> {
  const standard = await standardHistory('plain vectors')
  return {
    records: records(standard.forge),
    details: details(),
    memories: memories(),
    settings: settings(),
    directories: directories(standard.forge.directory),
  }
}

function detailOf(...rows: readonly DetailRow[]): Plain {
  return { type: 'detail', clause: '6.2', plaintext: encodeDetail(rows) }
}

function details(): readonly Vector[] {
  const random = countingRandom('details')
  const row = (index: number, change: Partial<DetailRow> = {}): DetailRow => ({
    row: index,
    path: `/${index}.md`,
    note: index === 0 ? 'why' : '',
    size: 5,
    sha256: random(32),
    blinding: random(32),
    ...change,
  })
  const honest = detailOf(row(0))
  return [
    plain(detailOf(), 'accepted', 'no row'),
    plain(honest, 'accepted', 'one row'),
    plain(detailOf(row(0), row(2), row(9)), 'accepted', 'three rows, others redacted'),
    plain(detailOf(row(0, { note: 'x'.repeat(4096) })), 'accepted', 'a note of 4,096 bytes'),
    plain(detailOf(row(0, { note: 'a\0b\nc' })), 'accepted', 'a note of any text'),
    plain(detailOf(row(0, { path: `/${'a'.repeat(1023)}` })), 'accepted', 'a path of 1,024 bytes'),
    plain(honest, 'upgrade_required', 'version 2', put(0, 2)),
    plain(honest, 'detail_malformed', 'more rows than there are', put(1, 0, 9)),
    plain(honest, 'detail_malformed', 'a path that is too long', put(5, 4, 1)),
    plain(honest, 'detail_malformed', 'a note of 4,097 bytes', put(7, 0x10, 0x01)),
    plain(honest, 'detail_malformed', 'a path that is not UTF-8', put(45, 0x2f, 0xff)),
    plain(detailOf(row(0, { path: 'a' })), 'detail_malformed', 'a path that is refused'),
    plain(detailOf(row(1, { note: 'x' })), 'detail_malformed', 'a note in another row'),
    plain(detailOf(row(1), row(1)), 'detail_malformed', 'one row twice'),
    plain(detailOf(row(2), row(1)), 'detail_malformed', 'rows that do not ascend'),
    ...padding(honest),
  ]
}

function memoryOf(content: string, path = '/a.md'): Plain {
  const facts = { versionId: idOf('version'), created: 1_700_000_000_000 }
  const blob = { path, content, ...facts, sha256: sha256(utf8(content)) }
  return { type: 'memory', clause: '5', plaintext: encodeMemoryBlob(blob) }
}

function memories(): readonly Vector[] {
  const honest = memoryOf('hello\n')
  const spoiltText = (...bytes: readonly number[]): Plain => {
    const text = Uint8Array.from(bytes)
    const { plaintext } = memoryOf('x'.repeat(text.length))
    const hashed = put(32, ...sha256(text))(plaintext)
    return { ...honest, plaintext: put(plaintext.length - text.length, ...text)(hashed) }
  }
  return [
    plain(honest, 'accepted', 'a text'),
    plain(memoryOf(''), 'accepted', 'an empty text'),
    plain(memoryOf('\ufeffä🦉\r\n\u2028\u0001'), 'accepted', 'a text of any characters'),
    plain(memoryOf('x'.repeat(5000)), 'accepted', '5,000 bytes'),
    plain(memoryOf('x', `/${'a'.repeat(1023)}`), 'accepted', 'a path of 1,024 bytes'),
    plain(honest, 'upgrade_required', 'version 2', put(0, 2)),
    plain(honest, 'upgrade_required', 'compression 1', put(1, 1)),
    plain(memoryOf('x'.repeat(1280 - 69)), 'accepted', '1,280 bytes with its path and header'),
    plain(memoryOf('x'.repeat(1281 - 69)), 'accepted', 'a byte more than 1,280'),
    plain(honest, 'memory_malformed', 'a path that is longer than all', put(2, 0xff, 0xff)),
    plain(honest, 'memory_malformed', 'a text of more than 16 MiB', put(4, 1, 0, 0, 1)),
    plain(honest, 'memory_malformed', 'a time of 2^53', put(24, 0, 0x20)),
    plain(honest, 'memory_malformed', 'another hash', put(32, 0xff, 0xff)),
    plain(memoryOf('x', '/a/../b'), 'memory_malformed', 'a path that is refused'),
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
  const ofEntry = {
    deviceId: recoveryIdOf(entry.slotId, entry.signingKey),
    removed: 1,
    sequence: 0,
    record: zeroHash,
  }
  const argon2 = { salt: new Uint8Array(16), passes: 1, memoryKiB: 65_536 }
  const hasty = { ...entry, type: 'passphrase', argon2 } as const
  const malformed = (name: string, one: Plain, spoil?: Spoil): Vector =>
    plain(one, 'keyring_malformed', name, spoil)
  return [
    plain(honest, 'accepted', 'three devices'),
    plain(of({ recovery: [entry, second] }), 'accepted', 'two recovery keys'),
    plain(of({ recovery: [] }), 'accepted', 'no recovery key'),
    plain(
      of({
        number: 0,
        previous: undefined,
        founderRandom: zeroHash,
        devices: [{ ...first, added: 0 }],
      }),
      'accepted',
      'number 0',
    ),
    plain(honest, 'upgrade_required', 'version 2', put(0, 2)),
    plain(honest, 'upgrade_required', 'version 0', put(0, 0)),
    malformed('no givers', honest, put(2, 0)),
    malformed('givers 3', honest, put(2, 3)),
    malformed('a reserved byte', honest, put(3, 1)),
    malformed('more devices than there are', honest, put(4, 0, 200)),
    malformed('251 devices', honest, put(4, 0, 251)),
    malformed('16,385 removed devices', honest, put(6, 0x40, 1)),
    malformed('66 recovery entries', honest, put(8, 0, 66)),
    malformed('no previous directory', honest, put(1, 0)),
    malformed('two previous directories', honest, put(1, 2)),
    malformed('devices that do not ascend', of({ devices: directory.devices.toReversed() })),
    malformed('one device twice', of({ devices: [first, first] })),
    malformed("an id that is not the key's", device({ deviceId: 'ff'.repeat(16) })),
    malformed('a device that is still to come', device({ added: 9 })),
    malformed('a removed device with the id of a recovery key', of({ removed: [ofEntry] })),
    malformed('a passphrase of 1 pass of Argon2id', of({ recovery: [hasty] })),
    malformed('recovery entries that do not ascend', of({ recovery: [second, entry] })),
    ...names(device),
    ...quotas(of),
    ...removals(directory, of),
    ...passphrases(of, entry),
    ...padding(honest),
  ]
}

function names(device: (change: Partial<DeviceEntry>) => Plain): readonly Vector[] {
  const of = (expect: string, what: string, name: string): Vector =>
    plain(device({ name, added: 0 }), expect, what)
  const refused = 'keyring_malformed'
  const slotId = 'bb'.repeat(16)
  return [
    of('accepted', 'a device with a name', 'Zoë’s laptop'),
    of('accepted', 'a name of 64 wide characters', '🦉'.repeat(64)),
    of(refused, 'a name of 65 characters', 'x'.repeat(65)),
    of(refused, 'a name with a line break', 'a\nb'),
    of(refused, 'a name with a zero-width space', 'a\u200bb'),
    of(refused, 'a name with a variation selector', '\u2764\ufe0f'),
    of(refused, 'a name with a line separator', 'a\u2028b'),
    of(refused, 'a name with white space before it', ' a'),
    of(refused, 'a name with a no-break space after it', 'a\u00a0'),
    of(refused, 'a name with an ideographic space before it', '\u3000a'),
    of('accepted', 'a name that is not in NFC', 'e\u0301'),
    of('accepted', 'a name with a character that is not assigned', '\u0378'),
    plain(device({ admittedBy: 'recovery', slotId }), 'accepted', 'a device by a recovery key'),
    plain(device({ admittedBy: 'passphrase', slotId }), 'accepted', 'a device by a passphrase'),
    plain(device({}), refused, 'a device by nobody', put(admittedAt, 0)),
    plain(device({}), refused, 'a device by a fourth kind', put(admittedAt, 4)),
    plain(device({ admittedBy: 'recovery' }), refused, 'a device by a recovery key of no slot'),
    plain(device({}), refused, 'a device by an owner, and of a slot', put(admittedAt + 1, 1)),
    plain(device({}), refused, 'a role of none', put(admittedAt - 1, 0)),
    plain(device({}), refused, 'a fifth role', put(admittedAt - 1, 5)),
    plain(
      device({ keySignature: new Uint8Array(64) }),
      'accepted',
      'a key signature that does not verify, which is checked where a device is new',
    ),
    plain(device({}), refused, 'a name that is not UTF-8', put(admittedAt + 25, 0, 1, 0xff)),
  ]
}

/** Of the first device, after one previous directory. */
const admittedAt = 20 + 32 + 16 + 32 + 1216 + 64 + 1

function quotas(of: (change: Partial<Directory>) => Plain): readonly Vector[] {
  return [
    plain(of({ quota: 0 }), 'accepted', 'a quota of none'),
    plain(of({ quota: 250 }), 'accepted', 'a quota of 250'),
    plain(of({ quota: 251 }), 'keyring_malformed', 'a quota of 251'),
  ]
}

function removals(
  { devices }: Directory,
  of: (change: Partial<Directory>) => Plain,
): readonly Vector[] {
  const last = { sequence: 3, record: new Uint8Array(32).fill(8) }
  const none = { sequence: 0, record: zeroHash }
  const one = { deviceId: '01'.repeat(16), removed: 1, ...last }
  const other = { deviceId: '02'.repeat(16), removed: 2, ...none }
  const [first] = devices
  if (first === undefined) throw new Error('No device')
  const removed = (...list: Directory['removed']): Plain => of({ removed: list })
  return [
    plain(removed(one, other), 'accepted', 'two removed devices, one without a record'),
    plain(removed(other, one), 'keyring_malformed', 'removed devices that do not ascend'),
    plain(removed(one, one), 'keyring_malformed', 'one device removed twice'),
    plain(removed({ ...one, removed: 0 }), 'keyring_malformed', 'a device removed at number 0'),
    plain(removed({ ...one, removed: 9 }), 'keyring_malformed', 'a device that is still to go'),
    plain(
      removed({ ...one, deviceId: first.deviceId }),
      'keyring_malformed',
      'a device that is there and removed',
    ),
  ]
}

function passphrases(
  of: (change: Partial<Directory>) => Plain,
  entry: RecoveryEntry,
): readonly Vector[] {
  const argon2 = { salt: new Uint8Array(16).fill(5), passes: 3, memoryKiB: 262_144 }
  const some = (count: number): Directory['recovery'] =>
    Array.from({ length: count }, (_, index) => {
      return { ...entry, type: 'passphrase', slotId: `f${index}`.repeat(16), argon2 }
    })
  return [
    plain(of({ recovery: some(1) }), 'accepted', 'a passphrase'),
    plain(of({ recovery: some(2) }), 'keyring_malformed', 'two passphrases'),
  ]
}

/** The field of the JSON, in its one form. */
function metadata(pairs: Readonly<Record<string, string>>): string {
  const fields = Object.keys(pairs)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${JSON.stringify(pairs[key])}`)
  return `"metadata":{${fields.join(',')}}`
}
