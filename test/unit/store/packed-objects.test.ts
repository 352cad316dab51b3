// The reader of packs for a verification: what packs have comes from them, all else from the store.

import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDiskObjectStore } from '../../../src/git/disk-store/disk-object-store.ts'
import type { GitObject, Oid, SizeLimit } from '../../../src/git/objects/object.ts'
import { PackedObjects } from '../../../src/store/verify/packed-objects.ts'
import { writeForged } from '../../support/forged-disk.ts'
import { standardHistory } from '../../support/standard-forge.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

/** A packed store, a reader of its packs, and what that has asked the store for. */
async function packed(change: (packs: string) => void = () => undefined) {
  const directory = join(temporaryDirectory(), 'store')
  const { forge } = await standardHistory('packed')
  await writeForged(forge, directory)
  const oids = [...forge.objects.keys()]
  const store = await openDiskObjectStore({ directory })
  const bodies = new Map(oids.map((oid) => [oid, store.read(oid)?.body]))
  const packs = join(directory, 'objects/pack')
  change(packs)
  const asked: Oid[] = []
  const others = {
    read(oid: Oid, limit?: SizeLimit): GitObject | undefined {
      asked.push(oid)
      return store.read(oid, limit)
    },
  }
  const reader = new PackedObjects([packs], others)
  return { oids, bodies, asked, reader, close: () => (reader.close(), store.close()) }
}

test('reads packed objects without asking the store', async () => {
  const { oids, bodies, asked, reader, close } = await packed()
  for (const oid of oids) expect(reader.read(oid)?.body).toEqual(bodies.get(oid))
  expect(oids.every((oid) => reader.has(oid))).toBe(true)
  expect(asked).toEqual([])
  expect(reader.read('ab'.repeat(20))).toBeUndefined()
  expect(reader.has('ab'.repeat(20))).toBe(false)
  await close()
})

test('asks the store for objects that are in no pack', async () => {
  // The store has opened its packs and still reads them.
  const { oids, bodies, asked, reader, close } = await packed((packs) => rmSync(packs, all))
  for (const oid of oids) expect(reader.read(oid)?.body).toEqual(bodies.get(oid))
  expect(oids.every((oid) => reader.has(oid))).toBe(true)
  expect(new Set(asked)).toEqual(new Set(oids))
  await close()
})

test('asks the store for objects that are damaged', async () => {
  const { oids, bodies, asked, reader, close } = await packed(damage)
  for (const oid of oids) expect(reader.read(oid)?.body).toEqual(bodies.get(oid))
  expect(asked.length).toBeGreaterThan(0)
  await close()
})

const all = { recursive: true, force: true } as const

/** Puts a pack with one changed byte in the place of the one that the store has open. */
function damage(packs: string): void {
  for (const name of readdirSync(packs)) {
    if (!name.endsWith('.pack')) continue
    const bytes = readFileSync(join(packs, name))
    const at = Math.floor(bytes.length / 2)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(join(packs, 'new'), bytes)
    renameSync(join(packs, 'new'), join(packs, name))
  }
}
