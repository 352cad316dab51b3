// Keys of a store, as an owner manages them: names and secrets of devices, new epochs, operator
// secrets, and the quota of devices that a passphrase admits (FORMAT §1.3, §1.5, §7.1, §7.3).

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { formatDeviceCard } from '../../../src/format/device-card.ts'
import { formatId } from '../../../src/format/id.ts'
import { generateIdentity, generateOperatorSecret } from '../../../src/keys/identity.ts'
import type { MemoryStore } from '../../../src/store/memory-store.ts'
import { author, contentsOf, newStore, reopen, type TestPlace } from '../../support/stores.ts'

const passphrase = 'correct horse battery'
let store: MemoryStore
let place: TestPlace

beforeEach(async () => {
  ;({ store, place } = await newStore({ deviceName: 'first laptop' }))
  await store.as(author).write('/a', 'first')
})
afterEach(() => store.close())

/** Opens the store on another machine, where a secret enrols it. */
async function openNew(secret: Parameters<typeof reopen>[1]): Promise<MemoryStore> {
  const identity = await generateIdentity()
  return reopen(place, { identity, stateDirectory: `${place.stateDirectory}-2`, ...secret })
}

describe('the name of a device', () => {
  test('comes from the store, the card or the owner, and an owner changes it', async () => {
    const identity = await generateIdentity()
    const me = store.as(author)
    const card = formatDeviceCard(identity, { name: 'Zoë’s build server' })
    const { deviceId } = await me.devices.add(card, 'writer')
    const names = async () => (await store.devices.list()).map(({ name }) => name)
    expect(await names()).toEqual(['first laptop', 'Zoë’s build server'])
    const { epochs } = await store.status()
    await me.devices.rename(deviceId, 'build server')
    expect(await names()).toEqual(['first laptop', 'build server'])
    expect((await me.devices.rename(deviceId, 'build server')).commit).toBeUndefined()
    expect((await store.status()).epochs).toBe(epochs)
    await store.maintenance.verify()
  })

  test.each([
    ['65 characters', 'x'.repeat(65)],
    ['a control character', 'a\nb'],
    ['a character that turns text around', 'a\u202eb'],
    ['white space at its end', 'a '],
    ['another normal form', 'e\u0301'],
    ['half a character', '\ud800'],
  ])('has no %s', async (_, name) => {
    const deviceId = formatId('device', place.identity.deviceId)
    await expect(store.as(author).devices.rename(deviceId, name)).rejects.toMatchObject({
      code: 'invalid_input',
    })
    expect(() => formatDeviceCard(place.identity, { name })).toThrow('device name')
  })
})

test('removing a passphrase that was never set changes nothing', async () => {
  const { head, epochs } = await store.status()
  const { commit, residualAccess } = await store.as(author).keys.changePassphrase(null)
  expect([commit, residualAccess]).toEqual([undefined, undefined])
  expect(await store.status()).toMatchObject({ head, epochs })
})

describe('removing a device', { tags: 'slow' }, () => {
  test('names the secrets that still open the store, and replaces them on request', async () => {
    const me = store.as(author)
    await me.keys.changePassphrase(passphrase)
    const [first, second] = [await generateIdentity(), await generateIdentity()]
    const removed = await me.devices.add(formatDeviceCard(first), 'writer')
    const other = await me.devices.add(formatDeviceCard(second), 'writer')
    const told = await me.devices.remove([removed.deviceId])
    expect(told).toMatchObject({
      knownSecrets: { passphrases: 1, recoveryKeys: 1 },
      recoveryKey: undefined,
    })
    const { epochs } = await store.status()
    const replaced = { passphrase: 'another horse battery', recoveryKey: true }
    const made = await me.devices.remove([other.deviceId], replaced)
    expect(made.knownSecrets).toEqual({ passphrases: 0, recoveryKeys: 0 })
    expect((await store.status()).epochs).toBe(epochs + 1)
    await store.close()
    const { recoveryKey } = place
    await expect(openNew({ passphrase })).rejects.toMatchObject({ code: 'wrong_key' })
    await expect(openNew({ recoveryKey })).rejects.toMatchObject({ code: 'wrong_key' })
    await (await openNew({ passphrase: replaced.passphrase })).close()
    await (await openNew({ recoveryKey: made.recoveryKey ?? '' })).close()
    store = await reopen(place)
    await store.maintenance.verify()
  })
})

