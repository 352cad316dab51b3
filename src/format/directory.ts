// The directory of a keyring (FORMAT §7): the devices of a store with their roles, and its recovery
// identities. Checks one directory alone: directory-succession.ts checks which may follow another
// (§7.1).

import {
  ByteReader,
  ByteWriter,
  compareBytes,
  fromHex,
  isZero,
  label,
  toHex,
  utf8,
  utf8Text,
} from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import { isStretchAllowed } from '../crypto/passphrase.ts'
import { kemPublicKeyLength } from '../crypto/recipient.ts'
import { StoreError } from '../errors.ts'
import {
  deviceNameBytesMax,
  devicesMax,
  passphrasesMax,
  recoveryKeysMax,
  removedDevicesMax,
} from '../limits.ts'
import type { GrantRole } from './change-record.ts'
import type { SignedKeys } from './device-keys.ts'
import { checkDeviceName } from './device-name.ts'
import { checkPadding } from './envelope.ts'
import { deviceIdOf, recoveryIdOf } from './id.ts'
import { newerRelease } from './public-files.ts'

/** In descending order of rights. */
export type Role = 'owner' | 'writer' | 'reader' | 'auditor'
export const roles: readonly Role[] = ['owner', 'writer', 'reader', 'auditor']

/** The role of a device, or of a grant's holder. */
export type MemberRole = Role | GrantRole

/** Who admitted a device; as the founder, an owner. */
export type AdmittedBy = 'owner' | 'recovery' | 'passphrase'
const admissions: readonly AdmittedBy[] = ['owner', 'recovery', 'passphrase']

/** The roles whose devices may give grants (FORMAT §12). */
export type Givers = 'owners and writers' | 'owners'

/** The one role that a recovery identity gives. */
export const grades: Readonly<Record<RecoveryEntry['type'], Role>> = {
  recovery: 'owner',
  passphrase: 'writer',
}

/** An active device. */
export interface DeviceEntry extends SignedKeys {
  readonly deviceId: string
  readonly role: Role
  readonly admittedBy: AdmittedBy
  /** The recovery entry that admitted it; undefined for an owner. */
  readonly slotId: string | undefined
  /** The directory number that added it. */
  readonly added: number
  /** FORMAT §1.5; may be empty. */
  readonly name: string
}

/** The device or recovery entry that admits a device. */
export type Admitter = Pick<DeviceEntry, 'admittedBy' | 'slotId'>
export const byOwner: Admitter = { admittedBy: 'owner', slotId: undefined }

export interface RemovedDevice {
  readonly deviceId: string
  /** The directory number that removed it. */
  readonly removed: number
  /** Its last record that the author of the removal knew; 0 and zeros if it had written none. */
  readonly sequence: number
  readonly record: Uint8Array
}

/** The Argon2id parameters of a passphrase. */
export interface Argon2Parameters {
  /** 16 bytes. */
  readonly salt: Uint8Array
  readonly passes: number
  readonly memoryKiB: number
}

interface RecoveryKeys {
  readonly slotId: string
  readonly signingKey: Uint8Array
  readonly kemKey: Uint8Array
}

/** The public half of a passphrase or a recovery key. */
export type RecoveryEntry =
  | (RecoveryKeys & { readonly type: 'recovery' })
  | (RecoveryKeys & { readonly type: 'passphrase'; readonly argon2: Argon2Parameters })

export interface Directory {
  readonly number: number
  /** The hash of the previous directory; undefined in number 0. */
  readonly previous: Uint8Array | undefined
  readonly devices: readonly DeviceEntry[]
  readonly removed: readonly RemovedDevice[]
  readonly recovery: readonly RecoveryEntry[]
  /** How many active devices there may be that a passphrase has admitted. */
  readonly quota: number
  readonly givers: Givers
  /** 32 bytes, only in number 0. */
  readonly founderRandom: Uint8Array | undefined
}

const VERSION = 1
const HASH_LABEL = label('GLK1/directory/v1')
const allGivers = ['owners and writers', 'owners'] as const satisfies readonly Givers[]
const giverNumbers: Readonly<Record<Givers, number>> = { 'owners and writers': 1, owners: 2 }
const recoveryTypes = { passphrase: 2, recovery: 3 } as const

/** Checks a role from user input. Throws `invalid_input`. */
export function checkRole(role: string): Role {
  const found = roles.find((name) => name === role)
  if (found !== undefined) return found
  throw new StoreError('invalid_input', `A role is one of ${roles.join(', ')}`)
}

/** Checks who may give grants, from user input. Throws `invalid_input`. */
export function checkGivers(givers: string): Givers {
  const found = allGivers.find((name) => name === givers)
  if (found !== undefined) return found
  throw new StoreError('invalid_input', `Those who give grants are one of: ${allGivers.join(', ')}`)
}

