// Wraps and baselines as FORMAT §12 and §13 write them, field by field, read by the reference
// decoder. Nothing here is the product's: both are made and read from the document alone.

import { expect, test } from 'vitest'
import { grantIdOf } from '../../support/reference/active-grants.ts'
import { openBaseline, openWraps } from '../../support/reference/baselines.ts'
import {
  concat,
  fromHex,
  label,
  toHex,
  u16,
  u32,
  u64,
  u8,
  utf8,
  zeros,
} from '../../support/reference/bytes.ts'
import { baselineContext, sealEnvelope, wrapContext } from '../../support/reference/envelope.ts'
import { type GrantKeys, grantKeys } from '../../support/reference/grant-text.ts'
import { H } from '../../support/reference/hash.ts'
import { deviceIdOf, storeIdOf } from '../../support/reference/identity.ts'
import { contentKeys, fullEpoch } from '../../support/reference/keys.ts'
import { publicKeyOf, sign } from '../../support/reference/signature.ts'
import { verdictOf } from '../../support/verdict.ts'

const filled = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
const genesis = filled(1)
const storeId = storeIdOf(toHex(genesis))
const seed = '22'.repeat(16)
const epoch = fullEpoch(seed, filled(3), filled(4))
const granterSeed = filled(5)
const granterKey = publicKeyOf(granterSeed)
const granter = fromHex(deviceIdOf(granterKey))
const hedge = filled(6)
const grantKey = filled(7)

function grantOf(byte: number): GrantKeys {
  return grantKeys({ storeId, granterKey: toHex(granterKey), secret: filled(byte) })
}

// Wraps

function wrapFor({ grantId, wrapKey: key, wrapSaltKey: saltKey }: GrantKeys): Uint8Array {
  const keys = { kid: '00'.repeat(16), key, saltKey }
  const plaintext = concat(filled(3), filled(4))
  return sealEnvelope('wrap', keys, wrapContext(seed, grantId, epoch.kid), hedge, plaintext)
}

function wrapsFor(grants: readonly GrantKeys[], signedFor = storeId): Uint8Array {
  const wraps = grants.map(wrapFor).toSorted((a, b) => Buffer.compare(a, b))
  const header = concat(utf8('GLKW'), u8(1), u8(0), u16(wraps.length), fromHex(epoch.kid + seed))
  const before = concat(header, ...wraps)
  const said = concat(label('GLK1/wraps/v1'), fromHex(signedFor + seed), H(before))
  return concat(before, sign(said, granterSeed))
}

test('the id of a grant is that of its granter and key', () => {
  const { grantId, signingSeed } = grantOf(1)
  expect(grantId).toBe(grantIdOf(toHex(granter), toHex(publicKeyOf(signingSeed))))
})

test('wraps give an epoch to the holders that they are for, of that store alone', async () => {
  const wraps = wrapsFor([1, 2, 3, 4].map(grantOf))
  const open = (bytes: Uint8Array, byte: number): Promise<string> =>
    verdictOf(() => openWraps(bytes, storeId, granterKey, grantOf(byte)))
  expect(openWraps(wraps, storeId, granterKey, grantOf(2))).toEqual(epoch)
  expect(await open(wraps, 5)).toBe('grant_keys_missing')
  const foreign = wrapsFor([1, 2, 3, 4].map(grantOf), '99'.repeat(16))
  expect(await open(foreign, 2)).toBe('device_signature_invalid')
})

// Baselines

const keyringOf = (record: Uint8Array): Uint8Array => concat(u8(1), record, u32(2), filled(8, 2))
const settings = concat(u8(1), genesis, u64(0), u64(1000), u32(3), filled(9, 3))
const place = (height: number): Uint8Array =>
  concat(filled(height), u64(height), filled(10, 20), filled(11, 20))
const list = (...items: readonly Uint8Array[]): Uint8Array => concat(u32(items.length), ...items)
const device = concat(granter, u64(4), filled(12), u8(0))
const grantTerms = concat(u8(5), u64(2000), u64(3000))
const grant = concat(granter, grantKey, grantTerms)
const path = utf8('/notes.md')
const live = concat(u64(1500), u32(5), filled(13), u16(0), u16(path.length), path)
const memory = concat(filled(14, 16), filled(15, 16), u8(9), u64(1200), live)
const deleted = concat(filled(16, 16), filled(17, 16), u8(3), u64(1300))
const absentMemory = concat(filled(14, 16), zeros(16), u8(0), u64(0))
const absentGrant = concat(granter, grantKey, zeros(17))

interface Parts {
  readonly counter: Uint8Array
  readonly kids: Uint8Array
  readonly redacted: Uint8Array
  readonly line: Uint8Array
  readonly state: Uint8Array
  readonly floor: Uint8Array
}

