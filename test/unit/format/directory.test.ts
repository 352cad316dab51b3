// The layout of directories (FORMAT §7): directory-succession.test.ts tests which may follow which.

import { describe, expect, test } from 'vitest'
import { concatBytes, fromHex, label, toHex } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import {
  type Argon2Parameters,
  countByPassphrase,
  decodeDirectory,
  type Directory,
  directoryHash,
  encodeDirectory,
  findDevice,
  findRemoved,
} from '../../../src/format/directory.ts'
import { recoveryIdOf } from '../../../src/format/id.ts'
import { padded } from '../../property/format-values.ts'
import {
  device,
  founder,
  genesis,
  key,
  passphrase,
  passphraseOf,
  recoveryKey,
  recoveryKeyOf,
  removal,
  slot,
  sorted,
  seed,
  successor,
  two,
} from '../../support/directories.ts'

const code = (name: string): unknown => expect.objectContaining({ code: name })
const encoded = (directory: Directory): Uint8Array =>
  padded('directory', encodeDirectory(directory))
const [, second = founder] = two.devices[0] === founder ? two.devices : two.devices.toReversed()
const removed = successor(two, { devices: [founder], removed: [removal(second.deviceId, 2)] })

describe('the layout', () => {
  test.each<readonly [string, Directory]>([
    ['number 0', genesis],
    ['two devices', two],
    ['a removed device', removed],
    [
      'a removed device with its last record',
      { ...removed, removed: [removal(second.deviceId, 2, { sequence: 9, record: key(3) })] },
    ],
    ['no recovery', successor(genesis, { recovery: [] })],
    ['64 recovery keys', successor(genesis, { recovery: upTo(64).map(recoveryKeyOf) })],
    ['a quota of none', successor(genesis, { quota: 0 })],
    ['a quota of 250', successor(genesis, { quota: 250 })],
    ['a device with a name', { ...genesis, devices: [{ ...founder, name: 'Zoë’s laptop' }] }],
    ['a name of 256 bytes', { ...genesis, devices: [{ ...founder, name: '🦉'.repeat(64) }] }],
    ['a device that a recovery key admitted', admittedBy('recovery')],
    ['a device that a passphrase admitted', admittedBy('passphrase')],
  ])('of %s is read back as it was written', (_, directory) => {
    expect(decodeDirectory(encoded(directory))).toEqual(directory)
  })

  test('is the one of the format', () => {
    const bytes = encodeDirectory(genesis)
    const counts = '000100000002'
    expect(toHex(bytes.subarray(0, LISTS))).toBe(`0200${counts}0020${'00'.repeat(8)}`)
    const entries = LISTS + DEVICE + (16 + 1 + 32 + 1216) * 2 + 24
    expect(bytes).toHaveLength(entries + 32)
    expect(bytes.subarray(entries)).toEqual(genesis.founderRandom)
    expect(directoryHash(seed, genesis)).toEqual(
      hash256(label('GLK1/directory/v2'), fromHex(seed), bytes),
    )
  })

  test('of a device and of a removed one is that of the format', () => {
    const reader = { ...founder, role: 'reader', name: 'é' } as const
    const by = { admittedBy: 'passphrase', slotId: slot(0x41), added: 5 } as const
    const before = { ...two, number: 9, devices: [{ ...reader, ...by }] }
    const last = { sequence: 3, record: key(8) }
    const bytes = encodeDirectory({ ...before, removed: [removal('ee'.repeat(16), 6, last)] })
    const at = LISTS + 32
    expect(toHex(bytes.subarray(at, at + DEVICE + 2))).toBe(
      `${founder.deviceId}${toHex(founder.signingKey)}${toHex(founder.kemKey)}` +
        `${toHex(founder.keySignature)}0303${slot(0x41)}${u64(5)}0002c3a9`,
    )
    expect(toHex(bytes.subarray(at + DEVICE + 2, at + DEVICE + 2 + 64))).toBe(
      `${'ee'.repeat(16)}${u64(6)}${u64(3)}${'08'.repeat(32)}`,
    )
  })

  test('binds the Argon2id parameters of a passphrase', () => {
    const bytes = toHex(encodeDirectory(successor(genesis)))
    expect(bytes).toContain(`${'41'.repeat(1216)}${'05'.repeat(16)}0000000300040000`)
    const hashes = [{}, { salt: key(6, 16) }, { passes: 4 }, { memoryKiB: 65_536 }].map((change) =>
      toHex(directoryHash(seed, { ...genesis, recovery: [withCosts(change), recoveryKey] })),
    )
    expect(new Set(hashes).size).toBe(4)
  })

  /** Of a device without a name. */
  const DEVICE = 16 + 32 + 1216 + 64 + 2 + 16 + 8 + 2
  /** Where the lists begin. */
  const LISTS = 1 + 1 + 2 + 2 + 2 + 2 + 8
  const roleAt = LISTS + 16 + 32 + 1216 + 64
  const bytesOf = (directory: Directory = genesis): Uint8Array => encoded(directory)

  test.each([
    ['an unknown role', bytesOf().with(roleAt, 5)],
    ['role 0', bytesOf().with(roleAt, 0)],
    ['a device that nobody admitted', bytesOf().with(roleAt + 1, 0)],
    ['a device that a fourth kind admitted', bytesOf().with(roleAt + 1, 4)],
    ['a device by a passphrase of no slot', bytesOf().with(roleAt + 1, 3)],
    ['a device by an owner and a slot', bytesOf().with(roleAt + 2, 1)],
    ['a device id that is not its key’s', bytesOf().with(LISTS, 0)],
    ['a recovery entry of a device', bytesOf().with(LISTS + DEVICE + 16, 1)],
    ['more devices than bytes', bytesOf().with(3, 250)],
    ['251 devices', bytesOf().with(3, 251)],
    ['16,385 removed devices', bytesOf().with(4, 0x40).with(5, 1)],
    ['66 recovery entries', bytesOf().with(7, 66)],
    ['65 recovery keys', bytesOf(successor(genesis, { recovery: upTo(65).map(recoveryKeyOf) }))],
    ['a quota of 251', bytesOf().with(9, 251)],
    ['a previous directory of number 0', bytesOf({ ...genesis, previous: key(1) })],
    ['no previous directory later', bytesOf({ ...two, previous: undefined })],
    ['devices that descend', bytesOf({ ...two, devices: two.devices.toReversed() })],
    ['a device twice', bytesOf({ ...genesis, devices: [founder, founder] })],
    ['a removed device twice', bytesOf({ ...removed, removed: twice(removed.removed) })],
    [
      'removed devices that descend',
      bytesOf({ ...removed, removed: ['02', '01'].map((byte) => removal(byte.repeat(16), 1)) }),
    ],
    ['a device that is there and removed', bytesOf({ ...removed, devices: two.devices })],
    ['recovery that descends', bytesOf({ ...genesis, recovery: [recoveryKey, passphrase] })],
    ['two passphrases', bytesOf({ ...genesis, recovery: [1, 2].map(passphraseOf) })],
    ['a device from the future', bytesOf({ ...genesis, devices: [{ ...founder, added: 1 }] })],
    ['a removed device of the id of a recovery key', bytesOf(clashing())],
    ['one Argon2id pass', bytesOf(withParameters({ passes: 1 }))],
    ['eleven Argon2id passes', bytesOf(withParameters({ passes: 11 }))],
    ['less than 64 MiB for Argon2id', bytesOf(withParameters({ memoryKiB: 65_535 }))],
    ['more than 1 GiB for Argon2id', bytesOf(withParameters({ memoryKiB: 1_048_577 }))],
    ['a sequence number without a record', bytesOf(lastOf(1, 0))],
    ['a record without a sequence number', bytesOf(lastOf(0, 1))],
    ['a removal in the future', bytesOf({ ...removed, removed: [removal('ee'.repeat(16), 3)] })],
    ['a removal at number 0', bytesOf({ ...removed, removed: [removal('ee'.repeat(16), 0)] })],
    ['a name of 65 characters', bytesOf(named('x'.repeat(65)))],
    ['a name of 257 bytes', bytesOf(named('x'.repeat(257)))],
    ['a name with a line break', bytesOf(named('a\nb'))],
    ['a name with a bidirectional override', bytesOf(named('a\u202eb'))],
    ['a name with a space before it', bytesOf(named(' a'))],
    ['a name that is no UTF-8', bytesOf(named('ab')).with(LISTS + DEVICE, 0xff)],
  ])('with %s is keyring_malformed', (_, bytes) => {
    expect(() => decodeDirectory(bytes)).toThrow(code('keyring_malformed'))
  })

  test('says nothing of a name that is refused', () => {
    expect(() => decodeDirectory(bytesOf(named('SECRET\n')))).not.toThrow(/SECRET/)
  })

  test('with another version is upgrade_required', () => {
    expect(() => decodeDirectory(bytesOf().with(0, 1))).toThrow(code('upgrade_required'))
  })

  test('with a byte after the end is envelope_padding', () => {
    const plaintext = concatBytes(encodeDirectory(two), Uint8Array.of(1))
    expect(() => decodeDirectory(padded('directory', plaintext))).toThrow(code('envelope_padding'))
  })
})

