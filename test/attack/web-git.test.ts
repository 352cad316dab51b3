// T92: a client of the routes that serve stores by git, with a token of another store or another
// kind, of a page that was not allowed, or with a body made to cost much, gets no byte of a store,
// changes nothing, and keeps no process.
// @module-tag slow

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { put } from '../support/clones.ts'
import { packet } from '../support/git-server.ts'
import { author } from '../support/stores.ts'
import { git } from '../support/temporary.ts'
import {
  ask,
  fill,
  holdFetch,
  listOf,
  listPath,
  postFetch,
  sendingProcesses,
  startWebGit,
  wanting,
  type WebGit,
  webOrigin,
} from '../support/web-git.ts'

const statusOf = async (answer: Promise<Response>): Promise<number> => {
  const { status, body } = await answer
  await body?.cancel()
  return status
}

const fetched = async (at: WebGit, body: Uint8Array<ArrayBuffer>): Promise<string> =>
  Buffer.from(await (await postFetch(at, body)).arrayBuffer()).toString('latin1')

describe('T92: credentials', () => {
  test('the key of another store is refused', async () => {
    const at = await startWebGit()
    const other = await at.another()
    const { head } = await at.use((store) => store.status())
    for (const token of [other.token]) {
      expect(await statusOf(ask({ url: at.url, token }, listPath))).toBe(404)
      expect(await statusOf(postFetch({ url: at.url, token }, wanting(head)))).toBe(404)
    }
    expect(await statusOf(ask(at, listPath))).toBe(200)
  })

  test('a revoked key is refused at once', async () => {
    const at = await startWebGit()
    expect(await statusOf(ask(at, listPath))).toBe(200)
    await at.administration.revokeKey(at.keyId)
    expect(await statusOf(ask(at, listPath))).toBe(401)
    expect(await statusOf(postFetch(at, wanting('0'.repeat(40))))).toBe(401)
  })

  test('a key of the API does not fetch, and a key that fetches is no key of the API', async () => {
    const at = await startWebGit()
    const api = await at.administration.createKey('api')
    const asked = ask({ url: at.url, token: api.token }, listPath)
    expect(await statusOf(asked)).toBe(401)
    const headers = { 'anthropic-beta': 'agent-memory-2026-07-22' }
    for (const token of [
      at.token,
      at.token.replace('glf', 'glk'),
      at.token.replace('glf', 'gls'),
    ]) {
      for (const path of ['/v1/memory_stores', `/v1/memory_stores/${at.storeId}/memories`]) {
        expect(await statusOf(ask({ url: at.server, token }, path, { headers }))).toBe(401)
        const asKey = { headers: { ...headers, 'x-api-key': token } }
        expect(await statusOf(fetch(`${at.server}${path}`, asKey))).toBe(401)
      }
    }
    const asFetch = api.token.replace('glk', 'glf')
    expect(await statusOf(ask({ url: at.url, token: asFetch }, listPath))).toBe(401)
  })

  test.each<[name: string, authorization: (token: string) => string]>([
    ['another scheme', (token) => `Token ${token}`],
    ['a password with more behind it', (token) => `Basic ${btoa(`git:${token}:`)}`],
    ['a password that is cut', (token) => `Basic ${btoa(`git:${token.slice(0, -1)}`)}`],
    ['bytes that are not base64', () => 'Basic !!!!'],
    ['an empty one', () => ''],
    ['two tokens', (token) => `Bearer ${token}, Bearer ${token}`],
    ['a long one', (token) => `Bearer ${token}${'x'.repeat(8000)}`],
  ])('refuses %s', async (_, authorization) => {
    const at = await startWebGit()
    const headers = { authorization: authorization(at.token) }
    const answer = await fetch(`${at.url}${listPath}`, { headers })
    expect(answer.status).toBe(401)
    expect(await answer.text()).not.toContain(at.storeId)
  })

  test('without one, all paths answer the same', async () => {
    const at = await startWebGit()
    const missing = `${at.server}/git/memstore_${'0'.repeat(26)}.git`
    for (const url of [at.url, missing, `${at.server}/git/..%2f..git`]) {
      expect(await statusOf(fetch(`${url}${listPath}`))).toBe(401)
    }
  })
})

