// Decides which commits of one side of a merge are late, and which merges only an owner completes
// (FORMAT §7.4). Pure; the verifier and a sync describe the sides.

import { type Directory, findDevice } from '../../format/directory.ts'

/** A commit that is an ancestor of one parent of a merge, or that parent, and not of the other. */
export interface SideCommit<Key> {
  readonly key: Key
  /** All parents, those in the past of both sides included. */
  readonly parents: readonly Key[]
  /** Undefined for a recovery identity. */
  readonly deviceId: string | undefined
  readonly bringsKeyring: boolean
  /** Whether only an owner may write it: a redaction, or a change of the settings. */
  readonly isOwners: boolean
}

/** The directories by which one side is judged. */
export interface Judging {
  /** That in force at the parent whose side it is. */
  readonly before: Directory
  /** That of the later keyring of the two parents. */
  readonly after: Directory
}

/** The keys of the late commits of a side, which is given parents before children. */
export function lateOf<Key>(
  side: readonly SideCommit<Key>[],
  { before, after }: Judging,
): ReadonlySet<Key> {
  const late = new Set<Key>()
  if (before === after) return late
  for (const { key, parents, deviceId, bringsKeyring } of side) {
    if (bringsKeyring || (deviceId !== undefined && isInForce(after, deviceId))) continue
    const isEnded = deviceId !== undefined && isInForce(before, deviceId)
    if (isEnded || parents.some((parent) => late.has(parent))) late.add(key)
  }
  return late
}

/** The keys of what only an owner may write, by devices that are owners no more. */
export function heldOf<Key>(
  side: readonly SideCommit<Key>[],
  { before, after }: Judging,
): readonly Key[] {
  if (before === after) return []
  const isHeld = ({ deviceId, isOwners }: SideCommit<Key>): boolean =>
    isOwners && deviceId !== undefined && isOwner(before, deviceId) && !isOwner(after, deviceId)
  return side.filter(isHeld).map(({ key }) => key)
}

/** Whether a directory has a device as owner or writer. */
export function isInForce(directory: Directory, deviceId: string): boolean {
  const role = findDevice(directory, deviceId)?.role
  return role === 'owner' || role === 'writer'
}

export function isOwner(directory: Directory, deviceId: string): boolean {
  return findDevice(directory, deviceId)?.role === 'owner'
}
