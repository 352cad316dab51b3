// An index that is read from its file answers as the one in RAM does, and is not misled by damage.

import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { CacheBudget } from '../../../src/cache-budget.ts'
import type { Disk } from '../../../src/disk/disk.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { hasCode } from '../../../src/errors.ts'
import { PackIndex, PackIndexBuilder } from '../../../src/git/pack/pack-index.ts'
import { PagedIndex } from '../../../src/git/pack/paged-index.ts'
import { noise } from '../../support/pack-fixtures.ts'
import { full, sample, seed } from '../../support/seed.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

const corrupt = expect.toSatisfy((error) => hasCode(error, 'pack_corrupt'))
const checksum = noise('checksum', 20)
let path = ''

beforeEach(() => {
  path = join(temporaryDirectory(), 'pack.idx')
})

interface Row {
  readonly oid: Uint8Array
  readonly offset: number
}

/** Spread as hashes are, or with all but the last bytes alike: there guesses are far off. */
function names(count: number, alike: number): Row[] {
  return Array.from({ length: count }, (_, n) => {
    const oid = noise(`oid ${n}`, 20)
    oid.fill(n % 3, 0, alike)
    return { oid, offset: n % 5 === 4 ? 2 ** 31 + n * 2 ** 20 : 12 + n * 100 }
  })
}

function encode(rows: readonly Row[]): Buffer {
  const builder = new PackIndexBuilder(rows.length)
  for (const [n, { oid, offset }] of rows.entries()) builder.add(oid, offset, n * 1_000_003)
  return Buffer.from(builder.encode(checksum))
}

function open(bytes: Uint8Array, disk: Disk = systemDisk, budget?: CacheBudget): PagedIndex {
  writeFileSync(path, bytes)
  const index = PagedIndex.open(disk, path, budget)
  if (index === undefined) throw new Error('The file is gone')
  return index
}

/** Each name, and one next to it that the index does not have. */
function asked(rows: readonly Row[]): Uint8Array[] {
  return rows.flatMap(({ oid }) => {
    const near = Uint8Array.from(oid)
    near[19] = (near[19] ?? 0) ^ 1
    return [oid, near]
  })
}

/** Whether it refuses to answer. Throws if it takes a name that is there for missing or another. */
function refuses(bytes: Uint8Array, rows: readonly Row[], honest: PackIndex): boolean {
  let index: PagedIndex | undefined
  let refused = false
  try {
    index = open(bytes)
    for (const { oid } of rows) refused = refusesName(index, honest, oid) || refused
  } catch (error) {
    if (!hasCode(error, 'pack_corrupt')) throw error
    refused = true
  } finally {
    index?.close()
  }
  return refused
}

function refusesName(index: PagedIndex, honest: PackIndex, oid: Uint8Array): boolean {
  try {
    if (index.find(oid) === honest.find(oid)) return false
  } catch (error) {
    if (hasCode(error, 'pack_corrupt')) return true
    throw error
  }
  throw new Error('A name that is there was taken for missing')
}

