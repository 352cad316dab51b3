// Resolves points in time to the commits that had been made by then, and to positions, which are
// counted from 1 in the order of the history. Pure over the history in RAM.

import { assert, StoreError } from '../../errors.ts'
import { beforeBeginning } from './beginning-entry.ts'
import type { CommitEntry, VersionEntry } from './history-rows.ts'
import type { History } from './history.ts'
import { placedTime, stampedBy } from './record-times.ts'
import { getVersionEntry } from './versions.ts'

/** A point in the history, as a caller gives it. */
export type Point =
  /** Ms since 1970. */
  | { readonly time: number }
  /**
   * Ms since 1970, of the times that records state themselves: after all records that are stamped
   * no later, without those that have one stamped later in their past.
   */
  | { readonly stampedTime: number }
  /** Right after this version was written, `memver_…`. */
  | { readonly versionId: string }
  /** Right after this commit: 40 hex digits, or at least the first 7. */
  | { readonly commit: string }

/** A point of the history, or the position of a commit. */
export type PointOrPosition = Point | { readonly position: number }

export interface Position {
  /** The newest commit, 40 hex digits. */
  readonly commit: string
  /** Of that commit, counted from 1, and the number of all commits. */
  readonly position: number
  readonly commits: number
  /** Ms since 1970 (FORMAT §6.5). */
  readonly time: number
}

/** Successive commits. */
export interface CommitRange {
  /** The position of its first one. */
  readonly first: number
  readonly commits: number
  /** The times of its first and of its last one. */
  readonly from: number
  readonly to: number
  /** The session, or else the actor, of its last one. */
  readonly writer: string | undefined
  readonly merges: number
  readonly redactions: number
}

/** The commits that had been made by a point, as far as this history knows. */
export interface ResolvedPoint {
  /** The last of them in the order of the history; not the only tip where clones had diverged. */
  readonly commit: CommitEntry
  /** Those that are in the past of no other, in ascending order. */
  readonly tips: readonly CommitEntry[]
  /** Whether the commit at a position of the history is one of them. */
  readonly has: (position: number) => boolean
}

/**
 * Resolves a point to the past of a commit, that commit included. A time resolves to the pasts of
 * all commits whose record is not later. Clocks differ and leap, so those pasts may contain later
 * times: they are included too (FORMAT §6.5), and doubtful-times.ts counts them. Throws
 * `not_found`, or `invalid_input` for a malformed point.
 */
export function resolvePoint(history: History, point: Point): ResolvedPoint {
  const byTime = findByEitherTime(history, point)
  if (byTime !== undefined) {
    if (byTime.length > 0) return pointAfter(history, byTime)
    throw new StoreError('not_found', 'Nothing was written by then')
  }
  if ('versionId' in point) {
    return pointAfter(history, [getVersionEntry(history, point.versionId).commit])
  }
  assert('commit' in point, 'a point is a time, a version or a commit')
  return pointAfter(history, [findByOid(history, point.commit)])
}

/** As `resolvePoint`; undefined for a time before the first commit, when the store was empty. */
export function findPoint(history: History, point: Point): ResolvedPoint | undefined {
  const byTime = findByEitherTime(history, point)
  if (byTime === undefined) return resolvePoint(history, point)
  return byTime.length === 0 ? undefined : pointAfter(history, byTime)
}

/** Resolves a point as `resolvePoint` does; the default is the head. */
export function resolvePointOrHead(history: History, point: Point | undefined): ResolvedPoint {
  if (point !== undefined) return resolvePoint(history, point)
  if (history.head !== undefined) return pointAfter(history, [history.head])
  throw new StoreError('not_found', 'The store has no history')
}

/** The point after these commits, given in ascending order, and all their pasts. */
export function pointAfter(history: History, tips: readonly CommitEntry[]): ResolvedPoint {
  const commit = tips.at(-1)
  assert(commit !== undefined, 'a point is after some commit')
  return { commit, tips, has: history.pastOf(...tips) }
}

