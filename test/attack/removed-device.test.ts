// T28: what a removed device writes after its removal, or on a parent from before it, enters no
// history by itself, whatever time it claims and whichever device saw it first. FORMAT §7.3, §7.4.

import { describe, expect, test } from 'vitest'
import { worldsOf } from '../support/clone-templates.ts'
import {
  alone,
  admit,
  bareRemote,
  type Clone,
  headOf,
  idOf,
  joinClone,
  sync,
  syncAll,
} from '../support/clones.ts'
import { failureOf } from '../support/faulty-remotes.ts'
import { type Fault, fields } from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import { removeDevice } from '../support/forged-clones.ts'
import { writeForged } from '../support/forged-disk.ts'
import {
  branchOf,
  copyRemote,
  create,
  edit,
  expectInStep,
  expectRefused,
  makePair,
  moveBranch,
  repair,
} from '../support/hostile-remotes.ts'
import { sample } from '../support/seed.ts'
import { nextRow, standardHistory } from '../support/standard-forge.ts'
import { author, contentsOf, reopen } from '../support/stores.ts'
import { git, temporaryDirectory } from '../support/temporary.ts'

/** A removes B, which does not know yet. C is a third machine. */
const removed = worldsOf(async (url) => {
  const { a, b } = await makePair(url)
  const c = await joinClone(a, url)
  await syncAll([a, b, c])
  await a.store.as(author).devices.remove([idOf(b)], alone)
  return { a, b, c }
})

/** B has written on, and was the first at the remote. */
async function faster(): ReturnType<typeof removed> {
  const world = await removed()
  await create(world.b, '/late.md')
  await sync(world.b)
  return world
}

describe('T28: a removed device that continues to write', () => {
  test('does not block an owner that changed the keyring below it', { tags: 'slow' }, async () => {
    const { a, b, c, remote } = await removed()
    const stick = bareRemote()
    for (const { store } of [b, c]) await store.remotes.add('stick', stick)
    const onStick = (clone: Clone) => clone.store.as(author).sync({ remote: 'stick' })
    await admit(c, 'reader')
    for (const clone of [c, b]) await onStick(clone)
    await create(b, '/late.md')
    for (const clone of [b, c]) await onStick(clone)
    await sync(a)
    const failure = await failureOf(c.store.as(author).sync({ remote: 'origin' }))
    expect(failure).toMatchObject({ code: 'keyring_conflict' })
    await create(c, '/kept.md')
    await c.store.as(author).sync({ remote: 'origin', takeTheirs: true })
    await syncAll([a])
    expect(await contentsOf(a.store)).toMatchObject({ '/kept.md': '/kept.md' })
    expect(await contentsOf(a.store)).not.toHaveProperty('/late.md')
    await expectInStep(remote, [a, c])
  })

  test('learns that it was removed, and keeps its copy', { tags: 'slow' }, async () => {
    const { a, b, remote } = await removed()
    await sync(a)
    await create(b, '/late.md')
    const error = await expectRefused(b, 'wrong_key')
    expect(error.message).toMatch(/the owner dev_\w{26} removed it/)
    await expectInStep(remote, [a])
  })

  test(
    'cannot make others restore the history in which it is active',
    { tags: 'slow' },
    async () => {
      const { a, b, remote } = await removed()
      await sync(a)
      await create(b, '/late.md')
      expect(await failureOf(repair(b))).toMatchObject({ code: 'wrong_key' })
      await expectInStep(remote, [a])
    },
  )

  test(
    'that was faster at the remote is not merged by the owner that removed it',
    { tags: 'slow' },
    async () => {
      const { a, b, remote } = await faster()
      await create(a, '/in-time.md')
      await sync(a)
      expect(await contentsOf(a.store)).not.toHaveProperty('/late.md')
      expect(await contentsOf(a.store)).toHaveProperty('/in-time.md')
      await expectInStep(remote, [a])
      await expectRefused(b, 'wrong_key')
    },
  )

  test(
    'is undone on a third machine that it reached first, without a repair',
    { tags: 'slow' },
    async () => {
      const { a, c, remote } = await faster()
      await sync(c)
      expect(await contentsOf(c.store)).toHaveProperty('/late.md')
      await sync(a)
      await sync(c)
      expect(await contentsOf(c.store)).not.toHaveProperty('/late.md')
      await expectInStep(remote, [a, c])
      await c.store.close()
      const again = { ...c, store: await reopen(c.place) }
      await create(again, '/goes-on.md')
      await syncAll([again, a])
      await expectInStep(remote, [a, again])
    },
  )

  test(
    'on which an innocent machine has built keeps its place in the history',
    { tags: 'slow' },
    async () => {
      const { a, c, remote } = await faster()
      await sync(c)
      await create(c, '/innocent.md')
      await syncAll([c, a])
      expect(await contentsOf(a.store)).toMatchObject({
        '/late.md': '/late.md',
        '/innocent.md': '/innocent.md',
      })
      await expectInStep(remote, [a, c])
    },
  )

  test(
    'that wrote on top of an innocent machine takes only its own away',
    { tags: 'slow' },
    async () => {
      const { a, b, c, remote } = await removed()
      await create(c, '/innocent.md')
      await syncAll([c, b])
      await create(b, '/late.md')
      await edit(b, '/innocent.md', 'spoiled\n')
      await sync(b)
      await sync(a)
      expect(await contentsOf(a.store)).toMatchObject({ '/innocent.md': '/innocent.md' })
      expect(await contentsOf(a.store)).not.toHaveProperty('/late.md')
      await syncAll([a, c])
      await expectInStep(remote, [a, c])
    },
  )

  test('wins no clone over while the remote shows its side', { tags: 'slow' }, async () => {
    const { a, b, c, remote } = await removed()
    const before = copyRemote(remote)
    await create(b, '/late.md')
    await sync(b)
    const late = branchOf(remote)
    await syncAll([a, c])
    // The remote returns to the side of the removed device.
    git(['fetch', '--quiet', before, 'main'], remote)
    moveBranch(remote, late)
    for (const one of [a, c]) await expectRefused(one, ['rolled_back', 'record_after_revocation'])
    await repair(a)
    await syncAll([a, c])
    expect(await contentsOf(c.store)).not.toHaveProperty('/late.md')
    await expectInStep(remote, [a, c])
  })
})

