// A store in RAM: what it reads with each kind of key, when its writes are at the remote, and the
// state after a failed push.

import { expect, test } from 'vitest'
import { formatIdentity } from '../../../src/index.ts'
import { openRemote } from '../../../src/web/web.ts'
import { sync } from '../../support/clones.ts'
import { failureOf, failureUnder } from '../../support/faulty-remotes.ts'
import { answer, on, pushing, report, stall } from '../../support/git-server.ts'
import { hold, mainAt } from '../../support/grant-holders.ts'
import { author, contentsOf } from '../../support/stores.ts'
import { git } from '../../support/temporary.ts'
import { openWeb, servedGrant, webAuthor } from '../../support/web-stores.ts'

const notes = {
  '/notes/0.md': 'text 0\n',
  '/notes/1.md': 'text 1\n',
  '/notes/2.md': 'text 2\n',
}

test('opens with a grant, lists, reads and searches', async () => {
  const world = await servedGrant()
  const store = await openWeb(world)
  expect(store.id).toBe(world.granter.store.id)
  expect(await contentsOf(store)).toEqual(notes)
  expect((await store.list('/'))?.children.length).toBe(1)
  const { data } = await store.search({ query: 'text' })
  expect(data.length).toBe(3)
  const [found] = (await store.memories()).data
  const earlier = failureOf(store.history.version(found?.versionId ?? ''))
  expect(await earlier).toMatchObject({ code: 'history_needed' })
  await store.close()
  expect(await failureOf(store.read('/notes/0.md'))).toMatchObject({ code: 'store_closed' })
})

test('an identity or a recovery key reads the whole history, and follows it', async () => {
  const { granter, server } = await servedGrant()
  const url = `${server.url}#${granter.store.id}`
  const { identity, recoveryKey } = granter.place
  const trustFirstContact = async (): Promise<boolean> => true
  for (const key of [{ identity: formatIdentity(identity) }, { recoveryKey }]) {
    expect(await failureOf(openRemote({ ...key, url }))).toMatchObject({ code: 'invalid_input' })
    const store = await openRemote({ ...key, url, trustFirstContact })
    expect(await contentsOf(store)).toEqual(await contentsOf(granter.store))
    expect((await store.history.versions()).data.length).toBeGreaterThan(4)
    const refused = store.as(webAuthor).write('/x.md', 'x')
    expect(await failureOf(refused)).toMatchObject({ code: 'permission_denied' })
    // A new keyring, which the recovery key opens too.
    await granter.store.as(author).keys.rotate()
    await granter.store.as(author).write('/notes/0.md', `for ${Object.keys(key)[0]}`)
    await sync(granter)
    const { received } = await store.sync()
    expect(received.commits).toBeGreaterThan(0)
    expect((await store.read('/notes/0.md'))?.content).toBe(`for ${Object.keys(key)[0]}`)
    await store.close()
  }
})

test('an older state than is accepted is not opened, or written to', async () => {
  const world = await servedGrant()
  let now = Date.now()
  const limited = { clock: () => now, maxAgeMs: 3_600_000 }
  const store = await openWeb(world, limited)
  now += 2 * 3_600_000
  expect(await failureOf(store.sync())).toMatchObject({ code: 'baseline_old' })
  const before = mainAt(world)
  const refused = failureOf(store.as(webAuthor).write('/late.md', 'late'))
  expect(await refused).toMatchObject({ code: 'baseline_old' })
  expect(mainAt(world)).toBe(before)
  expect(await failureOf(openWeb(world, limited))).toMatchObject({ code: 'baseline_old' })
  await store.close().catch(() => undefined)
})

test('an address that names a state needs no trust, and an older remote is refused', async () => {
  const { granter, server, url: repository } = await servedGrant()
  const old = mainAt({ url: repository })
  const { identity } = granter.place
  await granter.store.as(author).keys.rotate()
  await granter.store.as(author).write('/new.md', 'new')
  await sync(granter)
  const { address } = await granter.store.status()
  const url = `${server.url}#${address}`
  const store = await openRemote({ identity: formatIdentity(identity), url })
  expect((await store.read('/new.md'))?.content).toBe('new')
  await store.close()
  git(['update-ref', 'refs/heads/main', old], repository)
  const failure = failureOf(openRemote({ identity: formatIdentity(identity), url }))
  expect(await failure).toMatchObject({ code: 'rolled_back' })
})

test('a write is at the remote before it is answered', async () => {
  const world = await servedGrant()
  const store = await openWeb(world)
  await Promise.all([
    store.as(webAuthor).write('/notes/9.md', 'nine\n'),
    store.as(webAuthor).edit('/notes/0.md', (text) => text.toUpperCase()),
  ])
  // No close: the process may end here.
  const other = await hold(world)
  expect((await other.read('/notes/9.md'))?.content).toBe('nine\n')
  expect((await other.read('/notes/0.md'))?.content).toBe('TEXT 0\n')
  await other.close()
  await store.close()
})

