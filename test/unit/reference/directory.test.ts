// FORMAT §7, §7.1 and §7.2 as the reference decoder implements them: the layout of a directory,
// which one may follow which, and what two make together.

import { describe, expect, test } from 'vitest'
import { concat } from '../../support/reference/bytes.ts'
import { joinDirectories } from '../../support/reference/directory-join.ts'
import {
  type Author,
  decodeDirectory,
  type Device,
  type Directory,
  directoryHash,
  encodeDirectory,
  gives,
  type RecoveryEntry,
} from '../../support/reference/directory.ts'
import { pad } from '../../support/reference/envelope.ts'
import { deviceIdOf, storeIdOf } from '../../support/reference/identity.ts'
import { publicKeyOf } from '../../support/reference/signature.ts'
import { checkGenesisDirectory, checkNextDirectory } from '../../support/reference/succession.ts'

const storeId = 'ab'.repeat(16)
const filled = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
const slot = (byte: number): string => byte.toString(16).padStart(2, '0').repeat(16)
const hash = (byte: number): string => slot(byte).repeat(2)
const noRecord = { sequence: 0, record: hash(0) }

function device(byte: number, change: Partial<Device> = {}): Device {
  const signingKey = publicKeyOf(filled(byte))
  const keys = { deviceId: deviceIdOf(signingKey), signingKey, kemKey: filled(byte, 1216) }
  const numbers = { added: 1, named: 1 }
  return { ...keys, role: 'writer', admittedBy: 1, ...numbers, name: `n${byte}`, ...change }
}

const idOf = (byte: number): string => device(byte).deviceId
const owner = device(1, { role: 'owner', added: 0, named: 0 })

function passphrase(byte: number, change: { passes?: number; salt?: Uint8Array } = {}) {
  const keys = { signingKey: filled(byte), kemKey: filled(byte, 1216) }
  const costs = { salt: filled(byte, 16), passes: 3, memoryKiB: 262_144 }
  return { slotId: slot(byte), slotType: 2, ...keys, ...costs, ...change } as const
}

function recoveryKey(byte: number): RecoveryEntry {
  const keys = { signingKey: filled(byte), kemKey: filled(byte, 1216) }
  return { slotId: slot(byte), slotType: 3, ...keys }
}

const byId = (a: Device, b: Device): number => (a.deviceId < b.deviceId ? -1 : 1)
const sorted = (...devices: readonly Device[]): readonly Device[] => devices.toSorted(byId)

function directory(change: Partial<Directory> = {}): Directory {
  const lists = { devices: [owner], removed: [], recoveries: [], gone: [] }
  const rest = { quota: 2, quotaSet: 1, founderRandom: undefined }
  return { number: 4, previous: [hash(9)], ...lists, ...rest, ...change }
}

const decoded = (one: Directory): Directory =>
  decodeDirectory(pad('directory', encodeDirectory(one)))

