// Clocks that are wrong for a while, or on one of two machines: the times in records, what `at`
// shows, which times are doubtful, the warning to a writer, and that nothing expires because of
// them.

import { describe, expect, test } from 'vitest'
import type { MemoryStore } from '../../../src/index.ts'
import { bareRemote, firstClone, headOf, idOf, joinClone, sync } from '../../support/clones.ts'
import { author, contentsOf, newStore, reopen } from '../../support/stores.ts'

const HOUR = 60 * 60 * 1000
const DAY = 24 * HOUR
const start = Date.UTC(2026, 10, 1)
const far = Date.UTC(2099, 0, 1)

/** A clock that the test sets. */
interface Hands {
  now: number
}

async function storeAt(hands: Hands): Promise<MemoryStore> {
  return (await newStore({ clock: () => hands.now })).store
}

async function write(store: MemoryStore, path: string): Promise<void> {
  await store.as(author).apply([{ type: 'create', path, content: path }])
}

async function pathsAt(store: MemoryStore, time: number): Promise<readonly string[]> {
  const listing = await (await store.at({ time })).list('/')
  return (listing?.children ?? []).map(({ path }) => path).toSorted()
}

/** The own and the placed time of the version at each path. */
async function timesOf(store: MemoryStore): Promise<Record<string, readonly unknown[]>> {
  const { data: versions } = await store.history.versions({})
  return Object.fromEntries(
    versions.map(({ path, createdAt, placedAt }) => [path, [createdAt, placedAt]]),
  )
}

describe('a spell far ahead', () => {
  test('ends with the clock: earlier points show no memory from ahead', async () => {
    const hands = { now: start }
    const store = await storeAt(hands)
    await write(store, '/before')
    hands.now = far
    await write(store, '/ahead')
    expect(await pathsAt(store, start + HOUR)).toEqual(['/before'])
    hands.now = start + 2 * HOUR
    await write(store, '/after')
    expect(await timesOf(store)).toEqual({
      '/before': [start, undefined],
      '/ahead': [far, start + 2 * HOUR],
      '/after': [start + 2 * HOUR, undefined],
    })
    expect(await pathsAt(store, start + 2 * HOUR)).toEqual(['/after', '/ahead', '/before'])
    expect(await pathsAt(store, start + HOUR)).toEqual(['/before'])
    const { data: versions } = await store.history.versions({ path: '/ahead' })
    const { time } = await store.at({ versionId: versions[0]?.versionId ?? '' })
    expect(time).toBe(start + 2 * HOUR)
    await store.close()
  })

  test('is ignored by filters by time', async () => {
    const hands = { now: start }
    const store = await storeAt(hands)
    hands.now = far
    await write(store, '/ahead')
    hands.now = start + HOUR
    await write(store, '/after')
    const found = async (since: number, until: number): Promise<readonly unknown[]> =>
      (await store.history.versions({ since, until })).data.map(({ path }) => path)
    expect(await found(start, start + HOUR)).toEqual(['/after', '/ahead'])
    expect(await found(start + 2 * HOUR, far)).toEqual([])
    const undo = { actorId: 'agent-1', since: start + 2 * HOUR }
    // The time of `/ahead` is in doubt, so an empty plan would look like a full undo.
    const plan = store.as(author).undo(undo, { dryRun: true })
    await expect(plan).rejects.toMatchObject({ code: 'time_doubtful' })
    await store.close()
  })
})

describe('a spell far behind', () => {
  test('is recorded unchanged, and makes the times of earlier commits doubtful', async () => {
    const hands = { now: start }
    const { store, place } = await newStore({ clock: () => hands.now })
    await write(store, '/before')
    hands.now = 5000.7
    await write(store, '/behind')
    hands.now = start + HOUR
    await write(store, '/after')
    expect(await timesOf(store)).toEqual({
      '/before': [start, 5000],
      '/behind': [5000, undefined],
      '/after': [start + HOUR, undefined],
    })
    expect(await pathsAt(store, start)).toEqual(['/before', '/behind'])
    await store.maintenance.verify()
    await store.close()
    const again = await reopen(place)
    expect(Object.keys(await contentsOf(again))).toHaveLength(3)
    await again.close()
  })

  test('hides nothing from a filter, since either clock may be the wrong one', async () => {
    const hands = { now: start }
    const store = await storeAt(hands)
    await write(store, '/before')
    hands.now = 5000
    await write(store, '/behind')
    hands.now = start + HOUR
    await write(store, '/after')
    const since = await store.history.versions({ since: start })
    expect(since.data.map(({ path }) => path)).toEqual(['/after', '/before'])
    const undo = { actorId: 'agent-1', since: start }
    const { steps } = await store.as(author).undo(undo, { dryRun: true })
    expect(steps.flatMap(({ before }) => before?.path ?? []).toSorted()).toEqual([
      '/after',
      '/before',
    ])
    await store.close()
  })
})

