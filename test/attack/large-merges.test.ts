// T45: however many memories both sides have changed, their histories can be merged: in several
// commits, of which each has at most as many rows as the format allows. FORMAT §6.4.

import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { formatIdentity } from '../../src/keys/identity.ts'
import { rowsMax } from '../../src/limits.ts'
import { RemoteHistory } from '../../src/store/sync/remote-history.ts'
import {
  alone,
  bareRemote,
  checkWithGit,
  type Clone,
  firstClone,
  headOf,
  idOf,
  joinClone,
  sync,
  syncAll,
} from '../support/clones.ts'
import { create, redact } from '../support/hostile-remotes.ts'
import { readStore } from '../support/reference/store.ts'
import { full } from '../support/seed.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git } from '../support/temporary.ts'

/** By default the limit is lowered; with FULL=1 it is that of the format. */
const limit = full ? rowsMax : 4
const paths = Array.from(
  { length: full ? limit + 10 : 2 * limit + 3 },
  (_, index) => `/${index}.md`,
)

async function inParts(
  { store }: Clone,
  change: (path: string) => Parameters<ReturnType<Clone['store']['as']>['apply']>[0][number],
): Promise<void> {
  const size = full ? limit / 2 : 3
  for (let at = 0; at < paths.length; at += size) {
    await store.as(author).apply(paths.slice(at, at + size).map(change))
  }
}

function editAll(clone: Clone, text: string): Promise<void> {
  return inParts(clone, (path) => ({ type: 'edit', path, edit: (old) => `${old}${text}\n` }))
}

async function pair(): Promise<{ a: Clone; b: Clone; remote: string }> {
  const remote = bareRemote()
  const a = await firstClone(remote)
  await a.store.as(author).settings.update({ limits: { contentBytes: 100, memories: 99_999 } })
  await inParts(a, (path) => ({ type: 'create', path, content: 'one\n' }))
  await sync(a)
  const b = await joinClone(a, remote)
  await sync(a)
  return { a, b, remote }
}

async function expectBoth(clones: readonly Clone[], remote: string): Promise<void> {
  for (const { store } of clones) {
    const contents = Object.values(await contentsOf(store))
    expect(contents.filter((text) => text.includes('of a') && text.includes('of b'))).toHaveLength(
      paths.length,
    )
    await store.maintenance.verify()
  }
  expect(new Set(await Promise.all(clones.map((one) => headOf(one)))).size).toBe(1)
  checkWithGit(remote)
}

describe('T45: more memories than a commit has rows, changed on both sides,', () => {
  test('are merged in several commits', { tags: 'slow' }, async () => {
    const { a, b, remote } = await pair()
    await editAll(a, 'of a')
    await editAll(b, 'of b')
    await sync(a)
    const { outcomes } = await b.store.as(author).sync({ rowsMax: limit })
    expect(outcomes).toHaveLength(paths.length)
    const merges = git(['rev-list', '--merges', '--count', 'main'], remote).trim()
    expect(Number(merges)).toBeGreaterThan(1)
    await sync(a)
    await expectBoth([a, b], remote)
  })

  test.skipIf(full)('even if the other side has merges', { tags: 'slow' }, async () => {
    const { a, b, remote } = await pair()
    const c = await joinClone(a, remote)
    await syncAll([a, b, c])
    await editAll(b, 'of b')
    await editAll(a, 'of a')
    await create(c, '/c.md')
    await c.store.as(author).apply([{ type: 'edit', path: '/0.md', edit: (old) => `${old}of c\n` }])
    await syncAll([a, c])
    await b.store.as(author).sync({ rowsMax: limit })
    await syncAll([a, b, c])
    await expectBoth([a, b, c], remote)
  })

  /** Erases the version of a memory that has `newer` newer ones. */
  async function redactOld(clone: Clone, path: string, newer: number): Promise<void> {
    const { data: versions } = await clone.store.history.versions({ path })
    await redact(clone, versions[newer]?.versionId ?? '')
  }

  const sides = { here: ['b'], there: ['a'], 'on both sides': ['a', 'b'] } as const
  test.skipIf(full).each(Object.entries(sides))(
    'even if versions were redacted %s',
    { tags: 'slow' },
    async (_, names) => {
      const { a, b, remote } = await pair()
      const clones = { a, b }
      await editAll(a, 'of a')
      await editAll(b, 'of b')
      for (const [at, name] of names.entries()) {
        await editAll(clones[name], `again of ${name}`)
        // One that both sides have, and one that the other side has never had.
        await redactOld(clones[name], `/${at}.md`, 2)
        await redactOld(clones[name], `/${at + 2}.md`, 1)
        await create(clones[name], `/${name}.md`)
      }
      await sync(a)
      const { outcomes } = await b.store.as(author).sync({ rowsMax: limit })
      // No side deletes.
      expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['both_kept']))
      expect((await b.store.maintenance.findResidue()).found).toEqual([])
      await syncAll([a, b])
      await expectBoth([a, b], remote)
      // Also for a reader of the format that shares no code with these merges.
      const secret = { identity: formatIdentity(b.place.identity) }
      const read = Array.from(readStore(remote, secret).memories, ([path, { content }]) => {
        return [path, content] as const
      })
      const contents = await contentsOf(b.store)
      expect(Object.fromEntries(read)).toEqual(contents)
      for (const text of Object.values(contents)) {
        const lines = text.trimEnd().split('\n')
        expect(new Set(lines).size).toBe(lines.length)
      }
    },
  )

  const redactors = { nobody: [], 'this side': ['b'], 'the other side': ['a'] } as const
  test.skipIf(full).each(Object.entries(redactors))(
    'after a sync that ended between the commits, and %s has redacted since',
    { tags: 'slow' },
    async (_, names) => {
      const { a, b, remote } = await pair()
      const clones = { a, b }
      await editAll(a, 'of a')
      await editAll(b, 'of b')
      await sync(a)
      const before = await headOf(b)
      const ended = vi.spyOn(RemoteHistory.prototype, 'withMerged').mockImplementationOnce(() => {
        throw new Error('The process ends')
      })
      onTestFinished(() => ended.mockRestore())
      await expect(b.store.as(author).sync({ rowsMax: limit })).rejects.toThrow('process ends')
      expect(await headOf(b)).toBe(before)
      await create(b, '/b.md')
      for (const name of names) await redactOld(clones[name], '/0.md', 1)
      await sync(a)
      await b.store.as(author).sync({ rowsMax: limit })
      await syncAll([a, b])
      await expectBoth([a, b], remote)
    },
  )
})

