// `store.watch`: every version once, in order, from any writer; never a text; and `resync` where
// versions cannot be listed.

import { expect, test } from 'vitest'
import type { MemoryStore, StoreChange } from '../../../src/index.ts'
import { bareRemote, firstClone, joinClone, put, sync } from '../../support/clones.ts'
import { author, newStore, reopen } from '../../support/stores.ts'

type Watch = AsyncIterator<StoreChange, void>

function watching(store: MemoryStore, signal?: AbortSignal): Watch {
  return store.watch({ intervalMs: 5, signal })[Symbol.asyncIterator]()
}

/** The next events, as text. */
async function take(watch: Watch, count: number): Promise<readonly string[]> {
  const found: string[] = []
  while (found.length < count) {
    const next = await watch.next()
    if (next.done === true) return [...found, 'the end']
    const { value: change } = next
    found.push(change.type === 'resync' ? 'resync' : `${change.operation} ${change.path}`)
  }
  return found
}

test('reports writes of this handle and another one, from its call on', async () => {
  const { store, place } = await newStore()
  const other = await reopen(place)
  const [mine, theirs] = [store.as(author), other.as(author)]
  await mine.write('/before', 'x')
  const watch = watching(store)
  await mine.write('/a', 'one')
  await theirs.edit('/a', () => 'two')
  await theirs.move('/a', '/b')
  expect(await take(watch, 3)).toEqual(['created /a', 'modified /a', 'modified /b'])
  const waiting = take(watch, 2)
  await theirs.apply([
    { type: 'delete', path: '/b' },
    { type: 'write', path: '/c', content: 'c' },
  ])
  expect((await waiting).toSorted()).toEqual(['created /c', 'deleted /b'])
  await theirs.settings.update({ name: 'no version' })
  await theirs.write('/d', 'd')
  const { value } = await watch.next()
  const [newest] = (await store.history.versions({ limit: 1 })).data
  expect(value).toEqual({
    type: 'version',
    operation: 'created',
    path: '/d',
    memoryId: newest?.memoryId,
    versionId: newest?.versionId,
  })
  await watch.return?.()
  await Promise.all([store.close(), other.close()])
})

test('reports changes that a sync brings and merges', { tags: 'slow' }, async () => {
  const url = bareRemote()
  const a = await firstClone(url)
  await put(a, '/notes', 'one\ntwo\nthree\n')
  await sync(a)
  const b = await joinClone(a, url)
  await b.store.as(author).edit('/notes', (text) => text.replace('one', 'eins'))
  await put(b, '/b', 'b')
  await sync(b)
  const watch = watching(a.store)
  await a.store.as(author).edit('/notes', (text) => text.replace('three', 'drei'))
  await sync(a)
  const found = await take(watch, 4)
  expect(found.toSorted()).toEqual([
    'created /b',
    'modified /notes',
    'modified /notes',
    'modified /notes',
  ])
  await Promise.all([a.store.close(), b.store.close()])
  expect(await take(watch, 1)).toEqual(['the end'])
})

test('a version that is redacted before it is delivered arrives redacted', async () => {
  const { store } = await newStore()
  const me = store.as(author)
  const watch = watching(store)
  await me.write('/a', 'one')
  const { versionIds } = await me.write('/secret', 'sk-live')
  await me.write('/c', 'three')
  expect(await take(watch, 1)).toEqual(['created /a'])
  const request = { select: { versionIds }, reason: 'leaked_secret', current: 'delete' } as const
  await me.redact(request)
  const found = await take(watch, 3)
  expect(found).toEqual(['created undefined', 'created /c', 'resync'])
  await store.close()
})

test(
  'reports resync to a watcher over a thousand commits behind, and continues',
  { tags: 'slow' },
  async () => {
    const { store } = await newStore()
    const me = store.as(author)
    const watch = watching(store)
    await Promise.all(Array.from({ length: 1001 }, (_, index) => me.write(`/${index}`, '')))
    expect(await take(watch, 1)).toEqual(['resync'])
    await me.write('/on', '')
    expect(await take(watch, 1)).toEqual(['created /on'])
    await store.close()
  },
)

test(
  'reports a write that is requested right after its call, also among many reads',
  { tags: 'slow' },
  async () => {
    const { store } = await newStore()
    const me = store.as(author)
    for (let round = 0; round < 5; round += 1) {
      const until = performance.now() + 30
      const reads = []
      while (performance.now() < until) reads.push(store.read('/none'))
      const watch = watching(store)
      const writing = me.write(`/${round}`, '')
      expect(await take(watch, 1)).toEqual([`created /${round}`])
      await Promise.all([...reads, writing, watch.return?.()])
    }
    await store.close()
  },
)

test('ends on request: while it waits, and in the middle of a commit', async () => {
  const { store } = await newStore()
  const quiet = watching(store)
  const waiting = take(quiet, 1)
  await quiet.return?.()
  expect(await waiting).toEqual(['the end'])
  const ending = new AbortController()
  const watch = watching(store, ending.signal)
  const paths = Array.from({ length: 50 }, (_, index) => `/${index}`)
  await store.as(author).apply(paths.map((path) => ({ type: 'create', path, content: '' })))
  await take(watch, 1)
  ending.abort()
  expect(await take(watch, 1)).toEqual(['the end'])
  await store.close()
})

test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
  'refuses %d ms',
  async (intervalMs) => {
    const { store } = await newStore()
    const refused = expect.objectContaining({ code: 'invalid_input' })
    expect(() => store.watch({ intervalMs })).toThrow(refused)
    await store.close()
  },
)

test('ends with the signal, also while it waits', async () => {
  const { store } = await newStore()
  const ending = new AbortController()
  const watch = watching(store, ending.signal)
  const waiting = take(watch, 1)
  ending.abort()
  expect(await waiting).toEqual(['the end'])
  await store.close()
  await expect(take(watching(store), 1)).resolves.toEqual(['the end'])
})
