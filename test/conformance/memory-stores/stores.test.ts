// Memory Stores API §3.1, §3.6 and §5: memory stores, their settings, archives and deletions.

import { beforeAll, describe, expect, test } from 'vitest'
import { expectDone, expectRefused, type Json } from '../../support/http-caller.ts'
import { onServers, type StoreOnServer, storesPath } from '../../support/running-server.ts'
import { guard, idsOf, nextMillisecond, storeObject } from './objects.ts'

const emoji = '🐙'
/** Keys k0, k1, … with the value v. */
const pairs = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 'v']))

onServers('stores', (at) => {
  const make = (body: object) => at.caller.post(storesPath, body)
  const list = async (query = ''): Promise<string[]> =>
    idsOf(expectDone(await at.caller.get(`${storesPath}?limit=100&${query}`)).data)

  describe('3.1: the object', () => {
    test('it has every key, unset ones too', async () => {
      const made = expectDone(await make({ name: 'plain' }))
      expect(made).toEqual(storeObject({ name: 'plain', updated_at: made.created_at }))
      expect(expectDone(await at.caller.get(`${storesPath}/${made.id}`))).toEqual(made)
      const { data } = expectDone(await at.caller.get(`${storesPath}?limit=1`))
      expect(data).toEqual([made])
    })

    test('it has the given settings', async () => {
      const set = { name: 'set', description: 'Über\nalles', metadata: {} }
      const metadata = { a: 'b', 日本: '' }
      expect(expectDone(await make({ ...set, metadata }))).toEqual(
        storeObject({ ...set, metadata }),
      )
    })
  })

  describe('3.6: ids', () => {
    test.each([
      'memstore_none',
      'x',
      'mem_1',
      'MEMSTORE_1',
      '%20',
      '..%2F..',
      'memstore_%00',
      `memstore_${'a'.repeat(2000)}`,
      '%F0%9F%90%99',
      '__proto__',
    ])('one that is none of ours is a 404: %s', async (id) => {
      expectRefused(await at.caller.get(`${storesPath}/${id}`), 404)
      expectRefused(await at.caller.post(`${storesPath}/${id}`, { name: 'a' }), 404)
      expectRefused(await at.caller.post(`${storesPath}/${id}/archive`), 404)
      expectRefused(await at.caller.delete(`${storesPath}/${id}`), 404)
      expectRefused(await at.caller.get(`${storesPath}/${id}/memories`), 404)
      expectRefused(await at.caller.get(`${storesPath}/${id}/memory_versions`), 404)
    })

    test('no two stores share an id, even after a deletion', async () => {
      const [a, b] = [await at.store(), await at.store()]
      expectDone(await at.caller.delete(b.path))
      const c = await at.store()
      expect(new Set([a.id, b.id, c.id]).size).toBe(3)
    })
  })

  describe('5.1: settings', () => {
    test.each<[name: string, body: object]>([
      ['a name of one character', { name: 'a' }],
      ['a name of 255 characters', { name: 'n'.repeat(255) }],
      ['a name of 255 emoji', { name: emoji.repeat(255) }],
      ['a name with joined emoji and spaces', { name: ' 👩‍👩‍👧\u200b ' }],
      ['a description of 1,024 characters', { name: 'a', description: 'd'.repeat(1024) }],
      ['a description of 1,024 emoji', { name: 'a', description: emoji.repeat(1024) }],
      ['an empty description', { name: 'a', description: '' }],
      ['16 pairs of metadata', { name: 'a', metadata: pairs(16) }],
      ['a key of 64 emoji', { name: 'a', metadata: { [emoji.repeat(64)]: 'v' } }],
      ['a value of 512 emoji', { name: 'a', metadata: { k: emoji.repeat(512) } }],
      ['an empty value', { name: 'a', metadata: { k: '' } }],
      ['a key that objects have', { name: 'a', metadata: { constructor: 'v', toString: 'w' } }],
    ])('legal: %s', async (_, body) => {
      expect(expectDone(await make(body))).toEqual(storeObject(body))
    })

    test('legal: a key named __proto__', async () => {
      const body = '{"name":"a","metadata":{"__proto__":"v"}}'
      const { text } = await at.caller.request('POST', storesPath, { body, headers: json })
      expect(text).toContain('"__proto__":"v"')
    })

    test.each<[name: string, body: object]>([
      ['no name', { description: 'a' }],
      ['an empty name', { name: '' }],
      ['a name of 256 characters', { name: 'n'.repeat(256) }],
      ['a name of 256 emoji', { name: emoji.repeat(256) }],
      ['NUL in a name', { name: 'a\0' }],
      ['a line break in a name', { name: 'a\nb' }],
      ['a tab in a name', { name: 'a\tb' }],
      ['DEL in a name', { name: 'a\x7f' }],
      ['a C1 control in a name', { name: 'a\x85' }],
      ['a description of 1,025 characters', { name: 'a', description: 'd'.repeat(1025) }],
      ['a description of 1,025 emoji', { name: 'a', description: emoji.repeat(1025) }],
      ['17 pairs of metadata', { name: 'a', metadata: pairs(17) }],
      ['an empty key', { name: 'a', metadata: { '': 'v' } }],
      ['a key of 65 characters', { name: 'a', metadata: { ['k'.repeat(65)]: 'v' } }],
      ['a key of 65 emoji', { name: 'a', metadata: { [emoji.repeat(65)]: 'v' } }],
      ['a value of 513 characters', { name: 'a', metadata: { k: 'v'.repeat(513) } }],
      ['a value of null', { name: 'a', metadata: { k: null } }],
      ['a name with a lone surrogate', { name: 'a\ud800' }],
      ['a description with a lone surrogate', { name: 'a', description: '\udc00' }],
    ])('refused: %s', async (_, body) => {
      const before = await list()
      expectRefused(await make(body), 400)
      expect(await list()).toEqual(before)
    })

    test('a name is not unique', async () => {
      const twins = [await make({ name: 'twin' }), await make({ name: 'twin' })]
      expect(new Set(twins.map((answer) => expectDone(answer).id)).size).toBe(2)
    })

    test('null for description and metadata is treated as absent', async () => {
      const body = { name: 'a', description: null, metadata: null }
      expect(expectDone(await make(body))).toEqual(storeObject({ name: 'a' }))
    })
  })

  describe('5.2: an update', () => {
    const update = async (store: StoreOnServer, body: object): Promise<Json> =>
      expectDone(await at.caller.post(store.path, body))
    const set = { name: 'old', description: 'about', metadata: { a: '1', b: '2' } }

    test.each<[body: object, left: object]>([
      [{ name: 'new' }, { ...set, name: 'new' }],
      [{ description: 'new' }, { ...set, description: 'new' }],
      [{ description: '' }, { ...set, description: '' }],
      [{ metadata: { c: '3' } }, { ...set, metadata: { a: '1', b: '2', c: '3' } }],
      [{ metadata: { a: '9' } }, { ...set, metadata: { a: '9', b: '2' } }],
      [{ metadata: { a: null } }, { ...set, metadata: { b: '2' } }],
      [{ metadata: { a: null, c: '3' } }, { ...set, metadata: { b: '2', c: '3' } }],
      [{ metadata: { none: null } }, set],
      [{ metadata: { a: '' } }, { ...set, metadata: { a: '', b: '2' } }],
      [{ metadata: {} }, set],
      [{ name: null, description: null, metadata: null }, set],
      [
        { name: null, description: 'new' },
        { ...set, description: 'new' },
      ],
      [{}, set],
    ])('%j', async (body, left) => {
      const store = await at.store(set)
      expect(await update(store, body)).toEqual(storeObject({ id: store.id, ...left }))
      expect(await store.get()).toEqual(storeObject({ id: store.id, ...left }))
    })

    test.each([{}, { name: null }, { metadata: {} }])('%j changes no time', async (body) => {
      const store = await at.store(set)
      const before = await store.get()
      await nextMillisecond()
      expect(await update(store, body)).toEqual(before)
    })

    test('the limit of 16 pairs applies to the result', async () => {
      const store = await at.store({ metadata: pairs(16) })
      expectRefused(await at.caller.post(store.path, { metadata: { more: 'v' } }), 400)
      await update(store, { metadata: { k0: null, more: 'v' } })
      await update(store, { metadata: { k1: 'w' } })
      expect(Object.keys((await store.get()).metadata)).toHaveLength(16)
    })

    test.each<[body: object]>([
      [{ name: 'new', description: 'd'.repeat(1025) }],
      [{ name: '', description: 'new' }],
      [{ description: 'new', metadata: { ['k'.repeat(65)]: 'v' } }],
      [{ name: 'new', metadata: { k: 'v'.repeat(513) } }],
      [{ name: 'new', metadata: { '': 'v' } }],
      [{ name: 'a\nb' }],
    ])('one that is refused changes nothing (%#)', async (body) => {
      const store = await at.store(set)
      const before = await store.get()
      expectRefused(await at.caller.post(store.path, body), 400)
      expect(await store.get()).toEqual(before)
    })

    test('the list shows it at once', async () => {
      const store = await at.store()
      await update(store, { name: 'renamed', metadata: { a: 'b' } })
      const { data } = expectDone(await at.caller.get(`${storesPath}?limit=1`))
      expect(data).toEqual([storeObject({ id: store.id, name: 'renamed', metadata: { a: 'b' } })])
    })
  })

  test('5.3: updated_at moves with settings and the archive, never with memories', async () => {
    const store = await at.store()
    const made = await store.get()
    await nextMillisecond()
    const { id, memory_version_id } = await store.create('/a')
    await store.update(id, { content: 'b' })
    await store.redact(memory_version_id)
    await store.delete(id)
    expect(await store.get()).toEqual(made)
    const updated = expectDone(await at.caller.post(store.path, { description: 'new' }))
    expect(Date.parse(updated.updated_at)).toBeGreaterThan(Date.parse(made.updated_at))
    expect(updated.created_at).toBe(made.created_at)
    await nextMillisecond()
    const archived = expectDone(await at.caller.post(`${store.path}/archive`))
    expect(Date.parse(archived.updated_at)).toBeGreaterThan(Date.parse(updated.updated_at))
  })

  describe('5.4: the list', () => {
    test('archived stores are listed on request only', async () => {
      const [live, archived] = [await at.store(), await at.store()]
      expectDone(await at.caller.post(`${archived.path}/archive`))
      expect(await list()).toContain(live.id)
      expect(await list()).not.toContain(archived.id)
      expect(await list('include_archived=false')).toEqual(await list())
      expect((await list('include_archived=true')).slice(0, 2)).toEqual([archived.id, live.id])
    })

    test.each(['', 'yes', '1', 'TRUE', 'null'])('refused: include_archived=%s', async (value) => {
      expectRefused(await at.caller.get(`${storesPath}?include_archived=${value}`), 400)
    })

    test('newest first, and in a fixed order if created at the same time', async () => {
      await Promise.all(Array.from({ length: 8 }, () => at.store()))
      const stores = expectDone(await at.caller.get(`${storesPath}?limit=100`)).data
      const times = stores.map((store: Json) => Date.parse(store.created_at))
      expect(times).toEqual(times.toSorted((a: number, b: number) => b - a))
      expect(await list()).toEqual(idsOf(stores))
    })
  })

  test('5.5: a store of another workspace is not found', async () => {
    const store = await at.store()
    const { id, memory_version_id } = await store.create('/a')
    const { foreign } = at
    const requests = [
      foreign.get(store.path),
      foreign.post(store.path, { name: 'theirs' }),
      foreign.post(`${store.path}/archive`),
      foreign.delete(store.path),
      foreign.get(`${store.path}/memories`),
      foreign.post(`${store.path}/memories`, { path: '/b', content: '' }),
      foreign.get(`${store.path}/memories/${id}`),
      foreign.post(`${store.path}/memories/${id}`, { content: '' }),
      foreign.delete(`${store.path}/memories/${id}`),
      foreign.get(`${store.path}/memory_versions`),
      foreign.get(`${store.path}/memory_versions/${memory_version_id}`),
      foreign.post(`${store.path}/memory_versions/${memory_version_id}/redact`),
    ]
    for (const answer of await Promise.all(requests)) expectRefused(answer, 404)
    const seen = expectDone(await foreign.get(`${storesPath}?include_archived=true&limit=100`))
    expect(idsOf(seen.data)).not.toContain(store.id)
    expect(await store.get()).toMatchObject({ name: 'store', archived_at: null })
    expect((await store.as(at.other).get()).id).toBe(store.id)
  })

  describe('5.6: a deletion', () => {
    test('nothing is left', async () => {
      const store = await at.store()
      const { id, memory_version_id } = await store.create('/a')
      const { caller } = at
      const deleted = expectDone(await caller.delete(store.path))
      expect(deleted).toEqual({ id: store.id, type: 'memory_store_deleted' })
      const version = `${store.path}/memory_versions/${memory_version_id}`
      const requests = [
        caller.get(store.path),
        caller.post(store.path, { name: 'a' }),
        caller.post(`${store.path}/archive`),
        caller.get(`${store.path}/memories`),
        caller.post(`${store.path}/memories`, { path: '/b', content: '' }),
        caller.get(`${store.path}/memories/${id}`),
        caller.delete(`${store.path}/memories/${id}`),
        caller.get(`${store.path}/memory_versions`),
        caller.get(version),
        caller.post(`${version}/redact`),
        caller.delete(store.path),
      ]
      for (const answer of await Promise.all(requests)) expectRefused(answer, 404)
      expect(await list('include_archived=true')).not.toContain(store.id)
    })

    test('an archived store can be deleted', async () => {
      const store = await at.store()
      expectDone(await at.caller.post(`${store.path}/archive`))
      expectDone(await at.caller.delete(store.path))
      expectRefused(await at.caller.get(store.path), 404)
    })
  })

  describe('5.7: an archived store', () => {
    let store: StoreOnServer
    let memory: Json
    let archived: Json
    beforeAll(async () => {
      store = await at.store()
      memory = await store.create('/a', 'one')
      memory = await store.update(memory.id, { content: 'two' })
      archived = expectDone(await at.caller.post(`${store.path}/archive`))
    })

    test('archiving is idempotent: archived_at is set once', async () => {
      expect(Date.parse(archived.archived_at)).toBeLessThanOrEqual(Date.parse(archived.updated_at))
      await nextMillisecond()
      expect(expectDone(await at.caller.post(`${store.path}/archive`))).toEqual(archived)
      expect(await store.get()).toEqual(archived)
    })

    test.each<[name: string, rest: string, body: object]>([
      ['an update of the store', '', { name: 'new' }],
      ['an update of its metadata', '', { metadata: { a: 'b' } }],
      ['a new memory', '/memories', { path: '/b', content: '' }],
      ['a changed memory', '/memories/ID', { content: 'three' }],
      ['a renamed memory', '/memories/ID', { path: '/b', precondition: guard('two') }],
    ])('refused: %s', async (_, rest, body) => {
      const path = store.path + rest.replace('ID', memory.id)
      expectRefused(await at.caller.post(path, body), 400)
      expect(await store.get()).toEqual(archived)
      expect(await store.get(`/memories/${memory.id}`)).toEqual({ ...memory, content: 'two' })
    })

    test('refused: a new session', async () => {
      const resources = [{ type: 'memory_store', memory_store_id: store.id }]
      expectRefused(await at.caller.post('/v1/gitlocket/sessions', { resources }), 400)
    })

    test('allowed: reading, redacting, deleting a memory', async () => {
      expect(await store.memories('view=full')).toHaveLength(1)
      const [, old] = await store.versions()
      expect((await store.redact(old.id)).path).toBeNull()
      await store.delete(memory.id)
      expect(await store.memories()).toEqual([])
      expect((await store.versions()).map(({ operation }) => operation)).toEqual([
        'deleted',
        'modified',
        'created',
      ])
      expect((await store.get()).updated_at).toBe(archived.updated_at)
    })
  })
})

const json = { 'content-type': 'application/json' }