describe('T45: two histories, ours with more to move or to join than a commit has rows,', () => {
  type Change = Parameters<ReturnType<Clone['store']['as']>['apply']>[0][number]
  const creating =
    (text: string) =>
    (path: string): Change => {
      return { type: 'create', path: `/new${path}`, content: text }
    }

  /** Both sides verify what `b` makes of both; every text, by path. */
  async function merged(a: Clone, b: Clone, remote: string): Promise<Record<string, string>> {
    await sync(a)
    await b.store.as(author).sync({ rowsMax: limit })
    await sync(a)
    for (const { store } of [a, b]) await store.maintenance.verify()
    expect(await headOf(a)).toBe(await headOf(b))
    checkWithGit(remote)
    const contents = await contentsOf(a.store)
    expect(await contentsOf(b.store)).toEqual(contents)
    return contents
  }

  const options = { tags: 'slow' }
  test('are merged if they have a file in the place of our directory', options, async () => {
    const { a, b, remote } = await pair()
    await create(a, '/new', 'of a')
    await inParts(b, creating('of b'))
    const contents = await merged(a, b, remote)
    for (const path of paths) expect(contents[`/new${path}`]).toBe('of b')
    const aside = Object.keys(contents).filter((path) => path.startsWith('/new.aside-'))
    expect(aside.map((path) => contents[path])).toEqual(['of a'])
  })

  test('are merged if both created the same paths', options, async () => {
    const { a, b, remote } = await pair()
    await inParts(a, creating('of a'))
    await inParts(a, (path) => ({
      type: 'edit',
      path: `/new${path}`,
      edit: (old) => `${old}\nagain`,
    }))
    await inParts(b, creating('of b'))
    const contents = Object.values(await merged(a, b, remote))
    expect(contents.filter((text) => text.includes('of b'))).toHaveLength(paths.length)
    expect(contents.filter((text) => text.includes('of a\nagain'))).toHaveLength(paths.length)
  })

  test('are merged if all rows are open and one more path is taken', options, async () => {
    const { a, b, remote } = await pair()
    const [first = '', ...others] = paths.slice(0, limit)
    const edit =
      (text: string) =>
      (path: string): Change => {
        return { type: 'edit', path, edit: (old) => `${old}${text}\n` }
      }
    const rename = { type: 'rename', path: first, to: '/new' } as const
    await a.store.as(author).apply([...others.map(edit('of a')), rename])
    await inParts(b, edit('of b'))
    await create(b, '/new', 'new')
    const contents = await merged(a, b, remote)
    expect(contents['/new']).toBe('new')
    for (const path of others) expect(contents[path]).toMatch(/of a\nof b|of b\nof a/)
    const aside = Object.keys(contents).filter((path) => path.startsWith('/new.aside-'))
    expect(aside.map((path) => contents[path])).toEqual(['one\nof b\n'])
  })

  test('are merged by a clone on top of them if late commits are too many', options, async () => {
    const { a, b, remote } = await pair()
    const c = await joinClone(a, remote)
    await syncAll([a, b, c])
    await editAll(c, 'of b')
    await syncAll([c, b])
    await create(b, '/b.md')
    await editAll(a, 'of a')
    await a.store.as(author).devices.remove([idOf(c)], alone)
    await sync(b)
    const syncing = a.store.as(author).sync({ rowsMax: limit })
    await expect(syncing).rejects.toMatchObject({ code: 'change_too_large' })
    const url = bareRemote()
    for (const { store } of [a, b]) await store.remotes.add('between', url)
    await a.store.as(author).sync({ remote: 'between' })
    await b.store.as(author).sync({ remote: 'between', rowsMax: limit })
    for (const { store } of [a, b]) await store.remotes.remove('between')
    await syncAll([b, a])
    await expectBoth([a, b], remote)
  })
})
