// What the console is told of memories and moments, from a real store.

import { describe, expect, test } from 'vitest'
import type { ResultOf } from '../../../src/operations/console/contract.ts'
import { type askerOf, newConsole } from '../../support/console.ts'
import { author } from '../../support/stores.ts'

/** A store with some changes, and the commit after each of them. */
async function written() {
  const { store, ask } = await newConsole()
  const me = store.as({ ...author, reason: 'why' })
  const at = async (): Promise<string> => (await store.status()).head
  await me.write('/notes/a.md', 'one\ntwo\n')
  const created = await at()
  await me.write('/notes/a.md', 'one\n2\nthree\n')
  const edited = await at()
  await me.move('/notes/a.md', '/b.md')
  const moved = await at()
  await me.write('/c.md', 'c')
  await me.delete('/c.md')
  const [memoryId, gone] = [await idOf(ask, '/b.md'), await idOf(ask, '/c.md')]
  return { store, ask, created, edited, moved, deleted: await at(), memoryId, gone }
}

async function idOf(ask: ReturnType<typeof askerOf>, path: string): Promise<string> {
  const { memories, deleted } = await ask('memories.tree', { deleted: true })
  return [...memories, ...deleted].find((memory) => memory.path === path)?.memoryId ?? ''
}

describe('the tree', () => {
  test('is that of its moment, by path, with the deleted ones on request', async () => {
    const { ask, created, moved } = await written()
    const paths = async (at?: string): Promise<readonly string[]> =>
      (await ask('memories.tree', { at })).memories.map(({ path }) => path)
    expect(await paths()).toEqual(['/b.md'])
    expect(await paths(created)).toEqual(['/notes/a.md'])
    expect(await paths(created.slice(0, 10))).toEqual(['/notes/a.md'])
    expect(await paths(moved)).toEqual(['/b.md'])
    const { deleted } = await ask('memories.tree', { deleted: true })
    expect(deleted.map(({ path }) => path)).toEqual(['/c.md'])
    expect((await ask('memories.tree', { deleted: true, at: created })).deleted).toEqual([])
  })

  test('counts redacted memories without naming them', async () => {
    const { store, ask, memoryId, created } = await written()
    const { data } = await ask('memory.versions', { memoryId })
    const first = data.at(-1)?.versionId ?? ''
    await store.as(author).redact({ select: { versionIds: [first] }, reason: 'legal' })
    const { commit } = await ask('moment.find', { versionId: first })
    expect(commit).not.toBe(created)
    const tree = await ask('memories.tree', { at: commit, deleted: true })
    expect([tree.memories, tree.redacted]).toEqual([[], 1])
    const shown = await ask('memory.show', { memoryId, at: commit })
    expect(shown).toMatchObject({ state: 'redacted', memoryId, number: 1 })
    expect(JSON.stringify(shown)).not.toContain('two')
    await expect(ask('memories.tree', { at: created })).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('a memory', () => {
  test('is shown in its former state', async () => {
    const { ask, memoryId, gone, created, edited, deleted } = await written()
    expect(await ask('memory.show', { memoryId })).toMatchObject({
      state: 'live',
      path: '/b.md',
      content: 'one\n2\nthree\n',
      number: 3,
    })
    expect(await ask('memory.show', { memoryId, at: created })).toMatchObject({
      state: 'live',
      path: '/notes/a.md',
      content: 'one\ntwo\n',
      number: 1,
    })
    expect(await ask('memory.show', { memoryId: gone })).toMatchObject({
      state: 'deleted',
      path: '/c.md',
      number: 2,
    })
    expect(await ask('memory.show', { memoryId: gone, at: edited })).toMatchObject({
      state: 'absent',
      number: 0,
    })
    expect(await ask('memory.show', { memoryId: gone, at: deleted })).toMatchObject({
      state: 'deleted',
    })
    const other = memoryId.replace(/.$/, (letter) => (letter === 'a' ? 'b' : 'a'))
    await expect(ask('memory.show', { memoryId: other })).rejects.toMatchObject({
      code: expect.stringMatching(/not_found|invalid_input/),
    })
  })

  test('names the commits of the versions before and after', async () => {
    const { store, ask } = await newConsole()
    const commits: string[] = []
    for (const text of ['one', 'two', 'three']) {
      commits.push((await store.as(author).write('/a.md', text)).commit ?? '')
      await store.as(author).write('/other.md', text)
    }
    const memoryId = (await store.read('/a.md'))?.memoryId ?? ''
    const stepsAt = async (at?: string) => (await ask('memory.show', { memoryId, at })).steps
    const [first, second, third] = commits
    expect(await stepsAt(first)).toEqual({ before: undefined, after: second })
    expect(await stepsAt(second)).toEqual({ before: first, after: third })
    expect(await stepsAt()).toEqual({ before: second, after: undefined })
  })

  test('has its versions numbered, across paths, with the lines that each changed', async () => {
    const { ask, memoryId, gone, edited } = await written()
    const { data, total, nextPage } = await ask('memory.versions', { memoryId })
    expect([total, nextPage]).toEqual([3, undefined])
    expect(data.map(({ number, path, added, removed }) => [number, path, added, removed])).toEqual([
      [3, '/b.md', 0, 0],
      [2, '/notes/a.md', 2, 1],
      [1, '/notes/a.md', 2, 0],
    ])
    expect(data[0]).toMatchObject({ movedFrom: '/notes/a.md', reason: 'why' })
    expect((await ask('memory.versions', { memoryId, at: edited })).total).toBe(2)
    const pages: number[] = []
    for (let after: string | undefined = ''; after !== undefined;) {
      const page: ResultOf<'memory.versions'> = await ask('memory.versions', {
        memoryId,
        limit: 1,
        ...(after !== '' && { after }),
      })
      pages.push(...page.data.map(({ number }) => number))
      after = page.nextPage
    }
    expect(pages).toEqual([3, 2, 1])
    const [removal] = (await ask('memory.versions', { memoryId: gone })).data
    expect(removal).toMatchObject({ operation: 'deleted', added: 0, removed: 1 })
    const stranger = { memoryId: gone, after: data[0]?.versionId }
    await expect(ask('memory.versions', stranger)).rejects.toMatchObject({ code: 'invalid_input' })
  })

  test('names the version that each line came from', async () => {
    const { ask, memoryId } = await written()
    const { lines, versions } = await ask('memory.blame', { memoryId })
    expect(lines.map(({ line }) => line)).toEqual(['one', '2', 'three'])
    const numbers = lines.map(({ version }) => versions[version]?.versionId)
    expect(numbers[1]).toBe(numbers[2])
    expect(numbers[0]).not.toBe(numbers[1])
  })

  test('is created, changed and deleted in the name of the user, with a reason', async () => {
    const { ask } = await newConsole()
    const made = await ask('memory.create', { path: '/x.md', content: 'x', reason: 'first' })
    const { memoryId, sha256 } = made
    const moved = {
      memoryId,
      path: '/y.md',
      content: 'y',
      expectedSha256: sha256,
      reason: 'second',
    }
    const changed = await ask('memory.update', moved)
    await ask('memory.delete', { memoryId, expectedSha256: changed.sha256, reason: 'third' })
    const { data } = await ask('memory.versions', { memoryId })
    expect(data.map(({ reason, operation, path }) => [reason, operation, path])).toEqual([
      ['third', 'deleted', '/y.md'],
      ['second', 'modified', '/y.md'],
      ['first', 'created', '/x.md'],
    ])
    expect(data[0]?.session).toBe(author.session)
    const taken = ask('memory.create', { path: '/x.md/below', content: '' })
    await taken
    await expect(ask('memory.create', { path: '/x.md', content: '' })).rejects.toMatchObject({
      code: 'path_conflict',
    })
  })
})

describe('moments', () => {
  test('are a line: each commit has a place, and a place a commit', async () => {
    const { store, ask } = await written()
    const { commits } = await store.status()
    for (let position = 1; position <= commits; position += 1) {
      const found = await ask('moment.find', { position })
      expect(found).toMatchObject({ position, commits })
      expect(await ask('moment.find', { commit: found.commit })).toEqual(found)
    }
    for (const position of [0, commits + 1, -1]) {
      await expect(ask('moment.find', { position })).rejects.toMatchObject({ code: 'not_found' })
    }
    await expect(ask('moment.find', { time: 5 })).rejects.toMatchObject({ code: 'not_found' })
    const { time } = await ask('moment.find', { position: commits })
    expect((await ask('moment.find', { time })).position).toBe(commits)
  })

  test.each([1, 2, 3, 100])('in %i stretches are all commits, once', async (most) => {
    const { store, ask } = await written()
    const { commits, stretches } = await ask('moment.density', { stretches: most })
    expect(commits).toBe((await store.status()).commits)
    expect(stretches.length).toBe(Math.min(most, commits))
    let next = 1
    for (const stretch of stretches) {
      expect(stretch.first).toBe(next)
      expect(stretch.commits).toBeGreaterThan(0)
      expect(stretch.to).toBeGreaterThanOrEqual(stretch.from)
      next += stretch.commits
    }
    expect(next).toBe(commits + 1)
    expect(stretches.at(-1)).toMatchObject({ merges: 0, redactions: 0 })
  })

  test('are compared by path and text', async () => {
    const { ask, created, edited } = await written()
    expect((await ask('moment.compare', { from: created, to: edited })).changes).toEqual([
      {
        memoryId: expect.any(String),
        before: '/notes/a.md',
        after: '/notes/a.md',
        textDiffers: true,
      },
    ])
    expect((await ask('moment.compare', { from: edited })).changes).toEqual([
      { memoryId: expect.any(String), before: '/notes/a.md', after: '/b.md', textDiffers: false },
    ])
  })
})

describe('the overview', () => {
  test('names the store, and the rights of its user', async () => {
    const { store, ask } = await written()
    const found = await ask('store.overview', {})
    expect(found).toMatchObject({
      storeId: store.id,
      audience: 'member',
      access: 'read_write',
      role: 'owner',
      memories: 1,
      remotes: [],
      guard: false,
    })
    expect(found.headFingerprint).toHaveLength(12)
  })
})

describe('the search', () => {
  test('finds the memories of an earlier point, page by page', async () => {
    const { ask, created } = await written()
    const found = async (input: object): Promise<readonly string[]> =>
      (await ask('memories.search', { query: 'three', ...input })).data.map(
        ({ memory }) => memory.path,
      )
    expect(await found({})).toEqual(['/b.md'])
    expect(await found({ at: created })).toEqual([])
    expect(await found({ query: 'two', allVersions: true })).toEqual(['/notes/a.md'])
    await expect(found({ query: '(', regex: true })).rejects.toMatchObject({
      code: 'invalid_input',
    })
  })
})

describe('an edit of a memory that others have changed', () => {
  const base = 'one\ntwo\nthree\n'

  test('is merged with the current text, whose hash a save then expects', async () => {
    const { store, ask } = await newConsole()
    await store.as(author).write('/a.md', base)
    const memoryId = await idOf(ask, '/a.md')
    const { sha256 } = (await store.as(author).append('/a.md', 'theirs')).memories[0] ?? {}
    const content = base.replace('one', 'mine')
    const { theirs, parts } = await ask('memory.merge', { memoryId, base, content })
    expect(parts).toEqual([{ text: 'mine\ntwo\nthree\ntheirs\n' }])
    expect(theirs).toMatchObject({ state: 'live', sha256, content: `${base}theirs\n` })
    expect((await store.read('/a.md'))?.sha256).toBe(sha256)
    const both = await ask('memory.merge', { memoryId, base, content: `${base}mine\n` })
    expect(both.parts).toEqual([{ text: base }, { ours: 'mine\n', theirs: 'theirs\n' }])
  })

  test('has nothing to be merged with once the memory is deleted', async () => {
    const { store, ask } = await newConsole()
    await store.as(author).write('/a.md', base)
    const memoryId = await idOf(ask, '/a.md')
    await store.as(author).delete('/a.md')
    const merged = ask('memory.merge', { memoryId, base, content: 'mine' })
    await expect(merged).rejects.toMatchObject({ code: 'not_found' })
  })
})
