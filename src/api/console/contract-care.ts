// Questions about devices, remotes, proofs and settings. Types alone.

import type { Device } from '../../store/devices/devices.ts'
import type { AuditReport } from '../../store/report/audit-report.ts'
import type { VerifyReport } from '../../store/store-report.ts'
import type { RemoteStatus } from '../../store/sync/remote-state.ts'
import type { SyncReport } from '../../store/sync/report.ts'
import type { Changed, Question, WithReason } from './question.ts'

export type Role = 'owner' | 'writer' | 'reader' | 'auditor'

export interface SettingsView {
  readonly name: string
  readonly description: string
  readonly metadata: Readonly<Record<string, string>>
  readonly archivedAt?: number | undefined
  readonly limits: { readonly contentBytes: number; readonly memories: number }
  readonly createdAt: number
  readonly updatedAt: number
  readonly guard: boolean
  /** The texts that the guard lets through, by SHA-256. */
  readonly allowed: readonly string[]
}

/** A live memory whose text the guard would refuse. It names no text. */
export interface GuardFinding {
  readonly memoryId: string
  readonly path: string
  /** The kind of secret, and the 1-based line, if it has one. */
  readonly rule: string
  readonly line?: number | undefined
}

interface ReportInput {
  readonly since?: number | undefined
  readonly until?: number | undefined
  /** The texts of certificates. */
  readonly certificates?: readonly string[] | undefined
}

/** What an auditor can know of a device, and what members know in addition. */
export type ListedDevice = Pick<
  Device,
  'deviceId' | 'name' | 'role' | 'added' | 'removed' | 'lastRecord' | 'isThis'
> &
  Partial<Device>

/** Why it is not known whether the remote has the change, which is made here. */
export interface MembersChanged {
  readonly pending?: string | undefined
}

export interface CareApi {
  'devices.list': Question<object, { readonly devices: readonly ListedDevice[] }>
  /** The card is that of the machine; the fingerprint, `dev_…`, the one that it shows itself. */
  'devices.add': Question<
    {
      readonly card: string
      readonly role: Role
      readonly fingerprint: string
      readonly name?: string | undefined
    },
    { readonly deviceId: string } & MembersChanged
  >
  'devices.changeRole': Question<
    { readonly deviceId: string; readonly role: Role },
    Changed & MembersChanged
  >
  'devices.rename': Question<
    { readonly deviceId: string; readonly name: string },
    Changed & MembersChanged
  >
  /** The passphrase, if given, replaces the one that the device may know. */
  'devices.remove': Question<
    {
      readonly deviceIds: readonly string[]
      readonly passphrase?: string | undefined
      readonly recoveryKey?: boolean | undefined
    },
    MembersChanged & {
      readonly recoveryKey?: string | undefined
      /** What the devices' users may still know, which opens the store. */
      readonly knownSecrets: readonly ('passphrase' | 'recovery key')[]
    }
  >
  'sync.remotes': Question<object, { readonly remotes: readonly RemoteStatus[] }>
  /** With progress. */
  'sync.run': Question<{ readonly remote?: string | undefined }, SyncReport>
  'remotes.add': Question<{ readonly name: string; readonly url: string }, object>
  'remotes.remove': Question<{ readonly name: string }, object>
  /** Every commit from the first one, with progress. */
  'audit.verify': Question<object, VerifyReport>
  /** With progress. */
  'audit.report': Question<ReportInput, AuditReport>
  /** RFC 4180. */
  'audit.csv': Question<ReportInput, { readonly csv: string }>
  'settings.show': Question<object, SettingsView>
  'settings.update': Question<
    WithReason & {
      readonly name?: string | undefined
      readonly description?: string | undefined
      readonly contentBytes?: number | undefined
      readonly memories?: number | undefined
      /** Whether texts with what seems to be a secret are refused. */
      readonly guard?: boolean | undefined
    },
    Changed
  >
  /** Lets one text through, or no longer does. */
  'guard.allow': Question<
    WithReason & { readonly sha256: string; readonly isAllowed: boolean },
    Changed
  >
  /** With progress. */
  'guard.check': Question<object, { readonly findings: readonly GuardFinding[] }>
}
