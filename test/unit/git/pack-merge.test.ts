import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Disk } from '../../../src/disk/disk.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { hasCode } from '../../../src/errors.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../../src/git/disk-store/disk-object-store.ts'
import { mergePacks, planMerge } from '../../../src/git/maintenance/pack-merge.ts'
import { makeDelta } from '../../../src/git/pack/delta.ts'
import { encodeEntryHeader } from '../../../src/git/pack/pack-entry.ts'
import { FaultyDisk } from '../../support/faulty-disk.ts'
import {
  assemblePack,
  history,
  losses,
  noise,
  object,
  writeParts,
} from '../../support/pack-fixtures.ts'
import { full, seed } from '../../support/seed.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { TestHistory } from '../../support/transitions.ts'

const { objects } = history(40)

describe('planMerge', () => {
  test.each([
    ['nothing', [], []],
    ['one pack', [5], []],
    ['a progression', [1, 2, 4, 8], []],
    ['a steep progression', [1, 10, 1000], []],
    ['two equal packs', [7, 7], [7, 7]],
    ['a new small pack under a large one', [100, 1], []],
    ['small packs under a large one', [1000, 1, 1, 1], [1, 1, 1]],
    ['packs whose sum disturbs the next', [1, 1, 3, 50], [3, 1, 1]],
    ['a progression under a disturbance', [1, 2, 4, 8, 9, 50], [9, 8, 4, 2, 1]],
  ])('chooses as git does: %s', (_, sizes, expected) => {
    const packs = sizes.map((count, n) => ({ name: `${count}#${n}`, objects: count, bytes: 0 }))
    expect(planMerge(packs).map((name) => Number.parseInt(name))).toEqual(expected)
  })

  test('leaves packs alone that are marked to be kept', () => {
    const pack = { objects: 5, bytes: 0 }
    const kept = { ...pack, name: 'c', kept: true }
    expect(planMerge([{ ...pack, name: 'a' }, kept])).toEqual([])
    expect(planMerge([{ ...pack, name: 'a' }, { ...pack, name: 'b' }, kept])).toHaveLength(2)
  })

  test('keeps the number of packs logarithmic', () => {
    const property = fc.property(fc.array(fc.integer({ min: 1, max: 2000 })), (sizes) => {
      let packs: { name: string; objects: number; bytes: number }[] = []
      for (const [n, size] of sizes.entries()) {
        packs.push({ name: `${n}`, objects: size, bytes: 0 })
        const merged = new Set(planMerge(packs))
        const sum = packs.reduce((all, p) => all + (merged.has(p.name) ? p.objects : 0), 0)
        packs = packs.filter(({ name }) => !merged.has(name))
        if (merged.size > 0) packs.push({ name: `m${n}`, objects: sum, bytes: 0 })
        const total = packs.reduce((all, pack) => all + pack.objects, 0)
        expect(packs.length).toBeLessThanOrEqual(Math.log2(total) + 1)
      }
    })
    fc.assert(property, { seed, numRuns: full ? 1000 : 50 })
  })
})

