// The purpose of each sync of the storage engine: a power failure takes all unsynced data along, at
// the moment when leaving out one sync would lose an acknowledged change. Those of the journal have
// a file of their own.
// @module-tag slow

import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { systemRandom } from '../../src/crypto/random.ts'
import { StoreError } from '../../src/errors.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import { createMemoryObjectStore } from '../../src/git/memory-store/memory-object-store.ts'
import type { ObjectStore, Transition } from '../../src/git/object-store.ts'
import { RepairSite } from '../../src/git/repair/repair-site.ts'
import { generateIdentity } from '../../src/keys/identity.ts'
import { StagedClone } from '../../src/store/clone/staged-clone.ts'
import { Anchor } from '../../src/store/local/anchor.ts'
import { beforeGenesis } from '../../src/store/snapshot/snapshot.ts'
import { expectAllReadable } from '../contract/object-store.contract.ts'
import { eraseBlob, expectErased, testSecret } from '../support/erasure.ts'
import { FaultyDisk, SimulatedDeath } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { ownDirectory } from '../support/own-files.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'
import { receivePack } from '../support/transfer.ts'
import { TestHistory } from '../support/transitions.ts'

const before = new TestHistory(31).take(5)
const erasure = eraseBlob(before, 2)
const oldHead = before.at(-1)?.next
const [secret] = before[2]?.objects.filter(({ type }) => type === 'blob') ?? []

function optionsOf(directory: string, disk: FaultyDisk): Parameters<typeof openDiskObjectStore>[0] {
  const packer = inlinePacker(disk, directory)
  return { directory, disk, packer, idleMs: Infinity, lockWaitMs: 300, secret: testSecret }
}

function open(directory: string, disk: FaultyDisk = new FaultyDisk()): Promise<ObjectStore> {
  return openDiskObjectStore(optionsOf(directory, disk))
}

/** A closed store with the history that all of these begin with. */
async function newStore(): Promise<string> {
  const directory = join(temporaryDirectory(), 'store')
  const store = await createDiskObjectStore({ directory, idleMs: Infinity })
  await store.exclusive(() => store.commit(before))
  await store.close()
  return directory
}

/** What the next process finds, and that it can write and pack. */
async function expectHistory(directory: string, transitions: readonly Transition[]): Promise<void> {
  const store = await open(directory)
  expect(store.head).toBe(transitions.at(-1)?.next)
  expectAllReadable(store, transitions)
  const more = new TestHistory(99, store.head).next()
  await store.exclusive(() => store.commit([more]))
  await store.close()
  expect(git(['rev-parse', 'main'], directory).trim()).toBe(more.next)
}

/** Dies of a power failure once the names in a directory have been synced, the `count`-th time. */
function dieAfterSyncOf(disk: FaultyDisk, path: string, count: number): void {
  let left = count
  disk.syncDirectory = async (directory) => {
    await FaultyDisk.prototype.syncDirectory.call(disk, directory)
    left -= directory === path ? 1 : 0
    if (left === 0) disk.die('contents and names')
  }
}

test('a new store, and its first commits', async () => {
  const directory = join(temporaryDirectory(), 'where', 'nothing', 'is')
  const disk = new FaultyDisk()
  const store = await createDiskObjectStore(optionsOf(directory, disk))
  await store.exclusive(() => store.commit(before))
  disk.die('contents and names')
  await expectHistory(directory, before)
})

test('a new store, even if an earlier attempt to make it was interrupted', async () => {
  const directory = join(temporaryDirectory(), 'store')
  const first = new FaultyDisk()
  first.syncDirectory = async () => first.die('nothing')
  await expect(createDiskObjectStore(optionsOf(directory, first))).rejects.toThrow(SimulatedDeath)
  const second = new FaultyDisk(undefined, first)
  const store = await createDiskObjectStore(optionsOf(directory, second))
  await store.exclusive(() => store.commit(before))
  second.die('contents and names')
  await expectHistory(directory, before)
})