describe('rotating the keys', () => {
  test('is done before a write that is called after it', async () => {
    const me = store.as(author)
    const done: string[] = []
    const rotated = me.keys.rotate().then(() => done.push('rotated'))
    const written = me.write('/b', 'b').then(() => done.push('written'))
    await Promise.all([rotated, written])
    expect(done).toEqual(['rotated', 'written'])
  })

  test('begins an epoch, and seals live memories and settings again if asked', async () => {
    const me = store.as(author)
    await me.settings.update({ name: 'notes' })
    await me.write('/b', 'second')
    await me.apply([{ type: 'delete', path: '/a' }])
    const rotated = await me.keys.rotate({ reseal: true })
    expect(rotated).toMatchObject({ resealed: 1, residualAccess: undefined })
    expect(await contentsOf(store)).toEqual({ '/b': 'second' })
    const { data } = await store.history.versions({ path: '/b' })
    expect(data.map(({ operation }) => operation)).toEqual(['modified', 'created'])
    expect((await store.status()).epochs).toBe(2)
    await store.maintenance.verify()
    expect(await me.keys.rotate()).toMatchObject({ resealed: 0 })
  })

  test('leaves nothing live that older keys open', async () => {
    const identity = await generateIdentity()
    const me = store.as(author)
    const { deviceId } = await me.devices.add(formatDeviceCard(identity), 'writer')
    const before = await me.devices.remove([deviceId])
    expect(before.residualAccess?.memories).toBe(1)
    await me.keys.rotate({ reseal: true })
    const [, removed] = await store.devices.list()
    expect(removed?.residualAccess?.memories).toBe(0)
  })
})

describe('an operator secret', () => {
  test('recovers each store that was made with it, by a key of its own', async () => {
    const operatorSecret = await generateOperatorSecret()
    const one = await newStore({ operatorSecret })
    const other = await newStore({ operatorSecret })
    expect(one.place.recoveryKey.slice(15)).not.toBe(other.place.recoveryKey.slice(15))
    for (const { store: opened, place: at } of [one, other]) {
      await opened.close()
      const identity = await generateIdentity()
      const again = await reopen(at, { identity, operatorSecret })
      expect((await again.status()).role).toBe('owner')
      await again.close()
    }
  })

  test('opens no other store, and adopts one whose recovery key it becomes', async () => {
    const operatorSecret = await generateOperatorSecret()
    await expect(openNew({ operatorSecret })).rejects.toMatchObject({ code: 'wrong_key' })
    await store.as(author).keys.makeRecoveryKey({ operatorSecret })
    const theirs = await openNew({ operatorSecret })
    expect((await theirs.status()).role).toBe('owner')
    await theirs.close()
    const { recoveryKey } = place
    await expect(openNew({ recoveryKey })).rejects.toMatchObject({ code: 'wrong_key' })
  })

  test(
    'gives a store a key that it never had, and opens it by that',
    { tags: 'slow' },
    async () => {
      const operatorSecret = await generateOperatorSecret()
      const { keys } = store.as(author)
      const leaked = await keys.makeRecoveryKey({ operatorSecret })
      const random = await keys.makeRecoveryKey()
      const next = await keys.makeRecoveryKey({ operatorSecret, keepOld: true })
      const last = await keys.makeRecoveryKey({ operatorSecret })
      expect(new Set([leaked, next, last].map((made) => made.recoveryKey)).size).toBe(3)
      for (const { recoveryKey } of [leaked, random, next]) {
        await expect(openNew({ recoveryKey })).rejects.toMatchObject({ code: 'wrong_key' })
      }
      for (const secret of [{ operatorSecret }, { recoveryKey: last.recoveryKey }]) {
        const theirs = await openNew(secret)
        expect((await theirs.status()).role).toBe('owner')
        await theirs.close()
      }
      const another = { operatorSecret: await generateOperatorSecret() }
      await expect(openNew(another)).rejects.toMatchObject({ code: 'wrong_key' })
    },
  )

  test('with a typing error is distinguished from a wrong one', async () => {
    const operatorSecret = (await generateOperatorSecret()).replace(/.$/, '')
    await expect(openNew({ operatorSecret })).rejects.toMatchObject({ code: 'invalid_identity' })
  })
})

test('a recovery key of another store is refused by its text', async () => {
  const { place: other } = await newStore()
  const { recoveryKey } = other
  await expect(openNew({ recoveryKey })).rejects.toMatchObject({
    code: 'wrong_key',
    message: expect.stringContaining(store.id),
  })
})

test(
  'the quota of a passphrase counts active devices that it admitted',
  { tags: 'slow' },
  async () => {
    const me = store.as(author)
    await me.keys.changePassphrase(passphrase)
    await me.keys.setPassphraseQuota(1)
    expect((await me.keys.setPassphraseQuota(1)).commit).toBeUndefined()
    await (await openNew({ passphrase })).close()
    await expect(openNew({ passphrase })).rejects.toMatchObject({
      code: 'store_full',
      message: expect.stringContaining('raises the quota'),
    })
    await (await openNew({ recoveryKey: place.recoveryKey })).close()
    const joined = (await store.devices.list()).find(
      ({ admittedBy }) => admittedBy === 'passphrase',
    )
    await me.devices.remove([joined?.deviceId ?? ''])
    await (await openNew({ passphrase })).close()
    await expect(me.keys.setPassphraseQuota(251)).rejects.toMatchObject({ code: 'invalid_input' })
    await store.maintenance.verify()
  },
)
