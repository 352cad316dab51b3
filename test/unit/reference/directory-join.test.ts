// FORMAT §7.2 as the reference decoder implements it: who is the author of a keyring record, and
// what two directories make together.

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
  storeId,
  unsigned,
} from '../../support/reference-directories.ts'
import { joinDirectories } from '../../support/reference/directory-join.ts'
import {
  type Device,
  type Directory,
  findAuthor,
  type RecoveryEntry,
} from '../../support/reference/directory.ts'
import { deviceIdOf, recoveryIdOf } from '../../support/reference/identity.ts'

describe('the author of a record', () => {
  const one = device(2, { role: 'reader' })
  const shared: RecoveryEntry = { ...recoveryKey(5), signingKey: one.signingKey }
  const there = directory({ devices: sorted(owner, one), recoveries: [shared] })

  test('is the device or the recovery identity of one key, by its id', () => {
    const { signingKey } = one
    const author = { as: 'device', role: 'reader', signingKey }
    expect(findAuthor(there, one.deviceId)).toEqual(author)
    const recovery = { as: 'recovery', grade: 'owner', slotId: slot(5), signingKey }
    expect(findAuthor(there, recoveryIdOf(slot(5), signingKey))).toEqual(recovery)
    expect(findAuthor(there, recoveryIdOf(slot(6), signingKey))).toBeUndefined()
  })

  test('is no recovery identity by the id of a device', () => {
    const alone = directory({ recoveries: [shared] })
    expect(findAuthor(alone, deviceIdOf(shared.signingKey))).toBeUndefined()
  })
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
    [
      'what admitted it',
      { admittedBy: 3, slotId: slot(4) },
      { admittedBy: 2, slotId: slot(5) },
      { admittedBy: 2, slotId: slot(5) },
    ],
    [
      'the entries that admitted it',
      { admittedBy: 3, slotId: slot(5) },
      { admittedBy: 3, slotId: slot(4) },
      { admittedBy: 3, slotId: slot(4) },
    ],
    ['who set its role', { roleBy: 3 }, { roleBy: 1 }, { roleBy: 1 }],
    ['who gave its name', { namedBy: 3 }, { namedBy: 2 }, { namedBy: 2 }],
    ['the role', { role: 'owner' }, { role: 'reader' }, { role: 'reader' }],
  ])('has of %s the lesser', (_, first, second, expected) => {
    const { devices } = join({ devices: [device(2, first)] }, { devices: [device(2, second)] })
    expect(devices).toEqual([device(2, expected)])
  })

  test.each([
    ['an owner’s role, not the lesser of a passphrase', 1, 3],
    ['an owner’s role, not the lesser of a recovery key', 1, 2],
    ['a recovery key’s role, not the lesser of a passphrase', 2, 3],
  ] as const)('has %s', (_, grade, other) => {
    const first = device(2, { role: 'owner', roleBy: grade })
    const second = device(2, { role: 'writer', roleBy: other, roleSet: 4 })
    expect(join({ devices: [first] }, { devices: [second] }).devices).toEqual([first])
  })

  test('has of two roles of one hand the one that was set later', () => {
    const first = device(2, { role: 'owner', roleSet: 3 })
    const second = device(2, { role: 'reader', roleSet: 2 })
    expect(join({ devices: [first] }, { devices: [second] }).devices).toEqual([first])
  })

  test('has the name that an owner gave, not a later one of a passphrase', () => {
    const first = device(2, { ...admitted(3, 5), name: 'b', namedBy: 1, roleSet: 2 })
    const later = { added: 3, roleSet: 3, named: 3 }
    const second = device(2, { ...admitted(3, 4), name: 'a', ...later })
    const expected = { ...first, slotId: slot(4), roleSet: 3 }
    expect(join({ devices: [first] }, { devices: [second] }).devices).toEqual([expected])
  })

  describe('of a device that only one side has', () => {
    const admission = admitted(3, 4)

    test('leaves it out if a passphrase added it that the other side has dropped', () => {
      const other = { devices: [owner], gone: [slot(4)] }
      const { devices, removed } = join({ devices: sorted(owner, device(2, admission)) }, other)
      expect([devices, removed]).toEqual([[owner], []])
    })

    test.each<[string, Partial<Device>, Partial<Directory>]>([
      ['another passphrase is gone', {}, { gone: [slot(5)] }],
      ['an owner has set its role', { roleBy: 1, roleSet: 3 }, { gone: [slot(4)] }],
      ['a recovery key added it', { ...admitted(2, 4), roleBy: 3 }, { gone: [slot(4)] }],
      ['the other side has it', {}, { devices: [device(2, admission)], gone: [slot(4)] }],
    ])('has it as active if %s', (_, change, other) => {
      const one = device(2, { ...admission, ...change })
      const { devices, removed } = join({ devices: [one] }, { devices: [], ...other })
      expect([devices, removed]).toEqual([[one], []])
    })

    test('has it as it was removed on the other side', () => {
      const before = { deviceId: idOf(2), removed: 3, sequence: 1, record: hash(1) }
      const other = { devices: [], removed: [before], gone: [slot(4)] }
      expect(join({ devices: [device(2, admission)] }, other).removed).toEqual([before])
    })
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

  test.each([
    ['X-Wing keys', device(2, { kemKey: filled(3, 1216) })],
    ['key signatures', unsigned(device(2))],
  ])('removes a device with two %s', (_, other) => {
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
