// T43: what a removed owner writes on an old clone, redactions and settings included, enters no
// history by what a passphrase or recovery key enrols on top of it: neither vouches for anything
// below. FORMAT §7.4.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import { recoveryKeyIdentity } from '../../src/keys/recovery.ts'
import { worldsOf } from '../support/clone-templates.ts'
import { type Clone, headOf, idOf, joinClone, sync, syncAll } from '../support/clones.ts'
import { asRecovery, withMember } from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import {
  admit,
  change,
  type Clones,
  fresh,
  inRight,
  named,
  ofB,
  removeDevice,
  standardClones,
} from '../support/forged-clones.ts'
import {
  create,
  edit,
  expectInStep,
  expectRefused,
  makePair,
  redact,
} from '../support/hostile-remotes.ts'
import { accepted, memory, refused, verdicts, version } from '../support/standard-forge.ts'
import { author, contentsOf } from '../support/stores.ts'

let clones: () => Clones
let newcomer: Identity
beforeAll(async () => {
  clones = await standardClones('vouching')
  newcomer = await generateIdentity(clones().left.random)
})

/** The founder removes the second owner on the left; what happens on the right is the attack. */
type Act = (side: Forge, world: Clones) => void

const enrol: Act = (side) => {
  const recoveryKey = recoveryKeyIdentity(side.storeId, new Uint8Array(32).fill(7))
  const fault = asRecovery({ slotId: 'aa'.repeat(16) }, recoveryKey)
  side.keyring((next) => withMember(next, newcomer, 'owner', 'recovery'), { fault })
}
const redactLate: Act = (side, { second }) => {
  side.redact([[memory.a, version.a1]], { author: second })
  side.rewrite(new Set([version.a1]))
}
const changeLate: Act = (side, { second }) => side.change([inRight], { author: second })
const nameLate: Act = (side, { second }) => side.settings(named('late'), { author: second })
const goOn: Act = (side) => side.change([ofB], { author: newcomer })
const innocent: Act = (side, { writer }) => side.change([fresh], { author: writer })

function rightOf(acts: readonly Act[]): Clones {
  const world = clones()
  removeDevice(world.left, world.second)
  for (const act of acts) act(world.right, world)
  return world
}

describe('T43: a join is refused record_late', () => {
  test.each<[name: string, acts: readonly Act[]]>([
    ['of a change, and a device enrolled on it', [changeLate, enrol]],
    ['of settings, and a device enrolled on them', [nameLate, enrol]],
    ['the same, once that device has written', [changeLate, enrol, goOn]],
    ['of what the enrolled device has built on', [enrol, changeLate, goOn]],
    ['of settings that the enrolled device has built on', [enrol, nameLate, goOn]],
  ])('%s', async (_, acts) => {
    const { left, right } = rightOf(acts)
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(refused('record_late'))
  })

  test('of a redaction, and a device enrolled on it', async () => {
    const { left, right } = rightOf([redactLate, enrol])
    left.rewrite(new Set([version.a1]))
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(refused('record_late'))
  })

  test('of what a device has built on that an enrolled owner admitted', async () => {
    const world = rightOf([enrol, changeLate])
    const { left, right } = world
    const friend = await generateIdentity(right.random)
    admit(right, friend, newcomer)
    right.change([ofB], { author: friend })
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(refused('record_late'))
  })
})

/** Once the sides are joined, what is built on the other side's late branch is late too. */
async function expectLate(late: Forge, world: Clones): Promise<void> {
  const { left, right } = world
  left.joinWith(right)
  expect(await verdicts(left)).toEqual(accepted)
  changeLate(late, world)
  goOn(late, world)
  left.merge(late)
  expect(await verdicts(left)).toEqual(refused('record_late'))
}

