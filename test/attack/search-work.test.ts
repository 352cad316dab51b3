// T15, T64: queries and texts that are made to be expensive: a search ends at its bounds, delays no
// other work and leaves no thread behind, and shows a hostile text as one harmless line.
// @module-tag slow

import * as fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { CacheBudget } from '../../src/cache-budget.ts'
import { RegexThread } from '../../src/store/search/regex-thread.ts'
import { snippetOf } from '../../src/store/search/snippet.ts'
import { TimeSlice } from '../../src/time-slice.ts'
import { seed } from '../support/seed.ts'
import { author, newStore } from '../support/stores.ts'
import { inSlices } from '../support/turns.ts'

/** What keeps a process alive: a thread has a port. */
const ports = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length

test('T15: a regular expression that backtracks ends', { tags: 'slow' }, async () => {
  const { store } = await newStore()
  await store.as(author).write('/a.md', `${'a'.repeat(100)}!\n`)
  const before = ports()
  let turns = 0
  const timer = setInterval(() => (turns += 1), 10)
  const refused = store.search({ query: '^(a+)+$', regex: true })
  await expect(refused).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('takes too long'),
  })
  clearInterval(timer)
  // The thread took two seconds; this one went on.
  expect(turns).toBeGreaterThan(20)
  expect(ports()).toBe(before)
  const { data } = await store.search({ query: '^a+!$', regex: true })
  expect(data.map(({ line }) => line)).toEqual([1])
  expect(ports()).toBe(before)
  await store.close()
})

test('T15: many searches at once have few threads', async () => {
  const { store } = await newStore()
  await store.as(author).write('/a.md', 'a\n')
  const before = ports()
  let most = 0
  const timer = setInterval(() => (most = Math.max(most, ports())), 1)
  const all = Array.from({ length: 8 }, () => store.search({ query: '^a$', regex: true }))
  for (const { data } of await Promise.all(all)) expect(data).toHaveLength(1)
  clearInterval(timer)
  expect(most).toBeGreaterThan(before)
  // Two, and one that packs in the background on a busy machine.
  expect(most).toBeLessThanOrEqual(before + 3)
  await store.close()
})

test('T64: a query of more words than anybody types is refused', async () => {
  const { store } = await newStore()
  const words = (count: number): string => {
    return Array.from({ length: count }, (_, index) => index.toString(36)).join(' ')
  }
  await expect(store.search({ query: words(128) })).resolves.toMatchObject({ data: [] })
  const refused = store.search({ query: words(129) })
  await expect(refused).rejects.toMatchObject({ code: 'invalid_input' })
  await store.close()
})

test('T15: refuses an invalid regular expression', async () => {
  const { store } = await newStore()
  await store.as(author).write('/a.md', 'a\n')
  const before = ports()
  for (const query of ['(', '[z-a]', String.raw`\p{Nonsense}`, '(?<a>']) {
    const refused = store.search({ query, regex: true })
    await expect(refused, query).rejects.toMatchObject({ code: 'invalid_input' })
  }
  expect(ports()).toBe(before)
  await store.close()
})

test('T15: one that needs too much for a text is refused', { tags: 'slow' }, async () => {
  const before = ports()
  // On a busy machine it may take longer than a search may take, which is another refusal.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const thread = await RegexThread.start('^(?:(a|b)|c)*d', { ms: 0 })
  const refused = thread.match([{ path: '/a.md', content: 'a'.repeat(16_000_000) }])
  await expect(refused).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('search for less at once'),
  })
  await thread.end()
  expect(ports()).toBe(before)
})

test('T15: a huge query is refused, and one of many words is answered', async () => {
  const { store } = await newStore()
  await store.as(author).write('/a.md', 'a b c\n')
  for (const regex of [false, true]) {
    const refused = store.search({ query: 'a'.repeat(1025), regex })
    await expect(refused).rejects.toMatchObject({ code: 'invalid_input' })
  }
  const { data } = await store.search({ query: 'a '.repeat(512), fuzzy: true })
  expect(data.map(({ line }) => line)).toEqual([1])
  const many = Array.from({ length: 120 }, (_, index) => String.fromCodePoint(0x4e00 + index))
  expect((await store.search({ query: `${many.join(' ')} c` })).data).toHaveLength(1)
  await store.close()
})

