// T100: each sandbox trusts the host afresh, which may show the main, baseline and wraps of an
// earlier day. Nothing is wrong with them but their age: it is told, and refused if it is limited.
// FORMAT §13, THREAT-MODEL limit 5.
// @module-tag slow

import { existsSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import type { GrantedOptions, MemoryStore } from '../../src/index.ts'
import { bareRemote, type Clone, idOf, joinClone, put, sync, syncAll } from '../support/clones.ts'
import {
  create,
  forgeStart,
  type GrantWorld,
  hold,
  type HolderPlace,
  holderPlace,
  mainAt,
  moveMain,
  shownAt,
  showAt,
  syncHolder,
  writeAs,
} from '../support/grant-holders.ts'
import { author, newStore } from '../support/stores.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const maxAgeMs = 36 * HOUR

let now: number
const clock = (): number => now
let world: GrantWorld
/** A device that writes now and then. */
let writer: Clone
beforeEach(async () => {
  now = Date.now() - 90 * DAY
  const { store, place } = await newStore({ clock })
  const granter: Clone = { store, place }
  const url = bareRemote()
  await store.remotes.add('origin', url)
  const secret = await put(granter, '/plan.md', 'secret')
  await put(granter, '/plan.md', 'plan')
  await sync(granter)
  writer = await joinClone(granter, url, { clock })
  await syncAll([granter, writer])
  const given = await store.as(author).grants.give({ lastsMs: 90 * DAY })
  world = { url, granter, grant: given.text, grantId: given.grantId }
  old = shownNow()
  now += 30 * DAY
  await store.as(author).redact({ select: { versionIds: [secret] }, reason: 'leaked_secret' })
  await sync(granter)
})

interface Shown {
  readonly main: string
  readonly start: Uint8Array
  readonly wraps: Uint8Array
}

/** What the remote showed on the day of the grant. */
let old: Shown

function shownNow(): Shown {
  return { main: mainAt(world), start: shownAt(world, 'start'), wraps: shownAt(world, 'wraps') }
}

function show({ main, start, wraps }: Shown): void {
  moveMain(world, main)
  showAt(world, 'start', start)
  showAt(world, 'wraps', wraps)
}

const begin = (at: Partial<GrantedOptions> = {}): Promise<MemoryStore> =>
  hold(world, { clock, maxAgeMs, ...at })

/** Names the age, the limit and the device, and what to do. */
async function expectOld(opening: Promise<unknown>, age: string): Promise<void> {
  const error = await opening.catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'baseline_old' })
  for (const part of [age, '1.5 days', idOf(world.granter), 'shows an older state', 'Sync that']) {
    expect(String(error)).toContain(part)
  }
}

describe('a new sandbox', () => {
  test('begins with the newest state', async () => {
    const held = await begin()
    await writeAs(held, create('/one.md'))
    expect((await syncHolder(held)).sent.commits).toBe(1)
    await held.close()
  })

  test.each([false, true])('is not begun with an older one: whole history %s', async (full) => {
    show(old)
    const place = holderPlace()
    await expectOld(begin({ ...place, full }), '30 days')
    expect(existsSync(place.directory)).toBe(false)
  })

  test('without a limit, is told of its age', async () => {
    show(old)
    const held = await begin({ maxAgeMs: undefined })
    expect((await held.status()).shownAt).toBe(now - 30 * DAY)
    await held.close()
  })

  test('is not begun with new records of a device that was removed since', async () => {
    await world.granter.store.as(author).devices.remove([idOf(writer)], { alone: true })
    show(old)
    await put(writer, '/new.md')
    await sync(writer)
    await expectOld(begin(), '30 days')
  })

  test.each([false, true])('believes no time of a state that it lacks: %s', async (full) => {
    const fresh = shownNow()
    show({ ...old, start: fresh.start, wraps: fresh.wraps })
    await expect(begin({ full })).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:rolled_back|history_needed)$/),
    })
  })

  test('asks for a baseline of the whole history, too', async () => {
    showAt(world, 'start', undefined)
    await expect(begin({ full: true })).rejects.toMatchObject({ code: 'not_found' })
    await (await begin({ full: true, maxAgeMs: undefined })).close()
  })

  test('that has no clock yet begins', async () => {
    show(old)
    const held = await begin({ clock: () => 0 })
    expect((await held.status()).shownAt).toBeGreaterThan(0)
    await held.close()
  })

  test.each([0, -1, Number.NaN])('takes no limit of %s', async (limit) => {
    await expect(begin({ maxAgeMs: limit })).rejects.toMatchObject({ code: 'invalid_input' })
  })
})

describe('a running sandbox', () => {
  let at: HolderPlace
  let held: MemoryStore
  beforeEach(async () => {
    at = holderPlace()
    held = await begin(at)
    return () => held.close()
  })

  const refused = async (age: string): Promise<void> => {
    const before = mainAt(world)
    await writeAs(held, create('/unsent.md'))
    await expectOld(syncHolder(held), age)
    expect(mainAt(world)).toBe(before)
    expect((await held.read('/unsent.md'))?.content).toBe('/unsent.md')
    expect((await held.status()).remotes).toMatchObject([{ unsent: 1 }])
  }

  test('sends nothing to a host that stands still, and everything once it moves', async () => {
    now += 3 * DAY
    await refused('3 days')
    // Nothing was written: the granter refreshes its baseline all the same.
    expect((await sync(world.granter)).grants).toMatchObject({ isRefreshed: true })
    expect((await syncHolder(held)).sent.commits).toBe(1)
    expect((await held.status()).shownAt).toBe(now)
    // Another process looks again.
    await held.close()
    held = await begin(at)
    await writeAs(held, create('/two.md'))
    expect((await syncHolder(held)).sent.commits).toBe(1)
  })

  test('continues with newer records of a device in force', async () => {
    now += 3 * DAY
    await put(writer, '/new.md')
    await sync(writer)
    await syncHolder(held)
    expect((await held.read('/new.md'))?.content).toBe('/new.md')
    expect((await held.status()).shownAt).toBe(now)
  })

  test('does not with those of grants alone', async () => {
    const other = await begin()
    now += 3 * DAY
    await writeAs(other, create('/other.md'))
    await expectOld(syncHolder(other), '3 days')
    const careless = await begin({ maxAgeMs: undefined })
    await writeAs(careless, create('/careless.md'))
    await syncHolder(careless)
    await refused('3 days')
    for (const store of [other, careless]) await store.close()
  })

  test('believes no baseline of a state that the head lacks', async () => {
    const before = mainAt(world)
    now += 3 * DAY
    await put(world.granter, '/new.md')
    await sync(world.granter)
    moveMain(world, before)
    await refused('3 days')
  })

  test('believes no baseline that another device has signed', async () => {
    now += 3 * DAY
    forgeStart(world, (start) => ({ ...start, time: now }), writer)
    await refused('3 days')
  })

  test('that was begun before there was a limit has it from then on', async () => {
    await held.close()
    now += 3 * DAY
    held = await begin({ ...at, maxAgeMs: undefined })
    await syncHolder(held)
    await held.close()
    held = await begin(at)
    await refused('3 days')
  })
})
