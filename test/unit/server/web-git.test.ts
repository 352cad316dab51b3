// Fetching a store by git from a server: stock git, isomorphic-git and this library, each with a
// key that fetches.

import { execFile } from 'node:child_process'
import * as fs from 'node:fs'
import { existsSync, readdirSync } from 'node:fs'
import { promisify } from 'node:util'
import { addRemote, fetch as fetchInto, getRemoteInfo2, init } from 'isomorphic-git'
import http from 'isomorphic-git/http/node'
import { expect, test } from 'vitest'
import {
  formatDeviceCard,
  generateIdentity,
  joinStore,
  type MemoryStore,
  openGranted,
} from '../../../src/index.ts'
import { openRemote } from '../../../src/web/web.ts'
import { alone, bareRemote, put, trusting } from '../../support/clones.ts'
import { create, holderPlace } from '../../support/grant-holders.ts'
import { author, leastStretch } from '../../support/stores.ts'
import { cleanEnvironment, git, temporaryDirectory } from '../../support/temporary.ts'
import { ask, listPath, refsIn, startWebGit, type WebGit } from '../../support/web-git.ts'

/** Not in this thread, in which the server is. */
const runGit = async (...args: readonly string[]): Promise<string> => {
  const how = { cwd: '/', env: cleanEnvironment() }
  return (await promisify(execFile)('git', args, how)).stdout
}

const gitWith = ({ token }: Pick<WebGit, 'token'>, ...args: readonly string[]): Promise<string> =>
  runGit('-c', `http.extraHeader=Authorization: Bearer ${token}`, ...args)

/** How this library reaches the store, with the key as a password. */
const accessTo = ({ url, token }: Pick<WebGit, 'url' | 'token'>) => ({
  url,
  access: {
    environment: cleanEnvironment(),
    credentials: async () => ({ username: 'git', password: token }),
  },
})

const headOf = (store: MemoryStore): Promise<string> => store.status().then(({ head }) => head)

test('serves a clone and a fetch of stock git, as new as the last write', async () => {
  const at = await startWebGit()
  const directory = `${temporaryDirectory()}/clone.git`
  await at.use((store) => put({ store }, '/a.md'))
  await gitWith(at, 'clone', '--quiet', '--bare', at.url, directory)
  await at.use(async (store) => {
    await put({ store }, '/b.md')
    // The commit is in the journal: git does not see it in the store's own repository.
    await gitWith(at, '-C', directory, 'fetch', '--quiet', 'origin', 'main:main')
    expect(git(['rev-parse', 'main'], directory).trim()).toBe(await headOf(store))
  })
  git(['fsck', '--strict'], directory)
})

test('serves a shallow clone, and deepens it', async () => {
  const at = await startWebGit()
  const directory = `${temporaryDirectory()}/clone.git`
  await at.use(async (store) => {
    for (let n = 0; n < 4; n += 1) await put({ store }, '/a.md', `text ${n}`)
  })
  await gitWith(at, 'clone', '--quiet', '--bare', '--depth', '1', at.url, directory)
  expect(git(['rev-list', '--count', 'main'], directory).trim()).toBe('1')
  await gitWith(at, '-C', directory, 'fetch', '--quiet', '--unshallow')
  expect(git(['rev-list', '--count', 'main'], directory).trim()).toBe('5')
})

test('takes the key as the password of a credential', async () => {
  const at = await startWebGit()
  const url = at.url.replace('://', `://git:${at.token}@`)
  expect(await runGit('ls-remote', url)).toContain('refs/heads/main')
})

test('serves isomorphic-git', async () => {
  const at = await startWebGit()
  await at.use((store) => put({ store }, '/a.md'))
  const onAuth = () => ({ username: 'git', password: at.token })
  const { url } = at
  const remote = await getRemoteInfo2({ http, url, onAuth, protocolVersion: 1 })
  expect(remote.refs?.map(({ ref }) => ref)).toContain('refs/heads/main')
  const dir = temporaryDirectory()
  const how = { fs, http, dir, url, onAuth }
  await init({ fs, dir })
  await addRemote({ fs, dir, remote: 'origin', url })
  const { fetchHead } = await fetchInto({ ...how, ref: 'main', singleBranch: true })
  await at.use(async (store) => expect(fetchHead).toBe(await headOf(store)))
})

