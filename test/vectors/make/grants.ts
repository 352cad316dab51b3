// Vectors of grants and wraps (FORMAT §1.7, §12), one fault each.

import { compareBytes, concatBytes, fromHex, label, toHex } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import type { Random } from '../../../src/crypto/random.ts'
import { sign, type SigningKeyPair, signingKeyPair } from '../../../src/crypto/signature.ts'
import { encodeBase32 } from '../../../src/format/base32.ts'
import { noHedge, wrapContext } from '../../../src/format/envelope.ts'
import { deviceIdOf } from '../../../src/format/id.ts'
import { type EpochKeys, epochKeys } from '../../../src/keys/epoch.ts'
import { formatGrant, grantKeysOf, grantOf, makeWraps, refName } from '../../../src/keys/wraps.ts'
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

export const random: Random = countingRandom('grant vectors')
const storeId = idOf('granted store')
export const seed: string = idOf('granted seed')
export const epoch: EpochKeys = epochKeys(seed, random(32), random(32))
export const granter: SigningKeyPair = signingKeyPair(random(32))
export const stranger: SigningKeyPair = signingKeyPair(random(32))
const device = { localSecret: random(32), signing: granter }
const granterKey = toHex(granter.publicKey)
const ownName = refName(epoch, deviceIdOf(granter.publicKey))

export function grantForms(): Partial<Record<Group, readonly Vector[]>> {
  return {
    'grant-texts': grantTexts(),
    'grant-secrets': grantSecrets(),
    wraps: wraps(),
  }
}

function grantTexts(): readonly Vector[] {
  const text = formatGrant({ ...grantOf(device, storeId, 0), name: ownName })
  const [prefix, digits] = [text.slice(0, 6), text.slice(6)]
  const typed = digits.replaceAll('1', 'l').replaceAll('0', 'o')
  const capitals = digits.replaceAll('1', 'I').replaceAll('0', 'O')
  const of = (expect: string, name: string, one: string): Vector => {
    return { name, clause: '1.7', expect, text: one }
  }
  return [
    of('accepted', 'a grant', text),
    of('accepted', 'in lower case, with the letters l and o', prefix.toLowerCase() + typed),
    of('accepted', 'with the letters I and O', prefix + capitals),
    of('accepted', 'in groups', prefix + digits.replaceAll(/.{8}(?=.)/g, '$&-')),
    of('accepted', 'in lines', `\n${prefix}${digits.slice(0, 80)}\n ${digits.slice(80)}\n`),
    of('invalid_identity', 'another prefix', `GLKR1-${digits}`),
    of('invalid_identity', 'a digit less', text.slice(0, -1)),
    of('invalid_identity', 'a digit more', `${text}0`),
    of('invalid_identity', 'a letter that is no digit', `${text.slice(0, -1)}U`),
    of('invalid_identity', 'two digits exchanged', `${prefix}${swapped(digits)}`),
    of('invalid_identity', 'one digit changed', prefix + digits.replace(/[2-8]/, '9')),
    of('invalid_identity', 'a dotless i for 1', prefix + digits.replace('1', '\u0131')),
    of('invalid_identity', 'a Kelvin sign for K', prefix + digits.replace('K', '\u212a')),
    of('invalid_identity', 'a long s', prefix + digits.replace('S', '\u017f')),
    of('invalid_identity', 'no prefix', digits),
    of('invalid_identity', 'a prefix without its hyphen', `GLKG1${digits}`),
    of('invalid_identity', 'a comment before it', `# a\n${text}`),
    of('invalid_identity', 'two', `${text}\n${text}`),
    of('invalid_identity', 'the checksum of an identity', prefix + otherChecksum()),
    of('invalid_identity', 'nothing', ''),
  ]
}

/** The digits of a grant with the checksum of the other form that has 96 bytes. */
function otherChecksum(): string {
  const { granterKey: key, secret } = grantOf(device, storeId, 0)
  const bytes = concatBytes(fromHex(storeId), key, fromHex(ownName), secret)
  const check = hash256(label('GLK1/identity-text/v1'), bytes).slice(0, 4)
  return encodeBase32(concatBytes(bytes, check)).toUpperCase()
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
    firstContent: toHex(epoch.contentKey),
    signingSeed: toHex(new Uint8Array(32).fill(5)),
  }
  return [
    { ...one, name: 'the first grant', number: '0' },
    { ...one, name: 'the second grant', number: '1' },
    { ...one, name: 'the last grant', number: String(2 ** 32 - 1) },
    { ...one, name: 'a grant for another store', number: '0', storeId: idOf('another store') },
    { ...one, name: 'a grant of another device', number: '0', localSecret: '07'.repeat(32) },
    { ...one, name: 'a device with another key', number: '0', signingSeed: '08'.repeat(32) },
    {
      ...one,
      name: 'a store with another first epoch',
      number: '0',
      firstContent: '09'.repeat(32),
    },
  ]
}

const grants = Array.from({ length: 5 }, (_, number) => grantOf(device, storeId, number))

function wrapsOf(
  count: number,
  { of = epoch, pair = granter, from = random }: WrapsHow = {},
): Uint8Array {
  const own = grants.slice(0, count).map((grant) => grantKeysOf(grant))
  return makeWraps(of, own, { storeId, pair, random: from })
}

interface WrapsHow {
  readonly of?: EpochKeys
  readonly pair?: SigningKeyPair
  readonly from?: Random
}

