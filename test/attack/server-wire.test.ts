// T55: bytes that can be read in two ways, through a proxy or not, smuggle no request inside
// another, get no request answered twice, and set no header of an answer.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { exchangeBytes, expectDone, expectRefused, statusesIn } from '../support/http-caller.ts'
import { runningServer, type StoreOnServer, storesPath } from '../support/running-server.ts'

const at = runningServer()
let store: StoreOnServer
beforeAll(async () => {
  store = await at.store({ name: 'there' })
})

const lines = (...more: readonly string[]): string =>
  [
    `host: ${new URL(at.url).host}`,
    'anthropic-version: 2023-06-01',
    'anthropic-beta: agent-memory-2026-07-22',
    `x-api-key: ${at.key.secret}`,
    ...more,
  ]
    .map((line) => `${line}\r\n`)
    .join('')

/** A request that makes a store, to be hidden in another one. */
const hidden = (): string => {
  const body = '{"name":"hidden"}'
  const type = 'content-type: application/json'
  const head = `POST ${storesPath} HTTP/1.1\r\n${lines(type, `content-length: ${body.length}`)}`
  return `${head}\r\n${body}`
}

const names = async (): Promise<string[]> =>
  expectDone(await at.caller.get(`${storesPath}?limit=100`)).data.map(
    ({ name }: { name: string }) => name,
  )

describe('T55: a body holds no request', () => {
  const size = (text: string): string => Buffer.byteLength(text).toString(16)
  test.each<[name: string, shape: (inner: string) => string]>([
    ['a length and chunks', (x) => framed(`content-length: ${x.length}`, chunked, `0\r\n\r\n${x}`)],
    ['chunks and a length', (x) => framed(chunked, 'content-length: 5', `0\r\n\r\n${x}`)],
    ['two lengths', (x) => framed('content-length: 0', `content-length: ${x.length}`, x)],
    ['two lengths in one line', (x) => framed(`content-length: 0, ${x.length}`, '', x)],
    ['a length with a sign', (x) => framed('content-length: +0', '', x)],
    ['a length in hex', (x) => framed('content-length: 0x0', '', x)],
    ['a negative length', (x) => framed('content-length: -1', '', x)],
    ['a length with a space', (x) => framed('content-length : 0', '', x)],
    ['a folded line', (x) => framed('a: b\r\n content-length: 0', '', x)],
    ['chunks by another name', (x) => framed('transfer-encoding: xchunked', '', x)],
    ['chunks that are not last', (x) => framed('transfer-encoding: chunked, a', '', x)],
    ['chunks after a tab', (x) => framed('transfer-encoding:\tchunked', 'content-length: 3', x)],
    ['chunks twice', (x) => framed(chunked, chunked, `0\r\n\r\n${x}`)],
    ['a vertical tab in the name', (x) => framed('transfer\x0bencoding: chunked', '', x)],
    ['a chunk of no size', (x) => framed(chunked, '', `\r\n${x}`)],
    ['a chunk with a sign', (x) => framed(chunked, '', `+${size(x)}\r\n${x}\r\n0\r\n\r\n`)],
    ['a chunk too long for a number', (x) => framed(chunked, '', `${'f'.repeat(17)}\r\n${x}`)],
    ['a chunk that is too short', (x) => framed(chunked, '', `1\r\n${x}\r\n0\r\n\r\n`)],
    ['line feeds alone in chunks', (x) => framed(chunked, '', `0\n\n${x}`)],
    [
      'a body of a GET',
      (x) => `GET ${storesPath} HTTP/1.1\r\n${lines(`content-length: ${x.length}`)}\r\n${x}`,
    ],
    ['a header in a chunk', (x) => framed(chunked, '', `0;a="\r\n${x}"\r\n\r\n`)],
  ])('%s', async (_, shape) => {
    const said = await exchangeBytes(at.url, [shape(hidden())])
    const statuses = statusesIn(said)
    expect(statuses.filter((status) => status >= 500)).toEqual([])
    // A request with unambiguous framing may be followed by another; no sender of a body is
    // mistaken about where that begins.
    expect(statuses.length).toBeLessThanOrEqual(1)
    expect(await names()).toEqual(['there'])
  })

  const chunked = 'transfer-encoding: chunked'
  /** A request whose body is read in one way or the other. */
  const framed = (one: string, other: string, rest: string): string => {
    const both = [one, other].filter((line) => line !== '')
    return `POST ${storesPath}/none/archive HTTP/1.1\r\n${lines(...both)}\r\n${rest}`
  }
})

