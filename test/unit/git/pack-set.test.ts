import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { toHex } from '../../../src/bytes.ts'
import { Sha1 } from '../../../src/crypto/sha1.ts'
import type { Disk } from '../../../src/disk/disk.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { hasCode } from '../../../src/errors.ts'
import { mergePacks } from '../../../src/git/maintenance/pack-merge.ts'
import { makeDelta } from '../../../src/git/pack/delta.ts'
import { encodeEntryHeader, encodeOffsetDeltaHeader } from '../../../src/git/pack/pack-entry.ts'
import { PackSet } from '../../../src/git/pack/pack-set.ts'
import { type PackInput, writePack } from '../../../src/git/pack/pack-writer.ts'
import {
  assemblePack,
  history,
  noise,
  object,
  type RawEntry,
  unreadable,
} from '../../support/pack-fixtures.ts'
import { full } from '../../support/seed.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

const corrupt = expect.toSatisfy((error) => hasCode(error, 'pack_corrupt', 'object_corrupt'))
const { objects } = history(20)

function openSet(directory: string, disk: Disk = systemDisk): PackSet {
  const set = new PackSet(disk, directory)
  set.rescan()
  return set
}

/** Whether all objects read as they should. Refusals as damaged are no failure here. */
function isUnnoticed(set: PackSet, expected: readonly PackInput[]): boolean {
  try {
    expect(unreadable(set, expected)).toEqual([])
    return true
  } catch (error) {
    if (hasCode(error, 'pack_corrupt', 'object_corrupt')) return false
    throw error
  }
}

function entry(oid: string, header: Uint8Array, data: Uint8Array): RawEntry {
  return { oid, header, deflated: deflateSync(data) }
}

function onOid(delta: Uint8Array, base: string): Uint8Array {
  return Buffer.concat([encodeEntryHeader('refDelta', delta.length), Buffer.from(base, 'hex')])
}

