// What the check of a received pack leaves in RAM: the same objects as in the pack, deltas of every
// depth included, no more than its bounds, and nothing of a pack that is too small to matter.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unwatched } from '../../../src/async.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { StoreError } from '../../../src/errors.ts'
import { OidTable } from '../../../src/git/objects/oid-table.ts'
import {
  boundsFor,
  HashedObjects,
  HashedObjectsBuilder,
} from '../../../src/git/pack/hashed-objects.ts'
import { checkPack } from '../../../src/git/pack/pack-resolve.ts'
import { writePack } from '../../../src/git/pack/pack-writer.ts'
import { hashedBytesMax } from '../../../src/limits.ts'
import { atOnce } from '../../../src/time-slice.ts'
import { inRam } from '../../support/hostile-packs.ts'
import { bareRepository, history, noise, object } from '../../support/pack-fixtures.ts'
import { git, temporaryDirectory } from '../../support/temporary.ts'

/** A packed history, in the repository at `root`. */
async function packed(commits: number) {
  const root = temporaryDirectory()
  const directory = bareRepository(root)
  const { head, objects } = history(commits)
  await writePack(systemDisk, directory, objects)
  git(['update-ref', 'refs/heads/main', head], root)
  return { root, directory, objects }
}

function readPack(directory: string): Uint8Array {
  const name = readdirSync(directory).find((file) => file.endsWith('.pack'))
  return readFileSync(join(directory, name ?? ''))
}

function hashedOf(pack: Uint8Array) {
  return atOnce(checkPack(inRam(pack), { watch: unwatched })).hashed
}

test.each(['by this engine', 'by stock git, with long chains'])(
  'has every object of a pack that was made %s',
  async (made) => {
    const { root, directory, objects } = await packed(400)
    if (made !== 'by this engine') git(['repack', '-adfq', '--depth=200', '--window=50'], root)
    const columns = hashedOf(readPack(directory))
    expect(columns).toBeDefined()
    if (columns === undefined) return
    // A thread gets the same memory.
    const readers = [new HashedObjects(columns), new HashedObjects(structuredClone(columns))]
    for (const reader of readers) {
      for (const { oid, type, body } of [...objects, ...objects.toReversed()]) {
        expect(reader.has(oid)).toBe(true)
        const found = reader.read(oid)
        expect(found?.type).toBe(type)
        expect(Buffer.compare(found?.body ?? new Uint8Array(), body)).toBe(0)
      }
      expect(reader.has('ab'.repeat(20))).toBe(false)
      expect(reader.read('ab'.repeat(20))).toBeUndefined()
    }
  },
)

test('has nothing of a small pack', async () => {
  const { directory } = await packed(20)
  expect(hashedOf(readPack(directory))).toBeUndefined()
})

test('refuses an object above the limit of its reader', async () => {
  const { directory, objects } = await packed(400)
  const columns = hashedOf(readPack(directory))
  const reader = columns && new HashedObjects(columns)
  const refusal = () => new StoreError('commit_too_large', 'Too large')
  for (const { oid, body } of objects.slice(0, 20)) {
    expect(() => reader?.read(oid, { bytes: body.length - 1, refusal })).toThrow('Too large')
    expect(reader?.read(oid, { bytes: body.length, refusal })).toBeDefined()
  }
})

test('keeps no more bytes of a type than its bound, and no large object', () => {
  const bounds = { commit: 500, tree: 0, blob: 100_000 }
  const objects = [
    object('commit', noise('a', 300)),
    object('commit', noise('b', 300)),
    object('commit', noise('c', 200)),
    object('tree', noise('d', 1)),
    object('blob', noise('e', 65_536)),
    object('blob', noise('f', 65_535)),
    object('blob', noise('g', 0)),
  ]
  const rows = OidTable.of(objects.length)
  const builder = new HashedObjectsBuilder(rows, objects.length, bounds)
  for (const [row, { oid, type, body }] of objects.entries()) {
    rows.oids.write(oid, row * 20, 'hex')
    expect(rows.add(row)).toBe(true)
    builder.add(row, type, body)
  }
  const reader = new HashedObjects(builder.columns())
  const kept = objects.map(({ oid }) => reader.read(oid)?.body.length)
  expect(kept).toEqual([300, undefined, 200, undefined, undefined, 65_535, 0])
  expect(objects.every(({ oid }) => reader.has(oid))).toBe(true)
})

test('keeps less where less memory is free', () => {
  expect(boundsFor(64 * 2 ** 30)).toEqual(hashedBytesMax)
  expect(boundsFor(2 ** 30).commit).toBe(hashedBytesMax.commit / 8)
  expect(boundsFor(0)).toEqual({ commit: 0, tree: 0, blob: 0 })
})

test('an oid that is added twice is found', () => {
  const rows = OidTable.of(3)
  for (const [row, oid] of ['12', '34', '12'].entries()) {
    rows.oids.write(oid.repeat(20), row * 20, 'hex')
  }
  expect([rows.add(0), rows.add(1), rows.add(2)]).toEqual([true, true, false])
  expect(['12', '34', '56'].map((oid) => rows.find(oid.repeat(20)))).toEqual([0, 1, undefined])
})
