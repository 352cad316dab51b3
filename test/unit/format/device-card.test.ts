// Device cards as text (FORMAT §1.4): read back in spite of how they travelled, refused if anything
// in them is not what the device has signed.

import { ed25519 } from '@noble/curves/ed25519.js'
import { describe, expect, test } from 'vitest'
import { concatBytes, label, toHex, utf8 } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import { sign } from '../../../src/crypto/signature.ts'
import { decodeBase32, encodeBase32 } from '../../../src/format/base32.ts'
import { formatDeviceCard, parseDeviceCard } from '../../../src/format/device-card.ts'
import { signDeviceKeys } from '../../../src/format/device-keys.ts'
import { formatId } from '../../../src/format/id.ts'
import { formatIdentity, generateIdentity } from '../../../src/keys/identity.ts'

const draw = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 37) & 255)
const identity = await generateIdentity(draw)
const other = await generateIdentity()
const card = formatDeviceCard(identity, { name: 'Zoë’s laptop' })
const PREFIX = 'GITLOCKET-DEVICE-1-'
const digits = card.split('\n').slice(1).join('').slice(PREFIX.length)
const refused = expect.objectContaining({ code: 'invalid_input' })
const publicHalf = {
  deviceId: identity.deviceId,
  signing: { publicKey: identity.signing.publicKey },
  kem: { publicKey: identity.kem.publicKey },
  keySignature: identity.keySignature,
  name: 'Zoë’s laptop',
}

test('a card is the two public keys, a name and two signatures, and says its device id', () => {
  expect(parseDeviceCard(card)).toEqual(publicHalf)
  expect(card.split('\n')[0]).toContain(formatId('device', identity.deviceId))
  expect(Math.max(...card.split('\n').map((line) => line.length))).toBeLessThanOrEqual(76)
})

test.each([
  ['no name', {}, ''],
  ['an empty name', { name: '' }, ''],
  ['a name of 256 bytes', { name: '🦉'.repeat(64) }, '🦉'.repeat(64)],
])('a card with %s is read back', (_, options, name) => {
  expect(parseDeviceCard(formatDeviceCard(identity, options))).toEqual({ ...publicHalf, name })
})

test.each(['x'.repeat(65), 'a\nb', ' a', 'e\u0301', '\u0378'])(
  'no card is made with the name %j',
  (name) => {
    expect(() => formatDeviceCard(identity, { name })).toThrow(refused)
  },
)

test('the bytes are those of FORMAT: another implementation verifies them', () => {
  const bytes = decodeBase32(digits.toLowerCase()) ?? new Uint8Array()
  expect(bytes).toHaveLength(32 + 1216 + 64 + 256 + 64 + 3)
  expect(digits).toHaveLength(2616)
  const { publicKey } = identity.signing
  const keys = concatBytes(publicKey, identity.kem.publicKey)
  expect(bytes.subarray(0, 1248)).toEqual(keys)
  const aboutKeys = concatBytes(label('GLK1/device-keys/v1'), keys)
  expect(ed25519.verify(bytes.subarray(1248, 1312), aboutKeys, publicKey)).toBe(true)
  expect(bytes.subarray(1312, 1568)).toEqual(nameField('Zoë’s laptop'))
  const message = concatBytes(label('GLK1/device-card/v1'), bytes.subarray(0, 1568))
  expect(ed25519.verify(bytes.subarray(1568, 1632), message, publicKey)).toBe(true)
  const check = hash256(label('GLK1/device-card-text/v1'), bytes.subarray(0, 1632))
  expect(bytes.subarray(1632)).toEqual(check.subarray(0, 3))
})

test('a card holds nothing secret', () => {
  const secret = formatIdentity(identity).split('\n')[1]?.slice(-160, -100) ?? ''
  expect(card).not.toContain(secret)
  const bytes = toHex(decodeBase32(digits.toLowerCase()) ?? new Uint8Array())
  for (const part of [0, 32, 64]) {
    expect(bytes).not.toContain(toHex(identity.secret.subarray(part, part + 32)))
  }
})

