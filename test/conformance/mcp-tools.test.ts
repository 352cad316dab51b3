// The tools of MCP on a store in this process, through the official client, which checks every
// value against the schema that the tool declares: what they answer, refuse and leave.

import { describe, expect, test } from 'vitest'
import { sha256OfText } from '../../src/crypto/digest.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { eras, type McpCaller, connectTo } from '../support/mcp-client.ts'
import { author, contentsOf, newStore } from '../support/stores.ts'

const files = { '/a.md': 'one\ntwo\n', '/d/b.txt': 'deadlock in the pool\n', '/d/e/c.md': 'three' }

async function storeWithFiles(): Promise<MemoryStore> {
  const { store } = await newStore()
  const all = Object.entries(files)
  await store.as(author).apply(all.map(([path, content]) => ({ type: 'create', path, content })))
  return store
}

/** Lists the tools first, so that the client knows their schemas. */
async function callerOf(
  store: MemoryStore,
  options: Parameters<typeof connectTo>[1] = {},
): Promise<McpCaller> {
  const { caller } = await connectTo(store, options)
  await caller.client.listTools()
  return caller
}

function pathsOf(value: Record<string, unknown>): unknown[] {
  return Array.isArray(value['data']) ? value['data'].map((one: unknown) => Object(one).path) : []
}

describe.each(eras)('in the protocol %s', (era) => {
  test('the tools describe their effect', async () => {
    const store = await storeWithFiles()
    const { caller } = await connectTo(store, { era })
    const { tools } = await caller.client.listTools()
    const hints = tools.map(({ name, annotations = {} }) => {
      const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations
      return [name, readOnlyHint, destructiveHint, idempotentHint, openWorldHint]
    })
    expect(hints).toEqual([
      ['memory', false, true, false, false],
      ['memory_list', true, undefined, undefined, false],
      ['memory_search', true, undefined, undefined, false],
      ['memory_read', true, undefined, undefined, false],
      ['memory_write', false, true, true, false],
      ['memory_edit', false, true, false, false],
      ['memory_delete', false, true, false, false],
      ['memory_history', true, undefined, undefined, false],
      ['memory_restore', false, true, true, false],
    ])
    for (const { name, title, inputSchema, outputSchema, annotations } of tools) {
      expect(title, name).toBe(annotations?.title)
      expect(inputSchema.type, name).toBe('object')
      expect(outputSchema === undefined, name).toBe(name === 'memory')
      for (const property of Object.values(inputSchema.properties ?? {})) {
        expect(property, name).toHaveProperty('description')
      }
    }
  })

  test('a memory is written, read, edited, deleted and brought back', async () => {
    const store = await storeWithFiles()
    const caller = await callerOf(store, { era })
    const path = '/memories/new/n.md'
    const written = await caller.value('memory_write', { path, content: 'first' })
    expect(written).toMatchObject({ path, sha256: sha256OfText('first'), size_bytes: 5 })
    const read = await caller.value('memory_read', { path })
    expect(read).toMatchObject({ path, content: 'first', offset: 0, next_offset: null, length: 5 })
    const edited = await caller.value('memory_edit', {
      path,
      old_text: 'first',
      new_text: 'second',
      expected_sha256: read['sha256'],
    })
    expect(edited).toMatchObject({ path, sha256: sha256OfText('second') })
    expect(await caller.value('memory_delete', { path: '/memories/new' })).toEqual({
      path: '/memories/new',
      deleted: 1,
    })
    expect(await caller.value('memory_restore', { path, to: read['version_id'] })).toMatchObject({
      steps: [{ operation: 'created', path }],
    })
    expect(await contentsOf(store)).toEqual({ ...files, '/new/n.md': 'first' })
  })

  test('its instructions explain how to use the memory', async () => {
    const { caller } = await connectTo(await storeWithFiles(), {
      era,
      instructions: 'Keep it short',
    })
    const said = caller.client.getInstructions()
    expect(said).toMatch(/view \/memories/)
    expect(said).toContain('Keep it short')
    expect(said).toContain('memory_search')
  })
})

