// Directories: the layout, and what may follow what (FORMAT §7.1, §7.3).

import { describe, expect, test } from 'vitest'
import { concatBytes, fromHex, label, toHex } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import {
  checkGenesisDirectory,
  checkRecoveryStep,
  checkRotation,
  checkSuccessor,
  decodeDirectory,
  type DeviceEntry,
  type Directory,
  directoryHash,
  encodeDirectory,
  type RecoveryEntry,
} from '../../../src/format/directory.ts'
import { paddedLength } from '../../../src/format/envelope.ts'
import { deviceIdOf, storeIdOf } from '../../../src/format/id.ts'

const key = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
const code = (name: string): unknown => expect.objectContaining({ code: name })

function device(byte: number, change: Partial<DeviceEntry> = {}): DeviceEntry {
  const signingKey = key(byte)
  const kemKey = key(byte, 1216)
  const deviceId = deviceIdOf(signingKey)
  return { deviceId, signingKey, kemKey, role: 'writer', added: 0, removed: 0, ...change }
}

function recovery(type: RecoveryEntry['type'], byte: number): RecoveryEntry {
  const keys = { signingKey: key(byte), kemKey: key(byte, 1216) }
  return { slotId: toHex(key(byte, 16)), type, ...keys }
}

const slot = (byte: number): string => toHex(key(byte, 16))
const passphraseOf = (byte: number): RecoveryEntry => recovery('passphrase', byte)

const sorted = (...devices: readonly DeviceEntry[]): readonly DeviceEntry[] =>
  devices.toSorted((a, b) => (a.deviceId < b.deviceId ? -1 : 1))

const founder = device(1, { role: 'owner' })
const founderRandom = key(9)
const storeId = storeIdOf(founder.signingKey, founderRandom)
const passphrase = recovery('passphrase', 0x41)
const recoveryKey = recovery('recovery', 0x42)
const genesis: Directory = {
  number: 0,
  previous: [],
  devices: [founder],
  recovery: [passphrase, recoveryKey],
  gone: [],
  founderRandom,
}

function successor(before: Directory, change: Partial<Directory> = {}): Directory {
  const previous = [directoryHash(storeId, before)]
  return { ...before, number: before.number + 1, previous, founderRandom: undefined, ...change }
}

const two = successor(genesis, { devices: sorted(founder, device(2, { added: 1 })) })

function pad(plaintext: Uint8Array): Uint8Array {
  const padded = new Uint8Array(paddedLength('directory', plaintext.length))
  padded.set(plaintext)
  return padded
}

const decoded = (directory: Directory): Directory =>
  decodeDirectory(pad(encodeDirectory(directory)))

describe('the layout', () => {
  test.each([
    ['number 0', genesis],
    ['two devices', two],
    [
      'a removed device',
      successor(two, {
        devices: two.devices.map((one) => ({ ...one, removed: one.added === 1 ? 2 : 0 })),
      }),
    ],
    ['no recovery', successor(genesis, { recovery: [] })],
    ['slots that went', successor(genesis, { gone: [slot(1), slot(2)] })],
    ['two that were joined', { ...two, number: 2, previous: [key(1), key(2)] }],
    ['four passphrases', successor(genesis, { recovery: [1, 2, 3, 4].map(passphraseOf) })],
  ])('of %s is read back as it was written', (_, directory) => {
    expect(decoded(directory)).toEqual(directory)
  })

  test('is the one of the format', () => {
    const bytes = encodeDirectory(genesis)
    expect(toHex(bytes.subarray(0, 16))).toBe('01000001000200000000000000000000')
    expect(bytes).toHaveLength(16 + 1281 + 2 * (16 + 1 + 32 + 1216) + 32)
    expect(directoryHash(storeId, genesis)).toEqual(
      hash256(label('GLK1/directory/v1'), fromHex(storeId), bytes),
    )
  })

  const roleAt = 16 + 16 + 32 + 1216
  test.each([
    ['an unknown role', pad(encodeDirectory(genesis)).with(roleAt, 5)],
    ['role 0', pad(encodeDirectory(genesis)).with(roleAt, 0)],
    ['a device id that is not its key’s', pad(encodeDirectory(genesis)).with(16, 0)],
    ['a recovery entry of a device', pad(encodeDirectory(genesis)).with(16 + 1281 + 16, 1)],
    ['more devices than bytes', pad(encodeDirectory(genesis)).with(3, 250)],
    ['251 devices', pad(encodeDirectory(genesis)).with(3, 251)],
    ['a previous directory of number 0', pad(encodeDirectory({ ...genesis, previous: [key(1)] }))],
    ['no previous directory later', pad(encodeDirectory({ ...two, previous: [] }))],
    [
      'two previous directories of number 1',
      pad(encodeDirectory({ ...two, previous: [key(1), key(2)] })),
    ],
    ['devices that descend', pad(encodeDirectory({ ...two, devices: two.devices.toReversed() }))],
    ['a device twice', pad(encodeDirectory({ ...genesis, devices: [founder, founder] }))],
    [
      'recovery that descends',
      pad(encodeDirectory({ ...genesis, recovery: [recoveryKey, passphrase] })),
    ],
    [
      'five passphrases',
      pad(encodeDirectory({ ...genesis, recovery: [1, 2, 3, 4, 5].map(passphraseOf) })),
    ],
    [
      'a slot that is there and gone',
      pad(encodeDirectory({ ...genesis, gone: ['41'.repeat(16)] })),
    ],
    ['gone slots that descend', pad(encodeDirectory({ ...genesis, gone: [slot(2), slot(1)] }))],
    ['4,097 gone slots', pad(encodeDirectory(genesis)).with(6, 0x10).with(7, 1)],
    [
      'three previous directories',
      pad(encodeDirectory({ ...two, number: 2, previous: [key(1), key(2), key(3)] })),
    ],
    [
      'a device from the future',
      pad(encodeDirectory({ ...genesis, devices: [{ ...founder, added: 1 }] })),
    ],
    [
      'a removal in the future',
      pad(encodeDirectory({ ...two, devices: [{ ...founder, removed: 2 }] })),
    ],
    [
      'a removal when it came',
      pad(encodeDirectory({ ...two, devices: [{ ...founder, added: 1, removed: 1 }] })),
    ],
  ])('with %s is keyring_malformed', (_, padded) => {
    expect(() => decodeDirectory(padded)).toThrow(code('keyring_malformed'))
  })

  test.each([['another version', pad(encodeDirectory(genesis)).with(0, 2)]])(
    'with %s is upgrade_required',
    (_, padded) => {
      expect(() => decodeDirectory(padded)).toThrow(code('upgrade_required'))
    },
  )

  test('with a byte after the end is envelope_padding', () => {
    const padded = pad(concatBytes(encodeDirectory(two), Uint8Array.of(1)))
    expect(() => decodeDirectory(padded)).toThrow(code('envelope_padding'))
  })
})

