// Memory Stores API §3.2, §4.1 and §6.3 to §6.10: memories one by one. Paths, contents and
// lists have files of their own.

import { beforeAll, describe, expect, test } from 'vitest'
import {
  expectDone,
  expectPathConflict,
  expectPreconditionFailed,
  expectRefused,
  type Json,
} from '../../support/http-caller.ts'
import { onServers, type StoreOnServer } from '../../support/running-server.ts'
import { guard, memoryObject, nextMillisecond, sha256 } from './objects.ts'

onServers('memories', (at) => {
  let store: StoreOnServer
  beforeAll(async () => {
    store = await at.store()
  })

  const place = (id: string, query = '') => `${store.path}/memories/${id}${query}`
  const create = (body: unknown, query = '') =>
    at.caller.post(`${store.path}/memories${query}`, body)
  const update = (id: string, body: unknown, query = '') => at.caller.post(place(id, query), body)
  const full = (id: string): Promise<Json> => store.get(`/memories/${id}`)
  const count = async (id: string): Promise<number> =>
    (await store.versions(`memory_id=${id}`)).length

  describe('3.2: the object', () => {
    test('it has every key', async () => {
      const made = await store.create('/object', 'é\n')
      const fields = { memory_store_id: store.id, path: '/object', updated_at: made.created_at }
      expect(made).toEqual(memoryObject('é\n', fields))
      expect(await full(made.id)).toEqual({ ...made, content: 'é\n' })
      expect(await store.memories('path_prefix=/&view=full')).toContainEqual({
        ...made,
        content: 'é\n',
      })
    })

    test('a change moves its version and updated_at, and nothing else', async () => {
      const made = await store.create('/moves', 'a')
      await nextMillisecond()
      const changed = await store.update(made.id, { content: 'b' })
      const { memory_version_id, updated_at, created_at } = changed
      expect(changed).toEqual(memoryObject('b', { ...pick(made), created_at }))
      expect(created_at).toBe(made.created_at)
      expect(Date.parse(updated_at)).toBeGreaterThan(Date.parse(created_at))
      expect(memory_version_id).not.toBe(made.memory_version_id)
      const version = await store.get(`/memory_versions/${memory_version_id}`)
      expect(version).toMatchObject({ memory_id: made.id, content: 'b', created_at: updated_at })
    })

    test('a rename keeps its id', async () => {
      const made = await store.create('/before', 'same')
      const renamed = await store.update(made.id, { path: '/after/it' })
      expect(renamed).toEqual(memoryObject('same', { id: made.id, path: '/after/it' }))
    })
  })

  describe('4.1: views', () => {
    test('create and update show the content on request only', async () => {
      const { id } = expectDone(await create({ path: '/views', content: 'a' }, '?view=full'))
      const content = async (query: string, body: object) =>
        expectDone(await update(id, body, query)).content
      expect((await full(id)).content).toBe('a')
      expect(await content('?view=full', { content: 'b' })).toBe('b')
      expect(await content('?view=basic', { content: 'c' })).toBeNull()
      expect(await content('', { content: 'd' })).toBeNull()
      expect(await content('?view=full', { path: '/views2' })).toBe('d')
      expect(expectDone(await create({ path: '/views3', content: 'a' })).content).toBeNull()
      const basic = expectDone(await create({ path: '/views4', content: 'a' }, '?view=basic'))
      expect(basic).toEqual(memoryObject('a', { path: '/views4' }))
    })

    test('retrieve shows it unless told otherwise, list only on request', async () => {
      const { id } = await store.create('/view/one', 'text')
      const shown = async (query: string) => (await store.get(`/memories/${id}${query}`)).content
      expect(await shown('')).toBe('text')
      expect(await shown('?view=full')).toBe('text')
      expect(await shown('?view=basic')).toBeNull()
      const listed = async (query: string) =>
        (await store.memories(`path_prefix=/view/${query}`)).map(({ content }) => content)
      expect(await listed('')).toEqual([null])
      expect(await listed('&view=basic')).toEqual([null])
      expect(await listed('&view=full')).toEqual(['text'])
    })

    test.each(['', 'FULL', 'all', 'null', 'metadata'])('refused: view=%s', async (view) => {
      const { id } = await store.create(`/refused/${view}x`)
      const query = `?view=${view}`
      expectRefused(await at.caller.get(place(id, query)), 400)
      expectRefused(await at.caller.get(`${store.path}/memories${query}`), 400)
      expectRefused(await update(id, { content: 'new' }, query), 400)
      expectRefused(await create({ path: `/new/${view}x`, content: '' }, query), 400)
      expect(await full(id)).toMatchObject({ content: 'text' })
    })
  })

  describe('6.3: occupancy', () => {
    test('a path is taken by a memory at it, above it or below it', async () => {
      const { id } = await store.create('/taken/by/one')
      const conflicts = async (path: string, blocker: string) => {
        expectPathConflict(await create({ path, content: 'x' }), id, blocker)
      }
      await conflicts('/taken/by/one', '/taken/by/one')
      await conflicts('/taken/by/one/more/below', '/taken/by/one')
      await conflicts('/taken/by', '/taken/by/one')
      await conflicts('/taken', '/taken/by/one')
      expect(await full(id)).toMatchObject({ content: 'text', path: '/taken/by/one' })
    })

    test.each(['/near/a-b', '/near/a.b', '/near/ab', '/near/A', '/near/a b', '/near/a\u0301'])(
      'beside /near/a there is room for %s',
      async (path) => {
        const base = await at.store()
        await base.create('/near/a')
        const legal = path.normalize('NFC')
        expect(await base.create(legal)).toMatchObject({ path: legal })
      },
    )

    test('a conflict writes no version', async () => {
      const before = (await store.versions()).length
      await store.create('/counted')
      expectRefused(await create({ path: '/counted', content: 'text' }), 409)
      expectRefused(await create({ path: '/counted/x', content: 'text' }), 409)
      expect(await store.versions()).toHaveLength(before + 1)
    })

    test('12: a precondition of older clients overwrites nothing', async () => {
      const precondition = { type: 'not_exists' }
      const { id } = await store.create('/upsert', 'a')
      expectPathConflict(
        await create({ path: '/upsert', content: 'b', precondition }),
        id,
        '/upsert',
      )
      expect(await full(id)).toMatchObject({ content: 'a' })
      const { status } = await create({ path: '/upsert2', content: 'b', precondition })
      expect([200, 400]).toContain(status)
    })

    test('refused content is refused before the path is checked', async () => {
      await store.create('/form')
      expectRefused(await create({ path: '/form', content: 1 }), 400)
    })
  })

  describe('6.4: both fields are needed to create', () => {
    test.each([{ path: '/x' }, { content: 'x' }, {}, { path: '/x', content: null }])(
      '%j',
      async (body) => {
        expectRefused(await create(body), 400)
      },
    )

    test('empty content is content', async () => {
      const { id, ...made } = expectDone(await create({ path: '/empty', content: '' }))
      expect({ id, ...made }).toEqual(memoryObject('', { path: '/empty' }))
      expect((await full(id)).content).toBe('')
    })
  })

  describe('6.5: an update', () => {
    test.each([
      {},
      { content: null },
      { path: null, content: null },
      { precondition: guard('text') },
    ])('needs content or path: %j', async (body) => {
      const { id } = await store.create(`/needs/${Math.random()}`)
      expectRefused(await update(id, body), 400)
      expect(await count(id)).toBe(1)
    })

    test('null for either of them is treated as absent', async () => {
      const { id } = await store.create('/nulls', 'a')
      expect(await store.update(id, { content: 'b', path: null })).toMatchObject({ path: '/nulls' })
      expect(await store.update(id, { content: null, path: '/nulls2' })).toEqual(
        memoryObject('b', { path: '/nulls2' }),
      )
    })

    test('ignores a null precondition', async () => {
      const { id } = await store.create('/nullguard', 'a')
      const { status } = await update(id, { content: 'b', precondition: null })
      expect([200, 400]).toContain(status)
    })

    test('content and path change in one version', async () => {
      const { id } = await store.create('/both', 'a')
      const changed = await store.update(id, { content: 'b', path: '/both2' })
      expect(changed).toEqual(memoryObject('b', { id, path: '/both2' }))
      expect(await count(id)).toBe(2)
    })

    test('a rename frees the old path and never overwrites', async () => {
      const a = await store.create('/rename/a', 'a')
      const b = await store.create('/rename/b', 'b')
      expectPathConflict(await update(a.id, { path: '/rename/b' }), b.id, '/rename/b')
      expectPathConflict(await update(a.id, { path: '/rename/b/c' }), b.id, '/rename/b')
      expect(await full(b.id)).toMatchObject({ content: 'b' })
      await store.update(a.id, { path: '/renamed' })
      const successor = await store.create('/rename/a', 'successor')
      expect(successor.id).not.toBe(a.id)
    })

    test('occupancy ignores the memory itself', async () => {
      const { id } = await store.create('/itself/a')
      expect(await store.update(id, { path: '/itself/a/b' })).toMatchObject({ path: '/itself/a/b' })
      expect(await store.update(id, { path: '/itself' })).toMatchObject({ path: '/itself' })
    })

    test('a rename below itself conflicts with other memories', async () => {
      const { id } = await store.create('/deep/a')
      const { id: sibling } = await store.create('/deep/b')
      const answer = await update(id, { path: '/deep' })
      expectPathConflict(answer, sibling, '/deep/b')
    })
  })

  describe('6.6: preconditions', () => {
    test('a precondition that holds lets the update through, a rename too', async () => {
      const { id } = await store.create('/guard', 'a')
      await store.update(id, { content: 'b', precondition: guard('a') })
      await store.update(id, { path: '/guarded', precondition: guard('b') })
      expect(await full(id)).toMatchObject({ content: 'b', path: '/guarded' })
    })

    test.each<[precondition: unknown]>([
      [{}],
      [{ type: 'content_sha256' }],
      [{ type: 'content_sha256', content_sha256: null }],
      [{ type: 'content_sha256', content_sha256: '' }],
      [{ type: 'content_sha256', content_sha256: 'abc' }],
      [{ type: 'content_sha256', content_sha256: 1 }],
      [{ type: 'content_sha256', content_sha256: 'g'.repeat(64) }],
      [{ type: 'content_sha256', content_sha256: `${sha256('text')}0` }],
      [{ content_sha256: sha256('text') }],
      [{ type: 'not_exists' }],
      [{ type: 'etag', content_sha256: sha256('text') }],
      ['text'],
    ])('a malformed one is refused, also before a no-op: %j', async (precondition) => {
      const { id } = await store.create(`/malformed/${Math.random()}`)
      expectRefused(await update(id, { content: 'new', precondition }), 400)
      expectRefused(await update(id, { content: 'text', precondition }), 400)
      expect(await full(id)).toMatchObject({ content: 'text' })
    })

    test('a hash in capitals is refused as malformed or as different', async () => {
      const { id } = await store.create('/capitals')
      const precondition = { type: 'content_sha256', content_sha256: sha256('text').toUpperCase() }
      expectRefused(await update(id, { content: 'new', precondition }), 400, 409)
    })
  })

  describe('6.7: an update that changes nothing', () => {
    test.each<[body: object]>([
      [{ content: 'text' }],
      [{ path: 'PATH' }],
      [{ content: 'text', path: 'PATH' }],
      [{ content: 'text', precondition: guard('stale') }],
      [{ path: 'PATH', precondition: guard('stale') }],
      [{ content: 'text', path: null, precondition: guard('stale') }],
    ])('%j is answered with the unchanged memory', async (body) => {
      const path = `/noop/${Math.random()}`
      const made = await store.create(path)
      await nextMillisecond()
      const asked = 'path' in body && body.path === 'PATH' ? { ...body, path } : body
      expect(await store.update(made.id, asked)).toEqual(made)
      expect(await count(made.id)).toBe(1)
    })

    test('the repeated update of a lost answer succeeds', async () => {
      const { id } = await store.create('/lost', 'a')
      const body = { content: 'b', path: '/found', precondition: guard('a') }
      const first = await store.update(id, body)
      expect(await store.update(id, body)).toEqual(first)
      expect(await count(id)).toBe(2)
    })
  })

  describe('6.8: a stale precondition', () => {
    test.each<[body: object]>([[{ content: 'new' }], [{ path: '/stale/to' }]])(
      'refuses the whole update: %j',
      async (body) => {
        const { id } = await store.create(`/stale/${Math.random()}`)
        const before = await full(id)
        expectPreconditionFailed(await update(id, { ...body, precondition: guard('old') }))
        expect(await full(id)).toEqual(before)
        expect(await count(id)).toBe(1)
      },
    )

    test('with a path that is taken, either conflict may be reported', async () => {
      const [a] = [await store.create('/either/a'), await store.create('/either/b')]
      const body = { path: '/either/b', precondition: guard('old') }
      expectRefused(await update(a.id, body), 409)
      expect(await full(a.id)).toMatchObject({ path: '/either/a' })
    })
  })

  describe('6.9: a deletion', () => {
    test('it is permanent, and frees the path for another memory', async () => {
      const { id } = await store.create('/gone')
      expect(await store.delete(id)).toEqual({ id, type: 'memory_deleted' })
      expectRefused(await at.caller.get(place(id)), 404)
      expectRefused(await update(id, { content: 'a' }), 404)
      expectRefused(await at.caller.delete(place(id)), 404)
      expect((await store.create('/gone/below')).id).not.toBe(id)
    })

    test('succeeds with the hash of the current content', async () => {
      const { id, content_sha256 } = await store.create('/expected')
      const answer = await at.caller.delete(place(id, `?expected_content_sha256=${content_sha256}`))
      expect(expectDone(answer)).toEqual({ id, type: 'memory_deleted' })
    })

    test('is refused with the hash of another content', async () => {
      const { id } = await store.create('/unexpected')
      const query = `?expected_content_sha256=${sha256('other')}`
      expectPreconditionFailed(await at.caller.delete(place(id, query)))
      expect(await count(id)).toBe(1)
      expect((await full(id)).content).toBe('text')
    })

    test.each(['', 'abc', 'x'.repeat(64), `${sha256('text')}0`])(
      'with a malformed hash it is refused: %s',
      async (hash) => {
        const { id } = await store.create(`/badhash/${Math.random()}`)
        const answer = await at.caller.delete(place(id, `?expected_content_sha256=${hash}`))
        expectRefused(answer, 400, 409)
        expect((await full(id)).content).toBe('text')
      },
    )
  })

  test('6.10: a memory or version of another store is not found', async () => {
    const other = await at.store()
    const { id, memory_version_id } = await store.create('/mine')
    const memory = `${other.path}/memories/${id}`
    const version = `${other.path}/memory_versions/${memory_version_id}`
    expectRefused(await at.caller.get(memory), 404)
    expectRefused(await at.caller.post(memory, { content: 'a' }), 404)
    expectRefused(await at.caller.delete(memory), 404)
    expectRefused(await at.caller.get(version), 404)
    expectRefused(await at.caller.post(`${version}/redact`), 404)
    expect(await other.versions(`memory_id=${id}`)).toEqual([])
    expect((await full(id)).content).toBe('text')
  })
})

function pick({ id, path, memory_store_id }: Json): object {
  return { id, path, memory_store_id }
}
