import { describe, expect, test } from 'vitest'
import { Sha1 } from '../../../src/crypto/sha1.ts'
import { hasCode } from '../../../src/errors.ts'
import { PackIndex, PackIndexBuilder } from '../../../src/git/pack/pack-index.ts'
import { noise } from '../../support/pack-fixtures.ts'

const corrupt = expect.toSatisfy((error) => hasCode(error, 'pack_corrupt'))
const checksum = noise('checksum', 20)
const rows = Array.from({ length: 500 }, (_, n) => {
  return { oid: noise(`oid ${n}`, 20), offset: 12 + n * 100, crc: n * 8_000_000 }
})

function encode(entries: typeof rows): Buffer {
  const builder = new PackIndexBuilder(entries.length)
  for (const { oid, offset, crc } of entries) builder.add(oid, offset, crc)
  return Buffer.from(builder.encode(checksum))
}

/** Changed by `change`, then given a right checksum, so that only the layout can refuse it. */
function resealed(change: (bytes: Buffer) => Buffer | void): Buffer {
  const bytes = encode(rows)
  const body = (change(bytes) ?? bytes).subarray(0, -20)
  return Buffer.concat([body, new Sha1().update(body).digest()])
}

describe('PackIndex', () => {
  test('finds every object that was added, and no other', () => {
    const index = new PackIndex(encode(rows))
    expect(index.count).toBe(rows.length)
    expect(Buffer.from(index.packChecksum).equals(checksum)).toBe(true)
    for (const { oid, offset, crc } of rows) {
      const position = index.find(oid) ?? -1
      expect(Buffer.from(index.oidAt(position)).equals(oid)).toBe(true)
      expect([index.offsetAt(position), index.checksumAt(position)]).toEqual([offset, crc])
      const near = Uint8Array.from(oid)
      near[19] = (near[19] ?? 0) ^ 1
      expect(index.find(near)).toBeUndefined()
    }
  })

  test.each([1, 5, 6, 19])('sorts oids that have the first %i bytes in common', (common) => {
    const alike = rows.slice(0, 200).map((row, n) => {
      const oid = Uint8Array.from(row.oid)
      oid.set(checksum.subarray(0, common))
      oid[19] = (n * 77) % 256
      return { ...row, oid }
    })
    const all = [...alike, ...rows.slice(200)]
    const index = new PackIndex(encode(all))
    const sorted = all.map(({ oid }) => Buffer.from(oid)).toSorted((a, b) => a.compare(b))
    expect(all.map((_, n) => Buffer.from(index.oidAt(n)))).toEqual(sorted)
    for (const { oid, offset } of all) {
      expect(index.offsetAt(index.find(oid) ?? -1)).toBe(offset)
    }
  })

  test('holds no object, or one', () => {
    expect(new PackIndex(encode([])).find(noise('any', 20))).toBeUndefined()
    const one = rows.slice(0, 1)
    expect(new PackIndex(encode(one)).find(one[0]?.oid ?? checksum)).toBe(0)
  })

  test('keeps offsets of 31 bits and more apart', () => {
    const offsets = [2 ** 31 - 1, 2 ** 31, 2 ** 32 + 5, 2 ** 45]
    const large = offsets.map((offset, n) => ({ oid: noise(`large ${n}`, 20), offset, crc: n }))
    const index = new PackIndex(encode(large))
    const found = large.map(({ oid }) => index.offsetAt(index.find(oid) ?? -1))
    expect(found).toEqual(offsets)
  })

  test('does not take an object twice', () => {
    expect(() => encode([...rows, ...rows.slice(0, 1)])).toThrow(corrupt)
  })

  test('refuses every truncation and every flipped byte', { tags: 'slow' }, () => {
    const bytes = encode(rows.slice(0, 20))
    for (let at = 0; at < bytes.length; at += 1) {
      expect(() => new PackIndex(bytes.subarray(0, at))).toThrow(corrupt)
      const flipped = Buffer.from(bytes)
      flipped[at] = (flipped[at] ?? 0) ^ 0x40
      expect(() => new PackIndex(flipped)).toThrow(corrupt)
    }
  })

  test.each([
    ['version 1', (bytes: Buffer) => bytes.subarray(8)],
    ['version 3', (bytes: Buffer) => void bytes.writeUInt32BE(3, 4)],
    ['an absurd count', (bytes: Buffer) => void bytes.writeUInt32BE(0xffff_ffff, 8 + 255 * 4)],
    ['a fan-out that goes backwards', (bytes: Buffer) => void bytes.writeUInt32BE(499, 8 + 40)],
    [
      'a row too few',
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -68), bytes.subarray(-40)]),
    ],
    ['a table of half an offset', (bytes: Buffer) => Buffer.concat([Buffer.alloc(4), bytes])],
  ])('refuses %s under a right checksum', (_, change) => {
    expect(() => new PackIndex(resealed(change))).toThrow(corrupt)
  })

  test('refuses an offset that lies outside the table of large offsets', () => {
    const offsetsAt = 8 + 1024 + rows.length * 24
    const index = new PackIndex(
      resealed((bytes) => void bytes.writeUInt32BE(0x8000_0000, offsetsAt)),
    )
    expect(() => index.offsetAt(0)).toThrow(corrupt)
  })
})
