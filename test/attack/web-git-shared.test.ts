// T92: servers that share a database serve a store by git, each from its replica. The next answer
// has the changes of other servers, and their revocations, redactions and deletions end the fetches
// that are under way.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { openRemote, type RemoteStore } from '../../src/web/web.ts'
import { bareRemote, put } from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { author, contentsOf } from '../support/stores.ts'
import { requires } from '../support/tools.ts'
import {
  ask,
  fill,
  holdFetch,
  listOf,
  listPath,
  postFetch,
  sendingProcesses,
  startSharedWebGit,
  wanting,
  type WebGit,
} from '../support/web-git.ts'
import { webAuthor } from '../support/web-stores.ts'

const postgres = requires('postgres')

/** Gives a grant, which needs a remote. */
function giveGrant({ use }: WebGit, role: 'reader' | 'writer' = 'reader'): Promise<string> {
  return use(async (store) => {
    await put({ store }, '/a.md', 'early')
    await store.remotes.add('origin', bareRemote())
    return (await store.as(author).grants.give({ role })).text
  })
}

function openAt({ url, token }: WebGit, grant: string): Promise<RemoteStore> {
  const onAuth = async () => ({ username: 'page', password: token })
  return openRemote({ url, grant, onAuth })
}

async function statusOf(answer: Promise<Response>): Promise<number> {
  const { status, body } = await answer
  await body?.cancel()
  return status
}

describe.skipIf(postgres.missing)(`T92: a shared database${postgres.note}`, () => {
  let database: PostgresServer
  beforeAll(async () => {
    database = await startPostgres()
  })
  const start = () => startSharedWebGit(database.database())

  test('a store in RAM reads the same from each server, as new as the last write', async () => {
    const [one, two] = await start()
    const grant = await giveGrant(one)
    const stores = [await openAt(one, grant), await openAt(two, grant)] as const
    for (const store of stores) expect(await contentsOf(store)).toEqual({ '/a.md': 'early' })
    await one.use((store) => put({ store }, '/b.md', 'later'))
    const all = { '/a.md': 'early', '/b.md': 'later' }
    for (const store of stores) {
      await store.sync()
      expect(await contentsOf(store)).toEqual(all)
      await store.close()
    }
    const fresh = await openAt(two, grant)
    expect(await contentsOf(fresh)).toEqual(all)
    await fresh.close()
  })

  test('a store in RAM cannot write there, and holds no change that was refused', async () => {
    const [one, two] = await start()
    const grant = await giveGrant(one, 'writer')
    for (const at of [one, two]) {
      const store = await openAt(at, grant)
      const failure = failureOf(store.as(webAuthor).write('/x.md', 'x'))
      expect(await failure).toMatchObject({
        code: 'remote_auth',
        message: expect.stringContaining('taken back'),
      })
      expect(await contentsOf(store)).toEqual({ '/a.md': 'early' })
      await store.close()
    }
    await one.use(async (store) => expect(await contentsOf(store)).toEqual({ '/a.md': 'early' }))
  })

  test('a redaction reaches a store in RAM by the other server', async () => {
    const [one, two] = await start()
    const grant = await giveGrant(one)
    const store = await openAt(two, grant)
    const { HEAD: before = '' } = await listOf(two)
    await one.use((other) =>
      other.as(author).redact({ select: { path: '/a.md' }, reason: 'legal', current: 'delete' }),
    )
    const said = await (await postFetch(two, wanting(before))).text()
    expect(said).toContain('not our ref')
    expect(said).not.toContain('PACK')
    await store.sync()
    expect(await contentsOf(store)).toEqual({})
    await store.close()
  })

  test('a key fetches its own store, from each server, until it is revoked', async () => {
    const [one, two] = await start()
    const other = await one.another()
    const { administration, keyId } = one
    const api = await administration.createKey('api')
    for (const at of [one, two]) {
      expect(await statusOf(ask(at, listPath))).toBe(200)
      expect(await statusOf(ask({ ...at, token: other.token }, listPath))).toBe(404)
      expect(await statusOf(ask({ ...at, token: api.token }, listPath))).toBe(401)
      const push = ask(at, '/info/refs?service=git-receive-pack')
      expect(await statusOf(push)).toBe(403)
    }
    await administration.revokeKey(keyId)
    for (const at of [one, two]) expect(await statusOf(ask(at, listPath))).toBe(401)
  })

  test.each<[what: string, happens: (one: WebGit, two: WebGit) => Promise<unknown>]>([
    ['its key is revoked', ({ administration, keyId }) => administration.revokeKey(keyId)],
    [
      'a redaction of another server erases what it sends',
      async (_, { use }) => {
        const redaction = { select: { path: '/149.md' }, reason: 'leaked_secret' } as const
        await use((store) => store.as(author).redact({ ...redaction, current: 'delete' }))
      },
    ],
    [
      'another server deletes the store',
      async ({ administration, storeId }, { server }) => {
        const { token } = await administration.createKey('api')
        const headers = { 'x-api-key': token, 'anthropic-beta': 'agent-memory-2026-07-22' }
        const url = `${server}/v1/memory_stores/${storeId}`
        expect(await statusOf(fetch(url, { method: 'DELETE', headers }))).toBe(200)
      },
    ],
  ])('a fetch that is under way ends once %s', async (_, happens) => {
    const [one, two] = await start()
    await fill(one)
    const held = await holdFetch(one)
    // The one that sent the list may still end.
    await expect.poll(sendingProcesses).toHaveLength(1)
    await happens(one, two)
    await expect.poll(sendingProcesses, { timeout: 20_000 }).toEqual([])
    await expect(held.readOn()).rejects.toThrow('terminated')
  })
})
