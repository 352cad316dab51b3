// Subscriptions to the resources of MCP on a server: the official client learns which memories
// changed in the stores that its credential reaches, as long as the credential is valid.
// @module-tag slow

import type { SubscriptionFilter } from '@modelcontextprotocol/client'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { mcpHandler, mcpRoute } from '../../src/mcp/mcp.ts'
import { startFleet } from '../support/fleet.ts'
import { expectDone, HttpCaller } from '../support/http-caller.ts'
import { connectToServer } from '../support/mcp-client.ts'
import { patience } from '../support/patience.ts'
import { startPostgres } from '../support/postgres.ts'
import { runningServer, storesPath, StoreOnServer } from '../support/running-server.ts'
import { author, newStore } from '../support/stores.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { requires } from '../support/tools.ts'

const at = runningServer({ routes: [mcpRoute()], limits: { streamsPerKey: 8 } })
let notes: StoreOnServer
let rules: StoreOnServer

beforeAll(async () => {
  notes = await at.store({ name: 'Notes' })
  rules = await at.store({ name: 'Rules' })
})

interface Where {
  readonly url?: string
  readonly token?: string
  readonly query?: string
}

async function listen(
  filter: SubscriptionFilter,
  { url = at.url, token = at.key.secret, query = '' }: Where = {},
) {
  const caller = await connectToServer(`${url}/mcp${query}`, { token, era: '2026-07-28' })
  const heard: string[] = []
  caller.client.setNotificationHandler('notifications/resources/list_changed', () => {
    heard.push('list')
  })
  caller.client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    heard.push(params.uri)
  })
  const subscription = await caller.client.listen(filter)
  expect(subscription.honoredFilter).toEqual(filter)
  return { caller, heard, subscription }
}

function listenRequest(notifications: SubscriptionFilter): Request {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { _meta: meta, notifications }
  return new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }),
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
  })
}

const until = (check: () => unknown): Promise<unknown> => vi.waitFor(check, patience)

test('changes by others are told, and those of its own', async () => {
  const uri = 'memory://notes/a%20b.md'
  const { caller, heard } = await listen({
    resourcesListChanged: true,
    resourceSubscriptions: [uri],
  })
  const { id } = await notes.create('/a b.md', 'one')
  await until(() => expect(heard).toEqual(['list', uri]))
  await notes.update(id, { content: 'two' })
  await until(() => expect(heard).toEqual(['list', uri, uri]))
  await caller.value('memory_write', { path: '/memories/notes/b.md', content: 'x' })
  await until(() => expect(heard).toEqual(['list', uri, uri, 'list']))
  await caller.close()
})

test('a session hears of its attached stores alone, until it ends', async () => {
  const { id, token } = await at.session([rules])
  const uris = ['memory://rules/own.md', 'memory://notes/own.md']
  const filter = { resourcesListChanged: true, resourceSubscriptions: uris }
  const { heard, subscription } = await listen(filter, { token })
  await notes.create('/own.md', 'one')
  await rules.create('/own.md', 'one')
  await until(() => expect(heard).toEqual(['list', uris[0]]))
  expectDone(await at.caller.delete(`/v1/gitlocket/sessions/${id}`))
  await rules.create('/after.md', 'one')
  expect(await subscription.closed).not.toBe('local')
  expect(heard).toEqual(['list', uris[0]])
})

test('a revoked key hears nothing more', async () => {
  const key = await at.started.key(at.key.workspaceId)
  const { heard, subscription } = await listen(
    { resourcesListChanged: true },
    { token: key.secret },
  )
  await at.started.revoke(key.id)
  await notes.create('/after-revocation.md', 'one')
  expect(await subscription.closed).not.toBe('local')
  expect(heard).toEqual([])
})

test('a stream ends when one of its stores is deleted, without a delay', async () => {
  const store = await at.store({ name: 'To delete' })
  const query = `?memory_store_id=${store.id}&memory_store_id=${notes.id}`
  const { subscription } = await listen({ resourcesListChanged: true }, { query })
  expectDone(await at.caller.delete(store.path))
  expect(await subscription.closed).not.toBe('local')
})

