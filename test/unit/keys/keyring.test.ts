// Keyrings: who can open which, and what a change of members does. The reference implementation
// opens ours.

import { beforeAll, describe, expect, test } from 'vitest'
import { toHex } from '../../../src/bytes.ts'
import { systemRandom } from '../../../src/crypto/random.ts'
import { decapsulate } from '../../../src/crypto/recipient.ts'
import { checkGenesisDirectory, checkSuccessor } from '../../../src/format/directory-succession.ts'
import {
  byOwner,
  type Directory,
  directoryHash,
  findDevice,
  findRemoved,
  type Role,
} from '../../../src/format/directory.ts'
import {
  decodeKeyring,
  encodeKeyring,
  type KeyringFile,
  type PassphraseSlot,
} from '../../../src/format/keyring.ts'
import { auditKeys } from '../../../src/keys/epoch.ts'
import { formatIdentity, formatRecoveryKey, generateIdentity } from '../../../src/keys/identity.ts'
import {
  addDevice,
  createKeyring,
  type NewKeyring,
  openAuditKeyring,
  openDirectory,
  type OpenedKeyring,
  openKeyring,
  startEpoch,
} from '../../../src/keys/keyring.ts'
import type { Admission } from '../../../src/keys/membership.ts'
import { openSlot, sealSlot } from '../../../src/keys/slot.ts'
import type { Unlock } from '../../../src/keys/unlock.ts'
import { argon2 } from '../../../src/limits.ts'
import {
  decodeKeyring as referenceDecode,
  openDirectory as referenceDirectory,
} from '../../support/reference/keyring.ts'
import { unlock as referenceUnlock } from '../../support/reference/unlock.ts'
import { leastStretch } from '../../support/stores.ts'

const random = systemRandom
const founder = await generateIdentity()
const second = await generateIdentity()
const stranger = await generateIdentity()
const recoveryKey = random(32)
const code = (name: string): unknown => expect.objectContaining({ code: name })
const by = (identity: typeof founder): Unlock => ({ type: 'identity', identity })

const options = { identity: founder, name: 'laptop', recoveryKeyOf: () => recoveryKey, random }
const first = await createKeyring({ ...options, passphrase: undefined })
const { seed } = first.epoch
const storeId = 'ab'.repeat(16)
const recoveryText = formatRecoveryKey(storeId, recoveryKey)
const admitted = (role: Role): Admission => ({ role, ...byOwner, name: '' })
const noRecords = () => undefined

/** As a verifier checks that a directory by an owner follows. */
function follow(previous: Directory, next: Directory, isSameEpoch: boolean): void {
  const how = { author: byOwner, lastRecordOf: noRecords }
  checkSuccessor({ seed, previous, next, isSameEpoch, ...how })
}
const opened = await openKeyring(first.bytes, storeId, by(founder))

const reopen = ({ bytes }: NewKeyring, unlock: Unlock): Promise<OpenedKeyring> =>
  openKeyring(bytes, storeId, unlock)

