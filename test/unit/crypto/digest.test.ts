// The hash functions against an independent implementation.

import { blake2b } from '@noble/hashes/blake2.js'
import { sha256 as nobleSha256, sha512 as nobleSha512 } from '@noble/hashes/sha2.js'
import { describe, expect, test } from 'vitest'
import { toHex, utf8 } from '../../../src/bytes.ts'
import { deriveKey, hash256, keyedHash, sha256, sha512 } from '../../../src/crypto/digest.ts'

const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => index & 255)
const key = bytes(32)

describe('digests equal the reference implementation', () => {
  test.each([0, 1, 31, 127, 128, 129, 1000, 100_000])('of %i bytes', (length) => {
    const data = bytes(length)
    expect(toHex(hash256(data))).toBe(toHex(blake2b(data, { dkLen: 32 })))
    expect(toHex(keyedHash(24, key, data))).toBe(toHex(blake2b(data, { key, dkLen: 24 })))
    expect(toHex(keyedHash(64, key, data))).toBe(toHex(blake2b(data, { key, dkLen: 64 })))
    expect(toHex(sha256(data))).toBe(toHex(nobleSha256(data)))
    expect(toHex(sha512(data))).toBe(toHex(nobleSha512(data)))
  })
})

test('parts are hashed as their concatenation', () => {
  expect(hash256(bytes(5), bytes(0), bytes(7))).toEqual(
    hash256(Uint8Array.from([...bytes(5), ...bytes(7)])),
  )
  expect(hash256()).toEqual(hash256(new Uint8Array()))
})

test('a digest owns its memory', () => {
  expect(sha256(bytes(1)).buffer.byteLength).toBe(32)
  expect(sha512(bytes(1)).buffer.byteLength).toBe(64)
})

describe('subkeys', () => {
  test.each([0, 1, 5, 255])('number %i is BLAKE2b with the number as salt', (subkeyId) => {
    const salt = new Uint8Array(16)
    salt[0] = subkeyId
    const personalization = new Uint8Array(16)
    personalization.set(utf8('GLK1keys'))
    const expected = blake2b(new Uint8Array(), { key, salt, personalization, dkLen: 32 })
    expect(toHex(deriveKey(key, subkeyId, 'GLK1keys'))).toBe(toHex(expected))
  })

  test('a context of another length is a fault of the program', () => {
    expect(() => deriveKey(key, 1, 'short')).toThrow(/eight characters/)
  })
})
