// Which directory may follow which (FORMAT §7.1, §7.3), and what a recovery identity may change.

import { describe, expect, test } from 'vitest'
import {
  checkSuccessor,
  type LastRecord,
  type Step,
} from '../../../src/format/directory-succession.ts'
import {
  type AdmittedBy,
  type Argon2Parameters,
  byOwner,
  type DeviceEntry,
  type Directory,
  grades,
} from '../../../src/format/directory.ts'
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
  slotOf,
  sorted,
  seed,
  successor,
  two,
} from '../../support/directories.ts'

const code = (name: string): unknown => expect.objectContaining({ code: name })
const second = two.devices.find(({ deviceId }) => deviceId !== founder.deviceId) ?? founder
const last: LastRecord = { sequence: 7, record: key(0x77) }
/** What a removal of the second device has to say. */
const removedLast = removal(second.deviceId, 2, last)
const removed = successor(two, { devices: [founder], removed: [removedLast] })

function check(previous: Directory, next: Directory, how: Partial<Step> = {}): () => void {
  const lastRecordOf = (id: string) => (id === second.deviceId ? last : undefined)
  const step = { seed, previous, next, isSameEpoch: false, author: byOwner }
  return () => checkSuccessor({ ...step, lastRecordOf, ...how })
}

const dropped = successor(two, { recovery: [recoveryKey] })
const withSecond = (change: Partial<DeviceEntry>): Partial<Directory> => {
  return { devices: sorted(founder, { ...second, ...change }) }
}
const bySlot = (byte: number): Directory => {
  const by = { admittedBy: 'passphrase', slotId: slot(byte) } as const
  return successor(genesis, { devices: sorted(founder, device(2, { added: 1, ...by })) })
}
const third = (change: Partial<DeviceEntry> = {}): DeviceEntry => device(3, { added: 2, ...change })
const withThird = (change: Partial<DeviceEntry> = {}): Directory =>
  successor(two, { devices: sorted(founder, second, third(change)) })

