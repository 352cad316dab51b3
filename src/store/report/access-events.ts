// The access to a store over time, from the keyring records and grants of a verified trail:
// each event with its author, and each device as it is now. Pure.

import type { Actor } from '../../format/change-record.ts'
import type { Role } from '../../format/directory.ts'
import type { AccessChange, AuditedGrant, AuditEntry } from '../audit/audit-trail.ts'
import type { Audit } from '../audit/audit.ts'
import type { Device } from '../devices/devices.ts'

/** What a record did to access; a device is `dev_…`, and its name identifies nothing. */
export type AccessAction =
  | {
      readonly type: 'device_added'
      readonly deviceId: string
      readonly role: Role
      readonly name: string
    }
  | { readonly type: 'device_renamed'; readonly deviceId: string; readonly name: string }
  | { readonly type: 'role_changed'; readonly deviceId: string; readonly role: Role }
  | { readonly type: 'device_removed'; readonly deviceId: string }
  | ({ readonly type: 'grant_begun' | 'grant_ended' } & Omit<AuditedGrant, 'isEnd'>)
  | {
      readonly type:
        | 'passphrase_set'
        | 'passphrase_removed'
        | 'recovery_key_set'
        | 'recovery_key_removed'
        | 'grants_left_to_owners'
        | 'grants_opened_to_writers'
        | 'epoch_began'
    }

/** The device that signed a record, and the names it gave: those are its word alone. */
export interface Authorship {
  /** ms since 1970, by the clock of the device. */
  readonly time: number
  /** `dev_…`; of a passphrase, recovery key or grant, the id of its public key. */
  readonly deviceId: string
  readonly isRecovery: boolean
  /** `dev_…`: the device whose grant the author holds; undefined for another author. */
  readonly grantedBy: string | undefined
  readonly actor: Actor | undefined
  readonly session: string | undefined
  /** The hash of the record, 64 hex digits, and its commit, 40. */
  readonly record: string
  readonly commit: string
}

export interface AccessEvent extends Authorship {
  readonly action: AccessAction
}

export interface ReportedDevice {
  /** `dev_…` */
  readonly deviceId: string
  /** Its newest name; may be empty. */
  readonly name: string
  /** Its current role, or the one that it had when it was removed. */
  readonly role: Role
  /** Whose record added it. */
  readonly added: Authorship
  /** Whose record removed it; undefined for an active device. */
  readonly removed: Authorship | undefined
  /** The time of its newest record; undefined if it has written none. */
  readonly lastRecord: number | undefined
}

export function authorshipOf(entry: AuditEntry): Authorship {
  const { time, deviceId, isRecovery, grantedBy, actor, session, record, commit } = entry
  return { time, deviceId, isRecovery, grantedBy, actor, session, record, commit }
}

/** Everything that changed access, in the order of the trail. */
export function listAccessEvents(entries: readonly AuditEntry[]): readonly AccessEvent[] {
  return entries.flatMap((entry) => {
    const ofKeyring = entry.access === undefined ? [] : actionsOf(entry.access)
    const actions = [...ofKeyring, ...entry.grants.map(actionOfGrant)]
    const by = authorshipOf(entry)
    return actions.map((action) => Object.assign({ action }, by))
  })
}

/** All devices that there ever were, in the order in which they came. */
export function listReportedDevices(entries: readonly AuditEntry[]): readonly ReportedDevice[] {
  const devices = new Map<string, ReportedDevice>()
  for (const event of listAccessEvents(entries)) apply(devices, event)
  for (const { deviceId, time } of entries) {
    const device = devices.get(deviceId)
    if (device !== undefined) devices.set(deviceId, { ...device, lastRecord: time })
  }
  return [...devices.values()]
}

/** What an auditor can know of a device, and what members know in addition. */
export type ListedDevice = Pick<Device, keyof ReportedDevice | 'isThis'> & Partial<Device>

/** As an auditor lists them. */
export function devicesOfTrail({ entries, deviceId: own }: Audit): readonly ListedDevice[] {
  return listReportedDevices(entries).map((device) => {
    const { deviceId, name, role, added, removed, lastRecord } = device
    return { deviceId, name, role, added, removed, lastRecord, isThis: deviceId === own }
  })
}

function actionsOf(access: AccessChange): readonly AccessAction[] {
  return [
    ...access.added.map((device) => ({ type: 'device_added', ...device }) as const),
    ...access.renamed.map((device) => ({ type: 'device_renamed', ...device }) as const),
    ...access.changed.map((device) => ({ type: 'role_changed', ...device }) as const),
    ...access.removed.map((deviceId) => ({ type: 'device_removed', deviceId }) as const),
    ...access.recoveryAdded.map((type) => ({ type: `${slotNames[type]}_set` }) as const),
    ...access.recoveryRemoved.map((type) => ({ type: `${slotNames[type]}_removed` }) as const),
    ...(access.givers === undefined ? [] : [{ type: giverEvents[access.givers] } as const]),
    ...(access.isNewEpoch ? [{ type: 'epoch_began' } as const] : []),
  ]
}

function actionOfGrant({ isEnd, ...grant }: AuditedGrant): AccessAction {
  return { type: isEnd ? 'grant_ended' : 'grant_begun', ...grant }
}

const giverEvents = {
  owners: 'grants_left_to_owners',
  'owners and writers': 'grants_opened_to_writers',
} as const
const slotNames = { passphrase: 'passphrase', recovery: 'recovery_key' } as const

function apply(devices: Map<string, ReportedDevice>, event: AccessEvent): void {
  const { action, ...author } = event
  if (!('deviceId' in action)) return
  const { deviceId } = action
  const device = devices.get(deviceId)
  if (action.type === 'device_added') {
    const { name, role } = action
    const isNew = { added: author, removed: undefined, lastRecord: undefined }
    devices.set(deviceId, { deviceId, name, role, ...isNew })
  } else if (device !== undefined) {
    devices.set(deviceId, { ...device, ...changesBy(action, author, device) })
  }
}

function changesBy(
  action: Exclude<AccessAction, { readonly type: 'device_added' }>,
  author: Authorship,
  device: ReportedDevice,
): Partial<ReportedDevice> {
  if (action.type === 'device_renamed') return { name: action.name }
  if (action.type === 'role_changed') return { role: action.role }
  // Removed on two clones: the first such record.
  if (action.type === 'device_removed') return { removed: device.removed ?? author }
  return {}
}
