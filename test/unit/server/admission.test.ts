// Which requests are looked at: hosts, origins, credentials, versions and betas (Memory Stores API
// §1), and how much one key may ask.

import { describe, expect, test } from 'vitest'
import { serveStores } from '../../support/served-stores.ts'

const STORES = '/v1/memory_stores'
const AGENT = 'agent-memory-2026-07-22'
const MANAGED = 'managed-agents-2026-04-01'

describe('a request', () => {
  test.each<[string, Record<string, string | undefined>, number, string?]>([
    ['without a credential', { 'x-api-key': undefined }, 401, 'authentication_error'],
    ['with an unknown key', { 'x-api-key': 'unknown' }, 401, 'authentication_error'],
    ['with credentials that disagree', { authorization: 'Bearer other' }, 401],
    ['with an authorization of another kind', { authorization: 'Basic eDp5' }, 401],
    ['to a host name of somebody else', { host: 'evil.example' }, 403, 'permission_error'],
    ['to a name that contains ours', { host: 'localhost.evil.example' }, 403],
    ['to our name and port', { host: 'LOCALHOST:8080' }, 200],
    ['of a web page', { origin: 'https://evil.example' }, 403, 'permission_error'],
    ['of a page without an origin', { origin: 'null' }, 403],
    ['of an allowed page', { origin: 'https://console.example' }, 200],
    ['of SDK 0.x', { 'anthropic-version': '2023-06-01' }, 200],
    ['of SDK 1.x', { 'anthropic-version': '2026-10-21' }, 200],
    ['of no version', { 'anthropic-version': 'latest' }, 400, 'invalid_request_error'],
    ['without a beta', { 'anthropic-beta': undefined }, 400, 'invalid_request_error'],
    ['with another beta', { 'anthropic-beta': 'files-api-2025-04-14' }, 400],
    ['with both betas', { 'anthropic-beta': `${AGENT}, ${MANAGED}` }, 400],
    ['with the beta of agents', { 'anthropic-beta': `x-2026-01-01,${MANAGED}` }, 200],
    ['to another workspace', { 'anthropic-workspace-id': 'wrkspc_other' }, 403],
  ])('%s', async (_, headers, status, type) => {
    const { ask } = await serveStores({ allowedOrigins: ['https://console.example'] })
    const asked = await ask('GET', STORES, { headers })
    expect(asked.status).toBe(status)
    expect(asked.headers.get('request-id')).toMatch(/^req_[0-9a-f]{24}$/)
    expect([...asked.headers.keys()].filter((name) => name.startsWith('access-'))).toEqual([])
    if (status === 200) return
    expect(asked.json.request_id).toBe(asked.headers.get('request-id'))
    expect(asked.json.error.type).toBe(type ?? asked.json.error.type)
  })

  test('takes the key as a bearer token, alone or beside itself', async () => {
    const { ask, token } = await serveStores()
    const authorization = `Bearer ${token}`
    const alone = await ask('GET', STORES, { headers: { authorization, 'x-api-key': undefined } })
    expect(alone.status).toBe(200)
    expect((await ask('GET', STORES, { headers: { authorization } })).status).toBe(200)
  })

  test('names its workspace, and takes it back', async () => {
    const { ask } = await serveStores()
    const workspace = (await ask('GET', STORES)).headers.get('anthropic-workspace-id') ?? ''
    const headers = { 'anthropic-workspace-id': workspace }
    expect((await ask('GET', STORES, { headers })).status).toBe(200)
  })

  test('of an unknown route or method: 404, with a credential only', async () => {
    const { ask } = await serveStores()
    const notFound = { status: 404, json: { error: { type: 'not_found_error' } } }
    expect(await ask('GET', '/v1/unknown')).toMatchObject(notFound)
    expect(await ask('PATCH', STORES)).toMatchObject(notFound)
    const headers = { 'x-api-key': undefined }
    expect((await ask('GET', '/v1/unknown', { headers })).status).toBe(401)
  })
})

test('the health of the server is no secret, and tells nothing', async () => {
  const { ask } = await serveStores()
  const { status, json } = await ask('GET', '/healthz', { headers: { 'x-api-key': undefined } })
  expect({ status, json }).toEqual({ status: 200, json: { status: 'ok' } })
})

describe('one key may make', () => {
  test('so many requests a second', async () => {
    let now = 1_800_000_000_000
    const clock = () => now
    const { ask } = await serveStores({ clock, limits: { requestsPerSecondPerKey: 2 } })
    const statuses = async (count: number): Promise<readonly number[]> => {
      const found: number[] = []
      for (let i = 0; i < count; i += 1) found.push((await ask('GET', STORES)).status)
      return found
    }
    expect(await statuses(3)).toEqual([200, 200, 429])
    now += 500
    expect(await statuses(2)).toEqual([200, 429])
    const { headers, json } = await ask('GET', STORES)
    expect(headers.get('retry-after')).toBe('1')
    expect(json.error.type).toBe('rate_limit_error')
  })

  test('so many requests at once', async () => {
    const { ask } = await serveStores({ limits: { inFlightPerKey: 1 } })
    const create = () => ask('POST', STORES, { body: { name: 'x' } })
    const statuses = (await Promise.all([create(), create()])).map(({ status }) => status)
    expect(statuses).toEqual([200, 429])
    expect((await ask('GET', STORES)).status).toBe(200)
  })
})
