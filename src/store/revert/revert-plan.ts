// Turns the goals of a revert into a plan: drops goals that are already reached, leaves memories
// alone whose path is taken, and reads texts last. The goals come from restore.ts and undo.ts.

import type { DoubtfulTimes } from '../../errors.ts'
import type { Operation } from '../../format/change-record.ts'
import { formatId } from '../../format/id.ts'
import { parentPaths } from '../../format/path.ts'
import { inSlices } from '../../time-slice.ts'
import { checkRowCount } from '../changes/change-refusals.ts'
import type { StateChange } from '../changes/changes.ts'
import type { TextState } from '../history/history-diff.ts'
import type { CommitEntry, VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import { memoriesBelow, type PathTree } from '../snapshot/path-tree.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

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
  /** The clock here, ms since 1970. */
  readonly now: number
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
  /** Set by `withDoubt`. */
  readonly doubtful?: DoubtfulTimes | undefined
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

/** The new path of a memory; undefined to delete it. */
interface Destination {
  readonly memoryId: string
  readonly path: string | undefined
}

/**
 * The ids of the memories that cannot move: a path is taken by a memory at, above or below it that
 * does not move away itself, and of two memories with overlapping destinations neither moves.
 * Yields for each memory.
 */
function* findBlocked(
  snapshot: Snapshot,
  destinations: readonly Destination[],
): Generator<undefined, ReadonlySet<string>> {
  const livePathOf = (memoryId: string): string | undefined => {
    return snapshot.current.get(memoryId)?.live?.path
  }
  const moves = destinations.filter(({ memoryId, path }) => path !== livePathOf(memoryId))
  const moving = new Set(moves.map(({ memoryId }) => memoryId))
  const claims = yield* Claims.of(moves)
  const blocked = new Set<string>()
  /** A memory that is left alone blocks those whose destinations overlap its path, and so on. */
  const block = (first: string): void => {
    const pending = [first]
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const path = livePathOf(next)
      const isNew = !blocked.has(next)
      blocked.add(next)
      if (isNew && path !== undefined) pending.push(...claims.overlapping(path))
    }
  }
  for (const { memoryId, path } of moves) {
    yield
    if (path !== undefined && isTaken(snapshot.paths, path, moving)) block(memoryId)
  }
  for (const { memoryId, path } of moves) {
    yield
    if (path === undefined || blocked.has(memoryId)) continue
    const rivals = claims.overlapping(path).filter((rival) => !blocked.has(rival))
    // The memory itself is one of them.
    if (rivals.length > 1) for (const rival of rivals) block(rival)
  }
  return blocked
}

/** Whether a memory that does not move is at, above or below a path. */
function isTaken(paths: PathTree, path: string, moving: ReadonlySet<string>): boolean {
  for (const above of [...parentPaths(path), path]) {
    const memory = paths.findMemory(above)
    if (memory !== undefined && !moving.has(memory.memoryId)) return true
  }
  const node = paths.find(path)
  if (node === undefined) return false
  for (const memory of memoriesBelow(node)) if (!moving.has(memory.memoryId)) return true
  return false
}

/** Memories by their destinations, and by the directories above these. */
class Claims {
  readonly #at: Map<string, string[]> = new Map()
  readonly #below: Map<string, string[]> = new Map();

  static *of(destinations: readonly Destination[]): Generator<undefined, Claims> {
    const claims = new Claims()
    for (const { memoryId, path } of destinations) {
      yield
      if (path === undefined) continue
      add(claims.#at, path, memoryId)
      for (const above of parentPaths(path)) add(claims.#below, above, memoryId)
    }
    return claims
  }

  /** The memories with a destination at, above or below this path. */
  overlapping(path: string): readonly string[] {
    const found = [...parentPaths(path), path].flatMap((above) => this.#at.get(above) ?? [])
    return [...found, ...(this.#below.get(path) ?? [])]
  }
}

function add(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}