const stateParts = [place(9), keyringOf(filled(2)), settings, list(device), list(grant)]
const floorParts = [place(5), keyringOf(genesis), u8(0), list(), list(absentGrant)]
const whole: Parts = {
  counter: concat(u64(3), u64(5000), u64(1000)),
  kids: list(fromHex(epoch.kid)),
  redacted: list(filled(18, 16)),
  line: list(concat(genesis, filled(19, 20)), concat(filled(2), filled(20, 20))),
  state: concat(...stateParts, list(memory, deleted)),
  floor: concat(u8(1), ...floorParts, list(absentMemory)),
}

function baselineOf(change: Partial<Parts> = {}, signer = granterSeed): Uint8Array {
  const { counter, kids, redacted, line, state, floor } = { ...whole, ...change }
  const plaintext = concat(counter, kids, redacted, line, state, floor)
  const beginning = concat(utf8('GLKB'), u8(1), zeros(3), fromHex(epoch.kid + seed))
  const context = baselineContext(seed, beginning)
  const envelope = sealEnvelope(
    'baseline',
    contentKeys(epoch, 'baseline'),
    context,
    hedge,
    plaintext,
  )
  const hash = H(beginning, envelope)
  const said = concat(label('GLK1/baseline/v1'), fromHex(storeId + seed), hash)
  return concat(beginning, sign(said, signer), envelope)
}

const open = (bytes: Uint8Array, of = storeId): ReturnType<typeof openBaseline> =>
  openBaseline(bytes, of, epoch, seed, granterKey)

function withFloor(...parts: readonly Uint8Array[]): Partial<Parts> {
  return { floor: concat(u8(1), ...parts) }
}

test('a baseline describes the state and the floor of its granter', () => {
  const read = open(baselineOf())
  const value = { role: 'proposer', began: 2000, notAfter: 3000 }
  expect(read).toMatchObject({
    counter: 3,
    time: 5000,
    genesisTime: 1000,
    kids: [epoch.kid],
    redacted: ['12'.repeat(16)],
    line: [{ record: toHex(genesis) }, { record: '02'.repeat(32), commit: '14'.repeat(20) }],
    state: {
      height: 9,
      devices: [{ deviceId: toHex(granter), value: { sequence: 4, forked: false } }],
      grants: [{ granter: toHex(granter), key: toHex(grantKey), value }],
      memories: [
        { value: { operation: 'created', live: { path: '/notes.md', kid: epoch.kid } } },
        { value: { operation: 'deleted', live: undefined } },
      ],
    },
    floor: {
      height: 5,
      settings: undefined,
      grants: [{ value: undefined }],
      memories: [{ value: undefined }],
    },
  })
})

test('a grant that ended between floor and state is in the floor alone', () => {
  const ended = concat(granter, filled(2), grantTerms)
  const floor = withFloor(place(5), u8(0), u8(0), list(), list(ended), list())
  expect(open(baselineOf(floor))).toMatchObject({ floor: { grants: [{ value: { began: 2000 } }] } })
})

const absentElsewhere = concat(filled(1, 16), zeros(16), u8(0), u64(0))
test.each<[string, Partial<Parts>]>([
  ['a line that ends with another record', { line: list(concat(genesis, zeros(20))) }],
  ['no line', { line: list() }],
  ['an epoch that no memory uses', { kids: list(fromHex(epoch.kid), filled(255, 16)) }],
  ['a floor as high as the state', withFloor(place(9), ...floorParts.slice(1), list())],
  [
    'a floor whose keyring is not in the line',
    withFloor(place(5), keyringOf(filled(3)), u8(0), list(), list(), list()),
  ],
  [
    'a floor that repeats a device',
    withFloor(place(5), u8(0), u8(0), list(device), list(), list()),
  ],
  ['a floor that repeats settings', withFloor(place(5), u8(0), settings, list(), list(), list())],
  [
    'a floor without a memory that the state does not have',
    withFloor(...floorParts, list(absentElsewhere)),
  ],
  ['a time beyond the calendar', { counter: concat(u64(3), u64(8.64e15 + 1), u64(1000)) }],
  ['a flag 2 of the floor', { floor: u8(2) }],
])('a baseline with %s is malformed', async (_, change) => {
  expect(await verdictOf(() => open(baselineOf(change)))).toBe('baseline_malformed')
})

test('the first of several faults is refused, in the order of the document', async () => {
  const changed = (at: number): Uint8Array => baselineOf().with(at, 255)
  const opened = [0, 4, 5, 24, 8, 40, 110].map((at) => verdictOf(() => open(changed(at))))
  expect(await Promise.all(opened)).toEqual([
    'baseline_malformed',
    'upgrade_required',
    'baseline_malformed',
    'baseline_malformed',
    'envelope_epoch',
    'device_signature_invalid',
    'device_signature_invalid',
  ])
  expect(await verdictOf(() => open(baselineOf({}, filled(99))))).toBe('device_signature_invalid')
  expect(await verdictOf(() => open(baselineOf().slice(0, 100)))).toBe('baseline_malformed')
})

test('a line from another genesis is that of another store', async () => {
  const line = list(concat(filled(77), zeros(20)), concat(filled(2), zeros(20)))
  const floor = u8(0)
  expect(await verdictOf(() => open(baselineOf({ line, floor })))).toBe('store_id_mismatch')
})
