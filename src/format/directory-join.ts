// The directory that joins two concurrent ones (FORMAT §7.2): a function of both and of nothing
// else, so that a verifier makes it again and compares. What one side took away stays away; what
// either added is there. Who may join is store/keyring-join.ts's.

import { compareBytes, equalBytes } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { passphrasesMax } from '../limits.ts'
import { directoryHash, encodeDirectory, recoveryKeys, roles } from './directory.ts'
import type { DeviceEntry, Directory, RecoveryEntry, Role } from './directory.ts'

/** In the order of the parents that brought them. */
export type TwoDirectories = readonly [first: Directory, second: Directory]

export function joinDirectories(storeId: string, [first, second]: TwoDirectories): Directory {
  const devices = union(first.devices, second.devices, ({ deviceId }) => deviceId, joinDevice)
  const went = new Set([...first.gone, ...second.gone])
  const entries = union(first.recovery, second.recovery, ({ slotId }) => slotId, lesserEntry)
  const left = entries.filter(({ slotId }) => !went.has(slotId))
  const passphrases = left.filter(({ type }) => type === 'passphrase')
  // Each stays, so that nobody is locked out, as long as a reader can try them all.
  for (const { slotId } of passphrases.slice(passphrasesMax)) went.add(slotId)
  return {
    number: Math.max(first.number, second.number) + 1,
    previous: [directoryHash(storeId, first), directoryHash(storeId, second)],
    devices,
    recovery: left.filter(({ slotId }) => !went.has(slotId)),
    gone: [...went].toSorted(),
    founderRandom: undefined,
  }
}

/** Throws `keyring_chain`. */
export function checkJoined(storeId: string, before: TwoDirectories, next: Directory): void {
  const expected = joinDirectories(storeId, before)
  if (equalBytes(encodeDirectory(next), encodeDirectory(expected))) return
  throw new StoreError('keyring_chain', 'A keyring is not what the two that it joins make together')
}

/** Whether a directory gives a right, or a way in, that the one before it did not. */
export function givesRights(before: Directory, next: Directory): boolean {
  const entries = new Map(before.devices.map((device) => [device.deviceId, device]))
  const slots = new Set(before.recovery.map(({ slotId }) => slotId))
  return (
    next.recovery.some(({ slotId }) => !slots.has(slotId)) ||
    next.devices.some(({ deviceId, role, removed }) => {
      const old = entries.get(deviceId)
      return removed === 0 && (old === undefined || isLower(old.role, role))
    })
  )
}

/** Whether `a` may do less than `b`. */
export function isLower(a: Role, b: Role): boolean {
  return roles.indexOf(a) > roles.indexOf(b)
}

function joinDevice(a: DeviceEntry, b: DeviceEntry): DeviceEntry {
  const removals = [a.removed, b.removed].filter((number) => number !== 0)
  return {
    deviceId: a.deviceId,
    signingKey: a.signingKey,
    // Whoever has the signing key has made two cards: which of them counts is nobody's loss.
    kemKey: compareBytes(a.kemKey, b.kemKey) <= 0 ? a.kemKey : b.kemKey,
    role: isLower(a.role, b.role) ? a.role : b.role,
    added: Math.min(a.added, b.added),
    removed: removals.length === 0 ? 0 : Math.min(...removals),
  }
}

/** Two entries of one slot id are different only if their makers wanted that. */
function lesserEntry(a: RecoveryEntry, b: RecoveryEntry): RecoveryEntry {
  return compareBytes(recoveryKeys(a), recoveryKeys(b)) <= 0 ? a : b
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