test('a new store, and its packed objects', async () => {
  const directory = join(temporaryDirectory(), 'store')
  const disk = new FaultyDisk()
  const store = await createDiskObjectStore(optionsOf(directory, disk))
  await store.exclusive(() => store.commit(before))
  await store.close()
  disk.die('contents and names')
  await expectHistory(directory, before)
})

test('a commit to a clone made by stock git', async () => {
  const directory = join(temporaryDirectory(), 'clone')
  git(['clone', '-q', '--bare', await newStore(), directory], dirname(directory))
  const disk = new FaultyDisk()
  const store = await open(directory, disk)
  const next = new TestHistory(32, oldHead).next()
  await store.exclusive(() => store.commit([next]))
  disk.die('contents and names')
  await expectHistory(directory, [...before, next])
})

test('a commit to such a clone after another process died as it made the journal', async () => {
  const directory = join(temporaryDirectory(), 'clone')
  git(['clone', '-q', '--bare', await newStore(), directory], dirname(directory))
  const next = new TestHistory(32, oldHead).next()
  const first = new FaultyDisk()
  first.open = (path, mode) => {
    const fd = FaultyDisk.prototype.open.call(first, path, mode)
    if (path.endsWith('journal-b') && mode === 'wx') first.die('nothing')
    return fd
  }
  const dying = await open(directory, first)
  await expect(dying.exclusive(() => dying.commit([next]))).rejects.toThrow(SimulatedDeath)
  const second = new FaultyDisk(undefined, first)
  const store = await open(directory, second)
  await store.exclusive(() => store.commit([next]))
  second.die('contents and names')
  await expectHistory(directory, [...before, next])
})

test('the branch if refs/heads is new', async () => {
  const directory = await newStore()
  git(['pack-refs', '--all'], directory)
  rmSync(join(directory, 'refs/heads'), { recursive: true })
  const disk = new FaultyDisk()
  const store = await open(directory, disk)
  const next = new TestHistory(32, oldHead).next()
  await store.exclusive(() => store.commit([next]))
  await store.close()
  disk.die('contents and names')
  await expectHistory(directory, [...before, next])
})

test('the branch that a process moved before it died', async () => {
  const directory = join(temporaryDirectory(), 'store')
  const [history, first] = [new TestHistory(33), new FaultyDisk()]
  const store = await createDiskObjectStore(optionsOf(directory, first))
  await store.exclusive(() => store.commit(history.take(2)))
  first.syncDirectory = async (path) => {
    if (path.endsWith('/heads')) first.die('nothing')
    await FaultyDisk.prototype.syncDirectory.call(first, path)
  }
  await expect(store.checkpoint()).rejects.toThrow(SimulatedDeath)
  const second = new FaultyDisk(undefined, first)
  const options = optionsOf(directory, second)
  const packer = {
    ...inlinePacker(second, directory),
    write: async () => second.die('contents and names'),
  }
  const heir = await openDiskObjectStore({ ...options, packer })
  expect(git(['rev-parse', 'main'], directory).trim()).toBe(heir.head)
  await heir.exclusive(() => heir.commit(history.take(1)))
  await expect(heir.checkpoint()).rejects.toThrow(SimulatedDeath)
  await expectHistory(directory, history.transitions)
})

async function packOf(transitions: readonly Transition[]): Promise<readonly Uint8Array[]> {
  const source = createMemoryObjectStore()
  await source.exclusive(() => source.commit([...before, ...transitions]))
  const chunks: Uint8Array[] = []
  const oids = transitions.flatMap(({ objects }) => objects.map(({ oid }) => oid))
  for await (const chunk of (await source.exchange.pack(oids)).chunks()) chunks.push(chunk)
  return chunks
}

async function receive(store: ObjectStore, transitions: readonly Transition[]): Promise<void> {
  const chunks = await packOf(transitions)
  async function* stream(): AsyncGenerator<Uint8Array> {
    yield* chunks
  }
  await receivePack(store.exchange, stream(), { tip: transitions.at(-1)?.next ?? '' })
}

