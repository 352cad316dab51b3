// Retention: which memories a rule applies to, what deleting them writes, and how reads are
// recorded, where every doubt must keep a memory.

import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { memoryToolHandlers } from '../../../src/anthropic/memory-tool.ts'
import type { MemoryStore } from '../../../src/index.ts'
import { rowsMax } from '../../../src/limits.ts'
import { type ExpiryRule, planExpiry } from '../../../src/store/changes/retention.ts'
import type { LiveMemory } from '../../../src/store/snapshot/live-memory.ts'
import { PathTree } from '../../../src/store/snapshot/path-tree.ts'
import type { StoreWriter } from '../../../src/store/store-writer.ts'
import { author, contentsOf, newStore, reopen, type TestPlace } from '../../support/stores.ts'

const DAY = 24 * 60 * 60 * 1000
const start = Date.UTC(2026, 0, 1, 12)

function snapshotOf(memories: readonly (readonly [path: string, day: number])[]): {
  readonly paths: PathTree
} {
  const unknown = { versionId: '', sha256: '', blob: '', kid: '', size: 0, created: 0 }
  const live = memories.map(([path, day]): LiveMemory => {
    return { memoryId: path, path, updated: day * DAY, ...unknown }
  })
  return { paths: PathTree.of(live) }
}

describe('planExpiry', () => {
  const snapshot = snapshotOf([
    ['/new', 99],
    ['/old', 10],
    ['/d/old', 10],
    ['/d/older', 5],
    ['/dd', 10],
  ])
  const read: Readonly<Record<string, number>> = { '/old': 95, '/d/older': 20 }
  const reads = { lastRead: (memoryId: string) => (read[memoryId] ?? 50) * DAY }
  const days = (count: number): number => count * DAY

  test.each<[name: string, rule: ExpiryRule, expired: readonly string[]]>([
    ['unchanged', { unchangedFor: days(90) }, ['/d/old', '/d/older', '/dd', '/old']],
    ['unchanged, to the very ms', { unchangedFor: days(90) + 1 }, ['/d/older']],
    ['unchanged, for longer than there is a past', { unchangedFor: days(200) }, []],
    ['at or below a path', { unchangedFor: days(90), path: '/d' }, ['/d/old', '/d/older']],
    ['one file', { unchangedFor: days(90), path: '/d/old' }, ['/d/old']],
    ['the root', { unchangedFor: days(95), path: '/' }, ['/d/older']],
    ['a path where nothing is', { unchangedFor: 1, path: '/none' }, []],
    ['unread', { unreadFor: days(50) }, ['/d/old', '/d/older', '/dd']],
    ['unread, for longer than recording goes on', { unreadFor: days(51) }, ['/d/older']],
    ['unread for a time in which it was changed', { unreadFor: days(2), path: '/new' }, []],
    ['both', { unchangedFor: days(93), unreadFor: days(50) }, ['/d/older']],
  ])('%s', (_, rule, expired) => {
    expect(planExpiry(snapshot, reads, rule, 100 * DAY).map(({ path }) => path)).toEqual(expired)
  })
})

/** A store whose clock the test moves by days. */
async function storeInTime(): Promise<{
  readonly store: MemoryStore
  readonly place: TestPlace
  readonly days: (count: number) => void
  readonly reopened: () => Promise<MemoryStore>
}> {
  let now = start
  const clock = (): number => now
  const { store, place } = await newStore({ clock })
  const days = (count: number): void => {
    now += count * DAY
  }
  return { store, place, days, reopened: () => reopen(place, { clock }) }
}

function creations(...paths: readonly string[]) {
  return paths.map((path) => ({ type: 'create', path, content: path }) as const)
}

const year: ExpiryRule = { unreadFor: 365 * DAY }
const pathsOf = async (store: MemoryStore, rule: ExpiryRule): Promise<readonly string[]> =>
  (await store.as(author).expire(rule, { dryRun: true })).expired.map(({ path }) => path)

function idsOf(versions: readonly { readonly versionId: string }[]): readonly string[] {
  return versions.map(({ versionId }) => versionId)
}

