// T49: keyrings that are changed on a state from before: by who has a passphrase, by an owner who
// is behind, by a device that is an owner no more. What one side alone has decided stays decided,
// and nobody's writes are lost. FORMAT §7.2, §7.4.

import { describe, expect, test } from 'vitest'
import { findDevice } from '../../src/format/directory.ts'
import { formatDeviceCard, generateIdentity, type SyncReport } from '../../src/index.ts'
import { type RecoveryIdentity, recoveryKeyIdentity } from '../../src/keys/recovery.ts'
import { bareRemote, type Clone, idOf, joinClone } from '../support/clones.ts'
import { asRecovery, withMember } from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import { ofB, withDevice } from '../support/forged-clones.ts'
import { create } from '../support/hostile-remotes.ts'
import { accepted, standardHistory, verdicts } from '../support/standard-forge.ts'
import { author, contentsOf, leastStretch, newStore } from '../support/stores.ts'

describe('T49: a passphrase enrols devices on an older state:', async () => {
  const { forge } = await standardHistory('stale keyrings')
  const slotId = 'bb'.repeat(16)
  const secret = recoveryKeyIdentity(forge.storeId, new Uint8Array(32).fill(8))
  const keys = { signingKey: secret.signing.publicKey, kemKey: secret.kem.publicKey }
  const argon2 = { salt: new Uint8Array(16), passes: 2, memoryKiB: 65_536 }
  const entry = { slotId, type: 'passphrase', ...keys, argon2 } as const
  forge.keyring((next) => ({ ...next, recovery: [...next.recovery, entry] }))
  const second = await forge.join('writer')
  const agent = await generateIdentity(forge.random)
  const strangers = [await generateIdentity(forge.random), await generateIdentity(forge.random)]
  const fault = asRecovery({ slotId }, secret)

  /** With higher numbers than the other side has. */
  function olderState(): typeof forge {
    const old = forge.fork()
    for (const one of strangers) {
      old.keyring((next) => withMember(next, one, 'writer', 'passphrase'), { fault })
    }
    return old
  }

  test('what an owner has raised since stays raised', { tags: 'slow' }, async () => {
    const main = forge.fork()
    const raise = { role: 'owner' } as const
    const epoch = main.newEpoch()
    main.keyring((next) => withDevice(next, second.deviceId, raise), { epoch })
    main.joinWith(olderState())
    const device = main.directory.devices.find(({ deviceId }) => deviceId === second.deviceId)
    expect(device).toMatchObject({ role: 'owner', roleBy: 'owner' })
    expect(await verdicts(main)).toEqual(accepted)
  })

  test('a device that a passphrase admitted keeps the name that an owner gave it', async () => {
    const main = forge.fork()
    main.keyring((next) => withMember(next, agent, 'writer', 'passphrase'), { fault })
    main.keyring((next) => withDevice(next, agent.deviceId, { name: 'build agent' }))
    const old = olderState()
    const forged = { name: 'laptop of an owner' }
    old.keyring(
      (next) => {
        const named = withDevice(
          withMember(next, agent, 'writer', 'passphrase'),
          agent.deviceId,
          forged,
        )
        return withDevice(named, agent.deviceId, { namedBy: 'passphrase' })
      },
      { fault },
    )
    main.joinWith(old)
    const device = main.directory.devices.find(({ deviceId }) => deviceId === agent.deviceId)
    expect(device).toMatchObject({ name: 'build agent', namedBy: 'owner' })
    expect(await verdicts(main)).toEqual(accepted)
  })
})

describe('T49: a passphrase that was changed enrols on an older state', async () => {
  const { forge } = await standardHistory('stale passphrase')
  const second = await forge.join('owner')
  const [before, after] = [9, 8].map((byte) => {
    return recoveryKeyIdentity(forge.storeId, new Uint8Array(32).fill(byte))
  })
  if (before === undefined || after === undefined) throw new Error('There are two passphrases')
  const [oldSlot, newSlot] = ['bb'.repeat(16), 'cc'.repeat(16)]
  setPassphrase(forge, oldSlot, before)
  const old = forge.fork()
  setPassphrase(forge, newSlot, after)
  const agent = await generateIdentity(forge.random)
  const fault = asRecovery({ slotId: oldSlot }, before)
  old.keyring((next) => withMember(next, agent, 'writer', 'passphrase', oldSlot), { fault })

  test(
    'a device that an owner adds elsewhere: it stays, and so does what it does',
    { tags: 'slow' },
    async () => {
      const [main, other] = [forge.fork(), forge.fork()]
      const by = { fault: { author: second } }
      other.keyring((next) => withMember(next, agent, 'owner'), by)
      const fifth = await generateIdentity(forge.random)
      other.keyring((next) => withMember(next, fifth, 'reader'), { fault: { author: agent } })
      other.change([ofB], { author: agent })
      main.joinWith(old)
      expect(findDevice(main.directory, agent.deviceId)).toBeUndefined()
      main.joinWith(other)
      expect(findDevice(main.directory, agent.deviceId)).toMatchObject({ role: 'owner' })
      expect(await verdicts(main)).toEqual(accepted)
    },
  )

  test('a device that the new passphrase enrols: it stays', { tags: 'slow' }, async () => {
    const [main, other] = [forge.fork(), forge.fork()]
    const by = { fault: asRecovery({ slotId: newSlot }, after) }
    other.keyring((next) => withMember(next, agent, 'writer', 'passphrase', newSlot), by)
    other.joinWith(old, { fault: { author: second } })
    main.keyring((next) => withDevice(next, second.deviceId, { name: 'second' }))
    main.joinWith(other)
    expect(findDevice(main.directory, agent.deviceId)).toMatchObject({ slotId: newSlot })
    expect(await verdicts(main)).toEqual(accepted)
  })
})