describe('a directory', () => {
  const removed = { deviceId: idOf(3), removed: 2, sequence: 7, record: hash(7) }
  const whole = directory({
    devices: sorted(owner, device(2, { name: 'naïve ☃', role: 'auditor', admittedBy: 3 })),
    removed: [removed],
    recoveries: [passphrase(4), recoveryKey(5)],
    gone: [slot(6)],
  })

  test('reads back', () => {
    expect(decoded(whole)).toEqual(whole)
    const names = 2 + new TextEncoder().encode('naïve ☃').length
    const [devices, entries] = [2 * 1284 + names, 1265 + 24 + 1265]
    const sizes = 28 + 32 + devices + 64 + entries + 16
    expect(encodeDirectory(whole).length).toBe(sizes)
  })

  test('may have a slot with the id of a device', () => {
    const recoveries = [{ ...recoveryKey(5), slotId: owner.deviceId }]
    expect(() => decoded(directory({ recoveries }))).not.toThrow()
  })

  test('of number 0 ends in the founder’s random bytes', () => {
    const numbers = { number: 0, previous: [], quotaSet: 0 }
    const first = directory({ ...numbers, founderRandom: filled(8) })
    expect(decoded(first)).toEqual(first)
  })

  test.each<[string, Partial<Directory>]>([
    ['named before it was added', { devices: [device(2, { added: 2 })] }],
    ['named later than now', { devices: [device(2, { named: 5 })] }],
    ['a name with a control character', { devices: [device(2, { name: 'a\u0007' })] }],
    ['a name with white space at its end', { devices: [device(2, { name: 'a ' })] }],
    ['a name of 65 characters', { devices: [device(2, { name: 'a'.repeat(65) })] }],
    ['another id than its key’s', { devices: [device(2, { deviceId: slot(2) })] }],
    ['one device twice', { devices: [owner, owner] }],
    ['one device active and removed', { removed: [{ ...removed, deviceId: owner.deviceId }] }],
    ['a removal at number 0', { removed: [{ ...removed, removed: 0 }] }],
    ['a removal at a later number', { removed: [{ ...removed, removed: 5 }] }],
    ['a last record without a number', { removed: [{ ...removed, sequence: 0 }] }],
    ['a number without a last record', { removed: [{ ...removed, record: hash(0) }] }],
    ['a quota above 250', { quota: 251 }],
    ['a quota that was set later than now', { quotaSet: 5 }],
    ['five passphrases', { recoveries: [2, 3, 4, 5, 6].map((byte) => passphrase(byte)) }],
    ['65 recovery keys', { recoveries: Array.from({ length: 65 }, (_, i) => recoveryKey(i)) }],
    ['an entry that is gone', { recoveries: [recoveryKey(5)], gone: [slot(5)] }],
    ['no previous directory', { previous: [] }],
  ])('is malformed with %s', (_, change) => {
    expect(() => decoded(directory(change))).toThrow(/^keyring_malformed: /)
  })

  test('is malformed where something else admitted a device', () => {
    const bytes = pad('directory', encodeDirectory(directory()))
    const at = 1 + 1 + 10 + 8 + 8 + 32 + 16 + 32 + 1216 + 1
    const altered = concat(bytes.slice(0, at), Uint8Array.of(4), bytes.slice(at + 1))
    expect(bytes[at]).toBe(1)
    expect(() => decodeDirectory(altered)).toThrow(/^keyring_malformed: /)
  })
})

describe('the first directory', () => {
  const founderRandom = filled(7)
  const founded = storeIdOf(owner.signingKey, founderRandom)
  const first = directory({ number: 0, previous: [], quotaSet: 0, founderRandom })

  test('has the founder', () => {
    expect(() => checkGenesisDirectory(founded, first)).not.toThrow()
    expect(() => checkGenesisDirectory(storeId, first)).toThrow(/^store_id_mismatch: /)
  })

  test.each<[string, Partial<Directory>]>([
    ['another role', { devices: [{ ...owner, role: 'writer' }] }],
    ['a founder whom a passphrase admitted', { devices: [{ ...owner, admittedBy: 3 }] }],
    ['a second device', { devices: [owner, device(2)] }],
    ['something gone', { gone: [slot(1)] }],
    ['a removed device', { removed: [{ deviceId: idOf(2), removed: 1, ...noRecord }] }],
  ])('is refused with %s', (_, change) => {
    const begin = () => checkGenesisDirectory(founded, { ...first, ...change })
    expect(begin).toThrow(/^keyring_chain: /)
  })
})

const last = { sequence: 3, record: hash(3) }
const gonePeer = { deviceId: idOf(9), removed: 2, ...noRecord }
const before = directory({
  devices: sorted(owner, device(2), device(3, { admittedBy: 3 })),
  removed: [gonePeer],
  recoveries: [passphrase(4), recoveryKey(5)],
  gone: [slot(6)],
})
const [byOwner, byKey, byPassphrase] = (['owner', 'key', 'passphrase'] as const).map(
  (name): Author => {
    const signingKey = filled(1)
    if (name === 'owner') return { as: 'device', role: 'owner', signingKey }
    return { as: 'recovery', grade: name === 'key' ? 'owner' : 'writer', signingKey }
  },
)
const others = (byte: number): readonly Device[] =>
  before.devices.filter((one) => one.deviceId !== idOf(byte))