describe('mergePacks', () => {
  test('keeps every object and removes the merged packs', async () => {
    const directory = temporaryDirectory()
    const names = await writeParts(directory, objects.slice(0, 50), objects.slice(50))
    const merged = await mergePacks(systemDisk, directory, names)
    expect(merged?.objects).toBe(objects.length)
    expect(systemDisk.list(directory)).toEqual([`${merged?.name}.idx`, `${merged?.name}.pack`])
    expect(losses(directory, objects)).toEqual([])
  })

  test('copies entries as they are: a merged pack is as large as its parts', async () => {
    const directory = temporaryDirectory()
    const extra = [object('blob', noise('extra', 100))]
    const names = await writeParts(directory, [...objects], extra)
    const sizes = names.map((name) => readFileSync(join(directory, `${name}.pack`)).length)
    const merged = await mergePacks(systemDisk, directory, names)
    expect(merged?.bytes).toBe((sizes[0] ?? 0) + (sizes[1] ?? 0) - 32)
  })

  test('reads no large index and no pack as a whole', { tags: 'slow' }, async () => {
    const directory = temporaryDirectory()
    const large = [1, 2, 3].map((n) => object('blob', noise(`large ${n}`, 700_000)))
    const [first, second, third] = large
    const more = Array.from({ length: 2000 }, (_, n) => object('blob', noise(`${n}`, 10)))
    const names = await writeParts(
      directory,
      [...more, ...(first ? [first] : []), ...(second ? [second] : [])],
      [...objects, ...(second ? [second] : []), ...(third ? [third] : [])],
    )
    let longest = 0
    const disk: Disk = {
      ...systemDisk,
      readFile: (path) => expect.fail(`${path} is read as a whole`),
      read(fd, into, position) {
        longest = Math.max(longest, into.length)
        return systemDisk.read(fd, into, position)
      },
    }
    await mergePacks(disk, directory, names, { indexBytesMax: 0 })
    expect(losses(directory, [...objects, ...more, ...large])).toEqual([])
    // An entry that is longer than a window is read by itself, where one before it is dropped.
    expect(longest).toBeLessThan(800_000)
  })

  test('reads a small index once, and no row of it by itself', async () => {
    const directory = temporaryDirectory()
    const names = await writeParts(directory, objects.slice(0, 50), objects.slice(50))
    const indexes: string[] = []
    let reads = 0
    const disk: Disk = {
      ...systemDisk,
      readFile(path) {
        indexes.push(path)
        return systemDisk.readFile(path)
      },
      read(fd, into, position) {
        reads += 1
        return systemDisk.read(fd, into, position)
      },
    }
    await mergePacks(disk, directory, names)
    expect(indexes).toEqual(names.map((name) => `${directory}/${name}.idx`))
    // Header, trailer and entries of each pack.
    expect(reads).toBeLessThanOrEqual(4 * names.length)
  })

  test('refuses a pack of which a byte has changed between the entries that it names', async () => {
    const directory = temporaryDirectory()
    const names = await writeParts(directory, objects.slice(0, 50), objects.slice(50))
    const path = join(directory, `${names[1]}.pack`)
    const bytes = readFileSync(path)
    bytes[bytes.length - 21] = (bytes.at(-21) ?? 0) ^ 1
    writeFileSync(path, bytes)
    const before = systemDisk.list(directory)
    await expect(mergePacks(systemDisk, directory, names)).rejects.toSatisfy((error) => {
      return hasCode(error, 'pack_corrupt')
    })
    expect(systemDisk.list(directory)).toEqual(before)
  })

  test('resolves deltas whose base was dropped as a duplicate', async () => {
    const directory = temporaryDirectory()
    const trees = objects.filter(({ type }) => type === 'tree')
    const names = await writeParts(directory, trees.slice(0, 30), trees.slice(5), [...objects])
    const merged = await mergePacks(systemDisk, directory, names)
    expect(merged?.objects).toBe(objects.length)
    expect(losses(directory, objects)).toEqual([])
  })

  test('keeps the old copy of deltas that two packs hold in opposite directions', async () => {
    const directory = temporaryDirectory()
    const a = object('tree', noise('a', 200))
    const b = object('tree', Buffer.concat([a.body.subarray(0, 150), noise('b', 50)]))
    const names = await writeParts(
      directory,
      [a, { ...b, base: a.oid }],
      [b, { ...a, base: b.oid }],
    )
    expect((await mergePacks(systemDisk, directory, names))?.objects).toBe(2)
    expect(losses(directory, [a, b])).toEqual([])
  })

  test('keeps deltas by name whose base follows them', async () => {
    const directory = temporaryDirectory()
    const a = object('tree', noise('a', 200))
    const b = object('tree', Buffer.concat([a.body.subarray(0, 150), noise('b', 50)]))
    const delta = makeDelta(a.body, b.body)
    const name = Buffer.from(a.oid, 'hex')
    const header = Buffer.concat([encodeEntryHeader('refDelta', delta.length), name])
    const { name: first } = await assemblePack(directory, [
      { oid: b.oid, header, deflated: deflateSync(delta) },
      { oid: a.oid, header: encodeEntryHeader('tree', 200), deflated: deflateSync(a.body) },
    ])
    const [second = ''] = await writeParts(directory, [...objects])
    await mergePacks(systemDisk, directory, [second, first])
    expect(losses(directory, [a, b, ...objects])).toEqual([])
  })

  test('any split into overlapping packs merges to the same objects', async () => {
    const pick = fc.array(fc.subarray([...objects], { minLength: 1 }), {
      minLength: 2,
      maxLength: 5,
    })
    const property = fc.asyncProperty(pick, fc.boolean(), async (parts, isPaged) => {
      const directory = temporaryDirectory()
      const names = await writeParts(directory, ...parts)
      const expected = new Map(parts.flat().map((entry) => [entry.oid, entry]))
      if (new Set(names).size < names.length) return
      const how = isPaged ? { indexBytesMax: 0 } : {}
      const merged = await mergePacks(systemDisk, directory, names, how)
      expect(merged?.objects).toBe(expected.size)
      expect(losses(directory, [...expected.values()])).toEqual([])
    })
    await fc.assert(property, { seed, numRuns: full ? 500 : 10 })
  })

  test('removes files that git derived from old packs, and files of dead writers', async () => {
    const directory = temporaryDirectory()
    const names = await writeParts(directory, objects.slice(0, 50), objects.slice(50))
    for (const name of [...names, 'pack-foreign']) {
      for (const extension of ['rev', 'bitmap']) {
        writeFileSync(join(directory, `${name}.${extension}`), '')
      }
    }
    const others = ['multi-pack-index', 'multi-pack-index-00.rev', 'tmp_pack_new', 'tmp_idx_old']
    for (const file of others) writeFileSync(join(directory, file), '')
    utimesSync(join(directory, 'tmp_idx_old'), 1, 1)
    const merged = await mergePacks(systemDisk, directory, names)
    expect(systemDisk.list(directory)).toEqual(
      [
        `${merged?.name}.idx`,
        `${merged?.name}.pack`,
        'pack-foreign.bitmap',
        'pack-foreign.rev',
        'tmp_pack_new',
      ].toSorted(),
    )
  })

  test.each(['keep', 'mtimes'])('leaves a pack with a .%s file alone', async (extension) => {
    const directory = temporaryDirectory()
    const names = await writeParts(directory, objects.slice(0, 30), objects.slice(30, 60))
    const [kept = ''] = await writeParts(directory, objects.slice(60))
    writeFileSync(join(directory, `${kept}.${extension}`), '')
    await mergePacks(systemDisk, directory, [...names, kept])
    expect(systemDisk.list(directory)).toContain(`${kept}.pack`)
    expect(losses(directory, objects)).toEqual([])
  })

  test('does nothing if another process has merged the packs already', async () => {
    const directory = temporaryDirectory()
    const names = await writeParts(directory, objects.slice(0, 50), objects.slice(50))
    await mergePacks(systemDisk, directory, names)
    expect(await mergePacks(systemDisk, directory, names)).toBeUndefined()
    expect(losses(directory, objects)).toEqual([])
  })

  test('keeps a merged pack that is equal to one of its parts', async () => {
    const directory = temporaryDirectory()
    const names = await writeParts(directory, [...objects], objects.slice(0, 10))
    const merged = await mergePacks(systemDisk, directory, names)
    expect(merged?.name).toBe(names[0])
    expect(losses(directory, objects)).toEqual([])
  })

  test('refuses a damaged entry and changes nothing', async () => {
    const directory = temporaryDirectory()
    const names = await writeParts(directory, objects.slice(0, 50), objects.slice(50))
    const path = join(directory, `${names[1]}.pack`)
    const bytes = readFileSync(path)
    bytes[400] = (bytes[400] ?? 0) ^ 1
    writeFileSync(path, bytes)
    const before = systemDisk.list(directory)
    const corrupt = expect.toSatisfy((error) => hasCode(error, 'pack_corrupt'))
    await expect(mergePacks(systemDisk, directory, names)).rejects.toEqual(corrupt)
    expect(systemDisk.list(directory)).toEqual(before)
  })

  test.each(['before', 'torn', 'after'] as const)(
    'a power failure %s any file operation loses no object',
    { tags: 'slow' },
    async (moment) => {
      let dead = true
      let at = 0
      while (dead) {
        at += 1
        const directory = temporaryDirectory()
        const names = await writeParts(directory, objects.slice(0, 50), objects.slice(50))
        const disk = new FaultyDisk({ kind: 'death', at, moment, loss: 'contents and names' })
        await mergePacks(disk, directory, names).catch((error: unknown) => {
          if (!disk.dead) throw error
        })
        dead = disk.dead
        expect(losses(directory, objects)).toEqual([])
        disk.release()
      }
      // Two files opened, written and synced, two renames, four removals, two directory syncs.
      expect(at).toBeGreaterThan(14)
    },
  )
})

test('a store that is closed after each change rarely merges packs', async () => {
  const directory = temporaryDirectory()
  const packs = join(directory, 'objects', 'pack')
  const changes = new TestHistory(1)
  await (await createDiskObjectStore({ directory })).close()
  const counts: number[] = []
  for (let n = 0; n < 16; n += 1) {
    const store = await openDiskObjectStore({ directory })
    await store.exclusive(() => store.commit([changes.next()]))
    await store.close()
    counts.push(readdirSync(packs).filter((name) => name.endsWith('.pack')).length)
  }
  expect(counts.filter((count, n) => count <= (counts[n - 1] ?? 0)).length).toBe(4)
  expect(Math.max(...counts)).toBe(4)
})
