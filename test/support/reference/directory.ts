// FORMAT §7 and §7.1: the directory of devices and recovery identities, and which directory may
// follow which. Ids are hex; public keys are bytes.

import { concat, equal, fromHex, label, Reader, toHex, u16, u64, u8 } from './bytes.ts'
import { checkPadding } from './envelope.ts'
import { H } from './hash.ts'
import { deviceIdOf, storeIdOf } from './identity.ts'
import { ensure, refuse } from './refusal.ts'

const roles = ['owner', 'writer', 'reader', 'auditor'] as const
const devicesMax = 250

export type Role = (typeof roles)[number]

interface PublicKeys {
  /** Ed25519. */
  readonly signingKey: Uint8Array
  /** X-Wing. */
  readonly kemKey: Uint8Array
}

export interface Device extends PublicKeys {
  readonly deviceId: string
  readonly role: Role
  /** Directory numbers; `removed` is 0 while the device is active. */
  readonly added: number
  readonly removed: number
}

export interface RecoveryEntry extends PublicKeys {
  readonly slotId: string
  readonly slotType: 2 | 3
}

export interface Directory {
  readonly number: number
  /** Hex; none in number 0, two in a join. */
  readonly previous: readonly string[]
  readonly devices: readonly Device[]
  readonly recoveries: readonly RecoveryEntry[]
  /** Slot ids. */
  readonly gone: readonly string[]
  /** 32 bytes in number 0, else undefined. */
  readonly founderRandom: Uint8Array | undefined
}

/** The plaintext, before padding. */
export function encodeDirectory(directory: Directory): Uint8Array {
  const { number, previous, devices, recoveries, gone, founderRandom } = directory
  return concat(
    u8(1),
    u8(previous.length),
    u16(devices.length),
    u16(recoveries.length),
    u16(gone.length),
    u64(number),
    ...previous.map(fromHex),
    ...devices.map((d) =>
      concat(
        fromHex(d.deviceId),
        d.signingKey,
        d.kemKey,
        u8(roles.indexOf(d.role) + 1),
        u64(d.added),
        u64(d.removed),
      ),
    ),
    ...recoveries.map(encodeRecovery),
    ...gone.map(fromHex),
    founderRandom ?? new Uint8Array(),
  )
}

function encodeRecovery(r: RecoveryEntry): Uint8Array {
  return concat(fromHex(r.slotId), u8(r.slotType), r.signingKey, r.kemKey)
}

/** Hash of a directory, as hex. */
export function directoryHash(storeId: string, directory: Directory): string {
  return toHex(H(label('GLK1/directory/v1'), fromHex(storeId), encodeDirectory(directory)))
}

/** Padded plaintext to directory; else `keyring_malformed` or `envelope_padding`. */
export function decodeDirectory(padded: Uint8Array): Directory {
  const reader = new Reader(padded, 'keyring_malformed')
  ensure(reader.u8() === 1, 'upgrade_required', 'The directory has another version')
  const previousCount = reader.u8()
  const [deviceCount, recoveryCount, goneCount] = [reader.u16(), reader.u16(), reader.u16()]
  ensure(deviceCount <= devicesMax, 'keyring_malformed', 'A directory has at most 250 devices')
  ensure(goneCount <= 4096, 'keyring_malformed', 'A directory has at most 4,096 slots gone')
  const number = reader.u64()
  const links = number === 0 ? previousCount === 0 : previousCount === 1 || previousCount === 2
  ensure(links, 'keyring_malformed', 'The number of previous directories is wrong')
  // Both before a join are later than the first one.
  const late = previousCount < 2 || number > 1
  ensure(late, 'keyring_malformed', 'A join has too small a number')
  const previous = Array.from({ length: previousCount }, () => reader.hex(32))
  const devices = Array.from({ length: deviceCount }, () => readDevice(reader, number))
  const recoveries = Array.from({ length: recoveryCount }, () => readRecovery(reader))
  const gone = Array.from({ length: goneCount }, () => reader.hex(16))
  const founderRandom = number === 0 ? reader.raw(32) : undefined
  checkPadding('directory', padded, reader.offset)
  checkAscending(devices.map((d) => d.deviceId))
  checkAscending(recoveries.map((r) => r.slotId))
  checkAscending(gone)
  const passphrases = recoveries.filter((r) => r.slotType === 2).length
  ensure(passphrases <= 4, 'keyring_malformed', 'There are at most four passphrases')
  const isBack = recoveries.some((r) => gone.includes(r.slotId))
  ensure(!isBack, 'keyring_malformed', 'A slot that is gone has an entry')
  return { number, previous, devices, recoveries, gone, founderRandom }
}

