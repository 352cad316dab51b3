// Role and name of a device that both sides of a join have (FORMAT §7.2): who has a passphrase adds
// it to an older state, and cannot lower or rename it by that.

import { expect, test } from 'vitest'
import { joinDirectories } from '../../../src/format/directory-join.ts'
import { type DeviceEntry, type Directory, findDevice } from '../../../src/format/directory.ts'
import {
  device,
  founder,
  genesis,
  passphrase,
  recoveryKey,
  slot,
  sorted,
  storeId,
} from '../../support/directories.ts'

const squatted = { role: 'writer', roleBy: 'passphrase', admittedBy: 'passphrase' } as const

const byKey = { admittedBy: 'recovery', slotId: passphrase.slotId } as const

function joined(first: Partial<DeviceEntry>, second: Partial<DeviceEntry>): DeviceEntry[] {
  const of = (change: Partial<DeviceEntry>): Directory => {
    return { ...genesis, number: 9, devices: sorted(founder, device(2, change)) }
  }
  const pairs = [
    [of(first), of(second)],
    [of(second), of(first)],
  ] as const
  return pairs.flatMap((both) => {
    return findDevice(joinDirectories(storeId, both), device(2).deviceId) ?? []
  })
}

test.each<[string, Partial<DeviceEntry>]>([
  ['an owner gave', { role: 'reader' }],
  ['an owner raised', { role: 'owner', admittedBy: 'passphrase' }],
  ['an owner lowered', { role: 'auditor', admittedBy: 'recovery' }],
  ['a recovery key gave', { role: 'owner', roleBy: 'recovery', admittedBy: 'recovery' }],
])('the role that %s stays, whatever a passphrase gives it', (_, honest) => {
  expect(joined(honest, squatted)).toEqual([device(2, honest), device(2, honest)])
})

test.each<[string, Partial<DeviceEntry>]>([
  ['admitted', {}],
  ['did not admit', { admittedBy: 'passphrase', namedBy: 'owner' }],
])('the name that an owner gave a device stays, which it %s', (_, change) => {
  const honest = { name: 'laptop', named: 2, ...change }
  const both = joined(honest, { ...squatted, name: 'forged', named: 5, added: 0 })
  expect(both).toEqual([device(2, honest), device(2, honest)])
})

test('of two roles that owners set at one number, the one with fewer rights stays', () => {
  const both = joined({ role: 'owner' }, { role: 'reader' })
  expect(both.map(({ role }) => role)).toEqual(['reader', 'reader'])
})

test.each<[string, Partial<DeviceEntry>, boolean]>([
  ['whom a passphrase let in on one side goes if the other has dropped it', squatted, true],
  ['a device stays that another passphrase let in', { ...squatted, slotId: slot(7) }, false],
  ['a device stays that an owner has raised since', { ...squatted, roleBy: 'owner' }, false],
  ['a device stays that a recovery key let in', { roleBy: 'recovery', ...byKey }, false],
])('%s', (_, change, isOut) => {
  const one = { ...genesis, number: 9, devices: sorted(founder, device(2, change)) }
  const other = { ...genesis, number: 5, recovery: [recoveryKey], gone: [passphrase.slotId] }
  for (const both of [[one, other] as const, [other, one] as const]) {
    const { devices, removed } = joinDirectories(storeId, both)
    expect(devices).toHaveLength(isOut ? 1 : 2)
    // An owner may have added the same id elsewhere.
    expect(removed).toEqual([])
  }
})

test('whom both sides have stays, though one has dropped the passphrase', () => {
  const devices = sorted(founder, device(2, squatted))
  const other = { recovery: [recoveryKey], gone: [passphrase.slotId] }
  const both = [
    { ...genesis, devices },
    { ...genesis, devices, ...other },
  ] as const
  expect(joinDirectories(storeId, both).devices).toEqual(devices)
})

test('of two passphrases that let a device in the one stays that neither side has dropped', () => {
  const [old, kept] = [slot(3), slot(4)]
  const one = { ...genesis, devices: sorted(founder, device(2, { ...squatted, slotId: old })) }
  const other = { ...genesis, devices: sorted(founder, device(2, { ...squatted, slotId: kept })) }
  for (const gone of [old, kept]) {
    const next = joinDirectories(storeId, [one, { ...other, gone: [gone] }])
    expect(findDevice(next, device(2).deviceId)?.slotId).toBe(gone === old ? kept : old)
  }
})

test('who set the role and who admitted the device are taken apart from each other', () => {
  const raised = { role: 'owner', roleBy: 'owner', admittedBy: 'passphrase' } as const
  const admitted = { role: 'owner', roleBy: 'recovery', admittedBy: 'recovery' } as const
  const both = joined(raised, admitted)
  expect(both[0]).toEqual(device(2, { ...raised, admittedBy: 'recovery', namedBy: 'recovery' }))
  expect(both[1]).toEqual(both[0])
})
