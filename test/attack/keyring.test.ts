// T10: no attacker can bring a keyring that does not follow from the founder's: another founder, a
// directory that is rolled back or skips a number, devices or epochs that vanish or return. FORMAT
// §7, §7.1, §7.3.
// @module-tag slow

import { beforeAll, describe, expect, test } from 'vitest'
import { hash256 } from '../../src/crypto/digest.ts'
import { kemKeyPair } from '../../src/crypto/recipient.ts'
import type { DeviceEntry, Directory } from '../../src/format/directory.ts'
import type { KeyringFile } from '../../src/format/keyring.ts'
import { type EpochKeys, epochKeys } from '../../src/keys/epoch.ts'
import { generateIdentity } from '../../src/keys/identity.ts'
import { memberOf, withMember } from '../support/forge-fault.ts'
import type { KeyringFault } from '../support/forge-keyring.ts'
import { flipBit, put } from '../support/forge-seal.ts'
import { Forge } from '../support/forge.ts'
import { withDevice } from '../support/forged-clones.ts'
import {
  accepted,
  nextRow,
  refused,
  type Standard,
  standardHistory,
  verdicts,
} from '../support/standard-forge.ts'

let standard: Standard
beforeAll(async () => {
  standard = await standardHistory()
})

const same = (next: Directory): Directory => next

describe('T10: a genesis that seed and store id do not authenticate is refused', () => {
  test.each<
    [code: string, name: string, change: (forge: Forge, directory: Directory) => Directory]
  >([
    [
      'store_seed_mismatch',
      'other random bytes of the founder',
      (_, directory) => ({ ...directory, founderRandom: new Uint8Array(32) }),
    ],
    [
      'keyring_chain',
      'a founder who is a writer',
      (_, directory) => withFounder(directory, { role: 'writer' }),
    ],
    ['keyring_chain', 'no device', (_, directory) => ({ ...directory, devices: [] })],
    [
      'keyring_chain',
      'a founder whose keys it has not signed',
      (_, directory) => withFounder(directory, { keySignature: new Uint8Array(64) }),
    ],
    [
      'keyring_chain',
      'a founder by recovery key',
      (_, directory) => {
        return withFounder(directory, { admittedBy: 'recovery', slotId: 'aa'.repeat(16) })
      },
    ],
    [
      'keyring_malformed',
      'a removed device',
      (_, directory) => {
        const last = { sequence: 0, record: new Uint8Array(32) }
        const removed = [{ deviceId: 'ee'.repeat(16), removed: 1, ...last }]
        return { ...directory, removed }
      },
    ],
  ])('%s: %s', async (code, _, change) => {
    const forge = await Forge.create('genesis')
    forge.directory = change(forge, forge.directory)
    forge.genesis()
    expect(await verdicts(forge)).toEqual(refused(code))
  })

  test('store_seed_mismatch: another founder', async () => {
    const forge = await Forge.create('another founder')
    const other = await generateIdentity(forge.random)
    forge.directory = { ...forge.directory, devices: [memberOf(other, 'owner', 0)] }
    forge.genesis({ author: other })
    expect(await verdicts(forge)).toEqual(refused('store_seed_mismatch'))
  })

  test('store_id_mismatch: an id that the genesis record does not give', async () => {
    const forge = await Forge.create('another id')
    forge.genesis({ storeId: '77'.repeat(16) })
    expect(await verdicts(forge)).toEqual(refused('store_id_mismatch'))
  })

  test('store_id_mismatch: another genesis by the founder, of the same seed and keys', async () => {
    const [forge, again] = [await Forge.create('again'), await Forge.create('again')]
    forge.genesis()
    expect(await verdicts(forge)).toEqual(accepted)
    again.genesis({ storeId: forge.storeId, record: (record) => ({ ...record, time: 1 }) })
    expect(again.seed).toBe(forge.seed)
    expect(await verdicts(again)).toEqual(refused('store_id_mismatch'))
  })

  test('keyring_chain: a second device in addition to the founder', async () => {
    const forge = await Forge.create('two founders')
    const other = await generateIdentity(forge.random)
    forge.directory = withMember(forge.directory, other, 'owner')
    forge.genesis()
    expect(await verdicts(forge)).toEqual(refused('keyring_chain'))
  })

  test('record_malformed: a second genesis', async () => {
    const forge = standard.forge.fork()
    forge.genesis()
    expect(await verdicts(forge)).toEqual(refused('record_malformed'))
  })

  test('record_epoch: a genesis that is sealed under another epoch than its own', async () => {
    const forge = await Forge.create('sealed elsewhere')
    const epoch = forge.newEpoch()
    forge.genesis({ epoch })
    forge.epochs = new Map([...forge.epochs, [epoch.kid, epoch]])
    expect(await verdicts(forge)).toEqual(refused('record_epoch'))
  })
})

