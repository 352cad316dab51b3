// Devices of a store, as an owner manages them: cards, roles, removal, recovery keys, and the
// report of access that cannot be revoked (FORMAT §1.4, §7.1, §7.3).

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { formatDeviceCard } from '../../../src/format/device-card.ts'
import type { Role } from '../../../src/format/directory.ts'
import { formatId } from '../../../src/format/id.ts'
import { generateIdentity, type Identity } from '../../../src/keys/identity.ts'
import type { MemoryStore } from '../../../src/store/memory-store.ts'
import { author, contentsOf, newStore, reopen, type TestPlace } from '../../support/stores.ts'

let store: MemoryStore
let place: TestPlace
let second: Identity

beforeEach(async () => {
  ;({ store, place } = await newStore({ clock: () => 1000 }))
  second = await generateIdentity()
  await create('/a', 'first')
})
afterEach(() => store.close())

function create(path: string, content: string): Promise<unknown> {
  return store.as(author).apply([{ type: 'create', path, content }])
}

function add(identity: Identity, role: Role): Promise<{ deviceId: string }> {
  return store.as(author).devices.add(formatDeviceCard(identity), role)
}

/** Opens the store as another device, on another machine. */
function openAs(identity: Identity): Promise<MemoryStore> {
  return reopen(place, { identity, stateDirectory: `${place.stateDirectory}-2` })
}

async function outcome(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error: unknown) => String(Reflect.get(Object(error), 'code')),
  )
}

describe('a device that is added by its card', () => {
  test.each<[role: Role, reads: boolean, writes: string]>([
    ['owner', true, 'done'],
    ['writer', true, 'done'],
    ['reader', true, 'permission_denied'],
  ])('%s: reads %s, a write is %s', { tags: 'slow' }, async (role, reads, writes) => {
    const { deviceId } = await add(second, role)
    expect(deviceId).toBe(formatId('device', second.deviceId))
    await store.close()
    const theirs = await openAs(second)
    expect((await contentsOf(theirs))['/a'] === 'first').toBe(reads)
    const change = { type: 'create', path: '/b', content: 'b' } as const
    expect(await outcome(theirs.as(author).apply([change]))).toBe(writes)
    expect((await theirs.status()).epochs).toBe(1)
    await theirs.maintenance.verify()
    await theirs.close()
    store = await reopen(place)
    await store.maintenance.verify()
  })

  test('is listed with its time, and whether it is the current device', async () => {
    await add(second, 'reader')
    const [founder, other] = await store.devices.list()
    expect(founder).toMatchObject({ role: 'owner', isThis: true, removed: undefined })
    expect(other).toMatchObject({
      deviceId: formatId('device', second.deviceId),
      role: 'reader',
      isThis: false,
      added: { time: 1000, commit: (await store.status()).head },
      lastRecord: undefined,
      isForked: false,
      residualAccess: undefined,
    })
  })

  test.each<[string, (card: string) => Promise<unknown>]>([
    ['another fingerprint', (card) => addWith(card, 'writer', place.identity)],
    ['a role that is none', (card) => addWith(card, JSON.parse('"root"'), second)],
    ['a card that is cut off', (card) => addWith(card.slice(0, -9), 'writer', second)],
    ['the card of a device of the store', () => add(place.identity, 'writer')],
  ])('is refused with %s, and nothing changes', async (_, work) => {
    expect(await outcome(work(formatDeviceCard(second)))).toBe('invalid_input')
    expect((await store.status()).commits).toBe(2)
  })

  function addWith(card: string, role: Role, expected: Identity): Promise<unknown> {
    const fingerprint = formatId('device', expected.deviceId)
    return store.as(author).devices.add(card, role, { fingerprint })
  }
})

describe('removing devices', () => {
  test('begins an epoch that they cannot open, and reports what they can still read', async () => {
    await add(second, 'writer')
    const { residualAccess } = await store
      .as(author)
      .devices.remove([formatId('device', second.deviceId)])
    expect(residualAccess).toEqual({ commits: 4, commitsWithContents: 4, memories: 1 })
    await create('/b', 'second')
    expect((await store.status()).epochs).toBe(2)
    await store.close()
    expect(await outcome(openAs(second))).toBe('wrong_key')
    store = await reopen(place)
    await store.maintenance.verify()
  })

  test('a rewritten memory is removed from the list of what they can read', async () => {
    await add(second, 'writer')
    await create('/b', 'b')
    await store.as(author).devices.remove([formatId('device', second.deviceId)])
    const readable = async (): Promise<unknown> =>
      (await store.devices.list()).at(-1)?.residualAccess
    expect(await readable()).toEqual({ commits: 5, commitsWithContents: 5, memories: 2 })
    await create('/c', 'c')
    expect(await readable()).toEqual({ commits: 5, commitsWithContents: 5, memories: 2 })
    await store.as(author).apply([{ type: 'edit', path: '/b', edit: () => 'new' }])
    expect(await readable()).toEqual({ commits: 5, commitsWithContents: 5, memories: 1 })
  })

  test('an auditor is reported to have read no memory', async () => {
    await add(second, 'auditor')
    const changed = await store.as(author).devices.remove([formatId('device', second.deviceId)])
    expect(changed.residualAccess).toEqual({ commits: 4, commitsWithContents: 0, memories: 0 })
  })

  test('several are removed in one commit; an unknown device prevents all', async () => {
    const third = await generateIdentity()
    await add(second, 'writer')
    await add(third, 'reader')
    const ids = [second, third].map(({ deviceId }) => formatId('device', deviceId))
    const stranger = formatId('device', 'ab'.repeat(16))
    expect(await outcome(store.as(author).devices.remove([...ids, stranger]))).toBe('invalid_input')
    expect(await outcome(store.as(author).devices.remove([]))).toBe('invalid_input')
    await store.as(author).devices.remove(ids)
    const active = (await store.devices.list()).filter(({ removed }) => removed === undefined)
    expect(active).toHaveLength(1)
    expect(await outcome(add(second, 'writer'))).toBe('permission_denied')
  })

  test('the last owner cannot be removed', async () => {
    await add(second, 'writer')
    const own = formatId('device', place.identity.deviceId)
    expect(await outcome(store.as(author).devices.remove([own]))).toBe('invalid_input')
    expect(await outcome(store.as(author).devices.changeRole(own, 'writer'))).toBe('invalid_input')
    expect((await store.status()).commits).toBe(3)
  })

  test('an owner may remove its own device if there is another owner', async () => {
    await add(second, 'owner')
    const own = formatId('device', place.identity.deviceId)
    await store.as(author).devices.remove([own])
    expect(await outcome(create('/b', 'b'))).toBe('permission_denied')
    await store.close()
    expect(await outcome(reopen(place))).toBe('wrong_key')
    store = await openAs(second)
    await store.maintenance.verify()
  })
})

