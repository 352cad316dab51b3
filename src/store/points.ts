// Moments of the history, and the commit that each of them names. Pure over the history in RAM.

import { StoreError } from '../errors.ts'
import type { CommitEntry, History } from './history.ts'
import { getVersionEntry } from './versions.ts'

/** A moment in the history. */
export type Point =
  /** As it was then, ms since 1970. */
  | { readonly time: number }
  /** Right after this version was written, `memver_…`. */
  | { readonly versionId: string }
  /** Right after this commit: 40 hex digits, or at least the first 7. */
  | { readonly commit: string }

/**
 * The height of the commit that a point names. For a time that is the newest commit whose record is
 * not younger, searched from the head back: clocks of devices differ, so times need not ascend.
 * Throws `not_found`, or `invalid_input` for what is no point.
 */
export function heightOf(history: History, point: Point): number {
  if ('time' in point) return findByTime(history, point.time).height
  if ('versionId' in point) return getVersionEntry(history, point.versionId).commit.height
  return findByOid(history, point.commit).height
}

/** The commit at the height that a point names; the head for no point. */
export function commitAt(history: History, point: Point | undefined): CommitEntry {
  const height = point === undefined ? history.commits.length - 1 : heightOf(history, point)
  const commit = history.commits[height]
  if (commit === undefined) throw new StoreError('not_found', 'The store has no history')
  return commit
}

function findByTime({ commits }: History, time: number): CommitEntry {
  if (!Number.isFinite(time)) throw new StoreError('invalid_input', 'A time must be a number of ms')
  const found = commits.findLast((commit) => commit.time <= time)
  if (found === undefined) throw new StoreError('not_found', 'Nothing was written by then')
  return found
}

function findByOid({ commits }: History, digits: string): CommitEntry {
  if (!/^[0-9a-f]{7,40}$/.test(digits)) {
    throw new StoreError(
      'invalid_input',
      'A commit is named by 40 hex digits, or 7 or more of them',
    )
  }
  const found = commits.filter(({ oid }) => oid.startsWith(digits))
  if (found.length > 1) {
    throw new StoreError('invalid_input', `${found.length} commits begin so; give more digits`)
  }
  if (found[0] === undefined) throw new StoreError('not_found', 'There is no such commit')
  return found[0]
}
