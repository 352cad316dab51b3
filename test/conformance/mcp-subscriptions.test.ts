// Subscriptions to the resources of MCP over two streams: the official client learns which memories
// changed in any process, and nothing outside what it sees or has asked for.

import type { SubscriptionFilter } from '@modelcontextprotocol/client'
import { expect, test, vi } from 'vitest'
import type { McpOptions } from '../../src/mcp/mcp.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { connectTo, type McpCaller } from '../support/mcp-client.ts'
import { patience } from '../support/patience.ts'
import { author, newStore } from '../support/stores.ts'

const base = 'memory://memories'

interface Heard {
  readonly caller: McpCaller
  readonly heard: string[]
}

async function connect(
  store: MemoryStore,
  options: Parameters<typeof connectTo>[1] = {},
): Promise<Heard> {
  const { caller } = await connectTo(store, options)
  const heard: string[] = []
  caller.client.setNotificationHandler('notifications/resources/list_changed', () => {
    heard.push('list')
  })
  caller.client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    heard.push(params.uri)
  })
  return { caller, heard }
}

async function listen(
  store: MemoryStore,
  filter: SubscriptionFilter,
  options: McpOptions = {},
): Promise<Heard> {
  const { caller, heard } = await connect(store, options)
  const { honoredFilter } = await caller.client.listen(filter)
  expect(honoredFilter).toEqual(filter)
  return { caller, heard }
}

const until = (check: () => unknown): Promise<unknown> => vi.waitFor(check, patience)

test('a change of the list is told, a change of a text is not', async () => {
  const { store } = await newStore()
  const me = store.as(author)
  await me.write('/a.md', 'one')
  const { heard } = await listen(store, { resourcesListChanged: true })
  await me.write('/a.md', 'two')
  await me.write('/b.md', 'new')
  await until(() => expect(heard).toEqual(['list']))
  await me.move('/b.md', '/c.md')
  await until(() => expect(heard).toEqual(['list', 'list']))
  await me.delete('/c.md')
  await until(() => expect(heard).toEqual(['list', 'list', 'list']))
})

test('a memory that is subscribed to is told when it changes, moves and is deleted', async () => {
  const { store } = await newStore()
  const me = store.as(author)
  await me.write('/a b.md', 'one')
  await me.write('/other.md', 'one')
  const uris = [`${base}/a%20b.md`, `${base}/c.md`]
  const { heard } = await listen(store, { resourceSubscriptions: uris })
  await me.write('/other.md', 'two')
  await me.write('/a b.md', 'two')
  await until(() => expect(heard).toEqual([uris[0]]))
  await me.move('/a b.md', '/c.md')
  await until(() => expect(heard).toEqual([uris[0], uris[0], uris[1]]))
  await me.delete('/c.md')
  await until(() => expect(heard).toEqual([uris[0], uris[0], uris[1], uris[1]]))
})

test('the client hears of its own writes', async () => {
  const { store } = await newStore()
  const { caller, heard } = await listen(store, { resourcesListChanged: true })
  await caller.value('memory_write', { path: '/memories/a.md', content: 'one' })
  await until(() => expect(heard).toEqual(['list']))
})

test('nothing outside the directory that the client sees is told', async () => {
  const { store } = await newStore()
  const me = store.as(author)
  await me.write('/team/a.md', 'one')
  const filter = { resourcesListChanged: true, resourceSubscriptions: [`${base}/a.md`] }
  const { heard } = await listen(store, filter, { path: '/team' })
  await me.write('/private.md', 'one')
  await me.write('/teammates.md', 'one')
  await me.write('/team/a.md', 'two')
  await until(() => expect(heard).toEqual([`${base}/a.md`]))
  await me.move('/team/a.md', '/hidden.md')
  await until(() => expect(heard).toEqual([`${base}/a.md`, `${base}/a.md`, 'list']))
})

test('an open subscription does not keep the connection when the input ends', async () => {
  const { store } = await newStore()
  const { caller, connection } = await connectTo(store)
  const subscription = await caller.client.listen({ resourcesListChanged: true })
  await caller.close()
  await connection.closed
  expect(await subscription.closed).not.toBe('local')
})

test('a 65th subscription is refused', async () => {
  const { store } = await newStore()
  const { caller } = await connectTo(store)
  const filter = { resourcesListChanged: true }
  for (let open = 0; open < 64; open += 1) await caller.client.listen(filter)
  await expect(caller.client.listen(filter)).rejects.toThrow('Subscription limit reached')
})

test.each(['2025-11-25', '2025-06-18'] as const)(
  'a client of %s is told of the memories that it subscribes to',
  async (era) => {
    const { store } = await newStore()
    const me = store.as(author)
    const { caller, heard } = await connect(store, { era, path: '/team' })
    expect(caller.client.getServerCapabilities()?.resources).toEqual({ subscribe: true })
    const [uri, other] = [`${base}/a.md`, `${base}/b.md`]
    await caller.client.subscribeResource({ uri })
    await caller.client.subscribeResource({ uri: other })
    await me.write('/private.md', 'one')
    await me.write('/team/c.md', 'one')
    await me.write('/team/a.md', 'one')
    await until(() => expect(heard).toEqual([uri]))
    await caller.client.unsubscribeResource({ uri: other })
    await me.write('/team/b.md', 'one')
    await me.write('/team/a.md', 'two')
    await until(() => expect(heard).toEqual([uri, uri]))
    const outside = caller.client.subscribeResource({ uri: 'memory://elsewhere/a.md' })
    await expect(outside).rejects.toThrow('not found')
  },
)

test('lists and reads may be cached by the client alone', async () => {
  const { store } = await newStore()
  await store.as(author).write('/a.md', 'one')
  const { caller } = await connectTo(store)
  const uri = `${base}/a.md`
  const answers = [
    await caller.client.request({ method: 'resources/list' }),
    await caller.client.request({ method: 'resources/read', params: { uri } }),
    await caller.client.request({ method: 'resources/templates/list' }),
    await caller.client.request({ method: 'tools/list' }),
  ]
  for (const answer of answers) expect(answer).toMatchObject({ cacheScope: 'private', ttlMs: 0 })
})
