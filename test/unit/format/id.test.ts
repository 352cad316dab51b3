// Identifiers and their text form.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { label, toHex } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import { decodeBase32, encodeBase32 } from '../../../src/format/base32.ts'
import { deviceIdOf, formatId, newId, parseId, seedOf, storeIdOf } from '../../../src/format/id.ts'
import { full, seed } from '../../support/seed.ts'

const key = Uint8Array.from({ length: 32 }, (_, index) => index)
const invalid = expect.objectContaining({ code: 'invalid_input' })

test.each([
  ['store', '0'.repeat(32), 'memstore_00000000000000000000000000'],
  ['memory', 'f'.repeat(32), 'mem_7zzzzzzzzzzzzzzzzzzzzzzzzz'],
  ['version', `${'0'.repeat(31)}1`, 'memver_00000000000000000000000001'],
  ['device', '0123456789abcdef0123456789abcdef', 'dev_014d2pf2dbsqqg28t5cy4tqkff'],
] as const)('a %s id %s is written %s and read back', (kind, hex, text) => {
  expect(formatId(kind, hex)).toBe(text)
  expect(parseId(kind, text)).toBe(hex)
})

test('every id is read back from its text', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const hex = toHex(bytes)
      expect(BigInt(`0x${parseId('memory', formatId('memory', hex))}`)).toBe(BigInt(`0x${hex}`))
    }),
    { seed, numRuns: full ? 10_000 : 200 },
  )
})

describe('refused with invalid_input:', () => {
  test.each([
    ['nothing', ''],
    ['the prefix of another kind', 'memver_00000000000000000000000001'],
    ['no prefix', '00000000000000000000000001'],
    ['a digit too few', 'mem_0000000000000000000000001'],
    ['a digit too many', 'mem_000000000000000000000000001'],
    ['more than 128 bits', 'mem_80000000000000000000000000'],
    ['capital letters', 'mem_0000000000000000000000000A'],
    ['a letter that is no digit', 'mem_0000000000000000000000000i'],
    ['a space', 'mem_0000000000000000000000000 '],
    ['a line end', 'mem_00000000000000000000000001\n'],
  ])('%s', (_, text) => {
    expect(() => parseId('memory', text)).toThrow(invalid)
  })
})

test('seeds, store and device ids are the first half of labelled hashes', () => {
  const founded = hash256(label('GLK1/seed/v1'), key, key.toReversed())
  expect(seedOf(key, key.toReversed())).toBe(toHex(founded).slice(0, 32))
  const store = hash256(label('GLK1/store/v2'), key)
  expect(storeIdOf(key)).toBe(toHex(store).slice(0, 32))
  const device = hash256(label('GLK1/device/v1'), key)
  expect(deviceIdOf(key)).toBe(toHex(device).slice(0, 32))
})

test('a new id is 16 random bytes', () => {
  expect(newId((length) => new Uint8Array(length).fill(0xab))).toBe('ab'.repeat(16))
})

test('base32 of whole bytes is read back, and only as it was written', () => {
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
