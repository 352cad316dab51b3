// Decides which commits of one side of a merge are late (FORMAT §7.4): those of a device that the
// other side has removed, and what nobody who may vouch for them has built on them. Pure; the
// verifier and a sync describe the sides.

import { type Directory, findDevice } from '../../format/directory.ts'

/** A commit that is an ancestor of one parent of a merge, or that parent, and not of the other. */
export interface SideCommit<Key> {
  readonly key: Key
  /** All parents, those in the past of both sides included. */
  readonly parents: readonly Key[]
  /** Undefined for a recovery identity. */
  readonly deviceId: string | undefined
}

export interface MergeSide<Key> {
  /** Parents before children. */
  readonly commits: readonly SideCommit<Key>[]
  /** By each keyring record of this side, its author and the devices that it adds. */
  readonly additions: readonly DeviceAddition[]
  /** The directories of the keyring records of this side. */
  readonly directories: readonly Directory[]
}

export interface DeviceAddition {
  /** Undefined for a recovery identity. */
  readonly deviceId: string | undefined
  readonly added: readonly string[]
}

/** The keys of the late commits of `side`. */
export function lateOf<Key>(
  side: MergeSide<Key>,
  { directories }: Pick<MergeSide<Key>, 'directories'>,
): ReadonlySet<Key> {
  const late = new Set<Key>()
  // Only a keyring record of the other side can have removed a device.
  if (directories.length === 0) return late
  const vouches = voucherOf(side, directories)
  const removed = removedIn(directories)
  for (const { key, parents, deviceId } of side.commits) {
    if (deviceId !== undefined && vouches(deviceId)) continue
    const isRemoved = deviceId !== undefined && removed.has(deviceId)
    if (isRemoved || parents.some((parent) => late.has(parent))) late.add(key)
  }
  return late
}

/**
 * Decides whether a device of `side` vouches for what it builds on: if every keyring record of the
 * other side knew it as active, or a device that vouches added it. A removed party could otherwise
 * enrol a device by a passphrase, to vouch for what it wrote.
 */
export function voucherOf<Key>(
  { additions }: Pick<MergeSide<Key>, 'additions'>,
  others: readonly Directory[],
): (deviceId: string) => boolean {
  const vouching = activeInAll(others)
  // In a merge without keyring records of the other side, nothing can be late.
  if (vouching === undefined) return () => true
  const removed = removedIn(others)
  for (let before = -1; before !== vouching.size;) {
    before = vouching.size
    for (const { deviceId, added } of additions) {
      if (deviceId === undefined || !vouching.has(deviceId)) continue
      for (const one of added) if (!removed.has(one)) vouching.add(one)
    }
  }
  return (deviceId) => vouching.has(deviceId)
}

/** Undefined if there are no directories. */
function activeInAll([first, ...others]: readonly Directory[]): Set<string> | undefined {
  if (first === undefined) return undefined
  const inAll = first.devices.filter(({ deviceId }) => {
    return others.every((other) => findDevice(other, deviceId) !== undefined)
  })
  return new Set(inAll.map(({ deviceId }) => deviceId))
}

function removedIn(directories: readonly Directory[]): ReadonlySet<string> {
  return new Set(directories.flatMap(({ removed }) => removed.map(({ deviceId }) => deviceId)))
}
