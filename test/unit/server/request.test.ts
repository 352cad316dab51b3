// Queries and bodies of requests, well-formed and not (Memory Stores API §1, §2.4).

import { describe, expect, test } from 'vitest'
import { serveStores } from '../../support/served-stores.ts'

const STORES = '/v1/memory_stores'
const invalid = { status: 400, json: { error: { type: 'invalid_request_error' } } }

describe('the query', () => {
  test.each([
    ['limit=2&beta=true&order_by=x&anything=', 200],
    ['limit=1&limit=1', 400],
    ['limit=0', 400],
    ['limit=101', 400],
    ['limit=1.5', 400],
    ['limit=%2B1', 400],
    ['limit=', 400],
    ['limit=01', 400],
    ['include_archived=true', 200],
    ['include_archived=1', 400],
    ['page=page_unknown', 400],
    ['created_at[gte]=2026-01-31T12:00:00Z', 200],
    ['created_at%5Bgte%5D=2026-01-31T12:00:00%2B02:00', 200],
    ['created_at[lte]=2026-01-31t12:00:00.123456789z', 200],
    ['created_at[lte]=2026-02-30T12:00:00Z', 400],
    ['created_at[lte]=2026-01-31', 400],
    ['created_at[lte]=yesterday', 400],
    ['x=%FF', 400],
    ['x=%', 400],
    ['x=%00', 200],
    ['page=%00', 400],
  ])('%s: %d', async (query, status) => {
    const { ask } = await serveStores()
    expect((await ask('GET', `${STORES}?${query}`)).status).toBe(status)
  })
})

describe('the body', () => {
  const bytes = (text: string) => new TextEncoder().encode(text)

  test.each<[string, string | Uint8Array, number]>([
    ['an object', '{"name":"x","unknown":1,"__proto__":{"name":1}}', 200],
    ['with a key twice: the last counts', '{"name":1,"name":"x"}', 200],
    ['an array', '[]', 400],
    ['null', 'null', 400],
    ['a text', '"x"', 400],
    ['incomplete JSON', '{"name":', 400],
    ['empty', '', 400],
    ['invalid UTF-8', new Uint8Array([...bytes('{"name":"'), 0xff, ...bytes('"}')]), 400],
    ['a lone surrogate', String.raw`{"name":"\ud800"}`, 400],
    ['a NUL', String.raw`{"name":"\u0000"}`, 400],
    ['of deep arrays', `{"name":"x","y":${'['.repeat(9999)}${']'.repeat(9999)}}`, 200],
    ['with a field of another type', '{"name":1}', 400],
    ['without a field', '{}', 400],
    ['with a required field null', '{"name":null}', 400],
    ['with a description null', '{"name":"x","description":null,"metadata":null}', 200],
    ['with metadata that are not texts', '{"name":"x","metadata":{"a":1}}', 400],
    ['with metadata in an array', '{"name":"x","metadata":["a"]}', 400],
  ])('%s', async (_, body, status) => {
    const { ask } = await serveStores()
    const asked = await ask('POST', STORES, { body })
    expect(asked.status).toBe(status)
    if (status === 400) expect(asked).toMatchObject(invalid)
  })

  test.each([
    ['application/json; charset=utf-8', 200],
    ['Application/JSON;charset="UTF-8"', 200],
    ['application/json; charset=latin1', 400],
    ['text/plain', 400],
    ['application/jsonp', 400],
  ])('of type %s: %d', async (type, status) => {
    const { ask } = await serveStores()
    const request = { body: { name: 'x' }, headers: { 'content-type': type } }
    expect((await ask('POST', STORES, request)).status).toBe(status)
  })
})
