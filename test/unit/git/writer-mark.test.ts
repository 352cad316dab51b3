// The files that a writer checks between two commands: only its mark and the branch while no other
// handle has held the lock, and all of them as soon as another may have.

import { linkSync, mkdirSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Disk } from '../../../src/disk/disk.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import {
  createDiskObjectStore,
  openDiskObjectStore,
} from '../../../src/git/disk-store/disk-object-store.ts'
import type { ObjectStore } from '../../../src/git/object-store.ts'
import { FaultyDisk, SimulatedDeath } from '../../support/faulty-disk.ts'
import { git, temporaryDirectory } from '../../support/temporary.ts'
import { TestHistory } from '../../support/transitions.ts'

const options = { idleMs: Infinity, lockWaitMs: 0 }

/** A disk that notes every operation. */
function noted(): { readonly disk: Disk; readonly calls: string[] } {
  const calls: string[] = []
  const disk = new Proxy(systemDisk, {
    get(target, name: keyof Disk) {
      const operation = target[name]
      return (...values: never[]) => {
        calls.push(name)
        return Reflect.apply(operation, target, values)
      }
    },
  })
  return { disk, calls }
}

async function write(store: ObjectStore): Promise<string> {
  return store.exclusive(async () => {
    const transition = new TestHistory(1, store.head).next()
    await store.commit([transition])
    return transition.next
  })
}

async function twoHandles(): Promise<Record<'first' | 'second', ObjectStore> & { at: string }> {
  const directory = temporaryDirectory()
  const first = await createDiskObjectStore({ ...options, directory })
  const second = await openDiskObjectStore({ ...options, directory })
  return { first, second, at: directory }
}

describe('a writer that no other has come between', () => {
  test('makes a commit with seven operations', async () => {
    const { disk, calls } = noted()
    const store = await createDiskObjectStore({ ...options, disk, directory: temporaryDirectory() })
    for (let count = 0; count < 3; count += 1) await write(store)
    calls.length = 0
    await write(store)
    // The lock, the mark, the branch (loose, then packed), the frame, and the lock again.
    expect(calls).toEqual(['link', 'stat', 'stat', 'stat', 'write', 'sync', 'remove'])
    calls.length = 0
    store.refresh()
    expect(calls).toEqual(['stat', 'stat', 'stat'])
  })

  test('leaves no mark when it closes', async () => {
    const { first, second, at } = await twoHandles()
    await write(first)
    expect(readdirSync(join(at, 'gitlocket'))).toContain('last-writer')
    await second.close()
    await first.close()
    expect(readdirSync(join(at, 'gitlocket')).toSorted()).toEqual(['journal-a', 'journal-b'])
  })
})

describe('a writer looks again', () => {
  test('after each commit of another handle', async () => {
    const { first, second } = await twoHandles()
    for (let turn = 0; turn < 4; turn += 1) {
      for (const [own, other] of [
        [first, second],
        [second, first],
      ] as const) {
        const head = await write(own)
        other.refresh()
        expect(other.head).toBe(head)
      }
    }
    await second.close()
    await first.close()
  })

  test('after another handle has packed the journal', async () => {
    const { first, second, at } = await twoHandles()
    await write(first)
    await second.checkpoint()
    const head = await write(first)
    second.refresh()
    expect(second.head).toBe(head)
    await first.close()
    await second.close()
    expect(git(['rev-parse', 'main'], at).trim()).toBe(head)
  })

  test('after git has moved the branch, without a lock', async () => {
    const { first, at } = await twoHandles()
    const before = await write(first)
    await write(first)
    await first.checkpoint()
    git(['update-ref', 'refs/heads/main', before], at)
    first.refresh()
    expect(first.head).toBe(before)
    await first.exclusive(async () => expect(first.head).toBe(before))
    await first.close()
  })

  test.each<[string, (mark: string) => void]>([
    ['is gone', (mark) => unlinkSync(mark)],
    [
      'is another file',
      (mark) => {
        unlinkSync(mark)
        writeFileSync(mark, '')
      },
    ],
    [
      'is that of a handle that is gone',
      (mark) => {
        const owner = join(mark, '../owner.00000000000000000000000000000000')
        writeFileSync(owner, '{}')
        unlinkSync(mark)
        linkSync(owner, mark)
        unlinkSync(owner)
      },
    ],
  ])('when its mark %s', async (_, change) => {
    const { disk, calls } = noted()
    const directory = temporaryDirectory()
    const store = await createDiskObjectStore({ ...options, disk, directory })
    for (let count = 0; count < 3; count += 1) await write(store)
    change(join(directory, 'gitlocket/last-writer'))
    calls.length = 0
    await write(store)
    expect(calls).toContain('read')
    expect(calls).toContain('list')
    calls.length = 0
    await write(store)
    expect(calls).not.toContain('list')
    await store.close()
  })

  test('after work of its own that failed', async () => {
    const { disk, calls } = noted()
    const store = await createDiskObjectStore({ ...options, disk, directory: temporaryDirectory() })
    await write(store)
    const failing = store.exclusive(async () => {
      throw new Error('the work failed')
    })
    await expect(failing).rejects.toThrow('the work failed')
    calls.length = 0
    await write(store)
    expect(calls).toContain('read')
    expect(calls).toContain('list')
    await store.close()
  })

  test('after a failed check: its missed changes are not forgotten', async () => {
    const directory = temporaryDirectory()
    const other = await createDiskObjectStore({ ...options, directory })
    let readsLeft = Infinity
    const disk: Disk = {
      ...systemDisk,
      read(...file) {
        readsLeft -= 1
        if (readsLeft === 0) throw new Error('the disk failed')
        return systemDisk.read(...file)
      },
    }
    const store = await openDiskObjectStore({ ...options, disk, directory })
    await write(store)
    let failed = 0
    for (let isWhole = false; !isWhole;) {
      const head = await write(other)
      readsLeft = failed + 1
      try {
        store.refresh()
        isWhole = true
      } catch {
        failed += 1
      }
      readsLeft = Infinity
      store.refresh()
      expect(store.head).toBe(head)
    }
    expect(failed).toBeGreaterThan(4)
    await store.close()
    await other.close()
  })
})

test('a mark that cannot be taken refuses the write, and lets go of the lock', async () => {
  const { first, second, at } = await twoHandles()
  await write(first)
  const mark = join(at, 'gitlocket/last-writer')
  unlinkSync(mark)
  mkdirSync(mark)
  await expect(write(second)).rejects.toMatchObject({ code: expect.stringMatching(/^storage_/) })
  expect(readdirSync(join(at, 'gitlocket'))).not.toContain('lock')
  await first.close().catch(() => undefined)
  await second.close().catch(() => undefined)
})

test('a writer that dies before it has its mark leaves no mark', async () => {
  const directory = temporaryDirectory()
  const survivor = await createDiskObjectStore({ ...options, directory })
  await write(survivor)
  const probe = new FaultyDisk()
  await write(await openDiskObjectStore({ ...options, disk: probe, directory }))
  const at = probe.log.findIndex((entry) => entry.includes('last-writer')) + 1
  expect(at).toBeGreaterThan(0)
  probe.die('nothing')
  await write(survivor)
  const disk = new FaultyDisk({ kind: 'death', at, moment: 'after', loss: 'nothing' })
  const dying = await openDiskObjectStore({ ...options, disk, directory })
  await expect(write(dying)).rejects.toThrow(SimulatedDeath)
  expect(disk.dead).toBe(true)
  const head = await write(survivor)
  const third = await openDiskObjectStore({ ...options, directory })
  expect(third.head).toBe(head)
  await third.close()
  await survivor.close()
})
