// FORMAT §7 and §7.1 as the reference decoder implements them: the layout of a directory, and which
// one may follow which.

import { describe, expect, test } from 'vitest'
import {
  admitted,
  device,
  directory,
  filled,
  hash,
  idOf,
  noRecord,
  owner,
  passphrase,
  recoveryKey,
  slot,
  sorted,
  seed,
  unsigned,
} from '../../support/reference-directories.ts'
import { concat } from '../../support/reference/bytes.ts'
import {
  type Author,
  decodeDirectory,
  type Device,
  type Directory,
  directoryHash,
  encodeDirectory,
  type PassphraseEntry,
} from '../../support/reference/directory.ts'
import { pad } from '../../support/reference/envelope.ts'
import { recoveryIdOf, seedOf } from '../../support/reference/identity.ts'
import { checkGenesisDirectory, checkNextDirectory } from '../../support/reference/succession.ts'

const decoded = (one: Directory): Directory =>
  decodeDirectory(pad('directory', encodeDirectory(one)))

describe('a directory', () => {
  const removed = { deviceId: idOf(3), removed: 2, sequence: 7, record: hash(7) }
  const whole = directory({
    devices: sorted(owner, device(2, { ...admitted(3, 4), name: 'naïve ☃', role: 'auditor' })),
    removed: [removed],
    recoveries: [passphrase(4), recoveryKey(5)],
  })

  test('reads back', () => {
    expect(decoded(whole)).toEqual(whole)
    const names = 2 + new TextEncoder().encode('naïve ☃').length
    const [devices, entries] = [2 * (1374 - 18) + names, 1265 + 24 + 1265]
    const sizes = 18 + 32 + devices + 64 + entries
    expect(encodeDirectory(whole).length).toBe(sizes)
  })

  test('may have a slot with the id of a device', () => {
    const recoveries = [{ ...recoveryKey(5), slotId: owner.deviceId }]
    expect(() => decoded(directory({ recoveries }))).not.toThrow()
  })

  test('of number 0 ends in the founder’s random bytes', () => {
    const first = directory({ number: 0, previous: undefined, founderRandom: filled(8) })
    expect(decoded(first)).toEqual(first)
  })

  const costly = (change: Partial<PassphraseEntry>): Partial<Directory> => {
    return { recoveries: [{ ...passphrase(4), ...change }] }
  }

  test.each([
    ['least', { passes: 2, memoryKiB: 65_536 }],
    ['greatest', { passes: 10, memoryKiB: 1_048_576 }],
  ])('may have an Argon2id of the %s costs', (_, costs) => {
    expect(() => decoded(directory(costly(costs)))).not.toThrow()
  })

  test('has no device with the id of one of its recovery identities', () => {
    const key = recoveryKey(5)
    const id = recoveryIdOf(key.slotId, key.signingKey)
    const gone = { removed: [{ ...removed, deviceId: id }] }
    expect(() => decoded(directory(gone))).not.toThrow()
    const both = () => decoded(directory({ ...gone, recoveries: [key] }))
    expect(both).toThrow(/^keyring_malformed: A device has the id/)
  })

  test.each<[string, Partial<Directory>]>([
    ['a slot id of an owner', { devices: [device(2, { slotId: slot(4) })] }],
    ['no slot id of a passphrase', { devices: [device(2, { admittedBy: 3 })] }],
    ['no slot id of a recovery key', { devices: [device(2, { admittedBy: 2 })] }],
    ['one pass of Argon2id', costly({ passes: 1 })],
    ['11 passes of Argon2id', costly({ passes: 11 })],
    ['too little memory of Argon2id', costly({ memoryKiB: 65_535 })],
    ['too much memory of Argon2id', costly({ memoryKiB: 1_048_577 })],
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
    ['added later than now', { devices: [device(2, { added: 5 })] }],
    ['two passphrases', { recoveries: [2, 3].map((byte) => passphrase(byte)) }],
    ['65 recovery keys', { recoveries: Array.from({ length: 65 }, (_, i) => recoveryKey(i)) }],
    ['no previous directory', { previous: undefined }],
  ])('is malformed with %s', (_, change) => {
    expect(() => decoded(directory(change))).toThrow(/^keyring_malformed: /)
  })

  test('is malformed where something else admitted a device', () => {
    const bytes = pad('directory', encodeDirectory(directory()))
    const at = 18 + 32 + 16 + 32 + 1216 + 64 + 1
    const altered = concat(bytes.slice(0, at), Uint8Array.of(4), bytes.slice(at + 1))
    expect(bytes[at]).toBe(1)
    expect(() => decodeDirectory(altered)).toThrow(/^keyring_malformed: /)
  })
})

