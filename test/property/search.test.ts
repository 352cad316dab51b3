// Random writes, moves, deletions, restores and redactions by two open handles, and searches with
// an index, by scans and of the past: all find what the slow model finds, in its order.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { CacheBudget } from '../../src/cache-budget.ts'
import type { MemoryStore, SearchHit, StoreWriter } from '../../src/index.ts'
import { full, seed } from '../support/seed.ts'
import { author, newStore, reopen } from '../support/stores.ts'
import { type ModelHit, type ModelQuery, modelSearch, type ModelText } from './search-model.ts'

const words =
  'deadlock Deadlocks DEADLINE dead lock look the The Straße STRASSE naïve naive ΟΔΟΣ οδός ' +
  'ёлка Елка 東京都 京都 東 e3b0c44298fc1c149afb 42 x'
const word = fc.constantFrom(...words.split(' '))
const line = fc.array(word, { maxLength: 6 }).map((some) => some.join(' '))
const content = fc.array(line, { maxLength: 4 }).map((lines) => lines.join('\n'))
const path = fc
  .tuple(fc.constantFrom('/a', '/b/lock'), fc.constantFrom('x', 'dead', 'deadlock-42', '東京'))
  .map(([directory, name]) => `${directory}/${name}.md`)

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('write' as const), path, content }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('move' as const), path, to: path }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('delete' as const), path }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('restore' as const), path }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('redact' as const), at: fc.nat() }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const query: fc.Arbitrary<ModelQuery> = fc.record({
  query: fc.array(word, { minLength: 1, maxLength: 3 }).map((some) => some.join(' ')),
  prefix: fc.boolean(),
  fuzzy: fc.boolean(),
  path: fc.constantFrom('/', '/', '/a', '/b', '/a/dead.md'),
})

const round = fc.record({
  steps: fc.array(fc.record({ step, handle: fc.constantFrom(0 as const, 1 as const) }), {
    maxLength: 4,
  }),
  queries: fc.array(query, { minLength: 1, maxLength: 2 }),
})

type Round = typeof round extends fc.Arbitrary<infer T> ? T : never

/** The texts that can be found, according to the history. */
class World {
  readonly #store: MemoryStore
  /** A point of the past, and its live memories. */
  past: { readonly versionId: string; readonly texts: readonly ModelText[] } | undefined

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async live(): Promise<readonly ModelText[]> {
    const texts: ModelText[] = []
    for await (const memory of this.#store.memories({ view: 'full' })) {
      if (memory.type === 'memory') texts.push({ ...memory, content: memory.content ?? '' })
    }
    return texts
  }

  async versions(): Promise<readonly ModelText[]> {
    const texts: ModelText[] = []
    for await (const { versionId, path: at, content: text } of this.#store.history.versions({
      view: 'full',
    })) {
      if (at !== undefined && text !== undefined) texts.push({ versionId, path: at, content: text })
    }
    return texts
  }

  async remember(): Promise<void> {
    const [newest] = (await this.#store.history.versions({ limit: 1 })).data
    if (newest !== undefined) {
      this.past = { versionId: newest.versionId, texts: await this.live() }
    }
  }
}

/** A step that is refused changes nothing. */
async function take(me: StoreWriter, asked: Step, store: MemoryStore): Promise<void> {
  try {
    if (asked.type === 'write') await me.write(asked.path, asked.content)
    else if (asked.type === 'move') await me.move(asked.path, asked.to)
    else if (asked.type === 'delete') await me.delete(asked.path)
    else if (asked.type === 'restore') await me.restore({ memory: asked.path })
    else {
      const { data } = await store.history.versions({ redacted: false })
      const chosen = data[asked.at % Math.max(1, data.length)]
      if (chosen === undefined) return
      const select = { versionIds: [chosen.versionId] }
      await me.redact({ select, reason: 'leaked_secret', current: 'delete' })
    }
  } catch (error) {
    const refusals = /^(not_found|path_conflict|move_into_itself|invalid_input|redacted)$/
    expect(error).toMatchObject({ code: expect.stringMatching(refusals) })
  }
}

/** Scores to ten digits: the model adds in another order. */
function shown(hits: readonly (ModelHit | SearchHit)[]): readonly unknown[] {
  return hits.map((hit) => {
    const versionId = 'memory' in hit ? hit.memory.versionId : hit.versionId
    return [versionId, hit.line, hit.score.toPrecision(10)]
  })
}

async function compare(world: World, stores: readonly MemoryStore[], asked: ModelQuery) {
  const expected = shown(modelSearch(await world.live(), asked))
  const all = await Promise.all(stores.map(async (one) => (await one.search(asked)).data))
  for (const hits of all) expect(shown(hits), JSON.stringify(asked)).toEqual(expected)
  const [indexed, scanned] = all
  expect(indexed).toEqual(scanned)
  const [store] = stores
  const every = (await store?.search({ ...asked, allVersions: true, limit: 100 }))?.data ?? []
  expect(shown(every)).toEqual(shown(modelSearch(await world.versions(), asked)).slice(0, 100))
  if (world.past === undefined) return
  const kept = new Set((await world.versions()).map(({ versionId }) => versionId))
  const texts = world.past.texts.filter(({ versionId }) => kept.has(versionId))
  if (!kept.has(world.past.versionId)) return
  const then = await store?.search({ ...asked, at: { versionId: world.past.versionId } })
  expect(shown(then?.data ?? [])).toEqual(shown(modelSearch(texts, asked)))
}

async function run(rounds: readonly Round[]): Promise<void> {
  const { store, place } = await newStore()
  const other = await reopen(place)
  // Where no index fits, every search scans.
  const scanner = await reopen(place, { indexBudget: new CacheBudget(0) })
  await Promise.all([store.search({ query: 'x' }), scanner.search({ query: 'x' })])
  const world = new World(other)
  for (const name of ['x', 'dead', 'deadlock-42']) {
    await store.as(author).write(`/a/${name}.md`, `the ${name}\ndeadlock 東京都`)
  }
  await store.search({ query: 'x' })
  for (const [index, { steps, queries }] of rounds.entries()) {
    for (const { step: asked, handle } of steps) {
      const writer = handle === 0 ? store : other
      await take(writer.as(author), asked, writer)
    }
    for (const asked of queries) await compare(world, [store, scanner], asked)
    if (index === 1) await world.remember()
  }
  await Promise.all([store.close(), other.close(), scanner.close()])
}

function check(numRuns: number, maxLength: number): Promise<void> {
  const worlds = fc.array(round, { minLength: 3, maxLength })
  return fc.assert(fc.asyncProperty(worlds, run), { seed, numRuns })
}

test('an index, a scan and the past find the same as the model', () => check(1, 4))

test('the same in more and longer worlds', { tags: 'slow', timeout: 600_000 }, () =>
  check(full ? 100 : 8, full ? 12 : 6),
)
