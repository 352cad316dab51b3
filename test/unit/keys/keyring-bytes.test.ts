// A keyring follows from its directory and keys (FORMAT §7): made twice it is the same, bytes that
// differ are refused by any device that can make them, and the planner makes what a verifier
// accepts.

import { describe, expect, test } from 'vitest'
import { toHex } from '../../../src/bytes.ts'
import { directoryHash, encodeDirectory, findDevice } from '../../../src/format/directory.ts'
import { decodeKeyring } from '../../../src/format/keyring.ts'
import { zeroId } from '../../../src/format/record.ts'
import { auditKeys } from '../../../src/keys/epoch.ts'
import { generateIdentity } from '../../../src/keys/identity.ts'
import { checkKeyring, type KeyringParts, makeKeyring } from '../../../src/keys/keyring-bytes.ts'
import {
  addDevice,
  createKeyring,
  type NewKeyring,
  type OpenedKeyring,
  openKeyring,
  renameDevice,
  setQuota,
  startEpoch,
} from '../../../src/keys/keyring.ts'
import { holdersOf, nobody } from '../../../src/keys/recipients.ts'
import { inSlices } from '../../../src/time-slice.ts'
import { padded } from '../../property/format-values.ts'
import { forgeKeyring } from '../../support/forge-keyring.ts'
import { countingRandom } from '../../support/forge-seal.ts'
import { decodeDirectory as decodeByReference } from '../../support/reference/directory.ts'
import {
  encodeKeyring as encodeByReference,
  makeKeyring as makeByReference,
} from '../../support/reference/keyring.ts'
import { fullEpoch } from '../../support/reference/keys.ts'

const random = countingRandom('keyring bytes')
const [founder, writer, auditor, other] = [
  await generateIdentity(random),
  await generateIdentity(random),
  await generateIdentity(random),
  await generateIdentity(random),
]
const code = (name: string): unknown => expect.objectContaining({ code: name })
const first = await createKeyring({
  identity: founder,
  name: 'laptop',
  passphrase: undefined,
  recoveryKeyOf: () => random(32),
  random,
})
const { seed } = first.epoch
const reopen = ({ bytes }: NewKeyring): Promise<OpenedKeyring> =>
  openKeyring(bytes, zeroId, { type: 'identity', identity: founder })
const byOwner = { admittedBy: 'owner', slotId: undefined, name: '' } as const
const two = await addDevice(await reopen(first), writer, { role: 'writer', ...byOwner })
const three = await addDevice(await reopen(two), auditor, { role: 'auditor', ...byOwner })
const last = await startEpoch(await reopen(three), {}, random)
const opened = await reopen(last)
const older = [...opened.epochs.values()].filter(({ kid }) => kid !== last.epoch.kid)
const parts: KeyringParts = { directory: last.directory, epoch: last.epoch, older }
const audited = {
  ...parts,
  epoch: auditKeys(seed, last.epoch.auditKey, last.epoch.contentKeyHash),
  older: older.map((one) => auditKeys(seed, one.auditKey, one.contentKeyHash)),
}

describe('a keyring', () => {
  test('is the same, byte for byte, each time it is made', async () => {
    const made = await inSlices(makeKeyring(parts))
    expect(toHex(made)).toBe(toHex(last.bytes))
    expect(toHex(forgeKeyring(parts))).toBe(toHex(last.bytes))
  })

  test('equals the one that the reference decoder makes', { tags: 'slow' }, () => {
    const [epoch, ...before] = [last.epoch, ...older].map(({ auditKey, contentKey }) => {
      return fullEpoch(seed, auditKey, contentKey)
    })
    if (epoch === undefined) throw new Error('an epoch')
    const directory = decodeByReference(padded('directory', encodeDirectory(last.directory)))
    const made = encodeByReference(makeByReference(seed, epoch, before, directory))
    expect(toHex(made)).toBe(toHex(last.bytes))
  })

  test('is accepted by anyone who has the keys, and by an auditor', async () => {
    const file = decodeKeyring(last.bytes)
    await expect(inSlices(checkKeyring(file, parts))).resolves.toBeUndefined()
    await expect(inSlices(checkKeyring(file, audited))).resolves.toBeUndefined()
  })

  test('has other decoy slots in each directory', () => {
    const hashes = [two, three].map(({ directory }) => directoryHash(seed, directory))
    const keys = hashes.flatMap((hash) =>
      [0, 1].map((index) => toHex(nobody(last.epoch, hash, index).kemKey)),
    )
    expect(new Set(keys).size).toBe(4)
    const held = holdersOf(last.directory).map(({ kemKey }) => toHex(kemKey))
    expect(held.some((one) => keys.includes(one))).toBe(false)
  })

  test.each<[string, Partial<KeyringParts>]>([
    ['another directory', { directory: three.directory }],
    ['an epoch less in its archives', { older: older.slice(1) }],
    ['the archives in another order', { older: [last.epoch, ...older] }],
  ])('is refused for %s', async (_, change) => {
    const checking = inSlices(checkKeyring(decodeKeyring(last.bytes), { ...parts, ...change }))
    await expect(checking).rejects.toMatchObject({
      code: expect.stringMatching(/^keyring_(?:slots|mismatch)$/),
    })
  })
})

describe('a change within an epoch', () => {
  test('gives a device another name', async () => {
    const next = await renameDevice(opened, writer.deviceId, 'Zoë’s phone')
    const device = findDevice(next.directory, writer.deviceId)
    expect(device).toMatchObject({ name: 'Zoë’s phone' })
    expect(next.epoch.kid).toBe(last.epoch.kid)
    expect((await reopen(next)).directory).toEqual(next.directory)
  })

  test.each([
    ['a name that is none', () => renameDevice(opened, writer.deviceId, 'a\nb')],
    ['a device that is none', () => renameDevice(opened, other.deviceId, 'phone')],
    ['a quota below none', () => setQuota(opened, -1)],
    ['a quota above all devices', () => setQuota(opened, 251)],
    ['a quota in parts', () => setQuota(opened, 1.5)],
  ])('does not take %s', (_, change) => {
    expect(change).toThrow(code('invalid_input'))
  })

  test('sets the quota, which a passphrase does not go above', async () => {
    const next = await setQuota(opened, 1)
    expect(next.directory).toMatchObject({ quota: 1 })
    const slotId = 'bb'.repeat(16)
    const byPassphrase = { ...byOwner, role: 'writer', admittedBy: 'passphrase', slotId } as const
    const full = await reopen(await addDevice(await reopen(next), other, byPassphrase))
    const more = await generateIdentity(random)
    expect(() => addDevice(full, more, byPassphrase)).toThrow(code('store_full'))
    const byKey = { ...byPassphrase, admittedBy: 'recovery' } as const
    expect((await addDevice(full, more, byKey)).directory.devices).toHaveLength(5)
  })

  test('names the last record of a device that it removes', async () => {
    const record = new Uint8Array(32).fill(7)
    const lastRecordOf = (id: string) => {
      return id === writer.deviceId ? { sequence: 9, record } : undefined
    }
    const removed = [writer.deviceId, auditor.deviceId]
    const { directory } = await startEpoch(opened, { removed, lastRecordOf }, random)
    const none = { sequence: 0, record: new Uint8Array(32) }
    const { number } = directory
    expect(directory.removed).toHaveLength(2)
    expect(directory.removed).toEqual(
      expect.arrayContaining([
        { deviceId: writer.deviceId, removed: number, sequence: 9, record },
        { deviceId: auditor.deviceId, removed: number, ...none },
      ]),
    )
  })
})
