// The moments of a history as a line: each commit has a position, counted from 1 in the order of
// the history, and a time. Pure.

import { StoreError } from '../../errors.ts'
import type { CommitEntry } from './history-rows.ts'
import type { History } from './history.ts'
import { momentOf, type Point } from './points.ts'
import { placedTime } from './record-times.ts'

/** A point of the history, or the position of a commit. */
export type PlacedPoint = Point | { readonly position: number }

export interface PlacedMoment {
  /** The newest commit, 40 hex digits. */
  readonly commit: string
  /** Of that commit, counted from 1, and of how many. */
  readonly position: number
  readonly commits: number
  /** Ms since 1970 (FORMAT §6.5). */
  readonly time: number
}

/** A number of successive commits. */
export interface Stretch {
  /** The position of its first one. */
  readonly first: number
  readonly commits: number
  /** The times of its first and of its last one. */
  readonly from: number
  readonly to: number
}

/** Throws `not_found` for a position that there is not, and as `momentOf` does. */
export function placeOf(history: History, point: PlacedPoint): PlacedMoment {
  const entry = 'position' in point ? commitAt(history, point.position) : commitOf(history, point)
  return {
    commit: entry.oid,
    position: entry.position + 1,
    commits: history.commits.length,
    time: placedTime(history, entry),
  }
}

/** At most so many stretches, all of about as many commits. Throws `invalid_input`. */
export function stretchesOf(history: History, most: number): readonly Stretch[] {
  if (!Number.isInteger(most) || most < 1) {
    throw new StoreError('invalid_input', 'The number of stretches must be 1 or more')
  }
  const { length } = history.commits
  const count = Math.min(most, length)
  const starts = Array.from({ length: count + 1 }, (_, n) => Math.floor((n * length) / count))
  return starts.slice(0, -1).map((start, index) => {
    const end = starts[index + 1] ?? length
    const [from, to] = [history.timeAt(start), history.timeAt(end - 1)]
    return { first: start + 1, commits: end - start, from, to }
  })
}

function commitOf(history: History, point: Point): CommitEntry {
  return momentOf(history, point).commit
}

function commitAt({ commits }: History, position: number): CommitEntry {
  const isPlace = Number.isInteger(position) && position >= 1
  const found = isPlace ? commits.at(position - 1) : undefined
  if (found !== undefined) return found
  throw new StoreError('not_found', `The history has ${commits.length} commits`)
}
