// Plans the next directory of a store (FORMAT §7): added and removed devices, and recovery
// identities. Must refuse everything that a verifier refuses (format/directory.ts), and changes
// that would lock every user out.

import { equalBytes } from '../bytes.ts'
import type { Random } from '../crypto/random.ts'
import { assert, StoreError } from '../errors.ts'
import type { DeviceKeys } from '../format/device-keys.ts'
import { checkNewDeviceName } from '../format/device-name.ts'
import { type LastRecord, noRecord } from '../format/directory-succession.ts'
import {
  type Admitter,
  type Argon2Parameters,
  byOwner,
  countByPassphrase,
  type DeviceEntry,
  type Directory,
  directoryHash,
  findDevice,
  findRemoved,
  type Givers,
  type RecoveryEntry,
  type Role,
} from '../format/directory.ts'
import { deviceIdOf, newId } from '../format/id.ts'
import { devicesMax, quotaDefault, recoveryKeysMax, removedDevicesMax } from '../limits.ts'
import type { RecoveryIdentity } from './recovery.ts'

/** Number 0, with the founder only. The store id is derived from `founderRandom`. */
export function firstDirectory(
  founder: DeviceKeys,
  name: string,
  recovery: readonly RecoveryEntry[],
  founderRandom: Uint8Array,
): Directory {
  return {
    number: 0,
    previous: undefined,
    devices: [deviceEntry(founder, { role: 'owner', ...byOwner, name }, 0)],
    removed: [],
    recovery: recovery.toSorted(bySlotId),
    quota: quotaDefault,
    givers: 'owners and writers',
    founderRandom,
  }
}

/** The part of a new device's entry that is not its keys. */
export type Admission = Pick<DeviceEntry, 'role' | 'name'> & Admitter

/**
 * The next directory, with one more device. Throws `permission_denied` for a device that was
 * removed, `invalid_input` for one that is a member, `store_full`.
 */
export function withDevice(
  seed: string,
  before: Directory,
  device: DeviceKeys,
  admission: Admission,
): Directory {
  checkCanJoin(before, { deviceId: device.deviceId, kemKey: device.kem.publicKey })
  const added = deviceEntry(device, admission, before.number + 1)
  const devices = [...before.devices, added].toSorted(byDeviceId)
  if (admission.admittedBy === 'passphrase' && countByPassphrase({ devices }) > before.quota) {
    throw new StoreError(
      'store_full',
      `The passphrase of this store has admitted ${before.quota} devices that are still active, ` +
        'which is its quota: an owner removes those that are not used any more, or raises the ' +
        'quota, or adds this device by its card',
    )
  }
  return nextDirectory(seed, before, { devices })
}

/** The next directory, with one more passphrase or recovery key. */
export function withRecovery(seed: string, before: Directory, entry: RecoveryEntry): Directory {
  const recovery = [...before.recovery, entry].toSorted(bySlotId)
  return nextDirectory(seed, before, { recovery })
}

/** The next directory, in which an active device has another name. */
export function withName(
  seed: string,
  before: Directory,
  deviceId: string,
  name: string,
): Directory {
  checkNewDeviceName(name)
  checkActive(before, deviceId)
  const devices = before.devices.map((device) => {
    return device.deviceId === deviceId ? { ...device, name } : device
  })
  return nextDirectory(seed, before, { devices })
}

/** The next directory, with another quota of devices that a passphrase admits. */
export function withQuota(seed: string, before: Directory, quota: number): Directory {
  if (!Number.isInteger(quota) || quota < 0 || quota > devicesMax) {
    throw new StoreError(
      'invalid_input',
      `The quota is a number of devices from 0 to ${devicesMax}`,
    )
  }
  return nextDirectory(seed, before, { quota })
}

/** The next directory, with others who may give grants. */
export function withGivers(seed: string, before: Directory, givers: Givers): Directory {
  return nextDirectory(seed, before, { givers })
}

/** Changes of rights in a new epoch; ids are hex digits. */
export interface RightsChanges {
  readonly removed?: readonly string[]
  readonly roles?: ReadonlyMap<string, Role>
  readonly givers?: Givers
}

/** The devices and rights after these changes, in a directory that is never written. */
export function withRights(
  before: Directory,
  { removed = [], roles = new Map(), givers = before.givers }: RightsChanges,
): Directory {
  const devices = before.devices
    .filter(({ deviceId }) => !removed.includes(deviceId))
    .map((device): DeviceEntry => {
      return Object.assign({}, device, { role: roles.get(device.deviceId) ?? device.role })
    })
  return { ...before, devices, givers }
}

/** Changes of devices in a new epoch; ids are hex digits. */
export interface DeviceChanges extends RightsChanges {
  readonly names?: ReadonlyMap<string, string>
  /** As another directory has them. */
  readonly added?: readonly DeviceEntry[]
}

/**
 * The next directory, with these changes and recovery entries. Throws `invalid_input` for a device
 * that is not active, or if no owner would remain.
 */
