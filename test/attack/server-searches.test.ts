// T64: a session that searches with slow regular expressions, many at once, on a server of many:
// the others wait for the searches that run, and not for all that wait.

import { expect, onTestFinished, test, vi } from 'vitest'
import { FairTurns } from '../../src/fair-queue.ts'
import { StorePool } from '../../src/hosting/store-pool.ts'
import { mcpRoute } from '../../src/mcp/mcp.ts'
import { RegexThread } from '../../src/store/search/regex-thread.ts'
import { expectDone } from '../support/http-caller.ts'
import { connectToServer, type McpCaller } from '../support/mcp-client.ts'
import { runningServer, sessionsPath, storesPath } from '../support/running-server.ts'

/** Backtracks for a while with the text below. */
const slow = { query: '^(a+)+$', regex: true }
const quick = { query: '!$', regex: true }
const content = `${'a'.repeat(21)}!`
const many = 48

/** A server whose process holds too much closes stores, and this one has run many tests. */
const maxBytes = 2 ** 40

const at = runningServer({
  maxBytes,
  routes: [mcpRoute()],
  limits: { matchingMsPerMinutePerKey: 600_000 },
})
const strict = runningServer({
  maxBytes,
  routes: [mcpRoute()],
  limits: { matchingMsPerMinutePerKey: 1 },
})

/** As one whose process holds too much: a store opens when another has closed. */
const tight = runningServer({ maxBytes, maxOpen: 1, routes: [mcpRoute()] })

/** A session of its own, in a store of its key that is its own as well. */
async function sessionOf(server = at, caller = server.caller): Promise<McpCaller> {
  const { id } = expectDone(await caller.post(storesPath, { name: 'store' }))
  expectDone(await caller.post(`${storesPath}/${id}/memories`, { path: '/a.md', content }))
  const resources = [{ type: 'memory_store', memory_store_id: id, access: 'read_only' }]
  const { token } = expectDone(await caller.post(sessionsPath, { resources }))
  return connectToServer(`${server.url}/mcp`, { token, era: '2025-11-25' })
}

test(
  'T64: others are answered while a session searches slowly, 48 at once',
  { tags: 'slow' },
  async () => {
    const busy = await sessionOf()
    const sibling = await sessionOf()
    const neighbour = await sessionOf(at, at.foreign)
    const run = vi.spyOn(FairTurns.prototype, 'run')
    const start = RegexThread.start.bind(RegexThread)
    let goOn: (() => void) | undefined
    const all = new Promise<void>((resolve) => {
      goOn = resolve
    })
    // However long requests take: the first threads start when all searches are there.
    vi.spyOn(RegexThread, 'start').mockImplementation(async (...call) => {
      await all
      return start(...call)
    })
    onTestFinished(() => void vi.restoreAllMocks())
    let answered = 0
    const searches = Array.from({ length: many }, async () => {
      // On a busy machine it may take longer than a search may take: that is an answer as well.
      await busy.call('memory_search', slow)
      answered += 1
    })
    await expect.poll(() => run.mock.calls.length).toBe(many)
    const others = Promise.all([
      neighbour.call('memory_search', quick),
      sibling.call('memory_search', quick),
    ])
    expect(await sibling.call('memory_list')).toMatchObject({ refused: false })
    await expect.poll(() => run.mock.calls.length).toBe(many + 2)
    goOn?.()
    for (const answer of await others) expect(answer).toMatchObject({ refused: false })
    // First come, first served would answer all of them before the two.
    expect(answered).toBeLessThan(many)
    await Promise.all(searches)
  },
)

test('T64: searches that wait for their turn keep no store open that others wait for', async () => {
  const busy = await sessionOf(tight)
  const neighbour = await sessionOf(tight, tight.foreign)
  const use = vi.spyOn(StorePool.prototype, 'use')
  const run = vi.spyOn(FairTurns.prototype, 'run')
  onTestFinished(() => void vi.restoreAllMocks())
  const start = RegexThread.start.bind(RegexThread)
  let goOn: (() => void) | undefined
  const first = new Promise<void>((resolve) => (goOn = resolve))
  let list: Promise<unknown> | undefined
  const started = vi.spyOn(RegexThread, 'start').mockImplementation(async (...call) => {
    const isFirst = list === undefined
    await first
    // Those that had to wait for a turn go on once the neighbour has its answer.
    if (!isFirst) await list
    return start(...call)
  })
  const searches = Array.from({ length: 6 }, () => busy.call('memory_search', quick))
  await expect.poll(() => [run.mock.calls.length, started.mock.calls.length]).toEqual([6, 2])
  const before = use.mock.calls.length
  list = neighbour.call('memory_read', { path: '/memories/store/a.md' })
  await expect.poll(() => use.mock.calls.length).toBeGreaterThan(before)
  goOn?.()
  expect(await list).toMatchObject({ refused: false })
  for (const answer of await Promise.all(searches)) {
    expect(answer).toMatchObject({ refused: false, text: expect.stringContaining('/a.md') })
  }
})

test('T64: a key is refused more regular expressions once its own took too long', async () => {
  const busy = await sessionOf(strict)
  const neighbour = await sessionOf(strict, strict.foreign)
  await busy.call('memory_search', slow)
  const refusal = { refused: true, text: expect.stringContaining('search for words') }
  expect(await busy.call('memory_search', quick)).toMatchObject(refusal)
  expect(await busy.call('memory_search', { query: 'aaa' })).toMatchObject({ refused: false })
  expect(await neighbour.call('memory_search', quick)).toMatchObject({ refused: false })
})
