// The operations on memory stores and sessions: patches, archives, and what a session may.

import { describe, expect, test } from 'vitest'
import { createSession } from '../../../src/api/host-operations.ts'
import { newServedStore, serveStores, type Served } from '../../support/served-stores.ts'

const SESSIONS = '/v1/gitlocket/sessions'
const invalid = { status: 400, json: { error: { type: 'invalid_request_error' } } }

describe('the update of a store', () => {
  test('is refused once it is archived, which is once, even if nothing would change', async () => {
    const served = await serveStores()
    const path = await newServedStore(served)
    const { json } = await served.ask('POST', `${path}/archive`)
    expect(json.archived_at).toMatch(/Z$/)
    expect((await served.ask('POST', `${path}/archive`)).json).toEqual(json)
    expect(await served.ask('POST', path, { body: {} })).toMatchObject(invalid)
  })
})

async function newSession(
  served: Served,
  store: string,
  access: 'read_write' | 'read_only',
): Promise<Readonly<Record<string, string>>> {
  const id = store.split('/').at(-1)
  const body = { resources: [{ type: 'memory_store', memory_store_id: id, access }] }
  const { json } = await served.ask('POST', SESSIONS, { body })
  return { authorization: `Bearer ${json.token}` }
}

describe('a session', () => {
  test('is refused for many stores before one is looked at: there may be half a million', () => {
    let looks = 0
    const resource = {
      get type() {
        looks += 1
        return 'memory_store'
      },
      memory_store_id: 'memstore_x',
    }
    const isTaken = (count: number): boolean =>
      createSession.input.safeParse({ resources: Array.from({ length: count }, () => resource) })
        .success
    expect([isTaken(9), looks]).toEqual([false, 0])
    expect(isTaken(8)).toBe(true)
  })

  test('reaches its stores alone, manages nothing, and writes where it may', async () => {
    const served = await serveStores()
    const [own, other] = [await newServedStore(served), await newServedStore(served)]
    const writer = {
      headers: { 'x-api-key': undefined, ...(await newSession(served, own, 'read_write')) },
    }
    const reader = {
      headers: { 'x-api-key': undefined, ...(await newSession(served, own, 'read_only')) },
    }
    const memory = { body: { path: '/a', content: 'x' } }
    const statusOf = async (...asked: Parameters<Served['ask']>): Promise<number> =>
      (await served.ask(...asked)).status

    expect((await served.ask('GET', '/v1/memory_stores', writer)).json.data).toHaveLength(1)
    expect(await statusOf('GET', other, writer)).toBe(404)
    expect(await statusOf('POST', `${other}/memories`, { ...memory, ...writer })).toBe(404)
    expect(await statusOf('POST', `${own}/memories`, { ...memory, ...reader })).toBe(403)
    const created = await served.ask('POST', `${own}/memories`, { ...memory, ...writer })
    expect(created.status).toBe(200)
    const version = `${own}/memory_versions/${created.json.memory_version_id}`
    const { json } = await served.ask('GET', version, reader)
    expect(json.created_by).toMatchObject({ type: 'session_actor' })
    // Refused for want of the right, whatever the body is.
    for (const [method, path] of [
      ['POST', '/v1/memory_stores'],
      ['POST', own],
      ['POST', `${own}/archive`],
      ['DELETE', own],
      ['POST', `${version}/redact`],
      ['POST', SESSIONS],
    ] as const) {
      expect(await statusOf(method, path, { body: '[', ...writer })).toBe(403)
    }
  })

  test('is refused a write before its body is looked at', async () => {
    const served = await serveStores()
    const store = await newServedStore(served)
    const headers = { 'x-api-key': undefined, ...(await newSession(served, store, 'read_only')) }
    const { status } = await served.ask('POST', `${store}/memories`, { body: '[', headers })
    expect(status).toBe(403)
  })
})
