// Joins two concurrent directories (FORMAT §7.2) as a pure function of both, so that a verifier can
// compute and compare it. Anything that one side removed stays removed; anything that either added
// is kept, unless both added it with different keys, or by a passphrase that the other side has
// dropped. store/access/keyring-join.ts checks who may join.

import { compareBytes, equalBytes, utf8 } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { passphrasesMax } from '../limits.ts'
import { areSameKeys } from './device-keys.ts'
import { noRecord } from './directory-succession.ts'
import {
  type AdmittedBy,
  admissions,
  type DeviceEntry,
  type Directory,
  directoryHash,
  encodeDirectory,
  findDevice,
  findRemoved,
  recoveryBytes,
  type RemovedDevice,
  type Role,
  roles,
} from './directory.ts'

/** In the order of the parents whose records brought them. */
export type TwoDirectories = readonly [first: Directory, second: Directory]

export function joinDirectories(storeId: string, [first, second]: TwoDirectories): Directory {
  const number = Math.max(first.number, second.number) + 1
  const removed = joinRemoved(first, second, number)
  const isRemoved = new Set(removed.map(({ deviceId }) => deviceId))
  const gone = new Set([...first.gone, ...second.gone])
  const devices = union(
    withoutShutOut(first, second),
    withoutShutOut(second, first),
    ({ deviceId }) => deviceId,
    (a, b) => joinDevice(a, b, gone),
  )
  return {
    number,
    previous: [directoryHash(storeId, first), directoryHash(storeId, second)],
    devices: devices.filter(({ deviceId }) => !isRemoved.has(deviceId)),
    removed,
    ...joinRecovery(first, second),
    ...joinQuota(first, second),
    founderRandom: undefined,
  }
}

/** Throws `keyring_chain`. */
export function checkJoined(storeId: string, before: TwoDirectories, next: Directory): void {
  const expected = joinDirectories(storeId, before)
  if (equalBytes(encodeDirectory(next), encodeDirectory(expected))) return
  throw new StoreError('keyring_chain', 'A keyring is not the join of its two predecessors')
}

/** A changed role of an active device that both directories have. */
export interface RaisedRole {
  readonly deviceId: string
  readonly from: Role
  readonly to: Role
}

/** The devices whose role a directory raises. */
export function raisedRoles(before: Directory, next: Directory): readonly RaisedRole[] {
  return next.devices.flatMap(({ deviceId, role: to }) => {
    const from = findDevice(before, deviceId)?.role
    return from !== undefined && isLower(from, to) ? [{ deviceId, from, to }] : []
  })
}

/** Whether `a` has fewer rights than `b`. */
export function isLower(a: Role, b: Role): boolean {
  return roles.indexOf(a) > roles.indexOf(b)
}

/**
 * Of two entries with the same keys: what one side has changed stays changed. `gone` are the slots
 * that either side has dropped.
 */
export function joinDevice(a: DeviceEntry, b: DeviceEntry, gone: ReadonlySet<string>): DeviceEntry {
  const byRole = compareBy(a.roleBy, b.roleBy) || b.roleSet - a.roleSet || compareRoles(a, b)
  const byName = compareBy(a.namedBy, b.namedBy) || b.named - a.named || compareNames(a, b)
  const byStart = compareBy(a.admittedBy, b.admittedBy) || compareSlots(a, b, gone)
  const { role, roleBy, roleSet } = byRole < 0 ? a : b
  const { name, namedBy, named } = byName < 0 ? a : b
  const { admittedBy, slotId } = byStart < 0 ? a : b
  const given = { role, roleBy, roleSet, name, namedBy, named, admittedBy, slotId }
  return { ...a, ...given, added: Math.min(a.added, b.added) }
}

/** Whether a role that `a` set holds against one that `b` set. */
export function isStronger(a: AdmittedBy, b: AdmittedBy): boolean {
  return compareBy(a, b) < 0
}

/** Negative if `a` is the stronger one: who has a passphrase cannot lower or rename a device. */
function compareBy(a: AdmittedBy, b: AdmittedBy): number {
  return admissions.indexOf(a) - admissions.indexOf(b)
}

/** Negative if `a` has fewer rights. */
function compareRoles(a: DeviceEntry, b: DeviceEntry): number {
  return isLower(a.role, b.role) ? -1 : 1
}