function readDevice(reader: Reader, number: number): Device {
  const deviceId = reader.hex(16)
  const [signingKey, kemKey] = [reader.raw(32), reader.raw(1216)]
  const role = roles[reader.u8() - 1] ?? refuse('keyring_malformed', 'A role is unknown')
  const [added, removed] = [reader.u64(), reader.u64()]
  const own = deviceId === deviceIdOf(signingKey)
  ensure(own, 'keyring_malformed', 'A device id is not its key’s')
  const possible = added <= number && (removed === 0 || (removed > added && removed <= number))
  ensure(possible, 'keyring_malformed', 'A device comes or goes at an impossible number')
  return { deviceId, signingKey, kemKey, role, added, removed }
}

function readRecovery(reader: Reader): RecoveryEntry {
  const slotId = reader.hex(16)
  const slotType = reader.u8()
  if (slotType !== 2 && slotType !== 3) {
    return refuse('keyring_malformed', 'A recovery entry is for a slot of type 2 or 3')
  }
  return { slotId, slotType, signingKey: reader.raw(32), kemKey: reader.raw(1216) }
}

function checkAscending(ids: readonly string[]): void {
  const sorted = ids.every((id, i) => i === 0 || id > (ids[i - 1] ?? ''))
  ensure(sorted, 'keyring_malformed', 'The entries do not ascend by id')
}

// Who may write

/** The member that signed a record, as one directory knows it. */
export type Author =
  | { readonly as: 'device'; readonly role: Role; readonly signingKey: Uint8Array }
  | { readonly as: 'recovery'; readonly grade: Role; readonly signingKey: Uint8Array }

/** The active device or the recovery identity with this id; undefined if there is none. */
export function findAuthor(directory: Directory, deviceId: string): Author | undefined {
  const device = directory.devices.find((d) => d.deviceId === deviceId && d.removed === 0)
  if (device !== undefined) {
    return { as: 'device', role: device.role, signingKey: device.signingKey }
  }
  const recovery = directory.recoveries.find((r) => deviceIdOf(r.signingKey) === deviceId)
  if (recovery === undefined) return undefined
  const grade = recovery.slotType === 2 ? 'writer' : 'owner'
  return { as: 'recovery', grade, signingKey: recovery.signingKey }
}

// §7.1

/** Number 0: one device, the founder, whom the store id authenticates. */
export function checkGenesisDirectory(storeId: string, directory: Directory): void {
  const { number, devices, gone, founderRandom } = directory
  const [founder, ...others] = devices
  const founding = number === 0 && founderRandom !== undefined && others.length === 0
  if (!founding || founder === undefined) {
    return refuse('keyring_chain', 'The genesis directory has only the founder')
  }
  const named = storeIdOf(founder.signingKey, founderRandom) === storeId
  ensure(named, 'store_id_mismatch', 'The store id is not the founder’s')
  const owns = founder.role === 'owner' && founder.added === 0 && founder.removed === 0
  ensure(owns, 'keyring_chain', 'The founder is not an active owner')
  ensure(gone.length === 0, 'keyring_chain', 'Nothing is gone in number 0')
}

export interface Succession {
  readonly storeId: string
  readonly author: Author
  readonly sameEpoch: boolean
}

