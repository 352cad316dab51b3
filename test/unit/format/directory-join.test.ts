// What two directories that do not know of each other make together (FORMAT §7.2), rule by rule, as
// the product and the reference decoder make it.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toHex } from '../../../src/bytes.ts'
import { signingKeyPair } from '../../../src/crypto/signature.ts'
import { checkJoined, givesRights, joinDirectories } from '../../../src/format/directory-join.ts'
import {
  type DeviceEntry,
  type Directory,
  directoryHash,
  encodeDirectory,
  type RecoveryEntry,
} from '../../../src/format/directory.ts'
import { deviceIdOf } from '../../../src/format/id.ts'
import { directory as anyDirectory } from '../../property/format-values.ts'
import {
  type Directory as ReferenceDirectory,
  encodeDirectory as encodeForReference,
  gives,
  joinDirectories as joinByReference,
} from '../../support/reference/directory.ts'
import { full, seed } from '../../support/seed.ts'

const storeId = '11'.repeat(16)
const key = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
const slot = (byte: number): string => toHex(key(byte, 16))

function device(byte: number, change: Partial<DeviceEntry> = {}): DeviceEntry {
  const { publicKey: signingKey } = signingKeyPair(key(byte))
  const kemKey = key(byte, 1216)
  const deviceId = deviceIdOf(signingKey)
  return { deviceId, signingKey, kemKey, role: 'writer', added: 1, removed: 0, ...change }
}

function entry(type: RecoveryEntry['type'], byte: number): RecoveryEntry {
  return { slotId: slot(byte), type, signingKey: key(byte), kemKey: key(byte, 1216) }
}

const owner = device(1, { role: 'owner' })

function side(change: Partial<Directory> = {}, number = 4): Directory {
  const previous = [key(number)]
  const rest = { recovery: [], gone: [], founderRandom: undefined }
  return { number, previous, devices: [owner], ...rest, ...change }
}

function join(first: Partial<Directory>, second: Partial<Directory>): Directory {
  return joinDirectories(storeId, [side(first, 4), side(second, 6)])
}

const deviceOf = (first: DeviceEntry, second: DeviceEntry): DeviceEntry | undefined =>
  join({ devices: [first] }, { devices: [second] }).devices[0]

const passphrase = (byte: number): RecoveryEntry => entry('passphrase', byte)
const recoveryKey = entry('recovery', 9)
const forgedDevice = device(6, { kemKey: key(5, 1216) })
const forgedPassphrase = { ...passphrase(6), kemKey: key(5, 1216) }

/** The second has what the first has, some of it with other keys. */
const twoDirectories = fc
  .tuple(anyDirectory, anyDirectory, fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }))
  .map(([first, second, differ]): readonly [Directory, Directory] => {
    const other = <T extends { kemKey: Uint8Array }>(one: T, index: number): T =>
      differ[index] === true ? { ...one, kemKey: one.kemKey.map((byte) => byte ^ 1) } : one
    const devices = sorted(...second.devices, ...first.devices.map(other))
    const entries = first.recovery.map((one, index) => other(one, 4 + index))
    const recovery = [...second.recovery, ...entries]
    const inOrder = recovery.toSorted((a, b) => (a.slotId < b.slotId ? -1 : 1))
    return [first, { ...second, devices, recovery: inOrder }]
  })

function forReference({ recovery, previous, ...rest }: Directory): ReferenceDirectory {
  return {
    ...rest,
    previous: previous.map(toHex),
    recoveries: recovery.map(({ type, ...one }) => {
      return { ...one, slotType: type === 'passphrase' ? 2 : 3 }
    }),
  }
}

