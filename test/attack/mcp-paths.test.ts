// T60: a client of MCP that is given one directory of a store. Nothing outside of it is shown,
// named, counted, found or changed, by any tool or resource, with any path or address.
// @module-tag slow

import { expect, test } from 'vitest'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { connectTo, type McpCaller } from '../support/mcp-client.ts'
import { author, contentsOf, newStore } from '../support/stores.ts'

const inside = { '/projects/foo/a.md': 'known words', '/projects/foo/d/b.md': 'more' }
const outside = {
  '/projects/foo.md': 'canary beside words',
  '/projects/foobar/c.md': 'canary of a longer name words',
  '/secret.md': 'canary above words',
}

interface Given {
  readonly store: MemoryStore
  readonly caller: McpCaller
  /** Of a memory outside, and of one that came in. */
  readonly hidden: { readonly memoryId: string; readonly versionId: string }
}

async function given(): Promise<Given> {
  const { store } = await newStore()
  const me = store.as(author)
  const all = Object.entries({ ...inside, ...outside })
  await me.apply(all.map(([path, content]) => ({ type: 'create', path, content })))
  await me.write('/came.md', 'canary before it came')
  await me.move('/came.md', '/projects/foo/came.md')
  await me.write('/projects/foo/went.md', 'it went')
  await me.move('/projects/foo/went.md', '/went.md')
  const hidden = await store.read('/secret.md')
  if (hidden === undefined) throw new Error('the memory is there')
  const { caller } = await connectTo(store, { path: '/projects/foo' })
  await caller.client.listTools()
  return { store, caller, hidden }
}

const forbidden = /canary above|canary beside|canary of|secret|foobar|foo\.md|\/projects|"\/went/

test('shows only paths inside the mount', async () => {
  const { caller, store } = await given()
  const shown = [
    await caller.call('memory', { command: 'view', path: '/memories' }),
    await caller.call('memory_list', { recursive: true }),
    await caller.call('memory_list'),
    await caller.call('memory_list', { recursive: true, limit: 1 }),
    await caller.call('memory_search', { query: 'words' }),
    await caller.call('memory_search', { query: 'canary' }),
    await caller.call('memory_search', { query: 'came.md' }),
    await caller.call('memory_history'),
    await caller.call('memory_history', { path: '/memories/came.md' }),
    await caller.client.listResources(),
    caller.client.getInstructions(),
  ]
  const text = JSON.stringify(shown)
  expect(text).not.toMatch(forbidden)
  expect(text).toContain('/memories/a.md')
  const { data } = Object(await caller.value('memory_search', { query: 'words' }))
  expect(data).toMatchObject([{ path: '/memories/a.md' }])
  const came = Object(await caller.value('memory_history', { path: '/memories/came.md' }))
  expect(came.data).toMatchObject([{ path: '/memories/came.md', moved_from: null }])
  const view = await caller.call('memory', { command: 'view', path: '/memories' })
  expect(view.text).toMatch(/^\d+B\t\/memories$/m)
  const bytes = (await store.list('/projects/foo', { depth: 0 }))?.sizeBytes
  expect(view.text).toContain(`${bytes}B\t/memories\n`)
})

const ways = [
  '/memories/../secret.md',
  '/memories/../../secret.md',
  '/memories/../foo.md',
  '/memories/..%2fsecret.md',
  '/memories/%2e%2e/secret.md',
  '/memories/..\\secret.md',
  '/projects/foo/a.md',
  '/secret.md',
  '../secret.md',
  '/memories/secret.md',
  '/memories/projects/foo/a.md',
  '/memoriesbar/c.md',
]

test.each(ways)('%s reaches nothing', async (path) => {
  const { store, caller } = await given()
  const before = await contentsOf(store)
  const answers = [
    await caller.call('memory', { command: 'view', path }),
    await caller.call('memory_list', { path }),
    await caller.call('memory_read', { path }),
    await caller.call('memory_edit', { path, old_text: 'canary', new_text: 'x' }),
    await caller.call('memory_delete', { path }),
    await caller.call('memory_restore', { path }),
    await caller.call('memory_restore', { path, to: '2100-01-01T00:00:00Z' }),
    await caller.call('memory', { command: 'rename', old_path: path, new_path: '/memories/x' }),
  ]
  for (const { refused, text } of answers) {
    expect(refused).toBe(true)
    expect(text.replace(path, '')).not.toMatch(/canary/)
  }
  expect(await contentsOf(store)).toEqual(before)
})

test.each(ways.filter((path) => !/^\/memories\/\w/.test(path)))(
  'nothing is moved to %s',
  async (to) => {
    const { store, caller } = await given()
    const before = await contentsOf(store)
    const input = { command: 'rename', old_path: '/memories/a.md', new_path: to }
    expect(await caller.call('memory', input)).toMatchObject({ refused: true })
    expect(await contentsOf(store)).toEqual(before)
  },
)

