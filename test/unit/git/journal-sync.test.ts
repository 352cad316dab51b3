// Which thread waits for the device when the journal appends.

import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { systemRandom } from '../../../src/crypto/random.ts'
import type { Disk } from '../../../src/disk/disk.ts'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { Journal } from '../../../src/git/journal/journal.ts'
import { temporaryDirectory } from '../../support/temporary.ts'
import { TestHistory } from '../../support/transitions.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

test('this thread waits only after four fast syncs in a row', async () => {
  let [now, syncMs] = [0, 0.1]
  let wasHere: boolean | undefined
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const disk: Disk = {
    ...systemDisk,
    async sync(_, isHere) {
      wasHere = isHere
      now += syncMs
    },
  }
  const directory = temporaryDirectory()
  const journal = new Journal({ disk, directory, random: systemRandom, isQuiet: () => true })
  const history = new TestHistory(1)
  const append = async (ms: number, bytes?: number): Promise<boolean | undefined> => {
    syncMs = ms
    await journal.append([history.next(bytes)])
    return wasHere
  }
  const [no, yes] = [false, true]
  const found: (boolean | undefined)[] = []
  for (const ms of [0.1, 0.1, 0.1, 0.1, 0.1, 3, 3, 0.1, 0.1, 0.1, 0.1, 0.1]) {
    found.push(await append(ms))
  }
  expect(found).toEqual([no, no, no, no, yes, yes, no, no, no, no, no, yes])
  expect(await append(0.1, 1024 * 1024)).toBe(no)
  journal.close()
})

test.each([true, false])('the disk blocks this thread only if asked to: %s', async (isHere) => {
  const fd = systemDisk.open(join(temporaryDirectory(), 'file'), 'wx')
  // A clock that stands still shows the fastest device.
  vi.spyOn(performance, 'now').mockReturnValue(0)
  for (let n = 0; n < 3; n += 1) {
    systemDisk.write(fd, new Uint8Array(10), n * 10)
    const synced = vi.fn<() => void>()
    const sync = systemDisk.sync(fd, isHere).then(synced)
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
    expect(synced).toHaveBeenCalledTimes(isHere ? 1 : 0)
    await sync
  }
  systemDisk.close(fd)
})
