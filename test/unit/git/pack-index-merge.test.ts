import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { HashedFile } from '../../../src/git/pack/hashed-file.ts'
import {
  type MergedRow,
  mergeIndexes,
  writeMergedIndex,
} from '../../../src/git/pack/pack-index-merge.ts'
import { PackIndex, PackIndexBuilder } from '../../../src/git/pack/pack-index.ts'
import { noise } from '../../support/pack-fixtures.ts'
import { full, seed } from '../../support/seed.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

interface Row {
  readonly oid: Buffer
  readonly offset: number
  readonly crc: number
}

const checksum = noise('checksum', 20)

function indexOf(rows: readonly Row[]): PackIndex {
  return new PackIndex(encode(rows))
}

function encode(rows: readonly Row[]): Uint8Array {
  const builder = new PackIndexBuilder(rows.length)
  for (const { oid, offset, crc } of rows) builder.add(oid, offset, crc)
  return builder.encode(checksum)
}

/** The file that several indexes become, where every row keeps its offset. */
async function merged(parts: readonly (readonly Row[])[]): Promise<Buffer> {
  const indexes = parts.map(indexOf)
  const path = join(temporaryDirectory(), 'merged.idx')
  const file = new HashedFile(systemDisk, path)
  const merge = mergeIndexes(indexes)
  const values = {
    offsetOf: ({ from, position }: MergedRow) => indexes[from]?.offsetAt(position) ?? NaN,
    checksumOf: ({ from, position }: MergedRow) => indexes[from]?.checksumAt(position) ?? NaN,
  }
  writeMergedIndex(file, { indexes, merge }, values, checksum)
  await file.finish()
  return readFileSync(path)
}

/** Each object once, as the first of the indexes has it. */
function withoutRepetitions(parts: readonly (readonly Row[])[]): readonly Row[] {
  const rows = new Map<string, Row>()
  for (const row of parts.flat()) {
    const name = row.oid.toString('hex')
    if (!rows.has(name)) rows.set(name, row)
  }
  return [...rows.values()]
}

/** Few different names, some alike in all but the last byte, and offsets on both sides of 2^31. */
const name = fc.integer({ min: 0, max: 60 }).map((n) => {
  const oid = Buffer.from(noise(`oid ${n >> 1}`, 20))
  oid[19] = n & 1
  return oid
})
const row = fc.record({
  oid: name,
  offset: fc.oneof(
    fc.integer({ min: 12, max: 2 ** 20 }),
    fc.integer({ min: 2 ** 31, max: 2 ** 40 }),
  ),
  crc: fc.nat(2 ** 32 - 1),
})
/** The first entry of a pack is never far enough from its start for a large offset. */
const part = fc
  .uniqueArray(row, { selector: ({ oid }) => oid.toString('hex'), maxLength: 40 })
  .map((rows) => rows.map((entry, n) => (n === 0 ? { ...entry, offset: 12 } : entry)))

test('merged indexes are, byte for byte, the index of all their rows', async () => {
  const property = fc.asyncProperty(fc.array(part, { maxLength: 6 }), async (parts) => {
    const expected = encode(withoutRepetitions(parts))
    expect((await merged(parts)).equals(expected)).toBe(true)
  })
  await fc.assert(property, { seed, numRuns: full ? 2000 : 60 })
})

test('columns longer than a single write are whole', async () => {
  const rows = Array.from({ length: 8000 }, (_, n): Row => {
    return { oid: Buffer.from(noise(`${n}`, 20)), offset: 12 + n * 100, crc: n * 500_000 }
  })
  const parts = [rows.filter((_, n) => n % 3 === 0), rows.filter((_, n) => n % 3 > 0)]
  expect((await merged(parts)).equals(encode(rows))).toBe(true)
})
