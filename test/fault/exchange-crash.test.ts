// A process dies, or the power fails, at every operation of a fetch and of the move of a tracking
// ref. Afterwards the pack is there whole or not at all, the ref is old or new, nothing is locked,
// and stock git finds nothing wrong.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesBelow } from '../../src/disk/file-sweep.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import { createMemoryObjectStore } from '../../src/git/memory-store/memory-object-store.ts'
import type { ObjectStore, Transition } from '../../src/git/object-store.ts'
import { killed, unplugged, unsynced } from '../support/deaths.ts'
import { FaultyDisk, SimulatedDeath } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { full } from '../support/seed.ts'
import { copyDirectory, git, temporaryDirectory } from '../support/temporary.ts'
import { receivePack } from '../support/transfer.ts'
import { TestHistory } from '../support/transitions.ts'

const history = new TestHistory(61)
const known = history.take(4)
const arriving = history.take(4)
const oldHead = known.at(-1)?.next ?? ''
const newHead = history.head ?? ''
/** Every operation, or some that a prime apart spreads over all. */
const stride = full ? 1 : 7

function open(directory: string, disk: FaultyDisk): Promise<ObjectStore> {
  const packer = inlinePacker(disk, directory)
  return openDiskObjectStore({ directory, disk, packer, idleMs: Infinity })
}

async function packOf(transitions: readonly Transition[]): Promise<Uint8Array[]> {
  const source = createMemoryObjectStore()
  await source.exclusive(() => source.commit([...known, ...arriving]))
  const oids = transitions.flatMap(({ objects }) => objects.map(({ oid }) => oid))
  const chunks: Uint8Array[] = []
  for await (const chunk of (await source.exchange.pack(oids)).chunks()) chunks.push(chunk)
  return chunks
}

async function prepare(): Promise<string> {
  const directory = join(temporaryDirectory(), 'store')
  const store = await createDiskObjectStore({ directory })
  await store.exclusive(() => store.commit(known))
  await store.close()
  await withStore(directory, (opened) => opened.exchange.track('origin', oldHead))
  return directory
}

async function withStore(
  directory: string,
  work: (store: ObjectStore) => Promise<void>,
): Promise<void> {
  const store = await openDiskObjectStore({ directory })
  await work(store)
  await store.close()
}

async function receiveAndTrack(
  directory: string,
  disk: FaultyDisk,
  chunks: readonly Uint8Array[],
): Promise<void> {
  const store = await open(directory, disk)
  await receivePack(store.exchange, streamOf(chunks), { tip: newHead })
  await store.exchange.track('origin', newHead)
  await store.close()
}

async function* streamOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield chunk
}

/**
 * Existing objects are kept; received objects are whole if the ref exists; the next fetch succeeds.
 */
async function expectRecovered(directory: string, chunks: readonly Uint8Array[]): Promise<void> {
  await withStore(directory, async (store) => {
    expect(store.head).toBe(oldHead)
    const tracked = store.exchange.tracked('origin')
    expect([oldHead, newHead]).toContain(tracked)
    const present = arriving.flatMap(({ objects }) =>
      objects.map(({ oid }) => store.read(oid) !== undefined),
    )
    expect(new Set(present).size).toBe(1)
    if (tracked === newHead) expect(present).not.toContain(false)
    await receivePack(store.exchange, streamOf(chunks), { tip: newHead })
    await store.exchange.track('origin', newHead)
  })
}

test.each([killed, unsynced, unplugged])(
  'a death $moment an operation, which takes along $loss',
  { tags: 'slow' },
  async (death) => {
    const prepared = await prepare()
    const chunks = await packOf(arriving)
    const counting = new FaultyDisk()
    const whole = mkdtempSync(join(tmpdir(), 'gitlocket-test-'))
    copyDirectory(prepared, join(whole, 's'))
    await receiveAndTrack(join(whole, 's'), counting, chunks)
    rmSync(whole, { recursive: true })
    expect(counting.operations).toBeGreaterThan(20)
    for (let at = 1; at <= counting.operations; at += stride) {
      const scratch = mkdtempSync(join(tmpdir(), 'gitlocket-test-'))
      const directory = join(scratch, 's')
      copyDirectory(prepared, directory)
      const disk = new FaultyDisk({ kind: 'death', at, ...death })
      await expect(receiveAndTrack(directory, disk, chunks), `operation ${at}`).rejects.toThrow(
        SimulatedDeath,
      )
      disk.release()
      await expectRecovered(directory, chunks)
      if (at % 7 === 1) {
        expect(git(['fsck', '--strict', '--full', '--no-dangling'], directory)).toBe('')
        expect(git(['rev-parse', 'refs/remotes/origin/main'], directory).trim()).toBe(newHead)
      }
      rmSync(scratch, { recursive: true })
    }
  },
)

test('a fetch whose bytes a purge takes away reports it, and can be repeated', async () => {
  const directory = await prepare()
  const chunks = await packOf(arriving)
  await withStore(directory, async (store) => {
    async function* interrupted(): AsyncGenerator<Uint8Array> {
      yield* streamOf(chunks)
      // As a purge does, under both locks.
      const files = filesBelow(new FaultyDisk(), join(directory, 'gitlocket/incoming'))
      expect(files).toHaveLength(1)
      for (const file of files) rmSync(file)
    }
    const attempt = receivePack(store.exchange, interrupted(), { tip: newHead })
    await expect(attempt).rejects.toMatchObject({ code: 'ref_conflict' })
    await receivePack(store.exchange, streamOf(chunks), { tip: newHead })
    expect(store.read(newHead)?.type).toBe('commit')
  })
})

test('what a live process is fetching outlasts the checkpoint of another one', async () => {
  const directory = await prepare()
  const chunks = await packOf(arriving)
  const [fetching, other] = [
    await open(directory, new FaultyDisk()),
    await open(directory, new FaultyDisk()),
  ]
  async function* interrupted(): AsyncGenerator<Uint8Array> {
    yield* streamOf(chunks)
    const next = history.take(1).map((one) => ({ ...one, expected: oldHead }))
    await other.exclusive(() => other.commit(next))
    await other.checkpoint()
  }
  await receivePack(fetching.exchange, interrupted(), { tip: newHead })
  expect(fetching.read(newHead)?.type).toBe('commit')
  await Promise.all([fetching.close(), other.close()])
})
