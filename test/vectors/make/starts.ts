// Vectors of starts (FORMAT §13), one fault each. Store and granter are those of the grants.

import { concatBytes, fromHex, label, toHex, utf8 } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import { sign, type SigningKeyPair } from '../../../src/crypto/signature.ts'
import { startContext } from '../../../src/format/envelope.ts'
import { deviceIdOf } from '../../../src/format/id.ts'
import {
  encodeStart,
  type Start,
  type StartFloor,
  type StartGrant,
  type StartMemory,
  type StartState,
} from '../../../src/format/start.ts'
import { flipBit, idOf, put, seal, type SealFault, type Spoil } from '../../support/forge-seal.ts'
import type { Vector } from '../vector.ts'
import { endingIn, epoch, granter, random, seed, stranger } from './grants.ts'

const head = {
  record: random(32),
  height: 9,
  commit: toHex(random(20)),
  tree: toHex(random(20)),
}
const kids = [epoch.kid, idOf('an older epoch')].toSorted()
const [first = '', second = '', third = ''] = ['a', 'b', 'c'].map((one) => idOf(one)).toSorted()
const live = {
  updated: 1_700_000_000_000,
  size: 6,
  sha256: random(32),
  kid: epoch.kid,
  path: '/notes/ä.md',
}
const memories: readonly StartMemory[] = [
  { memoryId: first, value: { versionId: third, operation: 'modified', created: 1, live } },
  {
    memoryId: second,
    value: { versionId: first, operation: 'deleted', created: 2, live: undefined },
  },
  {
    memoryId: third,
    value: { versionId: second, operation: 'created', created: 3, live: undefined },
  },
]
const start: Start = {
  granter: deviceIdOf(granter.publicKey),
  counter: 3,
  time: 1_700_000_000_000,
  genesis: { record: random(32), time: 1_600_000_000_000 },
  kids,
  redacted: [second],
  state: {
    ...head,
    keyring: { record: random(32), blob: random(8) },
    settings: { record: random(32), height: 4, time: 5, blob: random(8) },
    devices: [
      { deviceId: first, value: { sequence: 4, record: random(32), forked: false } },
      { deviceId: second, value: { sequence: 1, record: random(32), forked: true } },
    ],
    grants: [
      {
        key: random(32),
        value: { granter: first, role: 'writer', notAfter: 1_800_000_000_000, ended: false },
      },
    ],
    memories,
  },
  floor: undefined,
}
const floor: StartFloor = {
  ...head,
  height: 5,
  keyring: undefined,
  settings: undefined,
  devices: [{ deviceId: second, value: undefined }],
  grants: [{ key: random(32), value: undefined }],
  memories: [{ memoryId: first, value: undefined }],
}

interface Making {
  readonly pair?: SigningKeyPair
  /** The signed bytes. */
  readonly body?: Spoil
  readonly header?: Spoil
  readonly envelope?: SealFault
}

function startBytes(what: Start, { pair = granter, body, header, envelope }: Making): Uint8Array {
  const keep: Spoil = (bytes) => bytes
  const before = (header ?? keep)(
    concatBytes(utf8('GLKS'), Uint8Array.of(1, 0, 0, 0), fromHex(epoch.kid + seed)),
  )
  const said = (body ?? keep)(encodeStart(what))
  const message = concatBytes(label('GLK1/start/v1'), fromHex(seed), hash256(before, said))
  const parts = { type: 'start', keys: epoch.start, hedge: new Uint8Array(32).fill(9) } as const
  const context = startContext({ seed }, hash256(before))
  const plaintext = concatBytes(said, sign(message, pair))
  return concatBytes(before, seal({ ...parts, context, plaintext }, envelope))
}

// Offsets of the fields of `start` in the signed bytes: two kids, one redacted version, blobs of 8.
const STATE = 72 + 4 + 32 + 4 + 16
const KEYRING = STATE + 80
const SETTINGS = KEYRING + 1 + 32 + 4 + 8
const DEVICES = SETTINGS + 1 + 32 + 8 + 8 + 4 + 8
const GRANTS = DEVICES + 4 + 2 * 57
const MEMORIES = GRANTS + 4 + 58
const LIVE = MEMORIES + 4 + 41