function setPassphrase(forge: Forge, slotId: string, secret: RecoveryIdentity): void {
  const keys = { signingKey: secret.signing.publicKey, kemKey: secret.kem.publicKey }
  const argon2 = { salt: new Uint8Array(16), passes: 2, memoryKiB: 65_536 }
  const entry = { slotId, type: 'passphrase', ...keys, argon2 } as const
  const epoch = forge.newEpoch()
  forge.keyring(
    (next) => {
      const others = next.recovery.filter(({ type }) => type !== 'passphrase')
      return { ...next, recovery: [...others, entry] }
    },
    { epoch },
  )
}

function sync({ store }: Clone, remote = 'origin'): Promise<SyncReport> {
  return store.as(author).sync({ remote })
}

/** A founder, and an owner who knows no more than that it is one. */
async function twoOwners(
  url: string,
  options: { readonly passphrase?: string } = {},
): Promise<{ a: Clone; x: Clone }> {
  const { store, place } = await newStore({ ...options, stretch: leastStretch })
  const a = { store, place }
  await store.remotes.add('origin', url)
  await create(a, '/base.md')
  const identity = await generateIdentity()
  await store.as(author).devices.add(formatDeviceCard(identity), 'owner')
  await sync(a)
  return { a, x: await joinClone(a, url, { identity }) }
}

describe('T49: a clone that is behind:', { tags: 'slow' }, () => {
  test('an owner who changes the passphrase there loses nobody’s writes', async () => {
    const [url, passphrase] = [bareRemote(), 'correct horse battery']
    const { a, x } = await twoOwners(url, { passphrase })
    const agent = await joinClone(a, url, { identity: await generateIdentity(), passphrase })
    await create(agent, '/one.md')
    await sync(agent)
    await sync(a)
    await create(agent, '/two.md')
    await sync(agent)
    await sync(a)
    await x.store.as(author).keys.changePassphrase('another passphrase')
    for (const clone of [x, a]) expect((await sync(clone)).late).toEqual([])
    const everything = { '/base.md': '/base.md', '/one.md': '/one.md', '/two.md': '/two.md' }
    for (const clone of [x, a]) expect(await contentsOf(clone.store)).toEqual(everything)
    const devices = await a.store.devices.list()
    expect(devices.filter(({ removed }) => removed === undefined)).toHaveLength(2)
    expect(await contentsOf(agent.store)).toEqual(everything)
  })

  test('who is an owner no more removes nobody there', async () => {
    const [url, other] = [bareRemote(), bareRemote()]
    const { a, x } = await twoOwners(url)
    const identity = await generateIdentity()
    await a.store.as(author).devices.add(formatDeviceCard(identity), 'writer')
    await sync(a)
    await sync(x)
    const writer = await joinClone(a, url, { identity })
    await a.store.as(author).devices.changeRole(idOf(x), 'reader')
    await sync(a)
    await sync(writer)
    await create(writer, '/work.md')
    await sync(writer)
    await sync(a)
    await x.store.as(author).devices.remove([idOf(writer)])
    for (const clone of [x, a]) await clone.store.remotes.add('other', other)
    await sync(x, 'other')

    await create(a, '/kept.md')
    await expect(sync(a, 'other')).rejects.toMatchObject({ code: 'keyring_conflict' })
    await a.store.as(author).devices.remove([idOf(x)])
    const { late } = await a.store.as(author).sync({ remote: 'other', repair: true })
    expect(late).toHaveLength(1)
    for (const remote of ['other', 'origin']) await sync(a, remote)
    await sync(writer)
    await create(writer, '/more.md')
    await sync(writer)
    await sync(a)
    expect(Object.keys(await contentsOf(a.store))).toEqual(
      expect.arrayContaining(['/work.md', '/kept.md', '/more.md']),
    )
  })
})
