// Questions about the history of the whole store, and what takes it back. Types alone.

import type { Actor } from '../../format/change-record.ts'
import type { Page } from '../../page.ts'
import type { Conflict } from '../../store/history/conflicts.ts'
import type { CommitRange, Position } from '../../store/history/points.ts'
import type { GroupedChange, TimelineFilter, VersionGroup } from '../../store/history/timeline.ts'
import type { FullVersion, VersionWithInputs } from '../../store/history/versions.ts'
import type { LeftReason } from '../../store/revert/revert-plan.ts'
import type { Changed, PageInput, Question, WithReason } from './question.ts'

export type { Actor, CommitRange, TimelineFilter }
/**
 * What one session, or one actor without a session, wrote on one day, or in all. `timeZone` of a
 * question says where a day begins: an IANA name such as `Europe/Berlin`.
 */
export type TimelineGroup = VersionGroup
/** What a group did to one memory. */
export interface GroupedMemory extends GroupedChange {
  /** How many hidden characters its text has after the group; given for the first 200 memories. */
  readonly hidden: number
}
export type MomentInfo = Position

export interface Density {
  readonly commits: number
  readonly stretches: readonly CommitRange[]
}

/** A position counts from 1; a commit is given by at least 7 hex digits. */
export type MomentInput =
  | { readonly position: number }
  | { readonly time: number }
  | { readonly versionId: string }
  | { readonly commit: string }

/** A memory that differs between two moments. The texts are those of `memory.show`. */
export interface MomentChange {
  readonly memoryId: string
  /** Undefined where it did not exist. */
  readonly before?: string | undefined
  readonly after?: string | undefined
  readonly textDiffers: boolean
}

export interface MomentDifference {
  /** By path. */
  readonly changes: readonly MomentChange[]
  /** Memories that cannot be compared since one state is redacted. */
  readonly redacted: number
}

export interface PlannedText {
  readonly path: string
  readonly content: string
}

/** What a restore, a rollback or an undo would do, or has done. */
export interface RevertPlan extends Changed {
  readonly steps: readonly {
    readonly memoryId: string
    readonly operation: 'created' | 'modified' | 'deleted'
    readonly before?: PlannedText | undefined
    readonly after?: PlannedText | undefined
  }[]
  readonly left: readonly {
    readonly memoryId: string
    readonly path?: string | undefined
    readonly reason: LeftReason
  }[]
  /** Names this plan: the run does it, or `precondition_failed` says that it is another by now. */
  readonly plan: string
}

export interface RestoreInput {
  readonly memoryId: string
  readonly versionId?: string | undefined
  readonly commit?: string | undefined
}

export interface RollbackInput {
  readonly commit: string
  readonly path?: string | undefined
}

export interface UndoInput {
  /** Whose session, or whose actor, is meant. */
  readonly versionId: string
  readonly by: 'session' | 'actor'
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** A run, with the plan that was shown. */
export type Confirmed<Input> = Input & WithReason & { readonly plan: string }

export interface MergeRow extends Conflict {
  readonly isSeen: boolean
  /** In the order of `inputDevices`; may be empty. */
  readonly deviceNames: readonly string[]
}

export interface MergeView {
  readonly merge: MergeRow
  readonly inputs: readonly FullVersion[]
  readonly result: VersionWithInputs
}

interface TimelineInput extends PageInput {
  readonly filter: TimelineFilter
  readonly timeZone: string
}

interface GroupInput {
  readonly versionId: string
  readonly filter: TimelineFilter
  readonly timeZone: string
}

export interface HistoryApi {
  /** Newest first. */
  'timeline.groups': Question<TimelineInput, Page<TimelineGroup>>
  /** The group that a version belongs to, with what it did, by path; redacted paths last. */
  'timeline.group': Question<
    GroupInput,
    { readonly group: TimelineGroup; readonly memories: readonly GroupedMemory[] }
  >
  /** Newest first. Versions without a session are in no row of `session`. */
  'sessions.list': Question<
    PageInput & { readonly by: 'session' | 'actor'; readonly query?: string | undefined },
    Page<TimelineGroup>
  >
  /** At most so many stretches. */
  'moment.density': Question<{ readonly stretches: number }, Density>
  'moment.find': Question<MomentInput, MomentInfo>
  'moment.compare': Question<
    { readonly from: string; readonly to?: string | undefined },
    MomentDifference
  >
  'undo.plan': Question<UndoInput, RevertPlan>
  'undo.run': Question<Confirmed<UndoInput>, RevertPlan>
  'restore.plan': Question<RestoreInput, RevertPlan>
  'restore.run': Question<Confirmed<RestoreInput>, RevertPlan>
  'rollback.plan': Question<RollbackInput, RevertPlan>
  'rollback.run': Question<Confirmed<RollbackInput>, RevertPlan>
  /** Newest first. */
  'merges.list': Question<
    { readonly limit?: number | undefined },
    { readonly merges: readonly MergeRow[] }
  >
  /** How many this device has not looked at. */
  'merges.unseen': Question<object, { readonly count: number }>
  'merges.show': Question<{ readonly versionId: string }, MergeView>
  /** Remembered on this device alone. */
  'merges.looked': Question<{ readonly versionIds: readonly string[] }, object>
}
