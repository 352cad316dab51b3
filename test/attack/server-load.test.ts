// T56: a client that sends slowly, endlessly, much or deeply nested, or opens connections without
// end, occupies nothing for long and keeps no other client out.
// @module-tag slow

import { connect, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { LogLine } from '../../src/server/options.ts'
import { exchangeBytes, expectDone, expectRefused, statusesIn } from '../support/http-caller.ts'
import { type RunningServer, runningServer, storesPath } from '../support/running-server.ts'
import { full } from '../support/seed.ts'

const connections = full ? 1024 : 48
const log: LogLine[] = []
const at = runningServer({
  limits: { headersMs: 300, requestMs: 600, keepAliveMs: 1000 },
  log: (line) => log.push(line),
})
const crowded = runningServer({ limits: { connections } })
const few = runningServer({ limits: { inFlightPerKey: 4 } })
let now = Date.now()
const slow = runningServer({ limits: { requestsPerSecondPerKey: 10 }, clock: () => now })

const head = (server: RunningServer, first: string, ...lines: readonly string[]): string =>
  [
    first,
    `host: ${new URL(server.url).host}`,
    'anthropic-version: 2023-06-01',
    'anthropic-beta: agent-memory-2026-07-22',
    'content-type: application/json',
    ...lines,
  ]
    .map((line) => `${line}\r\n`)
    .join('')
const post = (server: RunningServer, ...lines: readonly string[]): string =>
  `${head(server, `POST ${storesPath} HTTP/1.1`, `x-api-key: ${server.key.secret}`, ...lines)}\r\n`

/** The server's answer until it ends the connection, while a piece is sent now and then. */
function drip(url: string, first: string, piece: string): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const said: Buffer[] = []
    const socket = connect(Number(port), hostname)
    socket.write(first)
    const dripping = setInterval(() => socket.write(piece), 50)
    socket.on('data', (bytes) => said.push(bytes))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearInterval(dripping)
      resolve(Buffer.concat(said).toString('latin1'))
    })
  })
}

/** The server serves others as before. */
const serves = async (server: RunningServer): Promise<void> => {
  expectDone(await server.other.get(storesPath))
}

describe('T56: a connection that is slow is ended', { tags: 'slow' }, () => {
  test.concurrent.each<[name: string, first: () => string, piece: string]>([
    ['headers without end', () => head(at, `GET ${storesPath} HTTP/1.1`), 'a: b\r\n'],
    ['a first line that comes by letters', () => 'G', 'G'],
    ['a body that comes by letters', () => post(at, 'content-length: 100000'), ' '],
    ['chunks that come one by one', () => post(at, 'transfer-encoding: chunked'), '1\r\n \r\n'],
    ['a body that does not come', () => post(at, 'content-length: 100000'), ''],
    ['nothing at all', () => '', ''],
  ])('%s', async (_, first, piece) => {
    const said = await drip(at.url, first(), piece)
    for (const status of statusesIn(said)) expect([400, 401, 408]).toContain(status)
    await serves(at)
  })
})

