// MCP on a server, `/mcp`, through the official client: which stores a credential reaches, in whose
// name it writes, and what the door of the server refuses before the protocol is looked at.

import { beforeAll, describe, expect, test } from 'vitest'
import { mcpRoute } from '../../src/mcp/mcp.ts'
import { expectDone } from '../support/http-caller.ts'
import { connectToServer, type Era, eras, type McpCaller } from '../support/mcp-client.ts'
import { runningServer, storesPath, type StoreOnServer } from '../support/running-server.ts'

const lines: { route: string | null; status: number; error?: string }[] = []
const at = runningServer({
  routes: [mcpRoute({ version: '9' })],
  log: (line) => lines.push(line),
  limits: { requestsPerSecondPerKey: 10_000 },
})
let notes: StoreOnServer
let rules: StoreOnServer

beforeAll(async () => {
  notes = await at.store({ name: 'My Notes', description: 'What is noted' })
  rules = await at.store({ name: 'Rules' })
  await notes.create('/a.md', 'one')
  await rules.create('/r.md', 'rule')
})

async function connect(
  era: Era,
  { token = at.key.secret, query = '', name = 'Test Client' } = {},
): Promise<McpCaller> {
  return connectToServer(`${at.url}/mcp${query}`, { token, era, name })
}

function pathsIn({ data }: Record<string, unknown>): string[] {
  return Array.isArray(data) ? data.map((one: unknown) => String(Object(one).path)) : []
}

