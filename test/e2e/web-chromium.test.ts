// The bundle of `gitlocket/web` in a browser: a page opens a store with a grant, reads, writes and
// searches, and loads a limited number of bytes.

import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { withGuard } from '../../src/store/guard/guard.ts'
import { answersBundle, expectAnswers } from '../support/answers-bundle.ts'
import { browserOfFile, chromiumHere } from '../support/browser.ts'
import { sync } from '../support/clones.ts'
import { author } from '../support/stores.ts'
import { openPage, pageWith, startSite } from '../support/web-site.ts'
import { servedGrant } from '../support/web-stores.ts'

const browser = browserOfFile()
/** Gzipped, with the WebAssembly, and the guard's patterns for writing: 224 and 264 kB. */
const readingBytesMax = 224_000
const writingBytesMax = 264_000

test.skipIf(chromiumHere.missing)(
  `a page reads and writes, and loads no more than it needs${chromiumHere.note}`,
  { tags: 'slow' },
  async () => {
    const world = await servedGrant()
    // As in a store by default: each text that is written passes the guard.
    await world.granter.store.as(author).settings.update({ metadata: withGuard({}, true) })
    await sync(world.granter)
    const loaded = new Map<string, number>()
    world.server.fault = pageWith(undefined, (name, bytes) => {
      loaded.set(name, gzipSync(bytes, { level: 9 }).length)
    })
    const { url } = world.server
    const { page, problems } = await openPage(await browser(), new URL('/', url).href)

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

test.skipIf(chromiumHere.missing)(
  `the ports and the cryptography give the known answers in a page${chromiumHere.note}`,
  { tags: 'slow' },
  async () => {
    const { page } = await openPage(await browser(), await startSite(await answersBundle()))
    await expectAnswers(
      await page.evaluate(`(async () => {
        const { checkKnownAnswers } = await import('/gitlocket/web.js')
        return checkKnownAnswers()
      })()`),
    )
  },
)

function sizeOf(loaded: ReadonlyMap<string, number>): number {
  return [...loaded.values()].reduce((sum, bytes) => sum + bytes, 0)
}
