// The bundle of `gitlocket/web` in a page of another origin than its git host: what the browser
// asks, where credentials go, and what a page of an origin that is not listed can read.
// @module-tag slow

import { createServer, request as ask } from 'node:http'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { browserOfFile, chromiumHere } from '../support/browser.ts'
import { bareRemote, put, sync } from '../support/clones.ts'
import { startGitServer } from '../support/git-server.ts'
import { givenGrant } from '../support/grant-holders.ts'
import { listening } from '../support/proxy.ts'
import { author } from '../support/stores.ts'
import { listPath, startWebGit, type WebGit } from '../support/web-git.ts'
import { openPage, startSite } from '../support/web-site.ts'

const browser = browserOfFile()
const user = { username: 'git', password: 'of-the-host' }
const basic = ({ username, password } = user): string => `Basic ${btoa(`${username}:${password}`)}`

interface SeenByBrowser {
  readonly origin: string
  readonly method: string
  readonly authorization: string | null
  readonly cookie: string | null
}

/** What the browser sends to other places than the page's own from now on, preflights too. */
async function watch(page: Page): Promise<() => readonly SeenByBrowser[]> {
  const urls = new Map<string, readonly [url: string, method: string]>()
  const sent: (readonly [id: string, headers: Headers])[] = []
  const session = await page.context().newCDPSession(page)
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    urls.set(requestId, [request.url, request.method])
  })
  // With the headers that the browser adds; in any order with the other.
  session.on('Network.requestWillBeSentExtraInfo', ({ requestId, headers }) => {
    sent.push([requestId, new Headers(headers)])
  })
  await session.send('Network.enable')
  return () =>
    sent
      .map(([id, headers]) => {
        const [url = page.url(), method = ''] = urls.get(id) ?? []
        const [authorization, cookie] = [headers.get('authorization'), headers.get('cookie')]
        return { origin: new URL(url).origin, method, authorization, cookie }
      })
      .filter(({ origin }) => origin !== new URL(page.url()).origin)
}

/** A store of a server, and a grant for it. */
async function served(origins: readonly string[]): Promise<WebGit & { readonly grant: string }> {
  const at = await startWebGit({ origins: [...origins] })
  const grant = await at.use(async (store) => {
    await put({ store }, '/a.md', 'of the server')
    await store.remotes.add('origin', bareRemote())
    return (await store.as(author).grants.give({ role: 'reader' })).text
  })
  return { ...at, grant }
}

/** Reads a text of the store in the page, or returns the code of the error. */
function readIn(page: Page, path: string, options: object, password: string): Promise<unknown> {
  return page.evaluate(`(async () => {
    const { openRemote } = await import('/gitlocket/web.js')
    globalThis.asked = []
    const onAuth = async ({ url, attempt }) => {
      asked.push(url)
      return attempt > 1 ? undefined : { username: 'git', password: ${JSON.stringify(password)} }
    }
    try {
      globalThis.store = await openRemote({ ...${JSON.stringify(options)}, onAuth })
      return (await store.read(${JSON.stringify(path)})).content
    } catch ({ code, message }) {
      return code ?? message
    }
  })()`)
}

test.skipIf(chromiumHere.missing)(
  `a page of a listed origin reads, and sends its key to the server alone${chromiumHere.note}`,
  async () => {
    const site = await startSite()
    const { url, grant, server, token } = await served([site])
    const { page, problems } = await openPage(await browser(), site)
    await page.evaluate(`document.cookie = 'session=of-the-page'`)
    const seen = await watch(page)
    expect(await readIn(page, '/a.md', { url, grant }, token)).toBe('of the server')
    expect(await page.evaluate('asked')).toEqual([url])
    const sent = seen()
    expect(new Set(sent.map(({ origin }) => origin))).toEqual(new Set([server]))
    const first = sent.find(({ method }) => method !== 'OPTIONS')
    expect(first?.authorization).toBeNull()
    const key = basic({ username: 'git', password: token })
    expect(sent.filter(({ authorization }) => authorization === key).length).toBeGreaterThan(1)
    // A preflight names the header without the credentials.
    const preflights = sent.filter(({ method }) => method === 'OPTIONS')
    expect(new Set(preflights.map(({ authorization }) => authorization))).toEqual(new Set([null]))
    expect(new Set(sent.map(({ cookie }) => cookie))).toEqual(new Set([null]))
    expect(problems).toEqual([])
  },
)

