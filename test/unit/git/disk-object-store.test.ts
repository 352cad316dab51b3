import { readdirSync, readlinkSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Disk } from '../../../src/disk/disk.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { StoreError } from '../../../src/errors.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../../src/git/disk-store/disk-object-store.ts'
import type { DiskObjectStoreOptions } from '../../../src/git/disk-store/store-parts.ts'
import type { ObjectStore, Transition } from '../../../src/git/object-store.ts'
import { expectAllReadable } from '../../contract/object-store.contract.ts'
import { FaultyDisk } from '../../support/faulty-disk.ts'
import { inlinePacker } from '../../support/inline-packer.ts'
import { git, temporaryDirectory } from '../../support/temporary.ts'
import { TestHistory } from '../../support/transitions.ts'

const quiet = { idleMs: Infinity, lockWaitMs: 500 }

interface Fixture {
  readonly directory: string
  readonly store: ObjectStore
  readonly history: TestHistory
}

async function fixture(options: Partial<DiskObjectStoreOptions> = quiet): Promise<Fixture> {
  const directory = temporaryDirectory()
  const store = await createDiskObjectStore({ ...options, directory })
  return { directory, store, history: new TestHistory(1) }
}

function commit(store: ObjectStore, transitions: readonly Transition[]): Promise<void> {
  return store.exclusive(() => store.commit(transitions))
}

function open(directory: string, disk?: FaultyDisk): Promise<ObjectStore> {
  const faulty = disk === undefined ? {} : { disk, packer: inlinePacker(disk, directory) }
  return openDiskObjectStore({ ...quiet, ...faulty, directory })
}

/** What the descriptors of this process are of. */
function openFiles(): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('keeps few packs and open files', { tags: 'slow' }, async () => {
  const opened = new Set<number>()
  const directory = temporaryDirectory()
  const remember = <T extends number | undefined>(fd: T): T => {
    if (fd !== undefined) opened.add(fd)
    return fd
  }
  const disk: Disk = {
    ...systemDisk,
    open: (...file) => remember(systemDisk.open(...file)),
    openExisting: (...file) => remember(systemDisk.openExisting(...file)),
    close: (fd) => {
      systemDisk.close(fd)
      opened.delete(fd)
    },
    closeInBackground: (fd) => {
      systemDisk.closeInBackground(fd)
      opened.delete(fd)
    },
  }
  const packer = inlinePacker(disk, directory)
  const store = await createDiskObjectStore({ ...quiet, disk, packer, directory })
  const history = new TestHistory(1)
  let [packs, handles] = [0, 0]
  for (let n = 0; n < 60; n += 1) {
    await store.exclusive(async () => {
      const { objects, ...transition } = history.next()
      await store.stage(objects)
      await store.commit([{ ...transition, objects: [] }])
    })
    packs = Math.max(packs, store.status().packs.length)
    handles = Math.max(handles, opened.size)
  }
  // Those that may come, those of a geometric progression, and those added while they were merged.
  expect(packs).toBeLessThanOrEqual(30)
  // A merge opens what it reads once more, and its indexes.
  expect(handles).toBeLessThanOrEqual(3 * packs + 8)
  expectAllReadable(store, history.transitions)
  await store.close()
  expect(opened.size).toBe(0)
  const files = readdirSync(join(directory, 'objects/pack'))
  expect(files.filter((file) => !/^pack-[0-9a-f]{40}[.](?:pack|idx)$/.test(file))).toEqual([])
  expect(files.length).toBeLessThanOrEqual(2 * 8)
})

describe('several handles on one store', () => {
  test('write in turns on top of each other, through checkpoints and closings', async () => {
    const { directory, store, history } = await fixture()
    let handles = [store, await open(directory), await open(directory)]
    for (let round = 0; round < 12; round += 1) {
      for (const handle of handles) await commit(handle, history.take(1))
      if (round % 3 === 0) await handles[round % 2]?.checkpoint()
      if (round % 4 === 2) {
        await handles[0]?.close()
        handles = [...handles.slice(1), await open(directory)]
      }
    }
    for (const handle of handles) {
      handle.refresh()
      expect(handle.head).toBe(history.head)
      expectAllReadable(handle, history.transitions)
      await handle.close()
    }
    expect(readdirSync(join(directory, 'gitlocket')).toSorted()).toEqual(['journal-a', 'journal-b'])
    git(['fsck', '--strict', '--no-dangling'], directory)
  })

  test('read objects that another handle packed or merged, without a refresh', async () => {
    const { directory, store, history } = await fixture()
    await commit(store, history.take(4))
    const other = await open(directory)
    for (let round = 0; round < 4; round += 1) {
      await store.checkpoint()
      expectAllReadable(other, history.transitions)
      await commit(store, history.take(1))
    }
    expect(other.head).toBe(history.transitions.at(-2)?.next)
    await other.close()
    await store.close()
  })
})