describe('a new keyring', () => {
  test('is opened by its founder, who is an active owner', () => {
    expect(opened.epoch).toEqual(first.epoch)
    expect(opened.directory).toEqual(first.directory)
    expect([...opened.epochs.keys()]).toEqual([first.epoch.kid])
    expect(opened.recovery).toBeUndefined()
    const device = findDevice(opened.directory, founder.deviceId)
    expect(device).toMatchObject({ role: 'owner', added: 0, name: 'laptop' })
    expect(() => checkGenesisDirectory(seed, opened.directory)).not.toThrow()
  })

  test('is opened by the recovery key, which stands for an identity of its own', async () => {
    const recovered = await reopen(first, { type: 'recovery', recoveryKey: recoveryText })
    expect(recovered.epoch).toEqual(first.epoch)
    expect(recovered.recovery?.signing.publicKey).toEqual(first.directory.recovery[0]?.signingKey)
    expect(recovered.recovery?.kem.publicKey).toEqual(first.directory.recovery[0]?.kemKey)
  })

  test.each([
    ['the identity of somebody else', { type: 'identity', identity: stranger }],
    [
      'another recovery key',
      { type: 'recovery', recoveryKey: formatRecoveryKey(storeId, random(32)) },
    ],
    ['a passphrase, when it has none', { type: 'passphrase', passphrase: 'some passphrase' }],
  ] as const)('refuses %s with wrong_key', async (_, unlock) => {
    await expect(reopen(first, unlock)).rejects.toMatchObject({ code: 'wrong_key' })
  })

  test('reports that it has no passphrase', async () => {
    const unlock = { type: 'passphrase', passphrase: 'some passphrase' } as const
    await expect(reopen(first, unlock)).rejects.toThrow(/has no passphrase/)
  })

  test('is opened alike by the reference implementation', { tags: 'slow' }, () => {
    const keyring = referenceDecode(first.bytes)
    for (const secret of [{ identity: formatIdentity(founder) }, { recoveryKey: recoveryText }]) {
      const epoch = referenceUnlock(keyring, storeId, secret).at(-1)
      expect(epoch?.kid).toBe(first.epoch.kid)
      if (epoch === undefined) continue
      const directory = referenceDirectory(keyring, epoch)
      expect(directory.devices.map((device) => device.deviceId)).toEqual([founder.deviceId])
    }
  })

  test('shows four slots of one size, for the founder, the recovery key and decoys', () => {
    const file = decodeKeyring(first.bytes)
    expect(file.slots.map((slot) => slot.type)).toEqual(Array(4).fill('key'))
    const sizes = file.slots.map((slot) => slot.envelope.length + slot.ciphertext.length)
    expect(new Set(sizes).size).toBe(1)
  })

  test('holds no key and no id of a device in the clear', () => {
    const hex = toHex(first.bytes)
    const { auditKey, contentKey } = first.epoch
    const secrets = [auditKey, contentKey, founder.signing.publicKey, founder.kem.publicKey]
    for (const secret of secrets) expect(hex).not.toContain(toHex(secret))
    expect(hex).not.toContain(founder.deviceId)
  })

  test('is made with other keys each time', async () => {
    const again = await createKeyring({ ...options, passphrase: undefined })
    expect(again.epoch.seed).not.toBe(seed)
    expect(again.epoch.kid).not.toBe(first.epoch.kid)
  })

  test.each([
    ['a short passphrase', 'short'],
    ['one of a character that no version of Unicode here has assigned', 'long enough \u{378}'],
  ])('refuses %s before it hashes', async (_, passphrase) => {
    const made = createKeyring({ ...options, passphrase })
    await expect(made).rejects.toMatchObject({ code: 'invalid_input' })
  })
})

describe('another device', async () => {
  const added = await addDevice(opened, second, admitted('writer'))

  test('opens the next keyring of the same epoch, as everybody before', async () => {
    expect(added.epoch.kid).toBe(first.epoch.kid)
    const unlocks: readonly Unlock[] = [
      by(founder),
      by(second),
      { type: 'recovery', recoveryKey: recoveryText },
    ]
    for (const unlock of unlocks) {
      const { directory, epoch } = await reopen(added, unlock)
      expect(epoch).toEqual(first.epoch)
      expect(directory).toEqual(added.directory)
    }
    await expect(reopen(first, by(second))).rejects.toMatchObject({ code: 'wrong_key' })
  })

  test('follows from the directory before', () => {
    expect(added.directory.number).toBe(1)
    expect(findDevice(added.directory, second.deviceId)).toMatchObject({
      role: 'writer',
      admittedBy: 'owner',
      added: 1,
    })
    expect(() => follow(first.directory, added.directory, true)).not.toThrow()
  })

  test('seals every slot again, so that the new one does not stand out', () => {
    const before = decodeKeyring(first.bytes).slots.map((slot) => toHex(slot.ciphertext))
    const after = decodeKeyring(added.bytes).slots.map((slot) => toHex(slot.ciphertext))
    expect(after).toHaveLength(before.length)
    expect(after.filter((ciphertext) => before.includes(ciphertext))).toEqual([])
  })

  test('is refused if it is a member already', async () => {
    const next = await reopen(added, by(founder))
    expect(() => addDevice(next, second, admitted('owner'))).toThrow(code('invalid_input'))
  })

  test('the fourth, with the recovery key, makes eight slots', async () => {
    let keyring = first
    for (let device = 2; device <= 5; device++) {
      const before = await reopen(keyring, by(founder))
      keyring = await addDevice(before, await generateIdentity(), admitted('reader'))
      expect(decodeKeyring(keyring.bytes).slots).toHaveLength(device < 4 ? 4 : 8)
    }
  })

  test('the 251st is refused with store_full', () => {
    const entry = findDevice(first.directory, founder.deviceId)
    const devices = Array.from({ length: 250 }, () => entry).filter((one) => one !== undefined)
    const full = { ...opened, directory: { ...first.directory, devices } }
    expect(() => addDevice(full, second, admitted('reader'))).toThrow(code('store_full'))
  })
})

