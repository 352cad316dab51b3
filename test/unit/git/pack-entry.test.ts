import { deflateSync, inflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { hasCode } from '../../../src/errors.ts'
import {
  decodeEntryHeader,
  decodePackHeader,
  deflate,
  encodeEntryHeader,
  encodeOffsetDeltaHeader,
  encodePackHeader,
  inflate,
} from '../../../src/git/pack/pack-entry.ts'
import { noise } from '../../support/pack-fixtures.ts'

const corrupt = expect.toSatisfy((error) => hasCode(error, 'pack_corrupt'))
const sizes = [0, 1, 15, 16, 2047, 2048, 102_400, 64 * 1024 * 1024]

describe('entry headers', () => {
  test.each(sizes)('keep type and size %i', (size) => {
    for (const type of ['commit', 'tree', 'blob'] as const) {
      const header = encodeEntryHeader(type, size)
      const decoded = decodeEntryHeader(Buffer.concat([header, noise('data', 40)]))
      expect(decoded).toMatchObject({ type, size, length: header.length })
    }
  })

  test.each([1, 127, 128, 16_511, 16_512, 2 ** 31, 2 ** 40])('keep the distance %i', (distance) => {
    const header = encodeOffsetDeltaHeader(33, distance)
    const decoded = decodeEntryHeader(Buffer.concat([header, noise('data', 40)]))
    expect(decoded).toMatchObject({ type: 'offsetDelta', size: 33, distance })
    expect(decoded.length).toBe(header.length)
  })

  test.each([
    ['nothing', []],
    ['type 0', [0x00]],
    ['type 5', [0x50]],
    ['a size that is cut', [0xbf, 0xff]],
    ['a size above the limit', [0xbf, 0xff, 0xff, 0xff, 0x7f]],
    ['a size that does not end', Array.from({ length: 40 }, () => 0xb0 | 0x80)],
    ['a size padded with zeros', [0xb0, ...Array.from({ length: 39 }, () => 0x80)]],
    ['a distance that is cut', [0x61, 0xff]],
    ['an absurd distance', [0x61, ...Array.from({ length: 30 }, () => 0xff)]],
    ['a base that is cut', [0x71, 1, 2, 3]],
  ])('are refused: %s', (_, bytes) => {
    expect(() => decodeEntryHeader(Uint8Array.from(bytes))).toThrow(corrupt)
  })
})

describe('pack header', () => {
  test('keeps the number of objects', () => {
    expect(decodePackHeader(encodePackHeader(4_000_000_000))).toBe(4_000_000_000)
  })

  test.each([
    ['another word', Buffer.from('PUCK\0\0\0\x02\0\0\0\x01')],
    ['version 4', Buffer.from('PACK\0\0\0\x04\0\0\0\x01')],
    ['too few bytes', Buffer.from('PACK\0\0\0\x02')],
  ])('is refused: %s', (_, bytes) => {
    expect(() => decodePackHeader(bytes)).toThrow(corrupt)
  })
})

describe('deflate', () => {
  test.each([0, 1, 60, 5000, 65_535, 65_536])('stores %i bytes as zlib reads them', (size) => {
    const body = noise('body', size)
    const deflated = deflate(body, 0)
    expect(deflated.length).toBeLessThanOrEqual(deflateSync(body, { level: 0 }).length)
    expect(inflateSync(deflated).equals(body)).toBe(true)
    expect(Buffer.from(inflate(deflated, size) ?? []).equals(body)).toBe(true)
  })
})

describe('inflate', () => {
  const body = noise('body', 5000)
  const deflated = deflateSync(body)

  test.each([0, 1, 63, 64, 65, 5000])('returns %i bytes and ignores what follows', (size) => {
    const stream = deflateSync(body.subarray(0, size))
    const result = inflate(Buffer.concat([stream, noise('next', 100)]), size)
    expect(Buffer.from(result ?? []).equals(body.subarray(0, size))).toBe(true)
  })

  test('asks for more of a stream that is cut', () => {
    expect(inflate(deflated.subarray(0, 100), body.length)).toBeUndefined()
    expect(inflate(new Uint8Array(0), 1)).toBeUndefined()
  })

  test.each([
    ['holds more than it declares', deflated, body.length - 1],
    ['holds less than it declares', deflated, body.length + 1],
    ['declares no bytes at all', deflated, 0],
    ['is no zlib stream', noise('junk', 100), 100],
  ])('refuses an entry that %s', (_, stream, size) => {
    expect(() => inflate(stream, size)).toThrow(corrupt)
  })

  test('stops a bomb at the declared size', { tags: 'slow' }, () => {
    const bomb = deflateSync(Buffer.alloc(200_000_000))
    const before = process.memoryUsage().arrayBuffers
    expect(() => inflate(bomb, 1000)).toThrow(corrupt)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000)
  })
})
