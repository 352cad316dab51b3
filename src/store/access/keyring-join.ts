// Checks whether two concurrent keyrings may be joined (FORMAT §7.2): by an owner, if every
// keyring record of either side is sound. Must not make the join: format/directory-join.ts makes
// its directory, keys/keyring.ts its keys.

import { StoreError } from '../../errors.ts'
import { isLower, isStronger, raisedRoles } from '../../format/directory-join.ts'
import {
  type DeviceEntry,
  type Directory,
  findDevice,
  findRemoved,
  type RecoveryEntry,
} from '../../format/directory.ts'
import { formatId, recoveryIdOf } from '../../format/id.ts'
import { joinsKeyrings } from '../../format/record-rules.ts'
import type { Oid } from '../../git/objects/object.ts'
import { openDirectory } from '../../keys/keyring.ts'
import { type CommitSource, decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import type { KeyringState } from '../snapshot/snapshot.ts'
import { findRecovery, readHeadKeyring } from './authority.ts'
import type { KeyringChange } from './keyring-change.ts'

/** One side of a join: the keyring in force there, and its changes since the last common commit. */
export interface KeyringSide<Change extends KeyringChange = KeyringChange> {
  readonly keyring: Pick<KeyringState, 'directory'>
  readonly changes: readonly Change[]
}

export interface CommittedChange extends KeyringChange {
  /** The commit of the keyring record. */
  readonly oid: Oid
  readonly isByRecovery: boolean
  /** The directory that it brings. */
  readonly directory: Directory
}

/**
 * Checks that the changes of both sides are sound. Otherwise a removed device or a former owner
 * could go on changing the keyring, from a clone that does not know of it. Throws
 * `record_late`.
 */
export function checkChangesSound(first: KeyringSide, second: KeyringSide): void {
  const unsound = [...unsoundChanges(first, second), ...unsoundChanges(second, first)]
  const [change] = unsound
  if (change === undefined) return
  throw new StoreError(
    'record_late',
    `${formatId('device', change.authorId)} changed who may open the store, and had lost the ` +
      'right to do so on the other side',
  )
}

/** The changes of one side that are not sound with respect to the other (FORMAT §7.2). */
export function unsoundChanges<Change extends KeyringChange>(
  side: KeyringSide<Change>,
  other: KeyringSide,
): readonly Change[] {
  let unsound = side.changes
  const sound = new Set<Change>()
  for (;;) {
    // A sound change may make further authors owners, wherever it is in the history of this side.
    const found = unsound.filter((change) => isSound(change, other.keyring.directory, sound))
    if (found.length === 0) return unsound
    for (const change of found) sound.add(change)
    unsound = unsound.filter((change) => !sound.has(change))
  }
}

function isSound(
  { authorId, recovery, roleBy, isJoin }: KeyringChange,
  other: Directory,
  sound: ReadonlySet<KeyringChange>,
): boolean {
  // Joins too: otherwise a join would accept the late records below it.
  if (findRemoved(other, authorId) !== undefined) return false
  if (isJoin) return true
  const device = findDevice(other, authorId)
  if (device !== undefined) {
    if (device.role === 'owner') return true
    // Who has a passphrase can add an owner's device to an older state, in a lower role.
    if (roleBy && isStronger(roleBy, device.roleBy)) return wasGivenOwner(authorId, sound)
    return wasMadeOwner(device, sound)
  }
  if (recovery === undefined) return wasGivenOwner(authorId, sound)
  // A join leaves out by itself what a passphrase added that the other side has dropped.
  return recovery.type !== 'recovery' || mayAdmit(authorId, recovery, other, sound)
}

/** Its own side may have replaced a recovery key since: earlier changes stay sound. */
function mayAdmit(
  id: string,
  { slotId }: RecoveryEntry,
  other: Directory,
  sound: ReadonlySet<KeyringChange>,
): boolean {
  if (keysOf(other).includes(id)) return true
  if (other.gone.includes(slotId)) return false
  return [...sound].some(({ addedKeys }) => addedKeys.includes(id))
}

/**
 * Whether a sound change made a device an owner that the other side does not know as one. Otherwise
 * a former owner could add another one on an old commit, which makes the first an owner again.
 */
function wasGivenOwner(deviceId: string, sound: ReadonlySet<KeyringChange>): boolean {
  return [...sound].some(({ addedOwners, raised }) => {
    const isRaised = raised.some((one) => one.deviceId === deviceId && one.to === 'owner')
    return isRaised || addedOwners.includes(deviceId)
  })
}

/** Whether sound changes made a device an owner whose role the other side has not lowered. */
function wasMadeOwner({ deviceId, role }: DeviceEntry, sound: ReadonlySet<KeyringChange>): boolean {
  const raised = [...sound].flatMap((change) => change.raised)
  const ofDevice = raised.filter((one) => one.deviceId === deviceId)
  return (
    ofDevice.some(({ to }) => to === 'owner') && ofDevice.some(({ from }) => !isLower(role, from))
  )
}

/** The change by a keyring record that has one directory before it. */
export function keyringChange(authorId: string, before: Directory, next: Directory): KeyringChange {
  const recovery = findRecovery(before, authorId)
  const roleBy = findDevice(before, authorId)?.roleBy
  const added = next.devices
    .map(({ deviceId }) => deviceId)
    .filter((deviceId) => findDevice(before, deviceId) === undefined)
  const addedOwners = added.filter((id) => findDevice(next, id)?.role === 'owner')
  const author = { authorId, recovery, roleBy, isJoin: false }
  const raised = raisedRoles(before, next)
  const known = keysOf(before)
  const addedKeys = keysOf(next).filter((id) => !known.includes(id))
  return { ...author, added, addedKeys, addedOwners, raised, removes: removedSince([before], next) }
}

/** The change by a join, which adds and raises nobody; by genesis, if nothing is before. */
export function joinChange(
  authorId: string,
  before: readonly Directory[],
  next: Directory,
): KeyringChange {
  const author = { authorId, recovery: undefined, roleBy: undefined, isJoin: true }
  const nobody = { added: [], addedKeys: [], addedOwners: [], raised: [] }
  return { ...author, ...nobody, removes: removedSince(before, next) }
}

/** The ids of the recovery keys. */
function keysOf({ recovery }: Directory): readonly string[] {
  return recovery
    .filter(({ type }) => type === 'recovery')
    .map(({ slotId, signingKey }) => recoveryIdOf(slotId, signingKey))
}

function removedSince(before: readonly Directory[], next: Directory): readonly string[] {
  return next.removed
    .map(({ deviceId }) => deviceId)
    .filter((deviceId) => before.every((one) => findRemoved(one, deviceId) === undefined))
}

/** Reads the changes by verified commits of keyring records. */
export function readKeyringChanges(
  source: CommitSource,
  commits: readonly Oid[],
): readonly CommittedChange[] {
  const { objects, storeId, epochs } = source
  const directoryOf = (oid: Oid): Directory => {
    return openDirectory(readHeadKeyring(objects, oid), storeId, epochs).directory
  }
  return commits.map((oid) => {
    const { record, parts } = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
    const directory = directoryOf(oid)
    const before = parts.parents.map(directoryOf)
    const [parent] = before
    const change =
      parent === undefined || joinsKeyrings(record)
        ? joinChange(record.deviceId, before, directory)
        : keyringChange(record.deviceId, parent, directory)
    return { ...change, oid, isByRecovery: record.sequence === 0, directory }
  })
}

/**
 * Checks that a device is an owner in what it joins: a removed or a former owner could otherwise
 * join keyrings. Throws `keyring_conflict`.
 */
export function checkOwnsJoin(deviceId: string, { devices }: Directory): void {
  const owners = devices.filter(({ role }) => role === 'owner').map((one) => one.deviceId)
  if (owners.includes(deviceId)) return
  const names = owners.map((one) => formatId('device', one)).join(' or ')
  const advice =
    owners.length === 0
      ? 'no device is an owner for both sides to join them; they may have removed each other'
      : `an owner for both sides has to sync, ${names}`
  throw new StoreError(
    'keyring_conflict',
    `Two owners changed who may open the store without knowing of each other: ${advice}`,
  )
}
