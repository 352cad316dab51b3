// Plans the next directory of a store (FORMAT §7): added and removed devices, and recovery
// identities. Must refuse everything that a verifier refuses (format/directory.ts), and changes
// that would lock every user out.

import type { Random } from '../crypto/random.ts'
import { assert, StoreError } from '../errors.ts'
import type { DeviceKeys } from '../format/device-card.ts'
import {
  type DeviceEntry,
  type Directory,
  directoryHash,
  findDevice,
  type RecoveryEntry,
  type Role,
} from '../format/directory.ts'
import { deviceIdOf, newId } from '../format/id.ts'
import { devicesMax, goneSlotsMax } from '../limits.ts'
import type { RecoveryIdentity } from './recovery.ts'

/** Number 0, with the founder only. The store id is derived from `founderRandom`. */
export function firstDirectory(
  founder: DeviceKeys,
  recovery: readonly RecoveryEntry[],
  founderRandom: Uint8Array,
): Directory {
  return {
    number: 0,
    previous: [],
    devices: [deviceEntry(founder, 'owner', 0)],
    recovery: recovery.toSorted(bySlotId),
    gone: [],
    founderRandom,
  }
}

/**
 * The next directory, with one more device. Throws `permission_denied` for a device that was
 * removed, `invalid_input` for one that is a member, `store_full`.
 */
export function withDevice(
  storeId: string,
  before: Directory,
  device: DeviceKeys,
  role: Role,
): Directory {
  checkCanJoin(before, device.deviceId)
  const added = deviceEntry(device, role, before.number + 1)
  const devices = [...before.devices, added].toSorted(byDeviceId)
  return nextDirectory(storeId, before, { devices })
}

/** The next directory, with one more passphrase or recovery key. */
export function withRecovery(storeId: string, before: Directory, entry: RecoveryEntry): Directory {
  const recovery = [...before.recovery, entry].toSorted(bySlotId)
  return nextDirectory(storeId, before, { recovery })
}

/** Changes of devices in a new epoch; ids are hex digits. */
export interface DeviceChanges {
  readonly removed?: readonly string[]
  readonly roles?: ReadonlyMap<string, Role>
}

/**
 * The next directory, with removed devices, changed roles and these recovery entries. Throws
 * `invalid_input` for a device that is not active, or if no owner would remain.
 */
export function withChanges(
  storeId: string,
  before: Directory,
  { removed = [], roles = new Map() }: DeviceChanges,
  recovery: readonly RecoveryEntry[],
): Directory {
  const number = before.number + 1
  for (const deviceId of [...removed, ...roles.keys()]) {
    if (findDevice(before, deviceId)?.removed === 0) continue
    throw new StoreError('invalid_input', 'Only an active device can be removed or change its role')
  }
  const devices = before.devices.map((device) => ({
    ...device,
    role: roles.get(device.deviceId) ?? device.role,
    removed: removed.includes(device.deviceId) ? number : device.removed,
  }))
  if (devices.some((device) => device.role === 'owner' && device.removed === 0)) {
    return nextDirectory(storeId, before, { devices, recovery: recovery.toSorted(bySlotId) })
  }
  throw new StoreError('invalid_input', 'The last owner of a store must remain an owner')
}

/** The public half of a recovery identity, under a new slot id. */
export function recoveryEntry(
  type: RecoveryEntry['type'],
  { signing, kem }: RecoveryIdentity,
  random: Random,
): RecoveryEntry {
  const keys = { signingKey: signing.publicKey, kemKey: kem.publicKey }
  return { slotId: newId(random), type, ...keys }
}

function checkCanJoin(directory: Directory, deviceId: string): void {
  const existing = findDevice(directory, deviceId)
  if (existing !== undefined && existing.removed !== 0) {
    throw new StoreError(
      'permission_denied',
      'This device was removed, and a removed device never returns; make a new identity',
    )
  }
  if (existing !== undefined) {
    throw new StoreError('invalid_input', 'This device is one of the store already')
  }
}

function nextDirectory(
  storeId: string,
  before: Directory,
  change: Partial<Pick<Directory, 'devices' | 'recovery'>>,
): Directory {
  const previous = [directoryHash(storeId, before)]
  const kept = new Set((change.recovery ?? before.recovery).map(({ slotId }) => slotId))
  const removed = before.recovery.filter(({ slotId }) => !kept.has(slotId))
  const gone = [...before.gone, ...removed.map(({ slotId }) => slotId)].toSorted()
  const number = before.number + 1
  const next = { ...before, number, previous, gone, founderRandom: undefined, ...change }
  checkSize(next)
  return next
}

/** Throws `store_full`. */
export function checkSize({ devices, gone }: Pick<Directory, 'devices' | 'gone'>): void {
  if (devices.length > devicesMax) {
    throw new StoreError(
      'store_full',
      `A store has at most ${devicesMax} devices, including removed ones`,
    )
  }
  if (gone.length <= goneSlotsMax) return
  throw new StoreError(
    'store_full',
    `Passphrases and recovery keys can be replaced ${goneSlotsMax} times at most`,
  )
}

function deviceEntry(device: DeviceKeys, role: Role, added: number): DeviceEntry {
  const { deviceId, signing, kem } = device
  assert(deviceId === deviceIdOf(signing.publicKey), 'a device id is that of its key')
  return { deviceId, signingKey: signing.publicKey, kemKey: kem.publicKey, role, added, removed: 0 }
}

function bySlotId(a: RecoveryEntry, b: RecoveryEntry): number {
  return a.slotId < b.slotId ? -1 : 1
}

function byDeviceId(a: DeviceEntry, b: DeviceEntry): number {
  return a.deviceId < b.deviceId ? -1 : 1
}