describe('T10: a directory that does not follow is refused', () => {
  test.each<
    [code: string, name: string, change: (next: Directory) => Directory, reference?: string]
  >([
    ['keyring_chain', 'a number is skipped', (next) => ({ ...next, number: next.number + 1 })],
    ['keyring_chain', 'the number stays', (next) => ({ ...next, number: next.number - 1 })],
    [
      'keyring_chain',
      'another previous hash',
      (next) => ({ ...next, previous: new Uint8Array(32) }),
    ],
    ['keyring_malformed', 'no previous hash', (next) => ({ ...next, previous: undefined })],
    [
      'keyring_chain',
      'a device is missing',
      (next) => ({ ...next, devices: removeWriter(next), removed: [...next.removed] }),
    ],
    [
      'keyring_chain',
      'the X-Wing key of a device is another',
      (next) => ({ ...next, devices: next.devices.map(withOtherKey) }),
    ],
    [
      'keyring_malformed',
      'the signing key of a device is another',
      (next) => ({
        ...next,
        devices: next.devices.map((device) => ({ ...device, signingKey: new Uint8Array(32) })),
      }),
    ],
    [
      'keyring_chain',
      'a device came at another number',
      (next) => ({
        ...next,
        devices: next.devices.map((one) => ({ ...one, added: Math.min(one.added, 1) })),
      }),
    ],
    [
      'keyring_malformed',
      'one device twice',
      (next) => ({ ...next, devices: next.devices.flatMap((device) => [device, device]) }),
    ],
    [
      'keyring_malformed',
      'devices in the wrong order',
      (next) => ({ ...next, devices: next.devices.toReversed() }),
    ],
    [
      'keyring_chain',
      'a device is removed and the epoch stays',
      (next) => ({ ...next, devices: removeWriter(next) }),
    ],
  ])('%s: %s', async (code, _, change, reference) => {
    const forge = standard.forge.fork()
    forge.keyring(change)
    expect(await verdicts(forge)).toEqual(refused(code, reference))
  })

  test('keyring_chain: a new device that came at an earlier number', async () => {
    const forge = standard.forge.fork()
    const identity = await generateIdentity(forge.random)
    forge.keyring((next) => ({
      ...withMember({ ...next, number: 1 }, identity, 'writer'),
      number: 3,
    }))
    expect(await verdicts(forge)).toEqual(refused('keyring_chain'))
  })

  test('keyring_chain: a new device whose keys it has not signed', async () => {
    const forge = standard.forge.fork()
    const identity = await generateIdentity(forge.random)
    const unsigned = { keySignature: new Uint8Array(64) }
    forge.keyring((next) =>
      withDevice(withMember(next, identity, 'writer'), identity.deviceId, unsigned),
    )
    expect(await verdicts(forge)).toEqual(refused('keyring_chain'))
  })

  test('keyring_chain: a removed device returns', async () => {
    const forge = standard.forge.fork()
    const before = forge.directory.devices
    forge.keyring((next) => ({ ...next, devices: removeWriter(next) }), { epoch: forge.newEpoch() })
    expect(await verdicts(forge)).toEqual(accepted)
    const back = forge.fork()
    back.keyring((next) => ({ ...next, devices: before, removed: [] }))
    expect(await verdicts(back)).toEqual(refused('keyring_chain'))
    forge.keyring((next) => ({ ...next, devices: before }))
    expect(await verdicts(forge)).toEqual(refused('keyring_malformed'))
  })

  test('keyring_chain: an older keyring, word for word', async () => {
    const forge = standard.forge.fork()
    const older = forge.objects.get(forge.entries[1]?.keyring ?? '')?.body ?? new Uint8Array()
    const record = named(older, 1)
    forge.keyring(same, { fault: { record, swappedFile: () => older } })
    expect(await verdicts(forge)).toEqual(refused('keyring_chain'))
  })

  test('keyring_chain: an older epoch returns', async () => {
    const forge = standard.forge.fork()
    const first = forge.epoch
    forge.keyring(same, { epoch: forge.newEpoch() })
    forge.keyring(same, { epoch: first })
    expect(await verdicts(forge)).toEqual(refused('keyring_chain'))
  })
})

