// T76: who has an API key, or speaks for a model, and wants the guard off. FORMAT §5.1.

import { expect, test } from 'vitest'
import { newServedStore, type Served, serveStores } from '../support/served-stores.ts'

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

test('T76: it stays on where a key changes other pairs, all 16 of them', async () => {
  const served = await serveStores()
  const path = await newServedStore(served)
  const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`k${n}`, 'v']))
  const { json } = await served.ask('POST', path, { body: { metadata } })
  expect(json.metadata).toEqual(metadata)
  await expectGuarded(served, path)
})