test('a device joins by it', async () => {
  const at = await startWebGit()
  await at.use((store) => put({ store }, '/a.md', 'a text'))
  const identity = await generateIdentity()
  await at.use((store) => store.as(author).devices.add(formatDeviceCard(identity), 'reader', alone))
  const root = temporaryDirectory()
  const place = { directory: `${root}/store`, stateDirectory: `${root}/state`, identity }
  const store = await joinStore({
    ...place,
    ...accessTo(at),
    ...trusting,
    author,
    storeId: at.storeId,
    stretch: leastStretch,
  })
  expect((await store.read('/a.md'))?.content).toBe('a text')
  await store.close()
})

test("a grant's holder begins with a start, and no ref of the store is shown", async () => {
  const at = await startWebGit()
  const grant = await at.use(async (store) => {
    for (let n = 0; n < 3; n += 1) await put({ store }, `/${n}.md`, `text ${n}`)
    await store.remotes.add('origin', bareRemote())
    const { text } = await store.as(author).grants.give({ role: 'reader' })
    return text
  })
  expect(existsSync(`${at.directory}/refs/remotes/origin`)).toBe(true)
  git(['update-ref', 'refs/gitlocket/evidence', 'main'], at.directory)
  git(['tag', 'of-the-store', 'main'], at.directory)
  const refs = Object.keys(refsIn(await (await ask(at, listPath)).text()))
  expect(refs.map((name) => name.replace(/[0-9a-f]{32}$/, '')).toSorted()).toEqual([
    'HEAD',
    'refs/gitlocket/baseline/',
    'refs/gitlocket/wraps/',
    'refs/heads/main',
  ])
  const store = await openGranted({
    ...accessTo(at),
    ...holderPlace(),
    grant,
    stretch: leastStretch,
  })
  expect((await store.read('/2.md'))?.content).toBe('text 2')
  await store.close()
})

test('a store in RAM opens with a grant, and learns of changes', async () => {
  const at = await startWebGit()
  const grant = await at.use(async (store) => {
    await put({ store }, '/a.md', 'early')
    await store.remotes.add('origin', bareRemote())
    return (await store.as(author).grants.give({ role: 'reader' })).text
  })
  const onAuth = async () => ({ username: 'page', password: at.token })
  const store = await openRemote({ url: at.url, grant, onAuth })
  expect((await store.read('/a.md'))?.content).toBe('early')
  await at.use((other) => put({ store: other }, '/b.md', 'later'))
  await store.sync()
  expect((await store.read('/b.md'))?.content).toBe('later')
  await store.close()
})

test('makes a start again after a redaction', async () => {
  const at = await startWebGit()
  const { grant, versionId } = await at.use(async (store) => {
    const version = await put({ store }, '/a.md', 'secret')
    await put({ store }, '/a.md', 'public')
    await store.remotes.add('origin', bareRemote())
    return { grant: (await store.as(author).grants.give()).text, versionId: version }
  })
  const before = refsIn(await (await ask(at, listPath)).text())
  await at.use((store) =>
    store.as(author).redact({ select: { versionIds: [versionId] }, reason: 'unspecified' }),
  )
  const after = refsIn(await (await ask(at, listPath)).text())
  for (const [name, oid] of Object.entries(before)) expect(after[name], name).not.toBe(oid)
  const files = readdirSync(`${at.directory}/gitlocket`, { recursive: true }).map(String)
  for (const oid of Object.values(before)) {
    expect(files.some((path) => path.endsWith(oid.slice(2)))).toBe(false)
  }
  const store = await openGranted({
    ...accessTo(at),
    ...holderPlace(),
    grant,
    stretch: leastStretch,
  })
  expect((await store.read('/a.md'))?.content).toBe('public')
  await store
    .as(author)
    .apply([create('/b.md')])
    .catch(() => undefined)
  await store.close().catch(() => undefined)
})

test('needs the program git', async () => {
  const missing = startWebGit({ environment: { PATH: '/nowhere' } })
  await expect(missing).rejects.toMatchObject({ code: 'invalid_input' })
})
