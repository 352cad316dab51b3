// Joins two concurrent directories (FORMAT §7.2) as a pure function of both, so that a verifier can
// compute and compare it. Anything that one side removed stays removed; anything that either added
// is kept, unless both added it with different keys. store/access/keyring-join.ts checks who may
// join.

import { compareBytes, equalBytes } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { passphrasesMax } from '../limits.ts'
import {
  type DeviceEntry,
  type Directory,
  directoryHash,
  encodeDirectory,
  findDevice,
  recoveryKeys,
  type Role,
  roles,
} from './directory.ts'

/** In the order of the parents whose records brought them. */
export type TwoDirectories = readonly [first: Directory, second: Directory]

export function joinDirectories(storeId: string, [first, second]: TwoDirectories): Directory {
  const number = Math.max(first.number, second.number) + 1
  const join = (a: DeviceEntry, b: DeviceEntry): DeviceEntry => joinDevice(a, b, number)
  return {
    number,
    previous: [directoryHash(storeId, first), directoryHash(storeId, second)],
    devices: union(first.devices, second.devices, ({ deviceId }) => deviceId, join),
    ...joinRecovery(first, second),
    founderRandom: undefined,
  }
}

/** Throws `keyring_chain`. */
export function checkJoined(storeId: string, before: TwoDirectories, next: Directory): void {
  const expected = joinDirectories(storeId, before)
  if (!equalBytes(encodeDirectory(next), encodeDirectory(expected))) {
    throw broken('A keyring is not the join of its two predecessors')
  }
  // The author is an owner on both sides, but is removed if they have different keys for it.
  if (next.devices.some(({ role, removed }) => role === 'owner' && removed === 0)) return
  throw broken('No active owner remains in a joined keyring')
}

/** A changed role of an active device that both directories have. */
export interface RaisedRole {
  readonly deviceId: string
  readonly from: Role
  readonly to: Role
}

/** The devices whose role a directory raises. */
export function raisedRoles(before: Directory, next: Directory): readonly RaisedRole[] {
  return next.devices.flatMap(({ deviceId, role: to, removed }) => {
    const from = findDevice(before, deviceId)?.role
    const isRaised = removed === 0 && from !== undefined && isLower(from, to)
    return isRaised ? [{ deviceId, from, to }] : []
  })
}

/** Whether a directory adds a device or recovery identity, or raises a role. */
export function givesRights(before: Directory, next: Directory): boolean {
  const slots = new Set(before.recovery.map(({ slotId }) => slotId))
  const isNew = ({ deviceId, removed }: DeviceEntry): boolean => {
    return removed === 0 && findDevice(before, deviceId) === undefined
  }
  return (
    next.recovery.some(({ slotId }) => !slots.has(slotId)) ||
    next.devices.some(isNew) ||
    raisedRoles(before, next).length > 0
  )
}

/** Whether `a` has fewer rights than `b`. */
export function isLower(a: Role, b: Role): boolean {
  return roles.indexOf(a) > roles.indexOf(b)
}

function joinDevice(a: DeviceEntry, b: DeviceEntry, number: number): DeviceEntry {
  const order = compareBytes(a.kemKey, b.kemKey)
  // An owner may have added its own key under another device's id. Nothing here shows which key is
  // the device's, so nothing is sealed to either.
  const removals = [a.removed, b.removed, order === 0 ? 0 : number].filter((each) => each !== 0)
  return {
    deviceId: a.deviceId,
    signingKey: a.signingKey,
    kemKey: order <= 0 ? a.kemKey : b.kemKey,
    role: isLower(a.role, b.role) ? a.role : b.role,
    added: Math.min(a.added, b.added),
    removed: removals.length === 0 ? 0 : Math.min(...removals),
  }
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
  const others = new Map(second.recovery.map((entry) => [entry.slotId, recoveryKeys(entry)]))
  const clashing = first.recovery.filter((entry) => {
    const other = others.get(entry.slotId)
    return other !== undefined && !equalBytes(other, recoveryKeys(entry))
  })
  return clashing.map(({ slotId }) => slotId)
}

function broken(message: string): StoreError {
  return new StoreError('keyring_chain', message)
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