describe('changing a role', () => {
  test('begins an epoch; the same role again does nothing', async () => {
    await add(second, 'reader')
    const id = formatId('device', second.deviceId)
    const changed = await store.as(author).devices.changeRole(id, 'writer')
    expect(changed).toMatchObject({ residualAccess: undefined })
    expect(await store.as(author).devices.changeRole(id, 'writer')).toMatchObject({
      commit: undefined,
    })
    expect((await store.status()).epochs).toBe(2)
    await store.close()
    const theirs = await openAs(second)
    await theirs.as(author).apply([{ type: 'create', path: '/b', content: 'b' }])
    await theirs.close()
    store = await reopen(place)
    await store.maintenance.verify()
  })

  test('to auditor ends access to new contents', async () => {
    await add(second, 'writer')
    const id = formatId('device', second.deviceId)
    const changed = await store.as(author).devices.changeRole(id, 'auditor')
    expect(changed.residualAccess).toEqual({ commits: 4, commitsWithContents: 4, memories: 1 })
    await store.close()
    expect(await outcome(openAs(second))).toBe('permission_denied')
    store = await reopen(place)
    await store.maintenance.verify()
  })
})

describe('a device that is not an owner', () => {
  test.each<[string, (theirs: MemoryStore) => Promise<unknown>]>([
    ['adds no device', async (theirs) => theirs.as(author).devices.add(await anyCard(), 'reader')],
    ['removes none', (theirs) => theirs.as(author).devices.remove([own()])],
    ['changes no role', (theirs) => theirs.as(author).devices.changeRole(own(), 'owner')],
    ['makes no recovery key', (theirs) => theirs.as(author).keys.makeRecoveryKey()],
    ['adds none either', (theirs) => theirs.as(author).keys.makeRecoveryKey({ keepOld: true })],
    ['sets no passphrase', (theirs) => theirs.as(author).keys.changePassphrase(null)],
  ])('%s', async (_, work) => {
    await add(second, 'writer')
    await store.close()
    const theirs = await openAs(second)
    expect(await outcome(work(theirs))).toBe('permission_denied')
    expect((await theirs.status()).commits).toBe(3)
    await theirs.close()
  })

  async function anyCard(): Promise<string> {
    return formatDeviceCard(await generateIdentity())
  }

  function own(): string {
    return formatId('device', second.deviceId)
  }
})

describe('a new recovery key', () => {
  test('replaces the old one in a new epoch', async () => {
    const { recoveryKey, residualAccess } = await store.as(author).keys.makeRecoveryKey()
    expect(residualAccess).toEqual({ commits: 3, commitsWithContents: 3, memories: 1 })
    await store.close()
    expect(await outcome(openWith(place.recoveryKey))).toBe('wrong_key')
    const theirs = await openWith(recoveryKey)
    expect(await theirs.status()).toMatchObject({ role: 'owner', epochs: 2 })
    await theirs.maintenance.verify()
    await theirs.close()
  })

  test('in addition to the old one keeps the epoch, and both open the store', async () => {
    const { recoveryKey } = await store.as(author).keys.makeRecoveryKey({ keepOld: true })
    await store.close()
    for (const key of [recoveryKey, place.recoveryKey]) {
      second = await generateIdentity()
      const theirs = await openWith(key)
      expect(await theirs.status()).toMatchObject({ role: 'owner', epochs: 1 })
      await theirs.close()
    }
    store = await reopen(place)
    expect(await store.devices.list()).toHaveLength(3)
    await store.maintenance.verify()
  })

  function openWith(recoveryKey: string): Promise<MemoryStore> {
    const stateDirectory = `${place.stateDirectory}-${second.deviceId}`
    return reopen(place, { identity: second, stateDirectory, recoveryKey })
  }
})