describe('existing files', () => {
  test.each<[string, object, unknown[]]>([
    ['the root', {}, ['/memories/a.md', '/memories/d/']],
    ['a directory', { path: '/memories/d' }, ['/memories/d/b.txt', '/memories/d/e/']],
    ['a memory', { path: '/memories/a.md' }, ['/memories/a.md']],
    [
      'all below',
      { recursive: true },
      ['/memories/a.md', '/memories/d/b.txt', '/memories/d/e/c.md'],
    ],
  ])('is listed: %s', async (_, input, paths) => {
    const caller = await callerOf(await storeWithFiles())
    expect(pathsOf(await caller.value('memory_list', { ...input }))).toEqual(paths)
  })

  test('is listed page by page', async () => {
    const caller = await callerOf(await storeWithFiles())
    const seen: unknown[] = []
    let page: unknown
    do {
      const more = page === undefined ? {} : { page }
      const value = await caller.value('memory_list', { recursive: true, limit: 1, ...more })
      seen.push(...pathsOf(value))
      page = value['next_page'] ?? undefined
    } while (page !== undefined)
    expect(seen).toEqual(['/memories/a.md', '/memories/d/b.txt', '/memories/d/e/c.md'])
  })

  test('is found by its words, with the line', async () => {
    const caller = await callerOf(await storeWithFiles())
    const value = await caller.value('memory_search', { query: 'deadlock' })
    expect(value['data']).toMatchObject([{ path: '/memories/d/b.txt', line: 1 }])
    const { text } = await caller.call('memory_search', { query: 'nowhere' })
    expect(text).toBe('Nothing was found')
  })
})

const stale = sha256OfText('stale')
const a = '/memories/a.md'

test.each<[string, string, object, string | RegExp]>([
  [
    'a path without a memory',
    'memory_read',
    { path: '/memories/x' },
    /no such file.*\/memories\/x/,
  ],
  ['a directory as a memory', 'memory_read', { path: '/memories/d' }, /no such file/],
  ['a path elsewhere', 'memory_read', { path: '/etc/passwd' }, /^Error: Invalid `path` parameter/],
  ['a way out', 'memory_read', { path: '/memories/../x' }, /^Error: Invalid `path` parameter/],
  ['an offset after the end', 'memory_read', { path: a, offset: 9 }, /ends at the offset 8/],
  ['a version of nothing', 'memory_read', { path: a, version_id: 'x' }, /no such version/],
  ['no path', 'memory_read', {}, /^Error: Missing `path` parameter/],
  ['a path of another type', 'memory_write', { path: 3, content: '' }, /^Error: Invalid `path`/],
  ['NUL', 'memory_write', { path: a, content: '\0' }, /^Error: Invalid `content` parameter/],
  ['a file as a directory', 'memory_write', { path: `${a}/b`, content: '' }, /the path is taken/],
  ['the root', 'memory_write', { path: '/memories', content: '' }, /root directory/],
  ['the root', 'memory_delete', { path: '/memories' }, /root directory/],
  [
    'a stale hash',
    'memory_write',
    { path: a, content: 'x', expected_sha256: stale },
    `Error: ${a} has another content than was expected. Read it again, and base the change on that`,
  ],
  ['what is no hash', 'memory_delete', { path: a, expected_sha256: 'x' }, /`expected_sha256`/],
  ['a stale hash', 'memory_delete', { path: a, expected_sha256: stale }, /another content/],
  [
    'a text that is not there',
    'memory_edit',
    { path: a, old_text: 'x', new_text: '' },
    /not occur/,
  ],
  ['a text that is there twice', 'memory_edit', { path: a, old_text: 'o', new_text: '' }, /once/],
  ['no text', 'memory_edit', { path: a, old_text: '', new_text: 'x' }, /`old_text` parameter/],
  ['a time before all', 'memory_restore', { path: a, to: '2001-01-01T00:00:00Z' }, /by then/],
  ['what is no point', 'memory_restore', { path: a, to: 'yesterday' }, /^Error: Invalid `to`/],
  ['a memory that never was', 'memory_restore', { path: '/memories/x' }, /\/memories\/x/],
  ['a page of another list', 'memory_list', { page: 'x' }, /^Error: /],
  ['a limit beyond', 'memory_history', { limit: 101 }, /^Error: Invalid `limit`/],
  ['a command that is none', 'memory', { command: 'format' }, /^Error: Invalid `command`/],
])('%s is refused by %s, and nothing changes', async (_, tool, input, text) => {
  const store = await storeWithFiles()
  const caller = await callerOf(store)
  const { head } = await store.status()
  const answer = await caller.call(tool, { ...input })
  expect(answer).toMatchObject({ refused: true, value: undefined })
  expect(answer.text).toMatch(text)
  expect((await store.status()).head).toBe(head)
})

