// Vectors of grants, wraps and starts (FORMAT §1.7, §12, §13), one fault each.

import { concatBytes, fromHex, label, toHex, utf8 } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import { sign, type SigningKeyPair, signingKeyPair } from '../../../src/crypto/signature.ts'
import { startContext } from '../../../src/format/envelope.ts'
import { deviceIdOf } from '../../../src/format/id.ts'
import {
  encodeStart,
  type Start,
  type StartFloor,
  type StartMemory,
} from '../../../src/format/start.ts'
import { type EpochKeys, epochKeys } from '../../../src/keys/epoch.ts'
import { formatGrant, grantKeysOf, grantOf } from '../../../src/keys/grant.ts'
import { makeWraps } from '../../../src/keys/wraps.ts'
import {
  countingRandom,
  flipBit,
  idOf,
  put,
  seal,
  type SealFault,
  type Spoil,
} from '../../support/forge-seal.ts'
import type { Group, Vector } from '../vector.ts'

const random = countingRandom('grant vectors')
const storeId = idOf('granted store')
const seed = idOf('granted seed')
const epoch = epochKeys(seed, random(32), random(32))
const granter = signingKeyPair(random(32))
const stranger = signingKeyPair(random(32))
const device = { localSecret: random(32), signing: granter }
const granterKey = toHex(granter.publicKey)

export function grantForms(): Partial<Record<Group, readonly Vector[]>> {
  return {
    'grant-texts': grantTexts(),
    'grant-secrets': grantSecrets(),
    wraps: wraps(),
    starts: starts(),
  }
}

function grantTexts(): readonly Vector[] {
  const text = formatGrant(grantOf(device, storeId, 0))
  const [prefix, digits] = [text.slice(0, 6), text.slice(6)]
  const typed = digits.replaceAll('1', 'l').replaceAll('0', 'o')
  const of = (expect: string, name: string, one: string): Vector => {
    return { name, clause: '1.7', expect, text: one }
  }
  return [
    of('accepted', 'a grant', text),
    of('accepted', 'in lower case, with the letters l and o', prefix.toLowerCase() + typed),
    of('accepted', 'in groups', prefix + digits.replaceAll(/.{8}(?=.)/g, '$&-')),
    of('accepted', 'in lines', `\n${prefix}${digits.slice(0, 80)}\n ${digits.slice(80)}\n`),
    of('invalid_identity', 'another prefix', `GLKR1-${digits}`),
    of('invalid_identity', 'a digit less', text.slice(0, -1)),
    of('invalid_identity', 'a digit more', `${text}0`),
    of('invalid_identity', 'a letter that is no digit', `${text.slice(0, -1)}U`),
    of('invalid_identity', 'two digits exchanged', `${prefix}${swapped(digits)}`),
    of('invalid_identity', 'nothing', ''),
  ]
}

/** The first two neighbours that differ. */
function swapped(digits: string): string {
  return digits.replace(/(.)(?!\1)(.)/, '$2$1')
}

function grantSecrets(): readonly Vector[] {
  const one = {
    clause: '12',
    expect: 'accepted',
    storeId,
    localSecret: toHex(device.localSecret),
    signingSeed: toHex(new Uint8Array(32).fill(5)),
  }
  return [
    { ...one, name: 'the first grant', number: '0' },
    { ...one, name: 'the second grant', number: '1' },
    { ...one, name: 'the last grant', number: String(2 ** 32 - 1) },
    { ...one, name: 'a grant for another store', number: '0', storeId: idOf('another store') },
    { ...one, name: 'a grant of another device', number: '0', localSecret: '07'.repeat(32) },
  ]
}

const grants = Array.from({ length: 5 }, (_, number) => grantOf(device, storeId, number))

function wrapsOf(count: number, of: EpochKeys = epoch, pair: SigningKeyPair = granter): Uint8Array {
  const own = grants.slice(0, count).map((grant) => grantKeysOf(grant))
  return makeWraps(of, own, { counter: 7, pair, random })
}

