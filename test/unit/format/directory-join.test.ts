// What two directories that do not know of each other make together (FORMAT §7.2), rule by rule, as
// the product and the reference decoder make it.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toHex } from '../../../src/bytes.ts'
import { checkJoined, joinDirectories } from '../../../src/format/directory-join.ts'
import {
  type DeviceEntry,
  type Directory,
  directoryHash,
  encodeDirectory,
  findDevice,
  findRemoved,
  type RecoveryEntry,
  type RemovedDevice,
} from '../../../src/format/directory.ts'
import { directory as anyDirectory, padded } from '../../property/format-values.ts'
import {
  device as anyDevice,
  key,
  passphraseOf,
  recoveryKeyOf,
  removal,
  slot,
  sorted,
} from '../../support/directories.ts'
import { joinDirectories as joinByReference } from '../../support/reference/directory-join.ts'
import {
  decodeDirectory as decodeForReference,
  type Directory as ReferenceDirectory,
  encodeDirectory as encodeForReference,
} from '../../support/reference/directory.ts'
import { full, seed } from '../../support/seed.ts'

const storeId = '11'.repeat(16)
/** Added by number 1, as those below are. */
const device = (byte: number, change: Partial<DeviceEntry> = {}): DeviceEntry =>
  anyDevice(byte, { added: 1, named: 1, ...change })

const owner = device(1, { role: 'owner' })

function side(change: Partial<Directory> = {}, number = 4): Directory {
  const quotas = { quota: 32, quotaSet: 0 }
  const rest = { removed: [], recovery: [], gone: [], ...quotas, founderRandom: undefined }
  return { number, previous: [key(number)], devices: [owner], ...rest, ...change }
}

function join(first: Partial<Directory>, second: Partial<Directory>): Directory {
  return joinDirectories(storeId, [side(first, 4), side(second, 6)])
}

/** What both make of device 2, in either order: one entry, or a removal. */
function outcome(
  first: Partial<Directory>,
  second: Partial<Directory>,
): DeviceEntry | RemovedDevice | undefined {
  const [one, other] = [join(first, second), join(second, first)].map((joined) => {
    const { deviceId } = device(2)
    return findDevice(joined, deviceId) ?? findRemoved(joined, deviceId)
  })
  expect(other).toEqual(one)
  return one
}

const passphrase = passphraseOf
const recoveryKey = recoveryKeyOf(9)
const forgedDevice = device(6, { kemKey: key(5, 1216) })
const forgedPassphrase = { ...passphrase(6), kemKey: key(5, 1216) }

const inSlot = (byte: number): Partial<DeviceEntry> => ({
  admittedBy: 'passphrase',
  slotId: slot(byte),
})

const fates = ['same', 'other keys', 'renamed', 'removed', 'unknown'] as const
type Fate = (typeof fates)[number]

/** The second has something of its own, and what the first has, as it may have fared since. */
const twoDirectories = fc
  .tuple(
    anyDirectory,
    anyDirectory,
    fc.array(fc.constantFrom(...fates), { minLength: 6, maxLength: 6 }),
  )
  .map(([first, second, dealt]): readonly [Directory, Directory] => {
    const fateOf = (index: number): Fate => dealt[index] ?? 'same'
    const { number } = second
    const devices = first.devices.flatMap((one, index) => fared(one, fateOf(index), number))
    const lost = first.devices.filter((_, index) => fateOf(index) === 'removed' && number > 0)
    const removed = lost.map(({ deviceId }, index) => {
      return removal(deviceId, number, { sequence: index, record: key(index) })
    })
    const entries = first.recovery.flatMap((one, index) => {
      const fate = fateOf(4 + index)
      return fate === 'unknown' ? [] : [fate === 'other keys' ? withOtherKeys(one) : one]
    })
    const recovery = [...second.recovery, ...entries]
    return [
      first,
      {
        ...second,
        devices: sorted(...second.devices, ...devices),
        removed: [...second.removed, ...removed].toSorted(byDeviceId),
        recovery: recovery.toSorted((a, b) => (a.slotId < b.slotId ? -1 : 1)),
      },
    ]
  })

function fared(one: DeviceEntry, fate: Fate, number: number): readonly DeviceEntry[] {
  const [named, roleSet] = [Math.min(one.named, number), Math.min(one.roleSet, number)]
  const known = { ...one, named, roleSet }
  if (fate === 'renamed') return [{ ...known, name: 'renamed', namedBy: 'owner', named: number }]
  if (fate === 'other keys') return [withOtherKeys(known)]
  return fate === 'same' ? [known] : []
}

function withOtherKeys<T extends { readonly kemKey: Uint8Array }>(one: T): T {
  return { ...one, kemKey: one.kemKey.map((byte) => byte ^ 1) }
}

