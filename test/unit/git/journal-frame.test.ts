import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concatBytes } from '../../../src/bytes.ts'
import { StoreError } from '../../../src/errors.ts'
import {
  batchHeadBytes,
  decodeFrames,
  encodeBatch,
  findBatch,
  findHead,
  sectorBytes,
} from '../../../src/git/journal/journal-frame.ts'
import { full, seed } from '../../support/seed.ts'
import { TestHistory } from '../../support/transitions.ts'

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes)
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return copy
}

/** The code with which frames are refused; undefined if they decode. */
function refusal(bytes: Uint8Array): string | undefined {
  try {
    decodeFrames(bytes)
    return undefined
  } catch (error) {
    if (error instanceof StoreError) return error.code
    throw error
  }
}

describe('a batch', () => {
  const origin = { generation: 3, salt: new Uint8Array(16).fill(7) }

  test('decodes to the encoded frames, for any objects', { tags: 'slow' }, () => {
    const bytes = fc.uint8Array({ maxLength: 300 })
    const oid = fc.stringMatching(/^[0-9a-f]{40}$/)
    const type = fc.constantFrom('commit' as const, 'tree' as const)
    const object = fc.record({ oid, type, body: bytes })
    const nonZero = oid.filter((text) => !/^0+$/.test(text))
    const transition = fc.record({
      objects: fc.array(object, { maxLength: 6 }),
      expected: fc.option(nonZero, { nil: undefined }),
      next: nonZero,
    })
    fc.assert(
      fc.property(fc.array(transition, { maxLength: 4 }), (given) => {
        const place = { start: 1024, durable: 512 }
        const encoded = encodeBatch(origin, place, given)
        expect(encoded.bytes.length % sectorBytes).toBe(0)
        const found = findBatch(concatBytes(encoded.bytes, new Uint8Array(9)), 1024)
        const end = 1024 + encoded.bytes.length
        expect(found).toMatchObject({ ...origin, ...place, end, frames: given })
        // The reader has not hashed them yet.
        const asRead = encoded.frames.map(({ objects, ...frame }) => {
          return { ...frame, objects: objects.map((one) => ({ ...one, isVerified: false })) }
        })
        expect(found?.frames).toEqual(asRead)
        // At another position in the file it is not a batch.
        expect(findBatch(encoded.bytes, 512)).toBeUndefined()
      }),
      { seed, numRuns: full ? 5000 : 200 },
    )
  })

  test('with any frames under a right sum decodes or is journal_corrupt, never else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect([undefined, 'journal_corrupt']).toContain(refusal(bytes))
      }),
      { seed, numRuns: full ? 20_000 : 500 },
    )
  })

  test('is not found if any bit of it is flipped', () => {
    const { bytes } = encodeBatch(origin, { start: 512, durable: 0 }, new TestHistory(1).take(1))
    const length = batchHeadBytes + (findHead(bytes, 512)?.length ?? 0) + 17
    for (let bit = 0; bit < 8 * length; bit += full ? 1 : 23) {
      expect(findBatch(flipped(bytes, bit), 512)).toBeUndefined()
    }
    expect(findBatch(bytes, 512)).toBeDefined()
  })
})