/** Signs bytes again that were changed, as their granter could. */
function signedWraps(change: Spoil): Spoil {
  return (bytes) => {
    const body = change(bytes.slice(0, -64))
    const message = concatBytes(label('GLK1/wraps/v1'), fromHex(seed), hash256(body))
    return concatBytes(body, sign(message, granter))
  }
}

const HEADER = 48
const WRAP = 608

function wraps(): readonly Vector[] {
  const one = wrapsOf(1)
  const wrapAt = (bytes: Uint8Array, at: number): Uint8Array =>
    bytes.slice(HEADER + at * WRAP, HEADER + (at + 1) * WRAP)
  const inOrder = (...order: readonly number[]): Spoil =>
    signedWraps((body) =>
      concatBytes(
        put(7, order.length)(body.slice(0, HEADER)),
        ...order.map((at) => wrapAt(body, at)),
      ),
    )
  const of = (expect: string, name: string, bytes: Uint8Array, grant = grants[0]): Vector => ({
    name,
    clause: '12',
    expect,
    bytes: Buffer.from(bytes).toString('base64'),
    granterKey,
    storeId,
    secret: toHex(grant?.secret ?? new Uint8Array()),
  })
  const bad = 'wraps_malformed'
  return [
    of('accepted', 'one grant', one),
    of('accepted', 'no grant: its holder finds no keys', wrapsOf(0)),
    of('accepted', 'the last of four', wrapsOf(4), grants[3]),
    of('accepted', 'the last of five, in eight', wrapsOf(5), grants[4]),
    of('accepted', 'the holder of another grant finds no keys', one, grants[1]),
    of(bad, 'another magic', signedWraps(put(3, 0x53))(one)),
    of('upgrade_required', 'version 2', signedWraps(put(4, 2))(one)),
    of(bad, 'a reserved byte', signedWraps(put(5, 1))(one)),
    of(bad, 'no wrap', inOrder()(one)),
    of(bad, 'three wraps', inOrder(0, 1, 2)(one)),
    of(bad, 'five wraps', inOrder(0, 1, 2, 3, 4)(wrapsOf(5))),
    of(bad, 'wraps that do not ascend', inOrder(1, 0, 2, 3)(one)),
    of(bad, 'one wrap twice', inOrder(0, 0, 2, 3)(one)),
    of(bad, 'a counter of 2^53', signedWraps(put(40, 0, 0x20))(one)),
    of(bad, 'a byte more', concatBytes(one, new Uint8Array(1))),
    of(bad, 'a byte less', one.slice(0, -1)),
    of(bad, 'nothing', new Uint8Array()),
    of('device_signature_invalid', 'another counter', flipBit(8 * 47)(one)),
    of('device_signature_invalid', 'another seed', flipBit(8 * 24)(one)),
    of('device_signature_invalid', 'a changed wrap', flipBit(8 * (HEADER + WRAP - 1))(one)),
    of('device_signature_invalid', 'the signature of another member', wrapsOf(1, epoch, stranger)),
    of('accepted', 'another kid, so that nobody finds keys', signedWraps(put(8, 1))(one)),
    of(
      'keyring_mismatch',
      'keys that do not give the kid',
      wrapsOf(1, { ...epoch, kid: idOf('k') }),
    ),
  ]
}

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
  /** What is signed. */
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

// Where the fields of `start` are in what is signed: two kids, one redacted version, blobs of 8.
const STATE = 72 + 4 + 32 + 4 + 16
const KEYRING = STATE + 80
const SETTINGS = KEYRING + 1 + 32 + 4 + 8
const DEVICES = SETTINGS + 1 + 32 + 8 + 8 + 4 + 8
const GRANTS = DEVICES + 4 + 2 * 57
const MEMORIES = GRANTS + 4 + 58
const LIVE = MEMORIES + 4 + 41

function without(from: number, to: number): Spoil {
  return (bytes) => concatBytes(bytes.slice(0, from), Uint8Array.of(0), bytes.slice(to))
}

