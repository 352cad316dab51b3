// Memory Stores API §10.2 to §10.6: `SessionMemoryStores` of both generations of the SDK, with
// the session as the server made it: download, edit files, sync, flush, in both directions.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import * as toolset from '@anthropic-ai/sdk/tools/agent-toolset/node'
import Anthropic0 from 'anthropic-sdk-0'
import * as toolset0 from 'anthropic-sdk-0/tools/agent-toolset/node'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Json } from '../../support/http-caller.ts'
import { onServers, type StoreOnServer } from '../../support/running-server.ts'
import { temporaryDirectory } from '../../support/temporary.ts'

interface SyncClient {
  readonly readOnlyRoots: string[]
  download(session: Json): Promise<void>
  syncIfDue(): Promise<void>
  finish(): Promise<void>
  flushWrites(): Promise<void>
  dispose(): Promise<void>
}

type Make = (baseURL: string, token: string, workdir: string) => SyncClient

const quiet = { logLevel: 'off' } as const
const generations: readonly (readonly [name: string, make: Make])[] = [
  [
    '1.x',
    (baseURL, authToken, workdir) =>
      new toolset.SessionMemoryStores(
        new Anthropic({ baseURL, authToken, apiKey: null, ...quiet }),
        {
          workdir,
        },
      ),
  ],
  [
    '0.x',
    (baseURL, authToken, workdir) =>
      new toolset0.SessionMemoryStores(
        new Anthropic0({ baseURL, authToken, apiKey: null, ...quiet }),
        {
          workdir,
        },
      ),
  ],
]

