// Memory Stores API §2: refusals. That each has the envelope, the type of its status and its
// request id is checked of every answer (test/support/http-caller.ts).

import { beforeAll, describe, expect, test } from 'vitest'
import {
  expectDone,
  expectPathConflict,
  expectPreconditionFailed,
  expectRefused,
  type Json,
} from '../../support/http-caller.ts'
import { onServers, type StoreOnServer, storesPath } from '../../support/running-server.ts'
import { guard } from './objects.ts'

onServers('errors', (at) => {
  let store: StoreOnServer
  let memory: Json
  beforeAll(async () => {
    store = await at.store()
    memory = await store.create('/dir/a.md', 'secret text')
  })

  test('2.1: an error is an envelope with its request id, and nothing else', async () => {
    const { body, headers } = await at.caller.get(`${storesPath}/memstore_none`)
    expect(body).toEqual({
      type: 'error',
      error: { type: 'not_found_error', message: expect.any(String) },
      request_id: headers.get('request-id'),
    })
    expect(body.error.message).not.toBe('')
  })

  describe('2.2: types by status', () => {
    test.each([
      [400, 'invalid_request_error'],
      [401, 'authentication_error'],
      [403, 'permission_error'],
      [404, 'not_found_error'],
      [413, 'request_too_large'],
    ])('%d is %s', async (status, type) => {
      expect(expectRefused(await refusalOf(status), status).type).toBe(type)
    })

    const refusalOf = async (status: number) => {
      if (status === 400) return at.caller.get(`${storesPath}?limit=x`)
      if (status === 401) return at.as('nobody').get(storesPath)
      if (status === 404) return at.caller.get(`${storesPath}/memstore_none`)
      if (status === 413) return at.caller.post(storesPath, { name: 'x'.repeat(2_000_000) })
      const { token } = await at.session([store])
      return at.as(token).delete(store.path)
    }
  })

  describe('2.3: conflicts', () => {
    test.each([
      ['the path itself', '/dir/a.md', '/dir/a.md'],
      ['a memory above', '/dir/a.md/b/c', '/dir/a.md'],
      ['a memory below', '/dir', '/dir/a.md'],
    ])('a path conflict names what blocks: %s', async (_, path, blocker) => {
      const answer = await at.caller.post(`${store.path}/memories`, { path, content: '' })
      expectPathConflict(answer, memory.id, blocker)
    })

    test('a failed precondition reveals nothing of the current state', async () => {
      const stale = { content: 'new', precondition: guard('stale') }
      const answer = await at.caller.post(`${store.path}/memories/${memory.id}`, stale)
      expectPreconditionFailed(answer)
      expect(answer.text).not.toContain(memory.content_sha256)
      expect(answer.text).not.toContain('secret')
      expect(answer.text).not.toContain(memory.memory_version_id)
    })
  })

  describe('2.4: malformed bodies', () => {
    const bodies = [
      '',
      ' ',
      '{',
      '{"name":"a"',
      'null',
      '[]',
      '"name"',
      '1',
      'true',
      '{"name":"a"}x',
    ]
    test.each(bodies)('%j', async (body) => {
      const typed = { body, headers: { 'content-type': 'application/json' } }
      expectRefused(await at.caller.request('POST', storesPath, typed), 400)
      expectRefused(await at.caller.request('POST', `${store.path}/memories`, typed), 400)
      const update = `${store.path}/memories/${memory.id}`
      expectRefused(await at.caller.request('POST', update, typed), 400)
      expect((await store.get(`/memories/${memory.id}`)).content).toBe('secret text')
    })

    test.each<[path: string, body: unknown]>([
      ['', {}],
      ['', { name: 1 }],
      ['', { name: null }],
      ['', { name: ['a'] }],
      ['', { description: 'a' }],
      ['', { name: 'a', description: 1 }],
      ['', { name: 'a', description: {} }],
      ['', { name: 'a', metadata: [] }],
      ['', { name: 'a', metadata: 'a' }],
      ['', { name: 'a', metadata: { a: 1 } }],
      ['', { name: 'a', metadata: { a: {} } }],
      ['/memories', {}],
      ['/memories', { path: '/x' }],
      ['/memories', { content: 'x' }],
      ['/memories', { path: 1, content: 'x' }],
      ['/memories', { path: null, content: 'x' }],
      ['/memories', { path: '/x', content: 1 }],
      ['/memories', { path: '/x', content: ['x'] }],
      ['/memories', { path: '/x', content: {} }],
      ['/memories/ID', { content: 1 }],
      ['/memories/ID', { path: 1 }],
      ['/memories/ID', { content: 'x', path: false }],
      ['/memories/ID', { content: 'x', precondition: 'a' }],
      ['/memories/ID', { content: 'x', precondition: [] }],
    ])('refused: POST %s %j', async (rest, body) => {
      const place = rest === '' ? storesPath : store.path + rest.replace('ID', memory.id)
      expectRefused(await at.caller.post(place, body), 400)
    })

    test.each<[body: object]>([
      [{ name: 1 }],
      [{ description: [] }],
      [{ metadata: 'a' }],
      [{ metadata: { a: 1 } }],
    ])('refused as an update of a store: %j', async (body) => {
      expectRefused(await at.caller.post(store.path, body), 400)
    })

    test('unknown fields are ignored', async () => {
      const more = { unknown: { a: [1] }, type: 'x', id: 'memstore_mine', created_at: 1 }
      const made = expectDone(await at.caller.post(storesPath, { name: 'a', ...more }))
      expect(made.id).not.toBe('memstore_mine')
      const path = `${storesPath}/${made.id}/memories`
      const { id } = expectDone(await at.caller.post(path, { path: '/a', content: 'a', ...more }))
      const changed = expectDone(await at.caller.post(`${path}/${id}`, { content: 'b', ...more }))
      expect(changed.id).toBe(id)
      const renamed = expectDone(
        await at.caller.post(`${storesPath}/${made.id}`, { name: 'b', ...more }),
      )
      expect(renamed).toMatchObject({ name: 'b', id: made.id, created_at: made.created_at })
    })
  })

  describe('2.5: missing objects and routes', () => {
    test.each([
      '/',
      '/v1',
      '/v1/messages',
      '/v1/memory_store',
      '/v2/memory_stores',
      '/v1/memory_stores/STORE/memory',
      '/v1/memory_stores/STORE/memories/MEMORY/versions',
      '/v1/memory_stores/STORE/search',
      '/v1/gitlocket',
    ])('a route: %s', async (path) => {
      expectRefused(await at.caller.get(named(path)), 404)
    })

    test.each([
      ['PUT', '/v1/memory_stores/STORE'],
      ['PATCH', '/v1/memory_stores/STORE'],
      ['PATCH', '/v1/memory_stores/STORE/memories/MEMORY'],
      ['DELETE', '/v1/memory_stores'],
      ['GET', '/v1/memory_stores/STORE/archive'],
      ['DELETE', '/v1/memory_stores/STORE/memories'],
      ['POST', '/v1/memory_stores/STORE/memory_versions'],
      ['DELETE', '/v1/memory_stores/STORE/memory_versions/VERSION'],
      ['GET', '/v1/memory_stores/STORE/memory_versions/VERSION/redact'],
      ['OPTIONS', '/v1/memory_stores'],
    ])('a method: %s %s', async (method, path) => {
      const parts = method === 'PATCH' ? { body: { content: 'x', name: 'x' } } : {}
      expectRefused(await at.caller.request(method, named(path), parts), 404, 405)
      expect(await store.get(`/memories/${memory.id}`)).toMatchObject({ content: 'secret text' })
    })

    const named = (path: string): string =>
      path
        .replace('STORE', store.id)
        .replace('MEMORY', memory.id)
        .replace('VERSION', memory.memory_version_id)
  })

  describe('2.6: retries', () => {
    test('a path conflict is not', async () => {
      const again = { path: '/dir/a.md', content: '' }
      const { headers } = await at.caller.post(`${store.path}/memories`, again)
      expect(headers.get('x-should-retry')).toBe('false')
    })

    test('a failed precondition is not', async () => {
      const stale = { content: 'new', precondition: guard('stale') }
      const path = `${store.path}/memories/${memory.id}`
      const answers = [
        await at.caller.post(path, stale),
        await at.caller.delete(`${path}?expected_content_sha256=${'0'.repeat(64)}`),
      ]
      for (const { headers } of answers) expect(headers.get('x-should-retry')).toBe('false')
    })
  })
})