describe('PackSet', () => {
  test('reads written objects, and knows that others are missing', async () => {
    const directory = temporaryDirectory()
    await writePack(systemDisk, directory, objects)
    const set = openSet(directory)
    expect(unreadable(set, objects)).toEqual([])
    expect(set.has(objects[0]?.oid ?? '')).toBe(true)
    expect(set.has('0'.repeat(40))).toBe(false)
    expect(set.read('0'.repeat(40))).toBeUndefined()
    expect(set.packs()).toMatchObject([{ objects: objects.length, kept: false }])
    set.close()
    expect(set.read(objects[0]?.oid ?? '')).toBeUndefined()
  })

  test('is empty without a directory', () => {
    expect(openSet(join(temporaryDirectory(), 'absent')).packs()).toEqual([])
  })

  test('notices packs that come and go, and opens nothing if none did', async () => {
    const directory = temporaryDirectory()
    let opened = 0
    const counting: Disk = {
      ...systemDisk,
      openExisting: (path, mode) => {
        opened += 1
        return systemDisk.openExisting(path, mode)
      },
    }
    const set = openSet(directory, counting)
    const first = await writePack(systemDisk, directory, objects.slice(0, 10))
    set.rescan()
    set.rescan()
    expect(opened).toBe(1)
    const second = await writePack(systemDisk, directory, objects.slice(10))
    set.rescan()
    expect(unreadable(set, objects)).toEqual([])
    for (const extension of ['idx', 'pack']) rmSync(join(directory, `${first.name}.${extension}`))
    set.rescan()
    expect(set.packs().map(({ name }) => name)).toEqual([second.name])
    expect(set.has(objects[0]?.oid ?? '')).toBe(false)
    set.close()
  })

  test('reads on while another process merges its packs away', async () => {
    const directory = temporaryDirectory()
    const parts = [objects.slice(0, 30), objects.slice(30)]
    const packs = []
    for (const part of parts) packs.push(await writePack(systemDisk, directory, part))
    const before = openSet(directory)
    const names = packs.map(({ name }) => name)
    await mergePacks(systemDisk, directory, names)
    expect(unreadable(before, objects)).toEqual([])
    before.rescan()
    expect(before.packs()).toHaveLength(1)
    expect(unreadable(before, objects)).toEqual([])
    before.close()
  })

  test('looks again if a pack vanishes between the listing and the opening', async () => {
    const directory = temporaryDirectory()
    const parts = [objects.slice(0, 30), objects.slice(30)]
    for (const part of parts) await writePack(systemDisk, directory, part)
    const stale = systemDisk.list(directory)
    const names = stale.filter((name) => name.endsWith('.idx')).map((name) => name.slice(0, -4))
    await mergePacks(systemDisk, directory, names)
    let listings = 0
    const racing: Disk = {
      ...systemDisk,
      list: (path) => {
        listings += 1
        return listings === 1 ? stale : systemDisk.list(path)
      },
    }
    const set = openSet(directory, racing)
    expect(unreadable(set, objects)).toEqual([])
    expect(listings).toBe(2)
    set.close()
  })

  test.each(['idx', 'pack'])('sets a pack with a damaged %s aside', async (extension) => {
    const directory = temporaryDirectory()
    const good = await writePack(systemDisk, directory, objects.slice(0, 10))
    const bad = await writePack(systemDisk, directory, objects.slice(10))
    const path = join(directory, `${bad.name}.${extension}`)
    const whole = readFileSync(path)
    const step = full ? 1 : Math.ceil(whole.length / 50)
    for (let length = 0; length < whole.length; length += step) {
      truncateSync(path, length)
      const set = openSet(directory)
      expect(set.packs().map(({ name }) => name)).toEqual([good.name])
      expect(set.damaged()).toEqual([bad.name])
      expect(unreadable(set, objects.slice(0, 10))).toEqual([])
      set.close()
      writeFileSync(path, whole)
    }
  })

  test('passes over an index without pack, a pack without index, and other files', async () => {
    const directory = temporaryDirectory()
    const good = await writePack(systemDisk, directory, objects)
    copyFileSync(join(directory, `${good.name}.idx`), join(directory, 'pack-lone.idx'))
    copyFileSync(join(directory, `${good.name}.pack`), join(directory, 'pack-other.pack'))
    writeFileSync(join(directory, 'tmp_pack_x'), 'x')
    writeFileSync(join(directory, 'multi-pack-index'), 'x')
    const set = openSet(directory)
    expect(set.packs().map(({ name }) => name)).toEqual([good.name])
    expect(set.damaged()).toEqual([])
    set.close()
  })

  test(
    'never returns other bytes after a byte of the pack was flipped',
    { tags: 'slow' },
    async () => {
      const directory = temporaryDirectory()
      const { name } = await writePack(systemDisk, directory, objects)
      const path = join(directory, `${name}.pack`)
      const whole = readFileSync(path)
      const step = full ? 1 : Math.ceil(whole.length / 150)
      let unnoticed = 0
      for (let at = 12; at < whole.length - 20; at += step) {
        const flipped = Buffer.from(whole)
        flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8))
        writeFileSync(path, flipped)
        const set = openSet(directory)
        const each = objects.map((expected) => isUnnoticed(set, [expected]))
        if (!each.includes(false)) unnoticed += 1
        set.close()
      }
      // Deflate has padding bits before stored data that mean nothing.
      expect(unnoticed).toBeLessThanOrEqual(whole.length / step / 20)
    },
  )

  test('reads the copy in another pack if one is damaged', async () => {
    const directory = temporaryDirectory()
    const [first, ...others] = objects
    if (first === undefined) return
    const lie = entry(first.oid, encodeEntryHeader('blob', 3), Buffer.from('lie'))
    await assemblePack(directory, [lie])
    await writePack(systemDisk, directory, [first, ...others])
    const set = openSet(directory)
    expect(unreadable(set, objects)).toEqual([])
    set.close()
  })
})