/** Of two that equal hands admitted. A later join may shut out by a slot that was dropped. */
function compareSlots(
  { slotId: a = '' }: DeviceEntry,
  { slotId: b = '' }: DeviceEntry,
  gone: ReadonlySet<string>,
): number {
  return Number(gone.has(a)) - Number(gone.has(b)) || (a < b ? -1 : 1)
}

function compareNames(a: DeviceEntry, b: DeviceEntry): number {
  return compareBytes(utf8(a.name), utf8(b.name))
}

function joinRemoved(
  first: Directory,
  second: Directory,
  number: number,
): readonly RemovedDevice[] {
  // The device itself has signed both: nothing shows which keys it has now.
  const clashing = first.devices.filter((device) => {
    const other = findDevice(second, device.deviceId)
    return other !== undefined && !areSameKeys(device, other)
  })
  const removals = clashing.map(({ deviceId }) => {
    const { sequence, record } = noRecord
    return { deviceId, removed: number, sequence, record }
  })
  return union(
    [...first.removed, ...removals],
    second.removed,
    ({ deviceId }) => deviceId,
    (a, b) => {
      const { sequence, record } = isLater(a, b) ? a : b
      return { deviceId: a.deviceId, removed: Math.min(a.removed, b.removed), sequence, record }
    },
  )
}

/**
 * The devices of `side` without those that only this side has, by a passphrase alone that the other
 * side has dropped. They are not removed for good: who knew that passphrase can enrol any id on an
 * old commit, also that of a device that an owner adds elsewhere.
 */
function withoutShutOut(side: Directory, other: Directory): readonly DeviceEntry[] {
  const gone = new Set(other.gone)
  return side.devices.filter(({ deviceId, admittedBy, roleBy, slotId }) => {
    const isByPassphrase = admittedBy === 'passphrase' && roleBy === 'passphrase'
    if (!isByPassphrase || slotId === undefined || !gone.has(slotId)) return true
    return (findDevice(other, deviceId) ?? findRemoved(other, deviceId)) !== undefined
  })
}

/** Whether the last record that `a` names is the later one, or of equal ones the lesser. */
function isLater(a: RemovedDevice, b: RemovedDevice): boolean {
  if (a.sequence !== b.sequence) return a.sequence > b.sequence
  return compareBytes(a.record, b.record) < 0
}

function joinQuota(a: Directory, b: Directory): Pick<Directory, 'quota' | 'quotaSet'> {
  if (a.quotaSet === b.quotaSet) {
    return { quota: Math.min(a.quota, b.quota), quotaSet: a.quotaSet }
  }
  const { quota, quotaSet } = a.quotaSet > b.quotaSet ? a : b
  return { quota, quotaSet }
}

function joinRecovery(first: Directory, second: Directory): Pick<Directory, 'recovery' | 'gone'> {
  const removed = new Set([...first.gone, ...second.gone, ...clashingSlots(first, second)])
  const entries = union(
    first.recovery,
    second.recovery,
    ({ slotId }) => slotId,
    (either) => either,
  )
  const remaining = entries.filter(({ slotId }) => !removed.has(slotId))
  const passphrases = remaining.filter(({ type }) => type === 'passphrase')
  // Several passphrases may remain, so that no user is locked out, up to what a reader can try.
  for (const { slotId } of passphrases.slice(passphrasesMax)) removed.add(slotId)
  return {
    recovery: remaining.filter(({ slotId }) => !removed.has(slotId)),
    gone: [...removed].toSorted(),
  }
}

/** Slot ids are random: the author of the second entry chose the id of the first on purpose. */
function clashingSlots(first: Directory, second: Directory): readonly string[] {
  const others = new Map(second.recovery.map((entry) => [entry.slotId, recoveryBytes(entry)]))
  const clashing = first.recovery.filter((entry) => {
    const other = others.get(entry.slotId)
    return other !== undefined && !equalBytes(other, recoveryBytes(entry))
  })
  return clashing.map(({ slotId }) => slotId)
}

/** In ascending order of ids. */
function union<T>(
  first: readonly T[],
  second: readonly T[],
  idOf: (entry: T) => string,
  join: (a: T, b: T) => T,
): readonly T[] {
  const all = new Map(first.map((entry) => [idOf(entry), entry]))
  for (const entry of second) {
    const other = all.get(idOf(entry))
    all.set(idOf(entry), other === undefined ? entry : join(other, entry))
  }
  return [...all.values()].toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
}