describe('a joined directory', () => {
  test('follows the greater number, and names both in the order of the parents', () => {
    const [first, second] = [side({}, 4), side({}, 6)]
    const joined = joinDirectories(storeId, [first, second])
    expect(joined.number).toBe(7)
    expect(joined.previous).toEqual([first, second].map((one) => directoryHash(storeId, one)))
    expect(joinDirectories(storeId, [second, first])).toEqual({
      ...joined,
      previous: joined.previous.toReversed(),
    })
  })

  test('has the devices of either, ascending by id', () => {
    const ids = join({ devices: [owner, device(2)] }, { devices: [owner, device(3)] }).devices
    expect(ids.map(({ deviceId }) => deviceId)).toEqual(
      [owner, device(2), device(3)].map(({ deviceId }) => deviceId).toSorted(),
    )
  })

  test.each<[string, Partial<DeviceEntry>, Partial<DeviceEntry>, Partial<DeviceEntry>]>([
    ['removed on one side', { removed: 3 }, {}, { removed: 3 }],
    ['removed on the other side', {}, { removed: 5 }, { removed: 5 }],
    ['removed on both', { removed: 4 }, { removed: 3 }, { removed: 3 }],
    ['added on both', { added: 3 }, { added: 2 }, { added: 2 }],
    ['raised on one side', { role: 'reader' }, { role: 'owner' }, { role: 'reader' }],
    ['lowered on one side', { role: 'auditor' }, { role: 'writer' }, { role: 'auditor' }],
    [
      'with different keys',
      { kemKey: key(8, 1216) },
      { kemKey: key(7, 1216) },
      { kemKey: key(7, 1216), removed: 7 },
    ],
    [
      'with different keys, removed before',
      { kemKey: key(8, 1216), removed: 3 },
      { kemKey: key(7, 1216) },
      { kemKey: key(7, 1216), removed: 3 },
    ],
  ])('takes of a device %s the less', (_, first, second, expected) => {
    const joined = device(2, expected)
    expect(deviceOf(device(2, first), device(2, second))).toEqual(joined)
    expect(deviceOf(device(2, second), device(2, first))).toEqual(joined)
  })

  test('has the recovery entries of either that neither side dropped', () => {
    const first = { recovery: [passphrase(2), recoveryKey], gone: [slot(1)] }
    const second = { recovery: [passphrase(1), passphrase(3)], gone: [slot(9)] }
    const { recovery, gone } = join(first, second)
    expect(recovery).toEqual([passphrase(2), passphrase(3)])
    expect(gone).toEqual([slot(1), slot(9)])
  })

  test('keeps the four least of more passphrases, and the others are gone', () => {
    const first = { recovery: [passphrase(1), passphrase(4), passphrase(5)] }
    const second = { recovery: [passphrase(2), passphrase(3), recoveryKey] }
    const { recovery, gone } = join(first, second)
    expect(recovery).toEqual([...[1, 2, 3, 4].map(passphrase), recoveryKey])
    expect(gone).toEqual([slot(5)])
  })

  test.each<[string, Partial<RecoveryEntry>]>([
    ['X-Wing keys', { kemKey: key(10, 1216) }],
    ['signing keys', { signingKey: key(10) }],
    ['types', { type: 'passphrase' }],
  ])('has nothing of a slot with different %s', (_, change) => {
    const [one, other] = [
      { recovery: [recoveryKey] },
      { recovery: [{ ...recoveryKey, ...change }] },
    ]
    for (const joined of [join(one, other), join(other, one)]) {
      expect(joined).toMatchObject({ recovery: [], gone: [recoveryKey.slotId] })
    }
  })

  test('has a fifth passphrase where another one is gone for its keys', () => {
    const first = { recovery: [1, 2, 3].map(passphrase) }
    const forged = { ...passphrase(2), kemKey: key(9, 1216) }
    const { recovery, gone } = join(first, { recovery: [forged, ...[4, 5].map(passphrase)] })
    expect(recovery).toEqual([1, 3, 4, 5].map(passphrase))
    expect(gone).toEqual([slot(2)])
  })

  test('is the one that the reference decoder makes, of any two', { tags: 'slow' }, () => {
    fc.assert(
      fc.property(twoDirectories, ([first, second]) => {
        const joined = joinDirectories(storeId, [first, second])
        const reference = joinByReference(storeId, forReference(first), forReference(second))
        expect(toHex(encodeDirectory(joined))).toBe(toHex(encodeForReference(reference)))
        const [before, after] = [forReference(first), forReference(second)]
        expect(givesRights(first, second)).toBe(gives(before, after))
      }),
      { seed, numRuns: full ? 2000 : 100 },
    )
  })
})