// Where the floor is, and the one item of each of its lists, none of which is there.
const FLOOR = encodeStart(start).length
const FLOOR_DEVICE = FLOOR + 80 + 2 + 4
const FLOOR_GRANT = FLOOR_DEVICE + 57 + 4
const FLOOR_MEMORY = FLOOR_GRANT + 58 + 4

function without(from: number, to: number): Spoil {
  return (bytes) => concatBytes(bytes.slice(0, from), Uint8Array.of(0), bytes.slice(to))
}

/** Faults of the signed bytes. */
const malformed: readonly (readonly [name: string, body: Spoil])[] = [
  ['epochs that do not ascend', put(76, ...new Uint8Array(16).fill(0xff))],
  ['a state without a keyring', without(KEYRING, SETTINGS)],
  ['a state without settings', without(SETTINGS, DEVICES)],
  ['a flag 2 of the keyring', put(KEYRING, 2)],
  ['a flag 2 of the settings', put(SETTINGS, 2)],
  ['a flag 2 of the floor', put(FLOOR - 1, 2)],
  ['a device without a record in the state', put(DEVICES + 4 + 16, ...new Uint8Array(41))],
  ['a device that is forked twice', put(DEVICES + 4 + 56, 2)],
  ['devices that do not ascend', put(DEVICES + 4, ...new Uint8Array(16).fill(0xff))],
  ['one device twice', put(DEVICES + 4 + 57, ...fromHex(first))],
  ['a grant to an owner', put(GRANTS + 4 + 48, 1)],
  ['a grant that has ended twice', put(GRANTS + 4 + 57, 2)],
  ['a grant in the state that is not there', put(GRANTS + 4 + 32, ...new Uint8Array(26))],
  ['an operation 4', put(MEMORIES + 4 + 32, 4)],
  ['an operation 16', put(MEMORIES + 4 + 32, 16)],
  ['a deletion that is live', put(MEMORIES + 4 + 32, 11)],
  ['no operation that is live', put(MEMORIES + 4 + 32, 8)],
  ['a memory in the state that is not there', put(FLOOR - 1 - 25, ...new Uint8Array(25))],
  ['an epoch that is not listed', put(LIVE + 44, 0, 2)],
  ['a path without a slash', put(LIVE + 48, 0x61)],
  ['a path that is not UTF-8', put(LIVE + 49, 0xff)],
  ['a height of 2^53', put(STATE + 32, 0, 0x20)],
  ['more epochs than there are bytes', put(72, 0xff, 0xff, 0xff, 0xff)],
  ['more devices than there are bytes', put(DEVICES, 0xff, 0xff, 0xff, 0xff)],
  ['more grants than there are bytes', put(GRANTS, 0xff, 0xff, 0xff, 0xff)],
  ['more memories than there are bytes', put(MEMORIES, 0xff, 0xff, 0xff, 0xff)],
  ['a blob longer than the start', put(KEYRING + 33, 0xff, 0xff, 0xff, 0xff)],
]

/** Faults of a floor, in entries that did not exist yet. */
const notAbsent: readonly (readonly [name: string, body: Spoil])[] = [
  ['a device that is not there, with a record', put(FLOOR_DEVICE + 24, 1)],
  ['a device that is not there, forked', put(FLOOR_DEVICE + 56, 1)],
  ['a grant that is not there, with a granter', put(FLOOR_GRANT + 32, 1)],
  ['a grant that is not there, with an end', put(FLOOR_GRANT + 56, 1)],
  ['a grant that is not there, ended', put(FLOOR_GRANT + 57, 1)],
  ['a memory that is not there, with a version', put(FLOOR_MEMORY + 16, 1)],
  ['a memory that is not there, with a time', put(FLOOR_MEMORY + 40, 1)],
]

function withState(change: Partial<StartState>): Start {
  return { ...start, state: { ...start.state, ...change } }
}

function withPath(path: string): Start {
  const value = { versionId: third, operation: 'modified', created: 1 } as const
  return withState({
    memories: [{ memoryId: first, value: { ...value, live: { ...live, path } } }],
  })
}

function giving(byte: number): StartGrant {
  const value = { granter: first, role: 'reader', notAfter: 0, ended: true } as const
  return { key: new Uint8Array(32).fill(byte), value }
}

