// The directory of a keyring (FORMAT §7): the devices of a store with their roles, and its recovery
// identities. Checks which directory may follow another (§7.1, §7.3). directory-join.ts joins two
// (§7.2); store/access/authority.ts checks the records that bring them.

import {
  ByteReader,
  ByteWriter,
  compareBytes,
  equalBytes,
  fromHex,
  label,
  toHex,
} from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import { kemPublicKeyLength } from '../crypto/recipient.ts'
import { StoreError } from '../errors.ts'
import { devicesMax, goneSlotsMax, keyringSlotsMax, passphrasesMax } from '../limits.ts'
import { checkPadding } from './envelope.ts'
import { deviceIdOf, storeIdOf } from './id.ts'

/** In descending order of rights. */
export type Role = 'owner' | 'writer' | 'reader' | 'auditor'
export const roles: readonly Role[] = ['owner', 'writer', 'reader', 'auditor']

export interface DeviceEntry {
  readonly deviceId: string
  readonly signingKey: Uint8Array
  readonly kemKey: Uint8Array
  readonly role: Role
  /** Directory numbers; `removed` 0 means active. */
  readonly added: number
  readonly removed: number
}

/** The public half of a passphrase or a recovery key. */
export interface RecoveryEntry {
  readonly slotId: string
  readonly type: 'passphrase' | 'recovery'
  readonly signingKey: Uint8Array
  readonly kemKey: Uint8Array
}

export interface Directory {
  readonly number: number
  /** Hashes of the previous directories. */
  readonly previous: readonly Uint8Array[]
  readonly devices: readonly DeviceEntry[]
  readonly recovery: readonly RecoveryEntry[]
  /** The slot ids of removed recovery entries, ascending: they never come back. */
  readonly gone: readonly string[]
  /** 32 bytes, only in number 0. */
  readonly founderRandom: Uint8Array | undefined
}

export const slotTypes = { device: 1, passphrase: 2, recovery: 3 } as const

const VERSION = 1
const HASH_LABEL = label('GLK1/directory/v1')

/** Checks a role from user input. Throws `invalid_input`. */
export function checkRole(role: string): Role {
  const found = roles.find((name) => name === role)
  if (found !== undefined) return found
  throw new StoreError('invalid_input', `A role is one of ${roles.join(', ')}`)
}

export function encodeDirectory(directory: Directory): Uint8Array {
  const { number, previous, devices, recovery, gone, founderRandom } = directory
  const writer = new ByteWriter()
    .u8(VERSION)
    .u8(previous.length)
    .u16(devices.length)
    .u16(recovery.length)
    .u16(gone.length)
    .u64(number)
  for (const hash of previous) writer.raw(hash)
  for (const device of devices) {
    writer.raw(fromHex(device.deviceId)).raw(device.signingKey).raw(device.kemKey)
    writer
      .u8(roles.indexOf(device.role) + 1)
      .u64(device.added)
      .u64(device.removed)
  }
  for (const entry of recovery) writer.raw(fromHex(entry.slotId)).raw(recoveryKeys(entry))
  for (const slotId of gone) writer.raw(fromHex(slotId))
  if (founderRandom !== undefined) writer.raw(founderRandom)
  return writer.bytes()
}

/** The bytes that a slot id identifies: type and keys. */
export function recoveryKeys({ type, signingKey, kemKey }: RecoveryEntry): Uint8Array {
  return new ByteWriter().u8(slotTypes[type]).raw(signingKey).raw(kemKey).bytes()
}

