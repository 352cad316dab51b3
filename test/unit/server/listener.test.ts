// The socket: bytes that are refused before they are a request, and how the server closes.

import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { request as secureRequest } from 'node:https'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { makeCertificate } from '../../support/git-server.ts'
import { newServedStore, serveStores } from '../../support/served-stores.ts'
import { requires } from '../../support/tools.ts'

const STORES = '/v1/memory_stores'
const openssl = requires('openssl')

/** Sends bytes as they are, and reads until the server closes. */
async function sendRaw(port: number, ...parts: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  for (const part of parts) socket.write(part)
  return text(socket)
}

/** The headers of a request to create a store, with more. */
function headOf(token: string, ...more: readonly string[]): string {
  return [
    `POST ${STORES} HTTP/1.1`,
    'host: localhost',
    `x-api-key: ${token}`,
    'anthropic-beta: agent-memory-2026-07-22',
    'content-type: application/json',
    ...more,
    '\r\n',
  ].join('\r\n')
}

function bodyOf(answer: string): unknown {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
}

const invalid = { type: 'error', error: { type: 'invalid_request_error' } }

test('listens on this machine alone without TLS, unless behind a proxy', async () => {
  const { server } = await serveStores({ host: '0.0.0.0' })
  await expect(server.listen()).rejects.toMatchObject({ code: 'invalid_input' })
  const proxied = await serveStores({ host: '0.0.0.0', behindProxy: true })
  expect((await proxied.server.listen()).port).toBeGreaterThan(0)
})

test('ignores an expectation that it does not know', async () => {
  const { server, token } = await serveStores()
  const { port } = await server.listen()
  const head = headOf(token, 'expect: miracles', 'connection: close', 'content-length: 12')
  const answer = await sendRaw(port, head, '{"name":"a"}')
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(bodyOf(answer)).toMatchObject({ name: 'a' })
})

test('reports why it cannot listen: a taken port, an invalid certificate', async () => {
  const { server } = await serveStores()
  const { port } = await server.listen()
  const tls = { cert: 'no certificate', key: 'no key' }
  for (const options of [{ port }, { tls }]) {
    const other = await serveStores(options)
    await expect(other.server.listen()).rejects.toMatchObject({ code: 'invalid_input' })
  }
})

test('a client that sends too much gets the answer', { tags: 'slow' }, async () => {
  const { server, token } = await serveStores()
  const { url } = await server.listen()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const beta = { 'anthropic-beta': 'agent-memory-2026-07-22' }
  const init = { method: 'POST', headers: { ...headers, ...beta }, body: 'x'.repeat(5_000_000) }
  expect((await fetch(url + STORES, init)).status).toBe(413)
})

test(
  'speaks TLS with a certificate, and then on public addresses too',
  {
    skip: openssl.missing,
  },
  async () => {
    const tls = makeCertificate()
    const { server, token } = await serveStores({ host: '0.0.0.0', tls })
    const { port } = await server.listen()
    const headers = { 'x-api-key': token, 'anthropic-beta': 'agent-memory-2026-07-22' }
    const asked = secureRequest({ port, host: '127.0.0.1', path: STORES, headers, ca: tls.cert })
    const answered = once(asked, 'response')
    asked.end()
    const [response] = await answered
    expect(response.statusCode).toBe(200)
    expect(JSON.parse(await text(response))).toEqual({ data: [], next_page: null })
  },
)

test('reports one address, however often it is asked', async () => {
  const { server } = await serveStores()
  const address = await server.listen()
  expect(address).toEqual(await server.listen())
  expect(address.url).toBe(`http://127.0.0.1:${address.port}`)
})

test(
  'refuses a body that is too long before it is sent, and closes',
  { tags: 'slow' },
  async () => {
    const { server, token } = await serveStores()
    const { port } = await server.listen()
    const answer = await sendRaw(port, headOf(token, 'content-length: 1048577'), '{')
    expect(answer).toMatch(/^HTTP\/1\.1 413 .*connection: close/is)
    expect(bodyOf(answer)).toMatchObject({ error: { type: 'request_too_large' } })
  },
)

test('refuses a body that has no length once it is too long', { tags: 'slow' }, async () => {
  const { server, token } = await serveStores({ limits: { bodyBytes: 8 } })
  const { port } = await server.listen()
  const chunks = ['5\r\n{"a":\r\n', '5\r\n12345\r\n']
  const answer = await sendRaw(port, headOf(token, 'transfer-encoding: chunked'), ...chunks)
  expect(answer).toMatch(/^HTTP\/1\.1 413 /)
})

test('reads a body in chunks', async () => {
  const { server, token } = await serveStores()
  const { port } = await server.listen()
  const head = headOf(token, 'transfer-encoding: chunked', 'connection: close')
  const answer = await sendRaw(port, head, '6\r\n{"name\r\n', '6\r\n":"x"}\r\n0\r\n\r\n')
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
})