test('received objects, and the head of the remote', async () => {
  const directory = await newStore()
  for (const [index, remote] of ['origin', 'another'].entries()) {
    const arriving = new TestHistory(40 + index, oldHead).take(2)
    const disk = new FaultyDisk()
    const store = await open(directory, disk)
    await receive(store, arriving)
    await store.exchange.track(remote, arriving[1]?.next)
    disk.die('contents and names')
    const next = await open(directory)
    expect(next.exchange.tracked(remote)).toBe(arriving[1]?.next)
    expectAllReadable(next, arriving)
    await next.close()
  }
})

test('the removal of a tracking ref whose commit is erased afterwards', async () => {
  const directory = await newStore()
  const store = await open(directory)
  await store.exchange.track('origin', before[3]?.next)
  await store.close()
  const disk = new FaultyDisk()
  const next = await open(directory, disk)
  await next.exchange.track('origin', undefined)
  await erase(next)
  disk.die('contents and names')
  await expectStillErased(directory)
  expect(git(['fsck', '--strict', '--full', '--no-dangling'], directory)).toBe('')
})

function writeLooseSecret(directory: string): void {
  const { oid = '', type = '', body = new Uint8Array() } = secret ?? {}
  const path = join(directory, 'objects', oid.slice(0, 2), oid.slice(2))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, deflateSync(Buffer.concat([Buffer.from(`${type} ${body.length}\0`), body])))
}

async function erase(store: ObjectStore): Promise<void> {
  await store.exclusive(() => store.commit([erasure.transition]))
  await store.checkpoint()
}

/** The erasure was reported as done, and nothing repeats it. */
async function expectStillErased(directory: string): Promise<void> {
  const store = await open(directory)
  expect(store.head).toBe(erasure.transition.next)
  expectErased(directory, store, erasure)
  expectAllReadable(store, [{ ...erasure.transition, objects: erasure.live }])
  await store.close()
}

test('an erasure, in every file', async () => {
  const directory = await newStore()
  writeLooseSecret(directory)
  const reflog = join(directory, 'logs/refs/heads/main')
  mkdirSync(dirname(reflog), { recursive: true })
  const [, kept = '', dead = ''] = before.map(
    ({ expected = '', next }) => `${expected} ${next} entry`,
  )
  writeFileSync(reflog, `${kept}\n${before[2]?.expected} ${before[2]?.next} entry\n`)
  writeFileSync(join(directory, 'refs/heads/copy'), `${before[3]?.next}\n`)
  const disk = new FaultyDisk()
  await erase(await open(directory, disk))
  disk.die('contents and names')
  await expectStillErased(directory)
  expect(readFileSync(reflog, 'latin1')).toBe(`${kept}\n`)
  expect(readFileSync(reflog, 'latin1')).not.toContain(dead)
})

test('the erasure of an object that was loose before a repack', async () => {
  const directory = await newStore()
  writeLooseSecret(directory)
  const disk = new FaultyDisk()
  const store = await open(directory, disk)
  await store.compact()
  await erase(store)
  disk.die('contents and names')
  await expectStillErased(directory)
})

test('an erasure by a process that died as it emptied the journal', async () => {
  const directory = join(temporaryDirectory(), 'store')
  const first = new FaultyDisk()
  const options = optionsOf(directory, first)
  // What it erases is in its journal, and it cannot erase it from a pack.
  const filter = (): Promise<void> => {
    return Promise.reject(new StoreError('storage_failed', 'Simulated fault'))
  }
  const packer = { ...inlinePacker(first, directory), filter }
  const store = await createDiskObjectStore({ ...options, packer })
  await store.exclusive(() => store.commit(before))
  await store.exclusive(() => store.commit([erasure.transition]))
  first.truncate = (fd, length) => {
    FaultyDisk.prototype.truncate.call(first, fd, length)
    if (['journal-a', 'journal-b'].every((name) => isEmpty(directory, name))) first.die('nothing')
  }
  await expect(store.close()).rejects.toThrow(SimulatedDeath)
  const second = new FaultyDisk(undefined, first)
  await (await open(directory, second)).checkpoint()
  second.die('contents and names')
  await expectStillErased(directory)
})

function isEmpty(directory: string, name: string): boolean {
  return statSync(join(directory, 'gitlocket', name)).size === 0
}