describe('T10: a keyring that contradicts its record or directory is refused', () => {
  test.each<[code: string, name: string, fault: KeyringFault, reference?: string]>([
    ['keyring_mismatch', 'another number outside', { file: (file) => ({ ...file, number: 9 }) }],
    [
      'store_seed_mismatch',
      "another store's seed",
      { file: (file) => ({ ...file, seed: '77'.repeat(16) }) },
    ],
    [
      'envelope_epoch',
      'an unknown kid',
      { file: (file) => ({ ...file, kid: '77'.repeat(16) }) },
      'envelope_epoch',
    ],
    ['keyring_malformed', 'a slot too many', { file: (file) => withSlots(file, 5) }],
    ['keyring_malformed', 'two slots', { file: (file) => withSlots(file, 2) }],
    [
      'keyring_malformed',
      'slots in the wrong order',
      { file: (file) => ({ ...file, slots: file.slots.toReversed() }) },
    ],
    [
      'keyring_slots',
      'twice as many slots as there should be',
      {
        recipients: (all) => [...all, ...all.map((one) => ({ ...one, id: 'ee'.repeat(16) }))],
      },
    ],
    ['keyring_slots', 'a slot of a passphrase that is none', { file: withPassphrase }],
    ['keyring_malformed', 'another magic', { bytes: put(0, 0x58) }],
    ['upgrade_required', 'a later version', { bytes: put(4, 3) }],
    ['keyring_malformed', 'a reserved byte', { bytes: put(5, 1) }],
    ['upgrade_required', 'an unknown type of slot', { bytes: put(48, 9) }],
    [
      'keyring_malformed',
      'a byte at the end',
      { bytes: (bytes) => Buffer.concat([bytes, new Uint8Array(1)]) },
    ],
    ['keyring_malformed', 'a byte less', { bytes: (bytes) => bytes.slice(0, -1) }],
    [
      'keyring_malformed',
      'more than 4 MiB',
      { bytes: (bytes) => Buffer.concat([bytes, new Uint8Array(4 << 20)]) },
    ],
    [
      'envelope_commitment',
      'a directory with another commitment',
      { directorySeal: { envelope: flipBit(8 * 60) } },
    ],
    [
      'envelope_tag',
      'a directory with another tag',
      { directorySeal: { envelope: flipBit(8 * 100) } },
    ],
    ['envelope_padding', 'a directory with other padding', { directorySeal: { padded: flipLast } }],
  ])('%s: %s', async (code, _, fault, reference) => {
    const forge = standard.forge.fork()
    forge.keyring(same, { keyringFault: fault })
    expect(await verdicts(forge)).toEqual(refused(code, reference))
  })

  test.each<[name: string, change: (bytes: Uint8Array) => Uint8Array]>([
    ['one bit of it flipped', flipBit(8 * 60)],
    ['a slot sealed anew', (bytes) => put(bytes.length - 5, 1, 2, 3)(bytes)],
    ['nothing', () => new Uint8Array()],
  ])('keyring_mismatch: %s after the record named its hash', async (_, swappedFile) => {
    const forge = standard.forge.fork()
    forge.keyring(same, { fault: { swappedFile } })
    expect(await verdicts(forge)).toEqual(refused('keyring_mismatch'))
  })

  test('keyring_mismatch: a record that names another directory number', async () => {
    const forge = standard.forge.fork()
    forge.keyring(same, { fault: { record: (record) => ({ ...record, directoryNumber: 9 }) } })
    expect(await verdicts(forge)).toEqual(refused('keyring_mismatch'))
  })
})