describe('PagedIndex', () => {
  test('gives the same answers as the whole index', { tags: 'slow' }, () => {
    const shape = fc.record({
      count: fc.integer({ min: 0, max: full ? 20_000 : 2500 }),
      alike: fc.constantFrom(0, 0, 1, 2, 16),
    })
    const check = ({ count, alike }: { count: number; alike: number }): void => {
      const rows = names(count, alike)
      const bytes = encode(rows)
      const [index, whole] = [open(bytes), new PackIndex(bytes)]
      expect(index.count).toBe(whole.count)
      expect(Buffer.compare(index.packChecksum, whole.packChecksum)).toBe(0)
      for (const oid of asked(rows)) {
        if (index.find(oid) !== whole.find(oid)) throw new Error('Another position')
      }
      for (let at = 0; at < count; at += 1) {
        const same =
          Buffer.compare(index.oidAt(at), whole.oidAt(at)) === 0 &&
          index.offsetAt(at) === whole.offsetAt(at) &&
          index.checksumAt(at) === whole.checksumAt(at)
        if (!same) throw new Error('Another row')
      }
      index.close()
    }
    fc.assert(fc.property(shape, check), { seed, numRuns: full ? 60 : 12 })
  })

  test.each([
    ['names spread evenly', 0],
    ['many names with one first byte', 1],
  ])('takes no name for missing because of a wrong byte: %s', (_name, alike) => {
    const rows = names(60, alike)
    const bytes = encode(rows)
    const honest = new PackIndex(bytes)
    const places = Array.from({ length: 8 + 1024 + rows.length * 20 }, (_, at) => at)
    let refusals = 0
    for (const at of sample(places, 5)) {
      const flipped = Buffer.from(bytes)
      flipped[at] = (flipped[at] ?? 0) ^ (1 << ((at + seed) % 8))
      // The damaged name itself has become another one.
      const row = Math.floor((at - 1032) / 20)
      const own = row < 0 ? undefined : honest.oidAt(row)
      const others = rows.filter(({ oid }) => !own || Buffer.compare(oid, own) !== 0)
      if (refuses(flipped, others, honest)) refusals += 1
    }
    expect(refusals).toBeGreaterThan(100)
  })

  test('refuses a file that is cut short, now or later', () => {
    // More than the blocks that opening it has read.
    const rows = names(6000, 0)
    const bytes = encode(rows)
    for (const length of [0, 7, 1031, 1032, 1071, 5000, bytes.length - 4, bytes.length - 1]) {
      expect(() => open(bytes.subarray(0, length))).toThrow(corrupt)
    }
    const index = open(bytes)
    truncateSync(path, 1032)
    expect(() => rows.map(({ oid }) => index.find(oid))).toThrow(corrupt)
    index.close()
  })

  test('refuses an offset that lies outside the table of large offsets', () => {
    const bytes = encode(names(4, 0))
    bytes.writeUInt32BE(0x8000_0000, 8 + 1024 + 4 * 24)
    const index = open(bytes)
    expect(() => index.offsetAt(0)).toThrow(corrupt)
    index.close()
  })

  test(
    'reads a few blocks for a name among a hundred thousand, and keeps no more',
    { tags: 'slow' },
    () => {
      const rows = names(100_000, 0)
      let [reads, bytesRead] = [0, 0]
      const disk: Disk = {
        ...systemDisk,
        read(fd, into, position) {
          reads += 1
          const length = systemDisk.read(fd, into, position)
          bytesRead += length
          return length
        },
      }
      const bytes = encode(rows)
      const budget = new CacheBudget(bytes.length + 2 ** 14)
      const kept = open(bytes, disk, budget)
      expect(bytesRead).toBeLessThan(2 ** 16)
      reads = 0
      for (const { oid } of [...rows, ...rows]) kept.find(oid)
      expect(reads).toBeLessThan(200)
      kept.close()
      expect(budget.bytes).toBe(0)
      reads = 0
      const index = open(bytes, disk)
      const opened = reads
      expect(opened).toBeLessThan(600)
      const some = rows.filter((_, n) => n % 50 === 0)
      for (const { oid } of some) index.find(oid)
      expect((reads - opened) / some.length).toBeLessThan(2)
      index.close()
    },
  )

  test('closes a file that it refuses, and is undefined without one', () => {
    const held: number[] = []
    const disk: Disk = {
      ...systemDisk,
      openExisting(file, mode) {
        const fd = systemDisk.openExisting(file, mode)
        if (fd !== undefined) held.push(fd)
        return fd
      },
      close(fd) {
        held.splice(held.indexOf(fd), 1)
        systemDisk.close(fd)
      },
    }
    writeFileSync(path, 'no index')
    expect(() => PagedIndex.open(disk, path)).toThrow(corrupt)
    expect(held).toEqual([])
    expect(PagedIndex.open(disk, `${path}.gone`)).toBeUndefined()
  })
})
