// X-Wing against an independent implementation, in both directions.

import { ml_kem768_x25519 as xwing } from '@noble/post-quantum/hybrid.js'
import { expect, test } from 'vitest'
import { toHex } from '../../../src/bytes.ts'
import { decapsulate, encapsulate, kemKeyPair } from '../../../src/crypto/recipient.ts'

const seed = Uint8Array.from({ length: 32 }, (_, index) => 7 * index)
const pair = kemKeyPair(seed)
const encapsulationSeed = Uint8Array.from({ length: 64 }, (_, index) => index)

test('a seed gives the key pair of the reference implementation', () => {
  expect(toHex(pair.publicKey)).toBe(toHex(xwing.keygen(seed).publicKey))
  expect(pair.publicKey).toHaveLength(1216)
  expect(pair.secretKey).toEqual(seed)
})

test('from the same seed the reference implementation encapsulates the same', () => {
  const ours = encapsulate(pair.publicKey, encapsulationSeed)
  const theirs = xwing.encapsulate(pair.publicKey, encapsulationSeed)
  expect(toHex(ours.ciphertext)).toBe(toHex(theirs.cipherText))
  expect(toHex(ours.sharedSecret)).toBe(toHex(theirs.sharedSecret))
  expect(toHex(decapsulate(theirs.cipherText, pair))).toBe(toHex(theirs.sharedSecret))
  expect(toHex(xwing.decapsulate(ours.ciphertext, seed))).toBe(toHex(ours.sharedSecret))
})

test('another seed gives another ciphertext, the same seed the same', () => {
  const first = encapsulate(pair.publicKey, encapsulationSeed)
  expect(encapsulate(pair.publicKey, encapsulationSeed)).toEqual(first)
  const other = encapsulate(pair.publicKey, encapsulationSeed.toReversed())
  expect(toHex(other.ciphertext)).not.toBe(toHex(first.ciphertext))
})

test('a foreign key and a changed ciphertext give other secrets and no error', () => {
  const { ciphertext, sharedSecret } = encapsulate(pair.publicKey, encapsulationSeed)
  const other = kemKeyPair(seed.toReversed())
  const changed = ciphertext.with(5, (ciphertext[5] ?? 0) ^ 1)
  expect(decapsulate(ciphertext, pair)).toEqual(sharedSecret)
  expect(decapsulate(ciphertext, other)).not.toEqual(sharedSecret)
  expect(decapsulate(changed, pair)).not.toEqual(sharedSecret)
})

test.each([0, 1119, 1121])('a ciphertext of %i bytes is a fault of the program', (length) => {
  expect(() => decapsulate(new Uint8Array(length), pair)).toThrow(/1,120 bytes/)
})
