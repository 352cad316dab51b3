// The trace of a store: equal as long as nothing is written, and never equal while the next write
// could have the time of the last one.

import { utimesSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemDisk } from '../../../src/disk/system-disk.ts'
import { traceOfStore } from '../../../src/git/disk-store/head-trace.ts'
import { author, newStore } from '../../support/stores.ts'

test('differs after a write, and is equal only once the files have settled', async () => {
  const { store, place } = await newStore()
  const { directory } = place
  const trace = (): string => traceOfStore(systemDisk, directory)
  const settle = (): void => {
    const long = new Date(Date.now() - 60_000)
    for (const file of ['gitlocket/journal-a', 'gitlocket/journal-b', 'refs/heads/main']) {
      if (systemDisk.stat(`${directory}/${file}`) === undefined) continue
      utimesSync(`${directory}/${file}`, long, long)
    }
  }
  await store.as(author).write('/a.md', 'a')
  expect(trace()).not.toBe(trace())
  settle()
  const before = trace()
  expect(trace()).toBe(before)
  await store.as(author).write('/a.md', 'b')
  expect(trace()).not.toBe(before)
  settle()
  await store.maintenance.checkpoint()
  expect(trace()).not.toBe(before)
  await store.close()
})
