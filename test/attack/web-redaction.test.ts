// T91, T13: a redaction on another clone reaches a store in RAM that is open: nothing in it shows
// the erased text any more, and the objects that held it are dropped.

import { expect, test, vi } from 'vitest'
import type { ObjectStore } from '../../src/git/object-store.ts'
import type { RemoteStore } from '../../src/web/web.ts'
import { sync } from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git } from '../support/temporary.ts'
import { openWeb, servedGrant, webAuthor } from '../support/web-stores.ts'

const made = vi.hoisted((): ObjectStore[] => [])
vi.mock(import('../../src/git/memory-store/memory-object-store.ts'), async (original) => {
  const { createMemoryObjectStore } = await original()
  return {
    createMemoryObjectStore: (options) => {
      const store = createMemoryObjectStore(options)
      made.push(store)
      return store
    },
  }
})

const canary = 'Canary-Rr4tY8'

async function countHits(store: RemoteStore): Promise<readonly number[]> {
  const counts: number[] = []
  for (const how of [{}, { regex: true }, { allVersions: true }]) {
    counts.push((await store.search({ query: canary, ...how })).data.length)
  }
  return counts
}

function objectsAt(repository: string): ReadonlySet<string> {
  const list = git(['rev-list', '--objects', '--no-object-names', 'main'], repository)
  return new Set(list.trim().split('\n'))
}

function redaction(path: string) {
  return { select: { path }, reason: 'leaked_secret', current: 'delete' } as const
}

test('T91: of a text that it wrote', async () => {
  const world = await servedGrant()
  const { granter, url } = world
  const store = await openWeb(world)
  await store.as(webAuthor).write('/key.txt', canary)
  expect(await countHits(store)).toEqual([1, 1, 1])
  await store.as(webAuthor).write('/after.md', 'after')
  await sync(granter)
  const before = objectsAt(url)
  await granter.store.as(author).redact(redaction('/key.txt'))
  await sync(granter)
  const kept = objectsAt(url)
  const { erased } = await store.sync()
  expect(erased).toBeGreaterThan(0)
  expect(await countHits(store)).toEqual([0, 0, 0])
  expect(await store.read('/key.txt')).toBeUndefined()
  expect((await store.read('/after.md'))?.content).toBe('after')
  const here = new Set(made.at(-1)?.objectIds())
  expect([...before].filter((oid) => !kept.has(oid) && here.has(oid))).toEqual([])
  await store.as(webAuthor).write('/later.md', 'later')
  await sync(granter)
  expect(await contentsOf(store)).toEqual(await contentsOf(granter.store))
  await store.close()
})

test('T91: of a text from before its beginning: it begins anew', async () => {
  const world = await servedGrant()
  const { granter, url } = world
  const store = await openWeb(world)
  expect((await store.read('/notes/1.md'))?.content).toBe('text 1\n')
  await store.as(webAuthor).write('/mine.md', 'mine')
  await sync(granter)
  const before = objectsAt(url)
  await granter.store.as(author).redact(redaction('/notes/1.md'))
  await sync(granter)
  const kept = objectsAt(url)
  expect((await store.sync()).begunAnew).toMatchObject({ changes: 0 })
  expect(await store.read('/notes/1.md')).toBeUndefined()
  const here = new Set(made.at(-1)?.objectIds())
  expect([...before].filter((oid) => !kept.has(oid) && here.has(oid))).toEqual([])
  await store.as(webAuthor).write('/later.md', 'later')
  await sync(granter)
  expect(await contentsOf(store)).toEqual(await contentsOf(granter.store))
  await store.close()
})

test('T91: of a text from before its beginning, met by a write: it has the ids sent', async () => {
  const world = await servedGrant()
  const { granter } = world
  const store = await openWeb(world)
  await granter.store.as(author).redact(redaction('/notes/1.md'))
  await sync(granter)
  const { commit, versionIds, memories } = await store.as(webAuthor).apply([
    { type: 'create', path: '/mine.md', content: 'mine' },
    { type: 'delete', path: '/notes/2.md' },
  ])
  await sync(granter)
  expect(await granter.store.read('/mine.md')).toMatchObject(memories[0] ?? {})
  expect(memories).toEqual([expect.objectContaining({ path: '/mine.md' }), undefined])
  const sent = await granter.store.history.versions({ limit: 2 })
  expect(new Set(versionIds)).toEqual(new Set(sent.data.map(({ versionId }) => versionId)))
  expect(new Set(sent.data.map((version) => version.commit))).toEqual(new Set([commit]))
  await store.close()
})

test('T91: of a text from before its beginning, without a new start: it is closed', async () => {
  const world = await servedGrant()
  const { granter, url } = world
  const store = await openWeb(world)
  await granter.store.as(author).redact(redaction('/notes/1.md'))
  await sync(granter)
  const starts = git(['for-each-ref', '--format=%(refname)', 'refs/gitlocket/baseline'], url)
  for (const name of starts.trim().split('\n')) git(['update-ref', '-d', name], url)
  expect(await failureOf(store.sync())).toMatchObject({ code: 'history_needed' })
  expect(await failureOf(store.read('/notes/0.md'))).toMatchObject({ code: 'store_closed' })
})
