// Memory Stores API §10.5 and §10.6: sessions, what their tokens reach, and where stores are
// mounted.
// @module-tag slow

import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { expectDone, expectRefused, type HttpCaller, type Json } from '../../support/http-caller.ts'
import {
  onServers,
  sessionsPath,
  type StoreOnServer,
  storesPath,
} from '../../support/running-server.ts'
import { idsOf, timestamp } from './objects.ts'

onServers('sessions', (at) => {
  let written: StoreOnServer
  let read: StoreOnServer
  let other: StoreOnServer
  let session: Json
  let token: HttpCaller
  beforeAll(async () => {
    written = await at.store({ name: 'Written', description: 'about' })
    read = await at.store({ name: 'Read' })
    other = await at.store({ name: 'Other' })
    for (const store of [written, read, other]) await store.create('/a')
    session = await at.session([written, attached(read, { access: 'read_only' })])
    token = at.as(session.token)
  })
  afterEach(() => void vi.useRealTimers())

  const attached = (store: StoreOnServer, more: object = {}): object => ({
    type: 'memory_store',
    memory_store_id: store.id,
    ...more,
  })
  const ask = (resources: unknown, more: object = {}) =>
    at.caller.post(sessionsPath, { resources, ...more })

  describe('10.6: the session', () => {
    test('it has its token, its expiry and its resources', async () => {
      const resources = [
        attached(written),
        attached(read, { access: 'read_only', instructions: 'Look here' }),
      ]
      const made = expectDone(await ask(resources))
      expect(made).toMatchObject({
        id: expect.stringMatching(/^sesn_/),
        token: expect.any(String),
        expires_at: timestamp,
      })
      expect(made.resources).toEqual([
        {
          type: 'memory_store',
          memory_store_id: written.id,
          access: 'read_write',
          instructions: null,
          name: 'Written',
          description: 'about',
          mount_path: '/mnt/memory/written',
        },
        {
          type: 'memory_store',
          memory_store_id: read.id,
          access: 'read_only',
          instructions: 'Look here',
          name: 'Read',
          description: '',
          mount_path: '/mnt/memory/read',
        },
      ])
    })

    test('the resources of one are accepted for another', async () => {
      const { resources } = await at.session([written, attached(read, { access: 'read_only' })])
      expect((await at.session(resources)).resources).toEqual(resources)
    })

    test('null for access and instructions is treated as absent', async () => {
      const { resources } = await at.session([attached(read, { access: null, instructions: null })])
      expect(resources).toMatchObject([{ access: 'read_write', instructions: null }])
    })

    test('name and description are those of its creation', async () => {
      const store = await at.store({ name: 'Then', description: 'then' })
      const { resources } = await at.session([store])
      expectDone(await at.caller.post(store.path, { name: 'Now', description: 'now' }))
      expect(resources[0]).toMatchObject({ name: 'Then', description: 'then' })
    })

    test.each([
      ['Notes', '/mnt/memory/notes'],
      ['My  Notes, 2026!', /^\/mnt\/memory\/-?my-notes-2026-?$/],
      ['a.b/c\\d', '/mnt/memory/a-b-c-d'],
      ['..', /^\/mnt\/memory\/[a-z0-9_-]*[A-Za-z0-9]+[\w-]*$/],
      ['ÄÖ', /^\/mnt\/memory\/[\w-]+$/],
      ['日本', /^\/mnt\/memory\/[\w-]+$/],
      ['Grüße', '/mnt/memory/gr-e'],
    ])('the mount path of %s', async (name, path) => {
      const { resources } = await at.session([await at.store({ name })])
      if (typeof path === 'string') expect(resources[0].mount_path).toBe(path)
      else expect(resources[0].mount_path).toMatch(path)
    })

    test('stores with the same name get different directories', async () => {
      const names = ['same', 'Same', 'SAME', '¡', '¿', 'same']
      const stores = await Promise.all(names.map((name) => at.store({ name })))
      const { resources } = await at.session(stores)
      const paths = resources.map(({ mount_path }: Json) => mount_path)
      expect(new Set(paths).size).toBe(names.length)
      for (const path of paths) expect(path).toMatch(/^\/mnt\/memory\/[\w-]+$/)
    })

    test.each<[name: string, more: object, status: number]>([
      ['instructions of 4,096 characters', { instructions: 'i'.repeat(4096) }, 200],
      ['instructions of 4,096 emoji', { instructions: '🐙'.repeat(4096) }, 200],
      ['instructions of 4,097 characters', { instructions: 'i'.repeat(4097) }, 400],
      ['instructions that are no text', { instructions: 1 }, 400],
      ['no instructions', { instructions: null }, 200],
      ['unknown access', { access: 'admin' }, 400],
      ['another type', { type: 'file' }, 400],
      ['an id that is no text', { memory_store_id: 1 }, 400],
      ['unknown fields', { unknown: 1 }, 200],
    ])('%s', async (_, more, status) => {
      const answer = await ask([attached(written, more)])
      expect(answer.status).toBe(status)
    })

    test('9: eight stores at most, and all must exist', async () => {
      const eight = await Promise.all(Array.from({ length: 8 }, () => at.store()))
      expect((await at.session(eight)).resources).toHaveLength(8)
      expectRefused(await ask([...eight, written].map((store) => attached(store))), 400)
      expectRefused(await ask([{ type: 'memory_store', memory_store_id: 'memstore_none' }]), 404)
      const foreign = expectDone(await at.foreign.post(storesPath, { name: 'theirs' }))
      expectRefused(await ask([{ type: 'memory_store', memory_store_id: foreign.id }]), 404)
    })

    test.each([undefined, null, {}, 'a', [], [null], ['memstore_x'], [[]]])(
      'resources that are none are refused: %j',
      async (resources) => {
        expectRefused(await ask(resources), 400)
      },
    )

    test.each([59, 86_401, 0, -1, 1.5, '60', true])(
      'refused: expires_in %j',
      async (expires_in) => {
        expectRefused(await ask([attached(written)], { expires_in }), 400)
      },
    )

    test.each([
      [60, 60],
      [86_400, 86_400],
      [undefined, 3600],
    ])('expires_in %j', async (expires_in, seconds) => {
      const before = Date.now()
      const { expires_at } = expectDone(await ask([attached(written)], { expires_in }))
      const life = Date.parse(expires_at) - before
      expect(life).toBeGreaterThan((seconds - 1) * 1000)
      expect(life).toBeLessThan((seconds + 30) * 1000)
    })
  })

  describe('10.5: the rights of a token', () => {
    test('the stores that are attached', async () => {
      for (const store of [written, read]) {
        expect((await store.as(token).get()).id).toBe(store.id)
        expect(await store.as(token).memories('view=full')).toHaveLength(1)
        const [version] = await store.as(token).versions()
        expect((await store.as(token).get(`/memory_versions/${version.id}`)).content).toBe('text')
      }
    })

    test('in both headers', async () => {
      const headers = { 'x-api-key': '', authorization: `Bearer ${session.token}` }
      expect(expectDone(await token.get(written.path, headers)).id).toBe(written.id)
    })

    test('its writes', async () => {
      const mine = written.as(token)
      const { id } = await mine.create('/session', 'a')
      await mine.update(id, { content: 'b', path: '/session2' })
      await mine.delete(id)
      const actors = (await written.versions(`memory_id=${id}`)).map(({ created_by }) => created_by)
      expect(actors).toHaveLength(3)
      for (const actor of actors) {
        expect(actor).toEqual({ type: 'session_actor', session_id: session.id })
      }
    })

    test('lists the attached stores, page by page', async () => {
      const list = await token.get(`${storesPath}?include_archived=true`)
      expect(idsOf(expectDone(list).data).toSorted()).toEqual([written.id, read.id].toSorted())
      const { data, next_page } = expectDone(await token.get(`${storesPath}?limit=1`))
      const second = await token.get(`${storesPath}?limit=1&page=${encodeURIComponent(next_page)}`)
      expect([...data, ...expectDone(second).data]).toEqual(expectDone(list).data)
      expect(expectDone(second).next_page).toBeNull()
    })

    const everyRoute = (store: StoreOnServer, memory: string, version: string) =>
      [
        ['GET', store.path],
        ['POST', store.path, { name: 'mine' }],
        ['POST', `${store.path}/archive`],
        ['DELETE', store.path],
        ['GET', `${store.path}/memories`],
        ['POST', `${store.path}/memories`, { path: '/new', content: '' }],
        ['GET', `${store.path}/memories/${memory}`],
        ['POST', `${store.path}/memories/${memory}`, { content: 'new' }],
        ['DELETE', `${store.path}/memories/${memory}`],
        ['GET', `${store.path}/memory_versions`],
        ['GET', `${store.path}/memory_versions/${version}`],
        ['POST', `${store.path}/memory_versions/${version}/redact`],
      ] as const
    const statuses = async (store: StoreOnServer): Promise<number[]> => {
      const [memory] = await store.memories('path_prefix=/')
      const found: number[] = []
      for (const [method, path, body] of everyRoute(store, memory.id, memory.memory_version_id)) {
        found.push((await token.request(method, path, { body })).status)
      }
      return found
    }

    test('a store that is not attached is not found', async () => {
      expect(await statuses(other)).toEqual(Array(12).fill(404))
      expect(await other.get()).toMatchObject({ name: 'Other', archived_at: null })
    })

    test('a store attached read_only can only be read', async () => {
      const refused = 403
      const ofStore = [200, refused, refused, refused]
      const ofMemories = [200, refused, 200, refused, refused]
      const ofVersions = [200, 200, refused]
      expect(await statuses(read)).toEqual([...ofStore, ...ofMemories, ...ofVersions])
      expect(await read.memories('view=full')).toMatchObject([{ path: '/a', content: 'text' }])
    })

    test('a store attached read_write cannot be administered', async () => {
      expectRefused(await token.post(written.path, { name: 'mine' }), 403)
      expectRefused(await token.post(`${written.path}/archive`), 403)
      expectRefused(await token.delete(written.path), 403)
      expectRefused(await token.post(storesPath, { name: 'mine' }), 403)
      expect(await written.get()).toMatchObject({ name: 'Written', archived_at: null })
    })

    test('it can neither make nor end sessions', async () => {
      const body = { resources: [attached(written)] }
      expectRefused(await token.post(sessionsPath, body), 403)
      expectRefused(await token.delete(`${sessionsPath}/${session.id}`), 403)
      expectDone(await token.get(written.path))
    })

    test('a store that is archived or deleted after it was attached', async () => {
      const [archived, deleted] = [await at.store(), await at.store()]
      const mine = at.as((await at.session([archived, deleted])).token)
      expectDone(await at.caller.post(`${archived.path}/archive`))
      expectDone(await at.caller.delete(deleted.path))
      expect((await archived.as(mine).get()).archived_at).not.toBeNull()
      const body = { path: '/a', content: '' }
      expectRefused(await mine.post(`${archived.path}/memories`, body), 400)
      expectRefused(await mine.get(deleted.path), 404)
      expect(expectDone(await mine.get(storesPath)).data).toEqual([])
    })
  })

  describe('10.5: the end of a token', () => {
    test('its time', async () => {
      const { token: short } = await at.session([written], { expires_in: 60 })
      const caller = at.as(short)
      const start = Date.now()
      vi.useFakeTimers({ toFake: ['Date'], now: start + 58_000 })
      expectDone(await caller.get(written.path))
      vi.setSystemTime(start + 61_000)
      expectRefused(await caller.get(written.path), 401)
    })

    test('it outlives a restart', async () => {
      await at.restart()
      expectDone(await at.as(session.token).get(written.path))
    })

    test('its deletion, by a key of its workspace', async () => {
      for (const caller of [at.caller, at.other]) {
        const made = await at.session([written])
        expectRefused(await at.foreign.delete(`${sessionsPath}/${made.id}`), 404)
        expectDone(await at.as(made.token).get(written.path))
        expectDone(await caller.delete(`${sessionsPath}/${made.id}`))
        expectRefused(await at.as(made.token).get(written.path), 401)
        expectRefused(await caller.delete(`${sessionsPath}/${made.id}`), 404)
      }
      for (const id of ['sesn_none', 'x', '%00']) {
        expectRefused(await at.caller.delete(`${sessionsPath}/${id}`), 404)
      }
    })

    test('the revocation of its key', async () => {
      const key = await at.started.key(at.key.workspaceId)
      const body = { resources: [attached(written)] }
      const made = expectDone(await at.as(key.secret).post(sessionsPath, body))
      expectDone(await at.as(made.token).get(written.path))
      await at.started.revoke(key.id)
      expectRefused(await at.as(made.token).get(written.path), 401)
      expectRefused(await at.as(key.secret).get(written.path), 401)
      await at.restart()
      expectRefused(await at.as(made.token).get(written.path), 401)
    })
  })
})
