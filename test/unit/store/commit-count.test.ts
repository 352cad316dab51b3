// The number of commits that `status` reports without reading the history is that of a
// verification.

import { expect, test } from 'vitest'
import { openDiskObjectStore } from '../../../src/git/disk-store/disk-object-store.ts'
import type { MemoryStore } from '../../../src/index.ts'
import { countOn } from '../../../src/store/commits/commit-count.ts'
import { bareRemote, firstClone, joinClone, sync, syncAll } from '../../support/clones.ts'
import { author, newStore, reopen } from '../../support/stores.ts'

async function expectCounted(store: MemoryStore): Promise<number> {
  const { commits } = await store.maintenance.verify()
  expect((await store.status()).commits).toBe(commits)
  return commits
}

async function write(store: MemoryStore, path: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const edit = (text: string): string => `${text}${n}\n`
    const known = await store.read(path)
    const content = `${n}\n`
    const change =
      known === undefined
        ? ({ type: 'create', path, content } as const)
        : ({ type: 'edit', path, edit } as const)
    await store.as(author).apply([change])
  }
}

test('of a linear history: new, written, reopened, written by another process', async () => {
  const { store, place } = await newStore()
  expect(await expectCounted(store)).toBe(1)
  await write(store, '/a.md', 5)
  expect(await expectCounted(store)).toBe(6)
  await store.close()
  const again = await reopen(place)
  expect(await expectCounted(again)).toBe(6)
  const other = await reopen(place)
  await write(other, '/b.md', 3)
  expect(await expectCounted(again)).toBe(9)
  await other.close()
  await again.close()
  const last = await reopen(place)
  expect(await expectCounted(last)).toBe(9)
  await last.close()
})

test(
  'of histories that diverged and were merged, adopted and redacted',
  { tags: 'slow' },
  async () => {
    const url = bareRemote()
    const first = await firstClone(url)
    await write(first.store, '/secret.md', 3)
    await sync(first)
    const second = await joinClone(first, url)
    await syncAll([first, second])
    await write(first.store, '/a.md', 3)
    await write(second.store, '/b.md', 2)
    await sync(first)
    const { merge } = await sync(second)
    expect(merge).toBeDefined()
    await expectCounted(second.store)
    const { data: versions } = await first.store.history.versions({ path: '/secret.md' })
    const old = versions.slice(1).map(({ versionId }) => versionId)
    const select = { versionIds: old }
    await first.store.as({ actor: author.actor }).redact({ select, reason: 'leaked_secret' })
    await expectCounted(first.store)
    await syncAll([first, second])
    const count = await expectCounted(first.store)
    expect(await expectCounted(second.store)).toBe(count)
    await second.store.close()
    const again = await reopen(second.place)
    expect(await expectCounted(again)).toBe(count)
    await again.close()
    await first.store.close()
  },
)

test('reads only the commits since the last count', async () => {
  const { store, place } = await newStore()
  await write(store, '/a.md', 20)
  const before = await store.status()
  await write(store, '/a.md', 3)
  const { head } = await store.status()
  await store.close()
  const objects = await openDiskObjectStore(place)
  const read = new Set<string>()
  const source = {
    read: (oid: string) => {
      read.add(oid)
      return objects.read(oid)
    },
  }
  const known = { commit: before.head, commits: before.commits }
  expect(await countOn(source, known, head)).toEqual({ commit: head, commits: 24 })
  expect(read.size).toBeLessThanOrEqual(5)
  // Back to an older one.
  const newest = { commit: head, commits: 24 }
  expect((await countOn(source, newest, before.head)).commits).toBe(21)
  await objects.close()
})
