// Memory Stores API §1: what every request and every answer carry, whatever they are about.

import { beforeAll, describe, expect, test } from 'vitest'
import {
  betas,
  exchangeBytes,
  expectDone,
  expectRefused,
  HttpCaller,
  statusesIn,
} from '../../support/http-caller.ts'
import { onServers, type StoreOnServer, storesPath } from '../../support/running-server.ts'
import { idsOf } from './objects.ts'

onServers('transport', (at) => {
  let store: StoreOnServer
  beforeAll(async () => {
    store = await at.store()
    await store.create('/a')
  })

  /** A request without a credential of its own, and the headers that a test gives. */
  const bare = (path: string, headers: Record<string, string>, method = 'GET') =>
    new HttpCaller(at.url, undefined).request(method, path, { headers })
  const key = () => ({ 'x-api-key': at.key.secret })

  describe('1.1: JSON over HTTP', () => {
    test('every success is a 200, creation included', async () => {
      const answer = await at.caller.post(storesPath, { name: 'a' })
      expect(answer.status).toBe(200)
      const made = `${storesPath}/${answer.body.id}`
      const memory = await at.caller.post(`${made}/memories`, { path: '/a', content: '' })
      expect(memory.status).toBe(200)
      expect((await at.caller.delete(`${made}/memories/${memory.body.id}`)).status).toBe(200)
      expect((await at.caller.delete(made)).status).toBe(200)
    })

    test.each([
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
      'Application/JSON;charset="UTF-8"',
    ])('a body of the type %s is read', async (type) => {
      const answer = await at.caller.request('POST', store.path, {
        body: { name: 'typed' },
        headers: { 'content-type': type },
      })
      expect(expectDone(answer).name).toBe('typed')
    })
  })

  describe('1.2: authentication', () => {
    test.each<[name: string, headers: (secret: string) => Record<string, string>]>([
      ['x-api-key', (secret) => ({ 'x-api-key': secret })],
      ['authorization', (secret) => ({ authorization: `Bearer ${secret}` })],
      ['authorization in lower case', (secret) => ({ authorization: `bearer ${secret}` })],
      [
        'both headers with one key',
        (secret) => ({ 'x-api-key': secret, authorization: `Bearer ${secret}` }),
      ],
    ])('a key is taken: %s', async (_, headers) => {
      expect(expectDone(await bare(store.path, headers(at.key.secret))).id).toBe(store.id)
    })

    test.each<[name: string, headers: (secret: string) => Record<string, string>]>([
      ['no credential', () => ({})],
      ['an unknown key', () => ({ 'x-api-key': 'nobody' })],
      ['an unknown bearer', () => ({ authorization: 'Bearer nobody' })],
      ['an empty bearer', () => ({ authorization: 'Bearer ' })],
      ['another scheme', (secret) => ({ authorization: `Basic ${secret}` })],
      ['no scheme', (secret) => ({ authorization: secret })],
      ['a key that is cut off', (secret) => ({ 'x-api-key': secret.slice(0, -1) })],
      ['a key with more after it', (secret) => ({ 'x-api-key': `${secret}x` })],
      ['the public id of a key', () => ({ 'x-api-key': at.key.id })],
    ])('refused: %s', async (_, headers) => {
      expectRefused(await bare(store.path, headers(at.key.secret)), 401)
    })

    test.each<[name: string, method: string, path: string]>([
      ['a store that is not there', 'GET', `${storesPath}/memstore_none`],
      ['a list', 'GET', storesPath],
      ['a parameter that is refused', 'GET', `${storesPath}?limit=0`],
      ['a store that is to be archived', 'POST', `${storesPath}/memstore_none/archive`],
      ['a store that is to be deleted', 'DELETE', `${storesPath}/memstore_none`],
    ])('it comes before any look at the resource: %s', async (_, method, path) => {
      expectRefused(await bare(path, {}, method), 401)
    })

    test('it is checked before the body', async () => {
      const nobody = at.as('nobody')
      expectRefused(await nobody.post(storesPath, '{'), 401)
      expectRefused(await nobody.post(storesPath, `"${'x'.repeat(2_000_000)}"`), 401)
    })

    test('ignores a key in the query', async () => {
      expectRefused(await bare(`${store.path}?x-api-key=${at.key.secret}`, {}), 401)
    })
  })

  describe('1.3: versions of the API', () => {
    test.each(['2023-06-01', '2026-10-21'])('%s', async (version) => {
      const headers = { ...key(), 'anthropic-version': version }
      expect(expectDone(await bare(store.path, headers))).toEqual(await store.get())
    })

    test('an empty one is served, or refused as invalid', async () => {
      const { status } = await bare(store.path, { ...key(), 'anthropic-version': '' })
      expect([200, 400]).toContain(status)
    })
  })

  test.each(['beta=true', 'beta=false', 'beta=', 'beta'])('1.4: ?%s is ignored', async (query) => {
    expect(await store.get(`?${query}`)).toEqual(await store.get())
    expect(await store.get(`/memories?${query}&limit=1`)).toEqual(await store.get('/memories'))
  })

  describe('1.5: anthropic-beta', () => {
    const { memory, agents } = betas
    test.each([
      memory,
      agents,
      `${memory},${memory}`,
      `skills-2025-10-02,${memory}`,
      ` ${agents} , no-such-beta-2026-01-01`,
      `,${memory},`,
    ])('served: %s', async (value) => {
      const headers = { ...key(), 'anthropic-beta': value }
      expect(expectDone(await bare(store.path, headers)).id).toBe(store.id)
    })

    test.each([
      ['no name', ''],
      ['another alone', 'skills-2025-10-02'],
      ['both', `${memory},${agents}`],
      ['both, the other way round', `${agents}, ${memory}`],
      ['only a part of the name', 'agent-memory'],
    ])('refused: %s', async (_, value) => {
      expectRefused(await bare(store.path, { ...key(), 'anthropic-beta': value }), 400)
    })

    test('two lines of the header are one list', async () => {
      const head = `GET ${store.path} HTTP/1.1\r\nhost: ${new URL(at.url).host}\r\n`
      const line = (beta: string) => `anthropic-beta: ${beta}\r\n`
      const rest = `x-api-key: ${at.key.secret}\r\nconnection: close\r\n\r\n`
      const ask = async (...names: string[]) =>
        statusesIn(await exchangeBytes(at.url, [head + names.map(line).join('') + rest], 2000))
      expect(await ask('skills-2025-10-02', memory)).toEqual([200])
      expect(await ask(agents, memory)).toEqual([400])
    })
  })

  describe('1.6: workspaces', () => {
    test('that of the key may be named or omitted', async () => {
      const headers = { ...key(), 'anthropic-workspace-id': at.key.workspaceId }
      expect(expectDone(await bare(store.path, headers)).id).toBe(store.id)
    })

    test.each(['theirs', 'wrkspc_none', 'x'])('another is refused: %s', async (name) => {
      const id = name === 'theirs' ? at.foreignKey.workspaceId : name
      expectRefused(await bare(store.path, { ...key(), 'anthropic-workspace-id': id }), 400, 403)
    })

    test('the answer names it, an error too', async () => {
      for (const path of [store.path, `${storesPath}/memstore_none`, `${storesPath}?limit=0`]) {
        const { headers } = await at.caller.get(path)
        expect(headers.get('anthropic-workspace-id')).toBe(at.key.workspaceId)
      }
      const { headers } = await at.foreign.get(storesPath)
      expect(headers.get('anthropic-workspace-id')).toBe(at.foreignKey.workspaceId)
    })
  })

  test('1.7: every answer has an id of its own, which an error repeats', async () => {
    // That no id comes twice and that errors repeat it is checked of every answer of these tests.
    const requests = Array.from({ length: 40 }, (_, n) =>
      n % 2 === 0 ? at.caller.get(store.path) : at.as('nobody').get(store.path),
    )
    const answers = await Promise.all(requests)
    expect(new Set(answers.map(({ headers }) => headers.get('request-id'))).size).toBe(40)
  })

  describe('1.8: a POST without a body', () => {
    const raw = (path: string, lines = '') =>
      exchangeBytes(at.url, [
        `POST ${path} HTTP/1.1\r\nhost: ${new URL(at.url).host}\r\n` +
          `anthropic-version: 2026-10-21\r\nanthropic-beta: ${betas.memory}\r\n` +
          `authorization: Bearer ${at.key.secret}\r\n${lines}connection: close\r\n\r\n`,
      ])
    const old = async (): Promise<string> => {
      const made = await at.store()
      const { id, memory_version_id } = await made.create('/a')
      await made.delete(id)
      return `${made.path}/memory_versions/${memory_version_id}/redact`
    }

    test.each([
      ['an empty one', 'content-length: 0\r\n'],
      ['no length', ''],
    ])('archive and redact: %s', async (_, lines) => {
      expect(statusesIn(await raw(`${(await at.store()).path}/archive`, lines))).toEqual([200])
      expect(statusesIn(await raw(await old(), lines))).toEqual([200])
    })

    test('archive and redact accept {} too', { tags: 'slow' }, async () => {
      const made = await at.store()
      expectRefused(await at.caller.post(`${made.path}/archive`, '['), 400)
      expectDone(await at.caller.post(`${made.path}/archive`, {}))
      expectDone(await at.caller.post(await old(), {}))
    })
  })

  describe('1.9: parameters', () => {
    test('created_at[gte] is the same in both spellings', async () => {
      const { created_at } = await store.get()
      const list = async (name: string) =>
        idsOf(await store.caller.get(`${storesPath}?${name}=${created_at}`).then(dataOf))
      expect(await list('created_at%5Bgte%5D')).toContain(store.id)
      expect(await list('created_at[gte]')).toEqual(await list('created_at%5Bgte%5D'))
      expect(await list('created_at%5blte%5d')).toEqual(await list('created_at[lte]'))
    })

    test.each([
      ['', 'limit=2&limit=2'],
      ['', 'include_archived=true&include_archived=false'],
      ['', 'created_at[gte]=2020-01-01T00:00:00Z&created_at%5Bgte%5D=2020-01-01T00:00:00Z'],
      ['/memories', 'view=full&view=full'],
      ['/memories', 'path_prefix=/a/&path_prefix=/'],
      ['/memories', 'depth=0&depth=1'],
      ['/memories', 'page=a&page=b'],
      ['/memory_versions', 'operation=created&operation=created'],
      ['/memory_versions', 'memory_id=a&memory_id=a'],
    ])('one that is given twice is refused: %s?%s', async (rest, query) => {
      const path = rest === '' ? storesPath : store.path + rest
      expectRefused(await at.caller.get(`${path}?${query}`), 400)
    })

    test('a guard that is given twice is refused, and nothing is deleted', async () => {
      const memory = await store.create('/guarded')
      const guard = `expected_content_sha256=${memory.content_sha256}`
      const path = `${store.path}/memories/${memory.id}`
      expectRefused(await at.caller.delete(`${path}?${guard}&${guard}`), 400)
      expect((await at.caller.get(path)).status).toBe(200)
    })
  })

  describe('1.10: other headers and bodies', () => {
    test('other headers are ignored', async () => {
      const headers = {
        'x-stainless-lang': 'js',
        'x-stainless-retry-count': '2',
        'user-agent': 'Anthropic/JS 1.14.0',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      }
      expect(expectDone(await at.caller.get(store.path, headers))).toEqual(await store.get())
    })

    test.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/json; charset=latin1',
      'application/jsonp',
    ])('a body of the type %s is refused', async (type) => {
      const parts = { body: '{"name":"a"}', headers: { 'content-type': type } }
      expectRefused(await at.caller.request('POST', storesPath, parts), 400)
    })

    test('a view in the body is ignored', async () => {
      const body = { path: '/viewed', content: 'x', view: 'full' }
      const answer = await at.caller.post(`${store.path}/memories`, body)
      expect(expectDone(answer).content).toBeNull()
    })

    test('a missing body is refused where fields are required', async () => {
      expectRefused(await at.caller.post(storesPath), 400)
      expectRefused(await at.caller.post(`${store.path}/memories`), 400)
      const { id } = await store.create('/b')
      expectRefused(await at.caller.post(`${store.path}/memories/${id}`), 400)
    })
  })
})

function dataOf(answer: Awaited<ReturnType<HttpCaller['get']>>): { id: string }[] {
  return expectDone(answer).data
}
