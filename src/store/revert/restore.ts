// Plans that put a memory back to one of its versions, or a whole directory to a moment. Pure:
// reads the past, changes nothing. Nothing of the history goes: a revert is an ordinary change on
// top (revert.ts), which can be reverted too.

import { StoreError } from '../../errors.ts'
import { formatId, parseId } from '../../format/id.ts'
import { checkPath } from '../../format/path.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import type { Applied } from '../changes/apply.ts'
import type { VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import { type Moment, momentOf, type Point, versionAt } from '../history/points.ts'
import { getVersionEntry, isAtOrBelow } from '../history/versions.ts'
import {
  completePlan,
  formatTime,
  type Goal,
  leaveBlocked,
  type LeftAlone,
  leftAlone,
  type RevertPlan,
  type RevertSource,
  type RevertStep,
  textOf,
} from './revert-plan.ts'

/** What was done or, without a commit, would be done; no steps: nothing has to change. */
export interface Revert extends Applied {
  /** By path. */
  readonly steps: readonly RevertStep[]
  readonly left: readonly LeftAlone[]
}

export interface RestoreRequest {
  /** A path: the memory that is there or was there last. Or `mem_…`. */
  readonly memory: string
  readonly to: Point
}

export interface RollbackRequest {
  readonly to: Point
  /** Only what is at or below this path, now or then. */
  readonly path?: string | undefined
}

/**
 * One memory to one of its versions, or to its state at a moment. Throws `not_found` if there was
 * none, `redacted`, `invalid_input` for a deletion or a version of another memory.
 */
export async function planRestore(
  source: RevertSource,
  request: RestoreRequest,
): Promise<RevertPlan> {
  const { memory, to } = request
  const memoryId = findMemory(source, memory)
  const text = textOf(source, getRestorable(source.history, memoryId, to))
  if (text === undefined) {
    throw new StoreError('redacted', 'That version is redacted: its content has been erased')
  }
  return completePlan(source, [{ memoryId, text }], [], `restore to ${formatPoint(to)}`)
}

/** Every memory to its state at a moment; what has been created since is deleted. */
export async function planRollback(
  source: RevertSource,
  request: RollbackRequest,
): Promise<RevertPlan> {
  const { to, path = '/' } = request
  const directory = path === '/' ? path : checkPath(path)
  const moment = momentOf(source.history, to)
  // Where clones were apart, no tree holds all that was there.
  const commit = moment.tips.length === 1 ? moment.commit : undefined
  const goals: Goal[] = []
  const redacted: LeftAlone[] = []
  const slice = new TimeSlice()
  for (const memoryId of await inSlices(changedSince(source.history, moment))) {
    if (slice.isOver()) await slice.next()
    const then = versionAt(source.history, memoryId, moment)
    const now = source.snapshot.current.get(memoryId)?.live?.path
    const existed = then !== undefined && then.operation !== 'deleted'
    const text = existed ? textOf(source, then, commit) : undefined
    // Where an erased version was is not known: then only where the memory is now counts.
    if (![now, text?.path].some((at) => isConcerned(at, directory))) continue
    if (existed && text === undefined) redacted.push(leftAlone(memoryId, now, 'redacted'))
    else goals.push({ memoryId, text })
  }
  const placed = await leaveBlocked(source, goals)
  // Without the path: a redaction of what lies there may leave the note.
  const note = `rollback to ${formatPoint(to)}`
  return completePlan(source, placed.goals, [...redacted, ...placed.left], note)
}

/** By id or by path: the memory that is there, else the one that was there last. */
function findMemory({ history, snapshot }: RevertSource, memory: string): string {
  if (memory.startsWith('mem_')) {
    const memoryId = parseId('memory', memory)
    if (history.firstOf(memoryId) !== undefined) return memoryId
    throw new StoreError('not_found', 'There has never been such a memory')
  }
  const live = snapshot.paths.findMemory(checkPath(memory))
  if (live !== undefined) return live.memoryId
  for (const entry of history.versions.reversed()) {
    if (entry.path === memory) return entry.memoryId
  }
  throw new StoreError('not_found', 'There is no memory at this path, and none that was', {
    details: { path: memory },
  })
}

function getRestorable(history: History, memoryId: string, to: Point): VersionEntry {
  if (!('versionId' in to)) {
    const entry = versionAt(history, memoryId, momentOf(history, to))
    if (entry !== undefined && entry.operation !== 'deleted') return entry
    throw new StoreError('not_found', 'The memory did not exist then')
  }
  const entry = getVersionEntry(history, to.versionId)
  if (entry.memoryId !== memoryId) {
    throw new StoreError('invalid_input', 'The version belongs to another memory: name that one', {
      details: { memoryId: formatId('memory', entry.memoryId) },
    })
  }
  if (entry.operation !== 'deleted') return entry
  throw new StoreError('invalid_input', 'The version is a deletion: delete the memory instead')
}

/** The memories that commits touched which had not been made then. */
function* changedSince(
  history: History,
  { has }: Moment,
): Generator<undefined, ReadonlySet<string>> {
  const changed = new Set<string>()
  for (const entry of history.versions) {
    yield
    if (!has(entry.commit.position)) changed.add(entry.memoryId)
  }
  return changed
}

/** Below the root is everything, also what has no path. */
function isConcerned(path: string | undefined, directory: string): boolean {
  return directory === '/' || isAtOrBelow(path, directory)
}

function formatPoint(point: Point): string {
  if ('versionId' in point) return point.versionId
  return 'time' in point ? formatTime(point.time) : `commit ${point.commit}`
}