function byDeviceId(a: RemovedDevice, b: RemovedDevice): number {
  return a.deviceId < b.deviceId ? -1 : 1
}

/** What the reference decoder reads in our bytes. */
function forReference(directory: Directory): ReferenceDirectory {
  return decodeForReference(padded('directory', encodeDirectory(directory)))
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
    ['added on both', { added: 3 }, { added: 2 }, { added: 2, roleSet: 3 }],
    ['admitted on both by passphrases', inSlot(2), inSlot(1), inSlot(1)],
    [
      'raised on one side and lowered by who had more right to',
      { role: 'owner', roleBy: 'recovery' },
      { role: 'reader', roleBy: 'owner' },
      { role: 'reader', roleBy: 'owner' },
    ],
    ['raised on one side', { role: 'reader' }, { role: 'owner' }, { role: 'reader' }],
    ['lowered on one side', { role: 'auditor' }, { role: 'writer' }, { role: 'auditor' }],
    ['admitted by owner and passphrase', { admittedBy: 'passphrase', namedBy: 'owner' }, {}, {}],
    [
      'admitted by recovery key and passphrase',
      { admittedBy: 'passphrase', namedBy: 'recovery' },
      { admittedBy: 'recovery' },
      { admittedBy: 'recovery' },
    ],
  ])('takes of a device %s the less', (_, first, second, expected) => {
    const of = (change: Partial<DeviceEntry>) => ({ devices: sorted(owner, device(2, change)) })
    expect(outcome(of(first), of(second))).toEqual(device(2, expected))
  })

  test('takes of two roles that equal hands set the later one', () => {
    const of = (change: Partial<DeviceEntry>) => ({ devices: sorted(owner, device(2, change)) })
    const raised = { role: 'owner', roleSet: 3 } as const
    expect(outcome(of({ role: 'reader' }), of(raised))).toEqual(device(2, raised))
    const lowered = { role: 'auditor', roleSet: 4 } as const
    expect(outcome(of(raised), of(lowered))).toEqual(device(2, lowered))
    const byPassphrase = { role: 'writer', roleBy: 'passphrase', roleSet: 4 } as const
    expect(outcome(of(raised), of(byPassphrase))).toEqual(device(2, raised))
  })

  test.each<[string, Partial<DeviceEntry>, Partial<DeviceEntry>, Partial<DeviceEntry>]>([
    [
      'that of the stronger hand, also if it is earlier',
      { name: 'honest', namedBy: 'owner', named: 2 },
      { name: 'forged', namedBy: 'passphrase', named: 3 },
      { name: 'honest', namedBy: 'owner', named: 2 },
    ],
    [
      'the later one',
      { name: 'old', named: 2 },
      { name: 'new', named: 3 },
      { name: 'new', named: 3 },
    ],
    ['none, if that is later', { name: 'a', named: 2 }, { named: 3 }, { name: '', named: 3 }],
    [
      'of equal ones that of lesser bytes',
      { name: 'b', named: 3 },
      { name: 'a', named: 3 },
      { name: 'a', named: 3 },
    ],
    [
      'by bytes of UTF-8 and not by code units',
      { name: '\ufb00', named: 3 },
      { name: '\u{1f600}', named: 3 },
      { name: '\ufb00', named: 3 },
    ],
  ])('takes of two names %s', (_, first, second, expected) => {
    const of = (change: Partial<DeviceEntry>) => ({ devices: sorted(owner, device(2, change)) })
    expect(outcome(of(first), of(second))).toEqual(device(2, expected))
  })

  const { deviceId } = device(2)
  const active = { devices: sorted(owner, device(2)) }
  const removedAt = (removed: number, sequence = 0, byte = 0): Partial<Directory> => ({
    removed: [removal(deviceId, removed, { sequence, record: key(byte) })],
  })
  const withKey = (byte: number): Partial<Directory> => ({
    devices: sorted(owner, device(2, { kemKey: key(byte, 1216) })),
  })
  const last = (removed: number, sequence: number, byte: number): RemovedDevice =>
    removal(deviceId, removed, { sequence, record: key(byte) })

  test.each<[string, Partial<Directory>, Partial<Directory>, RemovedDevice]>([
    ['that is active on the other side', removedAt(3, 5, 8), active, last(3, 5, 8)],
    ['that the other side does not know', removedAt(3, 5, 8), {}, last(3, 5, 8)],
    ['at the smaller number', removedAt(4, 5, 8), removedAt(3, 5, 8), last(3, 5, 8)],
    ['with the greater sequence number', removedAt(3, 5, 1), removedAt(4, 6, 9), last(3, 6, 9)],
    [
      'with any sequence number, if the other has none',
      removedAt(3),
      removedAt(4, 6, 9),
      last(3, 6, 9),
    ],
    [
      'of equal sequence numbers with the lesser hash',
      removedAt(3, 5, 9),
      removedAt(3, 5, 2),
      last(3, 5, 2),
    ],
    ['with different keys', withKey(7), withKey(8), last(7, 0, 0)],
    [
      'with different key signatures',
      active,
      { devices: sorted(owner, device(2, { keySignature: key(1, 64) })) },
      last(7, 0, 0),
    ],
    ['that came back with different keys', removedAt(3, 5, 8), withKey(8), last(3, 5, 8)],
  ])('keeps out a removed device %s', (_, first, second, expected) => {
    expect(outcome(first, second)).toEqual(expected)
  })

  test.each<[string, readonly [number, number], readonly [number, number], [number, number]]>([
    ['that was set later', [9, 2], [3, 1], [9, 2]],
    ['that was set later, also if it is less', [3, 2], [9, 1], [3, 2]],
    ['of two that were set at once the less', [9, 2], [3, 2], [3, 2]],
    ['that neither has set', [32, 0], [32, 0], [32, 0]],
  ])('takes the quota %s', (_, first, second, [quota, quotaSet]) => {
    const of = ([number, set]: readonly [number, number]) => ({ quota: number, quotaSet: set })
    expect(join(of(first), of(second))).toMatchObject({ quota, quotaSet })
    expect(join(of(second), of(first))).toMatchObject({ quota, quotaSet })
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

  const costs = passphrase(9).argon2
  test.each<[string, RecoveryEntry, RecoveryEntry]>([
    ['X-Wing keys', recoveryKey, { ...recoveryKey, kemKey: key(10, 1216) }],
    ['signing keys', recoveryKey, { ...recoveryKey, signingKey: key(10) }],
    ['types', recoveryKey, passphrase(9)],
    ['salts', passphrase(9), { ...passphrase(9), argon2: { ...costs, salt: key(1, 16) } }],
    ['passes', passphrase(9), { ...passphrase(9), argon2: { ...costs, passes: 2 } }],
    ['memory', passphrase(9), { ...passphrase(9), argon2: { ...costs, memoryKiB: 65_536 } }],
  ])('has nothing of a slot with different %s', (_, one, other) => {
    const [first, second] = [{ recovery: [one] }, { recovery: [other] }]
    for (const joined of [join(first, second), join(second, first)]) {
      expect(joined).toMatchObject({ recovery: [], gone: [one.slotId] })
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
        const [before, after] = [forReference(first), forReference(second)]
        const reference = joinByReference(storeId, before, after)
        expect(toHex(encodeDirectory(joined))).toBe(toHex(encodeForReference(reference)))
      }),
      { seed, numRuns: full ? 2000 : 100 },
    )
  })
})