describe('a later directory', () => {
  test.each<readonly [string, Directory, Directory]>([
    ['adds a device', genesis, two],
    ['removes a device, and names its last record', two, removed],
    ['changes a role', two, successor(two, withSecond({ role: 'reader' }))],
    ['changes nothing', two, successor(two)],
    ['names a device', two, successor(two, withSecond({ name: 'phone' }))],
    ['sets the quota', two, successor(two, { quota: 3 })],
    ['keeps a removed device', removed, successor(removed)],
    ['drops the passphrase', two, dropped],
    [
      'replaces the passphrase',
      two,
      successor(two, { recovery: [recoveryKey, passphraseOf(0x43)] }),
    ],
  ])('that %s follows', (_, before, after) => {
    expect(check(before, after)).not.toThrow()
  })

  test('that removes a device without a record names zeros', () => {
    const without = { ...removed, removed: [removal(second.deviceId, 2)] }
    const none = { lastRecordOf: () => undefined }
    expect(check(two, without, none)).not.toThrow()
    expect(check(two, removed, none)).toThrow(code('keyring_chain'))
  })

  const passphraseWith = (change: Partial<Argon2Parameters>): Partial<Directory> => ({
    recovery: [{ ...passphrase, argon2: { ...passphrase.argon2, ...change } }, recoveryKey],
  })

  test.each<readonly [string, Directory, Directory]>([
    ['the same number', two, { ...successor(two), number: 1 }],
    ['a number skipped', two, { ...successor(two), number: 3 }],
    [
      'a slot with another key',
      two,
      successor(two, { recovery: [passphrase, { ...recoveryKey, kemKey: key(7, 1216) }] }),
    ],
    [
      'a slot of another type',
      two,
      successor(two, { recovery: [recoveryKeyOf(0x41), recoveryKey] }),
    ],
    ['another salt of a passphrase', two, successor(two, passphraseWith({ salt: key(6, 16) }))],
    ['fewer passes of a passphrase', two, successor(two, passphraseWith({ passes: 2 }))],
    ['less memory of a passphrase', two, successor(two, passphraseWith({ memoryKiB: 65_536 }))],
    ['another predecessor', two, successor(two, { previous: key(1) })],
    ['the predecessor’s predecessor', two, successor(two, { previous: two.previous })],
    ['a device that vanished', two, successor(two, { devices: [founder] })],
    [
      'a device with another signing key',
      two,
      successor(two, { devices: sorted({ ...founder, signingKey: key(7) }, second) }),
    ],
    ['a device with another X-Wing key', two, successor(two, withSecond({ kemKey: key(7, 1216) }))],
    ['a device that came at another time', two, successor(two, withSecond({ added: 2 }))],
    ['a device that another admitted', two, successor(two, withSecond({ admittedBy: 'recovery' }))],
    ['another key signature', two, successor(two, withSecond({ keySignature: key(7, 64) }))],
    ['a new device whose keys it has not signed', two, withThird({ keySignature: key(7, 64) })],
    [
      'a new device with the key signature of other keys',
      two,
      successor(two, {
        devices: sorted(founder, second, { ...third(), kemKey: key(7, 1216) }),
      }),
    ],
    ['a device by another slot', bySlot(1), successor(bySlot(1), { devices: bySlot(2).devices })],
    ['a removal in the past', two, { ...removed, removed: [{ ...removedLast, removed: 1 }] }],
    ['a removal of another sequence', two, { ...removed, removed: [withLast({ sequence: 6 })] }],
    ['a removal of another record', two, { ...removed, removed: [withLast({ record: key(1) })] }],
    ['a removal of a stranger', two, successor(two, { removed: [removal(slot(3), 2)] })],
    ['no owner', two, { ...successor(two), devices: [second], removed: [ofFounder()] }],
    [
      'a removed device that returns',
      removed,
      successor(removed, { devices: two.devices, removed: [] }),
    ],
    [
      'a removed device that is added again',
      removed,
      successor(removed, {
        devices: sorted(founder, { ...second, added: 3 }),
        removed: [],
      }),
    ],
    ['a removed device that vanished', removed, successor(removed, { removed: [] })],
    ['a removal moved', removed, successor(removed, { removed: [{ ...removedLast, removed: 3 }] })],
    [
      'another last record of a removed device',
      removed,
      successor(removed, { removed: [{ ...removedLast, record: key(1) }] }),
    ],
    ['a new device from the past', two, withThird({ added: 1 })],
    ['a new device that another has admitted', two, withThird({ admittedBy: 'passphrase' })],
  ])('with %s is keyring_chain', (_, before, after) => {
    expect(check(before, after)).toThrow(code('keyring_chain'))
  })

  test.each<readonly [string, Directory]>([
    ['a removed device', removed],
    ['a lowered role', successor(two, withSecond({ role: 'reader' }))],
    ['a raised role', successor(two, withSecond({ role: 'owner' }))],
    ['a removed passphrase', dropped],
    ['a replaced passphrase', successor(two, { recovery: [recoveryKey, passphraseOf(0x44)] })],
    ['a removed recovery key', successor(two, { recovery: [passphrase] })],
  ])('with %s takes a new epoch', (_, after) => {
    expect(check(two, after, { isSameEpoch: true })).toThrow(code('keyring_chain'))
    expect(check(two, after)).not.toThrow()
  })

  test.each<readonly [string, Directory]>([
    ['a new device', withThird()],
    ['a new recovery key', successor(two, { recovery: [...two.recovery, recoveryKeyOf(0x50)] })],
    ['another name', successor(two, withSecond({ name: 'phone' }))],
    ['another quota', successor(two, { quota: 0 })],
    ['nothing changed', successor(two)],
  ])('with %s stays in its epoch', (_, after) => {
    expect(check(two, after, { isSameEpoch: true })).not.toThrow()
  })

  test('a removal long ago takes no new epoch again', () => {
    expect(check(removed, successor(removed), { isSameEpoch: true })).not.toThrow()
  })
})

