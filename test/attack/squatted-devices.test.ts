// T49: who knows the passphrase enrols ids of existing devices, or devices of its own, on an old
// commit, and shows that branch to the owners. Their syncs join it or leave it out: nobody has to
// decide, and no device has another role, name or key afterwards. FORMAT §7.1, §7.2, §7.4.

import { describe, expect, test } from 'vitest'
import {
  formatDeviceCard,
  generateIdentity,
  type Identity,
  type SyncReport,
} from '../../src/index.ts'
import { type World, worldsOf } from '../support/clone-templates.ts'
import { type Clone, headOf, idOf, joinClone } from '../support/clones.ts'
import {
  branchOf,
  copyRemote,
  create,
  expectInStep,
  moveBranch,
} from '../support/hostile-remotes.ts'
import { author, contentsOf, leastStretch, newStore } from '../support/stores.ts'

const passphrase = 'correct horse battery'
const [second, removed, third] = [
  await generateIdentity(),
  await generateIdentity(),
  await generateIdentity(),
]
/** The commit before any of them was added. */
let old = ''

/**
 * A made B an owner, which added a third device. A added another one, which has written, and
 * removed it.
 */
const owners = worldsOf(async (url) => {
  const { store, place } = await newStore({ passphrase, stretch: leastStretch })
  const a = { store, place }
  await store.remotes.add('origin', url)
  await create(a, '/notes.md')
  await sync(a)
  old = await headOf(a)
  await add(a, second, 'owner', 'second laptop')
  await add(a, removed, 'owner', 'lost laptop')
  await sync(a)
  const b = await joinClone(a, url, { identity: second })
  const c = await joinClone(a, url, { identity: removed })
  await add(b, third, 'reader', 'tablet')
  await create(c, '/of-removed.md')
  await syncAll(a, b)
  await sync(c)
  await syncAll(a, b)
  await store.as(author).devices.remove([idOf(c)])
  await syncAll(a, b)
  return { a, b }
})

type Owners = World<'a' | 'b'>

async function add(
  { store }: Clone,
  identity: Identity,
  role: 'owner' | 'reader',
  name: string,
): Promise<void> {
  await store.as(author).devices.add(formatDeviceCard(identity), role, { name })
}

/** The passphrase enrols these on the old commit, which another host shows. */
async function squat({ a, remote }: Owners, ...identities: readonly Identity[]): Promise<Attacker> {
  const host = copyRemote(remote)
  moveBranch(host, old)
  const clones: Clone[] = []
  for (const identity of identities) {
    const options = { identity, passphrase, confirmStore: async () => true }
    clones.push(await joinClone(a, host, options))
  }
  return { host, clones }
}

interface Attacker {
  readonly host: string
  readonly clones: readonly Clone[]
}

/** The owners have a second remote, which was behind: it holds that branch now. */
async function show({ host }: Attacker, ...clones: readonly Clone[]): Promise<void> {
  for (const { store } of clones) await store.remotes.add('stick', host)
}

function sync({ store }: Clone, remote = 'origin'): Promise<SyncReport> {
  return store.as(author).sync({ remote })
}

async function syncAll(a: Clone, b: Clone): Promise<void> {
  for (const clone of [a, b, a, b]) await sync(clone)
}

/** What everybody knows of the devices that the owners have let in or removed. */
async function membersOf({ store }: Clone): Promise<readonly unknown[]> {
  const known = new Set(['second laptop', 'lost laptop', 'tablet'])
  const devices = await store.devices.list()
  return devices
    .filter(({ isThis, name }) => isThis || known.has(name))
    .map(({ deviceId, name, role, removed: end }) => [deviceId, name, role, end !== undefined])
    .toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1))
}

/** After the owners' syncs nothing of what they have decided has changed. */
async function expectUnmoved(
  { a, b, remote }: Owners,
  before: readonly unknown[],
  attacker: Attacker,
): Promise<void> {
  await syncAll(a, b)
  for (const clone of [a, b]) await sync(clone, 'stick')
  await syncAll(a, b)
  await expectInStep(remote, [a, b])
  expect(branchOf(attacker.host)).toBe(branchOf(remote))
  expect([await membersOf(a), await membersOf(b)]).toEqual(before)
}

async function inOrder(world: Owners, order: Order, attacker: Attacker): Promise<void> {
  const { a, b } = world
  const before = [await membersOf(a), await membersOf(b)]
  await show(attacker, a, b)
  await sync(order === 'a first' ? a : b, 'stick')
  await expectUnmoved(world, before, attacker)
}

const orders = ['a first', 'b first'] as const
type Order = (typeof orders)[number]

describe.each(orders)('T49: %s: the passphrase', { tags: 'slow' }, (order) => {
  test('squats the id of an owner, which has added a device', async () => {
    const world = await owners()
    await inOrder(world, order, await squat(world, second))
  })

  test('squats the id of a device that an owner has removed, and writes as it', async () => {
    const world = await owners()
    const attacker = await squat(world, removed)
    const [as] = attacker.clones
    if (as !== undefined) await create(as, '/late.md')
    if (as !== undefined) await sync(as)
    await inOrder(world, order, attacker)
    expect(await contentsOf(world.a.store)).not.toHaveProperty('/late.md')
  })

  test('squats every id, and writes as a device of its own on top', async () => {
    const world = await owners()
    const own = await generateIdentity()
    const attacker = await squat(world, third, second, removed, own)
    const as = attacker.clones.at(-1)
    if (as !== undefined) await create(as, '/own.md')
    if (as !== undefined) await sync(as)
    await inOrder(world, order, attacker)
    expect(await contentsOf(world.b.store)).toHaveProperty('/own.md')
  })

  test('squats before an owner drops it', async () => {
    const world = await owners()
    const own = await generateIdentity()
    const attacker = await squat(world, second, own)
    const as = attacker.clones.at(-1)
    if (as !== undefined) await create(as, '/own.md')
    if (as !== undefined) await sync(as)
    await world.a.store.as(author).keys.changePassphrase(null)
    await syncAll(world.a, world.b)
    await inOrder(world, order, attacker)
    const devices = await world.a.store.devices.list()
    const byPassphrase = devices.filter(({ admittedBy }) => admittedBy === 'passphrase')
    expect(byPassphrase.map(({ removed: end }) => end !== undefined)).toEqual([true])
  })

  test('squats from before the founder handed over', async () => {
    const world = await owners()
    const { a, b, remote } = world
    await b.store.as(author).devices.remove([idOf(a)])
    await sync(b)
    const attacker = await squat(world, second)
    await show(attacker, b)
    await sync(b, 'stick')
    expect(branchOf(attacker.host)).toBe(await headOf(b))
    await sync(b)
    await expectInStep(remote, [b])
  })
})

describe('T49: the passphrase shows its branch to one owner before it is dropped:', () => {
  test('that owner writes on it, and keeps what it wrote', { tags: 'slow' }, async () => {
    const world = await owners()
    const { a, b } = world
    const own = await generateIdentity()
    const attacker = await squat(world, second, own)
    const before = [await membersOf(a), await membersOf(b)]
    await a.store.as(author).keys.changePassphrase(null)
    await show(attacker, a, b)
    await sync(b, 'stick')
    await create(b, '/honest.md')
    await sync(b)
    await expectUnmoved(world, before, attacker)
    expect(await contentsOf(a.store)).toHaveProperty('/honest.md')
    const devices = await a.store.devices.list()
    const active = devices.filter((one) => one.removed === undefined)
    expect(active.filter(({ admittedBy }) => admittedBy === 'passphrase')).toEqual([])
  })
})