onServers('sync client', (at) => {
  afterEach(() => void vi.useRealTimers())

  describe.each(generations)('SDK %s', (_, make) => {
    /** A session with its stores on disk, below a directory of the test instead of /mnt/memory. */
    const mounted = async (stores: readonly (StoreOnServer | object)[]) => {
      const workdir = temporaryDirectory()
      const session = await at.session(stores)
      const resources = session.resources.map((resource: Json) => ({
        ...resource,
        mount_path: resource.mount_path.replace('/mnt/memory', join(workdir, 'mnt')),
      }))
      const client = make(at.url, session.token, workdir)
      await client.download({ ...session, resources })
      const [root = ''] = resources.map(({ mount_path }: Json) => mount_path)
      return {
        client,
        session,
        write: (path: string, text: string | Uint8Array) => {
          mkdirSync(dirname(join(root, path)), { recursive: true })
          writeFileSync(join(root, path), text)
        },
        read: (path: string) => readFileSync(join(root, path), 'utf8'),
        has: (path: string) => existsSync(join(root, path)),
        remove: (path: string) => rmSync(join(root, path)),
        /** Syncs once it is due by the clock. */
        sync: async () => {
          vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 20_000 })
          await client.syncIfDue()
        },
      }
    }
    const contents = async (store: StoreOnServer): Promise<Record<string, string>> =>
      Object.fromEntries(
        (await store.memories('view=full')).map(({ path, content }) => [path, content]),
      )

    test('download brings every memory, over pages', { tags: 'slow' }, async () => {
      const store = await at.store({ name: 'Down' })
      for (let n = 10; n < 35; n++) await store.create(`/dir/${n}.md`, `text ${n}\r\n`)
      await store.create('/é b%.md', '\u00e9\n')
      const { read } = await mounted([store])
      for (let n = 10; n < 35; n++) expect(read(`dir/${n}.md`)).toBe(`text ${n}\r\n`)
      expect(read('é b%.md')).toBe('\u00e9\n')
    })

    test('files that are new or changed go to the server', { tags: 'slow' }, async () => {
      const store = await at.store({ name: 'Up' })
      await store.create('/a.md', 'a')
      const { sync, write, session } = await mounted([store])
      write('a.md', 'changed')
      write('new/b.md', 'new')
      write('bom.md', '\ufeffmarked')
      await sync()
      expect(await contents(store)).toEqual({
        '/a.md': 'changed',
        '/bom.md': 'marked',
        '/new/b.md': 'new',
      })
      const authors = (await store.versions('limit=3')).map(({ created_by }) => created_by)
      expect(authors).toContainEqual({ type: 'session_actor', session_id: session.id })
      const before = await store.versions()
      await sync()
      expect(await store.versions()).toEqual(before)
    })

    test('changes on the server are downloaded into the files', async () => {
      const store = await at.store({ name: 'Both' })
      const a = await store.create('/a.md', 'a')
      const b = await store.create('/b.md', 'b')
      const { sync, read, has } = await mounted([store])
      await store.update(a.id, { content: 'theirs' })
      await store.delete(b.id)
      await store.create('/c/d.md', 'd')
      await sync()
      expect([read('a.md'), has('b.md'), read('c/d.md')]).toEqual(['theirs', false, 'd'])
    })

    test('10.3: of two edits the one on the server wins', async () => {
      const store = await at.store({ name: 'Race' })
      const { id } = await store.create('/a.md', 'a')
      const { sync, read, write } = await mounted([store])
      await store.update(id, { content: 'theirs' })
      write('a.md', 'mine')
      await sync()
      expect(read('a.md')).toBe('theirs')
      expect(await contents(store)).toEqual({ '/a.md': 'theirs' })
    })

    test('10.3: an edited file of a deleted memory creates it again', async () => {
      const store = await at.store({ name: 'Anew' })
      const { id } = await store.create('/a.md', 'a')
      await store.create('/b.md', 'b')
      const { sync, write } = await mounted([store])
      await store.delete(id)
      write('a.md', 'mine')
      await sync()
      expect(await contents(store)).toEqual({ '/a.md': 'mine', '/b.md': 'b' })
    })

    test('10.2: a file that is missing is deleted at the last sync, not before', async () => {
      const store = await at.store({ name: 'Delete' })
      for (const name of ['a', 'b', 'c']) await store.create(`/${name}.md`, name)
      const { client, sync, remove } = await mounted([store])
      remove('a.md')
      await sync()
      expect(Object.keys(await contents(store))).toHaveLength(3)
      await client.finish()
      expect(await contents(store)).toEqual({ '/b.md': 'b', '/c.md': 'c' })
    })

    test('10.2: a flush sends many files and deletes nothing', { tags: 'slow' }, async () => {
      const store = await at.store({ name: 'Flush' })
      await store.create('/kept.md', 'kept')
      const { client, remove, write } = await mounted([store])
      remove('kept.md')
      for (let n = 0; n < 40; n++) write(`f${n}.md`, `${n}`)
      await client.flushWrites()
      const after = await contents(store)
      expect(Object.keys(after)).toHaveLength(41)
      expect(after['/f39.md']).toBe('39')
      expect(after['/kept.md']).toBe('kept')
    })

    test('10.3: a file that the server refuses delays no other', async () => {
      const store = await at.store({ name: 'Refused' })
      const { sync, write } = await mounted([store])
      write('large.md', 'x'.repeat(102_401))
      write('binary.md', new Uint8Array([0xff, 0xfe]))
      write('nul.md', 'a\0b')
      write('good.md', 'good')
      await sync()
      const stored = await contents(store)
      expect(stored['/good.md']).toBe('good')
      expect(stored).not.toHaveProperty('/large.md')
      expect(stored).not.toHaveProperty('/binary.md')
    })

    test('10.5: downloads a read_only store, and uploads nothing', async () => {
      const store = await at.store({ name: 'Read' })
      await store.create('/a.md', 'a')
      const resource = { type: 'memory_store', memory_store_id: store.id, access: 'read_only' }
      const { client, sync, write } = await mounted([resource])
      expect(client.readOnlyRoots).toHaveLength(1)
      write('b.md', 'b')
      await sync()
      await client.flushWrites()
      expect(await contents(store)).toEqual({ '/a.md': 'a' })
    })

    test('10.4: keeps the marker of the client on the disk', async () => {
      const store = await at.store({ name: 'Marker' })
      const { client, sync, has } = await mounted([store])
      await sync()
      expect(has('.anthropic-memory-store')).toBe(true)
      expect(await contents(store)).toEqual({})
      await client.dispose()
      expect(has('')).toBe(false)
    })

    test('10.6: a session is accepted as it is, even without a mount path', async () => {
      const store = await at.store({ name: 'As it is' })
      await store.create('/a.md', 'a')
      const workdir = temporaryDirectory()
      const session = await at.session([store])
      const resources = session.resources.map((one: Json) => ({ ...one, mount_path: null }))
      const client = make(at.url, session.token, workdir)
      await client.download({ ...session, resources })
      expect(readFileSync(join(workdir, 'memory/As it is/a.md'), 'utf8')).toBe('a')
      await client.dispose()
    })
  })
})
