// What another process redacts while this one is in the middle of a call, which it notices only
// by what it does not find: before each read, the other one is started, and waited for.

import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import type { Disk } from '../../src/disk/disk.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { type MemoryStore, openStore } from '../../src/index.ts'
import {
  argumentsOf,
  copyOf,
  type Device,
  few,
  newSite,
  whichAreRedacted,
} from '../support/redaction-sites.ts'
import { sample } from '../support/seed.ts'

describe('another process redacts before any read of one that', () => {
  test.each([
    ['opens the store on the first device', 'first', opening],
    ['opens the store on the second device', 'second', opening],
    ['asks how the store stands', 'first', asking],
  ] as const)('%s', { tags: 'slow' }, async (_, who, act) => {
    const site = await newSite(1, few)
    let total = 0
    await act(copyOf(site)[who], () => (total += 1))
    const rows = Array.from({ length: total }, (__, n) => n + 1)
    expect(rows.length).toBeGreaterThan(3)
    // Five reads in a row see two heads unless the head is checked for a change.
    for (const row of sample(rows, Math.ceil(total / 6))) {
      const copy = copyOf(site)
      let count = 0
      const store = await act(copy[who], () => {
        count += 1
        if (count !== row) return
        const redacting = argumentsOf('redact', copy.first, 'redactor', [copy.deep])
        const child = spawnSync(process.execPath, redacting)
        expect(child.stderr.toString(), `read ${row} of ${total}`).toBe('')
      })
      expect(await store.maintenance.verify()).toMatchObject({ memories: 3 })
      await store.close()
      expect(await whichAreRedacted(copy[who], [copy.deep])).toEqual([copy.deep])
    }
  })
})

/** Ends with the store open. `onRead` is told before each read while no lock is held. */
async function opening(device: Device, onRead: () => void): Promise<MemoryStore> {
  return openStore({ ...device, disk: watched(onRead) })
}

async function asking(device: Device, onRead: () => void): Promise<MemoryStore> {
  let isAsking = false
  const store = await openStore({ ...device, disk: watched(() => isAsking && onRead()) })
  isAsking = true
  expect((await store.status()).memories).toBe(3)
  isAsking = false
  return store
}

/** Told before each read of a file or a name, but not while the lock of the writer is held. */
function watched(onRead: () => unknown): Disk {
  let isLocked = false
  const asked = (): void => {
    if (!isLocked) onRead()
  }
  return {
    ...systemDisk,
    link(from, to) {
      const isMade = systemDisk.link(from, to)
      if (to.endsWith('gitlocket/lock')) isLocked ||= isMade
      return isMade
    },
    remove(path) {
      systemDisk.remove(path)
      if (path.endsWith('gitlocket/lock')) isLocked = false
    },
    read(...args) {
      asked()
      return systemDisk.read(...args)
    },
    readFile(path) {
      asked()
      return systemDisk.readFile(path)
    },
    list(path) {
      asked()
      return systemDisk.list(path)
    },
  }
}
