// FORMAT §7.2: what each keyring record changes, and which of those of one side of a join are
// sound as the other side sees it.

import {
  type Device,
  type Directory,
  findRecovery,
  isOut,
  type RecoveryEntry,
  type Role,
  roles,
} from './directory.ts'
import { recoveryIdOf } from './identity.ts'
import { ensure } from './refusal.ts'

/** Who wrote a keyring record, and what that changed. */
export interface KeyringChange {
  readonly authorId: string
  /** Of a recovery identity. */
  readonly recovery: RecoveryEntry | undefined
  /** Who set the role of the author in the directory before, if it is a device. */
  readonly roleBy: number | undefined
  /** Whether it joins two keyrings: its directory follows from theirs. */
  readonly joins: boolean
  readonly added: readonly Addition[]
  /** The ids of the recovery keys that it adds. */
  readonly keys: readonly string[]
  readonly raised: readonly Raise[]
  /** The devices that its directory has as removed, and none before it. */
  readonly removed: readonly string[]
  readonly directory: Directory
}

export type Addition = Pick<Device, 'deviceId' | 'role'>

export interface Raise {
  readonly deviceId: string
  readonly from: Role
  readonly to: Role
}

/** What a keyring record changes that brings a directory after none, one or, in a join, two. */
export function changeBy(
  authorId: string,
  before: readonly Directory[],
  directory: Directory,
): KeyringChange {
  const out = directory.removed.map(({ deviceId }) => deviceId)
  const removed = out.filter((id) => !before.some((previous) => isOut(id, previous)))
  const [previous] = before
  const joins = before.length > 1
  const common = { authorId, joins, removed, directory }
  if (previous === undefined || joins) {
    return { ...common, recovery: undefined, roleBy: undefined, added: [], keys: [], raised: [] }
  }
  const recovery = findRecovery(previous, authorId)
  const roleBy = findDevice(previous, authorId)?.roleBy
  const keys = keysOf(directory).filter((id) => !keysOf(previous).includes(id))
  const steps = { added: additions(previous, directory), raised: raises(previous, directory) }
  return { ...common, recovery, roleBy, keys, ...steps }
}

function keysOf({ recoveries }: Directory): readonly string[] {
  const keys = recoveries.filter(({ slotType }) => slotType === 3)
  return keys.map(({ slotId, signingKey }) => recoveryIdOf(slotId, signingKey))
}

function findDevice({ devices }: Directory, deviceId: string): Device | undefined {
  return devices.find((device) => device.deviceId === deviceId)
}

function additions(previous: Directory, next: Directory): readonly Addition[] {
  return next.devices.filter(({ deviceId }) => findDevice(previous, deviceId) === undefined)
}

function raises(previous: Directory, next: Directory): readonly Raise[] {
  return next.devices.flatMap(({ deviceId, role: to }) => {
    const from = findDevice(previous, deviceId)?.role
    return from !== undefined && isAbove(to, from) ? [{ deviceId, from, to }] : []
  })
}

function isAbove(one: Role, other: Role): boolean {
  return roles.indexOf(one) < roles.indexOf(other)
}

/** One parent of a merge: every keyring record in its history, and the newest directory. */
export interface KeyringHistory {
  readonly changes: ReadonlyMap<string, KeyringChange>
  readonly directory: Directory
}

/** Each keyring record that only this side has is sound. */
export function checkChanges(own: KeyringHistory, other: KeyringHistory): void {
  const alone = [...own.changes].filter(([record]) => !other.changes.has(record))
  const changes = alone.map(([, change]) => change)
  const isSound = soundChanges(changes, other.directory).length === changes.length
  ensure(isSound, 'record_late', 'A keyring record is by an author who had lost the right to it')
}

/** Round by round, since a record may rest on whom another one added or raised. */
function soundChanges(
  changes: readonly KeyringChange[],
  other: Directory,
): readonly KeyringChange[] {
  let sound: readonly KeyringChange[] = []
  for (;;) {
    const found = sound
    const next = changes.filter((change) => {
      if (isOut(change.authorId, other)) return false
      return change.joins || hasRight(change, found, other)
    })
    if (next.length === sound.length) return sound
    sound = next
  }
}

/** Whether the author of a record had the right to it as the other side sees it. */
function hasRight(
  { authorId, recovery, roleBy }: KeyringChange,
  sound: readonly KeyringChange[],
  other: Directory,
): boolean {
  if (recovery !== undefined) {
    const { slotId, slotType } = recovery
    if (slotType === 2 || keysOf(other).includes(authorId)) return true
    return !other.gone.includes(slotId) && sound.some(({ keys }) => keys.includes(authorId))
  }
  const there = findDevice(other, authorId)
  if (there?.role === 'owner') return true
  const ofIt = ({ deviceId }: Addition | Raise) => deviceId === authorId
  const added = sound.flatMap((change) => change.added).filter(ofIt)
  const raised = sound.flatMap((change) => change.raised).filter(ofIt)
  const wasRaised = raised.some(({ to }) => to === 'owner')
  const isWeakerThere = there === undefined || (roleBy !== undefined && there.roleBy > roleBy)
  if (isWeakerThere) return wasRaised || added.some(({ role }) => role === 'owner')
  // Else it would set aside that the other side lowered the role.
  return wasRaised && raised.some(({ from }) => !isAbove(from, there.role))
}
