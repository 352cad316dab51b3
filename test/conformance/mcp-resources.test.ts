// Memories as resources of MCP: listed page by page, read by an address whose path is encoded, and
// described by their types.

import { expect, test } from 'vitest'
import { connectTo, eras } from '../support/mcp-client.ts'
import { author, newStore } from '../support/stores.ts'

test.each(eras)('are listed in pages of a hundred in the protocol %s', async (era) => {
  const { store } = await newStore()
  const paths = Array.from({ length: 205 }, (_, index) => `/n/${String(index).padStart(3, '0')}.md`)
  const me = store.as(author)
  await me.apply(paths.map((path) => ({ type: 'create', path, content: '' })))
  const { caller } = await connectTo(store, { era })
  const pages: string[][] = []
  let cursor: string | undefined
  do {
    const page = await caller.client.request({ method: 'resources/list', params: { cursor } })
    pages.push(page.resources.map(({ uri }) => uri))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  expect(pages.map(({ length }) => length)).toEqual([100, 100, 5])
  expect(pages.flat()).toEqual(paths.map((path) => `memory://memories${path}`))
})

test.each<[path: string, uri: string, mimeType: string]>([
  ['/a.md', 'memory://memories/a.md', 'text/markdown'],
  ['/A.MARKDOWN', 'memory://memories/A.MARKDOWN', 'text/markdown'],
  ['/a b/é.txt', 'memory://memories/a%20b/%C3%A9.txt', 'text/plain'],
  ['/100%?#&.json', 'memory://memories/100%25%3F%23%26.json', 'text/plain'],
])('%s is %s', async (path, uri, mimeType) => {
  const { store } = await newStore()
  await store.as(author).write(path, 'text')
  const { caller } = await connectTo(store)
  const { resources } = await caller.client.listResources()
  expect(resources).toMatchObject([{ uri, mimeType, size: 4, title: path.slice(1) }])
  expect((await caller.client.readResource({ uri })).contents).toEqual([
    { uri, mimeType, text: 'text' },
  ])
})

test('a memory that is too long for one answer is refused, with a way to read it', async () => {
  const { store } = await newStore({ limits: { contentBytes: 2 ** 21 } })
  await store.as(author).write('/long.txt', 'x'.repeat(1_000_001))
  const { caller } = await connectTo(store)
  const uri = 'memory://memories/long.txt'
  await expect(caller.client.readResource({ uri })).rejects.toMatchObject({
    message: expect.stringContaining('memory_read'),
  })
})

test.each(['', 'x', 'bWVtb3JpZXM/', Buffer.from('other/a').toString('base64url')])(
  'the cursor %j is refused',
  async (cursor) => {
    const { store } = await newStore()
    const { caller } = await connectTo(store)
    const asked = caller.client.request({ method: 'resources/list', params: { cursor } })
    await expect(asked).rejects.toMatchObject({ code: -32_602 })
  },
)

test.each(eras)('a client that lists or reads them first keeps its name, in %s', async (era) => {
  const { store } = await newStore()
  await store.as(author).write('/a.md', 'text')
  const name = 'An Agent'
  const lists = await connectTo(store, { era, name })
  await lists.caller.client.listResources()
  const reads = await connectTo(store, { era, name })
  await reads.caller.client.readResource({ uri: 'memory://memories/a.md' })
  const path = '/memories/b.md'
  for (const { caller } of [lists, reads]) {
    await caller.value('memory_write', { path, content: name })
    const { data } = await caller.value('memory_history', { path, limit: 1 })
    expect(data).toMatchObject([{ session: expect.stringMatching(/^An-Agent-/) }])
  }
})
