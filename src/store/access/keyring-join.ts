// Which keyrings can be joined (FORMAT §7.2): two that do not know of each other, by an owner of
// both, if nobody was let in by who had lost that right on the other side. The joined directory is
// format/directory-join.ts's, its keys are keys/keyring.ts's.

import { StoreError } from '../../errors.ts'
import { givesRights, isLower, raisedRoles } from '../../format/directory-join.ts'
import { type DeviceEntry, type Directory, findDevice } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import { joinsKeyrings } from '../../format/record-rules.ts'
import type { Oid } from '../../git/objects/object.ts'
import { openDirectory } from '../../keys/keyring.ts'
import { type CommitSource, decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { getBlob } from '../snapshot/git-reads.ts'
import type { KeyringState } from '../snapshot/snapshot.ts'
import { findKeyring, findRecoveries } from './authority.ts'
import type { KeyringChange, TwoKeyrings } from './keyring-change.ts'

/** Of one side: the keyring in force there, and how it came to be since both were one. */
export interface KeyringSide<Change extends KeyringChange = KeyringChange> {
  readonly keyring: Pick<KeyringState, 'directory'>
  readonly changes: readonly Change[]
}

/** By a commit. */
export interface CommittedChange extends KeyringChange {
  readonly oid: Oid
}

/**
 * Whoever was removed could else go on changing who is in, and whoever is an owner no more letting
 * others in, from a clone that knows nothing of it. Throws `record_late`.
 */
export function checkChanges(first: KeyringSide, second: KeyringSide): void {
  const late = [...lateChanges(first, second), ...lateChanges(second, first)]
  const [change] = late
  if (change === undefined) return
  throw new StoreError(
    'record_late',
    `${formatId('device', change.authorId)} changed who may open the store, and had lost the ` +
      'right to do so on the other side',
  )
}

/** The changes of one side that are not sound (FORMAT §7.2): by who might not any more. */
export function lateChanges<Change extends KeyringChange>(
  own: KeyringSide<Change>,
  other: KeyringSide,
): readonly Change[] {
  let left = own.changes
  const sound = new Set<Change>()
  for (;;) {
    // Whom one made an owner who might, might do so too, wherever it stands on this side.
    const news = left.filter((change) => isSound(change, other.keyring.directory, sound))
    if (news.length === 0) return left
    for (const change of news) sound.add(change)
    left = left.filter((change) => !sound.has(change))
  }
}

function isSound(
  { authorId, slotIds, givesRights: isGiving }: KeyringChange,
  other: Directory,
  sound: ReadonlySet<KeyringChange>,
): boolean {
  const device = findDevice(other, authorId)
  if (device !== undefined) {
    // Whatever it did: else a join would take up what it wrote below that as being in time.
    if (device.removed !== 0) return false
    return !isGiving || device.role === 'owner' || wasMadeOwner(device, sound)
  }
  // By what it was before the record: a device may be given the key of a recovery entry.
  if (!isGiving || slotIds.length === 0) return true
  // Its own side may have replaced the secret since: what it did before stays.
  return (
    slotIds.some((slotId) => !other.gone.includes(slotId)) ||
    findRecoveries(other, authorId).length > 0
  )
}

/** Not if the other side, where it is no owner, has lowered its role. */
function wasMadeOwner({ deviceId, role }: DeviceEntry, sound: ReadonlySet<KeyringChange>): boolean {
  const raised = [...sound].flatMap((change) => change.raised)
  const own = raised.filter((one) => one.deviceId === deviceId)
  return own.some(({ to }) => to === 'owner') && own.some(({ from }) => !isLower(role, from))
}

/** What a keyring record did; a join has two directories before it. */
export function changeBy(
  authorId: string,
  before: readonly Directory[],
  next: Directory,
): KeyringChange {
  const [only, another] = before
  // Genesis has none before it; a join has nothing but what the keyrings have that it joins.
  if (only === undefined || another !== undefined) {
    return { authorId, slotIds: [], givesRights: false, raised: [] }
  }
  const slotIds = findRecoveries(only, authorId).map(({ slotId }) => slotId)
  const [gives, raised] = [givesRights(only, next), raisedRoles(only, next)]
  return { authorId, slotIds, givesRights: gives, raised }
}

/** The same of commits that are verified and bring keyrings. */
export function readChanges(
  source: CommitSource,
  commits: readonly Oid[],
): readonly CommittedChange[] {
  const { objects, storeId, epochs } = source
  const directoryOf = (oid: Oid): Directory => {
    const bytes = getBlob(objects, findKeyring(objects, oid), 'keyring_mismatch')
    return openDirectory(bytes, storeId, epochs).directory
  }
  return commits.map((oid) => {
    const { record, parts } = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
    const before = joinsKeyrings(record) ? [] : parts.parents.map(directoryOf)
    return { ...changeBy(record.deviceId, before, directoryOf(oid)), oid }
  })
}

/**
 * Only who may change the keyring on both sides may join them: else a removed owner could.
 * Throws `keyring_conflict`.
 */
export function checkMayJoin(deviceId: string, keyrings: TwoKeyrings): void {
  if (keyrings.every(({ directory }) => isOwner(directory, deviceId))) return
  const [first, second] = keyrings
  const owners = first.directory.devices.filter(({ deviceId: id }) => {
    return isOwner(first.directory, id) && isOwner(second.directory, id)
  })
  const names = owners.map((one) => formatId('device', one.deviceId)).join(' or ')
  const who =
    owners.length === 0
      ? 'no device is an owner on both sides to join them; they may have removed each other'
      : `an owner of both sides has to sync, ${names}`
  throw new StoreError(
    'keyring_conflict',
    `Two owners changed who may open the store, neither knowing of the other: ${who}`,
  )
}

function isOwner(directory: Directory, deviceId: string): boolean {
  const device = findDevice(directory, deviceId)
  return device?.removed === 0 && device.role === 'owner'
}
