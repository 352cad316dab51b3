// Decides which commits of one side of a merge are late (FORMAT §7.4): those of a device that the
// other side has removed, and what nobody who may vouch for them has built on them. Pure; the
// verifier and a sync describe the sides.

import { type DeviceEntry, type Directory, findDevice } from '../../format/directory.ts'

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
  readonly keyrings: readonly SideKeyring[]
}

/** A keyring record of one side. */
export interface SideKeyring {
  readonly directory: Directory
  /** The devices that it removes: no directory before it has them as removed. */
  readonly removes: readonly string[]
}

export interface DeviceAddition {
  /** Undefined for a recovery identity. */
  readonly deviceId: string | undefined
  readonly added: readonly string[]
}

/** The keys of the late commits of `side`. */
export function lateOf<Key>(
  side: MergeSide<Key>,
  other: Pick<MergeSide<Key>, 'keyrings'>,
): ReadonlySet<Key> {
  const late = new Set<Key>()
  const removed = new Set(other.keyrings.flatMap(({ removes }) => removes))
  if (removed.size === 0) return late
  const vouches = voucherOf(side, other)
  for (const { key, parents, deviceId } of side.commits) {
    if (deviceId !== undefined && vouches(deviceId)) continue
    const isRemoved = deviceId !== undefined && removed.has(deviceId)
    if (isRemoved || parents.some((parent) => late.has(parent))) late.add(key)
  }
  return late
}

/**
 * Decides whether a device of `side` vouches for what it builds on: if every record of the other
 * side that removes a device knew it as active, if the other side has it by now and an owner's
 * device admitted it, or if a device that vouches added it. A removed party could otherwise enrol a
 * device by a passphrase, to vouch for what it wrote.
 */
export function voucherOf<Key>(
  { additions }: Pick<MergeSide<Key>, 'additions'>,
  { keyrings }: Pick<MergeSide<Key>, 'keyrings'>,
): (deviceId: string) => boolean {
  const removing = keyrings.filter(({ removes }) => removes.length > 0)
  // Without a removal, nothing can be late.
  if (removing.length === 0) return () => true
  const directories = removing.map(({ directory }) => directory)
  const removed = new Set(directories.flatMap((one) => one.removed.map(({ deviceId }) => deviceId)))
  const known = newest(keyrings).devices.filter(({ admittedBy }) => admittedBy === 'owner')
  const vouching = new Set([...activeInAll(directories), ...idsOf(known)])
  for (const one of removed) vouching.delete(one)
  for (let before = -1; before !== vouching.size;) {
    before = vouching.size
    for (const { deviceId, added } of additions) {
      if (deviceId === undefined || !vouching.has(deviceId)) continue
      for (const one of added) if (!removed.has(one)) vouching.add(one)
    }
  }
  return (deviceId) => vouching.has(deviceId)
}

function activeInAll([first, ...others]: readonly Directory[]): readonly string[] {
  return idsOf(first?.devices ?? []).filter((deviceId) => {
    return others.every((other) => findDevice(other, deviceId) !== undefined)
  })
}

function idsOf(devices: readonly DeviceEntry[]): readonly string[] {
  return devices.map(({ deviceId }) => deviceId)
}

/** The directory of a side: numbers grow with every keyring record on a line. */
function newest([first, ...others]: readonly SideKeyring[]): Pick<Directory, 'devices'> {
  let found = first?.directory
  for (const { directory } of others) {
    if (found === undefined || directory.number > found.number) found = directory
  }
  return found ?? { devices: [] }
}
