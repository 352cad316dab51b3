// The events of an audit export: what a record of a store did, one event for each version, device,
// key or grant. Made of the record alone, so that an event that is repeated is the same. Names ids
// and never a path, a text, or the name of a store or a device. Pure.

import type { Actor, GrantRole, Operation, RedactReason } from '../format/change-record.ts'
import type { Role } from '../format/directory.ts'
import type { AuditEntry } from '../store/audit/audit-trail.ts'
import { type AccessAction, listAccessEvents } from '../store/report/access-events.ts'

/** What happened, and the ids of what it happened to. */
interface AuditActivity {
  readonly activity: Activity
  /** `mem_…` and `memver_…` */
  readonly memoryId?: string
  readonly versionId?: string
  readonly reason?: RedactReason
  /** `dev_…`: the device that was added, changed or removed. */
  readonly targetDeviceId?: string
  readonly role?: Role | GrantRole
  /** The `deviceId` of what the holder of a grant writes. */
  readonly grantId?: string
  /** ms since 1970. */
  readonly expiresAt?: number
}

type Activity =
  | `memory_${Operation}`
  | 'version_redacted'
  | 'settings_changed'
  | 'histories_merged'
  | 'keys_changed'
  | 'store_created'
  | 'store_deleted'
  | 'history_replaced'
  | AccessAction['type']

/** The author of a record, as its device recorded it. */
export interface AuditAuthor {
  readonly actor?: Actor | undefined
  readonly session?: string | undefined
  /** `dev_…` */
  readonly deviceId?: string
  readonly isRecovery?: boolean
  /** `dev_…`: the device whose grant the author holds. */
  readonly grantedBy?: string | undefined
}

export interface AuditEvent extends AuditActivity, AuditAuthor {
  /** The same whenever the event is repeated, and that of no other one. */
  readonly id: string
  /** ms since 1970, by the clock of the device; of a deletion, when it was noticed. */
  readonly time: number
  /** `memstore_…` */
  readonly storeId: string
  readonly workspaceId: string
  /** The hash of the record, 64 hex digits, and its height in the history. */
  readonly record?: string
  readonly height?: number
}

export type EventPlace = Pick<AuditEvent, 'storeId' | 'workspaceId'>

/** In an order that never changes. At least one. */
export function eventsOf(entry: AuditEntry, place: EventPlace): readonly AuditEvent[] {
  const { record, height, time, actor, session, deviceId, isRecovery, grantedBy } = entry
  const author = { actor, session, deviceId, isRecovery, grantedBy }
  const shared = { ...place, ...author, record, height }
  return activitiesOf(entry).map((activity, index) => {
    return Object.assign({ id: `${record}-${index}`, time }, activity, shared)
  })
}

function activitiesOf(entry: AuditEntry): readonly AuditActivity[] {
  const { kind, versions, redacts, redactReason: reason = 'unspecified' } = entry
  const found: readonly AuditActivity[] = [
    ...(kind === 'genesis' ? [{ activity: 'store_created' } as const] : []),
    ...(kind === 'settings' ? [{ activity: 'settings_changed' } as const] : []),
    ...versions.map(({ operation, memoryId, versionId }) => {
      return { activity: `memory_${operation}`, memoryId, versionId } as const
    }),
    ...redacts.map((versionId) => ({ activity: 'version_redacted', versionId, reason }) as const),
    ...listAccessEvents([entry]).map(({ action }) => activityOf(action)),
  ]
  if (found.length > 0) return found
  return [{ activity: entry.parents.length > 1 ? 'histories_merged' : 'keys_changed' }]
}

/** Field by field: an action may have the name of a device. */
function activityOf(action: AccessAction): AuditActivity {
  const activity = action.type
  if ('grantId' in action) {
    const { grantId, role, expiresAt } = action
    return { activity, grantId, role, expiresAt }
  }
  if (!('deviceId' in action)) return { activity }
  const { deviceId: targetDeviceId } = action
  return { activity, targetDeviceId, ...('role' in action && { role: action.role }) }
}