describe('a recovery identity', () => {
  const adding = (
    author: AdmittedBy,
    role: DeviceEntry['role'],
    change: Partial<Directory> = {},
  ): Directory => {
    const added = third({ role, admittedBy: author })
    return successor(two, { devices: sorted(...two.devices, added), ...change })
  }
  const by = (author: AdmittedBy): Partial<Step> => ({
    author: { admittedBy: author, slotId: slotOf[author] },
    isSameEpoch: true,
  })

  test.each([
    ['passphrase', 'writer'],
    ['recovery', 'owner'],
  ] as const)('that is a %s adds a device as %s', (author, role) => {
    expect(check(two, adding(author, role), by(author))).not.toThrow()
  })

  test.each<readonly [string, AdmittedBy, Directory]>([
    ['add an owner by passphrase', 'passphrase', adding('passphrase', 'owner')],
    ['add a reader by passphrase', 'passphrase', adding('passphrase', 'reader')],
    ['add a writer by recovery key', 'recovery', adding('recovery', 'writer')],
    ['add nobody', 'recovery', successor(two, {})],
    ['remove a device', 'recovery', removed],
    ['change a role', 'recovery', successor(two, withSecond({ role: 'owner' }))],
    ['name a device', 'recovery', successor(two, withSecond({ name: 'phone' }))],
    ['set the quota', 'passphrase', successor(two, { quota: 250 })],
    [
      'drop a recovery identity',
      'recovery',
      adding('recovery', 'owner', { recovery: [recoveryKey] }),
    ],
    [
      'add a recovery identity',
      'passphrase',
      adding('passphrase', 'writer', { recovery: [...two.recovery, recoveryKeyOf(0x50)] }),
    ],
  ])('cannot %s', (_, author, after) => {
    expect(check(two, after, by(author))).toThrow(code('record_role'))
  })

  test('cannot start an epoch', () => {
    const after = adding('recovery', 'owner')
    expect(check(two, after, { ...by('recovery'), isSameEpoch: false })).toThrow(
      code('record_role'),
    )
  })

  test.each([
    ['passphrase', 'owner'],
    ['passphrase', 'recovery'],
    ['recovery', 'owner'],
    ['recovery', 'passphrase'],
  ] as const)('that is a %s cannot admit a device as: %s', (author, named) => {
    for (const feigned of [{ admittedBy: named, slotId: slotOf[named] }, { slotId: slot(7) }]) {
      const added = third({ role: grades[author], admittedBy: author, ...feigned })
      const after = successor(two, { devices: sorted(...two.devices, added) })
      expect(check(two, after, by(author))).toThrow(code('keyring_chain'))
    }
  })

  describe('that is a passphrase', () => {
    const before = { ...two, quota: 2 }
    const withDevices = (from: Directory, ...bytes: readonly number[]): Directory => {
      const { number } = from
      const fresh = { added: number + 1, admittedBy: 'passphrase' } as const
      const added = bytes.map((byte) => device(byte, fresh))
      return successor(from, { devices: sorted(...from.devices, ...added) })
    }
    const filled = withDevices(before, 3, 4)

    test('admits as many devices as its quota', () => {
      expect(check(before, filled, by('passphrase'))).not.toThrow()
    })

    test.each<readonly [string, Directory, Directory]>([
      ['at once', before, withDevices(before, 3, 4, 5)],
      ['one after the other', filled, withDevices(filled, 5)],
      ['of a quota of none', { ...before, quota: 0 }, withDevices({ ...before, quota: 0 }, 3)],
      ['by the quota that it sets itself', filled, { ...withDevices(filled, 5), quota: 3 }],
    ])('admits no more: record_role %s', (_, from, after) => {
      expect(check(from, after, by('passphrase'))).toThrow(code('record_role'))
    })

    test('is not held to what owners and recovery keys admit', () => {
      const fresh = { added: 3 }
      const devices = sorted(...filled.devices, device(5, fresh))
      expect(check(filled, successor(filled, { devices }))).not.toThrow()
      const byRecovery = { role: 'owner', admittedBy: 'recovery' } as const
      const byKey = device(5, { ...fresh, ...byRecovery })
      const after = successor(filled, { devices: sorted(...filled.devices, byKey) })
      expect(check(filled, after, by('recovery'))).not.toThrow()
    })

    test('admits again where an owner has removed some of them', () => {
      const gone = filled.devices.find(({ admittedBy }) => admittedBy === 'passphrase')
      const devices = filled.devices.filter((one) => one !== gone)
      const room = successor(filled, { devices, removed: [removal(gone?.deviceId ?? '', 3)] })
      expect(check(filled, room)).not.toThrow()
      expect(check(room, withDevices(room, 5), by('passphrase'))).not.toThrow()
    })

    test('keeps its devices under a quota that is below their number', () => {
      const lowered = successor(filled, { quota: 1 })
      expect(check(filled, lowered, { isSameEpoch: true })).not.toThrow()
      expect(check(lowered, withDevices(lowered, 5), by('passphrase'))).toThrow(code('record_role'))
    })
  })
})

function withLast(change: Partial<LastRecord>): Directory['removed'][number] {
  return { ...removedLast, ...change }
}

function ofFounder(): Directory['removed'][number] {
  return removal(founder.deviceId, 2)
}