test('a write that loses the race is merged and sent again', async () => {
  const world = await servedGrant()
  const [one, other] = [await openWeb(world), await openWeb(world)]
  await one.as(webAuthor).write('/one.md', 'one')
  await other.as(webAuthor).write('/other.md', 'other')
  await Promise.all([
    one.as(webAuthor).edit('/notes/0.md', (text) => `one\n${text}`),
    other.as(webAuthor).edit('/notes/0.md', (text) => `${text}other\n`),
  ])
  await Promise.all([one.sync(), other.sync()])
  const all = {
    ...notes,
    '/notes/0.md': 'one\ntext 0\nother\n',
    '/one.md': 'one',
    '/other.md': 'other',
  }
  expect(await contentsOf(one)).toEqual(all)
  expect(await contentsOf(other)).toEqual(all)
  await sync(world.granter)
  expect(await contentsOf(world.granter.store)).toEqual(all)
  await Promise.all([one.close(), other.close()])
})

test('a write that cannot be sent rejects and is taken back', async () => {
  const world = await servedGrant()
  const store = await openWeb(world)
  const before = mainAt(world)
  for (const [code, fault] of [
    ['remote_busy', on(pushing, answer(500, 'oops'))],
    ['remote_timeout', on(pushing, stall())],
    ['push_rejected', on(pushing, report('unpack ok\n', 'ng refs/heads/main no\n'))],
  ] as const) {
    const write = () => store.as(webAuthor).write('/new.md', 'new')
    const failure = await failureUnder(world.server, [code, fault], write)
    expect(failure).toMatchObject({ code })
    expect(failure.message).toContain('taken back')
    expect(await contentsOf(store)).toEqual(notes)
    expect(mainAt(world)).toBe(before)
  }
  await store.as(webAuthor).apply([{ type: 'create', path: '/new.md', content: 'again' }])
  await sync(world.granter)
  expect((await world.granter.store.read('/new.md'))?.content).toBe('again')
  await store.close()
})

test('a write whose answer is lost is at the remote once', async () => {
  const world = await servedGrant()
  const store = await openWeb(world)
  let lost = 0
  world.server.fault = (request, response) => {
    if (!pushing.test(`${request.method} ${request.url}`) || lost > 0) return false
    lost += 1
    // The push is made, and the connection breaks before the report.
    response.write = () => response.destroy() !== undefined
    return false
  }
  await store.as(webAuthor).write('/new.md', 'new')
  world.server.fault = undefined
  await sync(world.granter)
  const { data } = await world.granter.store.history.versions({ path: '/new.md' })
  expect(data.length).toBe(1)
  expect(lost).toBe(1)
  await store.close()
})

test('in the background, writes are sent by sync and close', async () => {
  const world = await servedGrant()
  const store = await openWeb(world, { sync: 'background' })
  const before = mainAt(world)
  await store.as(webAuthor).write('/a.md', 'a')
  expect(mainAt(world)).toBe(before)
  expect((await store.sync()).sent.commits).toBe(1)
  await store.as(webAuthor).write('/b.md', 'b')
  await store.close()
  await sync(world.granter)
  expect(await contentsOf(world.granter.store)).toEqual({ ...notes, '/a.md': 'a', '/b.md': 'b' })
})

test("a reader's grant writes nothing", async () => {
  const world = await servedGrant('reader')
  const store = await openWeb(world)
  const refused = store.as(webAuthor).write('/x.md', 'x')
  expect(await failureOf(refused)).toMatchObject({ code: 'permission_denied' })
  await store.close()
})

test('malformed options are refused', async () => {
  const world = await servedGrant()
  const { grant } = world
  const url = world.server.url
  const malformed: readonly unknown[] = [
    undefined,
    null,
    {},
    { url },
    { url, grant, recoveryKey: 'x' },
    { url: 1, grant },
    { url: 'ssh://host/path', grant },
    { url: '/srv/store.git', grant },
    { url: 'http://example.com/store.git', grant },
    { url: url.replace('//', '//me:secret@'), grant },
    { url, grant, http: null },
    { url, grant, http: {} },
    { url, grant, onAuth: 'secret' },
    { url, grant, corsProxy: 1 },
    { url, grant, corsProxy: 'ftp://x' },
    { url, grant, timeoutMs: -1 },
    { url, grant, maxAgeMs: 0 },
    { url, recoveryKey: 'GLKR1-X', maxAgeMs: 1 },
    { url, grant, sync: 'never' },
    { url, recoveryKey: 1 },
  ]
  for (const options of malformed) {
    // @ts-expect-error -- as plain JavaScript may call it
    expect(await failureOf(openRemote(options))).toMatchObject({ code: 'invalid_input' })
  }
  const failure = failureOf(openRemote({ url, grant: 'GLKG1-X' }))
  expect(await failure).toMatchObject({ code: 'invalid_identity' })
  expect(world.server.requests.length).toBe(0)
})