/** Signs bytes again that were changed, as their granter could. */
function signedWraps(change: Spoil): Spoil {
  return (bytes) => {
    const body = change(bytes.slice(0, -64))
    const message = concatBytes(
      label('GLK1/wraps/v1'),
      fromHex(storeId),
      body.slice(24, 40),
      hash256(body),
    )
    return concatBytes(body, sign(message, granter))
  }
}

const HEADER = 40
const WRAP = 608
const LAST = HEADER + 3 * WRAP

/** Four wraps, of which the one of the first grant is spoiled. */
function spoiledWrap(fault: SealFault): Uint8Array {
  const { grantId, wrap: keys } = grantKeysOf({
    ...grants[0],
    storeId,
    granterKey: granter.publicKey,
    secret: grants[0]?.secret ?? noHedge,
  })
  const plaintext = concatBytes(epoch.auditKey, epoch.contentKey)
  const context = wrapContext({ seed }, grantId, epoch.kid)
  const own = seal({ type: 'wrap', keys, context, hedge: noHedge, plaintext }, fault)
  const others = wrapsOf(0, { from: countingRandom('spoiled wrap') })
  const rest = [0, 1, 2].map((at) => wrapAt(others, at))
  const sealed = [own, ...rest].toSorted(compareBytes)
  return signedWraps((body) => concatBytes(body.slice(0, HEADER), ...sealed))(others)
}

function wrapAt(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.slice(HEADER + at * WRAP, HEADER + (at + 1) * WRAP)
}

/** Those of the wraps, signed again. */
function inOrder(...order: readonly number[]): Spoil {
  return signedWraps((body) => {
    const header = put(7, order.length)(body.slice(0, HEADER))
    return concatBytes(header, ...order.map((at) => wrapAt(body, at)))
  })
}

/** Wraps that the holder of a grant opens. */
function held(
  expect: string,
  called: string,
  bytes: Uint8Array,
  grant = grants[0],
  of = storeId,
): Vector {
  return {
    name: called,
    clause: '12',
    expect,
    bytes: Buffer.from(bytes).toString('base64'),
    granterKey,
    storeId: of,
    secret: toHex(grant?.secret ?? new Uint8Array()),
  }
}

function wraps(): readonly Vector[] {
  const one = wrapsOf(1)
  const three = wrapsOf(3, { from: countingRandom('three grants') })
  const bad = 'wraps_malformed'
  return [
    held('accepted', 'one grant', one),
    held('grant_keys_missing', 'no grant: its holder finds no keys', wrapsOf(0)),
    held('accepted', 'the last of three, in four', three, grants[2]),
    held('accepted', 'the last of four', wrapsOf(4), grants[3]),
    held('accepted', 'the last of five, in eight', wrapsOf(5), grants[4]),
    held('grant_keys_missing', 'the holder of another grant finds no keys', one, grants[1]),
    held(bad, 'another magic', signedWraps(put(3, 0x53))(one)),
    held('upgrade_required', 'version 2', signedWraps(put(4, 2))(one)),
    held(bad, 'a reserved byte', signedWraps(put(5, 1))(one)),
    held(bad, 'no wrap', inOrder()(one)),
    held(bad, 'three wraps', inOrder(0, 1, 2)(one)),
    held(bad, 'five wraps', inOrder(0, 1, 2, 3, 4)(wrapsOf(5))),
    held(bad, 'wraps that do not ascend', inOrder(1, 0, 2, 3)(one)),
    held(bad, 'one wrap twice', inOrder(0, 0, 2, 3)(one)),
    held(bad, 'a byte more', concatBytes(one, new Uint8Array(1))),
    held(bad, 'a byte less', one.slice(0, -1)),
    held(bad, 'nothing', new Uint8Array()),
    held('device_signature_invalid', 'those of another store', one, grants[0], idOf('another')),
    held('device_signature_invalid', 'another seed', flipBit(8 * 24)(one)),
    held('device_signature_invalid', 'a changed wrap', flipBit(8 * (HEADER + WRAP - 1))(one)),
    held(
      'device_signature_invalid',
      'the signature of another member',
      wrapsOf(1, { pair: stranger }),
    ),
    held(
      'grant_keys_missing',
      'another kid, so that nobody finds keys',
      signedWraps(put(8, 1))(one),
    ),
    held(
      'grant_keys_missing',
      'another seed, so that nobody finds keys',
      signedWraps(put(24, 1))(one),
    ),
    held('accepted', 'a salt that is not derived', spoiledWrap({ salt: flipBit(0) })),
    held('envelope_padding', 'a byte in the padding', spoiledWrap({ padded: endingIn(1) })),
    held('envelope_tag', 'a changed wrap, signed', spoiledWrap({ envelope: flipBit(8 * 100) })),
    held('envelope_type', 'an envelope of another type', signedWraps(put(HEADER + 5, 8))(one)),
    held('envelope_epoch', 'a wrap with a kid', signedWraps(put(LAST + 23, 1))(one), grants[1]),
    held(
      'keyring_mismatch',
      'keys that do not give the kid',
      wrapsOf(1, { of: { ...epoch, kid: idOf('k') } }),
    ),
  ]
}

export function endingIn(byte: number): Spoil {
  return (padded) => put(padded.length - 1, byte)(padded)
}

/** Wraps whose bytes are changed, signed again. */
export function mutatedWraps(vector: Vector, change: Spoil): Vector {
  const bytes = new Uint8Array(Buffer.from(vector['bytes'] ?? '', 'base64'))
  return { ...vector, bytes: Buffer.from(signedWraps(change)(bytes)).toString('base64') }
}
