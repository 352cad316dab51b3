// Several stores by MCP, each a directory of /memories: what the client is told of them, and that
// every tool works in the store of the path, with its access.

import { beforeEach, expect, test } from 'vitest'
import { hasCode } from '../../src/errors.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { connectTo, type McpCaller } from '../support/mcp-client.ts'
import { author, contentsOf, newStore } from '../support/stores.ts'

let work: MemoryStore
let rules: MemoryStore
let caller: McpCaller

beforeEach(async () => {
  work = (await newStore()).store
  rules = (await newStore()).store
  await work.as(author).write('/a.md', 'a deadlock')
  await rules.as(author).write('/b.md', 'no deadlock')
  const stores = [
    { store: work, mount: 'team', instructions: 'One file per project.' },
    { store: rules, mount: 'rules', access: 'read_only' as const },
  ]
  caller = (await connectTo(stores)).caller
})

test('the instructions name each with its access, and quote the program', () => {
  const instructions = caller.client.getInstructions() ?? ''
  expect(instructions).toMatch(/^- \/memories\/team \(read and write\)$/m)
  expect(instructions).toMatch(/^ {2}Instructions: One file per project\.$/m)
  expect(instructions).toMatch(/^- \/memories\/rules \(read only\)$/m)
})

test('a list, a search and the resources cover all of them', async () => {
  const dataOf = ({ data }: Record<string, unknown>): unknown[] => (Array.isArray(data) ? data : [])
  const pathOf = (item: unknown): unknown => Object(item).path
  const listed = dataOf(await caller.value('memory_list'))
  expect(listed.map(pathOf)).toEqual(['/memories/team/', '/memories/rules/'])
  const found = dataOf(await caller.value('memory_search', { query: 'deadlock' }))
  expect(new Set(found.map(pathOf))).toEqual(
    new Set(['/memories/rules/b.md', '/memories/team/a.md']),
  )
  const { resources } = await caller.client.listResources()
  const uris = resources.map(({ uri }) => uri)
  expect(uris.toSorted()).toEqual(['memory://rules/b.md', 'memory://team/a.md'])
})

test('writes to the store of the path, and never to a read-only one', async () => {
  const written = { path: '/memories/team/c.md', content: 'c' }
  expect(await caller.value('memory_write', written)).toMatchObject({ path: '/memories/team/c.md' })
  const refused = await caller.call('memory_write', { path: '/memories/rules/c.md', content: 'c' })
  expect(refused).toMatchObject({ refused: true, text: expect.stringContaining('read-only') })
  expect(await contentsOf(work)).toEqual({ '/a.md': 'a deadlock', '/c.md': 'c' })
  expect(await contentsOf(rules)).toEqual({ '/b.md': 'no deadlock' })
})

test('a resource has an address, whatever its store is called', async () => {
  const named = await connectTo([{ store: work, mount: 'Tägebuch 1' }])
  const { resources } = await named.caller.client.listResources()
  const [uri = ''] = resources.map((resource) => resource.uri)
  expect(uri).toBe('memory://T%C3%A4gebuch%201/a.md')
  const { contents } = await named.caller.client.readResource({ uri })
  expect(contents).toMatchObject([{ uri, text: 'a deadlock' }])
})

test('a directory or instructions for one store are refused for several', async () => {
  const stores = [{ store: work }, { store: rules }]
  for (const options of [{ path: '/d' }, { instructions: 'Read.' }]) {
    const failure: unknown = await connectTo(stores, options).catch((error: unknown) => error)
    expect(hasCode(failure, 'invalid_input')).toBe(true)
  }
})
