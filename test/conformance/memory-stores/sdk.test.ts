// The SDK of both generations, which knows the server by its `baseURL` alone: every method, pages,
// errors, retries and request options (Memory Stores API §1 to §8 as a program meets them).

import Anthropic from '@anthropic-ai/sdk'
import Anthropic0 from 'anthropic-sdk-0'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Json } from '../../support/http-caller.ts'
import { onServers } from '../../support/running-server.ts'
import { apiActor, memoryObject, sha256, storeObject, versionObject } from './objects.ts'

interface Asked {
  readonly url: string
  readonly status: number
  readonly headers: Headers
}

/** Both generations have the same methods here; their types differ in names alone. */
type Client = Pick<Anthropic, 'beta'>
type Options = Pick<
  NonNullable<ConstructorParameters<typeof Anthropic>[0]>,
  'apiKey' | 'authToken' | 'baseURL' | 'fetch' | 'maxRetries'
>

const generations: readonly (readonly [name: string, make: (options: Options) => Client])[] = [
  ['1.x', (options) => new Anthropic(options)],
  ['0.x', (options): Json => new Anthropic0(options)],
]

onServers('sdk', (at) => {
  describe.each(generations)('SDK %s', (name, make) => {
    let client: Client
    let asked: Asked[]
    const connect = (options: Options = {}): Client => {
      asked = []
      return make({
        apiKey: at.key.secret,
        baseURL: at.url,
        fetch: async (url, init) => {
          const answer = await fetch(url, init)
          const headers = new Headers(init?.headers)
          asked.push({ url: answer.url, status: answer.status, headers })
          return answer
        },
        ...options,
      })
    }
    const failure = async (call: Promise<unknown>): Promise<Json> => {
      try {
        await call
      } catch (error) {
        return error
      }
      throw new Error('the call was to be refused')
    }
    beforeAll(() => {
      client = connect()
    })

    test('1.2, 1.3: it authenticates in its own way', async () => {
      const fresh = connect()
      await fresh.beta.memoryStores.list()
      const [{ url, headers, status } = { url: '', headers: new Headers(), status: 0 }] = asked
      expect(status).toBe(200)
      const old = name === '0.x'
      expect(headers.get(old ? 'x-api-key' : 'authorization')).toContain(at.key.secret)
      expect(headers.get('anthropic-version')).toBe(old ? '2023-06-01' : '2026-10-21')
      expect(url.endsWith('?beta=true')).toBe(old)
    })

    test('1.2: authToken is a bearer', async () => {
      const bearer = connect({ apiKey: null, authToken: at.key.secret })
      await bearer.beta.memoryStores.list()
      expect(asked).toMatchObject([{ status: 200 }])
    })

    test('5: stores', async () => {
      const { memoryStores } = client.beta
      const store = await memoryStores.create({ name: 'by SDK', metadata: { a: 'b' } })
      const expected = { id: store.id, name: 'by SDK', metadata: { a: 'b' } }
      expect({ ...store }).toEqual(storeObject(expected))
      expect({ ...(await memoryStores.retrieve(store.id)) }).toEqual({ ...store })
      const changed = await memoryStores.update(store.id, {
        description: 'new',
        metadata: { a: null, c: 'd' },
      })
      expect(changed).toMatchObject({ description: 'new', metadata: { c: 'd' }, name: 'by SDK' })
      const page = await memoryStores.list({ limit: 1, 'created_at[gte]': store.created_at })
      expect(page.data.map(({ id }) => id)).toEqual([store.id])
      expect((await memoryStores.archive(store.id)).archived_at).toEqual(expect.any(String))
      const archived = await memoryStores.list({ include_archived: true, limit: 1 })
      expect(archived.data[0]?.id).toBe(store.id)
      expect({ ...(await memoryStores.delete(store.id)) }).toEqual({
        id: store.id,
        type: 'memory_store_deleted',
      })
    })

    test('6, 7, 8: memories and versions', async () => {
      const { memories, memoryVersions } = client.beta.memoryStores
      const { id } = await client.beta.memoryStores.create({ name: 'memories' })
      const there = { memory_store_id: id }
      const made = await memories.create(id, { path: '/a b/é%?.md', content: 'é', view: 'full' })
      expect({ ...made }).toEqual(memoryObject('é', { path: '/a b/é%?.md' }, 'full'))
      const changed = await memories.update(made.id, {
        ...there,
        content: 'b',
        precondition: { type: 'content_sha256', content_sha256: sha256('é') },
      })
      expect({ ...changed }).toEqual(memoryObject('b', { id: made.id, path: '/a b/é%?.md' }))
      expect((await memories.retrieve(made.id, there)).content).toBe('b')
      expect((await memories.retrieve(made.id, { ...there, view: 'basic' })).content).toBeNull()
      const listed = await memories.list(id, { path_prefix: '/a b/', depth: 1 })
      expect(listed.data.map(({ path }) => path)).toEqual(['/a b/é%?.md'])
      const prefixes = await memories.list(id, { depth: 1, view: 'full' })
      expect(prefixes.data).toEqual([{ type: 'memory_prefix', path: '/a b/' }])
      const version = await memoryVersions.retrieve(made.memory_version_id, there)
      expect({ ...version }).toEqual(
        versionObject('é', { id: made.memory_version_id, memory_id: made.id }, 'full'),
      )
      const redacted = await memoryVersions.redact(made.memory_version_id, there)
      expect(redacted).toMatchObject({ path: null, redacted_by: apiActor(at.key.id) })
      const gone = await memories.delete(made.id, {
        ...there,
        expected_content_sha256: sha256('b'),
      })
      expect({ ...gone }).toEqual({ id: made.id, type: 'memory_deleted' })
      const operations: string[] = []
      const filter = { memory_id: made.id, api_key_id: at.key.id, limit: 1 }
      for await (const { operation } of memoryVersions.list(id, filter)) operations.push(operation)
      expect(operations).toEqual(['deleted', 'modified', 'created'])
      const deletions = await memoryVersions.list(id, { operation: 'deleted' })
      expect(deletions.data).toHaveLength(1)
    })

    test('4.2: it reads all pages', async () => {
      const { id } = await client.beta.memoryStores.create({ name: 'pages' })
      for (let n = 10; n < 33; n++) {
        await client.beta.memoryStores.memories.create(id, { path: `/${n}`, content: '' })
      }
      const list = client.beta.memoryStores.memories.list(id, { limit: 5, path_prefix: '/' })
      const paths: string[] = []
      for await (const { path } of list) paths.push(path)
      expect(paths).toEqual(Array.from({ length: 23 }, (_, n) => `/${n + 10}`))
    })

    test('1.6, 1.7: withResponse shows request and workspace', async () => {
      const { response, ...ids } = await client.beta.memoryStores.list().withResponse()
      expect(ids.request_id).toBe(response.headers.get('request-id'))
      expect(response.headers.get('anthropic-workspace-id')).toBe(at.key.workspaceId)
      if (name === '1.x') expect(ids.workspace_id).toBe(at.key.workspaceId)
    })

    test('2.1: an error has its status, its type and its request', async () => {
      const error = await failure(client.beta.memoryStores.retrieve('memstore_none'))
      expect(error.constructor.name).toBe('NotFoundError')
      expect(error.status).toBe(404)
      expect(error.error.error.type).toBe('not_found_error')
      expect(error.requestID).toBe(error.error.request_id)
      if (name === '1.x') expect(error.workspaceID).toBe(at.key.workspaceId)
    })

    test.each<[status: number, type: string, call: (client: Client) => Promise<unknown>]>([
      [400, 'BadRequestError', async (c) => c.beta.memoryStores.create({ name: '' })],
      [404, 'NotFoundError', async (c) => c.beta.memoryStores.delete('memstore_none')],
    ])('2.2: %d is a %s, asked once', async (status, type, call) => {
      const fresh = connect()
      const error = await failure(call(fresh))
      expect({ status: error.status, type: error.constructor.name }).toEqual({ status, type })
      expect(asked.map((one) => one.status)).toEqual([status])
    })

    test('1.2: an unknown key is an AuthenticationError, asked once', async () => {
      const stranger = connect({ apiKey: 'sk-ant-unknown' })
      const error = await failure(stranger.beta.memoryStores.list())
      expect(error.constructor.name).toBe('AuthenticationError')
      expect(asked).toHaveLength(1)
    })

    test('2.3, 2.6: conflicts name their kind, and are not retried', async () => {
      const fresh = connect()
      const { memories } = fresh.beta.memoryStores
      const { id } = await fresh.beta.memoryStores.create({ name: 'conflicts' })
      const made = await memories.create(id, { path: '/a', content: 'a' })
      const taken = await failure(memories.create(id, { path: '/a/b', content: 'b' }))
      expect(taken.constructor.name).toBe('ConflictError')
      expect(taken.error.error).toMatchObject({
        type: 'memory_path_conflict_error',
        conflicting_memory_id: made.id,
        conflicting_path: '/a',
      })
      const stale = await failure(
        memories.update(made.id, {
          memory_store_id: id,
          content: 'b',
          precondition: { type: 'content_sha256', content_sha256: sha256('other') },
        }),
      )
      expect(stale.error.error.type).toBe('memory_precondition_failed_error')
      expect(asked.map(({ status }) => status)).toEqual([200, 200, 409, 409])
    })

    test('1.5: naming the other beta too is refused', async () => {
      const both = { name: 'both', betas: ['managed-agents-2026-04-01' as const] }
      expect((await failure(client.beta.memoryStores.create(both))).status).toBe(400)
      const same = { name: 'same', betas: ['agent-memory-2026-07-22' as const] }
      const { id } = await client.beta.memoryStores.create(same)
      expect(id).toMatch(/^memstore_/)
    })

    test('1.6: a workspace header is accepted', async () => {
      const headers = { 'anthropic-workspace-id': at.key.workspaceId }
      const made = await client.beta.memoryStores.create({ name: 'w' }, { headers })
      const wrong = { 'anthropic-workspace-id': at.foreignKey.workspaceId }
      const error = await failure(
        client.beta.memoryStores.retrieve(made.id, {}, { headers: wrong }),
      )
      expect([400, 403]).toContain(error.status)
    })

    test('6.4: content null, which its type permits, is refused', async () => {
      const { id } = await client.beta.memoryStores.create({ name: 'null' })
      const { memories } = client.beta.memoryStores
      const error = await failure(memories.create(id, { path: '/a', content: null }))
      expect(error.status).toBe(400)
    })

    test('10.2: 32 creations and 16 retrievals at a time', async () => {
      const { memories } = client.beta.memoryStores
      const { id } = await client.beta.memoryStores.create({ name: 'crowd' })
      const made = await Promise.all(
        Array.from({ length: 32 }, (_, n) =>
          memories.create(id, { path: `/${n}`, content: `${n}` }),
        ),
      )
      const read = await Promise.all(
        made.slice(0, 16).map((one) => memories.retrieve(one.id, { memory_store_id: id })),
      )
      expect(read.map(({ content }) => content)).toEqual(
        Array.from({ length: 16 }, (_, n) => `${n}`),
      )
    })
  })
})