describe('the first directory', () => {
  const founderRandom = filled(7)
  const founded = seedOf(owner.signingKey, founderRandom)
  const first = directory({ number: 0, previous: undefined, founderRandom })

  test('has the founder', () => {
    expect(() => checkGenesisDirectory(founded, first)).not.toThrow()
    expect(() => checkGenesisDirectory(seed, first)).toThrow(/^store_seed_mismatch: /)
  })

  test.each<[string, Partial<Directory>]>([
    ['another role', { devices: [{ ...owner, role: 'writer' }] }],
    ['a founder whom a passphrase admitted', { devices: [{ ...owner, admittedBy: 3 }] }],
    ['keys that the founder has not signed', { devices: [unsigned(owner)] }],
    ['a second device', { devices: [owner, device(2)] }],
    ['a removed device', { removed: [{ deviceId: idOf(2), removed: 1, ...noRecord }] }],
  ])('is refused with %s', (_, change) => {
    const begin = () => checkGenesisDirectory(founded, { ...first, ...change })
    expect(begin).toThrow(/^keyring_chain: /)
  })
})

/** Of a device that the next directory adds. */
const now = { added: 5 }
const last = { sequence: 3, record: hash(3) }
const gonePeer = { deviceId: idOf(9), removed: 2, ...noRecord }
const before = directory({
  devices: sorted(owner, device(2), device(3, admitted(3, 4))),
  removed: [gonePeer],
  recoveries: [passphrase(4), recoveryKey(5)],
})
const [byOwner, byKey, byPassphrase] = (['owner', 'key', 'passphrase'] as const).map(
  (name): Author => {
    const signingKey = filled(1)
    if (name === 'owner') return { as: 'device', role: 'owner', signingKey }
    if (name === 'key') return { as: 'recovery', grade: 'owner', slotId: slot(5), signingKey }
    return { as: 'recovery', grade: 'writer', slotId: slot(4), signingKey }
  },
)
const others = (byte: number): readonly Device[] =>
  before.devices.filter((one) => one.deviceId !== idOf(byte))
const change = (byte: number, fields: Partial<Device>): Partial<Directory> => ({
  devices: before.devices.map((one) => (one.deviceId === idOf(byte) ? { ...one, ...fields } : one)),
})
const newcomer = (fields: Partial<Device> = {}): Partial<Directory> => ({
  devices: sorted(...before.devices, device(7, { ...now, ...fields })),
})
/** What a newcomer says whom the recovery key adds, or the passphrase. */
const [ofKey, ofPassphrase] = [admitted(2, 5), admitted(3, 4)]
const removal = (fields: object = {}): Partial<Directory> => ({
  devices: others(2),
  removed: [gonePeer, { deviceId: idOf(2), removed: 5, ...last, ...fields }].toSorted((a, b) =>
    a.deviceId < b.deviceId ? -1 : 1,
  ),
})

function check(author: Author | undefined, sameEpoch: boolean, fields: Partial<Directory>): void {
  const previous = directoryHash(seed, before)
  const next = { ...before, number: 5, previous, ...fields }
  if (author === undefined) throw new Error('no author')
  checkNextDirectory(before, next, { seed, author, sameEpoch, lastRecord: () => last })
}

describe('the next directory may', () => {
  test.each<[string, Author | undefined, boolean, Partial<Directory>]>([
    ['change nothing', byOwner, true, {}],
    ['add a device', byOwner, true, newcomer()],
    ['add an owner by recovery key', byKey, true, newcomer({ role: 'owner', ...ofKey })],
    ['add a device by passphrase', byPassphrase, true, newcomer(ofPassphrase)],
    ['name a device', byOwner, true, change(2, { name: 'other' })],
    ['set the quota', byOwner, true, { quota: 0 }],
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
      { recoveries: [recoveryKey(5), passphrase(8)] },
    ],
  ])('%s', (_, author, sameEpoch, fields) => {
    expect(() => check(author, sameEpoch, fields)).not.toThrow()
  })
})