/** Faults of what is signed. */
const malformed: readonly (readonly [name: string, body: Spoil])[] = [
  ['epochs that do not ascend', put(76, ...new Uint8Array(16).fill(0xff))],
  ['a state without a keyring', without(KEYRING, SETTINGS)],
  ['a state without settings', without(SETTINGS, DEVICES)],
  ['a flag 2', put(KEYRING, 2)],
  ['a device without a record in the state', put(DEVICES + 4 + 16, ...new Uint8Array(41))],
  ['a device without a number, with a record', put(DEVICES + 4 + 16, ...new Uint8Array(8))],
  ['a device that is forked twice', put(DEVICES + 4 + 56, 2)],
  ['devices that do not ascend', put(DEVICES + 4, ...new Uint8Array(16).fill(0xff))],
  ['one device twice', put(DEVICES + 4 + 57, ...fromHex(first))],
  ['a grant to an owner', put(GRANTS + 4 + 48, 1)],
  ['a grant without a role, with a granter', put(GRANTS + 4 + 48, 0)],
  ['a grant in the state that is not there', put(GRANTS + 4 + 32, ...new Uint8Array(26))],
  ['an operation 4', put(MEMORIES + 4 + 32, 4)],
  ['an operation 16', put(MEMORIES + 4 + 32, 16)],
  ['a deletion that is live', put(MEMORIES + 4 + 32, 11)],
  ['no operation, with a version', put(LIVE + 48 + 12 + 32, 0)],
  ['an epoch that is not listed', put(LIVE + 44, 0, 2)],
  ['a path without a slash', put(LIVE + 48, 0x61)],
  ['a path that is not UTF-8', put(LIVE + 49, 0xff)],
  ['a height of 2^53', put(STATE + 32, 0, 0x20)],
  ['more memories than there are bytes', put(MEMORIES, 0xff, 0xff, 0xff, 0xff)],
  ['a blob longer than the start', put(KEYRING + 33, 0xff, 0xff, 0xff, 0xff)],
]

function starts(): readonly Vector[] {
  const of = (expect: string, name: string, bytes: Uint8Array): Vector => ({
    name,
    clause: '13',
    expect,
    bytes: Buffer.from(bytes).toString('base64'),
    seed,
    audit: toHex(epoch.auditKey),
    content: toHex(epoch.contentKey),
    granterKey,
  })
  const made = (expect: string, name: string, making: Making, what: Start = start): Vector =>
    of(expect, name, startBytes(what, making))
  const honest = startBytes(start, {})
  const bad = 'start_malformed'
  const other = { record: random(32), blob: random(8) }
  return [
    of('accepted', 'a state', honest),
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
    ...malformed.map(([name, body]) => made(bad, name, { body })),
    made(bad, 'another magic', { header: put(3, 0x57) }),
    made('upgrade_required', 'version 2', { header: put(4, 2) }),
    made(bad, 'a reserved byte', { header: put(7, 1) }),
    made('envelope_epoch', 'another kid before the envelope', { header: flipBit(8 * 8) }),
    made(bad, 'another seed', { header: flipBit(8 * 24) }),
    made('envelope_epoch', 'another kid in the envelope', { envelope: { header: put(8, 1) } }),
    made('envelope_type', 'an envelope of another type', { envelope: { header: put(5, 4) } }),
    made('envelope_padding', 'a byte in the padding', { envelope: { padded: endingIn(1) } }),
    made('envelope_padding', 'a step too large', { envelope: { padded: longer } }),
    of(
      'envelope_commitment',
      'a changed reserved byte',
      concatBytes(honest.slice(0, 40), flipBit(8 * 50)(honest.slice(40))),
    ),
    of('envelope_tag', 'a byte less', honest.slice(0, -1)),
    of('envelope_truncated', 'no envelope', honest.slice(0, 40)),
    of(bad, 'half a header', honest.slice(0, 20)),
    made('device_signature_invalid', 'the signature of another member', { pair: stranger }),
    made(bad, 'another granter than that of the key', {}, { ...start, granter: first }),
  ]
}

function endingIn(byte: number): Spoil {
  return (padded) => put(padded.length - 1, byte)(padded)
}

function longer(padded: Uint8Array): Uint8Array {
  return concatBytes(padded, new Uint8Array(padded.length))
}
