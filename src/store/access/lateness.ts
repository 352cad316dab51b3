// Decides which commits of one side of a merge are late, and which merges only an owner completes
// (FORMAT §7.4). Pure; the verifier and a sync describe the sides.

import type { RecordBody, RecordKind } from '../../format/change-record.ts'
import { type Directory, findDevice, isInForce, mayGive } from '../../format/directory.ts'

/** A device, or the holder of a grant that it gave. */
export interface SideAuthor {
  readonly deviceId: string
  readonly grantId: string | undefined
}

/** A commit that is an ancestor of one parent of a merge, or that parent, and not of the other. */
export interface SideCommit<Key> {
  readonly key: Key
  /** All parents, those in the past of both sides included. */
  readonly parents: readonly Key[]
  /** Undefined for a recovery identity. */
  readonly author: SideAuthor | undefined
  /** That of the keyring which it brings; undefined if it brings none. */
  readonly directory: Directory | undefined
  /** Whether its kind waits for an owner if its author is no longer one: 3, 5 and 6. */
  readonly isOwners: boolean
  /** The ids of grants that it ends. */
  readonly ends: readonly string[]
}

/** The directories by which one side is judged. */
export interface Judging {
  /** That in force at the parent whose side it is. */
  readonly before: Directory
  /** That of the later keyring of the two parents. */
  readonly after: Directory
  /** What the other side has. */
  readonly other: readonly Pick<SideCommit<unknown>, 'ends' | 'directory'>[]
}

/** The keys of the late commits of a side, which is given parents before children. */
export function lateOf<Key>(
  side: readonly SideCommit<Key>[],
  { before, after, other }: Judging,
): ReadonlySet<Key> {
  const late = new Set<Key>()
  const ended = new Set(other.flatMap(({ ends }) => ends))
  const directories = other.flatMap(({ directory }) => directory ?? [])
  if (before === after && ended.size === 0 && directories.length === 0) return late
  const isEnded = ({ deviceId, grantId }: SideAuthor): boolean =>
    grantId === undefined
      ? isInForce(before, deviceId) && !isInForce(after, deviceId)
      : ended.has(grantId) || directories.some((directory) => !mayGive(directory, deviceId))
  for (const { key, parents, author, directory } of side) {
    if (directory !== undefined || (author !== undefined && vouches(after, author))) continue
    const rests = parents.some((parent) => late.has(parent))
    if (rests || (author !== undefined && isEnded(author))) late.add(key)
  }
  return late
}

/** Only devices vouch for what they build on; holders of grants do not. */
function vouches(after: Directory, { deviceId, grantId }: SideAuthor): boolean {
  return grantId === undefined && isInForce(after, deviceId)
}

/** The keys of records that only owners may write, by devices that are no longer owners. */
export function heldOf<Key>(
  side: readonly SideCommit<Key>[],
  { before, after }: Pick<Judging, 'before' | 'after'>,
): readonly Key[] {
  if (before === after) return []
  const wasOwner = ({ deviceId }: SideAuthor): boolean =>
    isOwner(before, deviceId) && !isOwner(after, deviceId)
  const isHeld = ({ author, isOwners }: SideCommit<Key>): boolean =>
    isOwners && author !== undefined && wasOwner(author)
  return side.filter(isHeld).map(({ key }) => key)
}

/** The kinds that wait for an owner if their author is no longer one (FORMAT §7.4). */
export function isOwnersKind(kind: RecordKind): boolean {
  return kind === 'redact' || kind === 'settings' || kind === 'grants'
}

/** The ids of grants that a record ends. */
export function endsOf({ grants }: Pick<RecordBody, 'grants'>): readonly string[] {
  return grants.flatMap((row) => (row.begins === undefined ? [row.grantId] : []))
}

export function isOwner(directory: Directory, deviceId: string): boolean {
  return findDevice(directory, deviceId)?.role === 'owner'
}