describe('T56: a client that does not read, or disconnects', { tags: 'slow' }, () => {
  test('is asked for no more than a connection can hold', async () => {
    const store = await at.store()
    for (let n = 0; n < 20; n++) await store.create(`/${n}`, 'x'.repeat(100_000))
    const key = `x-api-key: ${at.key.secret}`
    const ask = `${head(at, `GET ${store.path}/memories?view=full HTTP/1.1`, key)}\r\n`
    const socket = connect(Number(new URL(at.url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.pause()
    const before = log.length
    socket.write(ask.repeat(300))
    await settledLog()
    // Each answer is two megabytes, more than sockets hold: the others wait until the client reads.
    expect(log.length - before).toBeLessThan(10)
    await serves(at)
    socket.destroy()
  })

  test('has its request done or not, and nothing fails', async () => {
    const store = await at.store()
    const body = (n: number): string => `{"path":"/${n}","content":"${'x'.repeat(50_000)}"}`
    const key = `x-api-key: ${at.key.secret}`
    const first = `POST ${store.path}/memories HTTP/1.1`
    for (let n = 0; n < 40; n++) {
      const whole = `${head(at, first, key, `content-length: ${body(n).length}`)}\r\n${body(n)}`
      const socket = connect(Number(new URL(at.url).port), '127.0.0.1')
      socket.on('error', () => undefined)
      // Some go away in the middle of the body, some before the answer.
      const sent = n % 2 === 0 ? whole : whole.slice(0, -20_000)
      await new Promise<void>((resolve) => {
        socket.write(sent, () => resolve())
      })
      socket.destroy()
    }
    await settledLog()
    for (const { path, content } of await store.memories('view=full')) {
      expect(Number(path.slice(1)) % 2).toBe(0)
      expect(content).toHaveLength(50_000)
    }
    expect(log.filter(({ status }) => status >= 500)).toEqual([])
  })

  /** Until no more requests are answered. */
  const settledLog = async (): Promise<void> => {
    for (let seen = -1; seen < log.length;) {
      seen = log.length
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
})

describe('T56: a request that is too large is refused and not read', () => {
  test('a length of ten gigabytes is refused before a byte of it', async () => {
    const said = await exchangeBytes(crowded.url, [post(crowded, 'content-length: 10000000000')])
    expect(statusesIn(said)).toEqual([413])
    const alien = head(crowded, `POST ${storesPath} HTTP/1.1`, 'content-length: 10000000000')
    expect(statusesIn(await exchangeBytes(crowded.url, [`${alien}\r\n`]))).toEqual([401])
  })

  test('chunks without end are cut off', async () => {
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
    const socket = connect(Number(new URL(crowded.url).port), '127.0.0.1')
    let said = ''
    socket.on('data', (bytes) => {
      said += bytes.toString('latin1')
    })
    const ended = new Promise<void>((resolve) => {
      socket.on('error', () => resolve())
      socket.on('close', () => resolve())
    })
    socket.write(post(crowded, 'transfer-encoding: chunked'))
    let sent = 0
    const send = (): void => {
      while (!socket.destroyed && sent < 4096) {
        sent++
        if (!socket.write(chunk)) return
      }
    }
    socket.on('drain', send)
    send()
    await ended
    // A gigabyte was never asked for: what sockets buffer is far less.
    expect(sent).toBeLessThan(1024)
    if (said !== '') expect(statusesIn(said)).toEqual([413])
    await serves(crowded)
  })

  test('a body of 1 MiB is read, one of a byte more is not', async () => {
    const caller = crowded.caller
    const bodyOf = (bytes: number): string => {
      const start = '{"name":"a","unknown":"'
      return `${start}${'x'.repeat(bytes - start.length - 2)}"}`
    }
    const json = { 'content-type': 'application/json' }
    const send = (bytes: number) =>
      caller.request('POST', storesPath, { body: bodyOf(bytes), headers: json })
    expectDone(await send(1_048_576))
    expectRefused(await send(1_048_577), 413)
  })

  test.each(['gzip', 'deflate', 'br', 'zstd'])('a body that is packed: %s', async (encoding) => {
    const headers = { 'content-encoding': encoding, 'content-type': 'application/json' }
    const body = Buffer.from([0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3, 4])
    expectRefused(await crowded.caller.request('POST', storesPath, { body, headers }), 400)
  })

  test.each<[name: string, lines: readonly string[]]>([
    ['a header of 100 kB', [`a: ${'b'.repeat(100_000)}`]],
    ['a thousand headers', Array.from({ length: 1000 }, (_, n) => `a${n}: ${'b'.repeat(20)}`)],
    ['a key of 100 kB', [`authorization: Bearer ${'b'.repeat(100_000)}`]],
    ['betas of 100 kB', [`anthropic-beta: ${'b,'.repeat(50_000)}`]],
  ])('%s', async (_, lines) => {
    const bytes = `${head(crowded, `GET ${storesPath} HTTP/1.1`, ...lines)}\r\n`
    for (const status of statusesIn(await exchangeBytes(crowded.url, [bytes]))) {
      expect(status).toBeGreaterThanOrEqual(400)
      expect(status).toBeLessThan(500)
    }
    await serves(crowded)
  })
})

describe('T56: JSON that costs more than its size suggests', () => {
  const deep = 150_000
  test.each<[name: string, body: string, status: number]>([
    ['arrays in arrays', '['.repeat(deep), 400],
    ['arrays in arrays that end', '['.repeat(deep) + ']'.repeat(deep), 400],
    ['objects in objects', `${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}`, 400],
    ['a deep name', `{"name":${'['.repeat(deep)}${']'.repeat(deep)}}`, 400],
    ['deep metadata', `{"name":"a","metadata":{"a":${'['.repeat(deep)}${']'.repeat(deep)}}}`, 400],
    ['60,000 keys', `{"name":"a",${keys(60_000)}}`, 200],
    ['60,000 keys of metadata', `{"name":"a","metadata":{${keys(60_000)}}}`, 400],
    ['a name twice', '{"name":"","name":"b"}', 200],
    ['a number without end', `{"name":"a","unknown":${'9'.repeat(500_000)}}`, 200],
    ['a number beyond all', '{"name":1e99999999}', 400],
    ['a prototype', '{"name":"a","__proto__":{"polluted":1,"description":"p"}}', 200],
    ['a prototype in metadata', '{"name":"a","metadata":{"__proto__":{"polluted":"1"}}}', 400],
    ['a constructor', '{"name":"a","constructor":{"prototype":{"polluted":1}}}', 200],
    ['a method of JSON', '{"name":{"toJSON":"a"}}', 400],
    ['a name that is a length', '{"name":{"length":1,"0":"a"}}', 400],
  ])('%s', async (_, body, status) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await crowded.caller.request('POST', storesPath, { body, headers })
    expect(answer.status).toBe(status)
    if (status === 200) expect(answer.body.description).toBe('')
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })
})

function keys(count: number): string {
  return Array.from({ length: count }, (_, n) => `"k${n}":1`).join(',')
}

test('T56: connections beyond the limit do not keep out later clients', async () => {
  await serves(crowded)
  const sockets: Socket[] = []
  const settled: Promise<void>[] = []
  for (let n = 0; n < connections * 4; n++) {
    const socket = connect(Number(new URL(crowded.url).port), '127.0.0.1')
    sockets.push(socket)
    settled.push(
      new Promise((resolve) => {
        socket.on('connect', () => resolve())
        socket.on('close', () => resolve())
        socket.on('error', () => resolve())
      }),
    )
  }
  await Promise.all(settled)
  await Promise.all(
    sockets.map(async (socket) => {
      if (socket.destroyed) return
      await new Promise((resolve) => socket.once('close', resolve).destroy())
    }),
  )
  await serves(crowded)
})

describe('T56: one key does not take the share of others', () => {
  test('an answer that is never read counts', { tags: 'slow' }, async () => {
    const store = await few.store()
    for (let n = 0; n < 20; n++) await store.create(`/${n}`, 'x'.repeat(100_000))
    const key = `x-api-key: ${few.key.secret}`
    const ask = `${head(few, `GET ${store.path}/memories?view=full HTTP/1.1`, key)}\r\n`
    const sockets = Array.from({ length: 4 }, () => {
      const socket = connect(Number(new URL(few.url).port), '127.0.0.1')
      socket.on('error', () => undefined)
      socket.pause()
      // More than the buffers of the two sockets hold.
      socket.write(ask.repeat(8))
      return socket
    })
    await expect.poll(async () => (await few.caller.get(store.path)).status).toBe(429)
    await serves(few)
    for (const socket of sockets) socket.destroy()
    await expect.poll(async () => (await few.caller.get(store.path)).status).toBe(200)
  })

  test('too many requests at once: further ones are asked to wait', { tags: 'slow' }, async () => {
    const asked = Array.from({ length: 40 }, () => few.caller.post(storesPath, { name: 'a' }))
    const answers = await Promise.all(asked)
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused.length).toBeGreaterThan(0)
    for (const answer of refused) {
      expectRefused(answer, 429)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    await serves(few)
    expectDone(await few.caller.get(storesPath))
  })

  test('too many a second, with its sessions: other keys are not slowed', async () => {
    const nobody = Array.from({ length: 50 }, () => slow.as('nobody').get(storesPath))
    for (const answer of await Promise.all(nobody)) expectRefused(answer, 401)
    const store = await slow.store()
    const { token } = await slow.session([store])
    const [key, session] = [slow.caller, slow.as(token)]
    for (let n = 0; n < 4; n++) {
      expectDone(await key.get(store.path))
      expectDone(await session.get(store.path))
    }
    for (const caller of [key, session]) expectRefused(await caller.get(store.path), 429)
    await serves(slow)
    now += 1000
    for (const caller of [key, session]) expectDone(await caller.get(store.path))
  })
})