describe('the first directory', () => {
  test('names the founder, whom the store id authenticates', () => {
    expect(() => checkGenesisDirectory(storeId, genesis)).not.toThrow()
  })

  test.each<readonly [string, string, Directory]>([
    [
      'another founder',
      'store_id_mismatch',
      { ...genesis, devices: [device(2, { role: 'owner' })] },
    ],
    ['other random bytes', 'store_id_mismatch', { ...genesis, founderRandom: key(8) }],
    ['a founder who is no owner', 'keyring_chain', { ...genesis, devices: [device(1)] }],
    ['nobody', 'keyring_chain', { ...genesis, devices: [] }],
    ['a slot that is gone', 'keyring_chain', { ...genesis, gone: [slot(1)] }],
    ['two devices', 'keyring_chain', { ...genesis, devices: sorted(founder, device(2)) }],
    ['a later number', 'keyring_chain', two],
  ])('with %s is %s', (_, expected, directory) => {
    expect(() => checkGenesisDirectory(storeId, directory)).toThrow(code(expected))
  })
})

describe('a later directory', () => {
  const [, other] = two.devices[0] === founder ? two.devices : two.devices.toReversed()
  const second = other ?? device(2, { added: 1 })
  const joined = { ...two, number: 2, recovery: [1, 2].map(passphraseOf) }
  const dropped = successor(two, { recovery: [recoveryKey], gone: [passphrase.slotId] })
  const removed = successor(two, { devices: sorted(founder, { ...second, removed: 2 }) })

  test.each<readonly [string, Directory, Directory]>([
    ['adds a device', genesis, two],
    ['removes a device', two, removed],
    [
      'changes a role',
      two,
      successor(two, { devices: sorted(founder, { ...second, role: 'reader' }) }),
    ],
    ['changes nothing', two, successor(two)],
    [
      'drops the passphrase',
      two,
      successor(two, { recovery: [recoveryKey], gone: [passphrase.slotId] }),
    ],
    [
      'replaces the passphrase',
      two,
      successor(two, {
        recovery: [recoveryKey, recovery('passphrase', 0x43)],
        gone: [passphrase.slotId],
      }),
    ],
    ['keeps the passphrases of a join', joined, successor(joined, { devices: joined.devices })],
  ])('that %s follows', (_, before, after) => {
    expect(() => checkSuccessor(storeId, before, after)).not.toThrow()
  })

  test.each<readonly [string, Directory, Directory]>([
    ['the same number', two, { ...successor(two), number: 1 }],
    ['a number skipped', two, { ...successor(two), number: 3 }],
    ['two predecessors', two, successor(two, { previous: [directoryHash(storeId, two), key(1)] })],
    [
      'a slot with another key',
      two,
      successor(two, { recovery: [passphrase, { ...recoveryKey, kemKey: key(7, 1216) }] }),
    ],
    [
      'a slot of another type',
      two,
      successor(two, { recovery: [{ ...passphrase, type: 'recovery' }, recoveryKey] }),
    ],
    ['a slot that went unlisted', two, successor(two, { recovery: [recoveryKey] })],
    ['a slot gone that was none', two, successor(two, { gone: [slot(1)] })],
    ['a gone slot forgotten', dropped, successor(dropped, { gone: [] })],
    ['a gone slot that is back', dropped, successor(dropped, { recovery: two.recovery, gone: [] })],
    [
      'a new passphrase in addition to another',
      two,
      successor(two, { recovery: [passphrase, recoveryKey, passphraseOf(0x43)] }),
    ],
    ['another predecessor', two, successor(two, { previous: [key(1)] })],
    ['the predecessor’s predecessor', two, successor(two, { previous: two.previous })],
    ['a device that vanished', two, successor(two, { devices: [founder] })],
    [
      'a device with another signing key',
      two,
      successor(two, { devices: sorted({ ...founder, signingKey: key(7) }, second) }),
    ],
    [
      'a device with another X-Wing key',
      two,
      successor(two, { devices: sorted({ ...founder, kemKey: key(7, 1216) }, second) }),
    ],
    [
      'a device that came at another time',
      two,
      successor(two, { devices: sorted({ ...founder, added: 1 }, second) }),
    ],
    [
      'a removal in the past',
      successor(two),
      successor(successor(two), { devices: sorted(founder, { ...second, removed: 2 }) }),
    ],
    [
      'a removed device that returns',
      removed,
      successor(removed, { devices: sorted(founder, second) }),
    ],
    [
      'a removal moved',
      removed,
      successor(removed, { devices: sorted(founder, { ...second, removed: 3 }) }),
    ],
    [
      'a new device from the past',
      two,
      successor(two, { devices: sorted(founder, second, device(3, { added: 1 })) }),
    ],
    [
      'a new device that is removed',
      two,
      successor(two, { devices: sorted(founder, second, device(3, { added: 2, removed: 2 })) }),
    ],
  ])('with %s is keyring_chain', (_, before, after) => {
    expect(() => checkSuccessor(storeId, before, after)).toThrow(code('keyring_chain'))
  })

  test.each<readonly [string, Directory]>([
    ['a removed device', removed],
    ['a removed passphrase', successor(two, { recovery: [recoveryKey] })],
    [
      'a replaced passphrase',
      successor(two, { recovery: [recoveryKey, recovery('passphrase', 0x44)] }),
    ],
    [
      'a recovery slot with other keys',
      successor(two, { recovery: [passphrase, { ...recoveryKey, kemKey: key(7, 1216) }] }),
    ],
    ['a removed recovery key', successor(two, { recovery: [passphrase] })],
  ])('with %s takes a new epoch', (_, after) => {
    expect(() => checkRotation(two, after, true)).toThrow(code('keyring_chain'))
    expect(() => checkRotation(two, after, false)).not.toThrow()
  })

  test.each<readonly [string, Directory]>([
    ['a new device', successor(two, { devices: sorted(founder, second, device(3, { added: 2 })) })],
    ['nothing changed', successor(two)],
  ])('with %s stays in its epoch', (_, after) => {
    expect(() => checkRotation(two, after, true)).not.toThrow()
  })

  test('a removal long ago takes no new epoch again', () => {
    expect(() => checkRotation(removed, successor(removed), true)).not.toThrow()
  })
})

