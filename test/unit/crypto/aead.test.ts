// The cryptography of an envelope: against an independent implementation, every bit of one changed,
// and the attack that the key commitment is there for.

import { xchacha20, xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import { blake2b } from '@noble/hashes/blake2.js'
import { describe, expect, test, vi } from 'vitest'
import { concatBytes, equalBytes, label, toHex, utf8 } from '../../../src/bytes.ts'
import { deriveSalt, openBytes, sealBytes } from '../../../src/crypto/aead.ts'
import { sodium } from '../../../src/crypto/sodium.ts'
import { hasCode } from '../../../src/errors.ts'
import { forgeTwoKeyCiphertext } from './two-key-ciphertext.ts'

const fill = (length: number, start: number): Uint8Array =>
  Uint8Array.from({ length }, (_, index) => (start + index) & 255)

const header = fill(24, 1)
const salt = fill(24, 50)
const key = fill(32, 100)
const context = utf8('the place')
const plaintext = fill(48, 200)
const envelope = sealBytes({ header, salt, key, context, plaintext })

test('an envelope follows the format, re-made without libsodium', () => {
  const okm = deriveOkm(key)
  const start = concatBytes(header, salt, okm.slice(32))
  const cipher = xchacha20poly1305(okm.slice(0, 32), salt, start)
  expect(toHex(envelope)).toBe(toHex(concatBytes(start, cipher.encrypt(plaintext))))
})

test('a salt follows the format, re-made without libsodium', () => {
  const hedge = fill(32, 9)
  const length = Uint8Array.of(0, context.length)
  const digest = blake2b(plaintext, { dkLen: 32 })
  const message = concatBytes(Uint8Array.of(2), length, context, hedge, digest)
  expect(toHex(deriveSalt({ saltKey: key, type: 2, context, hedge, plaintext }))).toBe(
    toHex(blake2b(message, { key, dkLen: 24 })),
  )
})

test('an envelope opens to its plaintext', () => {
  expect(openBytes(envelope, key, context)).toEqual(plaintext)
})

test('every changed bit is refused, by the commitment or by the tag', () => {
  for (let bit = 0; bit < envelope.length * 8; bit++) {
    const changed = envelope.map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))
    expect(
      codeOf(() => openBytes(changed, key, context)),
      `bit ${bit}`,
    ).toBe(bit < 80 * 8 ? 'envelope_commitment' : 'envelope_tag')
  }
})

describe('refused with envelope_commitment:', () => {
  test.each([
    ['another key', fill(32, 101), context],
    ['another place', key, utf8('the plac3')],
    ['a longer place', key, utf8('the places')],
    ['no place', key, new Uint8Array()],
  ])('%s', (_, otherKey, otherContext) => {
    expect(codeOf(() => openBytes(envelope, otherKey, otherContext))).toBe('envelope_commitment')
  })
})

test('a plaintext of no bytes has 96 bytes of envelope', () => {
  const empty = sealBytes({ header, salt, key, context, plaintext: new Uint8Array() })
  expect(empty).toHaveLength(96)
  expect(openBytes(empty, key, context)).toHaveLength(0)
})

describe('a large envelope', () => {
  const large = fill(20_000, 3)
  // The words of HChaCha20 are subtracted modulo 2^32: each seed borrows elsewhere.
  const seeds = Array.from({ length: 30 }, (_, seed) => seed)
  const sealLarge = (seed: number): Uint8Array =>
    sealBytes({ header, salt: fill(24, 7 * seed), key: fill(32, seed), context, plaintext: large })

  test('opens to its plaintext without libsodium', () => {
    const decrypt = vi.spyOn(sodium, 'crypto_aead_xchacha20poly1305_ietf_decrypt')
    for (const seed of seeds) {
      expect(equalBytes(openBytes(sealLarge(seed), fill(32, seed), context), large)).toBe(true)
    }
    expect(decrypt).not.toHaveBeenCalled()
    decrypt.mockRestore()
  })

  test('is refused by its tag if any part of it was changed', () => {
    for (const at of [80, 10_000, 20_079, 20_080, 20_095]) {
      const changed = sealLarge(1).map((byte, place) => (place === at ? byte ^ 1 : byte))
      expect(codeOf(() => openBytes(changed, fill(32, 1), context))).toBe('envelope_tag')
    }
  })
})

describe('one ciphertext that the bare cipher opens under two keys', () => {
  const other = fill(32, 33)
  const keys = [key, other].map((subkey) => deriveOkm(subkey))
  const [first, second] = keys.map((okm) => okm.slice(0, 32))
  // The attacker holds both subkeys and commits to the first.
  const start = concatBytes(header, salt, (keys[0] ?? key).slice(32))
  const ciphertext = forgeTwoKeyCiphertext({
    polyKeys: [first ?? key, second ?? key].map((one) => xchacha20(one, salt, new Uint8Array(32))),
    associatedData: start,
  })
  const forged = concatBytes(start, ciphertext)

  test('opens under both without the commitment', () => {
    for (const messageKey of [first ?? key, second ?? key]) {
      const cipher = xchacha20poly1305(messageKey, salt, start)
      expect(cipher.decrypt(ciphertext)).toHaveLength(ciphertext.length - 16)
    }
  })

  test('opens under the key that it commits to, and is refused under the other', () => {
    expect(openBytes(forged, key, context)).toHaveLength(ciphertext.length - 16)
    expect(codeOf(() => openBytes(forged, other, context))).toBe('envelope_commitment')
  })
})

function deriveOkm(subkey: Uint8Array): Uint8Array {
  const length = Uint8Array.of(0, context.length)
  const message = concatBytes(label('GLK1/seal/v1'), header, salt, length, context)
  return blake2b(message, { key: subkey, dkLen: 64 })
}

function codeOf(action: () => unknown): string | undefined {
  try {
    action()
    return undefined
  } catch (error) {
    return hasCode(error, 'envelope_commitment', 'envelope_tag') ? error.code : String(error)
  }
}
