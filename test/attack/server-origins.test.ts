// T57: a web page in a browser on the same machine, under a name that points here, or on another
// site, gets no answer that it can use.

import { describe, expect, test } from 'vitest'
import { exchangeBytes, statusesIn } from '../support/http-caller.ts'
import { type RunningServer, runningServer, storesPath } from '../support/running-server.ts'

const at = runningServer()
const named = runningServer({
  allowedHosts: ['memory.example'],
  allowedOrigins: ['https://console.example'],
})

/** The statuses for a target and the lines of a head, with a valid key. */
async function ask(
  server: RunningServer,
  head: readonly string[],
  target = storesPath,
  method = 'GET',
): Promise<{ statuses: number[]; said: string }> {
  const all = [
    `${method} ${target} HTTP/1.1`,
    ...head.map((line) => line.replace('PORT', new URL(server.url).port)),
    'anthropic-version: 2023-06-01',
    'anthropic-beta: agent-memory-2026-07-22',
    `x-api-key: ${server.key.secret}`,
    'connection: close',
  ]
  const said = await exchangeBytes(server.url, [Buffer.from(`${all.join('\r\n')}\r\n\r\n`)])
  return { statuses: statusesIn(said), said }
}

describe('T57: hosts', () => {
  test.each([
    'host: 127.0.0.1:PORT',
    'host: localhost:PORT',
    'host: LocalHost:PORT',
    'host: [::1]:PORT',
    'host: 127.0.0.1',
  ])('served: %s', async (line) => {
    expect((await ask(at, [line])).statuses).toEqual([200])
  })

  test.each([
    'host: evil.example',
    'host: evil.example:PORT',
    'host: 127.0.0.1.evil.example:PORT',
    'host: localhost.evil.example',
    'host: evil.example#127.0.0.1',
    'host: evil.example/127.0.0.1',
    'host: 127.0.0.1@evil.example',
    'host: evil.example:80:PORT',
    'host: user@127.0.0.1:PORT',
    'host: 127.0.0.1:evil',
    'host: 127.0.0.1, evil.example',
    'host: 2130706433',
    'host: 0x7f000001',
    'host: 127.1',
    'host: 0.0.0.0:PORT',
    'host: memory.example',
    'host: \u202elocalhost',
    'host: ',
    'host: :PORT',
    'x-host: 127.0.0.1',
    'x-forwarded-host: 127.0.0.1',
  ])('refused: %s', async (line) => {
    const { statuses, said } = await ask(at, [line])
    expect(statuses).toEqual([expect.toSatisfy((status: number) => [400, 403].includes(status))])
    expect(said).not.toContain('"data"')
  })

  test('a second host makes the first no better', async () => {
    const { statuses, said } = await ask(at, ['host: evil.example', 'host: 127.0.0.1'])
    expect(statuses).toEqual([expect.toSatisfy((status: number) => status >= 400)])
    expect(said).not.toContain('"data"')
  })

  test.each([
    ['http://evil.example/v1/memory_stores', 'host: 127.0.0.1:PORT'],
    ['http://evil.example:PORT/v1/memory_stores', 'host: evil.example'],
    ['http://127.0.0.1@evil.example/v1/memory_stores', 'host: evil.example'],
    ['http://127.0.0.1/v1/memory_stores', 'host: evil.example'],
    ['https://evil.example/v1/memory_stores', 'host: evil.example'],
    ['ftp://evil.example/v1/memory_stores', 'host: evil.example'],
    ['file:///etc/passwd', 'host: evil.example'],
    ['//evil.example/v1/memory_stores', 'host: 127.0.0.1:PORT'],
  ])('a target that names a host: %s', async (target, line) => {
    const { statuses, said } = await ask(at, [line], target)
    expect(statuses).toEqual([
      expect.toSatisfy((status: number) => [400, 403, 404].includes(status)),
    ])
    expect(said).not.toContain('"data"')
  })

  test('a name that is allowed is served, and no longer one', async () => {
    const statusOf = async (host: string) => (await ask(named, [`host: ${host}`])).statuses
    expect(await statusOf('memory.example')).toEqual([200])
    expect(await statusOf('Memory.Example:8443')).toEqual([200])
    expect(await statusOf('127.0.0.1:PORT')).toEqual([200])
    expect(await statusOf('evil-memory.example')).not.toContain(200)
    expect(await statusOf('memory.example.evil')).not.toContain(200)
    expect(await statusOf('a.memory.example')).not.toContain(200)
  })
})

describe('T57: origins', () => {
  const host = 'host: 127.0.0.1:PORT'
  test.each([
    'http://evil.example',
    'https://console.example',
    'http://127.0.0.1:PORT',
    'http://localhost:3000',
    'null',
    'file://',
    'chrome-extension://abc',
  ])('a page of %s is refused', async (origin) => {
    const { statuses, said } = await ask(at, [host, `origin: ${origin}`])
    expect(statuses).toEqual([403])
    expect(said.toLowerCase()).not.toContain('access-control-')
    expect(said).not.toContain('"data"')
  })

  test.each(['GET', 'POST', 'DELETE', 'PUT'])('a preflight for %s is refused', async (method) => {
    const asks = [`access-control-request-method: ${method}`, 'access-control-request-headers: a']
    for (const server of [at, named]) {
      const head = [host, 'origin: http://evil.example', ...asks]
      const { statuses, said } = await ask(server, head, storesPath, 'OPTIONS')
      expect(statuses).toEqual([expect.toSatisfy((status: number) => status >= 400)])
      expect(said.toLowerCase()).not.toContain('access-control-')
    }
  })

  test('an origin that is allowed is served, and no similar one', async () => {
    const statusOf = async (origin: string) =>
      (await ask(named, [host, `origin: ${origin}`])).statuses
    expect(await statusOf('https://console.example')).toEqual([200])
    expect(await statusOf('http://console.example')).toEqual([403])
    expect(await statusOf('https://console.example:444')).toEqual([403])
    expect(await statusOf('https://console.example.evil')).toEqual([403])
    expect(await statusOf('https://evil-console.example')).toEqual([403])
  })

  test('a form, which needs no preflight, is refused', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const parts = { body: '{"name":"form"}', headers: { 'content-type': type } }
      expect((await at.caller.request('POST', storesPath, parts)).status).toBe(400)
    }
    expect((await at.caller.get(storesPath)).body.data).toEqual([])
  })

  test('the state of the server is public, and reveals nothing else', async () => {
    const answer = await fetch(`${at.url}/healthz`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    const text = await answer.text()
    expect(text).not.toContain(at.directory)
    expect(text.length).toBeLessThan(100)
  })
})