describe('expire', () => {
  test('deletes in one commit with a reason, and has a dry run', async () => {
    const { store, days } = await storeInTime()
    await store.as(author).apply(creations('/a', '/b', '/d/c'))
    days(60)
    await store.as(author).apply([{ type: 'edit', path: '/b', edit: () => 'again' }])
    days(30)
    const rule = { unchangedFor: 90 * DAY }
    const head = (await store.status()).head
    const planned = await store.as(author).expire(rule, { dryRun: true })
    expect([planned.commit, planned.versionIds]).toEqual([undefined, []])
    expect((await store.status()).head).toBe(head)
    const done = await store.as(author).expire(rule)
    expect(done.expired).toEqual(planned.expired)
    expect(done.expired.map(({ path }) => path)).toEqual(['/a', '/d/c'])
    expect(await contentsOf(store)).toEqual({ '/b': 'again' })
    const { data: versions } = await store.history.versions({})
    const deletions = versions.filter((version) => version.operation === 'deleted')
    expect(deletions.map((version) => version.versionId).toSorted()).toEqual(
      done.versionIds.toSorted(),
    )
    expect(new Set(deletions.map((version) => version.commit))).toEqual(new Set([done.commit]))
    expect(new Set(deletions.map((version) => version.reason))).toEqual(
      new Set(['expired: not changed for 90 days']),
    )
    expect(await store.as(author).expire(rule)).toEqual({
      commit: undefined,
      versionIds: [],
      expired: [],
    })
    await store.close()
  })

  test('sealing memories again under new keys does not make them younger', async () => {
    const { store, days } = await storeInTime()
    await store.as(author).apply(creations('/a', '/b'))
    days(60)
    await store.as(author).apply([{ type: 'edit', path: '/b', edit: () => 'again' }])
    days(20)
    await store.as(author).keys.rotate({ reseal: true })
    days(10)
    await store.as(author).keys.rotate({ reseal: true })
    expect(await pathsOf(store, { unchangedFor: 90 * DAY })).toEqual(['/a'])
    expect(await pathsOf(store, { unchangedFor: 91 * DAY })).toEqual([])
    expect(await pathsOf(store, { unchangedFor: 30 * DAY })).toEqual(['/a', '/b'])
    await store.close()
  })

  test('a redaction by time includes texts that were sealed again later', async () => {
    const { store, days } = await storeInTime()
    await store.as(author).apply(creations('/a'))
    days(60)
    await store.as(author).keys.rotate({ reseal: true })
    days(1)
    await store.as(author).apply([{ type: 'edit', path: '/a', edit: () => 'again' }])
    days(1)
    await store.as(author).keys.rotate({ reseal: true })
    const { data } = await store.history.versions({ order: 'oldest' })
    const select = { before: start + 30 * DAY }
    const request = { select, reason: 'retention', current: 'keep' } as const
    const { plan } = await store.as(author).redact(request)
    expect(idsOf(plan.versions.toReversed())).toEqual(idsOf(data.slice(0, 2)))
    await store.close()
  })

  test('versions that were sealed again can be redacted, and then show no age', async () => {
    const { store, days } = await storeInTime()
    await store.as(author).apply(creations('/a'))
    days(60)
    await store.as(author).keys.rotate({ reseal: true })
    days(30)
    const { data } = await store.history.versions({ order: 'oldest' })
    const select = { before: start + 61 * DAY }
    const request = { select, reason: 'retention', current: 'keep' } as const
    const { plan } = await store.as(author).redact(request)
    expect(idsOf(plan.versions)).toEqual(idsOf(data.slice(0, 1)))
    expect(await pathsOf(store, { unchangedFor: 31 * DAY })).toEqual([])
    expect(await pathsOf(store, { unchangedFor: 30 * DAY })).toEqual(['/a'])
    await store.close()
  })

  test.each<[rule: ExpiryRule, reason: string | undefined, stored: string]>([
    [{ unchangedFor: DAY }, undefined, 'expired: not changed for 1 day'],
    [{ unchangedFor: 5_400_000 }, undefined, 'expired: not changed for 1.5 hours'],
    [{ unchangedFor: 7 }, undefined, 'expired: not changed for 7 ms'],
    [
      { unchangedFor: DAY, unreadFor: 2 * DAY },
      undefined,
      'expired: not changed for 1 day, not read for 2 days',
    ],
    [{ unchangedFor: DAY }, 'spring cleaning', 'spring cleaning'],
  ])('%o says why', async (rule, reason, stored) => {
    const { store, days } = await storeInTime()
    await store.as(author).apply(creations('/a'))
    await store.read('/a')
    days(10)
    await store.as({ ...author, reason }).expire(rule)
    expect((await store.history.versions({})).data[0]?.reason).toBe(stored)
    await store.close()
  })

  test.each<[name: string, rule: object]>([
    ['no time', {}],
    ['a path alone', { path: '/a' }],
    ['nothing', { unchangedFor: 0 }],
    ['a negative time', { unreadFor: -1 }],
    ['a fraction', { unchangedFor: 1.5 }],
    ['no number', { unchangedFor: Number.NaN }],
    ['one time that is wrong', { unchangedFor: DAY, unreadFor: Number.POSITIVE_INFINITY }],
  ])('invalid_input: %s', async (_, rule) => {
    const { store } = await storeInTime()
    for (const dryRun of [true, false]) {
      const refused = store.as(author).expire(rule, { dryRun })
      await expect(refused).rejects.toMatchObject({ code: 'invalid_input' })
    }
    await store.close()
  })

  test('more memories than one commit can hold take several', { tags: 'slow' }, async () => {
    const { store, days } = await storeInTime()
    await store.as(author).settings.update({ limits: { contentBytes: 100, memories: 20_000 } })
    const paths = Array.from({ length: rowsMax + 3 }, (_, index) => `/${index}`)
    await store.as(author).apply(creations(...paths.slice(0, rowsMax)))
    await store.as(author).apply(creations(...paths.slice(rowsMax)))
    days(10)
    const before = await store.status()
    const { expired, versionIds } = await store.as(author).expire({ unchangedFor: DAY })
    const after = await store.status()
    expect([expired.length, new Set(versionIds).size]).toEqual([paths.length, paths.length])
    expect([after.memories, after.commits - before.commits]).toEqual([0, 2])
    await store.close()
  })
})