/** Throws `keyring_malformed`, `upgrade_required` or `envelope_padding`. */
export function decodeDirectory(padded: Uint8Array): Directory {
  const reader = new ByteReader(padded, malformed)
  if (reader.u8() !== VERSION) {
    throw new StoreError('upgrade_required', 'A directory was written by a newer release')
  }
  const previousCount = reader.u8()
  const deviceCount = reader.u16()
  const recoveryCount = reader.u16()
  const goneCount = reader.u16()
  checkCounts(deviceCount, recoveryCount, goneCount)
  const number = reader.u64()
  checkPreviousCount(previousCount, number)
  const previous = Array.from({ length: previousCount }, () => reader.raw(32))
  const devices = Array.from({ length: deviceCount }, () => readDevice(reader, number))
  const recovery = Array.from({ length: recoveryCount }, () => readRecovery(reader))
  const gone = Array.from({ length: goneCount }, () => toHex(reader.raw(16)))
  const founderRandom = number === 0 ? reader.raw(32) : undefined
  checkPadding('directory', padded, reader.offset)
  checkAscending(devices.map((device) => device.deviceId))
  checkAscending(recovery.map((entry) => entry.slotId))
  checkAscending(gone)
  if (passphrasesOf(recovery).length > passphrasesMax) {
    throw malformed('it has too many passphrases')
  }
  if (recovery.some((entry) => gone.includes(entry.slotId))) {
    throw malformed('a removed slot is still listed')
  }
  return { number, previous, devices, recovery, gone, founderRandom }
}

export function directoryHash(storeId: string, directory: Directory): Uint8Array {
  return hash256(HASH_LABEL, fromHex(storeId), encodeDirectory(directory))
}

export function findDevice(directory: Directory, deviceId: string): DeviceEntry | undefined {
  return directory.devices.find((device) => device.deviceId === deviceId)
}

/** The rules of FORMAT §7.1 for number 0. Throws `keyring_chain` or `store_id_mismatch`. */
export function checkGenesisDirectory(storeId: string, directory: Directory): void {
  const { founderRandom, devices, gone } = directory
  const [founder] = devices
  if (founderRandom === undefined || founder === undefined || devices.length !== 1) {
    throw broken('the first directory does not name the founder alone')
  }
  if (storeIdOf(founder.signingKey, founderRandom) !== storeId) {
    throw new StoreError('store_id_mismatch', 'The founder is not the one that the store id names')
  }
  if (founder.role !== 'owner') throw broken('the founder is not an owner')
  if (gone.length > 0) throw broken('the first directory lists removed slots')
}

/**
 * The rules of FORMAT §7.1 for later numbers, except the author's right. Throws `keyring_chain`.
 */
export function checkSuccessor(storeId: string, previous: Directory, next: Directory): void {
  if (next.number !== previous.number + 1) throw broken('its number does not follow')
  const [hash, another] = next.previous
  const isNamed = hash !== undefined && equalBytes(hash, directoryHash(storeId, previous))
  if (!isNamed || another !== undefined) {
    throw broken('it does not name the directory before it')
  }
  for (const before of previous.devices) {
    const after = findDevice(next, before.deviceId)
    if (after === undefined) throw broken('a device is missing')
    checkDeviceStep(before, after, next.number)
  }
  for (const device of next.devices) {
    if (findDevice(previous, device.deviceId) !== undefined) continue
    if (device.added !== next.number || device.removed !== 0) {
      throw broken('a new device has another number than the directory')
    }
  }
  if (!next.devices.some((device) => device.role === 'owner' && device.removed === 0)) {
    throw broken('no active owner remains')
  }
  checkSlotSteps(previous, next)
}

/** Recovery entries keep their keys; removed ones are listed for ever, for later joins. */
function checkSlotSteps(previous: Directory, next: Directory): void {
  const before = new Map(previous.recovery.map((entry) => [entry.slotId, entry]))
  const kept = next.recovery.filter((entry) => before.has(entry.slotId))
  for (const entry of kept) {
    const old = before.get(entry.slotId)
    if (old === undefined || !equalBytes(recoveryKeys(old), recoveryKeys(entry))) {
      throw broken("a passphrase's or recovery key's keys have changed")
    }
    before.delete(entry.slotId)
  }
  const gone = [...previous.gone, ...before.keys()].toSorted()
  if (gone.join() !== next.gone.join()) throw broken('it does not list the removed slots')
  const passphrases = passphrasesOf(next.recovery)
  if (passphrases.length > 1 && passphrases.some((entry) => !kept.includes(entry))) {
    throw broken('a new passphrase was added to another one')
  }
}

/**
 * A keyring that keeps the epoch may only add devices and recovery identities: a device that loses
 * a right would otherwise keep the keys (FORMAT §7.1). Throws `keyring_chain`.
 */