test('a stream ends at the first change after a store has another name', async () => {
  const store = await at.store({ name: 'Old name' })
  const query = `?memory_store_id=${store.id}&memory_store_id=${notes.id}`
  const { heard, subscription } = await listen({ resourcesListChanged: true }, { query })
  expectDone(await at.caller.post(store.path, { name: 'New name' }))
  await store.create('/a.md', 'one')
  expect(await subscription.closed).not.toBe('local')
  expect(heard).toEqual([])
})

test('one subscription too many of a key is refused until another has ended', async () => {
  const token = (await at.started.key(at.key.workspaceId)).secret
  const query = `?memory_store_id=${notes.id}`
  const filter = { resourcesListChanged: true }
  const all = []
  for (let open = 0; open < 8; open += 1) all.push(await listen(filter, { token, query }))
  await expect(listen(filter, { token, query })).rejects.toThrow(/at most 8 streams/)
  await all[0]?.subscription.close()
  const caller = await connectToServer(`${at.url}/mcp`, { token, era: '2026-07-28' })
  await until(async () => (await caller.client.listen(filter)).close())
})

test('a subscription to addresses of more than 64 KiB is refused', async () => {
  const filter = { resourceSubscriptions: [`memory://notes/${'x'.repeat(65_536)}`] }
  await expect(listen(filter)).rejects.toThrow(/may have 65536 bytes/)
})

describe('a server with one open store at most', () => {
  const small = runningServer({ routes: [mcpRoute()], maxOpen: 1 })

  test('tells the changes of one that it closed in the meantime', async () => {
    const [first, second] = [await small.store({ name: 'First' }), await small.store({ name: 'x' })]
    const where = { url: small.url, token: small.key.secret, query: `?memory_store_id=${first.id}` }
    const uri = 'memory://first/a.md'
    const { heard } = await listen({ resourceSubscriptions: [uri] }, where)
    for (const path of ['/a.md', '/b.md']) await second.create(path, 'one')
    await first.create('/a.md', 'one')
    await second.create('/c.md', 'one')
    await until(() => expect(heard).toEqual([uri]))
  })

  test('ends its streams when it closes', async () => {
    const where = { url: small.url, token: small.key.secret }
    const { subscription } = await listen({ resourcesListChanged: true }, where)
    await small.stop()
    expect(await subscription.closed).toBe('graceful')
  })
})

const postgres = requires('postgres')

test.skipIf(postgres.missing)(`changes by another server are told${postgres.note}`, async () => {
  const url = (await startPostgres()).database()
  const fleet = await startFleet(temporaryDirectory(), url, { routes: [mcpRoute()] })
  const { secret } = await fleet.key(await fleet.workspace('ours'))
  const [here = '', there = ''] = fleet.urls
  const caller = new HttpCaller(there, secret)
  const { id } = expectDone(await caller.post(storesPath, { name: 'shared' }))
  const store = new StoreOnServer(caller, id)
  const { heard, subscription } = await listen(
    { resourcesListChanged: true },
    { url: here, token: secret },
  )
  await store.create('/a.md', 'one')
  await until(() => expect(heard).toEqual(['list']))
  await fleet.close()
  expect(await subscription.closed).toBe('graceful')
})

test('what a client has not read yet is told once, and no text is', async () => {
  const { store } = await newStore()
  const answer = await mcpHandler(store)
  const uri = 'memory://memories/a.md'
  const response = await answer(listenRequest({ resourceSubscriptions: [uri] }))
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const read = async (): Promise<string> => (await reader?.read())?.value ?? ''
  const first = await read()
  expect(first).toContain('acknowledged')
  const me = store.as(author)
  for (let count = 0; count < 200; count += 1) await me.write('/a.md', `secret ${count}`)
  let all = await read()
  await me.write('/b.md', 'not subscribed to')
  await me.delete('/a.md')
  all += await read()
  await store.close()
  for (let text = await read(); text !== ''; text = await read()) all += text
  expect(all.split('resources/updated').length - 1).toBeLessThan(10)
  expect(all).toContain('"resultType":"complete"')
  expect(all).not.toMatch(/secret|b\.md|list_changed/)
})
