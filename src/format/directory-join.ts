// The directory that joins two concurrent ones (FORMAT §7.2): a function of both and of nothing
// else, so that a verifier makes it again and compares. What one side took away stays away; what
// either added is there, unless both added it with different keys. Who may join is
// store/access/keyring-join.ts's.

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

/** In the order of the parents that brought them. */
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
    throw broken('A keyring is not what the two that it joins make together')
  }
  // Whoever joins is an owner on both sides, but goes if they have different keys of it.
  if (next.devices.some(({ role, removed }) => role === 'owner' && removed === 0)) return
  throw broken('No active owner remains in a keyring that joins two')
}

/** Of an active device that both directories have. */
export interface RaisedRole {
  readonly deviceId: string
  readonly from: Role
  readonly to: Role
}

/** The devices to which a directory gives more than the one before it did. */
export function raisedRoles(before: Directory, next: Directory): readonly RaisedRole[] {
  return next.devices.flatMap(({ deviceId, role: to, removed }) => {
    const from = findDevice(before, deviceId)?.role
    const isRaised = removed === 0 && from !== undefined && isLower(from, to)
    return isRaised ? [{ deviceId, from, to }] : []
  })
}

/** Whether a directory gives a right, or a way in, that the one before it did not. */
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

/** Whether `a` may do less than `b`. */
export function isLower(a: Role, b: Role): boolean {
  return roles.indexOf(a) > roles.indexOf(b)
}

function joinDevice(a: DeviceEntry, b: DeviceEntry, number: number): DeviceEntry {
  const order = compareBytes(a.kemKey, b.kemKey)
  // An owner may have added a key of its own under the id of another's device, and nothing here
  // shows which key is that device's: neither is sealed to.
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
  const went = new Set([...first.gone, ...second.gone, ...clashingSlots(first, second)])
  const entries = union(
    first.recovery,
    second.recovery,
    ({ slotId }) => slotId,
    (either) => either,
  )
  const left = entries.filter(({ slotId }) => !went.has(slotId))
  const passphrases = left.filter(({ type }) => type === 'passphrase')
  // Each stays, so that nobody is locked out, as long as a reader can try them all.
  for (const { slotId } of passphrases.slice(passphrasesMax)) went.add(slotId)
  return { recovery: left.filter(({ slotId }) => !went.has(slotId)), gone: [...went].toSorted() }
}

/** Slot ids are random: whoever made the second entry wanted it to pass for the first. */
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

/** Ascending by id. */
function union<T>(
  first: readonly T[],
  second: readonly T[],
  idOf: (one: T) => string,
  join: (a: T, b: T) => T,
): readonly T[] {
  const all = new Map(first.map((one) => [idOf(one), one]))
  for (const one of second) {
    const other = all.get(idOf(one))
    all.set(idOf(one), other === undefined ? one : join(other, one))
  }
  return [...all.values()].toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
}
