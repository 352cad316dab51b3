// Memory Stores API §3.4, §3.5 and §7: the versions of memories, who made them, their order and
// their filters.

import { beforeAll, describe, expect, test } from 'vitest'
import { expectDone, expectRefused, type Json } from '../../support/http-caller.ts'
import { onServers, type StoreOnServer } from '../../support/running-server.ts'
import { apiActor, guard, idsOf, sha256, versionObject } from './objects.ts'

onServers('versions', (at) => {
  const place = (store: StoreOnServer, id: string, query = '') =>
    `${store.path}/memory_versions/${id}${query}`

  describe('3.4: the object', () => {
    let store: StoreOnServer
    let memory: Json
    let versions: Json[]
    beforeAll(async () => {
      store = await at.store()
      memory = await store.create('/a', 'é')
      await store.update(memory.id, { content: 'b', path: '/b' })
      await store.delete(memory.id)
      versions = await store.versions('view=full')
    })

    const common = () => ({
      memory_id: memory.id,
      memory_store_id: store.id,
      created_by: apiActor(at.key.id),
    })

    test('each kind has every key, and null for those that do not apply', () => {
      expect(versions).toEqual([
        versionObject(undefined, { ...common(), path: '/b' }),
        versionObject('b', { ...common(), operation: 'modified', path: '/b' }, 'full'),
        versionObject('é', { ...common(), path: '/a', id: memory.memory_version_id }, 'full'),
      ])
    })

    test('retrieve gives the same as the list', async () => {
      for (const version of versions) {
        expect(await store.get(`/memory_versions/${version.id}`)).toEqual(version)
      }
    })

    test('4.1: retrieve includes the content by default, lists on request', async () => {
      const basic = await store.versions()
      expect(basic).toEqual(versions.map((version) => ({ ...version, content: null })))
      expect(await store.versions('view=basic')).toEqual(basic)
      const [, modified] = versions
      const shown = await store.get(`/memory_versions/${modified.id}?view=basic`)
      expect(shown).toEqual({ ...modified, content: null })
      expect(await store.get(`/memory_versions/${modified.id}?view=full`)).toEqual(modified)
    })

    test.each(['', 'FULL', 'all'])('4.1: refused: view=%s', async (view) => {
      const [, { id }] = versions
      expectRefused(await at.caller.get(place(store, id, `?view=${view}`)), 400)
      expectRefused(await at.caller.get(`${store.path}/memory_versions?view=${view}`), 400)
    })

    test.each(['memver_none', 'x', 'MEMORY', '%00', `memver_${'a'.repeat(2000)}`, '..%2F'])(
      '3.6: an id that is none of a version is a 404: %s',
      async (id) => {
        const asked = id.replace('MEMORY', memory.id)
        expectRefused(await at.caller.get(place(store, asked)), 404)
        expectRefused(await at.caller.post(place(store, `${asked}/redact`)), 404)
        expectRefused(await at.caller.get(`${store.path}/memories/${asked}`), 404)
      },
    )
  })

  describe('3.5: created_by', () => {
    test('the key by its public id, also of another one', async () => {
      const store = await at.store()
      const { id } = await store.create('/a')
      await store.as(at.other).update(id, { content: 'b' })
      const actors = (await store.versions()).map(({ created_by }) => created_by)
      expect(actors).toEqual([apiActor(at.otherKey.id), apiActor(at.key.id)])
      expect(JSON.stringify(actors)).not.toContain(at.key.secret)
    })

    test('the session', async () => {
      const store = await at.store()
      const session = await at.session([store])
      await store.as(at.as(session.token)).create('/a')
      const [version] = await store.versions()
      expect(version.created_by).toEqual({ type: 'session_actor', session_id: session.id })
    })

    test('still names a revoked key', async () => {
      const store = await at.store()
      const key = await at.started.key(at.key.workspaceId)
      const { id } = await store.as(at.as(key.secret)).create('/a')
      await at.started.revoke(key.id)
      expectRefused(await at.as(key.secret).get(store.path), 401)
      expect(await store.versions(`memory_id=${id}`)).toMatchObject([
        { created_by: apiActor(key.id) },
      ])
    })
  })

  describe('7.1: one for each change', () => {
    test.each<[name: string, body: object]>([
      ['the content', { content: 'new' }],
      ['the path', { path: '/new' }],
      ['both', { content: 'new', path: '/new' }],
    ])('an update of %s', async (_, body) => {
      const store = await at.store()
      const { id } = await store.create('/a')
      const { memory_version_id } = await store.update(id, body)
      const [version, ...older] = await store.versions()
      expect(version).toMatchObject({ id: memory_version_id, operation: 'modified' })
      expect(older).toMatchObject([{ operation: 'created' }])
    })

    test('refusals, changes without effect and redactions write none', async () => {
      const store = await at.store()
      const { id, memory_version_id } = await store.create('/a')
      const current = await store.update(id, { content: 'b' })
      const before = idsOf(await store.versions())
      const memories = `${store.path}/memories`
      expectRefused(await at.caller.post(memories, { path: '/a', content: '' }), 409)
      expectRefused(
        await at.caller.post(`${memories}/${id}`, { content: 'c', precondition: guard('x') }),
        409,
      )
      const query = `?expected_content_sha256=${sha256('x')}`
      expectRefused(await at.caller.delete(`${memories}/${id}${query}`), 409)
      expect((await store.update(id, { content: 'b' })).memory_version_id).toBe(
        current.memory_version_id,
      )
      await store.redact(memory_version_id)
      expect(idsOf(await store.versions())).toEqual(before)
    })
  })

  describe('7.2: the list', () => {
    let store: StoreOnServer
    let a: Json
    let b: Json
    let session: Json
    beforeAll(async () => {
      store = await at.store()
      session = await at.session([store])
      a = await store.create('/a', '0')
      b = await store.as(at.other).create('/b', '0')
      await store.as(at.as(session.token)).update(a.id, { content: '1' })
      await store.update(b.id, { content: '1' })
      await store.as(at.other).delete(b.id)
    })

    const found = async (query: string) =>
      (await store.versions(query)).map(
        ({ memory_id, operation }) => `${memory_id === a.id ? 'a' : 'b'} ${operation}`,
      )

    test('newest first, in the order of writing', async () => {
      expect(await found('')).toEqual([
        'b deleted',
        'b modified',
        'a modified',
        'b created',
        'a created',
      ])
    })

    test('the later of one millisecond comes first too', async () => {
      const base = await at.store()
      const { id } = await base.create('/a', 'start')
      const written: string[] = []
      for (let n = 0; n < 30; n++) {
        written.unshift((await base.update(id, { content: `${n}` })).memory_version_id)
      }
      const versions = await base.versions()
      expect(idsOf(versions).slice(0, 30)).toEqual(written)
      const times = versions.map(({ created_at }) => Date.parse(created_at))
      expect(times).toEqual(times.toSorted((left, right) => right - left))
      expect(idsOf(await base.versions('limit=7'))).toEqual(idsOf(versions))
    })

    const ids = () => ({ KEY: at.key.id, OTHER: at.otherKey.id, SESN: session.id, MEM: b.id })
    const withIds = (query: string) =>
      Object.entries(ids()).reduce((text, [name, id]) => text.replace(name, id), query)

    test.each<[query: string, expected: string[]]>([
      ['memory_id=MEM', ['b deleted', 'b modified', 'b created']],
      ['operation=created', ['b created', 'a created']],
      ['operation=modified', ['b modified', 'a modified']],
      ['operation=deleted', ['b deleted']],
      ['api_key_id=KEY', ['b modified', 'a created']],
      ['api_key_id=OTHER', ['b deleted', 'b created']],
      ['session_id=SESN', ['a modified']],
      ['memory_id=MEM&operation=modified', ['b modified']],
      ['memory_id=MEM&api_key_id=OTHER&operation=created', ['b created']],
      ['api_key_id=OTHER&limit=1', ['b deleted', 'b created']],
      ['session_id=SESN&api_key_id=KEY', []],
      ['session_id=SESN&operation=created', []],
      ['memory_id=mem_none', []],
      ['memory_id=x', []],
      ['memory_id=..%2F', []],
      ['memory_id=KEY', []],
      ['api_key_id=apikey_none', []],
      ['api_key_id=SESN', []],
      ['api_key_id=%00', []],
      ['session_id=KEY', []],
      ['session_id=sesn_none', []],
      ['service_account_id=svac_none', []],
      ['service_account_id=KEY', []],
    ])('the filter %s', async (query, expected) => {
      expect(await found(withIds(query))).toEqual(expected)
    })

    test.each(['', 'CREATED', 'updated', 'redacted', 'created,deleted'])(
      'refused: operation=%s',
      async (operation) => {
        const path = `${store.path}/memory_versions?operation=${operation}`
        expectRefused(await at.caller.get(path), 400)
      },
    )

    test('7.3: versions survive their memory', async () => {
      const [deleted, , created] = await store.versions(`memory_id=${b.id}&view=full`)
      expect(deleted).toMatchObject({ operation: 'deleted', path: '/b', content: null })
      expect(created).toMatchObject({ operation: 'created', path: '/b', content: '0' })
      expect((await store.get(`/memory_versions/${created.id}`)).content).toBe('0')
    })
  })

  test('7.3: a version never changes', async () => {
    const store = await at.store()
    const { id, memory_version_id } = await store.create('/a', 'one')
    const first = await store.get(`/memory_versions/${memory_version_id}`)
    await store.update(id, { content: 'two', path: '/b' })
    await store.delete(id)
    await store.create('/a', 'three')
    expect(await store.get(`/memory_versions/${memory_version_id}`)).toEqual(first)
  })

  test('7.4: an old content is written back, which makes a new version', async () => {
    const store = await at.store()
    const { id, memory_version_id } = await store.create('/a', 'one')
    await store.update(id, { content: 'two' })
    const { content } = await store.get(`/memory_versions/${memory_version_id}`)
    const restored = await store.update(id, { content })
    expect(restored.memory_version_id).not.toBe(memory_version_id)
    expect(await store.versions()).toHaveLength(3)
    const restore = place(store, `${memory_version_id}/restore`)
    expectRefused(await at.caller.post(restore), 404)
  })

  test('7.1: an answer shows the result of its own change, not of a later one', async () => {
    const store = await at.store()
    const { id } = await store.create('/a', 'start')
    const path = `${store.path}/memories/${id}?view=full`
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => at.caller.post(path, { content: `${n}` })),
    )
    for (const [n, answer] of answers.entries()) {
      const memory = expectDone(answer)
      expect(memory.content).toBe(`${n}`)
      const version = await store.get(`/memory_versions/${memory.memory_version_id}`)
      expect(version).toMatchObject({ content: `${n}`, created_at: memory.updated_at })
    }
  })
})
