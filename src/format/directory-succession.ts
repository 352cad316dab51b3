// Which directory may follow another (FORMAT §7.1), whoever its author is:
// store/access/authority.ts checks the author's right, and the records that bring directories.

import { equalBytes } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { areSameKeys, verifyDeviceKeys } from './device-keys.ts'
import {
  type Admitter,
  countByPassphrase,
  type DeviceEntry,
  type Directory,
  directoryHash,
  encodeDirectory,
  findDevice,
  findRemoved,
  grades,
  recoveryBytes,
  type RecoveryEntry,
  type RemovedDevice,
} from './directory.ts'
import { seedOf } from './id.ts'

/** A device's newest record in the causal past of a record. */
export interface LastRecord {
  readonly sequence: number
  readonly record: Uint8Array
}

/** What a keyring record is checked against. */
export interface Step {
  readonly seed: string
  readonly previous: Directory
  readonly next: Directory
  readonly isSameEpoch: boolean
  readonly author: Admitter
  /** Undefined if a device has none, or is forked. */
  readonly lastRecordOf: (deviceId: string) => LastRecord | undefined
}

/** The rules for number 0. Throws `keyring_chain` or `store_seed_mismatch`. */
export function checkGenesisDirectory(seed: string, directory: Directory): void {
  const { founderRandom, devices, removed } = directory
  const [founder] = devices
  if (founderRandom === undefined || founder === undefined || devices.length !== 1) {
    throw broken('the first directory does not name the founder alone')
  }
  if (seedOf(founder.signingKey, founderRandom) !== seed) {
    throw new StoreError('store_seed_mismatch', 'The founder is not the one that the seed names')
  }
  if (founder.role !== 'owner' || founder.admittedBy !== 'owner') {
    throw broken('the founder is not an owner')
  }
  checkKeys(founder)
  if (removed.length > 0) throw broken('the first directory lists removed devices')
}

/** The rules for later numbers. Throws `keyring_chain`; `record_role` for a recovery identity. */
export function checkSuccessor(step: Step): void {
  const { seed, previous, next } = step
  if (next.number !== previous.number + 1) throw broken('its number does not follow')
  const hash = next.previous
  if (hash === undefined || !equalBytes(hash, directoryHash(seed, previous))) {
    throw broken('it does not name the directory before it')
  }
  checkEnrolment(step)
  checkRemovals(step)
  for (const device of next.devices) checkDevice(step, device)
  if (!next.devices.some(({ role }) => role === 'owner')) throw broken('no active owner remains')
  checkRecoverySlots(previous, next)
  checkKeptEpoch(step)
}

/** Each device that was active is active or removed, and a removed one stays as it is. */
function checkRemovals({ previous, next, lastRecordOf }: Step): void {
  for (const before of previous.removed) {
    const after = findRemoved(next, before.deviceId)
    if (after === undefined || !isSameRemoval(before, after)) {
      throw broken('a removed device is missing or has changed')
    }
  }
  for (const { deviceId } of previous.devices) {
    if (findDevice(next, deviceId) !== undefined) continue
    const removal = findRemoved(next, deviceId)
    if (removal === undefined) throw broken('a device is missing')
    const last = lastRecordOf(deviceId) ?? noRecord
    if (!isSameRemoval(removal, { deviceId, removed: next.number, ...last })) {
      throw broken('it does not name the last record of a removed device')
    }
  }
  for (const { deviceId } of next.removed) {
    if (findRemoved(previous, deviceId) ?? findDevice(previous, deviceId)) continue
    throw broken('it removes a device that was not a member')
  }
}

/** Of a device that has written none that is known. */
export const noRecord: LastRecord = { sequence: 0, record: new Uint8Array(32) }

function isSameRemoval(a: RemovedDevice, b: RemovedDevice): boolean {
  const isSamePoint = a.removed === b.removed && a.sequence === b.sequence
  return isSamePoint && equalBytes(a.record, b.record)
}

