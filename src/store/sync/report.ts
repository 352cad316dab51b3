// What a sync says about itself: what moved, what was combined, what did not. Plain values.

import type { Conflict } from '../history/conflicts.ts'
import type { MergeOutcome } from '../merge/plan.ts'
import type { PendingDevice } from '../redaction/acknowledgement.ts'
import type { JoinedKeyrings } from './joined-keyrings.ts'
import type { LateChange } from './post-revocation-changes.ts'

/** Commits that the remote took over, and bytes that went over the wire. */
export interface Sent {
  readonly commits: number
  readonly bytes: number
}

export const nothingSent: Sent = { commits: 0, bytes: 0 }

/** What came from the remote, and what was made of it. */
type Taken = Pick<
  SyncReport,
  | 'received'
  | 'merge'
  | 'outcomes'
  | 'mergedElsewhere'
  | 'keyrings'
  | 'settings'
  | 'erased'
  | 'late'
> & { readonly builtOnRedacted: readonly string[] }

/** As part of a report, too: none is described in another way there. */
type NothingTaken = Omit<Taken, 'builtOnRedacted'> & { readonly builtOnRedacted: readonly never[] }

export const nothingTaken: NothingTaken = {
  received: { commits: 0, bytes: 0 },
  merge: undefined,
  outcomes: [],
  mergedElsewhere: [],
  keyrings: undefined,
  settings: undefined,
  builtOnRedacted: [],
  erased: 0,
  late: [],
}

export type Moved = Taken & Pick<SyncReport, 'sent'>

/**
 * Whether the settings are those of another device now (`replaced`), or another device has changed
 * them too and those that were set here hold (`kept`).
 */
export type SettingsOutcome = 'replaced' | 'kept'

/** Ids are `mem_…` and `memver_…`. */
export interface ChangedMemory {
  readonly memoryId: string
  readonly versionId: string
  readonly path: string
}

/** What one sync with one remote did. */
export interface SyncReport {
  readonly remote: string
  /** Commits that this clone took over, and bytes that came over the wire. */
  readonly received: { readonly commits: number; readonly bytes: number }
  readonly sent: Sent
  /** The commit that joined both histories; undefined where one contained the other. */
  readonly merge: string | undefined
  /** What the merge made of memories that both sides had changed. */
  readonly outcomes: readonly MergeOutcome[]
  /** What merges elsewhere have combined, and came with this sync; newest first. */
  readonly mergedElsewhere: readonly Conflict[]
  /** Where both sides had changed who may open the store; else undefined. */
  readonly keyrings: JoinedKeyrings | undefined
  /** Undefined where the settings are those of before, and no others were set elsewhere. */
  readonly settings: SettingsOutcome | undefined
  /**
   * Live memories that somebody changed without knowing that the version was redacted from which
   * the change started: they may still have the text that was to go.
   */
  readonly builtOnRedacted: readonly ChangedMemory[]
  /** Versions that redactions from elsewhere have erased here. */
  readonly erased: number
  /** Where it took over redactions: who else has not shown to have them. Empty for all others. */
  readonly pendingDevices: readonly PendingDevice[]
  /** The newest commit here, 40 hex digits, and its fingerprint for comparison by voice. */
  readonly head: string
  readonly headFingerprint: readonly string[]
  /** Changes of removed devices that came too late to be a part of the history, oldest first. */
  readonly late: readonly LateChange[]
  /** Devices that write from two places at once (FORMAT §8.2). */
  readonly forkedDevices: readonly string[]
}
