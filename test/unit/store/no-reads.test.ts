// A store that keeps writing reads nothing of its own again: no text that it has just written, and
// no commit to count it.

import { expect, test } from 'vitest'
import { type Disk, systemDisk } from '../../../src/disk/disk.ts'
import { author, newStore } from '../../support/stores.ts'

/** A disk that counts the reads of packs. */
function countedDisk(): { readonly disk: Disk; readonly counts: { reads: number } } {
  const counts = { reads: 0 }
  const packs = new Set<number>()
  const opened = <Fd extends number | undefined>(path: string, fd: Fd): Fd => {
    if (fd !== undefined && path.endsWith('.pack')) packs.add(fd)
    return fd
  }
  const disk: Disk = {
    ...systemDisk,
    open: (path, mode) => opened(path, systemDisk.open(path, mode)),
    openExisting: (path, mode) => opened(path, systemDisk.openExisting(path, mode)),
    read(fd, into, position) {
      if (packs.has(fd)) counts.reads += 1
      return systemDisk.read(fd, into, position)
    },
  }
  return { disk, counts }
}

test('does not read the newest texts again after they are packed', async () => {
  const { disk, counts } = countedDisk()
  const { store } = await newStore({ disk })
  const me = store.as(author)
  const path = '/a.md'
  await me.write(path, 'one')
  await me.edit(path, (text) => `${text} two`)
  await store.maintenance.checkpoint()
  const before = counts.reads
  await me.edit(path, (text) => `${text} three`)
  await me.move(path, '/b.md')
  expect((await store.read('/b.md'))?.content).toBe('one two three')
  expect((await store.status()).commits).toBe(5)
  expect(counts.reads).toBe(before)
  await store.close()
})
