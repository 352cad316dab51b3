// Resolves points in time to the commits that had been made by then. Pure over the history in RAM.

import { assert, StoreError } from '../../errors.ts'
import type { CommitEntry, VersionEntry } from './history-rows.ts'
import type { History } from './history.ts'
import { getVersionEntry } from './versions.ts'

/** A point in the history, as a caller gives it. */
export type Point =
  /** Ms since 1970. */
  | { readonly time: number }
  /** Right after this version was written, `memver_…`. */
  | { readonly versionId: string }
  /** Right after this commit: 40 hex digits, or at least the first 7. */
  | { readonly commit: string }

/** The commits that had been made by a point, as far as this history knows. */
export interface Moment {
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
 * times: they are included too (FORMAT §6.5). Throws `not_found`, or `invalid_input` for a
 * malformed point.
 */
export function momentOf(history: History, point: Point): Moment {
  if ('time' in point) {
    const found = findByTime(history, point.time)
    if (found.length > 0) return momentAfter(history, found)
    throw new StoreError('not_found', 'Nothing was written by then')
  }
  if ('versionId' in point) {
    return momentAfter(history, [getVersionEntry(history, point.versionId).commit])
  }
  return momentAfter(history, [findByOid(history, point.commit)])
}

/** As `momentOf`; undefined for a time before the first commit, when the store was empty. */
export function findMoment(history: History, point: Point): Moment | undefined {
  if (!('time' in point)) return momentOf(history, point)
  const found = findByTime(history, point.time)
  return found.length === 0 ? undefined : momentAfter(history, found)
}

/** Resolves a point as `momentOf` does; the default is the head. */
export function momentOrNow(history: History, point: Point | undefined): Moment {
  if (point !== undefined) return momentOf(history, point)
  if (history.head !== undefined) return momentAfter(history, [history.head])
  throw new StoreError('not_found', 'The store has no history')
}

/** The moment after these commits, given in ascending order, and all their pasts. */
export function momentAfter(history: History, tips: readonly CommitEntry[]): Moment {
  const commit = tips.at(-1)
  assert(commit !== undefined, 'a moment is after some commit')
  return { commit, tips, has: history.pastOf(...tips) }
}

/** The version of a memory that was current at a moment. */
export function versionAt(
  history: History,
  memoryId: string,
  { commit, has }: Moment,
): VersionEntry | undefined {
  // It descends from all earlier versions, or is the last in order where clones had diverged.
  const newest = commit.position
  return history.newestOf(memoryId, (position) => position <= newest && has(position))
}

function findByTime(history: History, time: number): readonly CommitEntry[] {
  if (!Number.isFinite(time)) throw new StoreError('invalid_input', 'A time must be a number of ms')
  return history.newest((commit) => commit.time <= time)
}

function findByOid({ commits }: History, digits: string): CommitEntry {
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
  if (found[0] === undefined) throw new StoreError('not_found', 'There is no such commit')
  return found[0]
}