describe('keyring_chain: a joined directory that', () => {
  const before = [
    side({
      devices: sorted(owner, device(3, { role: 'reader' }), device(6)),
      removed: [removal(device(2).deviceId, 3, { sequence: 5, record: key(8) })],
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

  function without(byte: number): readonly RemovedDevice[] {
    return honest.removed.filter((one) => one.deviceId !== device(byte).deviceId)
  }

  test('is right is accepted', () => {
    expect(() => checkJoined(storeId, before, honest)).not.toThrow()
  })

  test.each<[string, Partial<Directory>]>([
    ['skips a number', { number: 8 }],
    ['names one predecessor', { previous: honest.previous.slice(1) }],
    ['names them in the other order', { previous: honest.previous.toReversed() }],
    [
      'brings a removed device back',
      { devices: sorted(...honest.devices, device(2)), removed: without(2) },
    ],
    ['forgets a removed device', { removed: without(2) }],
    ['names another last record', { removed: [removal(device(2).deviceId, 3), ...without(2)] }],
    ['names a device otherwise', changed(4, { name: 'forged' })],
    ['has another admit a device', changed(4, { admittedBy: 'recovery' })],
    ['has another quota', { quota: 33 }],
    ['has set the quota', { quotaSet: 7 }],
    ['raises a role', changed(3, { role: 'writer' })],
    ['has a device come earlier', changed(4, { added: 0 })],
    ['has another key', changed(4, { kemKey: key(9, 1216) })],
    ['drops a device', { devices: honest.devices.slice(1) }],
    ['adds a device', { devices: sorted(...honest.devices, device(5)) }],
    [
      'keeps the lesser of different keys',
      { devices: sorted(...honest.devices, forgedDevice), removed: without(6) },
    ],
    [
      'keeps the greater of different keys',
      { devices: sorted(...honest.devices, device(6)), removed: without(6) },
    ],
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
