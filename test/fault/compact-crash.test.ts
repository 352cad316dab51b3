// A repack dies, or the power fails, or the disk is full, at every single operation; it is
// cancelled; others write and read while it runs. Every object can always be read, and no temporary
// file is left.
// @module-tag slow

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { equalBytes } from '../../src/bytes.ts'
import { type ErrorCode, hasCode, StoreError } from '../../src/errors.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import { expectAllReadable } from '../contract/object-store.contract.ts'
import { everyDeath, killed, unplugged, unsynced, wasBefore } from '../support/deaths.ts'
import { type Fault, FaultyDisk } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { noise, object } from '../support/pack-fixtures.ts'
import { full } from '../support/seed.ts'
import { copyDirectory, git, sharedDirectory, temporaryDirectory } from '../support/temporary.ts'
import { TestHistory } from '../support/transitions.ts'

/** One run of stock git's check takes as long as forty crashes. */
const fsckEvery = full ? 10 : 43
/** Every n-th operation is struck: by one kind of death, and by all others. */
const stride = full ? { first: 1, others: 1 } : { first: 31, others: 61 }
const preparedCommits = 9
const shared = sharedDirectory()
let largeTemplate: Promise<void> | undefined
const loose = [object('blob', noise('loose', 500)), object('blob', noise('other', 50))]

test.each(full ? everyDeath : [killed, unsynced, unplugged])(
  'a death, $moment, at each operation, losing $loss',
  { tags: 'slow' },
  async (death) => {
    const template = await newTemplate()
    const strike = (at: number): Fault => ({ kind: 'death', at, ...death })
    // Reading and writing the journal, a pack for the loose objects and one for all, their removal.
    const step = death.loss === 'nothing' ? stride.first : stride.others
    expect(await countFaults(template, strike, step)).toBeGreaterThan(60)
  },
)

const failures: readonly [code: ErrorCode, times: number][] = [
  ['storage_full', 1],
  ['storage_failed', Infinity],
]

test.each(failures)('%s, %d times, at each operation', async (code, times) => {
  const template = await newTemplate()
  const strike = (at: number): Fault => ({ kind: 'error', at, times, code })
  expect(await countFaults(template, strike, stride.others)).toBeGreaterThan(60)
})

describe('during a repack in a thread', () => {
  test(
    'another handle and this one write and read, and lose nothing',
    { tags: 'slow' },
    async () => {
      const { directory, history } = await largeStore()
      const [store, other] = [await openReal(directory), await openReal(directory)]
      const earlier = history.transitions.length
      // On a fast machine few writes fit into the time of one repack.
      for (let beside = 0; beside <= 4;) {
        const state = { running: true }
        const compacted = store.compact().finally(() => (state.running = false))
        for (; state.running; beside += 1) {
          const [writer, reader] = beside % 2 === 0 ? [store, other] : [other, store]
          const transition = history.next()
          await writer.exclusive(() => writer.commit([transition]))
          reader.refresh()
          expect(reader.head).toBe(transition.next)
          const old = history.transitions[(beside * 37) % earlier]
          expect(reader.read(old?.next ?? '')?.type).toBe('commit')
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
        await compacted
      }
      for (const handle of [store, other]) expectAllReadable(handle, history.transitions)
      await other.close()
      await store.close()
      expect(git(['rev-parse', 'main'], directory).trim()).toBe(history.head)
      git(['fsck', '--strict', '--no-dangling'], directory)
    },
  )

  test('an aborted signal ends it, and leaves nothing behind', { tags: 'slow' }, async () => {
    const { directory, history } = await largeStore()
    const store = await openReal(directory)
    const before = packFiles(directory)
    const controller = new AbortController()
    const work = store.compact({ signal: controller.signal })
    controller.abort()
    await expect(work).rejects.toSatisfy((error) => hasCode(error, 'cancelled'))
    expect(packFiles(directory)).toEqual(before)
    await store.compact()
    expect(store.status().packs).toHaveLength(1)
    expectAllReadable(store, history.transitions)
    await store.close()
  })

  test('closing the store ends it too', { tags: 'slow' }, async () => {
    const { directory, history } = await largeStore()
    const store = await openReal(directory)
    const before = packFiles(directory)
    const work = store.compact().catch((error: unknown) => error)
    await store.close()
    expect(hasCode(await work, 'cancelled')).toBe(true)
    expect(packFiles(directory)).toEqual(before)
    expect(readdirSync(join(directory, 'gitlocket')).toSorted()).toEqual(['journal-a', 'journal-b'])
    const again = await openReal(directory)
    expectAllReadable(again, history.transitions)
    await again.close()
  })

  test('a second one waits for the first, and a checkpoint too', { tags: 'slow' }, async () => {
    const { directory, history } = await largeStore()
    const [store, other] = [await openReal(directory), await openReal(directory)]
    await Promise.all([store.compact(), other.compact(), store.checkpoint()])
    expect(packFiles(directory)).toHaveLength(2)
    expectAllReadable(store, history.transitions)
    await store.close()
    await other.close()
  })
})

/** A closed store with three packs and two loose objects. */
async function newTemplate(): Promise<string> {
  const directory = temporaryDirectory()
  const disk = new FaultyDisk()
  const store = await createDiskObjectStore(optionsOf(directory, disk))
  const history = new TestHistory(5)
  for (const count of [6, 2, 1]) {
    const transitions = history.take(count)
    await store.exclusive(() => store.commit(transitions))
    if (count > 1) await store.checkpoint()
  }
  await store.close()
  for (const { oid, type, body } of loose) {
    const path = join(directory, 'objects', oid.slice(0, 2), oid.slice(2))
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, deflateSync(Buffer.concat([Buffer.from(`${type} ${body.length}\0`), body])))
  }
  return directory
}

