// Memory Stores API §9: how many memories a store may have.

import { beforeAll, describe, expect, test } from 'vitest'
import { expectRefused, type Json } from '../../support/http-caller.ts'
import { runningServer, type StoreOnServer } from '../../support/running-server.ts'

describe('9: a store that is full', () => {
  const at = runningServer({ storeLimits: { memories: 3 } })
  let store: StoreOnServer
  let memories: Json[]
  beforeAll(async () => {
    store = await at.store()
    memories = [await store.create('/a'), await store.create('/b'), await store.create('/c')]
  })

  test('creates fail, and everything else works', async () => {
    const path = `${store.path}/memories`
    expectRefused(await at.caller.post(path, { path: '/d', content: '' }), 400)
    expect(await store.memories()).toHaveLength(3)
    const [first] = memories
    await store.update(first.id, { content: 'new', path: '/e' })
    expect((await store.get(`/memories/${first.id}`)).content).toBe('new')
    await store.delete(first.id)
    await store.create('/d')
    expectRefused(await at.caller.post(path, { path: '/f', content: '' }), 400)
  })

  test('it is full after a restart too', async () => {
    await at.restart()
    const { caller } = at
    expectRefused(await caller.post(`${store.path}/memories`, { path: '/g', content: '' }), 400)
    expect(await store.as(caller).memories()).toHaveLength(3)
  })

  test('concurrent creates succeed until the store is full', async () => {
    const room = await at.store()
    await room.create('/a')
    const asked = Array.from({ length: 16 }, (_, n) =>
      at.caller.post(`${room.path}/memories`, { path: `/m${n}`, content: '' }),
    )
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(2)
    expect(statuses.filter((status) => status === 400)).toHaveLength(14)
    expect(await room.memories()).toHaveLength(3)
  })
})