describe('T92: origins', () => {
  test('an allowed page reads answers, errors too, and sends no cookie', async () => {
    const at = await startWebGit()
    const headers = { origin: webOrigin }
    for (const token of [at.token, 'wrong']) {
      const { headers: said } = await ask({ url: at.url, token }, listPath, { headers })
      expect(said.get('access-control-allow-origin')).toBe(webOrigin)
      expect(said.get('access-control-allow-credentials')).toBeNull()
      expect(said.get('vary')).toBe('Origin')
      expect(said.get('www-authenticate')).toBeNull()
    }
    const asks = { ...headers, 'access-control-request-method': 'POST' }
    const before = await fetch(`${at.url}/git-upload-pack`, { method: 'OPTIONS', headers: asks })
    expect([before.status, await before.text()]).toEqual([200, ''])
    expect(before.headers.get('access-control-allow-origin')).toBe(webOrigin)
    expect(before.headers.get('access-control-allow-headers')).toContain('authorization')
  })

  test.each(['https://evil.example', 'http://app.example', 'https://app.example:444', 'null'])(
    'a page of %s is refused',
    async (origin) => {
      const at = await startWebGit()
      const headers = { origin }
      for (const method of ['GET', 'OPTIONS']) {
        const answer = await ask(at, listPath, { method, headers })
        expect(answer.status).toBe(403)
        expect(answer.headers.get('access-control-allow-origin')).toBeNull()
        expect(await answer.text()).not.toContain('refs/')
      }
    },
  )

  test('no page of the list may call the API', async () => {
    const at = await startWebGit()
    const headers = { origin: webOrigin }
    for (const method of ['GET', 'OPTIONS']) {
      const answer = await fetch(`${at.server}/v1/memory_stores`, { method, headers })
      expect(answer.status).toBe(403)
      expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    }
  })

  test.each(['*', 'null', 'app.example', 'https://app.example/', 'file:///a'])(
    'the origin %s cannot be allowed',
    async (origin) => {
      const started = startWebGit({ origins: [origin] })
      await expect(started).rejects.toMatchObject({ code: 'invalid_input' })
    },
  )
})

describe('T92: requests', () => {
  test('nothing can be pushed, and no file is served', async () => {
    const at = await startWebGit()
    const type = { 'content-type': 'application/x-git-receive-pack-request' }
    const post = { method: 'POST', body: '0000', headers: type }
    expect(await statusOf(ask(at, '/git-receive-pack', post))).toBe(403)
    expect(await statusOf(ask(at, '/info/refs?service=git-receive-pack'))).toBe(403)
    for (const path of [
      '/info/refs',
      '/info/refs?service=git-upload-archive',
      '/git-upload-pack',
    ]) {
      expect(await statusOf(ask(at, path))).toBe(404)
    }
    for (const path of ['/HEAD', '/config', '/objects/info/packs', '/gitlocket/journal-0']) {
      expect(await statusOf(ask(at, path))).not.toBe(200)
    }
  })

  test.each<[name: string, body: (head: string) => Uint8Array<ArrayBuffer> | string]>([
    ['nothing', () => ''],
    ['text', () => 'hello'],
    ['a length of three', () => '0003'],
    ['a length beyond the end', (head) => `ffffwant ${head}\n`],
    ['another command', () => '0014command=ls-refs\n0000'],
    ['a filter', (head) => `0032want ${head}\n0012filter blob:x0000`],
    ['a ref in place of an object', () => '0019want refs/heads/main\n0000'],
    ['a want after the wants', (head) => `0032want ${head}\n00000032want ${head}\n0000`],
  ])('refuses %s before git sees it', async (_, body) => {
    const at = await startWebGit()
    const { HEAD = '' } = await listOf(at)
    expect(await statusOf(postFetch(at, body(HEAD)))).toBe(400)
  })

  test('refuses wants without an end, and what inflates to more', async () => {
    const at = await startWebGit()
    const { HEAD = '' } = await listOf(at)
    const line = packet(`want ${HEAD}\n`)
    const many = Buffer.concat(Array<Buffer>(40_000).fill(line))
    expect(await statusOf(postFetch(at, many))).toBe(413)
    expect(await statusOf(postFetch(at, many.subarray(0, 20_000 * line.length)))).toBe(400)
    const gzip = { 'content-encoding': 'gzip' }
    const bomb = gzipSync(Buffer.alloc(200 * 2 ** 20, '0'))
    expect(await statusOf(postFetch(at, bomb, gzip))).toBe(413)
    expect(await statusOf(postFetch(at, 'no gzip', gzip))).toBe(400)
    expect(await statusOf(postFetch(at, wanting(HEAD), { 'content-encoding': 'br' }))).toBe(400)
    const sent = postFetch(at, new Uint8Array(gzipSync(wanting(HEAD))), gzip)
    expect(Buffer.from(await (await sent).arrayBuffer()).includes('PACK')).toBe(true)
  })

  test('sends no object that no shown ref reaches', async () => {
    const at = await startWebGit()
    await at.use((store) => put({ store }, '/a.md'))
    const oid = git(['hash-object', '-w', '--stdin'], at.directory, 'a stray blob').trim()
    git(['update-ref', 'refs/heads/hidden', 'main'], at.directory)
    const hidden = git(['commit-tree', 'main^{tree}', '-m', 'hidden'], at.directory).trim()
    git(['update-ref', 'refs/heads/hidden', hidden], at.directory)
    expect(Object.values(await listOf(at))).not.toContain(hidden)
    for (const want of [oid, hidden])
      expect(await fetched(at, wanting(want))).toContain('not our ref')
  })

  test('runs nothing that the configuration of the store names', async () => {
    const at = await startWebGit()
    await listOf(at)
    const mark = `${at.directory}/../../ran`
    const hook = `touch ${mark}; exec "$@"`
    const config = `[uploadpack]\n\tpackObjectsHook = "${hook}"\n[core]\n\tfsmonitor = "${hook}"\n`
    const caches = `${at.directory}/gitlocket/cache`
    const served = readdirSync(caches).find((name) => name.startsWith('served-'))
    for (const place of ['config', `gitlocket/cache/${served}/config`]) {
      const before = readFileSync(`${at.directory}/${place}`, 'utf8')
      writeFileSync(`${at.directory}/${place}`, before + config)
    }
    const { HEAD = '' } = await listOf(at)
    expect(await fetched(at, wanting(HEAD))).toContain('PACK')
    expect(() => readFileSync(mark)).toThrow('ENOENT')
  })
})

