// FORMAT §7: the directory of devices and recovery identities. Which may follow which is
// succession.ts. Ids and hashes are hex; public keys are bytes.

import {
  concat,
  fromHex,
  label,
  Reader,
  toHex,
  u16,
  u32,
  u64,
  u8,
  utf8,
  utf8Text,
} from './bytes.ts'
import { checkDeviceName, type DeviceKeys } from './device-card.ts'
import { checkPadding } from './envelope.ts'
import { H } from './hash.ts'
import { deviceIdOf, recoveryIdOf } from './identity.ts'
import { zeroHash, zeroId } from './record.ts'
import { ensure, refuse } from './refusal.ts'

export const roles = ['owner', 'writer', 'reader', 'auditor'] as const

export type Role = (typeof roles)[number]

export interface PublicKeys {
  /** Ed25519. */
  readonly signingKey: Uint8Array
  /** X-Wing. */
  readonly kemKey: Uint8Array
}

/** The devices that may give grants: 1 owners and writers, 2 owners alone. */
export type Givers = 1 | 2

/** 1 an owner, or as founder, 2 a recovery key, 3 a passphrase. */
export type Grade = 1 | 2 | 3

/** An active device. */
export interface Device extends DeviceKeys {
  readonly deviceId: string
  readonly role: Role
  /** The identity that added the device. */
  readonly admittedBy: Grade
  /** The id of the recovery entry that added it; zero if none did. */
  readonly slotId: string
  /** Directory number. */
  readonly added: number
  readonly name: string
}

/** The newest record of a device; zeros if it has not written. */
export interface LastRecord {
  readonly sequence: number
  /** Its hash. */
  readonly record: string
}

export interface RemovedDevice extends LastRecord {
  readonly deviceId: string
  /** Directory number. */
  readonly removed: number
}

interface Entry extends PublicKeys {
  readonly slotId: string
}

export interface PassphraseEntry extends Entry {
  readonly slotType: 2
  /** 16 bytes. */
  readonly salt: Uint8Array
  readonly passes: number
  readonly memoryKiB: number
}

export type RecoveryEntry = PassphraseEntry | (Entry & { readonly slotType: 3 })

export interface Directory {
  readonly number: number
  /** The hash of the one before; undefined in number 0. */
  readonly previous: string | undefined
  readonly devices: readonly Device[]
  readonly removed: readonly RemovedDevice[]
  readonly recoveries: readonly RecoveryEntry[]
  readonly givers: Givers
  /** How many active devices there may be that a passphrase has admitted. */
  readonly quota: number
  /** 32 bytes in number 0, else undefined. */
  readonly founderRandom: Uint8Array | undefined
}

/** The plaintext, before padding. */
export function encodeDirectory(directory: Directory): Uint8Array {
  const { number, previous, devices, removed, recoveries, quota } = directory
  return concat(
    u8(1),
    u8(previous === undefined ? 0 : 1),
    u8(directory.givers),
    u8(0),
    ...[devices, removed, recoveries].map((list) => u16(list.length)),
    u16(quota),
    u64(number),
    previous === undefined ? new Uint8Array() : fromHex(previous),
    ...devices.map(encodeDevice),
    ...removed.map(encodeRemoved),
    ...recoveries.map(encodeRecovery),
    directory.founderRandom ?? new Uint8Array(),
  )
}

function encodeDevice(device: Device): Uint8Array {
  const { deviceId, signingKey, kemKey, keySignature, role, slotId } = device
  const keys = concat(fromHex(deviceId), signingKey, kemKey, keySignature)
  const admitted = concat(u8(device.admittedBy), fromHex(slotId), u64(device.added))
  const name = utf8(device.name)
  return concat(keys, u8(roles.indexOf(role) + 1), admitted, u16(name.length), name)
}

function encodeRemoved({ deviceId, removed, sequence, record }: RemovedDevice): Uint8Array {
  return concat(fromHex(deviceId), u64(removed), u64(sequence), fromHex(record))
}

function encodeRecovery(entry: RecoveryEntry): Uint8Array {
  const { slotId, slotType, signingKey, kemKey } = entry
  const common = concat(fromHex(slotId), u8(slotType), signingKey, kemKey)
  if (entry.slotType === 3) return common
  return concat(common, entry.salt, u32(entry.passes), u32(entry.memoryKiB))
}