/** Faults of lists and paths. */
const misled: readonly (readonly [name: string, what: Start])[] = [
  ['one epoch twice', { ...start, kids: [epoch.kid, epoch.kid] }],
  ['redacted versions that do not ascend', { ...start, redacted: [third, first] }],
  ['one redacted version twice', { ...start, redacted: [second, second] }],
  ['grants that do not ascend', withState({ grants: [giving(2), giving(1)] })],
  ['one grant twice', withState({ grants: [giving(1), giving(1)] })],
  ['memories that do not ascend', withState({ memories: memories.toReversed() })],
  ['one memory twice', withState({ memories: memories.slice(0, 1).flatMap((m) => [m, m]) })],
  ['an empty path', withPath('')],
  ['a byte-order mark before a path', withPath('\ufeff/a')],
  ['an empty segment of a path', withPath('/a//b')],
  ['a reserved path', withPath('/.anthropic-memory-store')],
]

/** With its signature, one byte longer than a step of the ladder of padded lengths. */
const oneTooLong = withPath(`/${'a'.repeat(768 - 63 - encodeStart(withPath('/')).length)}`)

function read(expect: string, name: string, bytes: Uint8Array): Vector {
  return {
    name,
    clause: '13',
    expect,
    bytes: Buffer.from(bytes).toString('base64'),
    seed,
    audit: toHex(epoch.auditKey),
    content: toHex(epoch.contentKey),
    granterKey: toHex(granter.publicKey),
  }
}

function made(expect: string, name: string, making: Making, what: Start = start): Vector {
  return read(expect, name, startBytes(what, making))
}

export function starts(): readonly Vector[] {
  const honest = startBytes(start, {})
  const bad = 'start_malformed'
  const other = { record: random(32), blob: random(8) }
  return [
    read('accepted', 'a state', honest),
    made('accepted', 'a state and a floor', {}, { ...start, floor }),
    made(
      'accepted',
      'a floor with a keyring and settings of its own',
      {},
      {
        ...start,
        floor: { ...floor, keyring: other, settings: { ...other, height: 1, time: 2 } },
      },
    ),
    made('accepted', 'grants that have ended', {}, withState({ grants: [giving(1), giving(2)] })),
    made('accepted', 'a path that is not in NFC', {}, withPath('/e\u0301')),
    made(
      'accepted',
      'nothing but a keyring and settings',
      {},
      { ...withState({ devices: [], grants: [], memories: [] }), kids: [], redacted: [] },
    ),
    ...malformed.map(([name, body]) => made(bad, name, { body })),
    ...notAbsent.map(([name, body]) => made(bad, name, { body }, { ...start, floor })),
    ...misled.map(([name, what]) => made(bad, name, {}, what)),
    made(bad, 'another magic', { header: put(3, 0x57) }),
    made('upgrade_required', 'version 2', { header: put(4, 2) }),
    made(bad, 'a reserved byte', { header: put(7, 1) }),
    made('envelope_epoch', 'another kid before the envelope', { header: flipBit(8 * 8) }),
    made(bad, 'another seed', { header: flipBit(8 * 24) }),
    made('envelope_epoch', 'another kid in the envelope', { envelope: { header: put(8, 1) } }),
    made('envelope_type', 'an envelope of another type', { envelope: { header: put(5, 4) } }),
    made('envelope_padding', 'a byte in the padding', { envelope: { padded: endingIn(1) } }),
    made('envelope_padding', 'a step too large', { envelope: { padded: longer } }),
    read(
      'envelope_commitment',
      'a changed commitment',
      concatBytes(honest.slice(0, 40), flipBit(8 * 50)(honest.slice(40))),
    ),
    made(bad, 'a cut memory', { envelope: { padded: cutTo(512) } }),
    made(bad, 'a cut signature', { envelope: { padded: cutTo(768) } }, oneTooLong),
    read('envelope_tag', 'a byte less', honest.slice(0, -1)),
    read('envelope_truncated', 'no envelope', honest.slice(0, 40)),
    read(bad, 'half a header', honest.slice(0, 20)),
    made('device_signature_invalid', 'the signature of another member', { pair: stranger }),
    made(bad, 'another granter than that of the key', {}, { ...start, granter: first }),
  ]
}

function longer(padded: Uint8Array): Uint8Array {
  return concatBytes(padded, new Uint8Array(padded.length))
}

function cutTo(length: number): Spoil {
  return (padded) => padded.slice(0, length)
}
