import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { systemDisk } from '../../../src/disk/disk.ts'
import { SyncPace } from '../../../src/git/journal/sync-pace.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

const small = 4096

afterEach(() => {
  vi.restoreAllMocks()
})

/** A device whose next sync takes `state.ms`, and where each of them was waited for. */
function device(): {
  readonly state: { ms: number; isBusy: boolean }
  readonly pace: SyncPace
  readonly here: (boolean | undefined)[]
} {
  const state = { ms: 0.1, isBusy: false }
  const here: (boolean | undefined)[] = []
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const disk: typeof systemDisk = {
    ...systemDisk,
    async sync(_, isHere) {
      here.push(isHere)
      now += state.ms
    },
  }
  return { state, pace: new SyncPace(disk, () => state.isBusy), here }
}

test('this thread waits only after four fast syncs in a row', async () => {
  const { state, pace, here } = device()
  for (let n = 0; n < 6; n += 1) await pace.sync(0, small)
  state.ms = 3
  await pace.sync(0, small)
  await pace.sync(0, small)
  state.ms = 0.1
  for (let n = 0; n < 5; n += 1) await pace.sync(0, small)
  const [no, yes] = [false, true]
  const expected = [no, no, no, no, yes, yes, yes, no, no, no, no, no, yes]
  expect(here).toEqual(expected)
})

test('it never waits for much, or while the process packs', async () => {
  const { state, pace, here } = device()
  for (let n = 0; n < 5; n += 1) await pace.sync(0, small)
  expect(here.at(-1)).toBe(true)
  await pace.sync(0, 1024 * 1024)
  expect(here.at(-1)).toBe(false)
  state.isBusy = true
  await pace.sync(0, small)
  expect(here.at(-1)).toBe(false)
  state.isBusy = false
  await pace.sync(0, small)
  expect(here.at(-1)).toBe(true)
})

test('the disk waits in this thread if it is told to', async () => {
  const fd = systemDisk.open(join(temporaryDirectory(), 'file'), 'wx')
  systemDisk.write(fd, new Uint8Array(10), 0)
  const synced = vi.fn<() => void>()
  const sync = systemDisk.sync(fd, true).then(synced)
  for (let turn = 0; turn < 3; turn += 1) await Promise.resolve()
  expect(synced).toHaveBeenCalled()
  await sync
  systemDisk.close(fd)
})