export function withChanges(
  seed: string,
  before: Directory,
  changes: DeviceChanges,
  recovery: readonly RecoveryEntry[],
  lastRecordOf: (deviceId: string) => LastRecord | undefined,
): Directory {
  const { removed = [], roles = new Map(), names = new Map(), added = [] } = changes
  for (const id of [...removed, ...roles.keys(), ...names.keys()]) checkActive(before, id)
  for (const one of added) checkCanJoin(before, one)
  for (const name of [...names.values(), ...added.map((one) => one.name)]) checkNewDeviceName(name)
  const number = before.number + 1
  const rights = withRights(before, changes)
  const kept = rights.devices.map((device): DeviceEntry => {
    return Object.assign({}, device, { name: names.get(device.deviceId) ?? device.name })
  })
  const fresh = added.map((one) => Object.assign({}, one, byOwner, { added: number }))
  const devices = [...kept, ...fresh]
  if (!devices.some(({ role }) => role === 'owner')) {
    throw new StoreError('invalid_input', 'The last owner of a store must remain an owner')
  }
  const removals = removed.map((deviceId) => {
    const { sequence, record } = lastRecordOf(deviceId) ?? noRecord
    return { deviceId, removed: number, sequence, record }
  })
  return nextDirectory(seed, before, {
    devices: devices.toSorted(byDeviceId),
    removed: [...before.removed, ...removals].toSorted(byDeviceId),
    recovery: recovery.toSorted(bySlotId),
    givers: rights.givers,
  })
}

function checkActive(directory: Directory, deviceId: string): void {
  if (findDevice(directory, deviceId) !== undefined) return
  throw new StoreError('invalid_input', 'Only an active device can be removed or changed')
}

/** The public half of a passphrase, under a new slot id. */
export function passphraseEntry(
  identity: RecoveryIdentity,
  argon2: Argon2Parameters,
  random: Random,
): RecoveryEntry {
  return { slotId: newId(random), type: 'passphrase', argon2, ...publicKeys(identity) }
}

/** The public half of a recovery key, under a new slot id. */
export function recoveryKeyEntry(identity: RecoveryIdentity, random: Random): RecoveryEntry {
  return { slotId: newId(random), type: 'recovery', ...publicKeys(identity) }
}

function publicKeys({
  signing,
  kem,
}: RecoveryIdentity): Pick<RecoveryEntry, 'signingKey' | 'kemKey'> {
  return { signingKey: signing.publicKey, kemKey: kem.publicKey }
}

function checkCanJoin(
  directory: Directory,
  { deviceId, kemKey }: Pick<DeviceEntry, 'deviceId' | 'kemKey'>,
): void {
  if (findRemoved(directory, deviceId) !== undefined) {
    throw new StoreError(
      'permission_denied',
      'This device was removed, and a removed device never returns; make a new identity',
    )
  }
  const known = findDevice(directory, deviceId)
  if (known !== undefined) throw isMember(known, kemKey)
}

/** Who knows a passphrase may have enrolled the id that a card shows, with what keys it likes. */
function isMember({ role, admittedBy, kemKey }: DeviceEntry, shown: Uint8Array): StoreError {
  const isSame = equalBytes(kemKey, shown)
  const anew = 'remove it (`gitlocket device remove`), and add a new identity of that machine'
  return new StoreError(
    'invalid_input',
    `This device is one of the store already: as ${role}, admitted by ${admitters[admittedBy]}` +
      (isSame
        ? `. \`gitlocket device role\` changes that; if its machine has not joined itself, ${anew}`
        : `, with another encryption key than the one given: ${anew}`),
  )
}

const admitters = {
  owner: 'an owner',
  recovery: 'a recovery key',
  passphrase: 'a passphrase',
} as const

function nextDirectory(
  seed: string,
  before: Directory,
  change: Partial<Omit<Directory, 'number' | 'previous' | 'founderRandom'>>,
): Directory {
  const previous = directoryHash(seed, before)
  const number = before.number + 1
  const next = { ...before, number, previous, founderRandom: undefined, ...change }
  checkSize(next)
  return next
}

/** Throws `store_full`. */
function checkSize({ devices, removed, recovery }: Directory): void {
  const recoveryKeys = recovery.filter(({ type }) => type === 'recovery')
  if (devices.length > devicesMax) {
    throw full(`A store has at most ${devicesMax} active devices: remove one that is not used`)
  }
  if (recoveryKeys.length > recoveryKeysMax) {
    throw full(`A store has at most ${recoveryKeysMax} recovery keys: replace them by one`)
  }
  if (removed.length > removedDevicesMax) {
    throw full(
      `At most ${removedDevicesMax} devices can be removed from a store: create a new store, and ` +
        'move the memories there with `gitlocket export` and `gitlocket import`',
    )
  }
}

function full(message: string): StoreError {
  return new StoreError('store_full', message)
}

function deviceEntry(device: DeviceKeys, admission: Admission, added: number): DeviceEntry {
  const { deviceId, signing, kem, keySignature } = device
  assert(deviceId === deviceIdOf(signing.publicKey), 'a device id is that of its key')
  checkNewDeviceName(admission.name)
  const keys = { signingKey: signing.publicKey, kemKey: kem.publicKey, keySignature }
  return { deviceId, ...keys, ...admission, added }
}

function bySlotId(a: RecoveryEntry, b: RecoveryEntry): number {
  return a.slotId < b.slotId ? -1 : 1
}

function byDeviceId<Entry extends { readonly deviceId: string }>(a: Entry, b: Entry): number {
  return a.deviceId < b.deviceId ? -1 : 1
}
