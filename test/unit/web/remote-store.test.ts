// A store in RAM, opened with a grant: what it reads, and when its writes are at the remote.

import { expect, test } from 'vitest'
import { hold } from '../../support/grant-holders.ts'
import { contentsOf } from '../../support/stores.ts'
import { openWeb, servedGrant, webAuthor } from '../../support/web-stores.ts'

test('opens with a grant, lists, reads and searches', async () => {
  const world = await servedGrant()
  const store = await openWeb(world)
  expect(store.id).toBe(world.granter.store.id)
  expect(await contentsOf(store)).toEqual({
    '/notes/0.md': 'text 0\n',
    '/notes/1.md': 'text 1\n',
    '/notes/2.md': 'text 2\n',
  })
  expect((await store.list('/'))?.children.length).toBe(1)
  const { data } = await store.search({ query: 'text' })
  expect(data.length).toBe(3)
  await store.close()
})

test('a write is at the remote before it is answered', async () => {
  const world = await servedGrant()
  const store = await openWeb(world)
  await store.as(webAuthor).write('/notes/9.md', 'nine\n')
  // No close: the process may end here.
  const other = await hold(world)
  expect((await other.read('/notes/9.md'))?.content).toBe('nine\n')
  await other.close()
  await store.close()
})