/** Runs the scenario with a fault at each operation; how many there are. */
async function countFaults(
  template: string,
  strike: (at: number) => Fault,
  step: number,
): Promise<number> {
  let at = 1
  while (await survives(template, strike(at))) at += step
  return at
}

/** False if the scenario ended before the fault's turn came. */
async function survives(template: string, fault: Fault): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'gitlocket-compact-'))
  const disk = new FaultyDisk(fault)
  try {
    copyDirectory(template, directory)
    const history = new TestHistory(5)
    history.take(preparedCommits)
    const acknowledged = await act(directory, disk, history)
    const struck = disk.operations >= fault.at
    disk.die('nothing')
    if (full && wasBefore(disk, fault)) return struck
    await expectRecovery(directory, history, { acknowledged, at: fault.at })
    return struck
  } catch (error) {
    throw new Error(`a fault at ${fault.at}: ${disk.log.slice(-4).join(', ')}`, { cause: error })
  } finally {
    disk.release()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Two writes around a repack; returns how many transitions are acknowledged. */
async function act(directory: string, disk: FaultyDisk, history: TestHistory): Promise<number> {
  let acknowledged = preparedCommits
  const step = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      if (!disk.dead) expect(error).toBeInstanceOf(StoreError)
    }
  }
  let store: ObjectStore | undefined
  await step(async () => void (store = await openDiskObjectStore(optionsOf(directory, disk))))
  const opened = store
  if (opened === undefined) return acknowledged
  const write = async (): Promise<void> => {
    // What failed may be there after all, and is not given again.
    if (acknowledged < history.transitions.length) return
    const transitions = history.take(1)
    await opened.exclusive(() => opened.commit(transitions))
    acknowledged += 1
  }
  await step(write)
  await step(() => opened.compact())
  if (!disk.dead) expectAllReadable(opened, history.transitions.slice(0, acknowledged))
  await step(write)
  await step(() => opened.close())
  return acknowledged
}

async function expectRecovery(
  directory: string,
  history: TestHistory,
  { acknowledged, at }: { readonly acknowledged: number; readonly at: number },
): Promise<void> {
  const disk = new FaultyDisk()
  try {
    const store = await openDiskObjectStore(optionsOf(directory, disk))
    const reached = history.transitions.findIndex(({ next }) => next === store.head) + 1
    expect([acknowledged, acknowledged + 1]).toContain(reached)
    const kept = history.transitions.slice(0, reached)
    expectAllReadable(store, kept)
    expectLoose(store)
    await store.compact()
    expect(store.status().packs).toHaveLength(1)
    expect(store.status().looseObjects).toBe(0)
    expectAllReadable(store, kept)
    expectLoose(store)
    await store.close()
    expect(packFiles(directory)).toHaveLength(2)
    if (at % fsckEvery === 1) git(['fsck', '--strict', '--full', '--no-dangling'], directory)
  } finally {
    disk.release()
  }
}

/** Objects that were loose are readable, wherever they are stored now. */
function expectLoose(store: ObjectStore): void {
  for (const { oid, body } of loose) {
    expect(equalBytes(store.read(oid)?.body ?? new Uint8Array(0), body)).toBe(true)
  }
}

/** A closed store that is large enough for a thread: a copy of one that is made once. */
async function largeStore(): Promise<{ directory: string; history: TestHistory }> {
  await (largeTemplate ??= makeLarge())
  const directory = temporaryDirectory()
  copyDirectory(shared, directory)
  const history = new TestHistory(7)
  history.take(1200)
  return { directory, history }
}

async function makeLarge(): Promise<void> {
  const store = await createDiskObjectStore({ directory: shared, idleMs: Infinity })
  const history = new TestHistory(7)
  for (const count of [900, 300]) {
    const transitions = history.take(count)
    await store.exclusive(() => store.commit(transitions))
    await store.checkpoint()
  }
  await store.close()
}

function packFiles(directory: string): string[] {
  return readdirSync(join(directory, 'objects', 'pack')).toSorted()
}

function openReal(directory: string): Promise<ObjectStore> {
  return openDiskObjectStore({ directory, idleMs: 20 })
}

function optionsOf(directory: string, disk: FaultyDisk): Parameters<typeof openDiskObjectStore>[0] {
  const packer = inlinePacker(disk, directory)
  return { directory, disk, packer, idleMs: Infinity, lockWaitMs: 50 }
}
