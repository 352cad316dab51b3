// FORMAT §7.2: the directory of a join, which follows from those of its parents.

import { equal, toHex, utf8 } from './bytes.ts'
import {
  type Device,
  type Directory,
  directoryHash,
  encodeRecovery,
  type RecoveryEntry,
  type RemovedDevice,
  roles,
} from './directory.ts'
import { zeroHash } from './record.ts'

/** The directory of a join, from those of its parents. */
export function joinDirectories(storeId: string, first: Directory, second: Directory): Directory {
  const both = [first, second] as const
  const number = Math.max(first.number, second.number) + 1
  const quotaOf = byQuota(first, second) >= 0 ? first : second
  return {
    number,
    previous: both.map((directory) => directoryHash(storeId, directory)),
    ...joinDevices(both, number),
    ...joinRecoveries(both),
    quota: quotaOf.quota,
    quotaSet: quotaOf.quotaSet,
    founderRandom: undefined,
  }
}

/** The one whose quota was set later counts for more, and among equal ones the smaller quota. */
function byQuota(a: Directory, b: Directory): number {
  return a.quotaSet === b.quotaSet ? b.quota - a.quota : a.quotaSet - b.quotaSet
}

type Both = readonly [Directory, Directory]

function joinDevices(both: Both, number: number): Pick<Directory, 'devices' | 'removed'> {
  const removed = new Map<string, RemovedDevice>()
  for (const one of both.flatMap((directory) => directory.removed)) {
    const other = removed.get(one.deviceId)
    removed.set(one.deviceId, other === undefined ? one : joinRemoved(one, other))
  }
  const devices = new Map<string, Device>()
  const gone = both.flatMap((directory) => directory.gone)
  for (const one of both.flatMap((directory) => directory.devices)) {
    const { deviceId } = one
    const other = devices.get(deviceId)
    if (removed.has(deviceId)) continue
    if (other === undefined) devices.set(deviceId, one)
    else if (sameKeys(one, other)) devices.set(deviceId, joinDevice(one, other, gone))
    else removed.set(deviceId, { deviceId, removed: number, sequence: 0, record: zeroHash })
  }
  const [first, second] = both
  const out = new Set([...removed.keys(), ...shutOut(first, second), ...shutOut(second, first)])
  const active = [...devices.values()].filter(({ deviceId }) => !out.has(deviceId))
  return { devices: active.toSorted(byDevice), removed: [...removed.values()].toSorted(byDevice) }
}

/** Whom only a passphrase let in that the other side, which has them not, has dropped. */
function shutOut(own: Directory, other: Directory): readonly string[] {
  const known = new Set([...other.devices, ...other.removed].map(({ deviceId }) => deviceId))
  const alone = own.devices.filter(({ deviceId }) => !known.has(deviceId))
  const dropped = alone.filter(({ admittedBy, roleBy, slotId }) => {
    return admittedBy === 3 && roleBy === 3 && other.gone.includes(slotId)
  })
  return dropped.map(({ deviceId }) => deviceId)
}

function byDevice(a: { readonly deviceId: string }, b: { readonly deviceId: string }): number {
  return a.deviceId < b.deviceId ? -1 : 1
}

function joinRemoved(a: RemovedDevice, b: RemovedDevice): RemovedDevice {
  const aLast = a.sequence === b.sequence ? a.record < b.record : a.sequence > b.sequence
  return { ...(aLast ? a : b), removed: Math.min(a.removed, b.removed) }
}

/** Whether they have one X-Wing key and one key signature. The id gives the Ed25519 key. */
function sameKeys(a: Device, b: Device): boolean {
  return equal(a.kemKey, b.kemKey) && equal(a.keySignature, b.keySignature)
}

function joinDevice(a: Device, b: Device, gone: readonly string[]): Device {
  const { admittedBy, slotId } = wasAdmitted(a, b, gone) ? a : b
  const { role, roleBy, roleSet } = givesRole(a, b) ? a : b
  const { name, namedBy, named } = givesName(a, b) ? a : b
  const rights = { admittedBy, slotId, role, roleBy, roleSet, name, namedBy, named }
  return { ...a, ...rights, added: Math.min(a.added, b.added) }
}

/** Whether a, rather than b, says what admitted both. */
function wasAdmitted(a: Device, b: Device, gone: readonly string[]): boolean {
  if (a.admittedBy !== b.admittedBy) return a.admittedBy < b.admittedBy
  const [aIsGone, bIsGone] = [gone.includes(a.slotId), gone.includes(b.slotId)]
  if (aIsGone !== bIsGone) return bIsGone
  return a.slotId < b.slotId
}

/** Whether a, rather than b, has the role of both. */
function givesRole(a: Device, b: Device): boolean {
  if (a.roleBy !== b.roleBy) return a.roleBy < b.roleBy
  if (a.roleSet !== b.roleSet) return a.roleSet > b.roleSet
  return roles.indexOf(a.role) > roles.indexOf(b.role)
}

/** Whether a, rather than b, has the name of both. */
function givesName(a: Device, b: Device): boolean {
  if (a.namedBy !== b.namedBy) return a.namedBy < b.namedBy
  if (a.named !== b.named) return a.named > b.named
  return bytesAreLess(a.name, b.name)
}

function bytesAreLess(a: string, b: string): boolean {
  return Buffer.compare(utf8(a), utf8(b)) < 0
}

function joinRecoveries(both: Both): Pick<Directory, 'recoveries' | 'gone'> {
  const gone = new Set(both.flatMap((directory) => directory.gone))
  const listed = new Map(both.flatMap(({ recoveries }) => recoveries).map((r) => [hexOf(r), r]))
  const slotIds = [...listed.values()].map((entry) => entry.slotId)
  // A slot id that is there twice has two different entries.
  for (const [i, slotId] of slotIds.entries()) {
    if (slotIds.indexOf(slotId) < i) gone.add(slotId)
  }
  const entries = [...listed.values()]
    .filter((entry) => !gone.has(entry.slotId))
    .toSorted((a, b) => (a.slotId < b.slotId ? -1 : 1))
  const passphrases = entries.filter((entry) => entry.slotType === 2)
  for (const { slotId } of passphrases.slice(4)) gone.add(slotId)
  const recoveries = entries.filter((entry) => !gone.has(entry.slotId))
  return { recoveries, gone: [...gone].toSorted() }
}

function hexOf(entry: RecoveryEntry): string {
  return toHex(encodeRecovery(entry))
}