describe('a card is read in spite of', () => {
  test.each([
    ['lower case', card.toLowerCase()],
    ['one line', PREFIX + digits],
    ['other line ends and quoting spaces', card.replaceAll('\n', '\r\n   ')],
    ['comments and blank lines', `\n# a\n\n${card}\n# b\n`],
    ['look-alikes', card.replaceAll('1', 'I').replaceAll('0', 'O').replace('-I-', '-1-')],
  ])('%s', (_, text) => {
    expect(parseDeviceCard(text)).toEqual(publicHalf)
  })
})

describe('invalid_input:', () => {
  const { signing, kem, keySignature } = identity
  test.each<[string, string]>([
    ['nothing', ''],
    ['an identity', formatIdentity(identity)],
    ['a card that is cut off', card.slice(0, -20)],
    ['two cards', card + card],
    ['another digit', card.replace(/.(?=\n$)/, (digit) => (digit === '0' ? '1' : '0'))],
    ['the encryption key of another', cardOf(signing.publicKey, other.kem.publicKey, own)],
    ['the signing key of another', cardOf(other.signing.publicKey, kem.publicKey, own)],
    ['no signature', cardOf(signing.publicKey, kem.publicKey, () => new Uint8Array(64))],
    ['a signature without its label', cardOf(signing.publicKey, kem.publicKey, bare)],
    [
      'a signature of the keys without its label',
      cardOf(signing.publicKey, kem.publicKey, signed, nameField(''), bare(ownKeys())),
    ],
    [
      'the encryption key of another, whose key signature is none',
      cardOf(signing.publicKey, other.kem.publicKey, signed),
    ],
    [
      'an encryption key that is none',
      cardOf(
        signing.publicKey,
        new Uint8Array(1216),
        signed,
        nameField(''),
        signDeviceKeys(signing, { publicKey: new Uint8Array(1216) }),
      ),
    ],
    ['a small signing key', cardOf(new Uint8Array(32), kem.publicKey, () => new Uint8Array(64))],
    ['another name', cardOf(signing.publicKey, kem.publicKey, own, nameField('forged'))],
    ['a name with a control character', namedCard(nameField('a\u0007'))],
    ['a name of 65 characters', namedCard(nameField('x'.repeat(65)))],
    ['a name that is no UTF-8', namedCard(Uint8Array.of(0xff))],
    ['a byte after the end of the name', namedCard(Uint8Array.of(0x61, 0, 0x62))],
  ])('%s', (_, text) => {
    expect(() => parseDeviceCard(text)).toThrow(refused)
  })

  test('says nothing of what it was given', () => {
    const message = (): unknown => parseDeviceCard('GITLOCKET-DEVICE-1-SECRET')
    expect(message).not.toThrow(/SECRET/)
  })

  type Signer = (keys: Uint8Array) => Uint8Array

  function signed(keys: Uint8Array): Uint8Array {
    return sign(concatBytes(label('GLK1/device-card/v1'), keys), signing)
  }

  /** The signature that the device has made, of its own two keys. */
  function own(): Uint8Array {
    return signed(concatBytes(ownKeys(), keySignature, new Uint8Array(256)))
  }

  function ownKeys(): Uint8Array {
    return concatBytes(signing.publicKey, kem.publicKey)
  }

  function bare(keys: Uint8Array): Uint8Array {
    return sign(keys, signing)
  }

  /** With a right signature. */
  function namedCard(name: Uint8Array): string {
    const field = new Uint8Array(256)
    field.set(name)
    return cardOf(signing.publicKey, kem.publicKey, signed, field)
  }

  function cardOf(
    signingKey: Uint8Array,
    kemKey: Uint8Array,
    signature: Signer,
    name: Uint8Array = new Uint8Array(256),
    signatureOfKeys: Uint8Array = keySignature,
  ): string {
    const fields = concatBytes(signingKey, kemKey, signatureOfKeys, name)
    const bytes = concatBytes(fields, signature(fields))
    const check = hash256(label('GLK1/device-card-text/v1'), bytes).subarray(0, 3)
    return PREFIX + encodeBase32(concatBytes(bytes, check))
  }
})

function nameField(name: string): Uint8Array {
  const field = new Uint8Array(256)
  field.set(utf8(name))
  return field
}
