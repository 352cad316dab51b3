// What making one history of two did, and what several such steps did together. Plain values.

import type { Oid } from '../../git/objects/object.ts'
import type { MergeOutcome } from '../merge/plan.ts'
import { addJoined, type JoinedKeyrings } from './joined-keyrings.ts'
import type { LateChange } from './post-revocation-changes.ts'
import type { SettingsOutcome } from './report.ts'

/** What became of the two heads. */
export interface ReconcileResult {
  readonly merge: Oid | undefined
  readonly outcomes: readonly MergeOutcome[]
  /** Versions that their redactions erased here. */
  readonly erased: number
  /** If both sides had changed the keyring. */
  readonly keyrings?: JoinedKeyrings | undefined
  /** Our redactions made their commits again from this height on. */
  readonly theirsIntactBelow?: number | undefined
  /** Commits of theirs that our history did not have. */
  readonly received: number
  /** What was newest here and late, of a device that was removed: it is no part of it any more. */
  readonly leftLate: readonly LateChange[]
  readonly settings: SettingsOutcome | undefined
  /** Ids of memories whose current version may repeat what was redacted (`builtOnRedacted`). */
  readonly builtOnRedacted: readonly string[]
}

export const nothingMoved: ReconcileResult = {
  merge: undefined,
  outcomes: [],
  erased: 0,
  received: 0,
  leftLate: [],
  settings: undefined,
  builtOnRedacted: [],
}

/** What both did, one after the other. */
export function addResult(a: ReconcileResult, b: ReconcileResult): ReconcileResult {
  return {
    merge: b.merge ?? a.merge,
    outcomes: [...a.outcomes, ...b.outcomes],
    erased: a.erased + b.erased,
    received: a.received + b.received,
    leftLate: [...a.leftLate, ...b.leftLate],
    keyrings: addJoined(a.keyrings, b.keyrings),
    theirsIntactBelow: lower(a.theirsIntactBelow, b.theirsIntactBelow),
    settings: b.settings ?? a.settings,
    builtOnRedacted: [...new Set([...a.builtOnRedacted, ...b.builtOnRedacted])],
  }
}

function lower(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}
