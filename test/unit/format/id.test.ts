// Identifiers and their text form.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { label, toHex } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import { decodeBase32, encodeBase32 } from '../../../src/format/base32.ts'
import { deviceIdOf, newId, seedOf, storeIdOf } from '../../../src/format/id.ts'
import { full, seed } from '../../support/seed.ts'

const key = Uint8Array.from({ length: 32 }, (_, index) => index)

test('seeds, store and device ids are the first half of labelled hashes', () => {
  const founded = hash256(label('GLK1/seed/v1'), key, key.toReversed())
  expect(seedOf(key, key.toReversed())).toBe(toHex(founded).slice(0, 32))
  const store = hash256(label('GLK1/store/v1'), key)
  expect(storeIdOf(key)).toBe(toHex(store).slice(0, 32))
  const device = hash256(label('GLK1/device/v1'), key)
  expect(deviceIdOf(key)).toBe(toHex(device).slice(0, 32))
})

test('a new id is 16 random bytes', () => {
  expect(newId((length) => new Uint8Array(length).fill(0xab))).toBe('ab'.repeat(16))
})

test('base32 of whole bytes decodes, and only in its canonical form', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 5, maxLength: 100 }), (bytes) => {
      const whole = bytes.slice(0, bytes.length - (bytes.length % 5))
      expect(decodeBase32(encodeBase32(whole))).toEqual(whole)
    }),
    { seed, numRuns: full ? 10_000 : 200 },
  )
  expect(decodeBase32('u')).toBeUndefined()
  expect(decodeBase32('01')).toBeUndefined()
})