/** Hash of a directory, as hex. */
export function directoryHash(seed: string, directory: Directory): string {
  return toHex(H(label('GLK1/directory/v1'), fromHex(seed), encodeDirectory(directory)))
}

/** Padded plaintext to directory; else `keyring_malformed` or `envelope_padding`. */
export function decodeDirectory(padded: Uint8Array): Directory {
  const reader = new Reader(padded, 'keyring_malformed')
  ensure(reader.u8() === 1, 'upgrade_required', 'The directory has another version')
  const previousCount = reader.u8()
  const givers = readGivers(reader)
  ensure(reader.u8() === 0, 'keyring_malformed', 'A reserved byte is set')
  const deviceCount = readCount(reader, 250)
  const removedCount = readCount(reader, 16_384)
  const recoveryCount = readCount(reader, 65)
  const quota = readCount(reader, 250)
  const number = reader.u64()
  const links = previousCount === (number === 0 ? 0 : 1)
  ensure(links, 'keyring_malformed', 'The number of previous directories is wrong')
  const previous = number === 0 ? undefined : reader.hex(32)
  const devices = Array.from({ length: deviceCount }, () => readDevice(reader, number))
  const removed = Array.from({ length: removedCount }, () => readRemoved(reader, number))
  const recoveries = Array.from({ length: recoveryCount }, () => readRecovery(reader))
  const founderRandom = number === 0 ? reader.raw(32) : undefined
  checkPadding('directory', padded, reader.offset)
  const lists = { devices, removed, recoveries }
  checkIds(lists)
  checkKinds(recoveries)
  return { number, previous, ...lists, givers, quota, founderRandom }
}

function readGivers(reader: Reader): Givers {
  const givers = reader.u8()
  if (givers === 1 || givers === 2) return givers
  return refuse('keyring_malformed', 'Who may give grants is unknown')
}

function readCount(reader: Reader, most: number): number {
  const count = reader.u16()
  ensure(count <= most, 'keyring_malformed', 'A directory has too many entries of one kind')
  return count
}

function readDevice(reader: Reader, number: number): Device {
  const deviceId = reader.hex(16)
  const keys = {
    signingKey: reader.raw(32),
    kemKey: reader.raw(1216),
    keySignature: reader.raw(64),
  }
  const role = roles[reader.u8() - 1] ?? refuse('keyring_malformed', 'A role is unknown')
  const admittedBy = readGrade(reader)
  const slotId = reader.hex(16)
  const added = reader.u64()
  const name = utf8Text(reader.raw(reader.u16()), 'keyring_malformed')
  checkDeviceName(name, 'keyring_malformed')
  const own = deviceId === deviceIdOf(keys.signingKey)
  ensure(own, 'keyring_malformed', 'A device id is not its key’s')
  const byOwner = (admittedBy === 1) === (slotId === zeroId)
  ensure(byOwner, 'keyring_malformed', 'Not what a recovery entry admitted names its slot id')
  ensure(added <= number, 'keyring_malformed', 'A device comes at an impossible number')
  return { deviceId, ...keys, role, admittedBy, slotId, added, name }
}

function readGrade(reader: Reader): Grade {
  const grade = reader.u8()
  if (grade === 1 || grade === 2 || grade === 3) return grade
  return refuse('keyring_malformed', 'What admitted a device is unknown')
}

function readRemoved(reader: Reader, number: number): RemovedDevice {
  const deviceId = reader.hex(16)
  const [removed, sequence, record] = [reader.u64(), reader.u64(), reader.hex(32)]
  const possible = removed > 0 && removed <= number
  ensure(possible, 'keyring_malformed', 'A device goes at an impossible number')
  const both = (sequence === 0) === (record === zeroHash)
  ensure(both, 'keyring_malformed', 'A removed device has a half of a last record')
  return { deviceId, removed, sequence, record }
}

