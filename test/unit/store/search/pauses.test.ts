// What else happens while a search pauses: an index that is emptied keeps nothing of the text that
// is being added, and no long query and no long text holds other work up.

import { expect, onTestFinished, test, vi } from 'vitest'
import { CacheBudget } from '../../../../src/cache-budget.ts'
import { LiveIndex } from '../../../../src/store/search/live-index.ts'
import { parseQuery } from '../../../../src/store/search/query-words.ts'
import { findBestLine } from '../../../../src/store/search/snippet.ts'
import { type Match, type Searchable, TermIndex } from '../../../../src/store/search/term-index.ts'
import type { LiveMemory } from '../../../../src/store/snapshot/live-memory.ts'
import { atOnce, TimeSlice } from '../../../../src/time-slice.ts'
import { author, newStore } from '../../../support/stores.ts'

/** Pauses whenever it may, and does something then. */
class EagerSlice extends TimeSlice {
  pauses = 0
  readonly #meanwhile: (pauses: number) => void

  constructor(meanwhile: (pauses: number) => void = () => undefined) {
    super(undefined, 1)
    this.#meanwhile = meanwhile
  }

  override async next(): Promise<void> {
    this.pauses += 1
    this.#meanwhile(this.pauses)
  }
}

const words = Array.from({ length: 600 }, (_, number) => `word${number}`)
const text = words.join(' ')
const document: Searchable = { path: '/canary.md', size: text.length, versionId: 'v' }

function matchesOf(index: TermIndex<Searchable>, query: string): readonly Match[] {
  const [word] = parseQuery(query, { prefix: true, fuzzy: false })
  return word === undefined ? [] : atOnce(index.matches(word))
}

test('an index that is emptied while a text is added keeps no term of it', async () => {
  const all = new EagerSlice()
  await new TermIndex<Searchable>().add('key', document, text, all)
  for (let moment = 1; moment <= all.pauses; moment += 1) {
    const index = new TermIndex<Searchable>()
    const slice = new EagerSlice((pauses) => pauses === moment && index.clear())
    await index.add('key', document, text, slice)
    for (const query of ['canary', 'word']) expect(matchesOf(index, query)).toEqual([])
    expect(index.versionIds).toEqual([])
  }
})

test('a text is compared with a long query word by word, or a few at a time', async () => {
  const query = parseQuery(words.slice(0, 128).join(' '), { prefix: true, fuzzy: true })
  const slice = new EagerSlice()
  await findBestLine(text, query, slice)
  expect(slice.pauses).toBeGreaterThanOrEqual(words.length)
  const adding = new EagerSlice()
  await new TermIndex<Searchable>().add('key', document, text, adding)
  expect(adding.pauses).toBeGreaterThanOrEqual(words.length / 16)
})

test('an index that is emptied while a search fills it adds nothing more', async () => {
  const memory: LiveMemory = Object(document)
  const all = new EagerSlice()
  await new TermIndex<Searchable>().add('key', document, text, all)
  for (let moment = 1; moment <= all.pauses; moment += 1) {
    const index = new LiveIndex(new CacheBudget(2 ** 24))
    const slice = new EagerSlice((pauses) => pauses === moment && index.clear())
    const used = index.use(async () => {
      await index.add('redacted', memory, text, slice)
      return 'ranked'
    })
    await expect(used, `at pause ${moment}`).resolves.toBeUndefined()
    expect(index.size).toBe(0)
  }
})

/** Makes every search pause whenever it may, and does something in each pause. */
function pausing(act: (pause: number) => Promise<unknown>): void {
  let pauses = 0
  let isActing = false
  vi.spyOn(TimeSlice.prototype, 'isOver').mockReturnValue(true)
  vi.spyOn(TimeSlice.prototype, 'next').mockImplementation(async () => {
    if (isActing) return
    isActing = true
    pauses += 1
    await act(pauses).finally(() => (isActing = false))
  })
  onTestFinished(() => void vi.restoreAllMocks())
}

test('a hit that is replaced before the answer is searched again', async () => {
  const query = { query: 'word' }
  const { store: undisturbed } = await newStore()
  await undisturbed.as(author).write('/a.md', 'a word')
  let last = 0
  pausing(async (pause) => {
    last = pause
  })
  await undisturbed.search(query)
  vi.restoreAllMocks()

  const { store } = await newStore()
  await store.as(author).write('/a.md', 'a word')
  // The text of the hit has been read by then, and the answer has not been made.
  pausing(async (pause) => pause === last && store.as(author).write('/a.md', 'another word'))
  const { data } = await store.search(query)
  expect(data.map(({ snippet }) => snippet)).toEqual(['another word'])
})

test('a hit that is replaced all the time is omitted, and never shown stale', async () => {
  const { store } = await newStore()
  await store.as(author).write('/a.md', 'a word')
  pausing((pause) => store.as(author).write('/a.md', `a word ${pause}`))
  const { data } = await store.search({ query: 'word' })
  vi.restoreAllMocks()
  const now = await store.read('/a.md')
  expect(data.filter(({ memory }) => memory.versionId !== now?.versionId)).toEqual([])
})
