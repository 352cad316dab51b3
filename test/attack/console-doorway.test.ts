// T69: a web page that is open in the same browser, under a name that points here, or on another
// site or port, gets nothing from the console. Nor does a page that frames it or asks for files by
// tricks in the address.

import { describe, expect, test } from 'vitest'
import { openedConsole, type OpenedConsole } from '../support/console.ts'
import { exchangeBytes, statusesIn } from '../support/http-caller.ts'
import { author, newStore } from '../support/stores.ts'

async function opened(): Promise<OpenedConsole> {
  const { store } = await newStore()
  await store.as(author).write('/secret.md', 'the secret')
  return openedConsole(store)
}

/** The answer to a request with the given lines; `PORT` stands for the console's port. */
async function said(
  { url }: OpenedConsole,
  first: string,
  head: readonly string[],
): Promise<string> {
  const { port } = new URL(url)
  const lines = [first, ...head.map((line) => line.replace('PORT', port)), 'connection: close']
  return exchangeBytes(url, [`${lines.join('\r\n')}\r\n\r\n`])
}

const page = 'GET / HTTP/1.1'

describe('T69: hosts', () => {
  test('serves its own names alone', async () => {
    const shown = await opened()
    for (const host of ['127.0.0.1:PORT', 'localhost:PORT', '[::1]:PORT']) {
      expect(statusesIn(await said(shown, page, [`host: ${host}`]))).toEqual([200])
    }
    const others = [
      'evil.example:PORT',
      'evil.example',
      '127.0.0.1',
      '127.0.0.1:80',
      '127.0.0.1.evil.example:PORT',
      '127.0.0.2:PORT',
      '127.1:PORT',
      '2130706433:PORT',
      '0x7f000001:PORT',
      '0.0.0.0:PORT',
      'localhost.:PORT',
      'LOCALHOST.evil.example:PORT',
      'user@127.0.0.1:PORT',
      '127.0.0.1:PORT, evil.example',
      '[::ffff:127.0.0.1]:PORT',
      '[::1%25lo]:PORT',
    ]
    for (const host of others) {
      const answer = await said(shown, page, [`host: ${host}`])
      expect([host, statusesIn(answer).every((status) => status >= 400)]).toEqual([host, true])
      expect(answer).not.toContain('<div id="page">')
    }
  })

  test('counts the host of the target too', async () => {
    const shown = await opened()
    const target = 'GET http://evil.example/ HTTP/1.1'
    expect(statusesIn(await said(shown, target, ['host: 127.0.0.1:PORT']))).toEqual([403])
  })

  test('refuses two hosts, and a missing one', async () => {
    const shown = await opened()
    const twice = ['host: 127.0.0.1:PORT', 'host: evil.example']
    expect(await said(shown, page, twice)).not.toContain('<div id="page">')
    expect(await said(shown, page, [])).not.toContain('<div id="page">')
  })
})

describe('T69: origins and sites', () => {
  const own = ['host: 127.0.0.1:PORT', 'content-type: application/json', 'content-length: 2']

  test('answers only its own page, with a key or without', async () => {
    const shown = await opened()
    const key = await shown.newKey()
    const post = async (head: readonly string[]): Promise<string> => {
      const { port } = new URL(shown.url)
      const lines = [...own, ...head, `authorization: Bearer ${key}`]
      const all = ['POST /ask/memories.tree HTTP/1.1', ...lines, 'connection: close']
      const text = all.map((line) => line.replace('PORT', port)).join('\r\n')
      return exchangeBytes(shown.url, [`${text}\r\n\r\n{}`])
    }
    expect(await post(['origin: http://127.0.0.1:PORT', 'sec-fetch-site: same-origin'])).toContain(
      '/secret.md',
    )
    const foreign = [
      ['origin: https://evil.example'],
      ['origin: http://127.0.0.1'],
      ['origin: http://127.0.0.1:1'],
      ['origin: https://127.0.0.1:PORT'],
      ['origin: http://localhost:PORT'],
      ['origin: null'],
      ['origin: '],
      ['origin: http://127.0.0.1:PORT.evil.example'],
      ['sec-fetch-site: cross-site'],
      ['sec-fetch-site: same-site'],
      ['sec-fetch-site: none'],
      ['origin: http://127.0.0.1:PORT', 'sec-fetch-site: cross-site'],
    ]
    for (const head of foreign) {
      const answer = await post(head)
      expect([head, statusesIn(answer)]).toEqual([head, [403]])
      expect(answer).not.toContain('secret')
    }
  })

  test('gives the page to whom the user sends there, and to no other site', async () => {
    const shown = await opened()
    const host = 'host: 127.0.0.1:PORT'
    for (const site of ['none', 'same-origin']) {
      const answer = await said(shown, page, [host, `sec-fetch-site: ${site}`])
      expect(statusesIn(answer)).toEqual([200])
    }
    for (const site of ['cross-site', 'same-site']) {
      const answer = await said(shown, page, [host, `sec-fetch-site: ${site}`])
      expect(statusesIn(answer)).toEqual([403])
    }
  })

  test('lets no other origin read an answer, and answers no preflight', async () => {
    const shown = await opened()
    const head = ['host: 127.0.0.1:PORT', 'access-control-request-method: POST']
    const answer = await said(shown, 'OPTIONS /session HTTP/1.1', head)
    expect(statusesIn(answer)).toEqual([405])
    expect(answer.toLowerCase()).not.toContain('access-control-allow')
  })
})

describe('T69: answers', () => {
  test('all have the headers that nothing is framed, kept, guessed or run by', async () => {
    const shown = await opened()
    const answers = [
      await fetch(shown.url),
      await fetch(`${shown.url}/memories`),
      await fetch(`${shown.url}/nowhere.js`),
      await fetch(`${shown.url}/session`, { method: 'POST', body: '{}' }),
      await fetch(`${shown.url}/ask/memories.tree`, { method: 'POST', body: '{}' }),
    ]
    for (const { headers } of answers) {
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
      for (const part of [
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        'trusted-types dompurify',
      ]) {
        expect(policy).toContain(part)
      }
      expect(policy).not.toContain('unsafe')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
      expect(headers.get('set-cookie')).toBeNull()
    }
  })

  test('the nonce of styles is new with each page, and in it', async () => {
    const shown = await opened()
    const nonces = new Set<string>()
    for (let round = 0; round < 3; round += 1) {
      const answer = await fetch(shown.url)
      const nonce = /'nonce-([^']+)'/.exec(answer.headers.get('content-security-policy') ?? '')?.[1]
      expect(nonce?.length).toBeGreaterThanOrEqual(22)
      expect(await answer.text()).toContain(`content="${nonce}"`)
      nonces.add(nonce ?? '')
    }
    expect(nonces.size).toBe(3)
  })

  test('serves no file outside the page, by any path', async () => {
    const shown = await opened()
    const paths = [
      '/../package.json',
      '/..%2fpackage.json',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/assets/../../../package.json',
      '/assets/..%5c..%5cpackage.json',
      '//etc/passwd',
      '/etc/passwd',
      '/LICENSES.txt',
      '/index.html',
      '/assets',
      '/assets/',
      '/__proto__',
      '/constructor',
      '/memories%00.js',
      '/memory/<script>',
      '/file:///etc/passwd',
    ]
    for (const path of paths) {
      const answer = await said(shown, `GET ${path} HTTP/1.1`, ['host: 127.0.0.1:PORT'])
      expect([path, answer.includes('root:'), answer.includes('"dependencies"')]).toEqual([
        path,
        false,
        false,
      ])
      expect(answer).not.toContain('secret')
    }
  })
})
