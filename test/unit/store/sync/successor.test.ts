// A head that only adds to ours is taken over without our history: a fetch of one change by a new
// process costs the same in a short history and in a long one.

import { expect, test } from 'vitest'
import type { Disk } from '../../../../src/disk/disk.ts'
import { systemDisk } from '../../../../src/disk/system-disk.ts'
import { type MemoryStore, openStore } from '../../../../src/index.ts'
import {
  bareRemote,
  type Clone,
  firstClone,
  joinClone,
  put,
  sync,
} from '../../../support/clones.ts'
import { author, leastStretch } from '../../../support/stores.ts'

interface Reopened {
  readonly store: MemoryStore
  /** How often the caches of the history were asked for. */
  readonly looked: () => number
}

/** A new process, as far as a store can tell. */
async function reopen({ store, place }: Clone): Promise<Reopened> {
  await store.close()
  let looked = 0
  const disk: Disk = {
    ...systemDisk,
    list: (path) => {
      if (/\/cache\/[^/]*$/.test(path)) looked += 1
      return systemDisk.list(path)
    },
  }
  const opened = await openStore({ ...place, disk, stretch: leastStretch })
  return { store: opened, looked: () => looked }
}

async function pair(): Promise<{ readonly a: Clone; readonly b: Clone }> {
  const url = bareRemote()
  const a = await firstClone(url)
  await put(a, '/notes.md', 'one')
  await sync(a)
  return { a, b: await joinClone(a, url) }
}

test(
  'a change of another machine is adopted without loading the history',
  { tags: 'slow' },
  async () => {
    const { a, b } = await pair()
    await sync(a)
    await put(b, '/notes.md', 'two')
    await sync(b)
    const { store, looked } = await reopen(a)
    const { received, mergedElsewhere } = await store.as(author).sync()
    expect([received.commits, mergedElsewhere, looked()]).toEqual([1, [], 0])
    expect((await store.read('/notes.md'))?.content).toBe('two')
    expect(await store.as(author).sync()).toMatchObject({ received: { commits: 0 } })
    expect(looked()).toBe(0)
    // Such a question does look there.
    expect(await store.history.conflicts()).toEqual([])
    expect(looked()).toBeGreaterThan(0)
    await store.maintenance.verify()
  },
)

test('settings and merges that come with it are reported', { tags: 'slow' }, async () => {
  const { a, b } = await pair()
  await sync(a)
  const c = await joinClone(a, (await a.store.remotes.list())[0]?.url ?? '')
  // Both build on the head of a, which so has nothing that the merge lacks.
  await sync(a)
  await sync(b)
  await put(b, '/notes.md', 'of b')
  await put(c, '/notes.md', 'of c')
  await b.store.as(author).settings.update({ description: 'new' })
  await sync(b)
  await sync(c)
  const { store } = await reopen(a)
  const report = await store.as(author).sync()
  expect(report).toMatchObject({ settings: 'replaced', merge: undefined })
  expect(report.mergedElsewhere).toMatchObject([{ path: '/notes.md' }])
  await store.maintenance.verify()
})