test.each<unknown>([
  '',
  'x',
  '!',
  cursorOf(null),
  cursorOf([]),
  cursorOf({ 0: 'x' }),
  cursorOf(['0000000000000000', 1, '/a.md', 'x']),
  'A'.repeat(100_000),
  7,
  {},
])('T15: a malformed cursor is refused: %#', async (after) => {
  const { store } = await newStore()
  const asked = { query: 'a' }
  Reflect.set(asked, 'after', after)
  await expect(store.search(asked)).rejects.toMatchObject({ code: 'invalid_input' })
  await store.close()
})

function cursorOf(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

test('T15: long lines and many words are read in slices, by scan and index', async () => {
  const { store } = await newStore()
  const distinct = Array.from({ length: 14_000 }, (_, index) => (index + 50_000).toString(36))
  const texts = {
    words: distinct.join(' '),
    one: 'x'.repeat(100_000),
    han: '東京都'.repeat(10_000),
  }
  const next = vi.spyOn(TimeSlice.prototype, 'next')
  for (const [name, content] of Object.entries(texts)) {
    await store.as(author).write(`/${name}.md`, content)
  }
  for (const how of ['scan', 'index']) {
    next.mockClear()
    await inSlices(() => store.search({ query: 'nothing' }))
    // Parts of 4,096 units; an index adds terms 256 at a time.
    const least = how === 'scan' ? 50 : 100
    expect(next.mock.calls.length, how).toBeGreaterThan(least)
  }
  next.mockRestore()
  const found = async (query: string): Promise<unknown> => {
    const { data } = await store.search({ query })
    return data.map(({ memory, line, snippet }) => [memory.path, line, snippet.length])
  }
  expect(await found(distinct.at(-1) ?? '')).toEqual([['/words.md', 1, 199]])
  expect(await found('x'.repeat(1000))).toEqual([['/one.md', 1, 199]])
  expect(await found('京都東京')).toEqual([['/han.md', 1, 199]])
  await store.close()
})

test('T15: a snippet is one short line without control characters or half characters', () => {
  const unit = fc.constantFrom(
    'a',
    ' ',
    '\u0000',
    '\r',
    '\u001b',
    '\u2028',
    '\u0085',
    '🎉',
    '東',
    'é',
  )
  const line = fc.array(unit, { maxLength: 500, size: 'max' }).map((units) => units.join(''))
  const property = fc.property(line, fc.nat(600), (text, at) => {
    const snippet = snippetOf(text, Math.min(at, text.length))
    expect(snippet.length).toBeLessThanOrEqual(200)
    expect(snippet.isWellFormed()).toBe(true)
    expect(snippet).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
  })
  fc.assert(property, { seed, numRuns: 300 })
})

test('T15: indexes share a bound, and the oldest gives way', async () => {
  const indexBudget = new CacheBudget(100_000)
  const stores = []
  for (const name of ['a', 'b', 'c']) {
    const { store } = await newStore({ indexBudget })
    const words = Array.from({ length: 120 }, (_, index) => `${name}${index}`).join(' ')
    await store.as(author).write('/x.md', words)
    stores.push(store)
  }
  for (let round = 0; round < 3; round += 1) {
    for (const [index, store] of stores.entries()) {
      const { data } = await store.search({ query: `${'abc'[index]}7` })
      expect(data).toHaveLength(1)
      expect(indexBudget.bytes).toBeLessThanOrEqual(100_000)
    }
  }
  expect(indexBudget.bytes).toBeGreaterThan(30_000)
  await Promise.all(stores.map((store) => store.close()))
  expect(indexBudget.bytes).toBe(0)
})