function readRecovery(reader: Reader): RecoveryEntry {
  const slotId = reader.hex(16)
  const slotType = reader.u8()
  if (slotType !== 2 && slotType !== 3) {
    return refuse('keyring_malformed', 'A recovery entry is a passphrase or a recovery key')
  }
  const entry = { slotId, signingKey: reader.raw(32), kemKey: reader.raw(1216) }
  if (slotType === 3) return { ...entry, slotType }
  const costs = { salt: reader.raw(16), passes: reader.u32(), memoryKiB: reader.u32() }
  ensure(areAllowed(costs), 'keyring_malformed', 'The Argon2id parameters are not allowed')
  return { ...entry, slotType, ...costs }
}

/** §7.5: whether Argon2id may cost this. */
export function areAllowed({
  passes,
  memoryKiB,
}: Pick<PassphraseEntry, 'passes' | 'memoryKiB'>): boolean {
  const passesFit = passes >= 2 && passes <= 10
  return passesFit && memoryKiB >= 64 * 1024 && memoryKiB <= 1024 * 1024
}

function checkIds(lists: Pick<Directory, 'devices' | 'removed' | 'recoveries'>): void {
  const devices = [lists.devices, lists.removed].map((list) => list.map((d) => d.deviceId))
  for (const list of [...devices, lists.recoveries.map((r) => r.slotId)]) {
    const sorted = list.every((id, i) => i === 0 || id > (list[i - 1] ?? ''))
    ensure(sorted, 'keyring_malformed', 'The entries do not ascend by id')
  }
  const ids = devices.flat()
  ensure(new Set(ids).size === ids.length, 'keyring_malformed', 'An id is in two lists')
  const apart = devices.flat().every((id) => findRecovery(lists, id) === undefined)
  ensure(apart, 'keyring_malformed', 'A device has the id of a recovery identity')
}

function checkKinds(recoveries: readonly RecoveryEntry[]): void {
  const passphrases = recoveries.filter((r) => r.slotType === 2).length
  ensure(passphrases <= 1, 'keyring_malformed', 'There is at most one passphrase')
  const keys = recoveries.length - passphrases
  ensure(keys <= 64, 'keyring_malformed', 'There are at most 64 recovery keys')
}

// Members that may write

/** The member that signed a record, as one directory knows it. */
export type Author =
  | { readonly as: 'device'; readonly role: Role; readonly signingKey: Uint8Array }
  | {
      readonly as: 'recovery'
      /** The role of the devices that it adds. */
      readonly grade: 'owner' | 'writer'
      readonly slotId: string
      readonly signingKey: Uint8Array
    }

/** The active device or the recovery identity with this id, if any. */
export function findAuthor(directory: Directory, authorId: string): Author | undefined {
  const device = directory.devices.find((d) => d.deviceId === authorId)
  if (device !== undefined) {
    return { as: 'device', role: device.role, signingKey: device.signingKey }
  }
  const recovery = findRecovery(directory, authorId)
  if (recovery === undefined) return undefined
  const grade = recovery.slotType === 2 ? 'writer' : 'owner'
  return { as: 'recovery', grade, slotId: recovery.slotId, signingKey: recovery.signingKey }
}

/** The entry of the recovery identity with this id, if any. */
function findRecovery(
  { recoveries }: Pick<Directory, 'recoveries'>,
  authorId: string,
): RecoveryEntry | undefined {
  return recoveries.find((r) => recoveryIdOf(r.slotId, r.signingKey) === authorId)
}

/** The parts of a directory that tell who may write and who may give grants. */
export interface Rights {
  readonly devices: readonly Pick<Device, 'deviceId' | 'role'>[]
  readonly givers: Givers
}

export function roleIn(rights: Rights | undefined, deviceId: string): Role | undefined {
  return rights?.devices.find((device) => device.deviceId === deviceId)?.role
}

/** §7.2, "in force". */
export function isInForce(rights: Rights | undefined, deviceId: string): boolean {
  const role = roleIn(rights, deviceId)
  return role === 'owner' || role === 'writer'
}

/** §7.2, "may give". */
export function mayGive(rights: Rights, deviceId: string): boolean {
  const isOwner = roleIn(rights, deviceId) === 'owner'
  return isInForce(rights, deviceId) && (rights.givers === 1 || isOwner)
}