test('keyring_chain: a join without a remaining owner is refused', () => {
  const before = [side(), side({ devices: [{ ...owner, kemKey: key(9, 1216) }] }, 6)] as const
  const [left] = joinDirectories(storeId, before).devices
  expect(left?.removed).toBe(7)
  expect(() => checkJoined(storeId, before, joinDirectories(storeId, before))).toThrow(
    expect.objectContaining({ code: 'keyring_chain' }),
  )
})

describe('keyring_chain: a joined directory that', () => {
  const before = [
    side({
      devices: sorted(owner, device(2, { removed: 3 }), device(3, { role: 'reader' }), device(6)),
      recovery: [passphrase(6), recoveryKey],
    }),
    side(
      {
        devices: sorted(owner, device(2), device(3), device(4), forgedDevice),
        recovery: [forgedPassphrase],
        gone: [slot(5)],
      },
      6,
    ),
  ] as const
  const honest = joinDirectories(storeId, before)
  const changed = (byte: number, change: Partial<DeviceEntry>): Partial<Directory> => ({
    devices: honest.devices.map((one) => {
      return one.deviceId === device(byte).deviceId ? { ...one, ...change } : one
    }),
  })

  test('is right is accepted', () => {
    expect(() => checkJoined(storeId, before, honest)).not.toThrow()
  })

  test.each<[string, Partial<Directory>]>([
    ['skips a number', { number: 8 }],
    ['names one predecessor', { previous: honest.previous.slice(1) }],
    ['names them in the other order', { previous: honest.previous.toReversed() }],
    ['brings a removed device back', changed(2, { removed: 0 })],
    ['raises a role', changed(3, { role: 'writer' })],
    ['has a device come earlier', changed(4, { added: 0 })],
    ['has another key', changed(4, { kemKey: key(9, 1216) })],
    ['drops a device', { devices: honest.devices.slice(1) }],
    ['adds a device', { devices: sorted(...honest.devices, device(5)) }],
    ['keeps the lesser of different keys', changed(6, { removed: 0 })],
    ['keeps the greater of different keys', changed(6, { kemKey: key(6, 1216), removed: 0 })],
    ['drops a recovery entry', { recovery: [] }],
    ['adds a recovery entry', { recovery: [passphrase(1), recoveryKey] }],
    [
      'brings a gone slot back',
      { recovery: [passphrase(5), recoveryKey], gone: honest.gone.slice(1) },
    ],
    [
      'keeps one of two entries of a slot',
      { recovery: [forgedPassphrase, recoveryKey], gone: honest.gone.slice(0, 1) },
    ],
    ['forgets a gone slot', { gone: honest.gone.slice(1) }],
  ])('%s', (_, change) => {
    expect(() => checkJoined(storeId, before, { ...honest, ...change })).toThrow(
      expect.objectContaining({ code: 'keyring_chain' }),
    )
  })
})

describe('a keyring gives rights', () => {
  test.each<[string, boolean, Partial<Directory>]>([
    ['nothing changes', false, {}],
    ['a device is added', true, { devices: [owner, device(2), device(3)] }],
    ['a device is removed', false, { devices: [owner, device(2, { removed: 5 })] }],
    ['a role is raised', true, { devices: [owner, device(2, { role: 'owner' })] }],
    ['a role is lowered', false, { devices: [owner, device(2, { role: 'reader' })] }],
    ['a recovery entry is added', true, { recovery: [recoveryKey] }],
    ['a recovery entry is dropped', false, { recovery: [] }],
  ])('if %s: %s', (_, expected, change) => {
    const before = side({ devices: [owner, device(2)], recovery: [passphrase(1)] })
    expect(givesRights(before, { ...before, ...change })).toBe(expected)
  })
})

function sorted(...devices: readonly DeviceEntry[]): readonly DeviceEntry[] {
  return devices.toSorted((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
}
