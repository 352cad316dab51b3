// Ed25519: byte-identical with two other implementations, and strict where they differ.

import { createHash, createPrivateKey, sign as nodeSign } from 'node:crypto'
import { ed25519 } from '@noble/curves/ed25519.js'
import { describe, expect, test } from 'vitest'
import { concatBytes, fromHex, toHex } from '../../../src/bytes.ts'
import { sign, signingKeyPair, verifySignature } from '../../../src/crypto/signature.ts'
import { hasCode } from '../../../src/errors.ts'

const seed = Uint8Array.from({ length: 32 }, (_, index) => index)
const pair = signingKeyPair(seed)
const message = Uint8Array.from({ length: 700 }, (_, index) => index & 255)
const signature = sign(message, pair)
/** The order of the group. */
const L = 2n ** 252n + 27742317777372353535851937790883648493n
const refused = expect.objectContaining({ code: 'device_signature_invalid' })

test.each([0, 1, 64, 700, 5000])(
  'signatures of %i bytes equal those of node and noble',
  (length) => {
    const text = message.slice(0, length)
    const expected = toHex(sign(text, pair))
    expect(toHex(ed25519.sign(text, seed))).toBe(expected)
    const pkcs8 = concatBytes(fromHex('302e020100300506032b657004220420'), seed)
    const key = createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' })
    expect(nodeSign(null, text, key).toString('hex')).toBe(expected)
  },
)

test('a key that signs often makes the same signatures as one that signs rarely', () => {
  const often = signingKeyPair(seed)
  for (let length = 0; length < 100; length += 1) {
    const text = message.slice(0, length)
    expect(toHex(sign(text, often))).toBe(toHex(sign(text, signingKeyPair(seed))))
  }
  verifySignature(message, sign(message, often), pair.publicKey)
})

test('the public key is the one of the seed', () => {
  expect(toHex(pair.publicKey)).toBe(toHex(ed25519.getPublicKey(seed)))
  expect(toHex(pair.secretKey)).toBe(toHex(concatBytes(seed, pair.publicKey)))
})

test('a valid signature is accepted', () => {
  expect(() => verifySignature(message, signature, pair.publicKey)).not.toThrow()
})

test('every changed bit of a signature is refused', () => {
  for (let bit = 0; bit < 512; bit++) {
    const changed = flip(signature, bit)
    expect(isRefused(message, changed, pair.publicKey), `bit ${bit}`).toBe(true)
  }
})

describe('refused with device_signature_invalid:', () => {
  const s = fromLittleEndian(signature.subarray(32)) + L
  const malleable = concatBytes(signature.subarray(0, 32), toLittleEndian(s))
  const identity = concatBytes(Uint8Array.of(1), new Uint8Array(31))

  test.each([
    ['S + L', message, malleable, pair.publicKey],
    ['another message', message.slice(1), signature, pair.publicKey],
    ['another key', message, signature, signingKeyPair(message.slice(1, 33)).publicKey],
    ['a key of small order', message, concatBytes(identity, new Uint8Array(32)), identity],
    ['a key of zeros', message, signature, new Uint8Array(32)],
    ['a short signature', message, signature.slice(1), pair.publicKey],
    ['a long signature', message, concatBytes(signature, Uint8Array.of(0)), pair.publicKey],
    ['a short key', message, signature, pair.publicKey.slice(1)],
  ])('%s', (_, text, bytes, publicKey) => {
    expect(() => verifySignature(text, bytes, publicKey)).toThrow(refused)
  })
})

describe('with the pair of this device', () => {
  test('each signature is accepted that is accepted without', () => {
    expect(() => verifySignature(message, signature, pair.publicKey, pair)).not.toThrow()
    const other = signingKeyPair(message.slice(1, 33))
    const theirs = sign(message, other)
    expect(() => verifySignature(message, theirs, other.publicKey, pair)).not.toThrow()
    // The holder of a key can make more than one, and verification accepts each.
    const another = withNonce(message, 12_345n)
    expect(toHex(another)).not.toBe(toHex(signature))
    expect(() => verifySignature(message, another, pair.publicKey)).not.toThrow()
    expect(() => verifySignature(message, another, pair.publicKey, pair)).not.toThrow()
  })

  test('each signature is refused that is refused without', () => {
    const other = signingKeyPair(message.slice(1, 33))
    const verifyAs = (publicKey: Uint8Array, bytes: Uint8Array) => () =>
      verifySignature(message, bytes, publicKey, pair)
    expect(verifyAs(other.publicKey, signature)).toThrow(refused)
    for (let bit = 0; bit < 512; bit += 7) {
      expect(verifyAs(pair.publicKey, flip(signature, bit)), `bit ${bit}`).toThrow(refused)
    }
    expect(verifyAs(pair.publicKey, signature.slice(1))).toThrow(refused)
    expect(verifyAs(pair.publicKey, new Uint8Array(0))).toThrow(refused)
  })
})

/** A signature of `pair` that verifies, though RFC 8032 derives another nonce. */
function withNonce(text: Uint8Array, nonce: bigint): Uint8Array {
  const { scalar } = ed25519.utils.getExtendedPublicKey(seed)
  const point = ed25519.Point.BASE.multiply(nonce).toBytes()
  const digest = createHash('sha512').update(point).update(pair.publicKey).update(text).digest()
  const s = (nonce + fromLittleEndian(digest) * scalar) % L
  return concatBytes(point, toLittleEndian(s))
}

function isRefused(text: Uint8Array, bytes: Uint8Array, publicKey: Uint8Array): boolean {
  try {
    verifySignature(text, bytes, publicKey)
    return false
  } catch (error) {
    return hasCode(error, 'device_signature_invalid')
  }
}

function flip(bytes: Uint8Array, bit: number): Uint8Array {
  return bytes.map((byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))
}

function fromLittleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(bytes.toReversed())}`)
}

function toLittleEndian(value: bigint): Uint8Array {
  return fromHex(value.toString(16).padStart(64, '0')).toReversed()
}
