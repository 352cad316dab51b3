// Queries for versions: every filter alone and combined, compared with a plain search; pages and
// their cursors while the history changes.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatId } from '../../../src/format/id.ts'
import type { Version, VersionFilter } from '../../../src/index.ts'
import type { History } from '../../../src/store/history/history.ts'
import { describeVersion, findVersions, readVersions } from '../../../src/store/history/versions.ts'
import { atOnce } from '../../../src/time-slice.ts'
import {
  appendMade,
  historyOf,
  makeHistory,
  memoryNamed,
  versionAt,
} from '../../support/histories.ts'
import { full, seed } from '../../support/seed.ts'
import { author, newStore } from '../../support/stores.ts'

const session = { type: 'session', id: 'x' } as const
const user = { type: 'user', id: 'x' } as const
const history = makeHistory([
  {},
  { rows: [{ memory: 'a' }, { memory: 'b', path: '/d/b' }], actor: session, session: 'x', time: 9 },
  { rows: [{ memory: 'a', path: '/d/a' }], actor: user, time: 5 },
  { rows: [{ memory: 'c', path: '/dd/c' }], actor: undefined, session: 'y', time: 7 },
  { rows: [{ memory: 'b', operation: 'deleted', path: '/d/b' }], actor: user, time: 7 },
  { kind: 'redact', redacts: [versionAt(2, 'a')], time: 8 },
  { rows: [{ memory: 'a', operation: 'deleted', path: '/d/a' }], time: 12 },
  { rows: [{ memory: 'a', operation: 'created', path: '/a' }], time: 12 },
])
history.applyRedaction(new Map(), new Set([versionAt(2, 'a')]))
const all = Array.from(history.versions, (entry) => describeVersion(history, entry)).toReversed()

function below({ path }: Version, at: string): boolean {
  return path !== undefined && (at === '/' || `${path}/`.startsWith(`${at}/`))
}

/** A second definition of each filter. */
function holds(version: Version, filter: VersionFilter): boolean {
  const { createdAt, createdBy } = version
  const pairs = [
    [filter.memoryId, version.memoryId],
    [filter.actorId, createdBy?.id],
    [filter.actorType, createdBy?.type],
    [filter.session, version.session],
    [filter.operation, version.operation],
    [filter.redacted, version.redactedAt !== undefined],
  ]
  return (
    pairs.every(([wanted, found]) => wanted === undefined || wanted === found) &&
    (filter.path === undefined || below(version, filter.path)) &&
    createdAt >= (filter.since ?? 0) &&
    createdAt <= (filter.until ?? 99)
  )
}

function expected(filter: VersionFilter): readonly Version[] {
  const found = all.filter((version) => holds(version, filter))
  if (filter.order === 'latest') return found.toSorted((a, b) => b.createdAt - a.createdAt)
  return filter.order === 'oldest' ? found.toReversed() : found
}

function allPages(of: History, filter: VersionFilter): readonly Version[] {
  const found: Version[] = []
  let after: string | undefined
  do {
    const page = findVersions(of, { ...filter, page: after })
    expect(page.data.length).toBeLessThanOrEqual(filter.limit ?? 100)
    if (page.nextPage !== undefined) expect(page.nextPage).toBe(page.data.at(-1)?.versionId)
    found.push(...page.data)
    after = page.nextPage
  } while (after !== undefined)
  return found
}

const memory = (name: string): string => formatId('memory', memoryNamed(name))
const version = (height: number, name: string): string =>
  formatId('version', versionAt(height, name))

describe('a filter', () => {
  test.each<VersionFilter>([
    {},
    { memoryId: memory('a') },
    { memoryId: memory('never') },
    { path: '/' },
    { path: '/d' },
    { path: '/d/b' },
    { path: '/d/' },
    { path: '/a' },
    { actorId: 'x' },
    { actorId: 'x', actorType: 'user' },
    { actorType: 'service_account' },
    { session: 'x' },
    { operation: 'deleted' },
    { redacted: true },
    { redacted: false },
    { since: 7 },
    { until: 7 },
    { since: 7, until: 8 },
    { since: 13 },
    { order: 'oldest' },
    { order: 'latest' },
    { order: 'latest', memoryId: memory('b') },
    { order: 'oldest', actorId: 'x', operation: 'modified' },
    { path: '/d', operation: 'created', session: 'x', since: 9, until: 9, redacted: false },
  ])('%o finds what it says, in order', (filter) => {
    expect(findVersions(history, filter)).toEqual({ data: expected(filter), nextPage: undefined })
  })

  test('finds the same as a plain search, in pages of any size', () => {
    const optional = <T>(...values: readonly T[]): fc.Arbitrary<T | undefined> =>
      fc.constantFrom(undefined, ...values)
    const filters: fc.Arbitrary<VersionFilter> = fc.record({
      memoryId: optional(memory('a'), memory('b')),
      path: optional('/', '/d', '/a'),
      actorId: optional('x', 'maker'),
      actorType: optional('user' as const, 'session' as const),
      session: optional('x', 'y'),
      operation: optional('created' as const, 'deleted' as const),
      redacted: optional(true, false),
      since: optional(5, 8),
      until: optional(7, 9),
      order: optional('newest' as const, 'oldest' as const, 'latest' as const),
      limit: fc.integer({ min: 1, max: 9 }),
    })
    const property = fc.property(filters, (filter) => {
      expect(allPages(history, filter)).toEqual(expected(filter))
    })
    fc.assert(property, { seed, numRuns: full ? 20_000 : 1000 })
  })
})