const change = (byte: number, fields: Partial<Device>): Partial<Directory> => ({
  devices: before.devices.map((one) => (one.deviceId === idOf(byte) ? { ...one, ...fields } : one)),
})
const newcomer = (fields: Partial<Device> = {}): Partial<Directory> => ({
  devices: sorted(...before.devices, device(7, { added: 5, named: 5, ...fields })),
})
const removal = (fields: object = {}): Partial<Directory> => ({
  devices: others(2),
  removed: [gonePeer, { deviceId: idOf(2), removed: 5, ...last, ...fields }].toSorted((a, b) =>
    a.deviceId < b.deviceId ? -1 : 1,
  ),
})

function check(author: Author | undefined, sameEpoch: boolean, fields: Partial<Directory>): void {
  const previous = [directoryHash(storeId, before)]
  const next = { ...before, number: 5, previous, ...fields }
  if (author === undefined) throw new Error('no author')
  checkNextDirectory(before, next, { storeId, author, sameEpoch, lastRecord: () => last })
}

describe('the next directory may', () => {
  test.each<[string, Author | undefined, boolean, Partial<Directory>]>([
    ['change nothing', byOwner, true, {}],
    ['add a device', byOwner, true, newcomer()],
    ['add an owner by recovery key', byKey, true, newcomer({ role: 'owner', admittedBy: 2 })],
    ['add a device by passphrase', byPassphrase, true, newcomer({ admittedBy: 3 })],
    ['name a device', byOwner, true, change(2, { name: 'other', named: 5 })],
    ['set the quota', byOwner, true, { quota: 0, quotaSet: 5 }],
    [
      'add a recovery key',
      byOwner,
      true,
      { recoveries: [passphrase(4), recoveryKey(5), recoveryKey(8)] },
    ],
    ['raise a role in a new epoch', byOwner, false, change(2, { role: 'owner' })],
    ['remove a device in a new epoch', byOwner, false, removal()],
    [
      'replace the passphrase in a new epoch',
      byOwner,
      false,
      { recoveries: [recoveryKey(5), passphrase(8)], gone: [slot(4), slot(6)] },
    ],
  ])('%s', (_, author, sameEpoch, fields) => {
    expect(() => check(author, sameEpoch, fields)).not.toThrow()
  })
})

