// Packs of a remote that are marked until their head is verified: a power failure or a death leaves
// neither a mark on what the head needs, nor one that stops the next fetch.

import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore, Transition } from '../../src/git/object-store.ts'
import { expectAllReadable } from '../contract/object-store.contract.ts'
import { FaultyDisk, SimulatedDeath } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { TestHistory } from '../support/transitions.ts'
import { createVolatileObjectStore } from '../support/volatile-object-store.ts'

const before = new TestHistory(31).take(5)
const arriving = new TestHistory(42, before.at(-1)?.next).take(2)
const next = arriving[1]?.next ?? ''
const deadMark = `gitlocket: not verified, received by ${'0'.repeat(32)}\n`

async function newStore(): Promise<string> {
  const directory = join(temporaryDirectory(), 'store')
  const store = await createDiskObjectStore({ directory, idleMs: Infinity })
  await store.exclusive(() => store.commit(before))
  await store.close()
  return directory
}

function open(directory: string, disk: FaultyDisk = new FaultyDisk()): Promise<ObjectStore> {
  const packer = inlinePacker(disk, directory)
  return openDiskObjectStore({ directory, disk, packer, idleMs: Infinity, lockWaitMs: 300 })
}

/** Receives the objects of the last `count` of some transitions in one pack. */
async function receive(
  store: ObjectStore,
  transitions: readonly Transition[],
  count: number,
): Promise<void> {
  const source = createVolatileObjectStore()
  await source.exclusive(() => source.commit([...before, ...transitions]))
  const oids = transitions.slice(-count).flatMap(({ objects }) => objects.map(({ oid }) => oid))
  const pack = await source.exchange.pack(oids)
  const tip = transitions.at(-1)?.next ?? ''
  await store.exchange.receive(pack.chunks(), { tip, unverified: true })
}

async function take(store: ObjectStore): Promise<void> {
  await store.exchange.accept(async () => [])
  const expected = store.head
  await store.exclusive(() => store.commit([{ objects: [], expected, next }]))
}

async function expectTaken(directory: string): Promise<void> {
  const store = await open(directory)
  expect(store.head).toBe(next)
  await store.checkpoint()
  expectAllReadable(store, arriving)
  await store.close()
}

test('that a pack from a remote is accepted, before the head needs it', async () => {
  const directory = await newStore()
  const disk = new FaultyDisk()
  const store = await open(directory, disk)
  // In two packs: a checkpoint keeps the one with the head in any case.
  await receive(store, arriving.slice(0, 1), 1)
  await receive(store, arriving, 1)
  await take(store)
  disk.die('contents and names')
  const packs = join(directory, 'objects/pack')
  // The content of a mark may have reached the disk by itself, and its process is dead.
  for (const keep of readdirSync(packs).filter((name) => name.endsWith('.keep'))) {
    writeFileSync(join(packs, keep), deadMark)
  }
  await expectTaken(directory)
})

test('a pack whose mark a dead process has left is received again', async () => {
  const directory = await newStore()
  const disk = new FaultyDisk()
  disk.rename = (from, to) => {
    if (to.endsWith('.idx')) disk.die('nothing')
    FaultyDisk.prototype.rename.call(disk, from, to)
  }
  await expect(receive(await open(directory, disk), arriving, 2)).rejects.toThrow(SimulatedDeath)
  const store = await open(directory)
  await receive(store, arriving, 2)
  await take(store)
  await store.close()
  await expectTaken(directory)
})
