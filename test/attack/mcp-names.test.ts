// T62: a client of MCP that calls itself what it likes: its name becomes a part of the session that
// it writes in, and neither another session, nor an id of a server, nor anything that breaks a
// line.

import { beforeAll, describe, expect, test } from 'vitest'
import { keySession, runSession } from '../../src/mcp/author.ts'
import { mcpRoute } from '../../src/mcp/mcp.ts'
import type { MemoryStore } from '../../src/store/memory-store.ts'
import { connectTo, connectToServer, eras } from '../support/mcp-client.ts'
import { runningServer, type StoreOnServer } from '../support/running-server.ts'
import { author, contentsOf, newStore } from '../support/stores.ts'

const names: readonly (readonly [kind: string, name: string, becomes: string])[] = [
  ['an ordinary name', 'an-agent 1.0', 'an-agent-1.0'],
  ['an id of a session', 'sesn_01h00000000000000000000000', 'sesn-01h00000000000000000000000'],
  ['an id of a key', 'apikey_01h000000000000000000000', 'apikey-01h000000000000000000000'],
  ['another type of actor', 'user:root', 'user-root'],
  ['a name of another session', 'friday', 'friday'],
  ['control characters', 'a\u0000\u001b[31m\r\nb', 'a-31m-b'],
  ['letters that turn the direction', '\u202eadmin\u202c', 'admin'],
  ['letters that look alike', '\u0430gent', 'gent'],
  ['a way up', '../../etc/passwd', 'etc-passwd'],
  ['an option', '--session', 'session'],
  ['nothing', '', 'mcp-client'],
  ['nothing that stays', '\u{1f600}/ /\u0000', 'mcp-client'],
  ['dots', '...', 'mcp-client'],
  ['a lone half of a character', 'a\ud800b', 'a-b'],
  ['ten thousand letters', 'x'.repeat(10_000), 'x'.repeat(32)],
  ['ten thousand signs', '-'.repeat(10_000), 'mcp-client'],
  ['a prototype', '__proto__', 'proto'],
]

const allowed = /^[A-Za-z0-9.-]{1,64}$/
const run = /-\d{8}T\d{6}-[0-9a-f]{6}$/

async function sessionsIn(store: MemoryStore): Promise<(string | undefined)[]> {
  const { data } = await store.history.versions()
  return data.map(({ createdBy, session }) => {
    expect(createdBy).toEqual({ type: 'session', id: session })
    return session
  })
}

test.each(names)('on two streams: %s', { tags: 'slow' }, async (_, name, becomes) => {
  const { store } = await newStore()
  for (const [index, era] of eras.entries()) {
    const { caller } = await connectTo(store, { era, name })
    await caller.value('memory_write', { path: `/memories/${index}.md`, content: '' })
  }
  const sessions = await sessionsIn(store)
  for (const session of sessions) {
    expect(session).toMatch(allowed)
    expect(session).toMatch(run)
    expect(session?.replace(run, '')).toBe(becomes)
  }
  // Another one for each run, whatever the names are.
  expect(new Set(sessions).size).toBe(eras.length)
})

describe('on a server', { tags: 'slow' }, () => {
  const at = runningServer({ routes: [mcpRoute()] })
  let store: StoreOnServer
  beforeAll(async () => {
    store = await at.store()
  })

  test.each(names.flatMap((row) => eras.map((era) => [...row, era] as const)))(
    '%s',
    async (kind, name, becomes, era) => {
      const url = `${at.url}/mcp?memory_store_id=${store.id}`
      const caller = await connectToServer(url, { token: at.key.secret, era, name })
      const path = `/memories/${kind}/${era}`
      await caller.value('memory_write', { path, content: '' })
      const { data } = await caller.value('memory_history', { path })
      const session = `${becomes}-${at.key.id.slice(-12)}`
      expect(data).toMatchObject([{ session, created_by: `api:${at.key.id}` }])
    },
  )

  test.each(['x'.repeat(4000), 'sesn_01h.5', '../..', 'friday', '.', ''])(
    'an Mcp-Session-Id that we did not give, %s, is a name like any other',
    async (given) => {
      const path = `/memories/given/${given.length}`
      const params = { name: 'memory_write', arguments: { path, content: '' } }
      const answer = await fetch(`${at.url}/mcp?memory_store_id=${store.id}`, {
        method: 'POST',
        headers: {
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          'x-api-key': at.key.secret,
          'mcp-session-id': given,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      })
      expect([answer.status, await answer.text()]).toEqual([
        200,
        expect.stringContaining('Written'),
      ])
      const [version] = await store.versions()
      expect(version?.created_by).toEqual({ type: 'api_actor', api_key_id: at.key.id })
    },
  )
})

test('a client that is called like a session that was does not reach it', async () => {
  const { store } = await newStore()
  const first = await connectTo(store, { name: 'agent' })
  await first.caller.value('memory_write', { path: '/memories/first.md', content: '' })
  const [session = ''] = await sessionsIn(store)
  const second = await connectTo(store, { name: session })
  await second.caller.value('memory_write', { path: '/memories/second.md', content: '' })
  await store.as(author).undo({ session })
  expect(Object.keys(await contentsOf(store))).toEqual(['/second.md'])
})

test('no name makes the session of another key, or of a run', () => {
  const clock = (): number => Date.UTC(2026, 10, 23)
  const random = (length: number): Uint8Array<ArrayBuffer> => new Uint8Array(length)
  const ofRun = runSession('agent', clock, random)
  const ofKey = keySession('agent', 'apikey_0123456789abcdefghjkmnpqrs')
  const own = 'apikey_zzzzzzzzzzzzzzzzzzzzzzzzzz'
  for (const wanted of [ofRun, ofKey, 'sesn_0123456789abcdefghjkmnpqrs', 'friday']) {
    for (const name of [wanted, wanted.slice(0, -13), wanted.slice(0, -7), `${wanted}-`]) {
      expect(keySession(name, own)).not.toBe(wanted)
      expect(keySession(name, own)).toMatch(/-z{12}$/)
    }
  }
})

test.each<[string, unknown]>([
  ['a number', 7],
  ['null', null],
  ['an object', { toString: () => 'agent' }],
  ['a list', ['agent']],
  ['undefined', undefined],
])('a name that is %s is none', (_, name) => {
  const keyId = 'apikey_0123456789abcdefghjkmnpqrs'
  expect(keySession(name, keyId)).toBe('mcp-client-efghjkmnpqrs')
})

test('the name that is heard first is that of the whole run', async () => {
  const { store } = await newStore()
  const { caller } = await connectTo(store, { name: 'first' })
  await caller.value('memory_write', { path: '/memories/1.md', content: '' })
  const meta = {
    'io.modelcontextprotocol/clientInfo': { name: 'second', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  }
  const input = { path: '/memories/2.md', content: '' }
  await caller.client.callTool({ name: 'memory_write', arguments: input, ['_meta']: meta })
  const sessions = await sessionsIn(store)
  expect(new Set(sessions).size).toBe(1)
  expect(sessions[0]).toMatch(/^first-/)
})
