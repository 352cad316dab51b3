// T51: a fork of an old commit removes the author of the next one, so that all that was built on it
// is late. Clones that have keyring records of their own do not leave their history for it, over a
// remote that they know neither. FORMAT §7.4, §9.

import { describe, expect, test } from 'vitest'
import { formatDeviceCard, generateIdentity, type Identity } from '../../src/index.ts'
import {
  bareRemote,
  type Clone,
  copyOf,
  firstClone,
  headOf,
  idOf,
  joinClone,
  sync,
} from '../support/clones.ts'
import { copyRemote, create, moveBranch } from '../support/hostile-remotes.ts'
import { author, contentsOf } from '../support/stores.ts'
import { git } from '../support/temporary.ts'
import { verdictOf } from '../support/verdict.ts'

describe('T51: nobody leaves its history for a fork by', { tags: 'slow' }, () => {
  test('an owner that was lowered since', async () => {
    const { remote, a } = await started()
    const x = await added(a, remote, 'owner')
    const atStart = await copyOf(x)
    await sync(a)
    const others = await threeMore(a, remote)
    await sync(x)
    const later = await copyOf(x)
    await work(others, async ({ b }) => b.store.as(author).devices.changeRole(idOf(x), 'reader'))
    const [early, late] = [bareRemote(), bareRemote()]
    await atStart.store.as(author).devices.add(await card(), 'reader')
    await send(atStart, early)
    const helper = await generateIdentity()
    await later.store.as(author).devices.add(formatDeviceCard(helper), 'owner')
    await later.store.as(author).devices.remove([idOf(others.r)])
    await send(later, late)
    const evil = await joinClone(a, late, { identity: helper })
    await evil.store.remotes.add('early', early)
    await evil.store.as(author).sync({ remote: 'early' })
    await expectKept(evil, late, remote, others)
  })

  test('who has a recovery key that was replaced', async () => {
    const { remote, a } = await started()
    const old = await headOf(a)
    const others = await threeMore(a, remote)
    const then = await headOf(a)
    const { recoveryKey } = a.place
    await work(others, ({ b }) => b.store.as(author).keys.makeRecoveryKey())
    const [early, late] = [copyRemote(remote), copyRemote(remote)]
    moveBranch(early, old)
    moveBranch(late, then)
    await joinClone(a, early, { recoveryKey, identity: await generateIdentity() })
    const evil = await joinClone(a, late, { recoveryKey, identity: await generateIdentity() })
    await evil.store.as(author).devices.remove([idOf(others.r)])
    await evil.store.remotes.add('early', early)
    await evil.store.as(author).sync({ remote: 'early' })
    await expectKept(evil, late, remote, others)
  })

  test('who has a recovery key, where members came by it', async () => {
    const { remote, a } = await started()
    const r = await added(a, remote, 'writer')
    const old = await headOf(a)
    await create(r, '/r.md')
    await sync(r)
    const { recoveryKey } = a.place
    const ids = [await generateIdentity(), await generateIdentity()] as const
    const b = await joinClone(a, remote, { identity: ids[0], recoveryKey })
    const d = await joinClone(a, remote, { identity: ids[1], recoveryKey })
    await create(b, '/b.md')
    for (const clone of [b, d, b]) await sync(clone)
    const fork = copyRemote(remote)
    moveBranch(fork, old)
    const evil = await joinClone(a, fork, { recoveryKey, identity: await generateIdentity() })
    await evil.store.as(author).devices.remove([idOf(r)])
    for (const id of ids) await evil.store.as(author).devices.add(formatDeviceCard(id), 'writer')
    await expectKept(evil, fork, remote, { b, d })
  })
})

test(
  'T51: nobody leaves a sound enrolment because it rests on one that is not',
  { tags: 'slow' },
  async () => {
    const { remote, a } = await started()
    const x = await added(a, remote, 'owner')
    const w = await added(a, remote, 'writer')
    const fork = copyRemote(remote)
    await a.store.as(author).devices.remove([idOf(x)])
    await sync(a)
    // Removed by now, which only the other remote shows.
    await x.store.as(author).devices.add(await card(), 'reader')
    await send(x, fork)
    const m = await joinClone(a, fork)
    await create(m, '/m.md')
    await sync(m)
    await send(w, fork)
    const before = await contentsOf(w.store)
    expect(Object.keys(before)).toContain('/m.md')
    const met = w.store.as(author).sync({ remote: 'origin' })
    await expect(met).rejects.toMatchObject({ code: 'record_late' })
    expect(await contentsOf(w.store)).toEqual(before)
  },
)

interface Others {
  readonly b: Clone
  readonly d: Clone
}

async function started(): Promise<{ remote: string; a: Clone }> {
  const remote = bareRemote()
  const a = await firstClone(remote)
  await create(a, '/base.md')
  await sync(a)
  return { remote, a }
}

async function card(identity?: Identity): Promise<string> {
  return formatDeviceCard(identity ?? (await generateIdentity()))
}

async function added(a: Clone, remote: string, role: 'owner' | 'writer'): Promise<Clone> {
  const identity = await generateIdentity()
  await a.store.as(author).devices.add(formatDeviceCard(identity), role)
  await sync(a)
  return joinClone(a, remote, { identity })
}

async function threeMore(a: Clone, remote: string): Promise<Others & { readonly r: Clone }> {
  const b = await added(a, remote, 'owner')
  const r = await added(a, remote, 'writer')
  const d = await added(a, remote, 'writer')
  for (const clone of [b, r]) await sync(clone)
  return { b, r, d }
}

/** Each writes on what the one before has written, and an owner changes a keyring in between. */
async function work(
  others: Others & { readonly r: Clone },
  decide: (others: Others) => Promise<unknown>,
): Promise<void> {
  const { b, r, d } = others
  await create(r, '/r.md')
  for (const clone of [r, b, d]) await sync(clone)
  await create(b, '/b.md')
  await decide(others)
  for (const clone of [b, d]) await sync(clone)
  await create(d, '/d.md')
  for (const clone of [d, b]) await sync(clone)
}

async function send(clone: Clone, remote: string): Promise<void> {
  await clone.store.remotes.add('fork', remote)
  await clone.store.as(author).sync({ remote: 'fork' })
}

/** The fork replaces the branch of the remote that all know. */
async function expectKept(evil: Clone, fork: string, remote: string, { b, d }: Others) {
  await create(evil, '/evil.md')
  await evil.store.as(author).sync({ remote: 'origin' })
  git(['push', '--quiet', '--force', remote, 'main'], fork)
  for (const clone of [d, b]) {
    const before = await contentsOf(clone.store)
    expect(await verdictOf(() => clone.store.as(author).sync({ remote: 'origin' }))).toBe(
      'rolled_back',
    )
    expect(await contentsOf(clone.store)).toEqual(before)
    expect(Object.keys(before)).toEqual(expect.arrayContaining(['/base.md', '/r.md', '/b.md']))
  }
  // No repair decides which side is right: people do.
  const repair = b.store.as(author).sync({ remote: 'origin', repair: true })
  await expect(repair).rejects.toMatchObject({ code: 'keyring_conflict' })
  git(['push', '--quiet', '--force', remote, 'main'], b.place.directory)
  for (const clone of [b, d]) await sync(clone)
  expect(await headOf(b)).toBe(await headOf(d))
}