/** As the subject of a sentence. */
export function giversText(givers: Givers): string {
  return givers === 'owners' ? 'owners alone' : givers
}

export function encodeDirectory(directory: Directory): Uint8Array {
  const { number, previous, devices, removed, recovery, quota, givers, founderRandom } = directory
  const writer = new ByteWriter()
    .u8(VERSION)
    .u8(previous === undefined ? 0 : 1)
    .u8(giverNumbers[givers])
    .u8(0)
    .u16(devices.length)
    .u16(removed.length)
    .u16(recovery.length)
    .u16(quota)
    .u64(number)
  if (previous !== undefined) writer.raw(previous)
  for (const device of devices) writeDevice(writer, device)
  for (const device of removed) {
    writer.raw(fromHex(device.deviceId)).u64(device.removed)
    writer.u64(device.sequence).raw(device.record)
  }
  for (const entry of recovery) writer.raw(fromHex(entry.slotId)).raw(recoveryBytes(entry))
  if (founderRandom !== undefined) writer.raw(founderRandom)
  return writer.bytes()
}

/** The bytes that a slot id identifies: type, keys, and the parameters of a passphrase. */
export function recoveryBytes(entry: RecoveryEntry): Uint8Array {
  const writer = new ByteWriter().u8(recoveryTypes[entry.type])
  writer.raw(entry.signingKey).raw(entry.kemKey)
  if (entry.type === 'passphrase') writer.raw(argon2Bytes(entry.argon2))
  return writer.bytes()
}

/** salt ‖ u32 passes ‖ u32 KiB. */
export function argon2Bytes({ salt, passes, memoryKiB }: Argon2Parameters): Uint8Array {
  return new ByteWriter().raw(salt).u32(passes).u32(memoryKiB).bytes()
}

export function readArgon2(reader: ByteReader): Argon2Parameters {
  return { salt: reader.raw(16), passes: reader.u32(), memoryKiB: reader.u32() }
}

/** Throws `keyring_malformed`, `upgrade_required` or `envelope_padding`. */
export function decodeDirectory(padded: Uint8Array): Directory {
  const reader = new ByteReader(padded, malformed)
  if (reader.u8() !== VERSION) throw newerRelease()
  const previousCount = reader.u8()
  const givers = readGivers(reader)
  const counts = { devices: reader.u16(), removed: reader.u16(), recovery: reader.u16() }
  checkCounts(counts)
  const [quota, number] = [reader.u16(), reader.u64()]
  if (previousCount !== (number === 0 ? 0 : 1)) {
    throw malformed('the number of its predecessors is wrong')
  }
  if (quota > devicesMax) throw malformed('its quota is out of range')
  const previous = number === 0 ? undefined : reader.raw(32)
  const devices = Array.from({ length: counts.devices }, () => readDevice(reader, number))
  const removed = Array.from({ length: counts.removed }, () => readRemoved(reader, number))
  const recovery = Array.from({ length: counts.recovery }, () => readRecovery(reader))
  const founderRandom = number === 0 ? reader.raw(32) : undefined
  checkPadding('directory', padded, reader.offset)
  const rest = { recovery, quota, givers, founderRandom }
  const directory = { number, previous, devices, removed, ...rest }
  checkLists(directory)
  return directory
}

function readGivers(reader: ByteReader): Givers {
  const number = reader.u8()
  const givers = allGivers.find((one) => giverNumbers[one] === number)
  if (givers === undefined || reader.u8() !== 0) {
    throw malformed('the devices that may give grants are unknown')
  }
  return givers
}

export function directoryHash(seed: string, directory: Directory): Uint8Array {
  return hash256(HASH_LABEL, fromHex(seed), encodeDirectory(directory))
}

/** The entry of an active device. */
export function findDevice(directory: Directory, deviceId: string): DeviceEntry | undefined {
  return directory.devices.find((device) => device.deviceId === deviceId)
}

/** Whether a directory has a device as owner or writer (FORMAT §7.2). */
export function isInForce(directory: Directory, deviceId: string): boolean {
  const role = findDevice(directory, deviceId)?.role
  return role === 'owner' || role === 'writer'
}

/** Whether a device may give grants in a directory (FORMAT §7.2). */
export function mayGive(directory: Directory, deviceId: string): boolean {
  const isOwner = findDevice(directory, deviceId)?.role === 'owner'
  return isOwner || (directory.givers === 'owners and writers' && isInForce(directory, deviceId))
}

export function findRemoved(directory: Directory, deviceId: string): RemovedDevice | undefined {
  return directory.removed.find((device) => device.deviceId === deviceId)
}

/** How many active devices a passphrase has admitted. */
export function countByPassphrase({ devices }: Pick<Directory, 'devices'>): number {
  return devices.filter(({ admittedBy }) => admittedBy === 'passphrase').length
}

