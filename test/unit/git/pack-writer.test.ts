import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Disk } from '../../../src/disk/disk.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { hasCode, StoreError } from '../../../src/errors.ts'
import { encodeTree } from '../../../src/git/objects/object.ts'
import { PackSet } from '../../../src/git/pack/pack-set.ts'
import { type PackInput, writePack } from '../../../src/git/pack/pack-writer.ts'
import { history, noise, object } from '../../support/pack-fixtures.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

const { objects } = history(20)

function failAsFull(): never {
  throw new StoreError('storage_full', 'No space left')
}

/** Versions of one tree, each with another oid in its one file of sixteen that changed. */
function treeVersions(count: number): PackInput[] {
  const oids = Array.from({ length: 16 }, (_, n) => Buffer.from(noise(`${n}`, 20)).toString('hex'))
  const versions: PackInput[] = []
  for (let n = 0; n < count; n += 1) {
    oids[n % 16] = Buffer.from(noise(`version ${n}`, 20)).toString('hex')
    const entries = oids.map((oid, file) => {
      return { mode: '100644' as const, name: file.toString(16), oid }
    })
    versions.push(object('tree', encodeTree(entries), versions.at(-1)?.oid))
  }
  return versions
}

test('a pack is named by its checksum, private, and without leftovers', async () => {
  const directory = temporaryDirectory()
  const { name, bytes, objects: count } = await writePack(systemDisk, directory, objects)
  const pack = readFileSync(join(directory, `${name}.pack`))
  expect(name).toBe(`pack-${pack.subarray(-20).toString('hex')}`)
  expect([bytes, count]).toEqual([pack.length, objects.length])
  expect(systemDisk.list(directory)).toEqual([`${name}.idx`, `${name}.pack`])
  expect(statSync(join(directory, `${name}.pack`)).mode & 0o777).toBe(0o600)
})

test('the same objects in the same order make the same pack', async () => {
  const packs = []
  for (let n = 0; n < 2; n += 1) {
    packs.push(await writePack(systemDisk, temporaryDirectory(), objects))
  }
  expect(packs[0]).toEqual(packs[1])
})

test('an object that comes twice is written once', async () => {
  const directory = temporaryDirectory()
  const pack = await writePack(systemDisk, directory, [...objects, ...objects])
  expect(pack.objects).toBe(objects.length)
})

test('a version of a tree costs as much as its change', async () => {
  const versions = treeVersions(200)
  const { bytes } = await writePack(systemDisk, temporaryDirectory(), versions)
  const whole = versions.map(({ type, body }) => object(type, body))
  const without = await writePack(systemDisk, temporaryDirectory(), whole)
  expect(bytes).toBeLessThan(without.bytes / 5)
})

test('a chain of deltas ends after fifty', async () => {
  const directory = temporaryDirectory()
  const versions = treeVersions(52)
  let bytes = 0
  const sizes: number[] = []
  for (let count = 1; count <= versions.length; count += 1) {
    const pack = await writePack(systemDisk, directory, versions.slice(0, count))
    sizes.push(pack.bytes - bytes)
    bytes = pack.bytes
  }
  const wholeSize = sizes[0] ?? 0
  const large = [...sizes.keys()].slice(1).filter((n) => (sizes[n] ?? 0) > wholeSize / 2)
  expect(large).toEqual([51])
})

test.each([
  ['comes later', (trees: PackInput[]) => trees.toReversed()],
  ['is not in the pack', (trees: PackInput[]) => trees.slice(1)],
  [
    'is of another type',
    (trees: PackInput[]) => {
      const [first, second] = trees
      if (first === undefined || second === undefined) return []
      const blob = object('blob', first.body)
      return [blob, { ...second, base: blob.oid }]
    },
  ],
])('a tree is written whole if its base %s', async (_, choose) => {
  const directory = temporaryDirectory()
  const trees = choose(treeVersions(2))
  const { bytes } = await writePack(systemDisk, directory, trees)
  const alone = trees.map(({ type, body }) => object(type, body))
  expect((await writePack(systemDisk, directory, alone)).bytes).toBe(bytes)
})

test('a body that does not match its oid is refused, and nothing is left', async () => {
  const directory = temporaryDirectory()
  const blob = object('blob', noise('blob', 9))
  const wrong = objects.with(30, { ...blob, body: noise('other', 9) })
  const refused = expect.toSatisfy((error) => hasCode(error, 'object_corrupt'))
  await expect(writePack(systemDisk, directory, wrong)).rejects.toEqual(refused)
  expect(systemDisk.list(directory)).toEqual([])
})

test('pack and index are synced before either has its name, and the names after', async () => {
  const directory = temporaryDirectory()
  const calls: string[] = []
  const watched: Disk = {
    ...systemDisk,
    sync: async (fd) => {
      await systemDisk.sync(fd)
      calls.push('sync')
    },
    rename: (from, to) => {
      systemDisk.rename(from, to)
      calls.push(to.slice(-4))
    },
    syncDirectory: async (path) => {
      await systemDisk.syncDirectory(path)
      calls.push('syncDirectory')
    },
  }
  await writePack(watched, directory, objects)
  expect(calls).toEqual(['sync', 'sync', '.idx', 'pack', 'syncDirectory'])
})

test.each(['write', 'sync', 'rename', 'syncDirectory'] as const)(
  'after a failing %s the error is thrown and no temporary file is left',
  async (operation) => {
    const directory = temporaryDirectory()
    const failing: Disk = { ...systemDisk, [operation]: failAsFull }
    const full = expect.toSatisfy((error) => hasCode(error, 'storage_full'))
    await expect(writePack(failing, directory, objects)).rejects.toEqual(full)
    expect(systemDisk.list(directory).filter((name) => name.startsWith('tmp_'))).toEqual([])
  },
)

test('an object of many megabytes passes through', { tags: 'slow' }, async () => {
  const directory = temporaryDirectory()
  const large = object('blob', noise('large', 3_000_000))
  await writePack(systemDisk, directory, [large, ...objects])
  const set = new PackSet(systemDisk, directory)
  set.rescan()
  expect(Buffer.from(set.read(large.oid)?.body ?? []).equals(large.body)).toBe(true)
  set.close()
})