test('that the journal of a closed store is empty: stock git may move the branch', async () => {
  const directory = join(temporaryDirectory(), 'store')
  const disk = new FaultyDisk()
  const store = await createDiskObjectStore(optionsOf(directory, disk))
  await store.exclusive(() => store.commit(before))
  await store.close()
  const other = new TestHistory(34).take(1)
  for (const { type, body } of other[0]?.objects ?? []) {
    git(['hash-object', '-w', '-t', type, '--stdin'], directory, body)
  }
  git(['update-ref', 'refs/heads/main', other[0]?.next ?? ''], directory)
  disk.die('contents and names')
  await expectHistory(directory, other)
})

test('that a journal which a repair has moved aside is not back', async () => {
  const directory = await newStore()
  const first = new FaultyDisk()
  const store = await open(directory, first)
  await store.exclusive(() => store.commit([new TestHistory(32, oldHead).next()]))
  first.die('nothing')
  const second = new FaultyDisk(undefined, first)
  const site = new RepairSite(second, directory, systemRandom, testSecret)
  await site.hold(() => site.moveBranch(before[2]?.next ?? ''))
  second.die('contents and names')
  await expectHistory(directory, before.slice(0, 3))
})

test('the removal of the packs of a redaction that was not committed', async () => {
  const directory = await newStore()
  const { transition } = erasure
  const first = new FaultyDisk()
  const attempt = async (store: ObjectStore, count: number): Promise<void> => {
    await store.exclusive(async () => {
      await store.stage(transition.objects.slice(0, count))
      await store.commit([{ ...transition, objects: transition.objects.slice(count) }])
    })
  }
  first.syncDirectory = async (path) => {
    await FaultyDisk.prototype.syncDirectory.call(first, path)
    if (path.endsWith('/pack')) first.die('nothing')
  }
  await expect(attempt(await open(directory, first), 4)).rejects.toThrow(SimulatedDeath)
  const second = new FaultyDisk(undefined, first)
  // The next list of objects to erase makes the removal of the previous list durable.
  dieAfterSyncOf(second, join(directory, 'gitlocket'), 1)
  await expect(attempt(await open(directory, second), 2)).rejects.toThrow(SimulatedDeath)
  const store = await open(directory)
  await store.exclusive(async () => expect(store.head).toBe(oldHead))
  const unwanted = new Set(transition.objects.map(({ oid }) => oid))
  expect([...store.objectIds()].filter((oid) => unwanted.has(oid))).toEqual([])
  await store.close()
})

test('the name of a repository that was made next to its place', async () => {
  const directory = join(temporaryDirectory(), 'joined')
  const disk = new FaultyDisk()
  await new StagedClone(disk, systemRandom, directory).make(async ({ repository }) => {
    const made = await createDiskObjectStore(optionsOf(repository, disk))
    await made.exclusive(() => made.commit(before))
    await made.close()
  })
  disk.die('contents and names')
  expect(readdirSync(dirname(directory))).toEqual(['joined'])
  await expectHistory(directory, before)
})

test('the removal of the boundary, with which only some may open the store', async () => {
  const directory = await newStore()
  const disk = new FaultyDisk()
  const store = await openDiskObjectStore({ ...optionsOf(directory, disk), mayBeShallow: true })
  await store.exchange.setShallow([oldHead ?? ''])
  await store.exchange.setShallow([])
  disk.die('contents and names')
  await expectHistory(directory, before)
})

test('the anchor, in directories that are new', async () => {
  const disk = new FaultyDisk()
  const identity = await generateIdentity()
  const path = join(temporaryDirectory(), 'state', 'gitlocket', 'store', 'device.anchor')
  const anchorOn = (on: FaultyDisk): Promise<Anchor> => {
    const owner = { storeId: 'memstore_1', identity, random: systemRandom }
    return Anchor.open(owner, ownDirectory({ disk: on, anchor: path }))
  }
  await (await anchorOn(disk)).advance({ ...beforeGenesis, height: 7 })
  disk.die('contents and names')
  expect((await anchorOn(new FaultyDisk())).verified?.height).toBe(7)
})