test('a long memory is read in parts that fit', async () => {
  const { store } = await newStore({ limits: { contentBytes: 2 ** 21 } })
  // Characters of every width, of two units, and such as JSON writes with six.
  const content = 'aé字\u{1f600}\u0001\n'.repeat(50_000)
  await store.as(author).write('/long.txt', content)
  const caller = await callerOf(store)
  let read = ''
  let offset: unknown = 0
  while (offset !== null) {
    const { text, value } = await caller.call('memory_read', { path: '/memories/long.txt', offset })
    expect(Buffer.byteLength(JSON.stringify([text, value]))).toBeLessThan(2 ** 20)
    read += String(value?.['content'])
    offset = value?.['next_offset']
  }
  expect(read).toBe(content)
})

test('lists the author of each version, page by page', async () => {
  const store = await storeWithFiles()
  const caller = await callerOf(store)
  await caller.value('memory_write', { path: a, content: 'new' })
  const value = await caller.value('memory_history', { path: a, limit: 1 })
  const session = expect.stringMatching(/^Test-Client-\d{8}T\d{6}-[0-9a-f]{6}$/)
  expect(value['data']).toMatchObject([{ operation: 'modified', path: a, session }])
  const rest = await caller.value('memory_history', { path: a, page: value['next_page'] })
  expect(rest['data']).toMatchObject([{ operation: 'created', path: a, session: 'agent-1' }])
  const all = await caller.value('memory_history')
  expect(pathsOf(all)).toHaveLength(4)
})

test('an erased version is neither read nor restored', async () => {
  const store = await storeWithFiles()
  const caller = await callerOf(store)
  const before = await caller.value('memory_read', { path: a })
  await caller.value('memory_write', { path: a, content: 'new' })
  const version_id = String(before['version_id'])
  await store.as(author).redact({ select: { versionIds: [version_id] }, reason: 'unspecified' })
  const read = await caller.call('memory_read', { path: a, version_id })
  const restored = await caller.call('memory_restore', { path: a, to: version_id })
  for (const { text, refused } of [read, restored]) {
    expect(refused).toBe(true)
    expect(text).toMatch(/redacted/)
  }
  const { data } = await caller.value('memory_history', { memory_id: before['memory_id'] })
  expect(data).toMatchObject([
    { path: a },
    { version_id, path: null, sha256: null, redacted: true },
  ])
  expect(await contentsOf(store)).toMatchObject({ '/a.md': 'new' })
})

test('read-only access refuses tools that write, and does not list them', async () => {
  const store = await storeWithFiles()
  const { caller } = await connectTo(store, { access: 'read_only' })
  const { tools } = await caller.client.listTools()
  expect(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual(
    ['memory', 'memory_list', 'memory_search', 'memory_read', 'memory_history'].map((name) => [
      name,
      true,
    ]),
  )
  const { head } = await store.status()
  for (const [tool, input] of [
    ['memory', { command: 'create', path: '/memories/x', file_text: '' }],
    ['memory_write', { path: a, content: 'x' }],
    ['memory_edit', { path: a, old_text: 'one', new_text: 'x' }],
    ['memory_delete', { path: a }],
    ['memory_restore', { path: a }],
  ] as const) {
    const { refused, text } = await caller.call(tool, input)
    expect(refused, tool).toBe(true)
    expect(text, tool).toMatch(/read-only|read only/)
  }
  expect((await store.status()).head).toBe(head)
})

test('concurrent calls are done in their order', async () => {
  const store = await storeWithFiles()
  const caller = await callerOf(store)
  const path = '/memories/count.md'
  await caller.value('memory_write', { path, content: '0' })
  const steps = Array.from({ length: 20 }, (_, index) => [
    caller.call('memory_edit', { path, old_text: `${index}`, new_text: `${index + 1}` }),
    caller.call('memory', { command: 'view', path }),
    caller.call('memory_read', { path }),
  ])
  const answers = await Promise.all(steps.flat())
  const read = answers.filter((_, index) => index % 3 === 2).map(({ text }) => text)
  expect(read).toEqual(Array.from({ length: 20 }, (_, index) => `${index + 1}`))
})

test('a session is taken back as a whole, and no other', async () => {
  const store = await storeWithFiles()
  const [one, two] = [await callerOf(store), await callerOf(store)]
  await one.value('memory_write', { path: a, content: 'overwritten' })
  await one.value('memory_write', { path: '/memories/x.md', content: 'x' })
  await two.value('memory_write', { path: '/memories/y.md', content: 'y' })
  const { data } = await store.history.versions({ path: '/x.md' })
  const session = data[0]?.session
  expect(session).toMatch(/^Test-Client-/)
  await store.as(author).undo({ session })
  expect(await contentsOf(store)).toEqual({ ...files, '/y.md': 'y' })
})