describe('T43: a merge is refused record_late', () => {
  test('of what the enrolled device built on, when a join has let it in', async () => {
    const world = rightOf([enrol])
    await expectLate(world.right.fork(), world)
  })

  test(
    'of what it built on, if one of two removals did not know it',
    { tags: 'slow' },
    async () => {
      const world = clones()
      const { left, reader, writer, second } = world
      change(left, reader, { role: 'owner' })
      const right = left.fork()
      enrol(right, world)
      const late = right.fork()
      removeDevice(right, writer, { author: reader })
      removeDevice(left, second)
      await expectLate(late, { ...world, right })
    },
  )
})

describe('accepted: a join', () => {
  test.each<[name: string, acts: readonly Act[]]>([
    ['of a device that a recovery key enrolled', [enrol]],
    ['of what that device wrote', [enrol, goOn]],
    ['of what it wrote on the change of an active device', [innocent, enrol, goOn]],
    ['of a late change that an active device has built on', [changeLate, enrol, innocent]],
  ])('%s', async (_, acts) => {
    const { left, right } = rightOf(acts)
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(accepted)
  })

  test('of a late change on which a device has built that an active owner added', async () => {
    const world = clones()
    const { left, right, reader, second } = world
    change(left, reader, { role: 'owner' })
    const [ours, theirs] = [left, left.fork()]
    removeDevice(ours, second)
    theirs.keyring((next) => withMember(next, newcomer, 'writer'), { fault: { author: reader } })
    changeLate(theirs, { ...world, right })
    goOn(theirs, world)
    ours.joinWith(theirs)
    expect(await verdicts(ours)).toEqual(accepted)
  })

  test('of what a device wrote that somebody admitted who is active', async () => {
    const world = clones()
    const { left, right, writer, second } = world
    removeDevice(left, writer)
    admit(right, newcomer, second)
    goOn(right, world)
    left.joinWith(right)
    expect(await verdicts(left)).toEqual(accepted)
  })
})

/** A removes B, which does not know yet, and has its recovery key. */
const removed = worldsOf(async (url) => {
  const { a, b } = await makePair(url)
  await edit(a, '/notes.md', 'kept\n')
  await syncAll([a, b])
  await a.store.as(author).devices.remove([idOf(b)])
  return { a, b }
})

/** B takes the current text of A away, and lets nobody see it. */
async function takeAway(b: Clone): Promise<void> {
  await edit(b, '/notes.md', 'lost\n')
  const { data } = await b.store.history.versions({ path: '/notes.md', order: 'newest' })
  await redact(b, data[1]?.versionId ?? '')
  await b.store.as(author).settings.update({ name: 'late' })
  await sync(b)
}

describe('T43: a removed owner that lets a recovery key enrol a device on top', () => {
  test('takes no content from the next owner who syncs', { tags: 'slow' }, async () => {
    const { a, b, remote } = await removed()
    await takeAway(b)
    const d = await joinClone(b, remote)
    await create(d, '/on-top.md')
    await sync(d)
    const { late } = await sync(a)
    expect(await contentsOf(a.store)).toEqual({ '/notes.md': 'kept\n' })
    expect((await a.store.status()).settings.name).not.toBe('late')
    expect(late.map(({ deviceId }) => deviceId)).toContain(idOf(d))
    expect(late.map(({ deviceId }) => deviceId)).toContain(idOf(b))
    await expectInStep(remote, [a])
    const { message } = await expectRefused(d, 'wrong_key')
    expect(message).toContain('join')
    const again = await joinClone(a, remote)
    await create(again, '/honest.md')
    await syncAll([again, a])
    expect(await headOf(a)).toBe(await headOf(again))
  })

  test('nor one that it enrols first', { tags: 'slow' }, async () => {
    const { a, b, remote } = await removed()
    const d = await joinClone(b, remote)
    await sync(b)
    await takeAway(b)
    await sync(d)
    await create(d, '/on-top.md')
    await sync(d)
    await sync(a)
    expect(await contentsOf(a.store)).toEqual({ '/notes.md': 'kept\n' })
    await expectInStep(remote, [a])
  })
})
