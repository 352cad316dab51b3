// FORMAT §7.1: which directory may be the first one of a store, and which may follow which.

import { equal } from './bytes.ts'
import { checkDeviceKeys } from './device-card.ts'
import {
  type Author,
  type Device,
  type Directory,
  directoryHash,
  type Grade,
  type LastRecord,
  type PublicKeys,
  type RecoveryEntry,
  type Role,
} from './directory.ts'
import { seedOf } from './identity.ts'
import { zeroId } from './record.ts'
import { ensure, refuse } from './refusal.ts'

/** Number 0: one device, the founder, whom the seed authenticates. */
export function checkGenesisDirectory(seed: string, directory: Directory): void {
  const { number, devices, removed, founderRandom } = directory
  const [founder, ...others] = devices
  const founding = number === 0 && founderRandom !== undefined && others.length === 0
  if (!founding || founder === undefined) {
    return refuse('keyring_chain', 'The genesis directory has only the founder')
  }
  const isFounder = seedOf(founder.signingKey, founderRandom) === seed
  ensure(isFounder, 'store_seed_mismatch', 'The seed is not the founder’s')
  const owns = founder.role === 'owner' && founder.admittedBy === 1
  ensure(owns, 'keyring_chain', 'The founder is not an owner by itself')
  checkDeviceKeys(founder, 'keyring_chain')
  ensure(removed.length === 0, 'keyring_chain', 'Nothing is removed in number 0')
}

export interface Succession {
  readonly seed: string
  readonly author: Author
  readonly sameEpoch: boolean
  /** A device's newest record in the causal past; zeros if it has not written, or is forked. */
  readonly lastRecord: (deviceId: string) => LastRecord
}

/** Refuses with `keyring_chain`, or `record_role` beyond what a recovery identity may. */
export function checkNextDirectory(previous: Directory, next: Directory, how: Succession): void {
  const counted = next.number === previous.number + 1
  ensure(counted, 'keyring_chain', 'The directory number is not the next one')
  const linked = next.previous === directoryHash(how.seed, previous)
  ensure(linked, 'keyring_chain', 'The hash of the previous directory does not match')
  if (how.author.as === 'recovery') checkGrade(previous, next, { ...how, grade: how.author.grade })
  for (const device of previous.devices) checkDevice(device, next, how)
  checkRemoved(previous, next)
  const known = new Set(previous.devices.map((d) => d.deviceId))
  const newcomers = next.devices.filter((d) => !known.has(d.deviceId))
  for (const device of newcomers) checkNewcomer(device, previous, next, how)
  checkEntries(previous, next)
  const owned = next.devices.some((d) => d.role === 'owner')
  ensure(owned, 'keyring_chain', 'No active owner remains')
  if (how.sameEpoch) checkSameEpoch(previous, next)
}

/** An active device remains, or is removed with its last record. */
function checkDevice(device: Device, next: Directory, { lastRecord }: Succession): void {
  const { deviceId } = device
  const later = next.devices.find((d) => d.deviceId === deviceId)
  if (later === undefined) {
    const entry = next.removed.find((d) => d.deviceId === deviceId)
    if (entry === undefined) return refuse('keyring_chain', 'A device vanished')
    ensure(entry.removed === next.number, 'keyring_chain', 'A device goes at another number')
    const { sequence, record } = lastRecord(deviceId)
    const last = entry.sequence === sequence && entry.record === record
    ensure(last, 'keyring_chain', 'The last record of a removed device is another')
    return
  }
  const sameSigned = sameKeys(device, later) && equal(device.keySignature, later.keySignature)
  const sameStart =
    later.added === device.added &&
    later.admittedBy === device.admittedBy &&
    later.slotId === device.slotId
  ensure(sameSigned && sameStart, 'keyring_chain', 'A device changed its keys or its beginning')
}