function writeDevice(writer: ByteWriter, device: DeviceEntry): void {
  const name = utf8(device.name)
  writer
    .raw(fromHex(device.deviceId))
    .raw(device.signingKey)
    .raw(device.kemKey)
    .raw(device.keySignature)
    .u8(roles.indexOf(device.role) + 1)
    .u8(admissions.indexOf(device.admittedBy) + 1)
    .raw(device.slotId === undefined ? new Uint8Array(16) : fromHex(device.slotId))
    .u64(device.added)
    .u16(name.length)
    .raw(name)
}

function readDevice(reader: ByteReader, number: number): DeviceEntry {
  const deviceId = toHex(reader.raw(16))
  const keys = readKeys(reader)
  const role = roles[reader.u8() - 1]
  const admitter = readAdmitter(reader)
  const added = reader.u64()
  const nameLength = reader.u16()
  if (nameLength > deviceNameBytesMax) throw malformed('the name of a device is too long')
  const name = readName(reader.raw(nameLength))
  if (role === undefined) throw malformed('a role is unknown')
  if (added > number) throw malformed('a device was added at an impossible number')
  if (deviceId !== deviceIdOf(keys.signingKey)) {
    throw malformed('a device id is not that of its key')
  }
  return { deviceId, ...keys, role, ...admitter, added, name }
}

function readAdmitter(reader: ByteReader): Admitter {
  const admittedBy = admissions[reader.u8() - 1]
  const bytes = reader.raw(16)
  if (admittedBy === undefined) throw malformed('a device was admitted in an unknown way')
  if ((admittedBy === 'owner') !== isZero(bytes)) {
    throw malformed('the slot that admitted a device is missing, or an owner has one')
  }
  return { admittedBy, slotId: admittedBy === 'owner' ? undefined : toHex(bytes) }
}

/** The succession checks the signature, where the device is new. */
function readKeys(reader: ByteReader): SignedKeys {
  const [signingKey, kemKey] = [reader.raw(32), reader.raw(kemPublicKeyLength)]
  return { signingKey, kemKey, keySignature: reader.raw(64) }
}

function readName(bytes: Uint8Array): string {
  try {
    return checkDeviceName(utf8Text(bytes))
  } catch {
    // The refused name is plaintext: it must not be in the error.
    throw malformed('the name of a device is not allowed')
  }
}

function readRemoved(reader: ByteReader, number: number): RemovedDevice {
  const deviceId = toHex(reader.raw(16))
  const [removed, sequence, record] = [reader.u64(), reader.u64(), reader.raw(32)]
  if (removed === 0 || removed > number) {
    throw malformed('a device was removed at an impossible number')
  }
  if ((sequence === 0) !== isZero(record)) {
    throw malformed('the last record of a removed device is incomplete')
  }
  return { deviceId, removed, sequence, record }
}

function readRecovery(reader: ByteReader): RecoveryEntry {
  const slotId = toHex(reader.raw(16))
  const code = reader.u8()
  const keys = { slotId, signingKey: reader.raw(32), kemKey: reader.raw(kemPublicKeyLength) }
  if (code === recoveryTypes.recovery) return { ...keys, type: 'recovery' }
  if (code === recoveryTypes.passphrase) {
    const argon2 = readArgon2(reader)
    if (!isStretchAllowed(argon2)) throw malformed('Argon2id parameters are out of bounds')
    return { ...keys, type: 'passphrase', argon2 }
  }
  throw malformed('the type of a recovery entry is unknown')
}

/** Before memory is taken for them. */
function checkCounts(counts: {
  readonly devices: number
  readonly removed: number
  readonly recovery: number
}): void {
  const fits =
    counts.devices <= devicesMax &&
    counts.removed <= removedDevicesMax &&
    counts.recovery <= passphrasesMax + recoveryKeysMax
  if (!fits) throw malformed('it has too many entries')
}

function checkLists({ devices, removed, recovery }: Directory): void {
  checkAscending(devices.map(({ deviceId }) => deviceId))
  checkAscending(removed.map(({ deviceId }) => deviceId))
  checkAscending(recovery.map(({ slotId }) => slotId))
  const passphrases = recovery.filter(({ type }) => type === 'passphrase').length
  if (passphrases > passphrasesMax || recovery.length - passphrases > recoveryKeysMax) {
    throw malformed('it has too many passphrases or recovery keys')
  }
  const removedIds = new Set(removed.map(({ deviceId }) => deviceId))
  if (devices.some(({ deviceId }) => removedIds.has(deviceId))) {
    throw malformed('a removed device is still listed')
  }
  // An author is told by its id: a record of one must not pass for one of the other.
  const recoveryIds = recovery.map(({ slotId, signingKey }) => recoveryIdOf(slotId, signingKey))
  const deviceIds = new Set([...removedIds, ...devices.map(({ deviceId }) => deviceId)])
  if (recoveryIds.some((id) => deviceIds.has(id))) {
    throw malformed('a device has the id of a recovery identity')
  }
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
