// Plans to restore a memory to one of its versions, or a directory to a point. Pure: reads the
// past, changes nothing. The history is kept: a revert is an ordinary change on top (revert.ts),
// which can be reverted too.

import { assert, type DoubtfulTimes, StoreError } from '../../errors.ts'
import { formatId, parseId } from '../../format/id.ts'
import { checkPath, isAtOrBelow } from '../../format/path.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import type { Applied } from '../changes/apply.ts'
import { findDoubt } from '../history/doubtful-times.ts'
import type { VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import { type Point, type ResolvedPoint, resolvePoint, versionAt } from '../history/points.ts'
import { formatTime } from '../history/record-times.ts'
import { getVersionEntry } from '../history/versions.ts'
import { withDoubt } from './doubtful-plan.ts'
import {
  completePlan,
  type Goal,
  leaveBlocked,
  type LeftAlone,
  leftAlone,
  type RevertPlan,
  type RevertSource,
  type RevertStep,
  textOf,
} from './revert-plan.ts'

/** The result of a revert; without a commit, what it would do. No steps: nothing to change. */
export interface Revert extends Applied {
  /** By path. */
  readonly steps: readonly RevertStep[]
  readonly left: readonly LeftAlone[]
  /** For a time: set if clocks decide what it reaches. */
  readonly doubtful?: DoubtfulTimes | undefined
  /** For a dry run: names the steps, 64 hex digits. The same ones have the same name. */
  readonly plan?: string | undefined
}

export interface RestoreRequest {
  /** `mem_…`, or a path: the memory that is there or was there last. */
  readonly memory: string
  /** If undefined, the memory must be deleted, and gets the state that it had last. */
  readonly to?: Point | undefined
}

export interface RollbackRequest {
  readonly to: Point
  /** Only memories at or below this path, now or at that point. */
  readonly path?: string | undefined
}

/**
 * Plans to restore one memory to one of its versions, or to its state at a point; without either,
 * a deleted one to its last state. Throws
 * `not_found` if it did not exist, `redacted`, `time_doubtful`, or `invalid_input` for a deletion
 * or another memory's version.
 */
export async function planRestore(
  source: RevertSource,
  request: RestoreRequest,
): Promise<RevertPlan> {
  const { memory, to } = request
  const memoryId = findMemory(source, memory)
  const entry =
    to === undefined ? getLast(source, memoryId) : getRestorable(source.history, memoryId, to)
  const text = textOf(source, entry)
  if (text === undefined) {
    throw new StoreError('redacted', 'That version is redacted: its content has been erased')
  }
  const note = to === undefined ? 'restore' : `restore to ${formatPoint(to)}`
  const plan = await completePlan(source, [{ memoryId, text }], [], note)
  if (to === undefined) return plan
  return withDoubt(source, plan, (asked) => findDoubt(source.history, to, asked), {
    concerns: (one) => one.memoryId === memoryId,
  })
}

/**
 * Plans to restore every memory to its state at a point; later ones are deleted. Throws
 * `time_doubtful` as `withDoubt` does.
 */
export async function planRollback(
  source: RevertSource,
  request: RollbackRequest,
): Promise<RevertPlan> {
  const { to, path = '/' } = request
  const directory = path === '/' ? path : checkPath(path)
  const resolved = resolvePoint(source.history, to)
  // Where clones had diverged, no tree holds all memories of that point.
  const commit = resolved.tips.length === 1 ? resolved.commit : undefined
  const goals: Goal[] = []
  const redacted: LeftAlone[] = []
  const slice = new TimeSlice()
  for (const memoryId of await inSlices(changedSince(source.history, resolved))) {
    if (slice.isOver()) await slice.next()
    const then = versionAt(source.history, memoryId, resolved)
    const now = source.snapshot.current.get(memoryId)?.live?.path
    const existed = then !== undefined && then.operation !== 'deleted'
    const text = existed ? textOf(source, then, commit) : undefined
    // The path of an erased version is unknown: only the current path of the memory counts.
    if (![now, text?.path].some((at) => isConcerned(at, directory))) continue
    if (existed && text === undefined) redacted.push(leftAlone(memoryId, now, 'redacted'))
    else goals.push({ memoryId, text })
  }
  const placed = await leaveBlocked(source, goals)
  // Without the path: a redaction of a memory there may not erase the note.
  const note = `rollback to ${formatPoint(to)}`
  const plan = await completePlan(source, placed.goals, [...redacted, ...placed.left], note)
  return withDoubt(source, plan, (asked) => findDoubt(source.history, to, asked), {
    concerns: ({ memoryId, path: at }) => {
      const now = source.snapshot.current.get(memoryId)?.live?.path
      return isConcerned(now, directory) || isConcerned(at, directory)
    },
  })
}

/** Finds a memory by its id, or by path: the current one, otherwise the last one there. */
function findMemory({ history, snapshot }: RevertSource, memory: string): string {
  if (memory.startsWith('mem_')) {
    const memoryId = parseId('memory', memory)
    if (history.firstOf(memoryId) !== undefined) return memoryId
    throw new StoreError('not_found', 'No such memory has ever existed')
  }
  const live = snapshot.paths.findMemory(checkPath(memory))
  if (live !== undefined) return live.memoryId
  for (const entry of history.versions.reversed()) {
    if (entry.path === memory) return entry.memoryId
  }
  throw new StoreError('not_found', 'No memory is or was at this path', {
    details: { path: memory },
  })
}

/** The version that a deletion has ended. */
function getLast({ history, snapshot }: RevertSource, memoryId: string): VersionEntry {
  const live = snapshot.current.get(memoryId)?.live
  if (live !== undefined) {
    const message = 'Name the state to restore (`to`), since the memory is not deleted'
    throw new StoreError('invalid_input', message, { details: { path: live.path } })
  }
  const last = history.ofMemory(memoryId).findLast(({ operation }) => operation !== 'deleted')
  assert(last !== undefined, 'a memory begins with a version that is not a deletion')
  return last
}

function getRestorable(history: History, memoryId: string, to: Point): VersionEntry {
  if (!('versionId' in to)) {
    const entry = versionAt(history, memoryId, resolvePoint(history, to))
    if (entry !== undefined && entry.operation !== 'deleted') return entry
    throw new StoreError('not_found', 'The memory did not exist at that time')
  }
  const entry = getVersionEntry(history, to.versionId)
  if (entry.memoryId !== memoryId) {
    throw new StoreError(
      'invalid_input',
      'The version belongs to another memory: restore that one',
      {
        details: { memoryId: formatId('memory', entry.memoryId) },
      },
    )
  }
  if (entry.operation !== 'deleted') return entry
  throw new StoreError('invalid_input', 'The version is a deletion: delete the memory instead')
}

/** The memories that later commits have touched. */
function* changedSince(
  history: History,
  { has }: ResolvedPoint,
): Generator<undefined, ReadonlySet<string>> {
  const changed = new Set<string>()
  for (const entry of history.versions) {
    yield
    if (!has(entry.commit.position)) changed.add(entry.memoryId)
  }
  return changed
}

/** Everything is below the root, also memories without a known path. */
function isConcerned(path: string | undefined, directory: string): boolean {
  return directory === '/' || isAtOrBelow(path, directory)
}

function formatPoint(point: Point): string {
  if ('versionId' in point) return point.versionId
  if ('stampedTime' in point) return `the stamped time ${formatTime(point.stampedTime)}`
  return 'time' in point ? formatTime(point.time) : `commit ${point.commit}`
}
