// The result of reconciling two heads, and the sum of several results. Holds plain values only.

import type { Oid } from '../../git/objects/object.ts'
import type { MergeOutcome } from '../merge/plan.ts'
import type { LateChange } from './post-revocation-changes.ts'
import type { SettingsOutcome } from './report.ts'

/** The result of reconciling our head with one of theirs. */
export interface ReconcileResult {
  /** The merge commit; undefined where one history contained the other. */
  readonly merge: Oid | undefined
  readonly outcomes: readonly MergeOutcome[]
  /** Versions that their redactions erased here. */
  readonly erased: number
  /** The height from which on our redactions rewrote their commits. */
  readonly theirsIntactBelow?: number | undefined
  /** Commits of theirs that our history did not have. */
  readonly received: number
  /** Whether merges may be among them. */
  readonly hasMerges: boolean
  /** What of ours was left for theirs, redactions first. */
  readonly leftLate: readonly LateChange[]
  /** Whether what this device wrote of that was written again. */
  readonly hasRepeated: boolean
  readonly settings: SettingsOutcome | undefined
  /** Whether either side has versions that may repeat what the other one redacted. */
  readonly builtOnRedacted: boolean
}

export const nothingMoved: ReconcileResult = {
  merge: undefined,
  outcomes: [],
  erased: 0,
  received: 0,
  hasMerges: false,
  leftLate: [],
  hasRepeated: false,
  settings: undefined,
  builtOnRedacted: false,
}

/** The sum of two results, of which `a` is the earlier. */
export function addResult(a: ReconcileResult, b: ReconcileResult): ReconcileResult {
  return {
    merge: b.merge ?? a.merge,
    outcomes: [...a.outcomes, ...b.outcomes],
    erased: a.erased + b.erased,
    received: a.received + b.received,
    hasMerges: a.hasMerges || b.hasMerges,
    leftLate: [...a.leftLate, ...b.leftLate],
    hasRepeated: a.hasRepeated || b.hasRepeated,
    theirsIntactBelow: lower(a.theirsIntactBelow, b.theirsIntactBelow),
    settings: b.settings ?? a.settings,
    builtOnRedacted: a.builtOnRedacted || b.builtOnRedacted,
  }
}

function lower(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}