describe('the next directory is refused as keyring_chain if it', () => {
  test.each<[string, Author | undefined, boolean, Partial<Directory>]>([
    ['skips a number', byOwner, true, { number: 6 }],
    ['follows another one', byOwner, true, { previous: hash(1) }],
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
      { devices: sorted(...before.devices, device(9, now)), removed: [] },
    ],
    ['changes an X-Wing key', byOwner, false, change(2, { kemKey: filled(3, 1216) })],
    ['changes a key signature', byOwner, false, change(2, unsigned(device(2)))],
    ['adds a device with unsigned keys', byOwner, true, newcomer(unsigned(device(7)))],
    ['adds a device with other keys', byOwner, true, newcomer({ kemKey: filled(8, 1216) })],
    ['changes when a device was added', byOwner, false, change(2, { added: 0 })],
    ['changes what admitted a device', byOwner, false, change(3, { admittedBy: 2 })],
    ['changes which entry admitted a device', byOwner, false, change(3, { slotId: slot(6) })],
    ['adds a device at another number', byOwner, true, newcomer({ added: 4 })],
    [
      'says that a recovery key admitted whom an owner adds',
      byOwner,
      true,
      newcomer({ admittedBy: 2 }),
    ],
    ['says that an entry added whom an owner adds', byOwner, true, newcomer({ slotId: slot(4) })],
    [
      'says that another entry added whom a key adds',
      byKey,
      true,
      newcomer({ role: 'owner', ...ofKey, slotId: slot(4) }),
    ],
    ['says that an owner admitted whom a key adds', byKey, true, newcomer({ role: 'owner' })],
    [
      'adds a device with unsigned keys by passphrase',
      byPassphrase,
      true,
      newcomer({ ...unsigned(device(7)), ...ofPassphrase, ...now }),
    ],
    ['says that a key admitted whom a passphrase adds', byPassphrase, true, newcomer(ofKey)],
    ['changes a role in the same epoch', byOwner, true, change(2, { role: 'reader' })],
    ['drops an entry in the same epoch', byOwner, true, dropped(4)],
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
    ['has no owner left', byOwner, false, change(1, { role: 'writer' })],
  ])('%s', (_, author, sameEpoch, fields) => {
    expect(() => check(author, sameEpoch, fields)).toThrow(/^keyring_chain: /)
  })

  function dropped(byte: number): Partial<Directory> {
    return { recoveries: before.recoveries.filter((one) => one.slotId !== slot(byte)) }
  }
})

test('record_role: a passphrase admits more than the quota, which an owner may exceed', () => {
  const added = (fields: Partial<Device>) => ({
    devices: sorted(
      ...before.devices,
      ...[7, 8].map((byte) => device(byte, { ...now, ...fields })),
    ),
  })
  expect(() => check(byPassphrase, true, added(ofPassphrase))).toThrow(/^record_role: /)
  expect(() => check(byOwner, true, added(admitted(1)))).not.toThrow()
})

test.each<[string, Author | undefined, boolean, Partial<Directory>]>([
  ['adds an owner by passphrase', byPassphrase, true, newcomer({ role: 'owner', ...ofPassphrase })],
  [
    'adds a reader by passphrase',
    byPassphrase,
    true,
    newcomer({ role: 'reader', ...ofPassphrase }),
  ],
  ['adds a writer by key', byKey, true, newcomer(ofKey)],
  ['begins an epoch', byKey, false, newcomer({ role: 'owner', ...ofKey })],
  ['names a device', byKey, true, change(2, { name: 'x' })],
  ['sets the quota', byPassphrase, true, { quota: 9 }],
  ['changes a role', byKey, true, change(2, { role: 'owner' })],
  ['removes a device', byKey, false, removal()],
])('record_role: a recovery identity %s', (_, author, sameEpoch, fields) => {
  expect(() => check(author, sameEpoch, fields)).toThrow(/^record_role: /)
})