test.each([
  'memory://memories/../secret.md',
  'memory://memories/%2e%2e/secret.md',
  'memory://memories/..%2fsecret.md',
  'memory://memories/%2E%2E%2Fsecret.md',
  'memory://memories/d/../../secret.md',
  'memory://memories//secret.md',
  'memory://memories/secret.md',
  'memory://memories/%00',
  'memory://memories/%ff',
  'memory://memories/%',
  'memory://memories',
  'memory://memories/',
  'memory://other/a.md',
  'memory://Memories/a.md',
  'memory://user@memories/a.md',
  'memory://memories:80/a.md',
  'memory://memories/a.md?x',
  'memory://memories/a.md#x',
  'memory:///secret.md',
  'memory:/secret.md',
  'file:///etc/passwd',
  'MEMORY://memories/a.md',
  '',
  `memory://memories/${'a/'.repeat(5000)}`,
])('no resource is %s', async (uri) => {
  const { caller } = await given()
  await expect(caller.client.readResource({ uri })).rejects.toMatchObject({ code: -32_602 })
})

test('neither a hit nor its cursor reveals paths above the mount', async () => {
  const { caller } = await given()
  for (const input of [{ query: 'a md' }, { query: 'known more it', limit: 1 }] as const) {
    const { data, next_page: page } = await caller.value('memory_search', input)
    expect(data).not.toEqual([])
    const cursor = Buffer.from(String(page), 'base64url').toString()
    expect(JSON.stringify([data, cursor])).not.toMatch(/projects|foo/)
    if (page === null) continue
    const next = await caller.value('memory_search', { ...input, page })
    expect(next['data']).not.toEqual(data)
    expect(next['data']).not.toEqual([])
  }
})

test('ids of what lies outside are those of nothing', async () => {
  const { store, caller, hidden } = await given()
  const before = await contentsOf(store)
  const { memoryId: memory_id, versionId } = hidden
  const came = await store.read('/projects/foo/came.md')
  const { data } = await store.history.versions({ memoryId: came?.memoryId ?? '', order: 'oldest' })
  const old = data[0]?.versionId
  const path = '/memories/a.md'
  const history = await caller.value('memory_history', { memory_id })
  expect(history).toEqual({ data: [], next_page: null })
  for (const [tool, input] of [
    ['memory_read', { path, version_id: versionId }],
    ['memory_read', { path: '/memories/came.md', version_id: old }],
    ['memory_restore', { path, to: versionId }],
    ['memory_restore', { path, memory_id }],
    ['memory_restore', { path, memory_id, to: versionId }],
    // Back to where it was before it came, which is outside.
    ['memory_restore', { path: '/memories/came.md', to: old }],
    // It was moved outside: its present text is neither shown nor changed from here.
    ['memory_restore', { path: '/memories/went.md' }],
  ] as const) {
    const { refused, text } = await caller.call(tool, input)
    expect([tool, refused]).toEqual([tool, true])
    expect(text).not.toMatch(forbidden)
  }
  expect(await contentsOf(store)).toEqual(before)
})

test.each(['/x', '/../secret.md', '', '/projects', '\u0000', 'a'.repeat(5000)])(
  'the cursor %j of a client leads to nothing outside',
  async (page) => {
    const { caller } = await given()
    const listed = await caller.call('memory_list', { recursive: true, page })
    expect(JSON.stringify(listed)).not.toMatch(forbidden)
    const cursor = Buffer.from(`memories${page}`).toString('base64url')
    const resources = await caller.client
      .request({ method: 'resources/list', params: { cursor } })
      .catch((error: unknown) => String(error))
    expect(JSON.stringify(resources)).not.toMatch(forbidden)
  },
)

test('the directory itself cannot be removed, and may be missing', async () => {
  const { store, caller } = await given()
  for (const [tool, input] of [
    ['memory', { command: 'delete', path: '/memories' }],
    ['memory', { command: 'rename', old_path: '/memories', new_path: '/memories/x' }],
    ['memory_delete', { path: '/memories' }],
  ] as const) {
    expect(await caller.call(tool, input)).toMatchObject({ refused: true })
  }
  const empty = await connectTo(store, { path: '/not/yet' })
  expect(await empty.caller.value('memory_list')).toEqual({ data: [], next_page: null })
  const view = await empty.caller.call('memory', { command: 'view', path: '/memories' })
  expect(view.refused).toBe(false)
  await empty.caller.value('memory_write', { path: '/memories/a.md', content: 'first' })
  expect(await contentsOf(store)).toMatchObject({ '/not/yet/a.md': 'first' })
})
