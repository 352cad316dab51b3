// T79: who stole the text of a grant gets nothing once its granter was removed or lowered, also if
// that device gets its right back, or once owners alone may give, and can write nothing later once
// an owner's sync has ended it. T85: nor do syncs make wraps or baselines for it. FORMAT §12.
// @module-tag slow

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { parseGrant } from '../../src/keys/wraps.ts'
import {
  admit,
  bareRemote,
  type Clone,
  firstClone,
  idOf,
  joinClone,
  put,
  sync,
} from '../support/clones.ts'
import { create, hold, holderPlace, syncHolder, writeAs } from '../support/grant-holders.ts'
import { author } from '../support/stores.ts'
import { git } from '../support/temporary.ts'

const DAY = 86_400_000

let url: string
let owner: Clone
/** A writer, whose grants leak. */
let granter: Clone
let text: string
let expiresAt: number

beforeEach(async () => {
  url = bareRemote()
  owner = await firstClone(url)
  await put(owner, '/a.md', 'old')
  await sync(owner)
  const identity = await admit(owner, 'writer')
  await sync(owner)
  granter = await joinClone(owner, url, { identity })
  ;({ text, expiresAt } = await granter.store.as(author).grants.give({ lastsMs: 80 * DAY }))
  await sync(owner)
})

afterEach(() => {
  vi.restoreAllMocks()
})

const refused = (code: string) => expect.objectContaining({ code })

/** A thief, who begins with the text alone. */
function steal() {
  return hold({ url, grant: text })
}

function refsOf(stolen: string): readonly string[] {
  const { name } = parseGrant(stolen)
  return git(['for-each-ref', '--format=%(refname)'], url)
    .split('\n')
    .filter((ref) => ref.includes(name))
}

/** A thief that has begun already, and keeps its clone. */
async function thief() {
  const store = await steal()
  await writeAs(store, create('/planted.md', 'of the thief'))
  return store
}

/** Nothing of what it sends is taken, and its device can send nothing for it. */
async function expectNothingTaken(store: Awaited<ReturnType<typeof thief>>): Promise<void> {
  await syncHolder(store).catch(() => undefined)
  for (const clone of [owner, granter]) await sync(clone)
  for (const { store: one } of [owner, granter]) {
    expect(await one.read('/planted.md')).toBeUndefined()
  }
  await store.close()
  await owner.store.maintenance.verify()
}

test('its honest twin: the holder of a grant whose granter has its right writes', async () => {
  const store = await thief()
  await syncHolder(store)
  await sync(owner)
  expect((await owner.store.read('/planted.md'))?.content).toBe('of the thief')
  await store.close()
})

test('lowered and raised: the thief is refused, and the owner takes nothing', async () => {
  const early = await thief()
  const { devices } = owner.store.as(author)
  await devices.changeRole(idOf(granter), 'reader')
  await put(owner, '/later.md', 'after the leak')
  await sync(owner)
  await sync(granter)
  expect(refsOf(text)).toEqual([])
  await expect(steal()).rejects.toEqual(refused('not_found'))
  await devices.changeRole(idOf(granter), 'writer')
  await put(owner, '/latest.md', 'in the newest epoch')
  await sync(owner)
  // Raised again, it gives another one: what its syncs make then is not for the old one.
  await granter.store.as(author).grants.give()
  await sync(granter)
  expect(refsOf(text)).toHaveLength(2)
  await expect(steal()).rejects.toEqual(refused('grant_keys_missing'))
  // It cannot open the history any more that would tell it that its grant has ended.
  await expect(syncHolder(early)).rejects.toEqual(refused('wrong_key'))
  expect(await early.read('/latest.md')).toBeUndefined()
  await expectNothingTaken(early)
})

test('removed: the thief is refused, and nothing is left for it', async () => {
  const early = await thief()
  await owner.store.as(author).devices.remove([idOf(granter)])
  await put(owner, '/later.md', 'after the leak')
  await sync(owner)
  expect(refsOf(text)).toEqual([])
  await expect(steal()).rejects.toEqual(refused('not_found'))
  await syncHolder(early).catch(() => undefined)
  expect(await early.read('/later.md')).toBeUndefined()
  await sync(owner)
  expect(await owner.store.read('/planted.md')).toBeUndefined()
  await early.close()
})

test('left to owners: the thief of a grant of a writer is refused', async () => {
  const early = await thief()
  await owner.store.as(author).grants.setGivers('owners')
  await put(owner, '/later.md', 'after the change')
  await sync(owner)
  await sync(granter)
  expect(refsOf(text)).toEqual([])
  await expect(steal()).rejects.toEqual(refused('not_found'))
  await expect(syncHolder(early)).rejects.toEqual(refused('wrong_key'))
  expect(await early.read('/later.md')).toBeUndefined()
  await expectNothingTaken(early)
})

test("a granter that is off: an owner's sync ends its grant, and takes no late work", async () => {
  await granter.store.close()
  const other = await joinClone(owner, url)
  // Its clock is set back.
  const clock = (): number => expiresAt - 1
  const store = await hold({ url, grant: text }, { ...holderPlace(), clock })
  await writeAs(store, create('/late.md', 'written 20 days after the end'))
  await syncHolder(store)
  const { head } = await owner.store.status()
  vi.spyOn(Date, 'now').mockReturnValue(expiresAt + 20 * DAY)
  const { late } = await sync(other)
  expect(late).toMatchObject([{ kind: 'change' }])
  expect(await other.store.read('/late.md')).toBeUndefined()
  expect(await other.store.grants.list()).toMatchObject([{ status: 'ended' }])
  await sync(owner)
  expect((await owner.store.status()).head).not.toBe(head)
  expect(await owner.store.read('/late.md')).toBeUndefined()
  await owner.store.maintenance.verify()
  await writeAs(store, create('/later.md', 'and again'))
  await expect(syncHolder(store)).rejects.toEqual(refused('grant_expired'))
  await store.close()
})

test('a granter that is off: an owner ends its grant two days after its time', async () => {
  const other = await joinClone(owner, url)
  await granter.store.close()
  const now = vi.spyOn(Date, 'now')
  for (const [afterMs, status] of [
    [DAY, 'expired'],
    [2 * DAY - 1000, 'expired'],
    [2 * DAY + 60_000, 'ended'],
  ] as const) {
    now.mockReturnValue(expiresAt + afterMs)
    await sync(other)
    expect(await other.store.grants.list()).toMatchObject([{ status }])
  }
})
