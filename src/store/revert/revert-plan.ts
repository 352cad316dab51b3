// Turns the goals of a revert into a plan: drops goals that are already reached, leaves memories
// alone whose path is taken, and reads texts last. The goals come from restore.ts and undo.ts.

import type { Operation } from '../../format/change-record.ts'
import { formatId } from '../../format/id.ts'
import { timeMax } from '../../limits.ts'
import { inSlices } from '../../time-slice.ts'
import { checkRowCount } from '../changes/change-refusals.ts'
import type { StateChange } from '../changes/changes.ts'
import type { TextState } from '../history/history-diff.ts'
import type { CommitEntry, VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { findBlocked } from './path-claims.ts'

/** The inputs of a plan. The history reaches up to the snapshot. */
export interface RevertSource {
  readonly history: History
  readonly snapshot: Snapshot
  /**
   * The content of a version that is neither a deletion nor redacted. `at` is a commit at which it
   * is current: looking up many versions in one tree is faster.
   */
  readVersion(entry: VersionEntry, at?: CommitEntry): string
  readMemory(memory: LiveMemory): string
  /** Called before each step of long work, and at the end: lets other work run if it is due. */
  report(done: number, total: number): Promise<void>
}

/** A text that is read only when needed. */
export interface LazyText {
  readonly path: string
  /** SHA-256 of the content, 64 hex digits. */
  readonly sha256: string
  read(): string
}

/** The new state of a memory. The id is in hex. */
export interface Goal {
  readonly memoryId: string
  /** Undefined to delete the memory. */
  readonly text: LazyText | undefined
}

export interface RevertPlan {
  readonly states: readonly StateChange[]
  readonly steps: readonly RevertStep[]
  readonly left: readonly LeftAlone[]
  /** The default reason of the change. */
  readonly note: string
}

/** Builds the plan, reading the texts. Throws `change_too_large` before it reads any. */
export async function completePlan(
  source: RevertSource,
  goals: readonly Goal[],
  left: readonly LeftAlone[],
  note: string,
): Promise<RevertPlan> {
  const unreached = goals.filter((goal) => !isReached(source.snapshot, goal))
  checkRowCount(unreached.length)
  const states: StateChange[] = []
  const steps: RevertStep[] = []
  for (const [index, { memoryId, text }] of unreached.entries()) {
    await source.report(index, unreached.length)
    const target = text && { path: text.path, content: text.read() }
    states.push({ memoryId, target })
    steps.push(describeStep(source, memoryId, target))
  }
  await source.report(unreached.length, unreached.length)
  return { states, steps: steps.toSorted(byPath), left: left.toSorted(byMemory), note }
}

/** Separates the goals whose path is taken. */
export async function leaveBlocked(
  { snapshot }: RevertSource,
  goals: readonly Goal[],
): Promise<{ readonly goals: readonly Goal[]; readonly left: readonly LeftAlone[] }> {
  const destinations = goals.map(({ memoryId, text }) => ({ memoryId, path: text?.path }))
  const blocked = await inSlices(findBlocked(snapshot, destinations))
  return {
    goals: goals.filter(({ memoryId }) => !blocked.has(memoryId)),
    left: destinations
      .filter(({ memoryId }) => blocked.has(memoryId))
      .map(({ memoryId, path }) => leftAlone(memoryId, path, 'path_taken')),
  }
}

export function leftAlone(
  memoryId: string,
  path: string | undefined,
  reason: LeftAlone['reason'],
): LeftAlone {
  return { memoryId: formatId('memory', memoryId), path, reason }
}

/** The text of a version, undefined for a deletion and once redacted; `at` as in `readVersion`. */
export function textOf(
  source: RevertSource,
  entry: VersionEntry,
  at?: CommitEntry,
): LazyText | undefined {
  const { path, sha256 } = entry
  if (path === undefined || sha256 === undefined) return undefined
  let content: string | undefined
  return { path, sha256, read: () => (content ??= source.readVersion(entry, at)) }
}

/** A time in a note, as ISO 8601 without zero milliseconds. */
export function formatTime(time: number): string {
  if (!(Math.abs(time) <= timeMax)) return String(time)
  return new Date(time).toISOString().replace('.000Z', 'Z')
}

function isReached(snapshot: Snapshot, { memoryId, text }: Goal): boolean {
  const live = snapshot.current.get(memoryId)?.live
  return live?.path === text?.path && live?.sha256 === text?.sha256
}

function describeStep(
  source: RevertSource,
  memoryId: string,
  after: TextState | undefined,
): RevertStep {
  const live = source.snapshot.current.get(memoryId)?.live
  const before = live && { path: live.path, content: source.readMemory(live) }
  const operation = operationOf(before, after)
  return { memoryId: formatId('memory', memoryId), operation, before, after }
}

function operationOf(before: TextState | undefined, after: TextState | undefined): Operation {
  if (after === undefined) return 'deleted'
  return before === undefined ? 'created' : 'modified'
}

/** By path; of two memories at one path, the deleted one comes first. */
function byPath(a: RevertStep, b: RevertStep): number {
  const byDeletion = Number(a.after !== undefined) - Number(b.after !== undefined)
  return compare(pathOf(a), pathOf(b)) || byDeletion || compare(a.memoryId, b.memoryId)
}

function byMemory(a: LeftAlone, b: LeftAlone): number {
  return compare(a.path ?? '', b.path ?? '') || compare(a.memoryId, b.memoryId)
}

function pathOf({ before, after }: RevertStep): string {
  return (after ?? before)?.path ?? ''
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** What a revert does to one memory. */
export interface RevertStep {
  /** `mem_…` */
  readonly memoryId: string
  readonly operation: Operation
  /** Undefined if it was deleted before. */
  readonly before: TextState | undefined
  /** Undefined if it is deleted by the revert. */
  readonly after: TextState | undefined
}

export type LeftReason =
  /** Later edits by others cannot be separated from the undone ones. */
  | 'overlap'
  /** A required content is erased. */
  | 'redacted'
  /** Another memory is at, above or below the path. */
  | 'path_taken'

/** A memory that a revert concerns but does not change. */
export interface LeftAlone {
  /** `mem_…` */
  readonly memoryId: string
  /** The path that is taken, or otherwise the current path of the memory, if it has one. */
  readonly path: string | undefined
  readonly reason: LeftReason
}