/** Refuses with `keyring_chain`, or `record_role` beyond the grade of a recovery identity. */
export function checkNextDirectory(previous: Directory, next: Directory, how: Succession): void {
  const counted = next.number === previous.number + 1
  ensure(counted, 'keyring_chain', 'The directory number is not the next one')
  const linked = next.previous.join() === directoryHash(how.storeId, previous)
  ensure(linked, 'keyring_chain', 'The hash of the previous directory does not match')
  for (const device of previous.devices) {
    const later = next.devices.find((d) => d.deviceId === device.deviceId)
    if (later === undefined) return refuse('keyring_chain', 'A device vanished')
    checkLater(device, later, next.number)
  }
  const known = new Set(previous.devices.map((d) => d.deviceId))
  const newcomers = next.devices.filter((d) => !known.has(d.deviceId))
  for (const device of newcomers) {
    const right = device.added === next.number && device.removed === 0
    ensure(right, 'keyring_chain', 'A new device was added at another number')
  }
  checkSlots(previous, next)
  if (how.author.as === 'recovery') checkGrade(previous, next, newcomers, how)
  const owned = next.devices.some((d) => d.role === 'owner' && d.removed === 0)
  ensure(owned, 'keyring_chain', 'No active owner remains')
  const recoveries = next.recoveries.filter((r) =>
    previous.recoveries.some((before) => before.slotId === r.slotId),
  )
  const kept = onlyAdds(previous, { ...next, recoveries }, newcomers, how.storeId)
  ensure(kept || !how.sameEpoch, 'keyring_chain', 'A keyring that keeps the epoch only adds')
}

/** Recovery entries stay what they are; the dropped ones are gone; a new passphrase is alone. */
function checkSlots(previous: Directory, next: Directory): void {
  const before = (slotId: string) => previous.recoveries.find((r) => r.slotId === slotId)
  for (const entry of next.recoveries) {
    const old = before(entry.slotId) ?? entry
    const same = old.slotType === entry.slotType && sameKeys(old, entry)
    ensure(same, 'keyring_chain', 'A recovery entry changed')
  }
  const there = new Set(next.recoveries.map((r) => r.slotId))
  const dropped = previous.recoveries.map((r) => r.slotId).filter((slotId) => !there.has(slotId))
  const gone = [...previous.gone, ...dropped].toSorted()
  ensure(gone.join() === next.gone.join(), 'keyring_chain', 'Not what was dropped is gone')
  const passphrases = next.recoveries.filter((r) => r.slotType === 2)
  const alone = passphrases.length < 2 || passphrases.every((r) => before(r.slotId) !== undefined)
  ensure(alone, 'keyring_chain', 'A new passphrase was added to another')
}

function checkLater(device: Device, later: Device, number: number): void {
  const same = sameKeys(device, later) && later.added === device.added
  ensure(same, 'keyring_chain', 'A device changed its keys or its beginning')
  const removedNow = device.removed === 0 && later.removed === number
  const right = removedNow || later.removed === device.removed
  ensure(right, 'keyring_chain', 'A removed device returned, or was removed at another number')
}

function sameKeys(a: PublicKeys, b: PublicKeys): boolean {
  return equal(a.signingKey, b.signingKey) && equal(a.kemKey, b.kemKey)
}

function onlyAdds(
  previous: Directory,
  next: Directory,
  newcomers: readonly Device[],
  storeId: string,
): boolean {
  const added = new Set(newcomers)
  const devices = next.devices.filter((device) => !added.has(device))
  const undone = { ...previous, devices, recoveries: next.recoveries }
  return directoryHash(storeId, undone) === directoryHash(storeId, previous)
}

/** A recovery identity only adds devices, up to its grade, within the epoch. */
function checkGrade(
  previous: Directory,
  next: Directory,
  newcomers: readonly Device[],
  { author, sameEpoch, storeId }: Succession,
): void {
  const only = onlyAdds(previous, next, newcomers, storeId)
  ensure(only && sameEpoch, 'record_role', 'A recovery identity only adds devices')
  const most = roles.indexOf(author.as === 'recovery' ? author.grade : 'owner')
  const within = newcomers.every((device) => roles.indexOf(device.role) >= most)
  ensure(within, 'record_role', 'A recovery identity adds devices up to its grade')
}

// §7.2

