// The questions of the console's page, by name, and their answers: JSON, between one version
// of the program and itself. All of it is inferred from the operations; the page is checked against
// the same types.

import type { Actor } from '../../format/change-record.ts'
import type { Role } from '../../format/directory.ts'
import type { CommitRange, Position } from '../../store/history/points.ts'
import type { TimelineFilter, VersionGroup } from '../../store/history/timeline.ts'
import type { ListedDevice } from '../../store/report/access-events.ts'
import type { SyncReport } from '../../store/sync/report.ts'
import type { TrailRow } from './audit.ts'
import type { CountedVersion } from './memories.ts'
import type { operations } from './operations.ts'
import type { FoundPlace } from './redaction.ts'
import type { ReviewedMemory } from './review.ts'
import type { Overview } from './store.ts'

export type {
  Actor,
  CommitRange,
  CountedVersion,
  FoundPlace,
  ListedDevice,
  Overview,
  ReviewedMemory,
  SyncReport,
  TimelineFilter,
  TrailRow,
}
export type { Position as MomentInfo, Role, VersionGroup as TimelineGroup }

type Operations = typeof operations

export type QuestionName = keyof Operations
export type InputOf<Name extends QuestionName> = Parameters<Operations[Name]['run']>[1]
export type ResultOf<Name extends QuestionName> = Awaited<ReturnType<Operations[Name]['run']>>

// Names for what several views of the page share.

export type MemoryView = ResultOf<'memory.show'>
export type LiveMemoryView = Extract<MemoryView, { readonly state: 'live' }>
export type Blame = ResultOf<'memory.blame'>
export type MergedEdit = ResultOf<'memory.merge'>
export type SearchInput = InputOf<'memories.search'>
export type MomentInput = InputOf<'moment.find'>
export type MomentChange = ResultOf<'moment.compare'>['changes'][number]
export type GroupedMemory = ResultOf<'timeline.group'>['memories'][number]
export type RevertPreview = ResultOf<'undo.plan'>
export type PendingReview = ResultOf<'review.pending'>
export type ReviewCard = ResultOf<'review.list'>['data'][number]
export type WriterCard = Extract<ReviewCard, { readonly kind: 'writer' }>
export type MergeCard = Extract<ReviewCard, { readonly kind: 'merge' }>
export type MergeView = ResultOf<'merges.show'>
export type Selection = InputOf<'redaction.plan'>['select']
export type ErasePlan = ResultOf<'redaction.plan'>
export type EraseInput = InputOf<'redaction.run'>
export type WayOut = NonNullable<EraseInput['current']>
export type EraseResult = ResultOf<'redaction.run'>
export type ListedRedaction = ResultOf<'redaction.past'>['redactions'][number]
export type ErasureProof = ResultOf<'redaction.proof'>
export type AuditState = ResultOf<'audit.state'>
export type TrailInput = InputOf<'audit.trail'>
export type SettingsView = ResultOf<'settings.show'>

/** The lines of an answer: any number of the first kind, then one of the others. */
export type AnswerLine =
  | { readonly progress: { readonly done: number; readonly total: number } }
  | { readonly result: unknown }
  | { readonly error: AskError }

/** What the page learns of a StoreError: no text of a memory, no key. */
export interface AskError {
  readonly code: string
  readonly message: string
  /** What it advises, if docs/ERRORS.md has something. */
  readonly advice?: string | undefined
  /** The memory in the way, for a conflict. */
  readonly memoryId?: string | undefined
  readonly path?: string | undefined
}

/** A line of the stream of events: no text of a memory. */
export type ConsoleEvent =
  /** The first one: how many changes the console has seen so far. */
  | { readonly type: 'ready'; readonly changes: number }
  | {
      readonly type: 'version'
      readonly operation: 'created' | 'modified' | 'deleted'
      readonly memoryId: string
      readonly versionId: string
      readonly path?: string | undefined
    }
  /**
   * Everything may have changed, as after a redaction: the page must ask for its contents again.
   */
  | { readonly type: 'resync' }
  /** Sent now and then, so that a page notices the end of its console. */
  | { readonly type: 'alive' }
  /** No one has used the console for long: it locks in a minute, unless someone uses it. */
  | { readonly type: 'idle' }
  | { readonly type: 'used' }
  /** By a user, or because no one has used it since a time, ms since 1970. */
  | { readonly type: 'locked'; readonly idleSince?: number }
  | { readonly type: 'ended' }
