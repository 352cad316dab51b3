// Sorted lists of oids and the native sort behind them, against plain arrays.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OidList, sortedRows } from '../../../src/git/objects/oid-list.ts'
import { full, seed } from '../../support/seed.ts'

const runs = { seed, numRuns: full ? 2000 : 200 }
/** Few different bytes, so that oids share prefixes and repeat. */
const oid = fc
  .array(fc.constantFrom(0, 1, 255), { minLength: 20, maxLength: 20 })
  .map((bytes) => Buffer.from(bytes.with(4, 0).fill(0, 0, 4)).toString('hex'))

describe('OidList', () => {
  test('holds each oid once, in order, and finds them all', () => {
    fc.assert(
      fc.property(fc.array(oid), fc.array(oid), (present, others) => {
        const list = OidList.of(present)
        const expected = [...new Set(present)].toSorted()
        expect(list.bytes.toString('hex')).toBe(expected.join(''))
        expect(list.count).toBe(expected.length)
        expect(list.isAscending()).toBe(true)
        for (const one of [...present, ...others]) {
          expect(list.hasOid(one)).toBe(present.includes(one))
        }
      }),
      runs,
    )
  })

  test('knows bytes that are not in order', () => {
    const [a, b] = ['01'.repeat(20), '02'.repeat(20)]
    expect(new OidList(Buffer.from(b + a, 'hex')).isAscending()).toBe(false)
    expect(new OidList(Buffer.from(a + a, 'hex')).isAscending()).toBe(false)
    expect(new OidList(Buffer.from(a + b, 'hex')).isAscending()).toBe(true)
  })
})

describe('sortedRows', () => {
  test('orders as a stable sort does, up to the largest number', () => {
    const value = fc.oneof(
      fc.integer({ min: 0, max: 99 }),
      fc.integer({ min: 0, max: 2 ** 38 - 1 }),
    )
    fc.assert(
      fc.property(fc.array(value), (values) => {
        const rows = sortedRows(Float64Array.from(values))
        const expected = [...values.keys()].toSorted((a, b) => {
          return (values[a] ?? 0) - (values[b] ?? 0) || a - b
        })
        expect([...rows]).toEqual(expected)
      }),
      runs,
    )
  })

  test('refuses a number that it would cut off', () => {
    expect(() => sortedRows(Float64Array.of(2 ** 38))).toThrow('Internal error')
  })
})