function checkDevice(step: Step, after: DeviceEntry): void {
  const before = findDevice(step.previous, after.deviceId)
  if (before === undefined) return checkNewDevice(step, after)
  const sameKeys = areSameKeys(before, after)
  const sameStart = before.added === after.added && isSameAdmitter(before, after)
  if (!sameKeys || !sameStart) throw broken("a device's keys or its beginning have changed")
}

function isSameAdmitter(a: Admitter, b: Admitter): boolean {
  return a.admittedBy === b.admittedBy && a.slotId === b.slotId
}

function checkNewDevice({ previous, next, author }: Step, device: DeviceEntry): void {
  if (findRemoved(previous, device.deviceId)) throw broken('a removed device has returned')
  if (device.added !== next.number) {
    throw broken('a new device has another number than the directory')
  }
  if (!isSameAdmitter(device, author)) throw broken('another author has admitted a new device')
  checkKeys(device)
}

/** Only where a device is new: a long history does not verify its signature again and again. */
function checkKeys(device: DeviceEntry): void {
  try {
    verifyDeviceKeys(device)
  } catch {
    throw broken('a new device has not signed its own keys')
  }
}

/** What a slot id names stays as it is. */
function checkRecoverySlots(previous: Directory, next: Directory): void {
  const before = new Map(previous.recovery.map((entry) => [entry.slotId, entry]))
  for (const entry of next.recovery) {
    const old = before.get(entry.slotId)
    if (old !== undefined && !equalBytes(recoveryBytes(old), recoveryBytes(entry))) {
      throw broken("a passphrase's or recovery key's keys have changed")
    }
  }
}

/** A recovery identity may only add devices, of its grade and in its quota: else `record_role`. */
function checkEnrolment({ previous, next, author, isSameEpoch }: Step): void {
  const { admittedBy } = author
  if (admittedBy === 'owner') return
  const added = next.devices.filter((device) => device.added === next.number)
  const within = added.every((device) => device.role === grades[admittedBy])
  const only = withoutAdditions(previous, next)
  if (!isSameEpoch || !within || added.length === 0 || !isEqual(previous, only)) {
    throw new StoreError('record_role', 'A recovery identity may only enrol devices')
  }
  if (admittedBy === 'passphrase' && countByPassphrase(next) > previous.quota) {
    throw new StoreError('record_role', 'The passphrase has enrolled more devices than its quota')
  }
}

/**
 * A keyring that keeps the epoch may only add devices and recovery identities, and change names,
 * the quota and, unless a device loses that right, who may give grants: a device that loses a right
 * would otherwise keep the keys.
 */
function checkKeptEpoch({ previous, next, isSameEpoch }: Step): void {
  if (!isSameEpoch) return
  const slots = new Set(previous.recovery.map(({ slotId }) => slotId))
  const recovery: readonly RecoveryEntry[] = next.recovery.filter(({ slotId }) => slots.has(slotId))
  const old = withoutAdditions(previous, next)
  const devices = old.devices.map((device) => withNameOf(previous, device))
  const givers = next.givers === 'owners' ? next.givers : previous.givers
  const kept = { ...old, devices, recovery, quota: previous.quota, givers }
  if (isEqual(previous, kept)) return
  throw broken('it keeps the epoch, but takes a right')
}

/** A device with the name that it has in `previous`. */
function withNameOf(previous: Directory, device: DeviceEntry): DeviceEntry {
  return { ...device, name: (findDevice(previous, device.deviceId) ?? device).name }
}

/** `next` as it would be at the number of `previous`, without new devices. */
function withoutAdditions(previous: Directory, next: Directory): Directory {
  const { number, previous: before, founderRandom } = previous
  const devices = next.devices.filter((device) => device.added !== next.number)
  return { ...next, number, previous: before, founderRandom, devices }
}

function isEqual(a: Directory, b: Directory): boolean {
  return equalBytes(encodeDirectory(a), encodeDirectory(b))
}

function broken(problem: string): StoreError {
  return new StoreError(
    'keyring_chain',
    `A keyring does not follow from the one before: ${problem}`,
  )
}