describe('T28: a removed device that forges', () => {
  async function honest(): Promise<{
    clone: Clone
    remote: string
    forge: Forge
    before: Forge
    by: Fault
  }> {
    const { forge, writer } = await standardHistory('removed')
    const remote = `${temporaryDirectory()}/remote.git`
    const before = forge.fork()
    removeDevice(forge, writer)
    await writeForged(forge, remote)
    const identity = forge.founder
    const unused = { directory: '', stateDirectory: '', recoveryKey: '', identity }
    const clone = await joinClone({ place: unused }, remote, { identity })
    return { clone, remote, forge, before, by: { author: writer } }
  }

  type Forging = (world: Awaited<ReturnType<typeof honest>>) => Forge
  const forgings: readonly (readonly [string | readonly string[], string, Forging])[] = [
    [
      'record_device',
      'a record on top of its removal',
      ({ forge, by }) => {
        forge.change([nextRow], by)
        return forge
      },
    ],
    [
      'record_device',
      'a record on top, with the time of before',
      ({ forge, before, by }) => {
        const time = before.entries.at(-1)?.record.time ?? 0
        forge.change([nextRow], { ...by, ...fields({ time }) })
        return forge
      },
    ],
    [
      ['record_epoch', 'record_device'],
      'a record on top, under the old epoch and its group key',
      ({ forge, before, by }) => {
        forge.change([nextRow], { ...by, epoch: before.epoch, group: before.epoch.group })
        return forge
      },
    ],
    [
      'record_keyring',
      'a record on top that names the old keyring',
      ({ forge, before, by }) => {
        forge.change([nextRow], { ...by, ...fields({ keyring: before.keyringRecord }) })
        return forge
      },
    ],
    [
      'rolled_back',
      'the history without its removal, and a record on that',
      ({ before, by }) => {
        before.change([nextRow], by)
        return before
      },
    ],
    [
      'record_after_revocation',
      'a merge by a friend of what it wrote late',
      ({ forge, before, by }) => {
        before.change([nextRow], by)
        forge.merge(before)
        return forge
      },
    ],
  ]
  test.each(sample(forgings, 2))('%s: %s', { tags: 'slow' }, async (code, _, forging) => {
    const world = await honest()
    const { clone, remote } = world
    const forged = forging(world)
    await writeForged(forged, remote)
    await expectRefused(clone, code)
    await repair(clone)
    await expectInStep(remote, [clone])
    expect((await clone.store.read('/dir/b.md'))?.content).toBe('beta\n')
    expect(await headOf(clone)).toBe(branchOf(remote))
  })
})
