// T53: the holder of a session's token, such as an agent that was talked into something, reaches no
// store beyond those that are attached, and does no more there than its access allows.

import { beforeAll, describe, expect, test } from 'vitest'
import {
  exchangeBytes,
  expectDone,
  expectRefused,
  type HttpCaller,
  type Json,
  statusesIn,
} from '../support/http-caller.ts'
import {
  runningServer,
  sessionsPath,
  type StoreOnServer,
  storesPath,
} from '../support/running-server.ts'

const at = runningServer()
let mine: StoreOnServer
let read: StoreOnServer
let other: StoreOnServer
let secret: Json
let agent: HttpCaller
let token: string
beforeAll(async () => {
  mine = await at.store({ name: 'mine' })
  read = await at.store({ name: 'read' })
  other = await at.store({ name: 'other' })
  for (const store of [mine, read]) await store.create('/a', 'text')
  secret = await other.create('/secret', 'secret')
  const resource = { type: 'memory_store', memory_store_id: read.id, access: 'read_only' }
  ;({ token } = await at.session([mine, resource]))
  agent = at.as(token)
})

const unchanged = async (): Promise<void> => {
  expect(await other.versions()).toHaveLength(1)
  expect(await other.get()).toMatchObject({ name: 'other', archived_at: null })
  expect(await read.versions()).toHaveLength(1)
}

describe('T53: another store is not reached', () => {
  test.each([
    'MINE/../OTHER',
    'MINE/..%2FOTHER',
    'MINE%2F..%2FOTHER',
    'MINE/%2e%2e/OTHER',
    'MINE/.%2e/OTHER/memories',
    './OTHER',
    'MINE/memories/../../OTHER/memories',
    'MINE;/../OTHER',
    'MINE\\..\\OTHER',
    'MINE,OTHER',
    'OTHER%20',
    'OTHER%00',
    'OTHER/',
    '/OTHER',
  ])('by the target %s', async (target) => {
    const path = target.replaceAll('MINE', mine.id).replaceAll('OTHER', other.id)
    const said = await exchangeBytes(at.url, [
      `GET ${storesPath}/${path} HTTP/1.1\r\nhost: ${new URL(at.url).host}\r\n` +
        `anthropic-version: 2023-06-01\r\nanthropic-beta: agent-memory-2026-07-22\r\n` +
        `x-api-key: ${token}\r\nconnection: close\r\n\r\n`,
    ])
    expect(statusesIn(said)).toEqual([expect.toSatisfy((status: number) => status >= 400)])
    expect(said).not.toContain('/secret')
  })

  test('by the ids of its memories and versions in an attached store', async () => {
    const memory = `${mine.path}/memories/${secret.id}`
    const version = `${mine.path}/memory_versions/${secret.memory_version_id}`
    expectRefused(await agent.get(memory), 404)
    expectRefused(await agent.post(memory, { content: 'x' }), 404)
    expectRefused(await agent.delete(memory), 404)
    expectRefused(await agent.get(version), 404)
    expect(await mine.as(agent).versions(`memory_id=${secret.id}`)).toEqual([])
    await unchanged()
  })

  test('by naming it in the query or the body', async () => {
    const query = `?memory_store_id=${other.id}&store=${other.id}`
    expect(expectDone(await agent.get(mine.path + query)).id).toBe(mine.id)
    const body = { path: '/named', content: '', memory_store_id: other.id, storeId: other.id }
    const made = expectDone(await agent.post(`${mine.path}/memories${query}`, body))
    expect(made.memory_store_id).toBe(mine.id)
    const renamed = { content: 'x', memory_id: secret.id, memory_store_id: other.id }
    expectDone(await agent.post(`${mine.path}/memories/${made.id}`, renamed))
    await unchanged()
  })

  test('by lists: filters, times and the cursors of a key', async () => {
    const since = 'created_at[gte]=1970-01-01T00:00:00Z'
    for (const query of ['', 'include_archived=true', since, 'limit=1']) {
      const { data } = expectDone(await agent.get(`${storesPath}?${query}`))
      for (const { id } of data) expect([mine.id, read.id]).toContain(id)
    }
    const { next_page } = expectDone(await at.caller.get(`${storesPath}?limit=1`))
    expectRefused(await agent.get(`${storesPath}?limit=1&page=${next_page}`), 400)
    const own = expectDone(await agent.get(`${storesPath}?limit=1`)).next_page
    expectRefused(await at.caller.get(`${storesPath}?limit=1&page=${own}`), 400)
    const { token: second } = await at.session([mine, other])
    expectRefused(await at.as(second).get(`${storesPath}?limit=1&page=${own}`), 400)
  })
})

describe('T53: the access holds', () => {
  test.each([
    { 'x-http-method-override': 'POST' },
    { 'x-http-method': 'DELETE' },
    { 'x-original-url': '/v1/memory_stores' },
    { 'x-rewrite-url': '/v1/memory_stores' },
    { 'x-forwarded-for': '127.0.0.1' },
  ])('whatever header overrides: %j', async (headers) => {
    expect(expectDone(await agent.get(read.path, { ...headers })).id).toBe(read.id)
    const parts = { body: { path: '/b', content: '' }, headers: { ...headers } }
    expectRefused(await agent.request('POST', `${read.path}/memories`, parts), 403)
    await unchanged()
  })

  test.each(['?_method=DELETE', '?access=read_write', '?view=full'])(
    'whatever the query says: %s',
    async (query) => {
      const body = { path: '/b', content: '', access: 'read_write', _method: 'GET' }
      expectRefused(await agent.post(`${read.path}/memories${query}`, body), 400, 403)
      await unchanged()
    },
  )

  test('a refusal for want of a right comes before the form of the request', async () => {
    expectRefused(await agent.post(`${read.path}/memories`, { path: 1 }), 403)
    expectRefused(await agent.post(read.path, { name: 1 }), 403)
    expectRefused(await agent.post(storesPath, {}), 403)
  })

  test('a token makes no token, and lists none', async () => {
    const resources = [{ type: 'memory_store', memory_store_id: mine.id }]
    expectRefused(await agent.post(sessionsPath, { resources }), 403)
    expectRefused(await agent.get(sessionsPath), 404, 405)
  })

  test('it writes in the name of its session, whatever it claims', async () => {
    const body = { path: '/claimed', content: '', created_by: { type: 'api_actor' }, actor: 'x' }
    const { memory_version_id } = expectDone(await agent.post(`${mine.path}/memories`, body))
    const { created_by } = await mine.get(`/memory_versions/${memory_version_id}`)
    expect(created_by.type).toBe('session_actor')
  })

  test('a store of the same name that is made after a deletion is not attached', async () => {
    const gone = await at.store({ name: 'reborn' })
    const late = at.as((await at.session([gone])).token)
    expectDone(await at.caller.delete(gone.path))
    const reborn = await at.store({ name: 'reborn' })
    expectRefused(await late.get(reborn.path), 404)
    expect(expectDone(await late.get(storesPath)).data).toEqual([])
  })
})