describe('T92: served objects', () => {
  test('a fetch that began before a write continues', async () => {
    const at = await startWebGit()
    const { HEAD = '' } = await listOf(at)
    await at.use((store) => put({ store }, '/later.md'))
    expect(await fetched(at, wanting(HEAD))).toContain('PACK')
  })

  test('nothing that a redaction has erased', async () => {
    const at = await startWebGit()
    const version = await at.use((store) => put({ store }, '/a.md', 'a secret'))
    await at.use((store) => put({ store }, '/a.md', 'no secret'))
    const { HEAD: before = '' } = await listOf(at)
    const select = { versionIds: [version] }
    await at.use((store) => store.as(author).redact({ select, reason: 'leaked_secret' }))
    const said = await fetched(at, wanting(before))
    expect(said).toContain('not our ref')
    expect(said).not.toContain('PACK')
    const { HEAD = '' } = await listOf(at)
    expect(HEAD).not.toBe(before)
    expect(await fetched(at, wanting(HEAD))).toContain('PACK')
  })

  test('a client that leaves keeps no process', async () => {
    const at = await startWebGit()
    await fill(at)
    const { HEAD = '' } = await listOf(at)
    const leaving = new AbortController()
    const { signal } = leaving
    const answers = Array.from({ length: 8 }, () => postFetch(at, wanting(HEAD), {}, signal))
    const ended = Promise.allSettled(answers)
    // They stand still, since the client reads nothing. The others wait.
    await Promise.race(answers)
    await expect.poll(() => sendingProcesses().length).toBe(4)
    leaving.abort()
    await ended
    await expect.poll(sendingProcesses, { timeout: 10_000 }).toEqual([])
    expect(await fetched(at, wanting(HEAD))).toContain('PACK')
  })

  test.each<[what: string, happens: (at: WebGit) => Promise<unknown>]>([
    ['its key is revoked', ({ administration, keyId }) => administration.revokeKey(keyId)],
    [
      'a redaction erases what it sends, though others fetch at once',
      async (at) => {
        const redaction = { select: { path: '/149.md' }, reason: 'leaked_secret' } as const
        await at.use((store) => store.as(author).redact({ ...redaction, current: 'delete' }))
        const { HEAD = '' } = await listOf(at)
        expect(await fetched(at, wanting(HEAD))).toContain('PACK')
      },
    ],
  ])('a fetch that is under way ends once %s', async (_, happens) => {
    const at = await startWebGit()
    await fill(at)
    const held = await holdFetch(at)
    // The one that sent the list may still end.
    await expect.poll(sendingProcesses).toHaveLength(1)
    await happens(at)
    await expect.poll(sendingProcesses, { timeout: 20_000 }).toEqual([])
    await expect(held.readOn()).rejects.toThrow('terminated')
  })
})