describe('a page', () => {
  test.each([undefined, 1, 1000])('of %s is allowed', (limit) => {
    expect(findVersions(history, { limit }).data.length).toBe(Math.min(limit ?? 100, 7))
  })

  test.each<Readonly<Record<string, unknown>>>([
    { limit: 0 },
    { limit: 1001 },
    { limit: 1.5 },
    { limit: Number.NaN },
    { since: Number.NaN },
    { until: Number.NaN },
    { operation: 'renamed' },
    { order: 'random' },
    { view: 'most' },
    { memoryId: 'mem_1' },
    { page: 'memver_1' },
    { page: version(9, 'a') },
    { memoryId: memory('a'), page: version(1, 'b') },
  ])('%o is refused', (filter) => {
    expect(() => findVersions(history, filter)).toThrow(
      expect.objectContaining({ code: 'invalid_input' }),
    )
  })

  test('has its last version as cursor, and no cursor on the last page', () => {
    const first = findVersions(history, { limit: 6 })
    expect(first.nextPage).toBe(first.data[5]?.versionId)
    expect(findVersions(history, { limit: 6, page: first.nextPage })).toEqual({
      data: all.slice(6),
      nextPage: undefined,
    })
    expect(findVersions(history, { limit: 7 }).nextPage).toBeUndefined()
  })
})

describe('a cursor', () => {
  const rows = Array.from({ length: 12 }, (_, n) => ({
    rows: [{ memory: `m${n % 3}`, path: '/p' }],
  }))

  test.each(['newest', 'oldest'] as const)(
    'goes on, %s first, while versions are written and redacted',
    (order) => {
      const moving = makeHistory([{}, ...rows])
      const filter = { order, path: '/p', limit: 5 } as const
      const first = findVersions(moving, filter)
      const before = allPages(moving, filter)
      // Three more, and the cursor itself loses its path.
      for (let n = 0; n < 3; n += 1) appendMade(moving, { rows: [{ memory: 'new', path: '/p' }] })
      const cursor = order === 'newest' ? versionAt(8, 'm1') : versionAt(5, 'm1')
      expect(first.nextPage).toBe(formatId('version', cursor))
      moving.applyRedaction(new Map(), new Set([cursor]))
      const rest = allPages(moving, { ...filter, limit: 100 })
      const second = findVersions(moving, { ...filter, limit: 100, page: first.nextPage })
      const ids = (versions: readonly Version[]) => versions.map(({ versionId }) => versionId)
      expect(ids(second.data).slice(0, 7)).toEqual(ids(before).slice(5, 12))
      expect(ids(rest)).not.toContain(first.nextPage)
      expect(second.data).toHaveLength(order === 'newest' ? 7 : 10)
    },
  )

  test('of one memory remains valid too', () => {
    const moving = makeHistory([{}, ...rows])
    const filter = { memoryId: memory('m1'), limit: 2 }
    const first = findVersions(moving, filter)
    appendMade(moving, { rows: [{ memory: 'm1' }] })
    const second = findVersions(moving, { ...filter, page: first.nextPage })
    const ids = [...first.data, ...second.data].map(({ versionId }) => versionId)
    expect(ids).toEqual([11, 8, 5, 2].map((height) => version(height, 'm1')))
  })
})

test('the full view has contents, and at most twenty', { tags: 'slow' }, async () => {
  const { store, place } = await newStore()
  for (let n = 0; n < 23; n += 1) {
    await store.as(author).apply([{ type: 'create', path: `/${n}`, content: `text ${n}` }])
  }
  await store.as(author).apply([{ type: 'delete', path: '/22' }])
  const read = await historyOf(store, place)
  const page = (filter: VersionFilter) => atOnce(readVersions(read.history, read.contents, filter))
  const { data: versions, nextPage: next } = page({ view: 'full', limit: 100 })
  expect(versions.map(({ content }) => content)).toEqual([
    undefined,
    ...Array.from({ length: 19 }, (_, n) => `text ${22 - n}`),
  ])
  expect(page({ view: 'full', page: next }).data).toHaveLength(4)
  expect(page({ view: 'full', limit: 2 }).data).toHaveLength(2)
  const basic = page({})
  expect(basic.data).toHaveLength(24)
  expect(basic.data.every((each) => !('content' in each))).toBe(true)
  await read.close()
  await store.close()
})