describe('T10: an epoch that is not the one in force is refused', () => {
  test('record_epoch: a keyring record under the epoch that it begins', async () => {
    const forge = standard.forge.fork()
    const epoch = forge.newEpoch()
    forge.keyring(same, { epoch, fault: { epoch } })
    expect(await verdicts(forge)).toEqual(refused('record_epoch'))
  })

  test('record_epoch: a change under the epoch before', async () => {
    const forge = standard.forge.fork()
    const epoch = forge.epoch
    forge.keyring(same, { epoch: forge.newEpoch() })
    expect(await verdicts(forge)).toEqual(accepted)
    forge.change([nextRow], { epoch })
    expect(await verdicts(forge)).toEqual(refused('record_epoch'))
  })

  test('envelope_epoch: a change under an epoch that no keyring names', async () => {
    const forge = standard.forge.fork()
    forge.change([nextRow], { epoch: forge.newEpoch() })
    expect(await verdicts(forge)).toEqual(refused('envelope_epoch'))
  })

  test.each<[code: string, name: string, archived: (epoch: EpochKeys) => EpochKeys]>([
    ['keyring_mismatch', 'older epochs as they are', (epoch) => epoch],
    ['keyring_chain', 'older keys under the same seed', underOtherSeed],
  ])('%s: an epoch of another seed, with %s', async (code, _, archived) => {
    const forge = standard.forge.fork()
    const { epochs } = forge
    const older = Array.from(epochs.values(), archived)
    forge.epochs = new Map(older.map((epoch) => [epoch.kid, epoch]))
    forge.keyring(same, { epoch: underOtherSeed(forge.newEpoch()) })
    forge.epochs = new Map([...epochs, ...forge.epochs])
    expect(await verdicts(forge)).toEqual(refused(code, 'store_seed_mismatch'))
  })

  test('keyring_chain: archives that lack an epoch', async () => {
    const forge = standard.forge.fork()
    const { epochs } = forge
    forge.keyring(same, { epoch: forge.newEpoch() })
    forge.epochs = new Map([...forge.epochs].filter(([kid]) => !epochs.has(kid)))
    forge.keyring(same)
    forge.epochs = new Map([...epochs, ...forge.epochs])
    expect(await verdicts(forge)).toEqual(refused('keyring_chain'))
  })
})

function withFounder(directory: Directory, change: Partial<DeviceEntry>): Directory {
  return { ...directory, devices: directory.devices.map((one) => ({ ...one, ...change })) }
}

function underOtherSeed({ auditKey, contentKey }: EpochKeys): EpochKeys {
  return epochKeys('77'.repeat(16), auditKey, contentKey)
}

function withOtherKey(device: Directory['devices'][number]): Directory['devices'][number] {
  return { ...device, kemKey: kemKeyPair(new Uint8Array(32)).publicKey }
}

function removeWriter(next: Directory): Directory['devices'] {
  return next.devices.filter(({ role }) => role !== 'writer')
}

function withSlots(file: KeyringFile, count: number): KeyringFile {
  const [first] = file.slots
  const more = count > file.slots.length && first !== undefined ? [first] : []
  return { ...file, slots: [...more, ...file.slots.slice(0, count)] }
}

function withPassphrase(file: KeyringFile): KeyringFile {
  const argon2 = { salt: new Uint8Array(16), passes: 3, memoryKiB: 65_536 }
  const passphrase = { slotId: 'bb'.repeat(16), argon2 }
  const more = file.slots.slice(0, 1).map((slot) => ({ ...slot, type: 'passphrase' as const }))
  return { ...file, slots: [...file.slots, ...more.map((slot) => ({ ...slot, passphrase }))] }
}

function named(keyring: Uint8Array, directoryNumber: number) {
  const keyringHash = hash256(keyring)
  return <T>(record: T): T => ({ ...record, keyringHash, directoryNumber })
}

function flipLast(padded: Uint8Array): Uint8Array {
  return put(padded.length - 1, 1)(padded)
}
