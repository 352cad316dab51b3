// Vectors of baselines (FORMAT §13), one fault each. The granter is that of the grants.

import { concatBytes, fromHex, label, toHex, utf8 } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import { sign, type SigningKeyPair } from '../../../src/crypto/signature.ts'
import { startContext } from '../../../src/format/envelope.ts'
import { storeIdOf } from '../../../src/format/id.ts'
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

type Said = Omit<Start, 'granter'>

const head = {
  record: random(32),
  height: 9,
  commit: toHex(random(20)),
  tree: toHex(random(20)),
}
const older = idOf('an older epoch')
const kids = [epoch.kid, older].toSorted()
const genesis = { record: random(32), commit: toHex(random(20)) }
const newest = { record: random(32), commit: toHex(random(20)) }
const storeId = storeIdOf(genesis.record)
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
    value: { versionId: first, operation: 'created', created: 2, live: { ...live, kid: older } },
  },
  {
    memoryId: third,
    value: { versionId: second, operation: 'deleted', created: 3, live: undefined },
  },
]
const start: Said = {
  counter: 3,
  time: 1_700_000_000_000,
  genesis: { ...genesis, time: 1_600_000_000_000 },
  keyrings: [newest],
  kids,
  redacted: [second],
  state: {
    ...head,
    keyring: { record: newest.record, blob: random(8) },
    settings: { record: random(32), height: 4, time: 5, blob: random(8) },
    devices: [
      { deviceId: first, value: { sequence: 4, record: random(32), forked: false } },
      { deviceId: second, value: { sequence: 1, record: random(32), forked: true } },
    ],
    grants: [
      {
        granter: first,
        key: random(32),
        value: { role: 'writer', began: 1_700_000_000_000, notAfter: 1_800_000_000_000 },
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
  grants: start.state.grants.map((grant) => ({ ...grant, value: undefined })),
  memories: [{ memoryId: first, value: undefined }],
}

interface Making {
  readonly pair?: SigningKeyPair
  /** The plaintext. */
  readonly body?: Spoil
  readonly header?: Spoil
  readonly envelope?: SealFault
}

function startBytes(what: Said, { pair = granter, body, header, envelope }: Making): Uint8Array {
  const keep: Spoil = (bytes) => bytes
  const before = (header ?? keep)(
    concatBytes(utf8('GLKB'), Uint8Array.of(1, 0, 0, 0), fromHex(epoch.kid + seed)),
  )
  const said = (body ?? keep)(encodeStart(what))
  const parts = { type: 'baseline', keys: epoch.start, hedge: new Uint8Array(32).fill(9) } as const
  const context = startContext({ seed }, hash256(before))
  return signed(before, seal({ ...parts, context, plaintext: said }, envelope), pair)
}

function signed(before: Uint8Array, sealed: Uint8Array, pair = granter): Uint8Array {
  const place = fromHex(storeId + seed)
  const message = concatBytes(label('GLK1/baseline/v1'), place, hash256(before, sealed))
  return concatBytes(before, sign(message, pair), sealed)
}

// Offsets of the fields of `start` in the plaintext: two kids, one redacted version, two keyring
// records, blobs of 8.
const KIDS = 24
const LINE = KIDS + 4 + 32 + 4 + 16
const STATE = LINE + 4 + 2 * 52
const KEYRING = STATE + 80
const SETTINGS = KEYRING + 1 + 32 + 4 + 8
const DEVICES = SETTINGS + 1 + 32 + 8 + 8 + 4 + 8
const GRANTS = DEVICES + 4 + 2 * 57
const MEMORIES = GRANTS + 4 + 65
const LIVE = MEMORIES + 4 + 41

// Where the floor is, and the one item of each of its lists, none of which is there.
const FLOOR = encodeStart(start).length
const FLOOR_DEVICE = FLOOR + 80 + 2 + 4
const FLOOR_GRANT = FLOOR_DEVICE + 57 + 4
const FLOOR_MEMORY = FLOOR_GRANT + 65 + 4

function without(from: number, to: number): Spoil {
  return (bytes) => concatBytes(bytes.slice(0, from), Uint8Array.of(0), bytes.slice(to))
}

/** Faults of the signed bytes. */
const malformed: readonly (readonly [name: string, body: Spoil])[] = [
  ['epochs that do not ascend', put(KIDS + 4, ...new Uint8Array(16).fill(0xff))],
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
  ['a grant to an auditor', put(GRANTS + 4 + 48, 4)],
  ['a grant in the state that is not there', put(GRANTS + 4 + 48, ...new Uint8Array(17))],
  ['a line without genesis', put(LINE, 0, 0, 0, 0)],
  ['a line that ends before the keyring of the state', put(KEYRING + 1, 7)],
  ['a time beyond the calendar', put(8, 0, 0x1f)],
  ['a genesis beyond the calendar', put(16, 0, 0x1f)],
  ['settings beyond the calendar', put(SETTINGS + 41, 0, 0x1f)],
  ['a grant that began beyond the calendar', put(GRANTS + 4 + 49, 0, 0x1f)],
  ['a grant that ends beyond the calendar', put(GRANTS + 4 + 57, 0, 0x1f)],
  ['a memory created beyond the calendar', put(MEMORIES + 4 + 33, 0, 0x1f)],
  ['a memory updated beyond the calendar', put(LIVE, 0, 0x1f)],
  ['an operation 4', put(MEMORIES + 4 + 32, 4)],
  ['an operation 16', put(MEMORIES + 4 + 32, 16)],
  ['a deletion that is live', put(MEMORIES + 4 + 32, 11)],
  ['no operation that is live', put(MEMORIES + 4 + 32, 8)],
  ['a memory in the state that is not there', put(FLOOR - 1 - 25, ...new Uint8Array(25))],
  ['an epoch that is not listed', put(LIVE + 44, 0, 2)],
  ['a path without a slash', put(LIVE + 48, 0x61)],
  ['a path that is not UTF-8', put(LIVE + 49, 0xff)],
  ['a height of 2^53', put(STATE + 32, 0, 0x20)],
  ['more epochs than there are bytes', put(KIDS, 0xff, 0xff, 0xff, 0xff)],
  ['more keyrings than there are bytes', put(LINE, 0xff, 0xff, 0xff, 0xff)],
  ['more devices than there are bytes', put(DEVICES, 0xff, 0xff, 0xff, 0xff)],
  ['more grants than there are bytes', put(GRANTS, 0xff, 0xff, 0xff, 0xff)],
  ['more memories than there are bytes', put(MEMORIES, 0xff, 0xff, 0xff, 0xff)],
  ['a blob longer than the start', put(KEYRING + 33, 0xff, 0xff, 0xff, 0xff)],
]

/** Faults of a floor, in entries that did not exist yet. */
const notAbsent: readonly (readonly [name: string, body: Spoil])[] = [
  ['a device that is not there, with a record', put(FLOOR_DEVICE + 24, 1)],
  ['a device that is not there, forked', put(FLOOR_DEVICE + 56, 1)],
  ['a grant that is not there, with a begin', put(FLOOR_GRANT + 56, 1)],
  ['a grant that is not there, with an end', put(FLOOR_GRANT + 64, 1)],
  ['a memory that is not there, with a version', put(FLOOR_MEMORY + 16, 1)],
  ['a memory that is not there, with a time', put(FLOOR_MEMORY + 40, 1)],
]

function withState(change: Partial<StartState>): Said {
  return { ...start, state: { ...start.state, ...change } }
}

function withFloor(change: Partial<StartFloor>): Said {
  return { ...start, floor: { ...floor, ...change } }
}

function withPath(path: string): Said {
  const value = { versionId: third, operation: 'modified', created: 1 } as const
  return {
    ...withState({
      memories: [{ memoryId: first, value: { ...value, live: { ...live, path } } }],
    }),
    kids: [epoch.kid],
  }
}

function giving(byte: number): StartGrant {
  const value = { role: 'reader', began: 0, notAfter: 0 } as const
  return { granter: second, key: new Uint8Array(32).fill(byte), value }
}

const elsewhere = { record: random(32), blob: random(8) }

/** Faults of lists, floors and paths. */
const misled: readonly (readonly [name: string, what: Said])[] = [
  ['one epoch twice', { ...start, kids: [...kids.slice(0, 1), ...kids] }],
  ['redacted versions that do not ascend', { ...start, redacted: [third, first] }],
  ['one redacted version twice', { ...start, redacted: [second, second] }],
  ['grants that do not ascend', withState({ grants: [giving(2), giving(1)] })],
  ['one grant twice', withState({ grants: [giving(1), giving(1)] })],
  ['memories that do not ascend', withState({ memories: memories.toReversed() })],
  [
    'one memory twice',
    {
      ...withState({ memories: memories.slice(0, 1).flatMap((m) => [m, m]) }),
      kids: [epoch.kid],
    },
  ],
  ['an epoch that no memory has', { ...start, kids: [...kids, idOf('another')].toSorted() }],
  ['a floor as high as the state', withFloor({ height: head.height })],
  ['a floor with the keyring of the state', withFloor({ keyring: start.state.keyring })],
  ['a floor with a keyring that is not in the line', withFloor({ keyring: elsewhere })],
  ['a floor with a device of the state', withFloor({ devices: start.state.devices.slice(1) })],
  ['a floor with a grant of the state', withFloor({ grants: start.state.grants })],
  ['a floor with a memory of the state', withFloor({ memories: memories.slice(0, 1) })],
  [
    'a floor that lacks a memory which the state lacks too',
    withFloor({ memories: [{ memoryId: idOf('no memory'), value: undefined }] }),
  ],
  ['an empty path', withPath('')],
  ['a byte-order mark before a path', withPath('\ufeff/a')],
  ['an empty segment of a path', withPath('/a//b')],
  ['a reserved path', withPath('/.anthropic-memory-store')],
]

function read(expect: string, name: string, bytes: Uint8Array, of = storeId): Vector {
  return {
    name,
    clause: '13',
    expect,
    bytes: Buffer.from(bytes).toString('base64'),
    storeId: of,
    seed,
    audit: toHex(epoch.auditKey),
    content: toHex(epoch.contentKey),
    granterKey: toHex(granter.publicKey),
  }
}

function made(expect: string, name: string, making: Making, what = start): Vector {
  return read(expect, name, startBytes(what, making))
}

export function baselines(): readonly Vector[] {
  const honest = startBytes(start, {})
  const bad = 'baseline_malformed'
  const other = { record: genesis.record, blob: random(8) }
  const before = honest.slice(0, 40)
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
    made('accepted', 'grants of one device', {}, withState({ grants: [giving(1), giving(2)] })),
    made('accepted', 'a grant of a proposer', {}, withState({ grants: [proposing] })),
    made(
      'accepted',
      'a floor with a grant that has ended since',
      {},
      withFloor({ grants: [...start.state.grants.slice(1), giving(1)] }),
    ),
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
      signed(before, flipBit(8 * 50)(honest.slice(104))),
    ),
    made(bad, 'a cut memory', { envelope: { padded: cutTo(512) } }),
    read('envelope_tag', 'a byte less, signed', signed(before, honest.slice(104, -1))),
    read('envelope_truncated', 'no envelope', signed(before, new Uint8Array())),
    read('device_signature_invalid', 'a byte less', honest.slice(0, -1)),
    read('device_signature_invalid', 'a changed envelope', flipBit(8 * 400)(honest)),
    read('device_signature_invalid', 'a changed signature', flipBit(8 * 41)(honest)),
    read('device_signature_invalid', 'the signature for another store', honest, idOf('another')),
    read(bad, 'half a header', honest.slice(0, 20)),
    read(bad, 'a header without a signature', before),
    made('device_signature_invalid', 'the signature of another member', { pair: stranger }),
    made(
      'store_id_mismatch',
      'another genesis',
      {},
      { ...start, genesis: { ...start.genesis, record: random(32) } },
    ),
  ]
}

const proposing: StartGrant = {
  ...giving(1),
  value: { role: 'proposer', began: 1, notAfter: 2 },
}

function longer(padded: Uint8Array): Uint8Array {
  return concatBytes(padded, new Uint8Array(padded.length))
}

function cutTo(length: number): Spoil {
  return (padded) => padded.slice(0, length)
}

/** A baseline whose plaintext is changed, sealed and signed again. */
export function mutatedBaseline(vector: Vector, change: Spoil): Vector {
  const what = vector['name'] === 'a state and a floor' ? { ...start, floor } : start
  const bytes = startBytes(what, { body: change })
  return { ...vector, storeId, bytes: Buffer.from(bytes).toString('base64') }
}
