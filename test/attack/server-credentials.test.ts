// T52: a client without a credential, with a guessed, revoked or expired one, or with one of
// another workspace, reads nothing, changes nothing, and does not learn what exists.

import { beforeAll, describe, expect, test } from 'vitest'
import { betas, expectRefused, HttpCaller, type Json } from '../support/http-caller.ts'
import {
  runningServer,
  sessionsPath,
  type StoreOnServer,
  storesPath,
} from '../support/running-server.ts'

const at = runningServer()
let store: StoreOnServer
let memory: Json
let session: Json
beforeAll(async () => {
  store = await at.store({ name: 'victim' })
  memory = await store.create('/a', 'text')
  session = await at.session([store])
})

type Route = readonly [method: string, path: string, body?: object]

const inStore: readonly Route[] = [
  ['GET', 'STORE'],
  ['POST', 'STORE', { name: 'theirs' }],
  ['POST', 'STORE/archive'],
  ['DELETE', 'STORE'],
  ['GET', 'STORE/memories'],
  ['POST', 'STORE/memories', { path: '/theirs', content: '' }],
  ['GET', 'STORE/memories/MEMORY'],
  ['POST', 'STORE/memories/MEMORY', { content: 'theirs' }],
  ['DELETE', 'STORE/memories/MEMORY'],
  ['GET', 'STORE/memory_versions'],
  ['GET', 'STORE/memory_versions/VERSION'],
  ['POST', 'STORE/memory_versions/VERSION/redact'],
]
const routes: readonly Route[] = [
  ['GET', storesPath],
  ['POST', storesPath, { name: 'theirs' }],
  ...inStore,
  ['POST', sessionsPath, { resources: [{ type: 'memory_store', memory_store_id: 'ID' }] }],
  ['DELETE', `${sessionsPath}/SESSION`],
]

/** The store still has exactly its previous contents. */
const unchanged = async (): Promise<void> => {
  const { data } = (await at.caller.get(`${storesPath}?include_archived=true`)).body
  expect(data).toEqual([await store.get()])
  expect(await store.get()).toMatchObject({ name: 'victim', archived_at: null })
  expect(await store.memories('view=full')).toEqual([{ ...memory, content: 'text' }])
  expect(await store.versions()).toHaveLength(1)
  expect((await at.as(session.token).get(store.path)).status).toBe(200)
}

const ask = async (caller: HttpCaller, [method, path, body]: Route, id = store.id) => {
  const place = path
    .replace('STORE', `${storesPath}/${id}`)
    .replace('MEMORY', memory.id)
    .replace('VERSION', memory.memory_version_id)
    .replace('SESSION', session.id)
  const asked = body === undefined ? {} : { body: JSON.stringify(body).replace('"ID"', `"${id}"`) }
  return caller.request(method, place, asked)
}

describe('T52: no route answers', () => {
  test.each<[name: string, token: () => string | undefined | Promise<string>]>([
    ['nobody', () => undefined],
    ['an unknown key', () => 'sk-unknown'],
    ['the name of a property', () => '__proto__'],
    ['the name of a method', () => 'constructor'],
    ['a long key', () => 'x'.repeat(8000)],
    ['the public id of a key', () => at.key.id],
    ['the id of a session', () => session.id],
    ['the id of a store', () => store.id],
    ['two keys with a comma', () => `${at.key.secret}, ${at.key.secret}`],
    [
      'a key with another end',
      () => at.key.secret.replace(/.$/, (end) => (end === '0' ? '4' : '0')),
    ],
    ['a key in capitals', () => at.key.secret.toUpperCase()],
    ['a revoked key', () => endedKey()],
    ['the session of a revoked key', () => endedSession('key')],
    ['a session that was ended', () => endedSession('session')],
  ])('%s', async (_, token) => {
    const caller = at.as(await token())
    for (const route of routes) expectRefused(await ask(caller, route), 401)
    await unchanged()
  })

  const endedKey = async (): Promise<string> => {
    const key = await at.started.key(at.key.workspaceId)
    await at.started.revoke(key.id)
    return key.secret
  }
  const endedSession = async (end: 'key' | 'session'): Promise<string> => {
    const key = await at.started.key(at.key.workspaceId)
    const resources = [{ type: 'memory_store', memory_store_id: store.id }]
    const { body } = await at.as(key.secret).post(sessionsPath, { resources })
    if (end === 'key') await at.started.revoke(key.id)
    else await at.as(key.secret).delete(`${sessionsPath}/${body.id}`)
    return body.token
  }
})

test('T52: two credentials of different callers are refused', async () => {
  const both = { 'x-api-key': at.key.secret, authorization: `Bearer ${at.foreignKey.secret}` }
  expectRefused(await at.caller.get(store.path, both), 401)
  const wrong = { 'x-api-key': 'unknown', authorization: `Bearer ${at.key.secret}` }
  expectRefused(await at.caller.get(store.path, wrong), 401)
})

describe('T52: a key of another workspace', () => {
  test('reaches no store, and its answers are those for a missing store', async () => {
    for (const route of inStore) {
      const there = expectRefused(await ask(at.foreign, route), 404)
      const missing = `memstore_${'0'.repeat(26)}`
      expect(expectRefused(await ask(at.foreign, route, missing), 404)).toEqual(there)
    }
    await unchanged()
  })

  test('sees no store in any list', async () => {
    const { created_at } = await store.get()
    for (const query of ['', 'include_archived=true', `created_at[gte]=${created_at}`]) {
      expect((await at.foreign.get(`${storesPath}?${query}`)).body.data).toEqual([])
    }
  })

  test('attaches no store, ends no session, and does not pass by a header', async () => {
    const [attach, end] = routes.slice(-2)
    if (attach === undefined || end === undefined) throw new Error('the last two are of sessions')
    expectRefused(await ask(at.foreign, attach), 404)
    expectRefused(await ask(at.foreign, end), 404)
    const named = { 'anthropic-workspace-id': at.key.workspaceId }
    expectRefused(await at.foreign.get(store.path, named), 400, 403)
    await unchanged()
  })
})

describe('T52: a caller without a credential learns nothing', () => {
  const nobody = () => new HttpCaller(at.url, undefined)

  test('of what there is: all answers are the same', async () => {
    const missing = `${storesPath}/memstore_none`
    const paths = [store.path, missing, storesPath, `${store.path}/memories?limit=0`, sessionsPath]
    const said = await Promise.all(paths.map(async (path) => (await nobody().get(path)).body.error))
    expect(new Set(said.map((error) => JSON.stringify(error))).size).toBe(1)
  })

  test('of the form of requests: bodies, parameters and betas are not looked at', async () => {
    const headers = { 'anthropic-beta': `${betas.memory},${betas.agents}`, 'content-type': 'a/b' }
    const parts = { body: '{', headers }
    expectRefused(await nobody().request('POST', storesPath, parts), 401)
    expectRefused(await nobody().get(`${storesPath}?limit=x&limit=y&%zz`, headers), 401)
  })

  test('of the server: no header names its software', async () => {
    const { headers } = await nobody().get(storesPath)
    expect([headers.get('server'), headers.get('x-powered-by')]).toEqual([null, null])
    expect(headers.get('anthropic-workspace-id')).toBeNull()
  })
})