describe('the next directory is refused as keyring_chain if it', () => {
  test.each<[string, Author | undefined, boolean, Partial<Directory>]>([
    ['skips a number', byOwner, true, { number: 6 }],
    ['follows another one', byOwner, true, { previous: [hash(1)] }],
    ['loses a device', byOwner, false, { devices: others(2) }],
    ['removes a device in the same epoch', byOwner, true, removal()],
    ['removes at another number', byOwner, false, removal({ removed: 4 })],
    ['names another last record', byOwner, false, removal({ record: hash(4) })],
    ['names no last record', byOwner, false, removal(noRecord)],
    ['changes a removed device', byOwner, false, { removed: [{ ...gonePeer, removed: 3 }] }],
    ['loses a removed device', byOwner, false, { removed: [] }],
    [
      'removes a device that never was',
      byOwner,
      false,
      { removed: [gonePeer, { ...gonePeer, deviceId: 'f'.repeat(32), removed: 5 }] },
    ],
    [
      'takes a removed device back',
      byOwner,
      false,
      { devices: sorted(...before.devices, device(9, { added: 5, named: 5 })), removed: [] },
    ],
    ['changes an X-Wing key', byOwner, false, change(2, { kemKey: filled(3, 1216) })],
    ['changes when a device was added', byOwner, false, change(2, { added: 0 })],
    ['changes what admitted a device', byOwner, false, change(3, { admittedBy: 1 })],
    ['names a device at another number', byOwner, true, change(2, { name: 'x', named: 4 })],
    ['names a device as it was named', byOwner, true, change(2, { named: 5 })],
    ['sets the quota at another number', byOwner, true, { quota: 9 }],
    ['sets the quota as it was set', byOwner, true, { quotaSet: 5 }],
    ['adds a device at another number', byOwner, true, newcomer({ added: 4 })],
    ['names a new device at another number', byOwner, true, newcomer({ named: 4 })],
    [
      'says that a recovery key admitted whom an owner adds',
      byOwner,
      true,
      newcomer({ admittedBy: 2 }),
    ],
    ['says that an owner admitted whom a key adds', byKey, true, newcomer({ admittedBy: 1 })],
    [
      'says that a key admitted whom a passphrase adds',
      byPassphrase,
      true,
      newcomer({ admittedBy: 2 }),
    ],
    ['changes a role in the same epoch', byOwner, true, change(2, { role: 'reader' })],
    ['drops an entry in the same epoch', byOwner, true, dropped(4)],
    ['forgets what is gone', byOwner, false, { gone: [] }],
    ['drops an entry that is not gone', byOwner, false, { recoveries: [recoveryKey(5)] }],
    [
      'changes a passphrase’s costs',
      byOwner,
      false,
      { recoveries: [passphrase(4, { passes: 2 }), recoveryKey(5)] },
    ],
    [
      'changes a passphrase’s salt',
      byOwner,
      false,
      { recoveries: [passphrase(4, { salt: filled(1, 16) }), recoveryKey(5)] },
    ],
    [
      'adds a passphrase to another',
      byOwner,
      true,
      { recoveries: [passphrase(4), recoveryKey(5), passphrase(8)] },
    ],
    ['has no owner left', byOwner, false, change(1, { role: 'writer' })],
  ])('%s', (_, author, sameEpoch, fields) => {
    expect(() => check(author, sameEpoch, fields)).toThrow(/^keyring_chain: /)
  })

  function dropped(byte: number): Partial<Directory> {
    const recoveries = before.recoveries.filter((one) => one.slotId !== slot(byte))
    return { recoveries, gone: [slot(6), slot(byte)].toSorted() }
  }
})

test('record_role: a passphrase admits more than the quota, which an owner may exceed', () => {
  const two = [device(7), device(8)].map((one) => ({ ...one, added: 5, named: 5 }))
  const added = (admittedBy: 1 | 3) => ({
    devices: sorted(...before.devices, ...two.map((one) => ({ ...one, admittedBy }))),
  })
  expect(() => check(byPassphrase, true, added(3))).toThrow(/^record_role: /)
  expect(() => check(byOwner, true, added(1))).not.toThrow()
})

test.each<[string, Author | undefined, boolean, Partial<Directory>]>([
  ['adds an owner by passphrase', byPassphrase, true, newcomer({ role: 'owner', admittedBy: 3 })],
  ['begins an epoch', byKey, false, newcomer({ admittedBy: 2 })],
  ['names a device', byKey, true, change(2, { name: 'x', named: 5 })],
  ['sets the quota', byPassphrase, true, { quota: 9, quotaSet: 5 }],
  ['changes a role', byKey, true, change(2, { role: 'owner' })],
  ['removes a device', byKey, false, removal()],
])('record_role: a recovery identity %s', (_, author, sameEpoch, fields) => {
  expect(() => check(author, sameEpoch, fields)).toThrow(/^record_role: /)
})

test('a keyring that raises the quota gives something, one that lowers it does not', () => {
  expect(gives(before, { ...before, quota: 3 })).toBe(true)
  expect(gives(before, { ...before, quota: 1 })).toBe(false)
})

