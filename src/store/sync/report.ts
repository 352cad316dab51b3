// The report of a sync: what was received, merged and sent. Holds plain values only.

import type { Conflict } from '../history/conflicts.ts'
import type { MergeOutcome } from '../merge/plan.ts'
import type { PendingDevice } from '../redaction/acknowledgement.ts'
import type { BuiltOnRedacted } from '../redaction/built-on.ts'
import type { NewDevice } from './new-devices.ts'
import type { LateChange } from './post-revocation-changes.ts'

/** The commits that the remote accepted, and the bytes sent. */
export interface Sent {
  readonly commits: number
  readonly bytes: number
}

export const nothingSent: Sent = { commits: 0, bytes: 0 }

/** The part of a report about what was received, and how it was reconciled. */
type Taken = Pick<
  SyncReport,
  | 'received'
  | 'merge'
  | 'outcomes'
  | 'mergedElsewhere'
  | 'settings'
  | 'erased'
  | 'late'
  | 'hasRepeated'
> & {
  /** Whether this brought versions that may repeat a redacted text. */
  readonly builtOnRedacted: boolean
}

export const nothingTaken: Taken = {
  received: { commits: 0, bytes: 0 },
  merge: undefined,
  outcomes: [],
  mergedElsewhere: [],
  settings: undefined,
  builtOnRedacted: false,
  erased: 0,
  late: [],
  hasRepeated: false,
}

export type Moved = Taken & Pick<SyncReport, 'sent'>

/**
 * `replaced`: the settings of another device are in force now. `kept`: another device has changed
 * them too, and ours stay in force.
 */
export type SettingsOutcome = 'replaced' | 'kept'

/** The report of one sync with one remote. */
export interface SyncReport {
  readonly remote: string
  /** The commits that this clone took over, and the bytes received. */
  readonly received: { readonly commits: number; readonly bytes: number }
  readonly sent: Sent
  /** The commit that joined both histories; undefined where one contained the other. */
  readonly merge: string | undefined
  /** The results for memories that both sides had changed. */
  readonly outcomes: readonly MergeOutcome[]
  /** The results of merges in other clones that came with this sync, newest first. */
  readonly mergedElsewhere: readonly Conflict[]
  /** Undefined if no other device has changed the settings. */
  readonly settings: SettingsOutcome | undefined
  /**
   * All versions that may hold a redacted text, newest first, if this sync brought such versions:
   * they were written on a redacted one by a device that did not know of the redaction.
   */
  readonly builtOnRedacted: readonly BuiltOnRedacted[]
  /** The number of versions that redactions of other clones have erased here. */
  readonly erased: number
  /** The devices that have not acknowledged the redactions that this sync brought. */
  readonly pendingDevices: readonly PendingDevice[]
  /** The newest commit here, 40 hex digits, and its fingerprint for comparison by voice. */
  readonly head: string
  readonly headFingerprint: readonly string[]
  /**
   * What is not part of the history: late changes (FORMAT §7.4), and what was left where keyrings
   * had changed apart. Redactions first, then oldest first.
   */
  readonly late: readonly LateChange[]
  /** Whether memories of a side that was left were written again here. */
  readonly hasRepeated: boolean
  /** The devices that this sync brought, which others have enrolled or added. */
  readonly newDevices: readonly NewDevice[]
  /** Devices that write from two machines (FORMAT §8.2). */
  readonly forkedDevices: readonly string[]
}
