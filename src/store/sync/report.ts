// What a sync says about itself: what moved, what was combined, what did not. Plain values.

import type { AwaitedDevice } from '../adoption.ts'
import type { MergeOutcome } from '../merge/plan.ts'
import type { JoinedKeyrings } from './joined-keyrings.ts'
import type { LateChange } from './late-changes.ts'

/** What one sync with one remote did. */
export interface SyncReport {
  readonly remote: string
  /** Commits that this clone took over, and bytes that came over the wire. */
  readonly received: { readonly commits: number; readonly bytes: number }
  /** Commits that the remote took over. */
  readonly sent: { readonly commits: number; readonly bytes: number }
  /** The commit that joined both histories; undefined where one contained the other. */
  readonly merge: string | undefined
  /** What the merge made of memories that both sides had changed. */
  readonly outcomes: readonly MergeOutcome[]
  /** Where both sides had changed who may open the store; else undefined. */
  readonly keyrings: JoinedKeyrings | undefined
  /** Versions that redactions from elsewhere have erased here. */
  readonly erased: number
  /** Where it took over redactions: who else has not shown to have them. Empty for all others. */
  readonly awaited: readonly AwaitedDevice[]
  /** The newest commit here, 40 hex digits, and its fingerprint for comparison by voice. */
  readonly head: string
  readonly headWords: readonly string[]
  /** Changes of removed devices that came too late to be a part of the history, oldest first. */
  readonly late: readonly LateChange[]
  /** Devices that write from two places at once (FORMAT §8.2). */
  readonly forkedDevices: readonly string[]
}