describe('reads that retention counts', () => {
  test('reading a file, and viewing it, but neither listing nor searching the past', async () => {
    const { store, days } = await storeInTime()
    await store.as(author).apply(creations('/listed', '/read', '/viewed', '/versioned'))
    expect(await pathsOf(store, year)).toEqual([])
    days(200)
    const view = memoryToolHandlers(store, { session: 's' }).view
    await store.read('/read')
    await view({ path: '/memories/viewed' })
    await view({ path: '/memories' })
    const [version] = (await store.history.versions({})).data
    await store.history.version(version?.versionId ?? '')
    days(200)
    expect(await pathsOf(store, year)).toEqual(['/listed', '/versioned'])
    await store.close()
  })

  test('a day counts to its end', async () => {
    const { store, days } = await storeInTime()
    await store.as(author).apply(creations('/a'))
    await store.read('/a')
    days(365)
    expect(await pathsOf(store, year)).toEqual([])
    days(0.5)
    expect(await pathsOf(store, year)).toEqual(['/a'])
    await store.close()
  })
})

describe('recorded reads', () => {
  test('survive the process, even if it only read', { tags: 'slow' }, async () => {
    const { store, days, reopened } = await storeInTime()
    await store.as(author).apply(creations('/a', '/b'))
    await store.read('/b')
    await store.close()
    days(200)
    const second = await reopened()
    await second.read('/a')
    await second.close()
    days(200)
    const third = await reopened()
    expect(await pathsOf(third, year)).toEqual(['/b'])
    await third.close()
  })

  test('are merged from all processes of the device', async () => {
    const { store, days, reopened } = await storeInTime()
    await store.as(author).apply(creations('/a', '/b', '/c'))
    await store.read('/a')
    await store.close()
    days(200)
    const [one, other] = [await reopened(), await reopened()]
    await one.read('/a')
    await other.read('/b')
    await one.close()
    await other.close()
    days(200)
    const last = await reopened()
    expect(await pathsOf(last, year)).toEqual(['/c'])
    await last.close()
  })

  test('start again without their file, and nothing expires for that time', async () => {
    const { store, place, days, reopened } = await storeInTime()
    await store.as(author).apply(creations('/a'))
    await store.read('/a')
    await store.close()
    const caches = join(place.directory, 'gitlocket', 'cache')
    expect(readdirSync(caches, { recursive: true }).map(String).join(' ')).toMatch(/\/reads\b/)
    rmSync(caches, { recursive: true })
    days(1000)
    const second = await reopened()
    expect(await pathsOf(second, year)).toEqual([])
    await second.close()
    days(364)
    const third = await reopened()
    expect(await pathsOf(third, year)).toEqual([])
    days(2)
    expect(await pathsOf(third, year)).toEqual(['/a'])
    await third.close()
  })

  test('get no older by a wrong clock', async () => {
    const { store, days, reopened } = await storeInTime()
    await store.as(author).apply(creations('/a'))
    days(400)
    await store.read('/a')
    await store.close()
    days(-10_000)
    const second = await reopened()
    await second.read('/a')
    await second.close()
    days(10_000)
    const third = await reopened()
    expect(await pathsOf(third, year)).toEqual([])
    await third.close()
  })

  test('are not written for a second read on one day', async () => {
    const { store, place, days, reopened } = await storeInTime()
    await store.as(author).apply(creations('/a'))
    await store.read('/a')
    await store.close()
    const caches = join(place.directory, 'gitlocket', 'cache')
    const file = join(caches, readdirSync(caches)[0] ?? '', 'reads')
    const readAndLook = async (): Promise<number> => {
      const again = await reopened()
      await again.read('/a')
      await again.close()
      return statSync(file).ino
    }
    const before = statSync(file).ino
    expect(await readAndLook()).toBe(before)
    days(1)
    expect(await readAndLook()).not.toBe(before)
  })
})

const agent = { type: 'session', id: 'agent-2' } as const

test.each<[name: string, call: (writer: StoreWriter) => Promise<unknown>]>([
  ['an expiry', (writer) => writer.expire({ unchangedFor: 1, path: '/a' })],
  ['a restore', (writer) => writer.restore({ memory: '/a', to: { time: start } })],
  ['a rollback', (writer) => writer.rollback({ to: { time: start } })],
  ['an undo', (writer) => writer.undo({ session: agent.id })],
])('%s is done before a write that is called after it', async (_, call) => {
  const { store, days } = await storeInTime()
  await store.as(author).write('/a', 'first')
  days(1)
  await store.as({ actor: agent, session: agent.id }).write('/a', 'second')
  days(1)
  const writer = store.as(author)
  await Promise.all([call(writer), writer.write('/a', 'last')])
  const { data } = await store.history.versions({ path: '/a' })
  expect(data).toHaveLength(4)
  expect((await store.read('/a'))?.content).toBe('last')
  await store.close()
})
