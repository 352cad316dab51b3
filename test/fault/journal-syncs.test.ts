// The purpose of each sync of the journal: a process dies or the power fails where that sync alone
// keeps an acknowledged commit, keeps a refused one away, or lets the store be opened.

import { statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { StoreError } from '../../src/errors.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../src/git/object-store.ts'
import { type Fault, FaultyDisk, SimulatedDeath } from '../support/faulty-disk.ts'
import { inlinePacker } from '../support/inline-packer.ts'
import { full } from '../support/seed.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { TestHistory } from '../support/transitions.ts'

function optionsOf(directory: string, disk: FaultyDisk): Parameters<typeof openDiskObjectStore>[0] {
  const packer = inlinePacker(disk, directory)
  return { directory, disk, packer, idleMs: Infinity, lockWaitMs: 300 }
}

function commit(store: ObjectStore, history: TestHistory): Promise<void> {
  return store.exclusive(() => store.commit([history.next()]))
}

/** The head that the next process finds, which can also be written on. */
async function headAfter(directory: string): Promise<string | undefined> {
  const store = await openDiskObjectStore(optionsOf(directory, new FaultyDisk()))
  const { head } = store
  await commit(store, new TestHistory(99, head))
  await store.close()
  return head
}

/** A store with one durable commit, and one more that a process died over before it was. */
async function withUnsyncedFrame(isApart = false): Promise<{
  directory: string
  history: TestHistory
  first: FaultyDisk
}> {
  const directory = temporaryDirectory()
  const [history, first] = [new TestHistory(1), new FaultyDisk()]
  const store = await createDiskObjectStore(optionsOf(directory, first))
  await commit(store, history)
  first.sync = () => {
    first.die('nothing')
    return Promise.reject(new SimulatedDeath('the process died'))
  }
  const lost = isApart ? new TestHistory(2, history.head) : history
  await expect(commit(store, lost)).rejects.toMatchObject({ code: 'storage_failed' })
  return { directory, history: lost, first }
}

/** Runs `work` with the fault at each of its last `count` operations. */
async function atLast(count: number, work: (disk: FaultyDisk) => Promise<void>): Promise<void> {
  const counting = new FaultyDisk()
  await work(counting)
  expect(counting.operations).toBeGreaterThan(count)
  for (let at = counting.operations - count + 1; at <= counting.operations; at += 1) {
    await work(new FaultyDisk({ kind: 'death', at, moment: 'before', loss: 'contents' }))
  }
}

test(
  'frames of a dead process are durable before a pack and the branch name them',
  { tags: 'slow' },
  async () => {
    const moments: Fault[] = Array.from({ length: full ? 60 : 30 }, (_, index) => {
      return {
        kind: 'death',
        at: full ? index + 1 : index + 11,
        moment: 'before',
        loss: 'contents',
      }
    })
    let deaths = 0
    for (const fault of moments) {
      const { directory, history, first } = await withUnsyncedFrame()
      const second = new FaultyDisk(fault, first)
      const heir = await openDiskObjectStore(optionsOf(directory, second)).catch(() => undefined)
      await heir?.checkpoint().catch(() => undefined)
      if (!second.dead) break
      deaths += 1
      const heads = history.transitions.map(({ next }) => next)
      expect(heads, second.log.join(', ')).toContain(await headAfter(directory))
    }
    expect(deaths).toBeGreaterThan(15)
  },
)

test('frames of a dead process are durable before a commit that builds on them', async () => {
  const { directory, history, first } = await withUnsyncedFrame()
  // The next one dies as well, when the files have switched.
  const second = new FaultyDisk(undefined, first)
  const dying = await openDiskObjectStore(optionsOf(directory, second))
  let syncs = 0
  second.sync = async (fd) => {
    syncs += 1
    if (syncs === 2) second.die('nothing')
    await FaultyDisk.prototype.sync.call(second, fd)
  }
  await expect(dying.checkpoint()).rejects.toThrow(SimulatedDeath)
  const third = new FaultyDisk(undefined, second)
  const heir = await openDiskObjectStore(optionsOf(directory, third))
  expect(heir.head).toBe(history.head)
  await commit(heir, history)
  third.die('contents')
  expect(await headAfter(directory)).toBe(history.head)
})

test('a failed commit never appears, even if its bytes had reached the device', async () => {
  const directory = temporaryDirectory()
  const [history, disk] = [new TestHistory(1), new FaultyDisk()]
  const store = await createDiskObjectStore(optionsOf(directory, disk))
  await commit(store, history)
  const acknowledged = history.head
  let failures = 1
  disk.sync = async (fd) => {
    await FaultyDisk.prototype.sync.call(disk, fd)
    failures -= 1
    if (failures === 0) throw new StoreError('storage_failed', 'Simulated fault: sync')
  }
  await expect(commit(store, history)).rejects.toMatchObject({ code: 'storage_failed' })
  disk.die('contents')
  expect(await headAfter(directory)).toBe(acknowledged)
})

test(
  'frames that were packed do not come back once the branch has moved on',
  { tags: 'slow' },
  async () => {
    await atLast(20, async (disk) => {
      const directory = temporaryDirectory()
      const history = new TestHistory(1)
      try {
        const store = await createDiskObjectStore(optionsOf(directory, disk))
        for (let round = 0; round < 3; round += 1) {
          await commit(store, history)
          await store.checkpoint()
        }
        await store.close()
      } catch (error) {
        if (!disk.dead) throw error
        expect(await headAfter(directory), disk.log.slice(-3).join(', ')).toBe(history.head)
      }
    })
  },
)

/** The device has all of a write but its first sector, as the process dies in its sync. */
function dieWithoutFirstSector(disk: FaultyDisk): void {
  const sector = 512
  disk.write = (fd, bytes, position) => {
    const isEmpty = bytes.every((byte) => byte === 0)
    FaultyDisk.prototype.write.call(disk, fd, bytes, position)
    if (isEmpty || bytes.length <= sector) return
    FaultyDisk.prototype.write.call(disk, fd, new Uint8Array(sector), position)
    disk.die('nothing')
  }
}

test('the first batch of a dead process is durable before another follows it', async () => {
  const directory = temporaryDirectory()
  const [history, first] = [new TestHistory(1), new FaultyDisk()]
  const store = await createDiskObjectStore(optionsOf(directory, first))
  first.sync = () => {
    first.die('nothing')
    return Promise.reject(new SimulatedDeath('the process died'))
  }
  await expect(commit(store, history)).rejects.toThrow(SimulatedDeath)
  const second = new FaultyDisk(undefined, first)
  const heir = await openDiskObjectStore(optionsOf(directory, second))
  dieWithoutFirstSector(second)
  await expect(commit(heir, new TestHistory(2))).rejects.toMatchObject({ code: 'storage_failed' })
  expect(await headAfter(directory)).toBeUndefined()
})

test('the rest of an unfinished write does not follow a later one', async () => {
  const { directory, history, first } = await withUnsyncedFrame(true)
  const acknowledged = history.transitions[0]?.expected
  // Two frames go into one write, and only the second one comes to the device.
  const second = new FaultyDisk(undefined, first)
  const heir = await openDiskObjectStore(optionsOf(directory, second))
  expect(heir.head).toBe(history.head)
  dieWithoutFirstSector(second)
  await expect(commit(heir, history)).rejects.toMatchObject({ code: 'storage_failed' })
  const third = new FaultyDisk()
  const store = await openDiskObjectStore(optionsOf(directory, third))
  expect(store.head).toBe(acknowledged)
  // As long as the one that is not there.
  const other = new TestHistory(3, acknowledged)
  await commit(store, other)
  third.die('nothing')
  expect(await headAfter(directory)).toBe(other.head)
})

test('an unfinished write finds its space there, and cuts nothing off', async () => {
  const directory = temporaryDirectory()
  const [history, disk] = [new TestHistory(1), new FaultyDisk()]
  const store = await createDiskObjectStore(optionsOf(directory, disk))
  await commit(store, history)
  const path = join(directory, 'gitlocket/journal-a')
  const bytes = statSync(path).size
  disk.write = (fd, part, position) => {
    FaultyDisk.prototype.write.call(disk, fd, part, position)
    if (part.every((byte) => byte === 0)) return
    // The device has begun this write, and its file is at least as long as the synced part.
    const size = disk.syncedContent(statSync(path).ino)?.length ?? 0
    truncateSync(path, Math.max(size, bytes + 512))
    disk.die('nothing')
  }
  const large = store.exclusive(() => store.commit([history.next(2 * bytes)]))
  await expect(large).rejects.toMatchObject({ code: 'storage_failed' })
  expect(history.transitions.map(({ next }) => next)).toContain(await headAfter(directory))
})
