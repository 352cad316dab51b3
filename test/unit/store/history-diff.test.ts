// What differs between two moments of a store.

import { describe, expect, test } from 'vitest'
import type { Change, MemoryStore } from '../../../src/index.ts'
import {
  comparePoints,
  type Difference,
  type DifferenceOptions,
} from '../../../src/store/history/history-diff.ts'
import { readConsistently } from '../../../src/store/history/read-consistently.ts'
import { historyOf } from '../../support/histories.ts'
import { author, newStore, type TestPlace } from '../../support/stores.ts'

type Changes = readonly Change[]

/** One commit each; the first has height 1. */
const commits: readonly Changes[] = [
  [
    { type: 'create', path: '/a/same', content: 'same' },
    { type: 'create', path: '/a/edited', content: 'before' },
    { type: 'create', path: '/moved', content: 'moved' },
  ],
  [
    { type: 'edit', path: '/a/edited', edit: () => 'between' },
    { type: 'create', path: '/short', content: 'lived' },
    { type: 'edit', path: '/a/same', edit: () => 'other' },
  ],
  [
    { type: 'edit', path: '/a/edited', edit: () => 'after' },
    { type: 'edit', path: '/a/same', edit: () => 'same' },
    { type: 'delete', path: '/short' },
  ],
  [
    { type: 'rename', path: '/moved', to: '/a/moved' },
    { type: 'create', path: '/new', content: 'new' },
  ],
  [{ type: 'delete', path: '/a/edited' }],
]

async function written(): Promise<{ store: MemoryStore; place: TestPlace }> {
  const made = await newStore()
  for (const changes of commits) await made.store.as(author).apply(changes)
  return made
}

async function compare(
  { store, place }: { store: MemoryStore; place: TestPlace },
  from: number,
  to: number | undefined,
  options: DifferenceOptions = {},
): Promise<Difference> {
  const read = await historyOf(store, place)
  const pointAt = (height: number) => ({ commit: read.history.commits.at(height)?.oid ?? '' })
  const points = { from: pointAt(from), to: to === undefined ? undefined : pointAt(to) }
  try {
    return await readConsistently(
      read,
      (history) => comparePoints(history, read.contents, points, options),
      options,
    )
  } finally {
    await read.close()
  }
}

function textsOf({ changes }: Difference): readonly string[] {
  return changes.map(({ before, after }) => {
    return [before, after].map((state) => state && `${state.path}:${state.content}`).join(' → ')
  })
}

describe('the difference', () => {
  test.each([
    { from: 1, to: 1, expected: [] },
    { from: 1, to: 3, expected: ['/a/edited:before → /a/edited:after'] },
    {
      from: 3,
      to: 4,
      expected: ['/moved:moved → /a/moved:moved', ' → /new:new'],
    },
    {
      from: 4,
      to: 3,
      expected: ['/a/moved:moved → /moved:moved', '/new:new → '],
    },
    {
      from: 2,
      to: undefined,
      expected: [
        '/a/edited:between → ',
        '/moved:moved → /a/moved:moved',
        '/a/same:other → /a/same:same',
        ' → /new:new',
        '/short:lived → ',
      ],
    },
    {
      from: 2,
      to: undefined,
      path: '/a',
      expected: [
        '/a/edited:between → ',
        '/moved:moved → /a/moved:moved',
        '/a/same:other → /a/same:same',
      ],
    },
    { from: 2, to: undefined, path: '/moved', expected: ['/moved:moved → /a/moved:moved'] },
    { from: 2, to: undefined, path: '/mov', expected: [] },
    { from: 4, to: 0, path: '/', expected: 4 },
  ])('from commit $from to $to below $path', async ({ from, to, path, expected }) => {
    const made = await written()
    const found = await compare(made, from, to, path === undefined ? {} : { path })
    if (typeof expected === 'number') expect(found.changes).toHaveLength(expected)
    else expect(textsOf(found)).toEqual(expected)
    expect(found.redacted).toBe(0)
    await made.store.close()
  })

  test('of a malformed path is refused', async () => {
    const made = await written()
    await expect(compare(made, 1, 2, { path: '/a/' })).rejects.toThrow(
      expect.objectContaining({ code: 'invalid_path' }),
    )
    await made.store.close()
  })

  test('leaves out redacted memories and counts them', async () => {
    const made = await written()
    const { data: versions } = await made.store.history.versions({
      path: '/a/edited',
      operation: 'created',
    })
    const versionIds = versions.map(({ versionId }) => versionId)
    await made.store.as(author).redact({ select: { versionIds }, reason: 'legal' })
    const found = await compare(made, 1, 3)
    expect([textsOf(found), found.redacted]).toEqual([[], 1])
    expect((await compare(made, 1, 3, { path: '/a' })).redacted).toBe(1)
    // The path after is known; the one before is not.
    expect((await compare(made, 1, 3, { path: '/moved' })).redacted).toBe(0)
    expect((await compare(made, 1, 5, { path: '/moved' })).redacted).toBe(1)
    expect((await compare(made, 2, 3)).redacted).toBe(0)
    await made.store.close()
  })

  test('of many memories reports progress and can be cancelled', async () => {
    const made = await newStore()
    const changes = Array.from({ length: 200 }, (_, n) => {
      return { type: 'create', path: `/${n}`, content: `${n}` } as const
    })
    await made.store.as(author).apply(changes)
    const reported: number[] = []
    const progress = (done: number, total: number): void => {
      expect(total).toBe(200)
      reported.push(done)
    }
    expect((await compare(made, 0, 1, { progress })).changes).toHaveLength(200)
    // After 64 at the latest; a slow machine reports it more often.
    expect(reported).toEqual(reported.toSorted((a, b) => a - b))
    const steps = [...reported, 200].map((done, n) => done - (reported[n - 1] ?? 0))
    expect(Math.max(...steps)).toBeLessThanOrEqual(64)
    await expect(compare(made, 0, 1, { signal: AbortSignal.abort() })).rejects.toThrow(
      expect.objectContaining({ code: 'cancelled' }),
    )
    await made.store.close()
  })
})