describe('PackSet with indexes that are read from their files', () => {
  function openPaged(directory: string): PackSet {
    const set = new PackSet(systemDisk, directory, { indexBytesMax: 0 })
    set.rescan()
    return set
  }

  test('reads, lists and knows the same', async () => {
    const directory = temporaryDirectory()
    for (const part of [objects.slice(0, 30), objects.slice(20)]) {
      await writePack(systemDisk, directory, part)
    }
    const [set, whole] = [openPaged(directory), openSet(directory)]
    expect(unreadable(set, objects)).toEqual([])
    expect([...set.objectIds()]).toEqual([...whole.objectIds()])
    expect(set.read('0'.repeat(40))).toBeUndefined()
    expect(set.has('0'.repeat(40))).toBe(false)
    set.close()
    whole.close()
  })

  test(
    'takes no object for missing after a byte of an index was flipped',
    { tags: 'slow' },
    async () => {
      const directory = temporaryDirectory()
      const { name } = await writePack(systemDisk, directory, objects)
      const path = join(directory, `${name}.idx`)
      const bytes = readFileSync(path)
      const step = full ? 1 : Math.ceil(bytes.length / 100)
      for (let at = 0; at < bytes.length; at += step) {
        const flipped = Buffer.from(bytes)
        flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8))
        writeFileSync(path, flipped)
        const set = openPaged(directory)
        // The name that was damaged is no longer there.
        const own = toHex(bytes.subarray(at - ((at - 1032) % 20)).subarray(0, 20))
        const others = objects.filter(({ oid }) => oid !== own)
        const missing = others.filter(({ oid }) => isMissing(set, oid))
        expect(set.damaged().length > 0 || missing.length === 0).toBe(true)
        set.close()
      }
    },
  )

  test('reads the copy in another pack if one index is damaged', async () => {
    const directory = temporaryDirectory()
    const { name } = await writePack(systemDisk, directory, objects)
    const path = join(directory, `${name}.idx`)
    const bytes = readFileSync(path)
    bytes.fill(0, 1032 + 20, 1032 + 20 * (objects.length - 1))
    await writePack(systemDisk, directory, objects.toReversed())
    writeFileSync(path, bytes)
    const set = openPaged(directory)
    expect(unreadable(set, objects)).toEqual([])
    expect(objects.every(({ oid }) => set.has(oid))).toBe(true)
    set.close()
  })
})

/** Whether it reports the object as missing; an error is no such report. */
function isMissing(set: PackSet, oid: string): boolean {
  try {
    return set.read(oid) === undefined
  } catch (error) {
    expect(error).toEqual(corrupt)
    return false
  }
}