test('active and removed devices are found in their lists alone', () => {
  expect(findDevice(removed, founder.deviceId)).toEqual(founder)
  expect(findDevice(removed, second.deviceId)).toBeUndefined()
  expect(findRemoved(removed, second.deviceId)?.removed).toBe(2)
  expect(findRemoved(removed, founder.deviceId)).toBeUndefined()
})

test('a quota counts the active devices that a passphrase has admitted', () => {
  const [one, other] = [3, 4].map((byte) => device(byte, { admittedBy: 'passphrase' }))
  if (one === undefined || other === undefined) throw new Error('two devices')
  const devices = sorted(founder, device(5, { admittedBy: 'recovery' }), one, other)
  expect(countByPassphrase({ devices })).toBe(2)
  const list = { ...genesis, devices, removed: [removal(device(6).deviceId, 1)] }
  expect(countByPassphrase(list)).toBe(2)
})

function admittedBy(who: 'recovery' | 'passphrase'): Directory {
  return successor(genesis, { devices: sorted(founder, device(2, { admittedBy: who })) })
}

function named(name: string): Directory {
  return { ...genesis, devices: [{ ...founder, name }] }
}

function clashing(): Directory {
  const id = recoveryIdOf(recoveryKey.slotId, recoveryKey.signingKey)
  return successor(genesis, { removed: [removal(id, 1)] })
}

function withParameters(change: Partial<Argon2Parameters>): Directory {
  const argon2 = { ...passphrase.argon2, ...change }
  return { ...genesis, recovery: [{ ...passphrase, argon2 }, recoveryKey] }
}

/** Of a removed device. */
function lastOf(sequence: number, byte: number): Directory {
  return { ...removed, removed: [removal('ee'.repeat(16), 1, { sequence, record: key(byte) })] }
}

function withCosts(change: Partial<Argon2Parameters>): Directory['recovery'][number] {
  return { ...passphrase, argon2: { ...passphrase.argon2, ...change } }
}

function twice<T>(list: readonly T[]): readonly T[] {
  return list.flatMap((one) => [one, one])
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index)
}

function u64(value: number): string {
  return value.toString(16).padStart(16, '0')
}
