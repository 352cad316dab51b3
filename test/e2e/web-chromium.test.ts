// The bundle of `gitlocket/web` in a browser: a page opens a store with a grant, reads, writes and
// searches, and loads a limited number of bytes.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { withGuard } from '../../src/store/guard/guard.ts'
import { browserOfFile, chromiumHere } from '../support/browser.ts'
import { sync } from '../support/clones.ts'
import type { Fault } from '../support/git-server.ts'
import { patience } from '../support/patience.ts'
import { author } from '../support/stores.ts'
import { servedGrant } from '../support/web-stores.ts'

const browser = browserOfFile()
const bundle = fileURLToPath(new URL('../../dist/web/', import.meta.url))
/** Gzipped, with the WebAssembly, and the guard's patterns for writing: 220 and 260 kB. */
const readingBytesMax = 220_000
const writingBytesMax = 260_000

test.runIf(chromiumHere)(
  'a page reads and writes, and loads no more than it needs',
  { tags: 'slow' },
  async () => {
    const world = await servedGrant()
    // As in a store by default: each text that is written passes the guard.
    await world.granter.store.as(author).settings.update({ metadata: withGuard({}, true) })
    await sync(world.granter)
    const loaded = new Map<string, number>()
    world.server.fault = serving(loaded)
    const context = await (await browser()).newContext()
    context.setDefaultTimeout(patience.timeout)
    onTestFinished(() => context.close())
    const page = await context.newPage()
    const problems: string[] = []
    page.on('pageerror', ({ message }) => problems.push(message))
    const { url } = world.server
    await page.goto(new URL('/', url).href)

    const asked = JSON.stringify({ url, grant: world.grant })
    const read = await page.evaluate(`(async () => {
      const { openRemote } = await import('/gitlocket/web.js')
      globalThis.store = await openRemote(${asked})
      return (await store.read('/notes/0.md')).content
    })()`)
    expect(read).toBe('text 0\n')
    expect(sizeOf(loaded)).toBeLessThanOrEqual(readingBytesMax)

    await page.evaluate(`(async () => {
      const me = store.as({ actor: { type: 'session', id: 'page' } })
      await me.write('/page.md', 'from a page')
    })()`)
    expect(sizeOf(loaded)).toBeLessThanOrEqual(writingBytesMax)
    await sync(world.granter)
    expect((await world.granter.store.read('/page.md'))?.content).toBe('from a page')
    expect([...loaded.keys()]).toContain('find-secrets.js')

    const found = await page.evaluate(`(async () => {
      const { memoryTool } = await import('/gitlocket/web.js')
      const { data } = await store.search({ query: 'from a page' })
      const { run } = memoryTool(store, { session: 'page', ToolError: Error })
      const answer = await run({ command: 'view', path: '/memories/page.md' })
      await store.close()
      return [data.map(({ memory }) => memory.path), answer]
    })()`)
    expect(found).toEqual([['/page.md'], expect.stringContaining('from a page')])
    expect(problems).toEqual([])
  },
)

/** Serves a page and the bundle at the origin of the git host, and notes the requested files. */
function serving(loaded: Map<string, number>): Fault {
  return ({ url = '' }, response) => {
    if (url === '/') {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>')
      return true
    }
    if (url === '/favicon.ico') {
      response.writeHead(204).end()
      return true
    }
    const [, name] = /^\/gitlocket\/([\w.-]+)$/.exec(url) ?? []
    if (name === undefined) return false
    const bytes = readFileSync(`${bundle}${name}`)
    loaded.set(name, gzipSync(bytes, { level: 9 }).length)
    const type = name.endsWith('.js') ? 'text/javascript' : 'application/wasm'
    response.writeHead(200, { 'content-type': type }).end(bytes)
    return true
  }
}

function sizeOf(loaded: ReadonlyMap<string, number>): number {
  return [...loaded.values()].reduce((sum, bytes) => sum + bytes, 0)
}
