// T96: anyone who may push to a remote fills it with refs. Syncs find the branch and the refs that
// they need, over each transport, push and fetch as before, and report the junk once. FORMAT §12.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore, type SyncReport } from '../../src/index.ts'
import { parseGrant } from '../../src/keys/wraps.ts'
import { bareRemote, type Clone, firstClone, joinClone, put } from '../support/clones.ts'
import { environment } from '../support/faulty-remotes.ts'
import { startGitServer } from '../support/git-server.ts'
import { giveMore, hold, syncHolder, writeAs } from '../support/grant-holders.ts'
import { author, contentsOf, leastStretch } from '../support/stores.ts'
import { git } from '../support/temporary.ts'

const access = { environment }

/** Adds refs to the packed ones of a repository. */
function addRefs(url: string, names: readonly string[]): void {
  const oid = git(['rev-parse', 'main'], url).trim()
  git(['pack-refs', '--all'], url)
  const file = join(url, 'packed-refs')
  const [, ...packed] = readFileSync(file, 'utf8').trimEnd().split('\n')
  const refs = [...packed, ...names.map((name) => `${oid} ${name}`)]
  const nameOf = (line: string): string => line.slice(oid.length)
  const sorted = refs.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  writeFileSync(file, ['# pack-refs with: peeled sorted ', ...sorted, ''].join('\n'))
}

function hex(n: number): string {
  return n.toString(16).padStart(32, '0')
}

/** Listed before the branch and before the refs that grants need. */
const branches = Array.from({ length: 12_000 }, (_, n) => `refs/heads/a/${n}`)
const junk: readonly string[] = [
  ...branches,
  ...['baseline', 'wraps'].flatMap((kind) =>
    Array.from({ length: 4100 }, (_, n) => `refs/gitlocket/${kind}/${hex(n)}`),
  ),
  `refs/heads/b/${Array(20).fill('x'.repeat(200)).join('/')}`,
]
const ignored = 12_001 + 2 * (4100 - 1024)

async function syncOver({ store }: Pick<Clone, 'store'>): Promise<SyncReport> {
  return store.as(author).sync({ access })
}

const slow = { tags: 'slow' } as const
const served = async (repository: string): Promise<string> => {
  return (await startGitServer({ repository })).url
}

test.each([
  ['a path', async (repository: string): Promise<string> => repository],
  ['http', served],
])('T96: a remote full of refs, over %s, is fetched from and pushed to', slow, async (_, serve) => {
  const repository = bareRemote()
  const url = await serve(repository)
  const granter = await firstClone(url)
  await syncOver(granter)
  const other = await joinClone(granter, url, { storeId: granter.store.id, access })
  await syncOver(granter)
  addRefs(repository, junk)
  await put(granter, '/pushed.md')
  expect(await syncOver(granter)).toMatchObject({ sent: { commits: 1 }, ignoredRefs: ignored })
  await put(other, '/back.md')
  // The granter's syncs remove refs of grants that are of no device.
  expect((await syncOver(other)).ignoredRefs).toBeGreaterThan(12_000)
  expect((await syncOver(granter)).ignoredRefs).toBeUndefined()
  const { grant } = await giveMore(granter)
  await put(granter, '/last.md')
  const { grants } = await syncOver(granter)
  expect([grants?.failure, grants?.wereLost ?? false]).toEqual([undefined, false])
  // The refs of this grant stand behind thousands of others.
  expect(parseGrant(grant).name > hex(4100)).toBe(true)
  const held = await hold({ url, grant }, { access })
  await writeAs(held, { type: 'create', path: '/held.md', content: 'held' })
  await syncHolder(held, { access })
  await syncOver(granter)
  expect(await contentsOf(granter.store)).toMatchObject({
    '/back.md': '/back.md',
    '/held.md': 'held',
  })
  expect(await contentsOf(held)).toEqual(await contentsOf(granter.store))
  await held.close()
})

test('T96: the number of refs is told once, until it grows', async () => {
  const url = bareRemote()
  const { store, place } = await firstClone(url)
  await syncOver({ store })
  addRefs(url, branches)
  const background = { access, isRead: false }
  expect((await store.as(author).sync(background)).ignoredRefs).toBe(12_000)
  expect((await syncOver({ store })).ignoredRefs).toBe(12_000)
  await store.close()
  const again = await openStore({ ...place, stretch: leastStretch })
  expect((await syncOver({ store: again })).ignoredRefs).toBeUndefined()
  addRefs(url, ['refs/heads/more'])
  expect((await syncOver({ store: again })).ignoredRefs).toBe(12_001)
  git(['update-ref', '-d', 'refs/heads/more'], url)
  expect((await syncOver({ store: again })).ignoredRefs).toBeUndefined()
  await again.close()
})