describe('two clones', () => {
  test.each([
    ['ahead', far],
    ['behind', 5000],
  ])('one of which is far %s agree on every time', { tags: 'slow' }, async (_, wrong) => {
    const url = bareRemote()
    const ours = await firstClone(url)
    await sync(ours)
    const hands = { now: wrong }
    const joined = await joinClone(ours, url)
    await joined.store.close()
    const theirs = { ...joined, store: await reopen(joined.place, { clock: () => hands.now }) }
    await sync(ours)
    await write(ours.store, '/ours')
    await write(theirs.store, '/theirs')
    await sync(theirs)
    await sync(ours)
    await sync(theirs)
    await write(ours.store, '/later')
    await sync(ours)
    await sync(theirs)
    expect(idOf(ours)).not.toBe(idOf(theirs))
    expect(await headOf(theirs)).toBe(await headOf(ours))
    expect(await timesOf(theirs.store)).toEqual(await timesOf(ours.store))
    const now = Date.now()
    expect(await pathsAt(ours.store, now)).toEqual(['/later', '/ours', '/theirs'])
    expect(await pathsAt(theirs.store, now)).toEqual(['/later', '/ours', '/theirs'])
    const times = await timesOf(ours.store)
    const isAhead = wrong === far
    expect(times['/theirs']?.[1] === undefined).toBe(!isAhead)
    await Promise.all([ours.store.close(), theirs.store.close()])
  })
})

describe('the writer', () => {
  test.each<[name: string, isWarned: boolean, by: number]>([
    ['24 hours behind', false, -DAY],
    ['over 24 hours behind', true, -DAY - 1],
    ['a year ahead', false, 366 * DAY],
    ['over a year ahead', true, 366 * DAY + 1],
  ])('with a clock %s is warned: %s', async (_, isWarned, by) => {
    const hands = { now: start }
    const store = await storeAt(hands)
    hands.now = start + by
    const leap = isWarned ? { clock: hands.now, newest: start } : undefined
    expect((await store.status()).clockLeap).toEqual(leap)
    expect(store.maintenance.clockLeap).toBeUndefined()
    await write(store, '/a')
    expect(store.maintenance.clockLeap).toEqual(leap)
    expect((await store.status()).clockLeap).toBeUndefined()
    const { data: versions } = await store.history.versions({})
    expect(versions[0]?.createdAt).toBe(hands.now)
    await store.close()
  })
})

describe('by age', () => {
  const rule = { unchangedFor: 10 * DAY }

  test('nothing expires for a record far behind', async () => {
    const hands = { now: start }
    const store = await storeAt(hands)
    await write(store, '/before')
    hands.now = 5000
    await write(store, '/behind')
    hands.now = start + 9 * DAY
    expect((await store.as(author).expire(rule)).expired).toEqual([])
    const old = { select: { before: start - DAY }, reason: 'retention' } as const
    expect((await store.history.planRedaction(old)).versions).toEqual([])
    hands.now = start + 10 * DAY
    const { expired } = await store.as(author).expire(rule, { dryRun: true })
    expect(expired.map(({ path }) => path)).toEqual(['/before', '/behind'])
    await store.close()
  })

  test('a record far ahead expires by the time of the next record', async () => {
    const hands = { now: start }
    const store = await storeAt(hands)
    hands.now = far
    await write(store, '/ahead')
    hands.now = start + 20 * DAY
    expect((await store.as(author).expire(rule)).expired).toEqual([])
    await write(store, '/after')
    hands.now = start + 29 * DAY
    expect((await store.as(author).expire(rule)).expired).toEqual([])
    hands.now = start + 30 * DAY
    const { expired } = await store.as(author).expire(rule, { dryRun: true })
    expect(expired.map(({ path }) => path)).toEqual(['/after', '/ahead'])
    const old = { select: { before: hands.now }, reason: 'retention' } as const
    expect((await store.history.planRedaction(old)).versions.map(({ path }) => path)).toEqual([
      '/after',
      '/ahead',
    ])
    await store.close()
  })
})
