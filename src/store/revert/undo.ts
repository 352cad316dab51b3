// Plans the undo of what an actor or a session wrote. Each touched memory is replayed without those
// versions; later edits by others are kept by a three-way merge. Memories whose changes cannot be
// separated are left alone and reported. Never guesses, never writes conflict markers.

import { StoreError } from '../../errors.ts'
import { inSlices } from '../../time-slice.ts'
import type { CommitEntry, VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import { mayLieBetween } from '../history/record-times.ts'
import { joinOf } from '../history/version-inputs.ts'
import { replay } from './replay.ts'
import {
  completePlan,
  formatTime,
  type Goal,
  leaveBlocked,
  type LeftAlone,
  leftAlone,
  type RevertPlan,
  type RevertSource,
} from './revert-plan.ts'

/** The versions to undo. All given conditions must hold; an actor or a session is needed. */
export interface UndoRequest {
  readonly actorId?: string | undefined
  readonly session?: string | undefined
  /** Inclusive, ms since 1970. Doubtful times are treated as in `VersionFilter`. */
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** Plans to bring every memory to the state without the undone versions. */
export async function planUndo(source: RevertSource, request: UndoRequest): Promise<RevertPlan> {
  checkRequest(request)
  const isUndone = (entry: VersionEntry): boolean => matches(source.history, entry.commit, request)
  const touched = await inSlices(touchedBy(source, isUndone))
  const goals: Goal[] = []
  const left: LeftAlone[] = []
  let done = 0
  for (const memoryId of touched) {
    await source.report(done, touched.size)
    const outcome = await inSlices(replay(source, memoryId, isUndone))
    const now = source.snapshot.current.get(memoryId)?.live?.path
    if (typeof outcome === 'string') left.push(leftAlone(memoryId, now, outcome))
    else goals.push({ memoryId, text: outcome.text })
    done += 1
  }
  const placed = await leaveBlocked(source, goals)
  return completePlan(source, placed.goals, [...left, ...placed.left], noteOf(request))
}

/** The memories with undone versions, and those that merges joined such memories into. */
function* touchedBy(
  { history }: RevertSource,
  isUndone: (entry: VersionEntry) => boolean,
): Generator<undefined, ReadonlySet<string>> {
  const touched = new Set<string>()
  for (const entry of history.versions) {
    yield
    if (isUndone(entry)) touched.add(entry.memoryId)
  }
  for (const memoryId of touched) {
    yield
    for (const entry of history.ofMemory(memoryId)) {
      const into = joinOf(history, entry)
      if (into !== undefined) touched.add(into.memoryId)
    }
  }
  return touched
}

function matches(history: History, commit: CommitEntry, request: UndoRequest): boolean {
  const { actor, session } = commit
  return (
    (request.actorId === undefined || actor?.id === request.actorId) &&
    (request.session === undefined || session === request.session) &&
    mayLieBetween(history, commit, request)
  )
}

function checkRequest({ actorId, session, since, until }: UndoRequest): void {
  const names = [actorId, session].filter((name) => name !== undefined)
  if (names.length === 0 || !names.every((name) => typeof name === 'string')) {
    throw new StoreError('invalid_input', 'An undo must name an actor or a session')
  }
  const times = [since, until].filter((time) => time !== undefined)
  if (times.every((time) => Number.isFinite(time))) return
  throw new StoreError('invalid_input', 'The bounds of an undo must be times in milliseconds')
}

function noteOf({ actorId, session, since, until }: UndoRequest): string {
  const parts = ['undo']
  if (actorId !== undefined) parts.push(`actor ${actorId}`)
  if (session !== undefined) parts.push(`session ${session}`)
  if (since !== undefined) parts.push(`since ${formatTime(since)}`)
  if (until !== undefined) parts.push(`until ${formatTime(until)}`)
  return parts.join(' ')
}