/** A removed device remains unchanged; one that is removed now was active. */
function checkRemoved(previous: Directory, next: Directory): void {
  for (const before of previous.removed) {
    const after = next.removed.find((d) => d.deviceId === before.deviceId)
    const { removed, sequence, record } = before
    const same =
      after?.removed === removed && after.sequence === sequence && after.record === record
    ensure(same, 'keyring_chain', 'A removed device changed or vanished')
  }
  const known = new Set([...previous.devices, ...previous.removed].map((d) => d.deviceId))
  const right = next.removed.every((d) => known.has(d.deviceId))
  ensure(right, 'keyring_chain', 'A device that never was is removed')
}

function checkNewcomer(
  device: Device,
  previous: Directory,
  next: Directory,
  { author }: Succession,
): void {
  ensure(device.added === next.number, 'keyring_chain', 'A new device came at another number')
  const returned = previous.removed.some((d) => d.deviceId === device.deviceId)
  ensure(!returned, 'keyring_chain', 'A removed device returned')
  const byGrade = device.admittedBy === gradeOf(author)
  const right = byGrade && device.slotId === (author.as === 'device' ? zeroId : author.slotId)
  ensure(right, 'keyring_chain', 'A new device was admitted by something else than the author')
  checkDeviceKeys(device, 'keyring_chain')
}

/** What the author admits a device as. */
function gradeOf(author: Author): Grade {
  if (author.as === 'device') return 1
  return author.grade === 'writer' ? 3 : 2
}

/** Recovery entries never change. */
function checkEntries(previous: Directory, next: Directory): void {
  for (const entry of next.recoveries) {
    const before = previous.recoveries.find((r) => r.slotId === entry.slotId)
    ensure(sameEntry(before ?? entry, entry), 'keyring_chain', 'A recovery entry changed')
  }
}

function sameEntry(a: RecoveryEntry, b: RecoveryEntry): boolean {
  if (!sameKeys(a, b)) return false
  if (a.slotType === 3 || b.slotType === 3) return a.slotType === b.slotType
  return equal(a.salt, b.salt) && a.passes === b.passes && a.memoryKiB === b.memoryKiB
}

function sameKeys(a: PublicKeys, b: PublicKeys): boolean {
  return equal(a.signingKey, b.signingKey) && equal(a.kemKey, b.kemKey)
}

/** A keyring that keeps the epoch takes nothing, changes no role, and no right to give grants. */
function checkSameEpoch(previous: Directory, next: Directory): void {
  const stays = previous.devices.every(({ deviceId, role }) => {
    return next.devices.some((d) => d.deviceId === deviceId && d.role === role)
  })
  const slots = new Set(next.recoveries.map(({ slotId }) => slotId))
  const kept = stays && previous.recoveries.every(({ slotId }) => slots.has(slotId))
  ensure(kept, 'keyring_chain', 'A keyring that keeps the epoch takes something')
  const narrows = previous.givers !== 2 && next.givers === 2
  ensure(!narrows, 'keyring_chain', 'A keyring that keeps the epoch takes a right to give grants')
}

/** A recovery identity only adds devices of its grade, up to the quota, within the epoch. */
function checkGrade(
  previous: Directory,
  next: Directory,
  { grade, sameEpoch, seed }: Pick<Succession, 'sameEpoch' | 'seed'> & { grade: Role },
): void {
  const added = next.devices.filter((device) => device.added === next.number)
  const devices = next.devices.filter((device) => !added.includes(device))
  const { number, previous: links, founderRandom } = previous
  const undone = { ...next, number, previous: links, founderRandom, devices }
  const only = directoryHash(seed, undone) === directoryHash(seed, previous)
  const adds = only && sameEpoch && added.length > 0
  ensure(adds, 'record_role', 'A recovery identity only adds devices')
  const ofGrade = added.every((device) => device.role === grade)
  ensure(ofGrade, 'record_role', 'A recovery identity adds devices in the role of its grade')
  const admitted = next.devices.filter((d) => d.admittedBy === 3).length
  const isMore = grade === 'writer' && admitted > previous.quota
  ensure(!isMore, 'record_role', 'A passphrase admits more devices than the quota says')
}
