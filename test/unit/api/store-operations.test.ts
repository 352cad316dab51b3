// The operations on memory stores and sessions: patches, archives, and what a session may.

import { describe, expect, test } from 'vitest'
import { createSession } from '../../../src/api/session-operations.ts'
import { newServedStore, serveStores, type Served } from '../../support/served-stores.ts'

const SESSIONS = '/v1/gitlocket/sessions'
const invalid = { status: 400, json: { error: { type: 'invalid_request_error' } } }

function pairs(count: number, first = 0): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${first + i}`, 'v']))
}

describe('the creation of a store', () => {
  test.each<[string, object, number]>([
    ['with a name of 255 emoji', { name: '🙂'.repeat(255) }, 200],
    ['with a longer name', { name: 'x'.repeat(256) }, 400],
    ['with an empty name', { name: '' }, 400],
    ['with a longer description', { name: 'x', description: 'x'.repeat(1025) }, 400],
    ['with 16 pairs', { name: 'x', metadata: pairs(16) }, 200],
    ['with 17 pairs', { name: 'x', metadata: pairs(17) }, 400],
    ['with a pair to remove', { name: 'x', metadata: { a: null } }, 400],
    ['with an empty key', { name: 'x', metadata: { '': 'v' } }, 400],
  ])('%s', async (_, body, status) => {
    const { ask } = await serveStores()
    expect((await ask('POST', '/v1/memory_stores', { body })).status).toBe(status)
  })

  test('keeps a pair whose key is a name of JavaScript', async () => {
    const { ask } = await serveStores()
    const body = '{"name":"x","metadata":{"__proto__":"a","constructor":"b"}}'
    const { json } = await ask('POST', '/v1/memory_stores', { body })
    expect(Object.entries(json.metadata)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
  })
})

describe('the update of a store', () => {
  test('changes what is given; null removes a pair, and leaves a field', async () => {
    const served = await serveStores()
    const path = await newServedStore(served)
    const update = async (body: object) => (await served.ask('POST', path, { body })).json
    await update({ description: 'd', metadata: { a: '1', b: '2' } })
    const patched = await update({ name: null, description: '', metadata: { a: null, c: '3' } })
    expect(patched).toMatchObject({ name: 'notes', description: '', metadata: { b: '2', c: '3' } })
    expect(await update({ description: null, metadata: null })).toEqual(patched)
    expect(await update({})).toEqual(patched)
  })

  test('counts the pairs that the patch leaves', async () => {
    const served = await serveStores()
    const path = await newServedStore(served)
    const update = (metadata: object) => served.ask('POST', path, { body: { metadata } })
    await update(pairs(16))
    expect((await update({ k0: null, k16: 'v' })).status).toBe(200)
    expect(await update({ k17: 'v' })).toMatchObject(invalid)
  })

  test('loses none of many patches at once', async () => {
    const served = await serveStores()
    const path = await newServedStore(served)
    const patches = Array.from({ length: 10 }, (_, i) => pairs(1, i))
    await Promise.all(patches.map((metadata) => served.ask('POST', path, { body: { metadata } })))
    expect((await served.ask('GET', path)).json.metadata).toEqual(pairs(10))
  })

  test('is refused once it is archived, which is once, even if nothing would change', async () => {
    const served = await serveStores()
    const path = await newServedStore(served)
    const { json } = await served.ask('POST', `${path}/archive`)
    expect(json.archived_at).toMatch(/Z$/)
    expect((await served.ask('POST', `${path}/archive`)).json).toEqual(json)
    expect(await served.ask('POST', path, { body: {} })).toMatchObject(invalid)
  })
})

async function newSession(
  served: Served,
  store: string,
  access: 'read_write' | 'read_only',
): Promise<Readonly<Record<string, string>>> {
  const id = store.split('/').at(-1)
  const body = { resources: [{ type: 'memory_store', memory_store_id: id, access }] }
  const { json } = await served.ask('POST', SESSIONS, { body })
  return { authorization: `Bearer ${json.token}` }
}

describe('a session', () => {
  test('is answered with what the SDK mounts', async () => {
    const served = await serveStores()
    const id = (await newServedStore(served, 'My notes')).split('/').at(-1)
    const resources = [{ type: 'memory_store', memory_store_id: id, access: null }]
    const { json } = await served.ask('POST', SESSIONS, { body: { resources } })
    expect(json).toEqual({
      id: expect.stringMatching(/^sesn_/),
      token: expect.any(String),
      expires_at: expect.stringMatching(/Z$/),
      resources: [
        {
          type: 'memory_store',
          memory_store_id: id,
          access: 'read_write',
          instructions: null,
          name: 'My notes',
          description: '',
          mount_path: '/mnt/memory/my-notes',
        },
      ],
    })
  })

  test.each<[string, object]>([
    ['without stores', { resources: [] }],
    ['with something else', { resources: [{ type: 'file' }] }],
    ['for seconds', { expires_in: 59 }],
    ['for weeks', { expires_in: 86_401 }],
    ['with long instructions', { resources: [{ instructions: 'x'.repeat(4097) }] }],
    ['with another access', { resources: [{ access: 'all' }] }],
  ])('is refused %s', async (_, { resources = [{}], ...more }: { resources?: object[] }) => {
    const served = await serveStores()
    const store = {
      type: 'memory_store',
      memory_store_id: (await newServedStore(served)).slice(18),
    }
    const body = { ...more, resources: resources.map((one) => ({ ...store, ...one })) }
    expect(await served.ask('POST', SESSIONS, { body })).toMatchObject(invalid)
  })

  test('is refused for many stores before one is looked at: there may be half a million', () => {
    let looks = 0
    const resource = {
      get type() {
        looks += 1
        return 'memory_store'
      },
      memory_store_id: 'memstore_x',
    }
    const isTaken = (count: number): boolean =>
      createSession.input.safeParse({ resources: Array.from({ length: count }, () => resource) })
        .success
    expect([isTaken(9), looks]).toEqual([false, 0])
    expect(isTaken(8)).toBe(true)
  })

  test('reaches its stores alone, manages nothing, and writes where it may', async () => {
    const served = await serveStores()
    const [own, other] = [await newServedStore(served), await newServedStore(served)]
    const writer = {
      headers: { 'x-api-key': undefined, ...(await newSession(served, own, 'read_write')) },
    }
    const reader = {
      headers: { 'x-api-key': undefined, ...(await newSession(served, own, 'read_only')) },
    }
    const memory = { body: { path: '/a', content: 'x' } }
    const statusOf = async (...asked: Parameters<Served['ask']>): Promise<number> =>
      (await served.ask(...asked)).status

    expect((await served.ask('GET', '/v1/memory_stores', writer)).json.data).toHaveLength(1)
    expect(await statusOf('GET', other, writer)).toBe(404)
    expect(await statusOf('POST', `${other}/memories`, { ...memory, ...writer })).toBe(404)
    expect(await statusOf('POST', `${own}/memories`, { ...memory, ...reader })).toBe(403)
    const created = await served.ask('POST', `${own}/memories`, { ...memory, ...writer })
    expect(created.status).toBe(200)
    const version = `${own}/memory_versions/${created.json.memory_version_id}`
    const { json } = await served.ask('GET', version, reader)
    expect(json.created_by).toMatchObject({ type: 'session_actor' })
    // Refused for want of the right, whatever the body is.
    for (const [method, path] of [
      ['POST', '/v1/memory_stores'],
      ['POST', own],
      ['POST', `${own}/archive`],
      ['DELETE', own],
      ['POST', `${version}/redact`],
      ['POST', SESSIONS],
    ] as const) {
      expect(await statusOf(method, path, { body: '[', ...writer })).toBe(403)
    }
  })

  test('is refused a write before its body is looked at', async () => {
    const served = await serveStores()
    const store = await newServedStore(served)
    const headers = { 'x-api-key': undefined, ...(await newSession(served, store, 'read_only')) }
    const { status } = await served.ask('POST', `${store}/memories`, { body: '[', headers })
    expect(status).toBe(403)
  })

  test('ends when a key says so, not when a session does', async () => {
    const served = await serveStores()
    const store = await newServedStore(served)
    const resources = [{ type: 'memory_store', memory_store_id: store.split('/').at(-1) }]
    const { json } = await served.ask('POST', SESSIONS, { body: { resources } })
    const headers = { 'x-api-key': undefined, authorization: `Bearer ${json.token}` }
    const path = `${SESSIONS}/${json.id}`
    expect((await served.ask('DELETE', path, { headers })).status).toBe(403)
    expect((await served.ask('DELETE', path)).json).toEqual({ id: json.id, type: 'session_ended' })
    expect((await served.ask('GET', store, { headers })).status).toBe(401)
    expect((await served.ask('DELETE', `${SESSIONS}/x`)).status).toBe(404)
  })
})