describe('a new epoch', () => {
  let before: OpenedKeyring
  let next: NewKeyring
  beforeAll(async () => {
    before = await reopen(await addDevice(opened, second, admitted('writer')), by(founder))
    next = await startEpoch(before, { removed: [second.deviceId] }, random)
  })

  test('has new keys, and archives the old ones for its members', async () => {
    const after = await reopen(next, by(founder))
    expect(after.epoch.kid).not.toBe(first.epoch.kid)
    expect([...after.epochs.keys()]).toEqual([first.epoch.kid, after.epoch.kid])
    expect(after.epochs.get(first.epoch.kid)).toEqual(first.epoch)
    const secret = { recoveryKey: recoveryText }
    const epochs = referenceUnlock(referenceDecode(next.bytes), storeId, secret)
    expect(epochs.map(({ kid }) => kid)).toEqual([...after.epochs.keys()])
  })

  test('is closed to a removed device, whose entry is short from then on', async () => {
    await expect(reopen(next, by(second))).rejects.toMatchObject({ code: 'wrong_key' })
    expect(findDevice(next.directory, second.deviceId)).toBeUndefined()
    const entry = findRemoved(next.directory, second.deviceId)
    const none = { sequence: 0, record: new Uint8Array(32) }
    expect(entry).toEqual({ deviceId: second.deviceId, removed: 2, ...none })
    expect(() => follow(before.directory, next.directory, false)).not.toThrow()
  })

  test('never takes a removed device back', async () => {
    const after = await reopen(next, by(founder))
    expect(() => addDevice(after, second, admitted('writer'))).toThrow(code('permission_denied'))
  })

  test('grows by one archive entry each time', async () => {
    const third = await startEpoch(await reopen(next, by(founder)), {}, random)
    const { epochs } = await reopen(third, { type: 'recovery', recoveryKey: recoveryText })
    expect([...epochs.keys()]).toEqual([first.epoch.kid, next.epoch.kid, third.epoch.kid])
  })

  test('older keyrings are read with archived keys, unknown ones are envelope_epoch', async () => {
    const { epochs } = await reopen(next, by(founder))
    const { epoch, directory } = openDirectory(first.bytes, epochs)
    expect({ kid: epoch.kid, directory }).toEqual({
      kid: first.epoch.kid,
      directory: first.directory,
    })
    expect(() => openDirectory(next.bytes, opened.epochs)).toThrow(code('envelope_epoch'))
  })

  test.each([
    ['a device that is none', () => [stranger.deviceId]],
    ['the last owner', () => [founder.deviceId]],
    ['the same device again', () => [second.deviceId]],
  ])('cannot remove %s', async (_, removed) => {
    const after = await reopen(next, by(founder))
    await expect(startEpoch(after, { removed: removed() }, random)).rejects.toMatchObject({
      code: 'invalid_input',
    })
  })
})

describe('a passphrase', () => {
  const passphrase = 'correct horse battery'
  let keyring: NewKeyring
  let withPassphrase: OpenedKeyring
  beforeAll(async () => {
    keyring = await startEpoch(opened, { passphrase, stretch: leastStretch }, random)
    withPassphrase = await reopen(keyring, by(founder))
  })

  test('is set with our own parameters and opens the keyring', { tags: 'slow' }, async () => {
    const own = await startEpoch(opened, { passphrase }, random)
    const slot = decodeKeyring(own.bytes).slots.find(({ type }) => type === 'passphrase')
    expect(slot?.passphrase?.argon2).toMatchObject({
      passes: argon2.passes.standard,
      memoryKiB: argon2.memoryKiB.standard,
    })
    const unlocked = await reopen(own, { type: 'passphrase', passphrase })
    expect(unlocked.epoch).toEqual(own.epoch)
    const entry = own.directory.recovery.find(({ type }) => type === 'passphrase')
    expect(unlocked.recovery?.signing.publicKey).toEqual(entry?.signingKey)
  })

  test(
    'is set with more where that is asked for, or one before it had more',
    { tags: 'slow' },
    async () => {
      const more = { passes: argon2.passes.floor + 1, memoryKiB: argon2.memoryKiB.floor + 1024 }
      const parametersOf = ({ bytes }: NewKeyring): unknown =>
        decodeKeyring(bytes).slots.find(({ type }) => type === 'passphrase')?.passphrase?.argon2
      const asked = await startEpoch(opened, { passphrase, stretch: more }, random)
      expect(parametersOf(asked)).toMatchObject(more)
      const changes = { passphrase, stretch: leastStretch }
      const kept = await startEpoch(await reopen(asked, by(founder)), changes, random)
      expect(parametersOf(kept)).toMatchObject(more)
    },
  )

  test('is not set with less than the format allows', async () => {
    const stretch = { ...leastStretch, passes: argon2.passes.floor - 1 }
    await expect(startEpoch(opened, { passphrase, stretch }, random)).rejects.toMatchObject({
      code: 'weak_key_parameters',
    })
  })

  test('that is wrong is wrong_key', { tags: 'slow' }, async () => {
    await expect(
      reopen(keyring, { type: 'passphrase', passphrase: 'correct horse batterx' }),
    ).rejects.toMatchObject({ code: 'wrong_key' })
  })

  test(
    'is kept through a new device and a new epoch, whose maker does not know it',
    { tags: 'slow' },
    async () => {
      const added = await addDevice(withPassphrase, second, admitted('writer'))
      const next = await startEpoch(await reopen(added, by(founder)), {}, random)
      const slots = [keyring, next].map(({ bytes }) =>
        decodeKeyring(bytes).slots.find(({ type }) => type === 'passphrase'),
      )
      expect(slots[1]?.passphrase).toEqual(slots[0]?.passphrase)
      const unlocked = await reopen(next, { type: 'passphrase', passphrase })
      expect(unlocked.epoch.kid).toBe(next.epoch.kid)
    },
  )

  test('is removed with null, and the recovery key still works', async () => {
    const next = await startEpoch(withPassphrase, { passphrase: null }, random)
    await expect(reopen(next, { type: 'passphrase', passphrase })).rejects.toThrow(/no passphrase/)
    const recovered = await reopen(next, { type: 'recovery', recoveryKey: recoveryText })
    expect(recovered.epoch.kid).toBe(next.epoch.kid)
  })

  test('of no characters is refused and removes nothing', async () => {
    await expect(startEpoch(withPassphrase, { passphrase: '' }, random)).rejects.toMatchObject({
      code: 'invalid_input',
    })
  })

  test('with parameters out of bounds is weak_key_parameters before it is hashed', async () => {
    const bytes = edited(keyring.bytes, (file) => ({
      ...file,
      slots: file.slots.map((slot) => ({ ...slot, passphrase: inOnePass(slot.passphrase) })),
    }))
    await expect(
      openKeyring(bytes, storeId, { type: 'passphrase', passphrase }),
    ).rejects.toMatchObject({ code: 'weak_key_parameters' })
  })
})

