// T47: who knows the passphrase cannot fill the table of devices for good: it admits devices up to
// a quota, which it cannot raise, and what an owner removes leaves room. FORMAT §7, §7.1.

import { beforeAll, describe, expect, test } from 'vitest'
import { directoryHash, type Directory, encodeDirectory } from '../../src/format/directory.ts'
import { zeroHash } from '../../src/format/record.ts'
import { generateIdentity, type Identity } from '../../src/keys/identity.ts'
import { withChanges, withDevice } from '../../src/keys/membership.ts'
import { type RecoveryIdentity, recoveryKeyIdentity } from '../../src/keys/recovery.ts'
import { asRecovery, type Fault, withMember, withoutMember } from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import { accepted, refused, standardHistory, verdicts } from '../support/standard-forge.ts'
import { author, newStore, reopen } from '../support/stores.ts'

const QUOTA = 2
/** With a passphrase whose key pair is known without Argon2id, and a small quota. */
let standard: Forge
let attacker: RecoveryIdentity
let devices: readonly Identity[]
beforeAll(async () => {
  const { forge } = await standardHistory('full table')
  attacker = recoveryKeyIdentity(forge, new Uint8Array(32).fill(8))
  const { signing, kem } = attacker
  const keys = { signingKey: signing.publicKey, kemKey: kem.publicKey }
  const argon2 = { salt: new Uint8Array(16), passes: 2, memoryKiB: 65_536 }
  const entry = { slotId: 'bb'.repeat(16), type: 'passphrase', ...keys, argon2 } as const
  forge.keyring((next) => {
    const recovery = [...next.recovery, entry]
    return { ...next, recovery, quota: QUOTA }
  })
  standard = forge
  devices = await Promise.all(Array.from({ length: 4 }, () => generateIdentity(forge.random)))
})

function byPassphrase(slot = 'bb'): Fault {
  return asRecovery({ slotId: slot.repeat(16) }, attacker)
}

/** Enrols devices by number, in one keyring record. */
function enrol(forge: Forge, numbers: readonly number[], change = unchanged, slot = 'bb'): Forge {
  const added = devices.filter((_, index) => numbers.includes(index))
  const enrolled = (next: Directory): Directory =>
    added.reduce((table, one) => withMember(table, one, 'writer', 'passphrase'), next)
  forge.keyring((next) => change(enrolled(next)), { fault: byPassphrase(slot) })
  return forge
}

const unchanged = (next: Directory): Directory => next

describe('T47: a passphrase', () => {
  test('admits as many devices as its quota', { tags: 'slow' }, async () => {
    expect(await verdicts(enrol(enrol(standard.fork(), [0]), [1]))).toEqual(accepted)
    expect(await verdicts(enrol(standard.fork(), [0, 1]))).toEqual(accepted)
  })

  test.each<[name: string, act: (forge: Forge) => void]>([
    ['one after the other', (forge) => enrol(enrol(forge, [0, 1]), [2])],
    ['at once', (forge) => enrol(forge, [0, 1, 2])],
    [
      'with a quota that it raises itself',
      (forge) => enrol(forge, [0, 1, 2], (next) => ({ ...next, quota: 9 })),
    ],
    [
      'as a second passphrase of a store',
      (forge) => {
        enrol(forge, [0, 1])
        forge.keyring(withOtherSlot, { epoch: forge.newEpoch() })
        enrol(forge, [2], unchanged, 'cc')
      },
    ],
  ])('admits no more: record_role %s', { tags: 'slow' }, async (_, act) => {
    const forge = standard.fork()
    act(forge)
    expect(await verdicts(forge)).toEqual(refused('record_role'))
  })

  test('admits none in the name of an owner', { tags: 'slow' }, async () => {
    const forge = enrol(standard.fork(), [0, 1])
    const [, , third] = devices
    if (third === undefined) throw new Error('a third device')
    forge.keyring((next) => withMember(next, third, 'writer'), { fault: byPassphrase() })
    expect(await verdicts(forge)).toEqual(refused('keyring_chain'))
  })

  test('leaves an owner room, and has room again where an owner removes its devices', async () => {
    const forge = enrol(standard.fork(), [0, 1])
    const [first, second, third] = devices
    if (first === undefined || second === undefined || third === undefined) return
    forge.keyring((next) => withMember(next, third, 'writer'))
    const removed = (next: Directory) => withoutMember(withoutMember(next, first), second)
    forge.keyring(removed, { epoch: forge.newEpoch() })
    expect(await verdicts(enrol(forge, [3]))).toEqual(accepted)
  })

  /** The same keys under another slot id, which counts what the first has admitted. */
  function withOtherSlot(next: Directory): Directory {
    const recovery = next.recovery.map((one) => {
      return one.type === 'passphrase' ? { ...one, slotId: 'cc'.repeat(16) } : one
    })
    return { ...next, recovery }
  }
})

describe('T47: the table of devices', () => {
  test('has room after 16,384 devices that came and went, in 64 bytes each', async () => {
    const { seed, founder } = standard
    const gone = Array.from({ length: 16_383 }, (_, index) => ({
      deviceId: index.toString(16).padStart(32, '0'),
      removed: 1,
      sequence: 0,
      record: zeroHash,
    }))
    const [first, second] = devices
    if (first === undefined || second === undefined) throw new Error('two devices')
    const admission = {
      role: 'writer',
      admittedBy: 'passphrase',
      slotId: 'bb'.repeat(16),
      name: '',
    } as const
    const before: Directory = { ...standard.directory, removed: gone }
    const full = withDevice(seed, before, first, admission)
    const none = () => undefined
    const removed = [first.deviceId]
    const room = withChanges(seed, full, { removed }, full.recovery, none)
    expect(encodeDirectory(room).length).toBeLessThan(16_384 * 64 + 10_000)
    expect(room.devices.some(({ deviceId }) => deviceId === founder.deviceId)).toBe(true)
    const again = withDevice(seed, room, second, admission)
    expect(directoryHash(seed, again)).toHaveLength(32)
  })

  test(
    'cannot be filled by a client, and the error tells the owner what to do',
    { tags: 'slow' },
    async () => {
      const passphrase = 'correct horse battery'
      const { store, place } = await newStore({ passphrase })
      const me = store.as(author)
      await me.keys.setPassphraseQuota(1)
      const join = async () => reopen(place, { identity: await generateIdentity(), passphrase })
      await (await join()).close()
      await expect(join()).rejects.toMatchObject({
        code: 'store_full',
        message: expect.stringMatching(/an owner removes .* or raises the quota/),
      })
      const list = await store.devices.list()
      const theirs = list.find((one) => one.admittedBy === 'passphrase')
      await me.devices.remove([theirs?.deviceId ?? ''])
      await (await join()).close()
    },
  )
})