describe('a reader next to a writer of the same handle', () => {
  test('sees each commit once it is durable, and never half of one', { tags: 'slow' }, async () => {
    const { store, history } = await fixture({ idleMs: 1 })
    const total = 120
    const writeAll = async (): Promise<void> => {
      while (history.transitions.length < total) {
        await commit(store, history.take(2))
        // However fast the disk is, the reader has its turn.
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const writer = writeAll()
    let looks = 0
    for (; history.transitions.length < total; looks += 1) {
      // A miss makes the handle look at the disk again.
      expect(store.read('f'.repeat(40))).toBeUndefined()
      const { head } = store
      expect(head === undefined || store.read(head)?.type === 'commit').toBe(true)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await writer
    expect(looks).toBeGreaterThan(10)
    expectAllReadable(store, history.transitions)
    await store.close()
  })
})

describe('stock git in an open store', () => {
  test('sees everything after a checkpoint', async () => {
    const { directory, store, history } = await fixture()
    await commit(store, history.take(5))
    expect(git(['for-each-ref'], directory)).toBe('')
    await store.checkpoint()
    expect(git(['rev-parse', 'main'], directory).trim()).toBe(history.head)
    expect(git(['rev-list', '--count', 'main'], directory).trim()).toBe('5')
    git(['fsck', '--strict'], directory)
    await store.close()
  })

  test('may move the branch while the journal is empty; loose objects are read', async () => {
    const { directory, store, history } = await fixture()
    await commit(store, history.take(2))
    await store.checkpoint()
    const tree = git(['rev-parse', 'main^{tree}'], directory).trim()
    const made = git(['commit-tree', tree, '-p', 'main', '-m', 'foreign'], directory).trim()
    git(['update-ref', 'refs/heads/main', made], directory)
    store.refresh()
    expect(store.head).toBe(made)
    expect(store.read(made)?.type).toBe('commit')
    expect(store.status().looseObjects).toBe(1)
    await store.close()
  })

  test(
    'that moves it while changes are in the journal is found out',
    { tags: 'slow' },
    async () => {
      const { directory, store, history } = await fixture()
      await commit(store, history.take(1))
      await store.checkpoint()
      await commit(store, history.take(1))
      const tree = git(['rev-parse', 'main^{tree}'], directory).trim()
      const made = git(['commit-tree', tree, '-m', 'foreign'], directory).trim()
      git(['update-ref', 'refs/heads/main', made], directory)
      const conflict = { code: 'ref_conflict' }
      expect(() => store.refresh()).toThrow(expect.objectContaining(conflict))
      await expect(open(directory)).rejects.toMatchObject(conflict)
      await expect(store.checkpoint()).rejects.toMatchObject(conflict)
      expect(git(['rev-parse', 'main'], directory).trim()).toBe(made)
      // Moving it back is what the message advises.
      git(['update-ref', 'refs/heads/main', history.transitions[0]?.next ?? ''], directory)
      const again = await open(directory)
      expect(again.head).toBe(history.head)
      await again.close()
      await store.close()
    },
  )

  test('may collect, repack and pack refs; the store follows', async () => {
    const { directory, store, history } = await fixture()
    for (let round = 0; round < 3; round += 1) {
      await commit(store, history.take(3))
      await store.checkpoint()
    }
    git(['gc', '--quiet', '--prune=now'], directory)
    expectAllReadable(store, history.transitions)
    store.refresh()
    expect(store.head).toBe(history.head)
    await commit(store, history.take(1))
    await store.close()
    const again = await open(directory)
    expect(again.head).toBe(history.head)
    expectAllReadable(again, history.transitions)
    await again.close()
  })

  test('can clone a closed store, and the clone is a store to write to', async () => {
    const { directory, store, history } = await fixture()
    await commit(store, history.take(3))
    await store.close()
    const clone = join(temporaryDirectory(), 'clone')
    git(['clone', '--bare', '--quiet', `file://${directory}`, clone], directory)
    const copy = await open(clone)
    expect(copy.head).toBe(history.head)
    await commit(copy, history.take(1))
    expect(copy.head).toBe(history.head)
    await copy.close()
    expect(git(['config', 'gc.auto'], clone).trim()).toBe('0')
    git(['fsck', '--strict'], clone)
  })
})

describe('packing', () => {
  test('starts by itself when the store is idle', async () => {
    const { store, history } = await fixture({ idleMs: 5 })
    await commit(store, history.take(2))
    await until(() => store.status().journalFrames === 0)
    expect(store.status().packs).toHaveLength(1)
    await store.close()
  })

  test('starts by itself in a worker when the journal is long', { tags: 'slow' }, async () => {
    const { store, history } = await fixture()
    for (let n = 0; n < 11; n += 1) await commit(store, history.take(100))
    await until(() => store.status().journalFrames < 1000)
    await commit(store, history.take(1))
    expect(store.status().checkpointError).toBeUndefined()
    expectAllReadable(store, history.transitions)
    await store.close()
  })

  test('puts a transition above 8 MiB past the journal', { tags: 'slow' }, async () => {
    const { directory, store, history } = await fixture()
    await commit(store, [history.next(), history.next(9 * 2 ** 20), history.next()])
    expect(store.status().journalBytes).toBeLessThan(2 ** 20)
    const other = await open(directory)
    expect(other.head).toBe(history.head)
    expectAllReadable(other, history.transitions)
    await other.close()
    await store.close()
    git(['fsck', '--strict'], directory)
  })

  test('that fails in the background loses nothing, and succeeds later', async () => {
    const directory = temporaryDirectory()
    const disk = new FaultyDisk()
    const packer = inlinePacker(disk, directory)
    let broken = true
    const options = {
      directory,
      disk,
      idleMs: 5,
      packer: {
        ...packer,
        async write(objects: Parameters<typeof packer.write>[0]) {
          if (broken) throw new StoreError('storage_full', 'Simulated')
          await packer.write(objects)
        },
      },
    }
    const store = await createDiskObjectStore(options)
    const history = new TestHistory(1)
    await commit(store, history.take(2))
    await until(() => store.status().checkpointError !== undefined)
    expect(store.status().checkpointError?.code).toBe('storage_full')
    await commit(store, history.take(2))
    await expect(store.checkpoint()).rejects.toMatchObject({ code: 'storage_full' })
    expectAllReadable(store, history.transitions)
    broken = false
    await store.checkpoint()
    expect(store.status()).toMatchObject({ checkpointError: undefined, journalFrames: 0 })
    await store.close()
  })
})

describe('a closed store', () => {
  test('lets the work under way finish first, and takes no more', async () => {
    const { directory, store, history } = await fixture()
    const transitions = history.take(2)
    let closing: Promise<void> | undefined
    const working = store.exclusive(async () => {
      closing = store.close()
      await new Promise((resolve) => setTimeout(resolve, 5))
      await store.commit(transitions)
      expect(store.read(transitions[0]?.next ?? '')).toBeDefined()
    })
    await working
    await expect(store.exclusive(async () => 1)).rejects.toMatchObject({ code: 'store_closed' })
    await closing
    expect(git(['rev-parse', 'main'], directory).trim()).toBe(history.head)
  })

  test('holds no descriptor, lock or journal', async () => {
    const before = new Set(openFiles())
    const { directory, store, history } = await fixture()
    await commit(store, history.take(2))
    await store.close()
    // Others of this process may still be closed, or opened for a moment.
    await expect.poll(() => openFiles().filter((file) => !before.has(file))).toEqual([])
    expect(readdirSync(join(directory, 'gitlocket')).toSorted()).toEqual(['journal-a', 'journal-b'])
    for (const name of ['journal-a', 'journal-b']) {
      expect(statSync(join(directory, 'gitlocket', name)).size).toBe(0)
    }
  })

  test('that was only read is not written to', async () => {
    const { directory, store, history } = await fixture()
    await commit(store, history.take(2))
    const disk = new FaultyDisk()
    const reader = await open(directory, disk)
    expectAllReadable(reader, history.transitions)
    await reader.close()
    expect(disk.log).toEqual([])
    await store.close()
  })

  test.each(['before', 'after'] as const)(
    'opening %s damage to the branch file fails',
    async (when) => {
      const { directory, store, history } = await fixture()
      await commit(store, history.take(1))
      if (when === 'after') await store.checkpoint()
      const path = join(directory, 'refs/heads/main')
      writeFileSync(path, '')
      utimesSync(path, 1, 1)
      await expect(open(directory)).rejects.toMatchObject({ code: 'ref_corrupt' })
    },
  )
})
