// T76: a caller with an API key, a session or the tools of a model, or a device that is not an
// owner, wants the guard off or one text let through. FORMAT §5.1.

import { describe, expect, test } from 'vitest'
import { sha256OfText } from '../../src/crypto/digest.ts'
import { withAllowed } from '../../src/store/guard/guard.ts'
import { admit, bareRemote, firstClone, joinClone, sync } from '../support/clones.ts'
import { connectTo } from '../support/mcp-client.ts'
import { newServedStore, type Served, serveStores } from '../support/served-stores.ts'
import { author, newStore } from '../support/stores.ts'

/** Put together here, so that no scanner takes it for a leak. */
const content = `token ghp_${'aB3dE5gH7jK9'.repeat(3)}`
const invalid = { status: 400, json: { error: { type: 'invalid_request_error' } } }

async function expectGuarded({ ask }: Served, path: string): Promise<void> {
  const body = { path: '/a.md', content }
  const { status, json } = await ask('POST', `${path}/memories`, { body })
  expect(status).toBe(400)
  expect(json.error.message).toContain('would hold sensitive content')
  expect(JSON.stringify(json)).not.toContain(content)
}

test('T76: a store made over HTTP has the guard on, and its pair is not shown', async () => {
  const served = await serveStores()
  const path = await newServedStore(served)
  expect((await served.ask('GET', path)).json.metadata).toEqual({})
  await expectGuarded(served, path)
})

test.each([
  ['removed', { gitlocket_guard: null }],
  ['off', { gitlocket_guard: 'off' }],
  ['off, among others', { team: 'a', gitlocket_guard: 'off' }],
  ['another own pair', { gitlocket_other: 'v' }],
  ['one text let through', withAllowed({}, sha256OfText(content), true)],
])('T76: the update of a store cannot turn it off: %s', async (_, metadata) => {
  const served = await serveStores()
  const path = await newServedStore(served)
  expect(await served.ask('POST', path, { body: { metadata } })).toMatchObject(invalid)
  await expectGuarded(served, path)
})

test('T76: the creation of a store cannot either', async () => {
  const { ask } = await serveStores()
  const body = { name: 'x', metadata: { gitlocket_guard: 'off' } }
  expect(await ask('POST', '/v1/memory_stores', { body })).toMatchObject(invalid)
})

test('T76: it remains on when a key changes other pairs, all 16 of them', async () => {
  const served = await serveStores()
  const path = await newServedStore(served)
  const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`k${n}`, 'v']))
  const { json } = await served.ask('POST', path, { body: { metadata } })
  expect(json.metadata).toEqual(metadata)
  await expectGuarded(served, path)
})

describe('T76: no parameter of a request lets a text through:', () => {
  const sha256 = sha256OfText(content)
  const given = [{ guard: false }, { allow: sha256 }, { metadata: withAllowed({}, sha256, true) }]

  test.each(given)('over HTTP, %j', async (more) => {
    const served = await serveStores()
    const path = await newServedStore(served)
    const body = { path: '/a.md', content, ...more }
    expect((await served.ask('POST', `${path}/memories`, { body })).status).toBe(400)
    await expectGuarded(served, path)
  })

  test.each(given)('of a tool of MCP, %j', async (more) => {
    const { store } = await newStore({ refuseSecrets: true })
    const { caller } = await connectTo(store)
    const { tools } = await caller.client.listTools()
    expect(JSON.stringify(tools)).not.toMatch(/guard|allow/i)
    const path = '/memories/a.md'
    for (const [tool, call] of [
      ['memory_write', { path, content }],
      ['memory', { command: 'create', path, file_text: content }],
    ] as const) {
      expect(await caller.call(tool, { ...call, ...more })).toMatchObject({ refused: true })
      const { refused, text } = await caller.call(tool, call)
      expect([refused, text]).toEqual([true, expect.stringMatching(/GitHub token in line 1/)])
      expect(text).not.toContain(content)
    }
    expect(await store.read('/a.md')).toBeUndefined()
    await caller.close()
  })
})

test('T76: a tool writes only the text that an owner has let through', async () => {
  const { store } = await newStore({ refuseSecrets: true })
  const { caller } = await connectTo(store)
  await store.as(author).settings.update(({ metadata }) => ({
    metadata: withAllowed(metadata, sha256OfText(content), true),
  }))
  const other = { path: '/memories/a.md', content: `${content}\n` }
  expect(await caller.call('memory_write', other)).toMatchObject({ refused: true })
  await caller.value('memory_write', { path: '/memories/a.md', content })
  expect((await store.read('/a.md'))?.content).toBe(content)
  await caller.close()
})

test('T76: a device that is not an owner lets no text through', { tags: 'slow' }, async () => {
  const url = bareRemote()
  const first = await firstClone(url)
  const identity = await admit(first, 'writer')
  await sync(first)
  const { store } = await joinClone(first, url, { identity })
  const change = store.as(author).settings.update(({ metadata }) => ({
    metadata: withAllowed(metadata, sha256OfText(content), true),
  }))
  await expect(change).rejects.toMatchObject({ code: 'permission_denied' })
})