describe('PackSet against hostile entries', () => {
  const target = object('tree', noise('target', 200))
  const other = object('tree', noise('other', 200))
  const delta = makeDelta(other.body, target.body)
  const whole = encodeEntryHeader('tree', 200)
  const plain = entry(other.oid, whole, other.body)
  const bomb = { oid: target.oid, header: whole, deflated: deflateSync(Buffer.alloc(50_000_000)) }

  test.each([
    ['another object', [entry(target.oid, whole, other.body)]],
    ['another type', [entry(target.oid, encodeEntryHeader('blob', 200), target.body)]],
    ['a tag', [entry(target.oid, encodeEntryHeader('tag', 200), target.body)]],
    ['a larger size', [entry(target.oid, encodeEntryHeader('tree', 201), target.body)]],
    ['a smaller size', [entry(target.oid, encodeEntryHeader('tree', 199), target.body)]],
    ['an absurd size', [entry(target.oid, encodeEntryHeader('tree', 2 ** 50), target.body)]],
    ['a bomb', [bomb]],
    ['a cut stream', [{ oid: target.oid, header: whole, deflated: bomb.deflated.subarray(0, 9) }]],
    ['no stream', [{ oid: target.oid, header: whole, deflated: new Uint8Array(0) }]],
    ['a delta on itself by oid', [entry(target.oid, onOid(delta, target.oid), delta)]],
    ['a delta on nothing', [entry(target.oid, onOid(delta, 'ee'.repeat(20)), delta)]],
    ['a delta on itself', [entry(target.oid, encodeOffsetDeltaHeader(delta.length, 0), delta)]],
    ['a base in the pack header', [entry(target.oid, encodeOffsetDeltaHeader(9, 5), delta)]],
    ['a base before the pack', [entry(target.oid, encodeOffsetDeltaHeader(9, 2 ** 40), delta)]],
    [
      'a base between two entries',
      [plain, entry(target.oid, encodeOffsetDeltaHeader(delta.length, 50), delta)],
    ],
    [
      'a delta for another base',
      [
        entry(other.oid, encodeEntryHeader('tree', 3), Buffer.from('abc')),
        entry(target.oid, onOid(delta, other.oid), delta),
      ],
    ],
    [
      'a cycle of two deltas',
      [
        entry(target.oid, onOid(delta, other.oid), delta),
        entry(other.oid, onOid(delta, target.oid), delta),
      ],
    ],
  ])('refuses %s', async (_, entries) => {
    const directory = temporaryDirectory()
    await assemblePack(directory, entries)
    const set = openSet(directory)
    expect(() => set.read(target.oid)).toThrow(corrupt)
    set.close()
  })

  test('refuses a chain of deltas that would copy gigabytes', { tags: 'slow' }, async () => {
    const directory = temporaryDirectory()
    const zeros = object('blob', new Uint8Array(32 * 1024 * 1024))
    const entries = [entry(zeros.oid, encodeEntryHeader('blob', zeros.body.length), zeros.body)]
    const same = makeDelta(zeros.body, zeros.body)
    let previous = zeros.oid
    for (let n = 0; n < 30; n += 1) {
      const oid = n === 29 ? target.oid : n.toString(16).padStart(40, '0')
      entries.push(entry(oid, onOid(same, previous), same))
      previous = oid
    }
    await assemblePack(directory, entries)
    const set = openSet(directory)
    expect(() => set.read(target.oid)).toThrow('A pack is damaged: a chain of deltas is too large')
    expect(() => set.read(zeros.oid)).not.toThrow()
    set.close()
  })

  test(
    'reads an honest chain of 1,000 deltas, and refuses one of 5,000',
    { tags: 'slow' },
    async () => {
      const directory = temporaryDirectory()
      const trees = Array.from({ length: 5001 }, (_, n) => {
        return object('tree', Buffer.concat([noise('shared', 100), Buffer.from(`${n}`)]))
      })
      const entries = trees.map(({ oid, body }, n) => {
        const base = trees[n - 1]
        if (base === undefined) return entry(oid, encodeEntryHeader('tree', body.length), body)
        const step = makeDelta(base.body, body)
        return entry(oid, onOid(step, base.oid), step)
      })
      await assemblePack(directory, entries)
      const set = openSet(directory)
      expect(() => set.read(trees[5000]?.oid ?? '')).toThrow(corrupt)
      expect(set.read(trees[1000]?.oid ?? '')?.type).toBe('tree')
      set.close()
    },
  )

  test('sets a pack aside whose header counts more objects than its index', async () => {
    const directory = temporaryDirectory()
    const { name } = await writePack(systemDisk, directory, objects)
    const path = join(directory, `${name}.pack`)
    const bytes = readFileSync(path)
    bytes.writeUInt32BE(0xffff_ffff, 8)
    const checksum = new Sha1().update(bytes.subarray(0, -20)).digest()
    writeFileSync(path, Buffer.concat([bytes.subarray(0, -20), checksum]))
    const set = openSet(directory)
    expect(set.damaged()).toEqual([name])
    set.close()
  })
})
