// T54: a client that chooses paths, ids and parameters, as bytes on a socket that no library
// normalises, is refused or gets what it may have: no file of the machine, no internal error,
// nothing made or changed.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { exchangeBytes, type Json, statusesIn } from '../support/http-caller.ts'
import { runningServer, type StoreOnServer, storesPath } from '../support/running-server.ts'

const at = runningServer()
let store: StoreOnServer
let memory: Json
beforeAll(async () => {
  store = await at.store()
  memory = await store.create('/a', 'text')
})

/** The server's answer to a target, with a valid key. */
const ask = (method: string, target: string): Promise<string> =>
  exchangeBytes(at.url, [
    Buffer.from(
      `${method} ${target} HTTP/1.1\r\nhost: ${new URL(at.url).host}\r\n` +
        `anthropic-version: 2023-06-01\r\nanthropic-beta: agent-memory-2026-07-22\r\n` +
        `x-api-key: ${at.key.secret}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
      'latin1',
    ),
  ])

const refused = [expect.toSatisfy((status: number) => status >= 400 && status < 500)]
const files = (): string[] =>
  readdirSync(join(at.directory, 'data'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => !name.includes(store.id),
  )

describe('T54: invalid targets', () => {
  test.each([
    '/v1/memory_stores/..%2F..%2Fcatalogue',
    '/v1/memory_stores/..%2f..%2f..%2f..%2fetc%2fpasswd',
    '/v1/memory_stores/../../../../etc/passwd',
    '/v1/memory_stores/%2e%2e%2f%2e%2e%2fcredentials',
    '/v1/memory_stores/%252e%252e%252fcatalogue',
    '/v1/memory_stores/..%5c..%5ccatalogue',
    '/v1/memory_stores/%c0%ae%c0%ae%c0%afcatalogue',
    '/v1/memory_stores/%',
    '/v1/memory_stores/%z1',
    '/v1/memory_stores/%ff',
    '/v1/memory_stores/%00',
    '/v1/memory_stores/\xff\xfe',
    '/v1/memory_stores/ID%00',
    '/v1/memory_stores/ID%20',
    '/v1/memory_stores/ID%0d%0a',
    '/v1/memory_stores/ID.git',
    '/v1/memory_stores/ID%2Fmemories',
    '/v1/memory_stores/ID%2fmemories%2fMEMORY',
    '/v1/memory_stores/%2E',
    '/v1/memory_stores//',
    '//v1/memory_stores',
    '/v1//memory_stores',
    '/V1/MEMORY_STORES',
    '/v1/memory_stores/ID/memories/..%2F..%2FID2',
    '/v1/memory_stores/ID/memories/%2e%2e',
    '/v1/memory_stores/ID/memories/MEMORY%00',
    '/v1/memory_stores/ID/memories/__proto__',
    '/v1/memory_stores/ID/memory_versions/constructor',
    '/v1/memory_stores/constructor',
    '/v1/memory_stores/__proto__/memories',
    '/v1/memory_stores/ID;jsessionid=1',
    `/v1/memory_stores/${'a'.repeat(7000)}`,
    `/v1/memory_stores${'/a'.repeat(3000)}`,
    `/${'../'.repeat(2000)}etc/passwd`,
    '*',
    '/healthz/..%2fv1%2fmemory_stores',
    '/.git/config',
    '/favicon.ico',
  ])('%s', async (pattern) => {
    const before = files()
    const target = pattern.replace('ID', store.id).replace('MEMORY', memory.id)
    for (const method of ['GET', 'POST', 'DELETE']) {
      const said = await ask(method, target)
      expect(statusesIn(said)).toEqual(refused)
      expect(said).not.toContain('root:')
      expect(said).not.toContain(at.directory)
    }
    expect(files()).toEqual(before)
    expect(await store.memories('view=full')).toMatchObject([{ path: '/a', content: 'text' }])
  })
})

describe('T54: invalid queries', () => {
  const harmless = [expect.toSatisfy((status: number) => status >= 200 && status < 500)]
  test.each([
    '?%',
    '?%ff=%ff',
    '?limit=%',
    '?limit[]=1',
    '?limit[0]=1',
    '?limit=1&limit[]=2',
    '?__proto__=1&__proto__[polluted]=1',
    '?constructor[prototype][polluted]=1',
    '?=&=&&&',
    '?page[]=a&page[$gt]=',
    '?created_at[gte][lte]=2020-01-01T00:00:00Z',
    '?created_at=2020-01-01T00:00:00Z',
    '?created_at[gte]=+275760-09-13T00:00:00Z',
    '?created_at[gte]=-000001-01-01T00:00:00Z',
    '?path_prefix=/%00/',
    '?path_prefix=/../',
    '?path_prefix=%2F..%2F..%2Fetc%2F',
    `?path_prefix=/${'a'.repeat(6000)}/`,
    '?depth=1e0',
    '?view=full%00',
    `?memory_id=${'a'.repeat(6000)}`,
    `?${Array.from({ length: 1500 }, (_, n) => `a${n}=1`).join('&')}`,
    "?operation=created'--",
    '?\xe9=\xe9',
  ])('%s', async (query) => {
    for (const path of [storesPath, `${store.path}/memories`, `${store.path}/memory_versions`]) {
      const said = await ask('GET', path + query)
      expect(statusesIn(said)).toEqual(harmless)
      expect(said).not.toContain(at.directory)
    }
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })
})

test('T54: an id is refused at once, however many there are', async () => {
  const ids = Array.from({ length: 200 }, (_, n) => `memstore_${String(n).padStart(26, '0')}`)
  const before = files()
  const answers = await Promise.all(ids.map((id) => at.caller.get(`${storesPath}/${id}/memories`)))
  expect(answers.every(({ status }) => status === 404)).toBe(true)
  expect(files()).toEqual(before)
})