test.skipIf(chromiumHere.missing)(
  `a page of another origin reads nothing, with the key and the grant${chromiumHere.note}`,
  async () => {
    const site = await startSite()
    const { url, grant, token } = await served([site])
    const other = site.replace('127.0.0.1', 'localhost')
    const { page } = await openPage(await browser(), other)
    expect(await readIn(page, '/a.md', { url, grant }, token)).toBe('remote_unreachable')
    expect(await page.evaluate('asked')).toEqual([])
    const asked = `${url}${listPath}`
    const found = await page.evaluate(`(async () => {
      const headers = { authorization: 'Bearer ${token}' }
      const how = [{}, { headers }, { credentials: 'include' }, { mode: 'no-cors' }]
      return Promise.all(how.map(async (init) => {
        const response = await fetch(${JSON.stringify(asked)}, init).catch(() => undefined)
        return response && [response.status, (await response.text()).length]
      }))
    })()`)
    // The last is opaque: the page learns nothing of the answer.
    expect(found).toEqual([undefined, undefined, undefined, [0, 0]])
  },
)

interface CorsProxy {
  readonly origin: string
  readonly seen: { readonly url: string; readonly authorization: string | undefined }[]
}

/** A proxy as isomorphic-git's: the address of the host is its path, or its query. */
async function startCorsProxy(site: string): Promise<CorsProxy> {
  const seen: CorsProxy['seen'] = []
  const server = createServer((asked, response) => {
    const { method = '', url = '', headers } = asked
    const allowed = {
      'access-control-allow-origin': site,
      'access-control-allow-headers': 'authorization, content-type',
    }
    if (method === 'OPTIONS') {
      response.writeHead(204, allowed).end()
      return
    }
    seen.push({ url, authorization: headers.authorization })
    const target = url.startsWith('/?') ? url.slice(2) : `http:/${url}`
    const { host: _, origin: __, ...others } = headers
    const onward = ask(target, { method, headers: others }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, { ...answer.headers, ...allowed })
      answer.pipe(response)
    })
    asked.pipe(onward)
  })
  return { origin: `http://${(await listening(server)).at}`, seen }
}

test.skipIf(chromiumHere.missing).each(['', '/?'])(
  `through the proxy http://…%s a page reads and writes, and asks no one else${chromiumHere.note}`,
  async (form) => {
    const world = await givenGrant()
    const host = await startGitServer({ repository: world.url, user })
    const site = await startSite()
    const proxy = await startCorsProxy(site)
    const { page, problems } = await openPage(await browser(), site)
    const seen = await watch(page)
    const { url } = host
    const options = { url, grant: world.grant }
    expect(await readIn(page, '/notes/0.md', options, user.password)).toBe('remote_unreachable')
    const before = seen().length
    const through = { ...options, corsProxy: `${proxy.origin}${form}` }
    expect(await readIn(page, '/notes/0.md', through, user.password)).toBe('text 0\n')
    await page.evaluate(`(async () => {
      const me = store.as({ actor: { type: 'session', id: 'page' } })
      await me.write('/page.md', 'from a page')
      await store.close()
    })()`)
    // It is asked for the host's credentials, which the proxy passes on.
    expect(await page.evaluate('asked')).toEqual([url])
    const others = seen()
      .slice(before)
      .filter(({ origin }) => origin !== proxy.origin)
    expect([others, problems]).toEqual([[], []])
    const start = form === '' ? `/${new URL(url).host}/store.git/` : `/?${url}/`
    expect(proxy.seen.filter((one) => !one.url.startsWith(start))).toEqual([])
    expect(proxy.seen.map(({ authorization }) => authorization).slice(0, 2)).toEqual([
      undefined,
      basic(),
    ])
    expect(new Set(host.requests.map(({ authorization }) => authorization))).toEqual(
      new Set([undefined, basic()]),
    )
    await sync(world.granter)
    expect((await world.granter.store.read('/page.md'))?.content).toBe('from a page')
  },
)