/** The directory of a join, from those of its parents. */
export function joinDirectories(storeId: string, first: Directory, second: Directory): Directory {
  const both = [first, second]
  const gone = new Set(both.flatMap((directory) => directory.gone))
  const listed = new Map(both.flatMap(({ recoveries }) => recoveries).map((r) => [hexOf(r), r]))
  const slotIds = [...listed.values()].map((entry) => entry.slotId)
  // A slot id that is there twice has two different entries.
  for (const [i, slotId] of slotIds.entries()) {
    if (slotIds.indexOf(slotId) < i) gone.add(slotId)
  }
  const entries = [...listed.values()]
    .filter((entry) => !gone.has(entry.slotId))
    .toSorted((a, b) => (a.slotId < b.slotId ? -1 : 1))
  const most = entries.filter((entry) => entry.slotType === 2).slice(0, 4)
  for (const { slotId, slotType } of entries) {
    if (slotType === 2 && !most.some((entry) => entry.slotId === slotId)) gone.add(slotId)
  }
  const ids = new Set(both.flatMap(({ devices }) => devices.map((device) => device.deviceId)))
  const number = Math.max(first.number, second.number) + 1
  return {
    number,
    previous: both.map((directory) => directoryHash(storeId, directory)),
    devices: [...ids].toSorted().map((id) => joinDevice(both, id, number)),
    recoveries: entries.filter((entry) => !gone.has(entry.slotId)),
    gone: [...gone].toSorted(),
    founderRandom: undefined,
  }
}

function joinDevice(directories: readonly Directory[], deviceId: string, number: number): Device {
  const known = directories.flatMap(({ devices }) => {
    return devices.filter((device) => device.deviceId === deviceId)
  })
  const [one, other = one] = known
  if (one === undefined || other === undefined) throw new Error('nobody has this device')
  const removals = known.map(({ removed }) => removed).filter((removed) => removed > 0)
  const unlessBefore = equal(one.kemKey, other.kemKey) ? 0 : number
  return {
    deviceId,
    signingKey: one.signingKey,
    kemKey: toHex(one.kemKey) < toHex(other.kemKey) ? one.kemKey : other.kemKey,
    role: roles[Math.max(...known.map(({ role }) => roles.indexOf(role)))] ?? one.role,
    added: Math.min(one.added, other.added),
    removed: removals.length === 0 ? unlessBefore : Math.min(...removals),
  }
}

function hexOf(entry: RecoveryEntry): string {
  return toHex(encodeRecovery(entry))
}

/** Whether a keyring gives more than it takes: a device, a recovery entry or a higher role. */
export function gives(previous: Directory, next: Directory): boolean {
  const entry = next.recoveries.some((r) => {
    return previous.recoveries.every((before) => before.slotId !== r.slotId)
  })
  const device = next.devices.some((d) => {
    const before = previous.devices.find((one) => one.deviceId === d.deviceId)
    if (before === undefined) return true
    return d.removed === 0 && roles.indexOf(d.role) < roles.indexOf(before.role)
  })
  return entry || device
}

export interface Raise {
  readonly deviceId: string
  readonly from: Role
  readonly to: Role
}

/** The active devices whose role a keyring raises. */
export function raises(previous: Directory, next: Directory): readonly Raise[] {
  return next.devices.flatMap(({ deviceId, role: to, removed }) => {
    const from = previous.devices.find((one) => one.deviceId === deviceId)?.role
    if (from === undefined || removed !== 0) return []
    return roles.indexOf(to) < roles.indexOf(from) ? [{ deviceId, from, to }] : []
  })
}

/**
 * Whether the raises of one side made a device of the other side an owner, without setting aside
 * that the other side lowered its role.
 */
export function isRaised(authorId: string, own: readonly Raise[], other: Directory): boolean {
  const there = other.devices.find((one) => one.deviceId === authorId && one.removed === 0)
  if (there === undefined) return false
  const rank = roles.indexOf(there.role)
  const ofIt = own.filter(({ deviceId }) => deviceId === authorId)
  const wasLowered = ofIt.every(({ from }) => rank > roles.indexOf(from))
  return !wasLowered && ofIt.some(({ to }) => to === 'owner')
}

/** The slots of a recovery identity. */
export function entriesOf(authorId: string, { recoveries }: Directory): readonly string[] {
  return recoveries.filter((r) => deviceIdOf(r.signingKey) === authorId).map((r) => r.slotId)
}

/** Whether the author of an addition on one side had the right to it, as the other side sees it. */
export function mayGive(
  { authorId, entries }: { readonly authorId: string; readonly entries: readonly string[] },
  other: Directory,
): boolean {
  const there = other.devices.find((device) => device.deviceId === authorId)
  if (there !== undefined) return there.removed === 0 && there.role === 'owner'
  if (entries.length === 0) return true
  const isAuthor = (r: RecoveryEntry): boolean => deviceIdOf(r.signingKey) === authorId
  return entries.some((slotId) => !other.gone.includes(slotId)) || other.recoveries.some(isAuthor)
}
