// `store.search`: what matches, in what order, and what a hit shows.

import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createStore,
  generateIdentity,
  type MemoryStore,
  type SearchQuery,
} from '../../../../src/index.ts'
import { author, leastStretch } from '../../../support/stores.ts'
import { sharedDirectory } from '../../../support/temporary.ts'

let store: MemoryStore

beforeAll(async () => {
  const root = sharedDirectory()
  const identity = await generateIdentity()
  const places = { directory: `${root}/store`, stateDirectory: `${root}/state`, identity }
  ;({ store } = await createStore({ ...places, stretch: leastStretch }))
  const contents: Record<string, string> = {
    '/a/deadlock.md': 'Two writers wait for each other.\n',
    '/a/locks.md': 'First line\nA deadlock in the payment worker\n',
    '/b/payments.md': 'The payment worker retries.\nNothing about locks.\n',
    '/b/straße.md': 'Die STRASSE und der Ärger über Fiancés\n',
    '/c/tokyo.md': '東京都の天気\nการค้นหาข้อความ\n한국어\n',
    '/c/empty.md': '',
  }
  for (const [path, content] of Object.entries(contents)) {
    await store.as(author).write(path, content)
  }
})

afterAll(() => store.close())

async function pathsOf(query: string, options: Partial<SearchQuery> = {}): Promise<string[]> {
  const { data } = await store.search({ query, ...options })
  return data.map(({ memory }) => memory.path)
}

test('finds words in contents and paths, a path first', async () => {
  expect(await pathsOf('deadlock')).toEqual(['/a/deadlock.md', '/a/locks.md'])
  const { data } = await store.search({ query: 'DEADLOCK' })
  expect(data.map(({ line, snippet }) => [line, snippet])).toEqual([
    [undefined, '/a/deadlock.md'],
    [2, 'A deadlock in the payment worker'],
  ])
})

test('folds case, accents and the forms of Unicode', async () => {
  for (const query of ['straße', 'STRASSE', 'arger', 'A\u0308RGER', 'ﬁances', 'fiance\u0301s']) {
    expect(await pathsOf(query), query).toEqual(['/b/straße.md'])
  }
})

test('finds parts of texts written without spaces', async () => {
  for (const query of ['東京', '京都', '都', '天気', 'ค้นหา', 'ข้อความ', '한국']) {
    expect(await pathsOf(query), query).toEqual(['/c/tokyo.md'])
  }
})

test('puts memories with all words before those with some', async () => {
  expect(await pathsOf('payment deadlock')).toEqual([
    '/a/locks.md',
    '/a/deadlock.md',
    '/b/payments.md',
  ])
  const { data } = await store.search({ query: 'payment deadlock' })
  expect(data.map(({ score }) => score > 1)).toEqual([true, false, false])
})

test('matches beginnings unless told not to, and typing errors if told to', async () => {
  expect(await pathsOf('dead')).toEqual(['/a/deadlock.md', '/a/locks.md'])
  expect(await pathsOf('dead', { prefix: false })).toEqual([])
  expect(await pathsOf('daedlock')).toEqual([])
  expect(await pathsOf('daedlock', { fuzzy: true })).toEqual(['/a/deadlock.md', '/a/locks.md'])
})

test('searches at or below a path', async () => {
  expect(await pathsOf('payment', { path: '/a' })).toEqual(['/a/locks.md'])
  expect(await pathsOf('payment', { path: '/b/payments.md' })).toEqual(['/b/payments.md'])
  expect(await pathsOf('payment', { path: '/nowhere' })).toEqual([])
})

test('matches a regular expression line by line', async () => {
  expect(await pathsOf('^a dead.*worker$', { regex: true })).toEqual(['/a/locks.md'])
  expect(await pathsOf('LOCKS?\\b', { regex: true })).toEqual([
    '/a/locks.md',
    '/a/deadlock.md',
    '/b/payments.md',
  ])
  const { data } = await store.search({ query: 'worker', regex: true })
  expect(data.map(({ memory, line }) => [memory.path, line])).toEqual([
    ['/a/locks.md', 2],
    ['/b/payments.md', 1],
  ])
})

test('searches a state of the past, and every version', async () => {
  const [before] = (await store.history.versions({ limit: 1 })).data
  await store.as(author).write('/a/locks.md', 'all is well\n')
  await store.as(author).delete('/a/deadlock.md')
  expect(await pathsOf('deadlock')).toEqual([])
  const at = { versionId: before?.versionId ?? '' }
  expect(await pathsOf('deadlock', { at })).toEqual(['/a/deadlock.md', '/a/locks.md'])
  const { data } = await store.search({ query: 'deadlock', allVersions: true, path: '/a' })
  expect(data.map(({ memory }) => memory.path)).toEqual(['/a/deadlock.md', '/a/locks.md'])
  for (const { memory } of data) {
    const version = await store.history.version(memory.versionId)
    expect(version).toMatchObject({ path: memory.path, sha256: memory.sha256 })
    expect(version.memoryId).toBe(memory.memoryId)
    expect(version.createdAt).toBe(memory.updatedAt)
  }
  expect(await pathsOf('well', { regex: true, allVersions: true })).toEqual(['/a/locks.md'])
})

test('gives page after page, and refuses the cursor of another query', async () => {
  const all = await pathsOf('m')
  expect(all.length).toBeGreaterThan(3)
  const found: string[] = []
  let after: string | undefined
  do {
    const page = await store.search({ query: 'm', limit: 1, after })
    found.push(...page.data.map(({ memory }) => memory.path))
    after = page.nextPage
  } while (after !== undefined)
  expect(found).toEqual(all)
  const iterated: string[] = []
  for await (const { memory } of store.search({ query: 'm', limit: 2 })) iterated.push(memory.path)
  expect(iterated).toEqual(all)
  const { nextPage } = await store.search({ query: 'm', limit: 1 })
  const other = store.search({ query: 'n', limit: 1, after: nextPage })
  await expect(other).rejects.toMatchObject({ code: 'invalid_input' })
})
