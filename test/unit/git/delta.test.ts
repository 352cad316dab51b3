import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hasCode } from '../../../src/errors.ts'
import { applyDelta, makeDelta } from '../../../src/git/pack/delta.ts'
import { noise } from '../../support/pack-fixtures.ts'
import { full, seed } from '../../support/seed.ts'

const corrupt = expect.toSatisfy((error) => hasCode(error, 'pack_corrupt'))
const base = noise('base', 300)

describe('makeDelta', () => {
  test('makes deltas from which applyDelta restores the target', () => {
    const bytes = fc.uint8Array({ maxLength: 400 })
    const property = fc.property(bytes, bytes, bytes, bytes, (start, before, after, end) => {
      const from = Buffer.concat([start, before, end])
      const to = Buffer.concat([start, after, end])
      expect(Buffer.from(applyDelta(from, makeDelta(from, to)))).toEqual(to)
    })
    fc.assert(property, { seed, numRuns: full ? 20_000 : 500 })
  })

  test.each([0, 1, 127, 128, 255, 256, 65_535, 65_536, 65_537, 200_000])(
    'copies %i shared bytes around a change',
    (shared) => {
      const around = noise('around', shared)
      const from = Buffer.concat([around, noise('old', 20), around])
      const to = Buffer.concat([around, noise('new', 20), around])
      const delta = makeDelta(from, to)
      expect(Buffer.from(applyDelta(from, delta)).equals(to)).toBe(true)
      expect(delta.length).toBeLessThan(70)
    },
  )

  test('spends about thirty bytes on one changed entry of a tree', () => {
    const changed = Buffer.concat([base.subarray(0, 100), noise('oid', 20), base.subarray(120)])
    expect(makeDelta(base, changed).length).toBeLessThanOrEqual(32)
  })
})

describe('applyDelta', () => {
  const size = [0xac, 0x02]
  test.each([
    ['no header', []],
    ['half a header', size],
    ['another base size', [0xad, 0x02, 1, 1, 0x61]],
    ['a size that does not end', [...size, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
    ['a target above the limit', [...size, 0xff, 0xff, 0xff, 0xff, 0x7f]],
    ['the reserved instruction', [...size, 1, 0]],
    ['a copy past the end of the base', [...size, 10, 0b1001_0001, 0xff, 0xff]],
    ['a copy from far past the base', [...size, 10, 0b1001_1000, 0xff, 10]],
    ['a copy that ends inside its fields', [...size, 10, 0b1001_0011, 0]],
    ['an insert past the end of the delta', [...size, 10, 10, 1, 2]],
    ['more than the target holds', [...size, 1, 2, 1, 2]],
    ['less than the target holds', [...size, 3, 2, 1, 2]],
  ])('refuses %s', (_, bytes) => {
    expect(() => applyDelta(base, Uint8Array.from(bytes))).toThrow(corrupt)
  })

  test('takes a copy without a length for 65,536 bytes', () => {
    const from = noise('long', 70_000)
    const delta = Uint8Array.of(0xf0, 0xa2, 0x04, 0x80, 0x80, 0x04, 0x80)
    expect(Buffer.from(applyDelta(from, delta)).equals(from.subarray(0, 65_536))).toBe(true)
  })

  test('makes nothing or throws pack_corrupt, for any bytes', { tags: 'slow' }, () => {
    const property = fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      const delta = Uint8Array.of(...size, ...bytes)
      expect(outcome(() => applyDelta(base, delta).length)).toSatisfy((result) => {
        return typeof result === 'number' || hasCode(result, 'pack_corrupt')
      })
    })
    fc.assert(property, { seed, numRuns: full ? 50_000 : 2000 })
  })
})

function outcome(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return error
  }
}