describe('a recovery identity', () => {
  const adding = (role: DeviceEntry['role']): Directory =>
    successor(two, { devices: sorted(...two.devices, device(3, { added: 2, role })) })

  test.each([
    ['passphrase', passphrase, 'writer'],
    ['passphrase', passphrase, 'reader'],
    ['recovery key', recoveryKey, 'owner'],
    ['recovery key', recoveryKey, 'auditor'],
  ] as const)('of a %s adds a device', (_, entry, role) => {
    expect(() => checkRecoveryStep(entry, two, adding(role))).not.toThrow()
  })

  test.each<readonly [string, RecoveryEntry, Directory]>([
    ['add an owner by passphrase', passphrase, adding('owner')],
    [
      'remove a device',
      recoveryKey,
      successor(two, {
        devices: two.devices.map((one) => ({ ...one, removed: one.role === 'owner' ? 2 : 0 })),
      }),
    ],
    [
      'change a role',
      recoveryKey,
      successor(two, { devices: two.devices.map((one) => ({ ...one, role: 'owner' })) }),
    ],
    ['drop a recovery identity', recoveryKey, { ...adding('reader'), recovery: [recoveryKey] }],
    [
      'add a recovery identity',
      passphrase,
      { ...adding('reader'), recovery: [passphrase, recoveryKey, recovery('recovery', 0x50)] },
    ],
  ])('cannot %s', (_, entry, after) => {
    expect(() => checkRecoveryStep(entry, two, after)).toThrow(code('record_role'))
  })
})