export function checkRotation(previous: Directory, next: Directory, sameEpoch: boolean): void {
  if (!sameEpoch) return
  const slots = new Set(previous.recovery.map((entry) => entry.slotId))
  const recovery = next.recovery.filter((entry) => slots.has(entry.slotId))
  if (isUnchanged(previous, { ...next, recovery })) return
  throw broken('it keeps the epoch, but does not only add entries')
}

/** A recovery identity may only add devices, up to its grade (FORMAT §7). Throws `record_role`. */
export function checkRecoveryStep(
  entry: RecoveryEntry,
  previous: Directory,
  next: Directory,
): void {
  const grades: readonly Role[] = entry.type === 'recovery' ? roles : roles.slice(1)
  const added = next.devices.filter((device) => device.added === next.number)
  const within = added.every((device) => grades.includes(device.role))
  if (within && isUnchanged(previous, next)) return
  throw new StoreError('record_role', 'A recovery identity may only enrol devices')
}

/** Whether `next` differs from `previous` only by new devices. */
function isUnchanged(previous: Directory, next: Directory): boolean {
  const untouched: Directory = {
    ...next,
    number: previous.number,
    previous: previous.previous,
    devices: next.devices.filter((device) => device.added !== next.number),
    founderRandom: previous.founderRandom,
  }
  return equalBytes(encodeDirectory(untouched), encodeDirectory(previous))
}

function checkDeviceStep(before: DeviceEntry, after: DeviceEntry, number: number): void {
  const sameKeys =
    equalBytes(before.signingKey, after.signingKey) && equalBytes(before.kemKey, after.kemKey)
  if (!sameKeys || before.added !== after.added) throw broken("a device's keys have changed")
  if (before.removed === after.removed) return
  if (before.removed !== 0 || after.removed !== number) {
    throw broken('a removed device has returned')
  }
}

/** None for number 0, one for any other, or the two that it joins (FORMAT §7.2). */
function checkPreviousCount(count: number, number: number): void {
  const joins = count === 2 && number > 1
  if (joins || count === (number === 0 ? 0 : 1)) return
  throw malformed('the number of its predecessors is wrong')
}

function checkCounts(devices: number, recovery: number, gone: number): void {
  if (devices <= devicesMax && recovery <= keyringSlotsMax && gone <= goneSlotsMax) return
  throw malformed('it has too many entries')
}

function passphrasesOf(recovery: readonly RecoveryEntry[]): readonly RecoveryEntry[] {
  return recovery.filter(({ type }) => type === 'passphrase')
}

function readDevice(reader: ByteReader, number: number): DeviceEntry {
  const deviceId = toHex(reader.raw(16))
  const signingKey = reader.raw(32)
  const kemKey = reader.raw(kemPublicKeyLength)
  const role = roles[reader.u8() - 1]
  const added = reader.u64()
  const removed = reader.u64()
  if (role === undefined) throw malformed('a role is unknown')
  if (added > number || removed > number || (removed !== 0 && removed <= added)) {
    throw malformed('a device was added or removed at an impossible number')
  }
  if (deviceId !== deviceIdOf(signingKey)) throw malformed('a device id is not that of its key')
  return { deviceId, signingKey, kemKey, role, added, removed }
}

function readRecovery(reader: ByteReader): RecoveryEntry {
  const slotId = toHex(reader.raw(16))
  const code = reader.u8()
  if (code !== slotTypes.passphrase && code !== slotTypes.recovery) {
    throw malformed('the type of a recovery entry is unknown')
  }
  const type = code === slotTypes.passphrase ? 'passphrase' : 'recovery'
  return { slotId, type, signingKey: reader.raw(32), kemKey: reader.raw(kemPublicKeyLength) }
}

function checkAscending(ids: readonly string[]): void {
  const bytes = ids.map(fromHex)
  bytes.forEach((id, index) => {
    const before = bytes[index - 1]
    if (before !== undefined && compareBytes(before, id) >= 0) {
      throw malformed('its entries do not ascend')
    }
  })
}

function malformed(problem: string): StoreError {
  return new StoreError('keyring_malformed', `A directory is malformed: ${problem}`)
}

function broken(problem: string): StoreError {
  return new StoreError(
    'keyring_chain',
    `A keyring does not follow from the one before: ${problem}`,
  )
}