describe('T55: malformed requests are refused', () => {
  test.each<[name: string, bytes: () => string]>([
    ['another protocol', () => 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['TLS', () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['a version that does not exist', () => `GET ${storesPath} HTTP/9.9\r\n${lines()}\r\n`],
    ['a line feed alone', () => `GET ${store.path} HTTP/1.1\n${lines().replaceAll('\r', '')}\n`],
    ['a carriage return alone', () => `GET ${store.path} HTTP/1.1\r${lines()}\r\n`],
    ['NUL in a header', () => `GET ${store.path} HTTP/1.1\r\n${lines('a: b\0c')}\r\n`],
    ['a space in the target', () => `GET ${store.path} x HTTP/1.1\r\n${lines()}\r\n`],
    ['a header without a colon', () => `GET ${store.path} HTTP/1.1\r\n${lines('abc')}\r\n`],
    ['a header without a name', () => `GET ${store.path} HTTP/1.1\r\n${lines(': abc')}\r\n`],
    ['a proxy’s CONNECT', () => `CONNECT 127.0.0.1:22 HTTP/1.1\r\n${lines()}\r\n`],
    ['TRACE', () => `TRACE ${store.path} HTTP/1.1\r\n${lines()}\r\n`],
    ['an unknown method', () => `BREW ${store.path} HTTP/1.1\r\n${lines()}\r\n`],
    [
      'an upgrade',
      () => `GET /none HTTP/1.1\r\n${lines('connection: upgrade', 'upgrade: h2c')}\r\n`,
    ],
    ['two keys', () => `GET ${store.path} HTTP/1.1\r\n${lines('x-api-key: another')}\r\n`],
  ])('%s', async (_, bytes) => {
    await expectOnlyRefusals(bytes())
  })

  // The server waits for more.
  test.each<[name: string, bytes: () => string]>([
    ['nothing', () => '\r\n\r\n\r\n'],
    ['HTTP/0.9', () => `GET ${storesPath}\r\n`],
  ])('%s', { tags: 'slow' }, async (_, bytes) => {
    await expectOnlyRefusals(bytes())
  })

  async function expectOnlyRefusals(bytes: string): Promise<void> {
    const said = await exchangeBytes(at.url, [Buffer.from(bytes, 'latin1')])
    for (const status of statusesIn(said))
      expect([400, 401, 403, 404, 405, 408, 431]).toContain(status)
    expect(said).not.toContain('"there"')
    expect(said).not.toContain(at.key.secret)
    expect(await names()).toEqual(['there'])
  }

  test('the refusal of a malformed request has the envelope too', async () => {
    const said = await exchangeBytes(at.url, ['no request\r\n\r\n'])
    expect(statusesIn(said)).toEqual([400])
    const body = JSON.parse(said.slice(said.indexOf('\r\n\r\n') + 4))
    expect(body.error.type).toBe('invalid_request_error')
    expect(said).toContain(`request-id: ${body.request_id}\r\n`)
  })
})

test('T55: requests one after the other on a connection are answered in order', async () => {
  const get = (path: string, more = ''): string =>
    `GET ${path} HTTP/1.1\r\n${lines(...(more === '' ? [] : [more]))}\r\n`
  const foreign = get(store.path).replace(at.key.secret, at.foreignKey.secret)
  const nobody = get(store.path).replace(at.key.secret, 'nobody')
  const all = [get(store.path), foreign, nobody, get(store.path, 'connection: close')]
  const said = await exchangeBytes(at.url, [all.join('')], 2000)
  expect(statusesIn(said)).toEqual([200, 404, 401, 200])
})

describe('T55: no header of an answer is set', () => {
  const planted = '%0d%0aplanted:%20yes%0d%0a%0d%0a'
  test.each([
    `/v1/memory_stores/${planted}`,
    `/v1/memory_stores?page=${planted}`,
    `/v1/memory_stores?limit=${planted}`,
    `/${planted}`,
    `/v1/memory_stores?${planted}=1`,
  ])('by the target %s', async (path) => {
    const { headers, text } = await at.caller.get(path)
    expect(headers.get('planted')).toBeNull()
    expect(text).not.toContain('planted')
  })

  test('by a path or a name', async () => {
    const body = { path: '/a\r\nplanted: yes', content: '' }
    const answer = await at.caller.post(`${store.path}/memories`, body)
    expectRefused(answer, 400)
    expect(answer.headers.get('planted')).toBeNull()
    expectRefused(await at.caller.post(storesPath, { name: 'a\r\nplanted: yes' }), 400)
  })

  test('by a header: ids of requests and workspaces are those of the server', async () => {
    const sent = { 'request-id': 'req_mine', 'x-request-id': 'req_mine', 'x-should-retry': 'true' }
    const { headers } = await at.caller.get(storesPath, sent)
    expect(headers.get('request-id')).not.toBe('req_mine')
    expect(headers.get('x-request-id')).toBeNull()
    expect(headers.get('x-should-retry')).toBeNull()
    const wrong = await at.caller.get(storesPath, { 'anthropic-workspace-id': 'wrkspc_mine' })
    expect(wrong.headers.get('anthropic-workspace-id')).not.toBe('wrkspc_mine')
  })

  test('answers are no pages, and are not kept', async () => {
    for (const path of [storesPath, '/<script>alert(1)</script>', `${storesPath}/<b>`]) {
      const { headers, text } = await at.caller.get(path)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(text).not.toContain('<')
    }
  })
})
