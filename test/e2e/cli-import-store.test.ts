// `import --from memory-stores`: a store of a real server over HTTP, and servers that do what they
// should not.
// @module-tag slow

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sha256OfText } from '../../src/crypto/digest.ts'
import { runningServer } from '../support/running-server.ts'
import { type Ended, type Home, newHomeWithStore } from './cli-process.ts'

const KEY = 'sk-ant-canary-0123456789'

function run(home: Home, url: string, key: string, ...words: readonly string[]): Promise<Ended> {
  const all = ['import', '--from', 'memory-stores', 'memstore_1', '--url', url, ...words]
  return home.call(all, { ANTHROPIC_API_KEY: key })
}

describe('a server of memory stores', () => {
  const at = runningServer()

  test('every page arrives, with paths and bytes as they were', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const store = await at.store()
    const texts = new Map([
      ['/ü c/\\"x".md', '\ufeffone\r\n\t😀'],
      ['/empty', ''],
    ])
    for (let index = 0; index < 45; index += 1) texts.set(`/many/${index}.md`, `${index}`)
    for (const [path, text] of texts) await store.create(path, text)
    const words = ['import', '--from', 'memory-stores', store.id, '--url', at.url]
    const file = home.file('key', `${at.key.secret}\n`)
    const env = { ANTHROPIC_API_KEY_FILE: file, ANTHROPIC_API_KEY: 'not this one' }
    const made = await home.call([...words, '--json'], env)
    expect(made.stderr).toBe('')
    expect(JSON.parse(made.stdout)).toMatchObject({ imported: texts.size, commits: texts.size })
    for (const path of ['/ü c/\\"x".md', '/empty', '/many/44.md']) {
      expect(await home.ok('cat', path)).toBe(texts.get(path))
    }
    const [first] = await store.memories()
    await store.update(first.id, { content: 'changed' })
    await store.create('/new.md')
    const again = await home.call([...words, '--json', '--on-conflict', 'overwrite'], env)
    expect(JSON.parse(again.stdout)).toMatchObject({ imported: 2, unchanged: texts.size - 1 })
    const below = await home.call([...words, '--to', 'copy'], env)
    expect(below.stdout).toMatch(/^Imported 48 memories\n/)
  })

  test('a wrong key, another workspace, no such store, and no key', async () => {
    const home = await newHomeWithStore()
    const store = await at.store()
    const words = ['import', '--from', 'memory-stores', store.id, '--url', at.url]
    const wrong = await home.call(words, { ANTHROPIC_API_KEY: KEY })
    expect(wrong.stderr).toContain('does not accept the API key')
    const other = await home.call(words, { ANTHROPIC_API_KEY: at.foreignKey.secret })
    expect(other.stderr).toContain('The server has no such store')
    const none = await home.call(words)
    expect(none.stderr).toContain('There is no API key')
    const odd = await home.call(words, { ANTHROPIC_API_KEY: 'two words' })
    expect(odd.stderr).toContain('must be printable ASCII')
    const id = await home.call(['import', '--from', 'memory-stores', '../other'])
    expect(id).toMatchObject({ exitCode: 2 })
  })
})

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** A server with the answers of a test. Returns its address and the requests that it got. */
async function hostile(handle: Handler): Promise<{ url: string; asked: IncomingMessage[] }> {
  const asked: IncomingMessage[] = []
  const server: Server = createServer((request, response) => {
    asked.push(request)
    handle(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port')
  return { url: `http://127.0.0.1:${address.port}`, asked }
}

function memory(path: string, content = 'text'): object {
  return { type: 'memory', path, content, content_sha256: sha256OfText(content) }
}

function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

/** Answers the first request with the first value, and so on; the last one again and again. */
function pages(...values: readonly unknown[]): Handler {
  let count = 0
  return (_, response) => {
    json(response, values[Math.min(count, values.length - 1)])
    count += 1
  }
}

const one = { data: [memory('/a.md')], next_page: null }

describe('a hostile server', () => {
  let count = 0
  const cases: readonly (readonly [name: string, handle: Handler, words: string])[] = [
    [
      'a cursor that leads to itself',
      pages({ data: [memory('/a')], next_page: 'x' }, { data: [], next_page: 'x' }),
      'pages have no end',
    ],
    [
      'pages without end',
      (_, response) => json(response, { data: [], next_page: `${(count += 1)}` }),
      'pages have no end',
    ],
    [
      'a path twice',
      pages({ data: [memory('/a'), memory('/a', 'b')], next_page: null }),
      'lists a path twice',
    ],
    [
      'more than was asked for',
      pages({ data: Array.from({ length: 21 }, (_, at) => memory(`/${at}`)) }),
      'more memories than were asked for',
    ],
    ['no list', pages({ data: {} }), 'a page has no list'],
    [
      'a prefix',
      pages({ data: [{ type: 'memory_prefix', path: '/a/' }], next_page: null }),
      'an item is no memory',
    ],
    [
      'no content',
      pages({ data: [{ ...memory('/a'), content: null }], next_page: null }),
      'a memory has no content',
    ],
    [
      'a path without a root',
      pages({ data: [memory('a')], next_page: null }),
      'a memory has no path',
    ],
    ['a cursor that is no text', pages({ ...one, next_page: 7 }), 'a cursor is no text'],
    ['no JSON', (_, response) => void response.end('<html>'), 'its answer is not JSON'],
    [
      'bytes that are not UTF-8',
      (_, response) => void response.end(Buffer.from([0x22, 0xff, 0x22])),
      'its answer is not JSON',
    ],
    [
      'a refusal that names the key',
      (_, response) => json(response, { error: { message: KEY } }, 400),
      'answered with the status 400',
    ],
  ]

  test.each(cases)('%s', async (_, handle, words) => {
    const home = await newHomeWithStore()
    const { url } = await hostile(handle)
    const refused = await run(home, url, KEY)
    expect(refused.stderr).toContain(words)
    expect(refused.exitCode).not.toBe(0)
    expect(refused.stdout + refused.stderr).not.toContain(KEY)
    expect(await home.ok('ls')).toBe('')
  })

  test('an answer without end is cut off', { tags: 'slow' }, async () => {
    const home = await newHomeWithStore()
    const chunk = Buffer.alloc(1024 ** 2, ' ')
    const { url } = await hostile((_, response) => {
      const more = (): void =>
        void (response.writable && response.write(chunk, () => setImmediate(more)))
      more()
    })
    expect((await run(home, url, KEY)).stderr).toContain('its answer is too large')
  })

  test('the key follows no redirection', async () => {
    const home = await newHomeWithStore()
    const thief = await hostile(pages(one))
    const { url } = await hostile((_, response) => {
      response.writeHead(307, { location: `${thief.url}/v1/memory_stores/x/memories` }).end()
    })
    expect((await run(home, url, KEY)).stderr).toContain('sends to another address')
    expect(thief.asked).toHaveLength(0)
  })

  test(
    'reports an address without a listener, and retries a connection that ends',
    { tags: 'slow' },
    async () => {
      const home = await newHomeWithStore()
      const nobody = await run(home, 'http://127.0.0.1:1', KEY)
      expect(nobody.stderr).toContain('The server cannot be reached. Nothing was imported')
      const { url, asked } = await hostile((request, response) => {
        if (asked.length > 1) json(response, one)
        else request.socket.destroy()
      })
      expect((await run(home, url, KEY)).stdout).toMatch(/^Imported 1 memory\n/)
    },
  )

  test('a wrong hash is refused by path, or left out', async () => {
    const home = await newHomeWithStore()
    const wrong = { ...memory('/b.md'), content: 'changed on the way' }
    const { url } = await hostile(pages({ data: [memory('/a.md'), wrong], next_page: null }))
    const refused = await run(home, url, KEY)
    expect(refused.stderr).toContain('  /b.md: its content does not have the stated hash')
    expect(await home.ok('ls')).toBe('')
    expect(await run(home, url, KEY, '--skip-unsuitable')).toMatchObject({ exitCode: 0 })
    expect(await home.ok('ls')).toBe('a.md\n')
  })

  test('paths that no memory can have, and two that exclude each other', async () => {
    const home = await newHomeWithStore()
    const data = ['/../up', '/a//b', '/x', '/x/y', '/\u202e.md'].map((path) => memory(path))
    const { url } = await hostile(pages({ data, next_page: null }))
    const refused = await run(home, url, KEY)
    expect(refused.stderr).toContain('/x/y: its path and that of /x exclude each other')
    expect(refused.stderr).toContain('/../up: ')
    expect(await run(home, url, KEY, '--skip-unsuitable')).toMatchObject({ exitCode: 0 })
    expect(await home.ok('ls', '-R')).toBe('/x\n')
  })

  test('a busy server is asked again, and in the end no more', async () => {
    const home = await newHomeWithStore()
    let busy = 0
    const { url, asked } = await hostile((_, response) => {
      busy += 1
      if (busy > 4) return json(response, one)
      response.writeHead(busy === 1 ? 529 : 429, { 'retry-after-ms': '1' }).end()
    })
    expect((await run(home, url, KEY)).stdout).toMatch(/^Imported 1 memory\n/)
    expect(asked[0]?.headers).toMatchObject({
      'x-api-key': KEY,
      'anthropic-beta': 'agent-memory-2026-07-22',
    })
    const never = await hostile((_, response) => {
      response.writeHead(429, { 'retry-after': '0' }).end()
    })
    expect((await run(home, never.url, KEY)).stderr).toContain('no more requests for now')
    expect(never.asked).toHaveLength(5)
  })

  test.each([
    ['http://example.com', 'use https://'],
    ['https://user:pass@example.com', 'credentials do not belong in it'],
    ['ssh://example.com/x', 'must be the address of a server'],
    ['https://example.com?x', 'a query or a fragment'],
  ])('the address %s is refused before anything is sent', async (url, words) => {
    const home = await newHomeWithStore()
    const refused = await run(home, url, KEY)
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' })
    expect(refused.stderr).toContain(words)
  })
})