/** The version of a memory that was current at a point. */
export function versionAt(
  history: History,
  memoryId: string,
  { commit, has }: ResolvedPoint,
): VersionEntry | undefined {
  // It descends from all earlier versions, or is the last in order where clones had diverged.
  const newest = commit.position
  return history.newestOf(memoryId, (position) => position <= newest && has(position))
}

/** Throws `not_found` for a position without a commit, and as `resolvePoint` does. */
export function placeOf(history: History, point: PointOrPosition): Position {
  const entry =
    'position' in point ? commitAt(history, point.position) : resolvePoint(history, point).commit
  return {
    commit: entry.oid,
    position: entry.position + 1,
    commits: history.commits.length,
    time: placedTime(history, entry),
  }
}

/** Splits the history into at most `most` ranges of about equal length. Throws `invalid_input`. */
export function* rangesOf(
  history: History,
  most: number,
): Generator<undefined, readonly CommitRange[]> {
  if (!Number.isInteger(most) || most < 1) {
    throw new StoreError('invalid_input', 'The number of ranges must be 1 or more')
  }
  const { length } = history.commits
  const count = Math.min(most, length)
  const starts = Array.from({ length: count + 1 }, (_, n) => Math.floor((n * length) / count))
  const ranges: CommitRange[] = []
  for (const [index, start] of starts.slice(0, -1).entries()) {
    const end = starts[index + 1] ?? length
    ranges.push(yield* rangeBetween(history, start, end))
  }
  return ranges
}

function* rangeBetween(
  history: History,
  start: number,
  end: number,
): Generator<undefined, CommitRange> {
  let [merges, redactions] = [0, 0]
  for (let position = start; position < end; position += 1) {
    if (history.isMerge({ position })) merges += 1
    if (history.commits.at(position)?.kind === 'redact') redactions += 1
    yield
  }
  const { session, actor } = history.commits.at(end - 1) ?? {}
  const [from, to] = [history.timeAt(start), history.timeAt(end - 1)]
  const commits = end - start
  return { first: start + 1, commits, from, to, writer: session ?? actor?.id, merges, redactions }
}

function commitAt({ commits }: History, position: number): CommitEntry {
  const isPlace = Number.isInteger(position) && position >= 1
  const found = isPlace ? commits.at(position - 1) : undefined
  if (found !== undefined) return found
  throw new StoreError('not_found', `The history has ${commits.length} commits`)
}

/** The last commits by a time; undefined for another kind of point. */
function findByEitherTime(history: History, point: Point): readonly CommitEntry[] | undefined {
  if ('time' in point) {
    const { time } = point
    return findNewest(history, time, (commit) => commit.time <= time)
  }
  if (!('stampedTime' in point)) return undefined
  const { stampedTime } = point
  const isIn = stampedBy(history, stampedTime)
  return findNewest(history, stampedTime, ({ position }) => isIn(position))
}

function findNewest(
  history: History,
  time: number,
  holds: (commit: CommitEntry) => boolean,
): readonly CommitEntry[] {
  if (!Number.isFinite(time)) throw new StoreError('invalid_input', 'A time must be a number of ms')
  const found = history.newest(holds)
  if (found.some(({ position }) => history.isBeginning(position))) throw beforeBeginning()
  return found
}

function findByOid({ commits, beginning }: History, digits: string): CommitEntry {
  if (!/^[0-9a-f]{7,40}$/.test(digits)) {
    throw new StoreError(
      'invalid_input',
      'A commit is named by 40 hex digits, or 7 or more of them',
    )
  }
  const found: CommitEntry[] = []
  for (const commit of commits) if (commit.oid.startsWith(digits)) found.push(commit)
  if (found.length > 1) {
    throw new StoreError(
      'invalid_input',
      `${found.length} commits begin with these digits; give more digits`,
    )
  }
  if (found[0] !== undefined) return found[0]
  if (beginning !== undefined) throw beforeBeginning()
  throw new StoreError('not_found', 'There is no such commit')
}