test.each<[string, (token: string) => string, RegExp]>([
  ['no HTTP', () => 'hello\r\n\r\n', /^HTTP\/1\.1 400 /],
  ['no host', () => 'GET / HTTP/1.1\r\n\r\n', /^HTTP\/1\.1 400 /],
  ['two lengths', (t) => headOf(t, 'content-length: 1', 'content-length: 2'), /^HTTP\/1\.1 400 /],
  ['a header in two lines', (t) => headOf(t, 'x: a', ' b'), /^HTTP\/1\.1 400 /],
  ['long headers', (t) => headOf(t, `x: ${'x'.repeat(20_000)}`), /^HTTP\/1\.1 431 /],
])('answers a malformed request, and closes: %s', async (_, requestOf, expected) => {
  const { server, token } = await serveStores()
  const { port } = await server.listen()
  expect(await sendRaw(port, requestOf(token))).toMatch(expected)
})

test('gives a client so long for its headers, and for its body', { tags: 'slow' }, async () => {
  const { server, token } = await serveStores({ limits: { headersMs: 200, requestMs: 400 } })
  const { port } = await server.listen()
  const [silent, slowHead, slowBody] = await Promise.all([
    sendRaw(port),
    sendRaw(port, 'GET /v1'),
    sendRaw(port, headOf(token, 'content-length: 9'), '{'),
  ])
  expect(silent).toMatch(/^(?:HTTP\/1\.1 408 |$)/)
  for (const answer of [slowHead, slowBody]) {
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(bodyOf(answer)).toMatchObject(invalid)
  }
})

test('answers requests of one connection one after another, refused ones too', async () => {
  const { server, token } = await serveStores()
  const { port } = await server.listen()
  const body = '{"name":"x"}'
  const length = `content-length: ${body.length}`
  const answer = await sendRaw(
    port,
    headOf('unknown', length) + body,
    headOf(token, length, 'connection: close') + body,
  )
  expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200'])
})

test('closes once the requests under way are answered', async () => {
  const served = await serveStores()
  const store = await newServedStore(served)
  const { port } = await served.server.listen()
  const agent = new Agent({ keepAlive: true })
  const headers = {
    'x-api-key': served.token,
    'anthropic-beta': 'agent-memory-2026-07-22',
    'content-type': 'application/json',
    expect: '100-continue',
  }
  const path = `${store}/memories`
  const message = request({ port, agent, method: 'POST', path, headers })
  const answered = once(message, 'response')
  const body = JSON.stringify({ path: '/a', content: 'kept' })
  message.write(body.slice(0, 5))
  await once(message, 'continue')

  const closed = served.server.close()
  message.end(body.slice(5))
  const [response] = await answered
  expect(response.statusCode).toBe(200)
  expect(JSON.parse(await text(response))).toMatchObject({ path: '/a' })
  await closed
  agent.destroy()
  await expect(sendRaw(port)).rejects.toThrow(/ECONNREFUSED/)
})

test('cuts off a request that does not end', { tags: 'slow' }, async () => {
  const { server, token } = await serveStores({ limits: { closeMs: 100 } })
  const { port } = await server.listen()
  const socket = connect(port, '127.0.0.1')
  socket.write(headOf(token, 'content-length: 9', 'expect: 100-continue'))
  const [begun] = await once(socket, 'data')
  expect(String(begun)).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  socket.write('{')
  const rest = text(socket).catch(() => '')
  await server.close()
  expect(await rest).toBe('')
})

test('cuts off clients without a handshake', { tags: 'slow', skip: openssl.missing }, async () => {
  const limits = { closeMs: 100 }
  const { server } = await serveStores({ tls: makeCertificate(), limits })
  const { port } = await server.listen()
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  await server.close()
  // Without a close, once the time for headers is over.
  const patient = await serveStores({ tls: makeCertificate(), limits: { headersMs: 100 } })
  expect(await sendRaw((await patient.server.listen()).port)).toBe('')
})

test('a key with unread answers waits until they have left', { tags: 'slow' }, async () => {
  const served = await serveStores({ limits: { heldBytesPerKey: 1_000_000 } })
  const store = await newServedStore(served)
  const content = 'x'.repeat(100_000)
  for (let n = 0; n < 20; n += 1) {
    await served.ask('POST', `${store}/memories`, { body: { path: `/${n}`, content } })
  }
  const { port } = await served.server.listen()
  const pages = `GET ${store}/memories?view=full HTTP/1.1`
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.pause()
  // More than the buffers of the two sockets hold.
  const head = headOf(served.token).replace(/^.*/, pages)
  socket.write(head.repeat(8))
  // Until the answers to the socket have filled its buffers, this key gets its own.
  let asked: Promise<number>
  let tries = 0
  do {
    expect((tries += 1)).toBeLessThan(200)
    await pause(20)
    asked = served.ask('GET', store).then(({ status }) => status)
  } while ((await Promise.race([asked, pause(200)])) === 200)
  socket.destroy()
  expect(await asked).toBe(200)
})