describe('an auditor', () => {
  test('is sealed A and H(C), never C', () => {
    const common = { kind: 'device', id: second.deviceId, passphrase: undefined } as const
    const recipient = { ...common, kemKey: second.kem.publicKey, isAuditor: true }
    const hash = directoryHash(seed, first.directory)
    const { auditKey, contentKeyHash, kid } = first.epoch
    const slot = sealSlot(first.epoch, hash, recipient)
    const audit = auditKeys(seed, auditKey, contentKeyHash)
    expect(sealSlot(audit, hash, recipient)).toEqual(slot)
    const file = { ...decodeKeyring(first.bytes), slots: [slot] }
    const epoch = openSlot(file, slot, second.kem)
    expect(epoch).toEqual(auditKeys(seed, auditKey, contentKeyHash))
    expect(epoch).toMatchObject({ kid })
    const full = sealSlot(first.epoch, hash, { ...recipient, isAuditor: false })
    expect(openSlot(file, full, second.kem)).toEqual(first.epoch)
    expect(decapsulate(slot.ciphertext, second.kem)).toHaveLength(32)
  })

  test('opens the directory and every epoch for the trail, and no store', async () => {
    const added = await addDevice(opened, second, admitted('auditor'))
    const keyring = await startEpoch(await reopen(added, by(founder)), {}, random)
    await expect(reopen(keyring, by(second))).rejects.toMatchObject({ code: 'permission_denied' })
    const { directory, epochs } = await openAuditKeyring(keyring.bytes, second)
    expect(directory).toEqual(keyring.directory)
    expect([...epochs.keys()]).toEqual([first.epoch.kid, keyring.epoch.kid])
    for (const epoch of epochs.values()) expect(epoch).not.toHaveProperty('contentKey')
    const secret = { identity: formatIdentity(second) }
    const reference = referenceUnlock(referenceDecode(keyring.bytes), storeId, secret)
    expect(reference.map(({ kid }) => kid)).toEqual([...epochs.keys()])
    expect(reference.map(({ content }) => content)).toEqual([undefined, undefined])
  })

  test('sees the same of a keyring as members, and strangers see nothing', async () => {
    const keyring = await addDevice(opened, second, admitted('reader'))
    const { directory } = await openAuditKeyring(keyring.bytes, second)
    expect(directory).toEqual(keyring.directory)
    const asStranger = openAuditKeyring(keyring.bytes, stranger)
    await expect(asStranger).rejects.toMatchObject({ code: 'wrong_key' })
  })
})

function inOnePass(slot: PassphraseSlot | undefined): PassphraseSlot | undefined {
  return slot && { ...slot, argon2: { ...slot.argon2, passes: 1 } }
}

function edited(bytes: Uint8Array, edit: (file: KeyringFile) => KeyringFile): Uint8Array {
  return encodeKeyring(edit(decodeKeyring(bytes)))
}