describe.each(eras)('in the protocol %s', { tags: 'slow' }, (era) => {
  test('a key reaches all stores of its workspace', async () => {
    const caller = await connect(era)
    expect(caller.client.getServerVersion()).toMatchObject({ name: 'gitlocket', version: '9' })
    expect(caller.client.getInstructions()).toContain('What is noted')
    await caller.client.listTools()
    const roots = pathsIn(await caller.value('memory_list'))
    expect(roots).toEqual(expect.arrayContaining(['/memories/my-notes/', '/memories/rules/']))
    const path = `/memories/my-notes/${era}.md`
    await caller.value('memory_write', { path, content: 'written' })
    expect(await caller.value('memory_read', { path })).toMatchObject({ content: 'written' })
    const found = await caller.value('memory_search', { query: 'rule' })
    expect(pathsIn(found)).toEqual(['/memories/rules/r.md'])
    const nowhere = await caller.call('memory_history')
    expect(nowhere).toMatchObject({ refused: true, text: expect.stringMatching(/directories/) })
    await caller.close()
  })

  test('the writes of a key belong to a session named after the client', async () => {
    const caller = await connect(era, { query: `?memory_store_id=${notes.id}`, name: 'An Agent' })
    const path = `/memories/by-${era}.md`
    await caller.value('memory_write', { path, content: 'x' })
    const { data } = await caller.value('memory_history', { path })
    const session = `An-Agent-${at.key.id.slice(-12)}`
    expect(data).toMatchObject([{ session, created_by: `api:${at.key.id}` }])
    await caller.close()
  })

  test('a session reaches its attached stores, each with its access', async () => {
    const readOnly = { type: 'memory_store', memory_store_id: rules.id, access: 'read_only' }
    const { id, token } = await at.session([notes, { ...readOnly, instructions: 'Obey them' }])
    const caller = await connect(era, { token, name: 'sesn_00000000000000000000000000' })
    expect(pathsIn(await caller.value('memory_list'))).toEqual([
      '/memories/my-notes/',
      '/memories/rules/',
    ])
    const rulesInPrompt = '- /memories/rules (read only)\n  Instructions: Obey them\n'
    expect(caller.client.getInstructions()).toContain(rulesInPrompt)
    const path = `/memories/my-notes/s-${era}.md`
    await caller.value('memory_write', { path, content: 'x' })
    const { data } = await caller.value('memory_history', { path })
    expect(data).toMatchObject([{ session: id, created_by: `session:${id}` }])
    const refused = await caller.call('memory_write', { path: '/memories/rules/r.md', content: '' })
    expect(refused).toMatchObject({ refused: true, text: expect.stringMatching(/read-only/) })
    await caller.close()
  })

  test('resources are those of all stores, page by page', async () => {
    const caller = await connect(era)
    const uris: string[] = []
    let cursor: string | undefined
    do {
      const page = await caller.client.request({ method: 'resources/list', params: { cursor } })
      uris.push(...page.resources.map(({ uri }) => uri))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    expect(uris).toContain('memory://rules/r.md')
    expect(uris).toContain('memory://my-notes/a.md')
    const { contents } = await caller.client.readResource({ uri: 'memory://rules/r.md' })
    expect(contents).toMatchObject([{ text: 'rule', mimeType: 'text/markdown' }])
    await caller.close()
  })
})

test('one store that the address names is /memories itself', async () => {
  const caller = await connect('2026-07-28', { query: `?memory_store_id=${rules.id}` })
  expect(pathsIn(await caller.value('memory_list'))).toEqual(['/memories/r.md'])
  const two = `?memory_store_id=${rules.id}&memory_store_id=${notes.id}`
  const both = await connect('2026-07-28', { query: two })
  expect(pathsIn(await both.value('memory_list'))).toEqual([
    '/memories/rules/',
    '/memories/my-notes/',
  ])
})

test.each(['the key', 'a session'])('the guard is on for %s', async (who) => {
  const token = who === 'the key' ? at.key.secret : String((await at.session([notes])).token)
  const caller = await connect('2026-07-28', { token })
  const content = ['AKIA', 'QYLPMN5HHHFPZAM2'].join('')
  const path = '/memories/my-notes/secret.md'
  const refused = { refused: true, text: expect.stringMatching(/Cannot write .*AWS/) }
  expect(await caller.call('memory_write', { path, content })).toMatchObject(refused)
  const created = await caller.call('memory', { command: 'create', path, file_text: content })
  expect(created).toMatchObject(refused)
  await caller.close()
})

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

/** A request as any program may send it. */
async function send(
  init: RequestInit & { readonly headers?: Record<string, string> },
  query = '',
): Promise<Response> {
  const accept = 'application/json, text/event-stream'
  const headers = { accept, 'content-type': 'application/json', 'x-api-key': at.key.secret }
  const body = JSON.stringify(ping)
  return fetch(`${at.url}/mcp${query}`, {
    method: 'POST',
    body,
    ...init,
    headers: { ...headers, ...init.headers },
  })
}

test.each<[string, Parameters<typeof send>, number]>([
  ['no credential', [{ headers: { 'x-api-key': '' } }], 401],
  ['another origin', [{ headers: { origin: 'https://evil.example' } }], 403],
  ['a body that is too long', [{ body: ' '.repeat(2 ** 20 + 1) }], 413],
  ['what is no JSON', [{ body: '{' }], 400],
  ['a batch', [{ body: JSON.stringify([ping, ping]) }], 400],
  ['another content type', [{ headers: { 'content-type': 'text/plain' } }], 415],
  ['GET', [{ method: 'GET', body: null }], 405],
  ['DELETE', [{ method: 'DELETE', body: null }], 405],
  ['a store of nobody', [{}, '?memory_store_id=memstore_x'], 404],
  ['nine stores', [{}, `?${'memory_store_id=x&'.repeat(9)}`], 400],
])('%s is refused', async (_, args, status) => {
  const before = lines.length
  const answer = await send(...args)
  expect(answer.status).toBe(status)
  expect(answer.headers.get('request-id')).toMatch(/^req_/)
  await answer.text()
  expect(lines.slice(before)).toMatchObject([{ route: '/mcp', status }])
})

test('a store of another workspace is not found', async () => {
  const answer = await send(
    { headers: { 'x-api-key': at.foreignKey.secret } },
    `?memory_store_id=${notes.id}`,
  )
  expect(answer.status).toBe(404)
})

test('a key of a workspace without stores gets an error that explains it', async () => {
  const answer = await send({ headers: { 'x-api-key': at.foreignKey.secret } })
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({
    error: { message: expect.stringMatching(/has no memory store yet: create one/) },
  })
})

test('a key of a workspace with nine stores must name some, and may', async () => {
  const ids: string[] = []
  for (let count = 0; count < 9; count += 1) {
    ids.push(expectDone(await at.foreign.post(storesPath, { name: 'store' }))['id'])
  }
  const headers = { 'x-api-key': at.foreignKey.secret }
  const answer = await send({ headers })
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({
    error: { message: expect.stringMatching(/more than 8 memory stores.*\?memory_store_id=/) },
  })
  const named = ids.slice(0, 8).map((id) => `memory_store_id=${id}`)
  expect((await send({ headers }, `?${named.join('&')}`)).status).toBe(200)
})

test('a client that is refused gets no session', async () => {
  const clientInfo = { name: 'x', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const body = JSON.stringify({ ...ping, method: 'initialize', params })
  const answered = await send({ body })
  expect([answered.status, answered.headers.get('mcp-session-id')]).toEqual([
    200,
    expect.stringMatching(/^x\./),
  ])
  const refused = await send({ body, headers: { accept: 'text/html' } })
  expect([refused.status, refused.headers.get('mcp-session-id')]).toEqual([406, null])
})

test('clients of 2025 are offered no subscriptions', async () => {
  const caller = await connect('2025-11-25')
  expect(caller.client.getServerCapabilities()?.resources).toEqual({})
  const asked = caller.client.subscribeResource({ uri: 'memory://rules/r.md' })
  await expect(asked).rejects.toThrow('Method not found')
})