describe('a joined directory', () => {
  const join = (first: Partial<Directory>, second: Partial<Directory>): Directory => {
    const sides = [directory(first), directory({ number: 6, ...second })] as const
    const joined = joinDirectories(storeId, ...sides)
    const [left, right] = joined.previous
    const turned = joinDirectories(storeId, sides[1], sides[0])
    expect(turned).toEqual({ ...joined, previous: [right, left] })
    return joined
  }

  test('follows the greater number, and names both', () => {
    expect(join({}, {})).toMatchObject({ number: 7, previous: { length: 2 } })
  })

  test.each<[string, Partial<Device>, Partial<Device>, Partial<Device>]>([
    ['the number it came at', { added: 1 }, { added: 3, named: 3 }, { added: 1, named: 3 }],
    ['what admitted it', { admittedBy: 3 }, { admittedBy: 2 }, { admittedBy: 2 }],
    ['the role', { role: 'owner' }, { role: 'reader' }, { role: 'reader' }],
  ])('has of %s the lesser', (_, first, second, expected) => {
    const { devices } = join({ devices: [device(2, first)] }, { devices: [device(2, second)] })
    expect(devices).toEqual([device(2, expected)])
  })

  test.each([
    ['the later', { name: 'b', named: 3 }, { name: 'a', named: 2 }, { name: 'b', named: 3 }],
    ['of equal ones the lesser', { name: 'b' }, { name: 'a' }, { name: 'a' }],
    ['by bytes', { name: '\u{1f600}' }, { name: '\uff5e' }, { name: '\uff5e' }],
    ['of equal beginnings the shorter', { name: 'ab' }, { name: 'a' }, { name: 'a' }],
  ])('has of two names %s', (_, first, second, expected) => {
    const { devices } = join({ devices: [device(2, first)] }, { devices: [device(2, second)] })
    expect(devices).toEqual([device(2, expected)])
  })

  const entry = (removed: number, sequence: number, byte: number) => {
    return { deviceId: idOf(2), removed, sequence, record: hash(byte) }
  }

  test('has removed whom either removed', () => {
    const { devices, removed } = join(
      { devices: [device(2)] },
      { devices: [], removed: [entry(3, 1, 1)] },
    )
    expect([devices, removed]).toEqual([[], [entry(3, 1, 1)]])
  })

  test.each([
    ['the greater sequence with its record', entry(3, 1, 1), entry(5, 4, 2), entry(3, 4, 2)],
    ['of equal ones the lesser record', entry(3, 4, 2), entry(5, 4, 1), entry(3, 4, 1)],
  ])('has of two removals the smaller number and %s', (_, first, second, expected) => {
    expect(join({ removed: [first] }, { removed: [second] }).removed).toEqual([expected])
  })

  test('removes a device with two X-Wing keys', () => {
    const other = device(2, { kemKey: filled(3, 1216) })
    const { devices, removed } = join({ devices: [device(2)] }, { devices: [other] })
    const gone = { deviceId: idOf(2), removed: 7, ...noRecord }
    expect([devices, removed]).toEqual([[], [gone]])
  })

  test.each([
    ['later one', { quota: 9, quotaSet: 3 }, { quota: 1, quotaSet: 2 }, { quota: 9, quotaSet: 3 }],
    ['smaller of equal ones', { quota: 9 }, { quota: 1 }, { quota: 1, quotaSet: 1 }],
  ])('has of two quotas the %s', (_, first, second, expected) => {
    expect(join(first, second)).toMatchObject(expected)
  })

  test('has nothing of a passphrase with two costs', () => {
    const other = passphrase(4, { passes: 2 })
    const { recoveries, gone } = join({ recoveries: [passphrase(4)] }, { recoveries: [other] })
    expect([recoveries, gone]).toEqual([[], [slot(4)]])
  })

  test('keeps the four least of more passphrases', () => {
    const first = { recoveries: [passphrase(1), passphrase(4), passphrase(5)] }
    const second = { recoveries: [passphrase(2), passphrase(3), recoveryKey(9)] }
    const { recoveries, gone } = join(first, second)
    expect(recoveries.map((one) => one.slotId)).toEqual([1, 2, 3, 4, 9].map(slot))
    expect(gone).toEqual([slot(5)])
  })
})
