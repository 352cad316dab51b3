// The history between runs: sealed segments, each a run of consecutive commits. What is missing or
// does not fit is read from git again: the files may vanish at any time, and a redaction removes
// them.

import { pause } from '../../async.ts'
import type { History } from '../history/history.ts'
import { appendSegment, segmentEncoder } from './history-segment.ts'
import {
  type CacheOwner,
  type CachePlace,
  findCacheBytes,
  writeCacheBytes,
} from './sealed-cache.ts'

/** With fewer new commits or rows than this, reading them from git again is cheaper than a file. */
const WORTH_WRITING = 256
/** Rows of a few large commits: so many for each that the last segment has, which is rewritten. */
const ROWS_GROWTH = 0.5
/**
 * Commits of a whole segment, the work of one turn of the event loop: with a row each they nearly
 * fill the padded size of 192 KiB. The last segment may have fewer and is rewritten when it grows.
 */
const SEGMENT = 1500
/** This many new commits are written even while the history is in use. */
const OVERDUE = 4096
const PREFIX = 'versions-'

/** Appends every segment that continues `history`, which must be empty or whole segments. */
export async function readHistory(
  owner: CacheOwner,
  directory: string,
  history: History,
  signal?: AbortSignal,
): Promise<void> {
  for (const start of segmentStarts(owner, directory)) {
    if (start !== history.commits.length) return
    await pause(signal)
    const append = (padded: Uint8Array): boolean => appendSegment(history, padded)
    if (findCacheBytes(owner, placeOf(directory, start), append) !== true) return
    history.cachedCommits = history.commits.length
  }
}

/** Whether segments are out of date, or enough commits are in none of them. */
export function isWorthWriting(history: History): boolean {
  // It still holds what a redaction has erased.
  if (history.isSuperseded) return false
  if (history.cacheIsStale) return true
  if (history.commits.length - history.cachedCommits >= WORTH_WRITING) return true
  const { cachedCommits: cached } = history
  const written = rowsBefore(history, cached)
  const last = written - rowsBefore(history, cached - (cached % SEGMENT))
  const added = history.versions.length - written
  return added >= Math.max(WORTH_WRITING, ROWS_GROWTH * last)
}

function rowsBefore(history: History, position: number): number {
  if (position >= history.commits.length) return history.versions.length
  return history.rangeAt(position)[0]
}

/** Whether very many commits are in no segment. */
export function isOverdue(history: History): boolean {
  return !history.isSuperseded && history.commits.length - history.cachedCommits >= OVERDUE
}

/** Writes the commits that no segment holds, if that is worthwhile. */
export async function writeHistory(
  owner: CacheOwner,
  directory: string,
  history: History,
): Promise<void> {
  if (!isWorthWriting(history)) return
  const present = new Set(segmentStarts(owner, directory))
  const first = firstToWrite(history, present)
  for (const start of present) {
    if (start >= first) owner.disk.remove(placeOf(directory, start).path)
  }
  history.cachedCommits = first
  history.cacheIsStale = false
  const encodeUpTo = segmentEncoder(history, first)
  for (let start = first; start < history.commits.length; start += SEGMENT) {
    const end = Math.min(start + SEGMENT, history.commits.length)
    const bytes = encodeUpTo(end)
    // Set before the file exists, so that a change meanwhile lowers it; a missing file is noticed.
    history.cachedCommits = end
    await writeCacheBytes(owner, placeOf(directory, start), bytes)
    if (history.cacheIsStale) return
  }
}

/** The start of the first segment that is missing, incomplete or out of date. */
function firstToWrite(history: History, present: ReadonlySet<number>): number {
  let start = 0
  while (start + SEGMENT <= history.cachedCommits && present.has(start)) start += SEGMENT
  return start
}

function segmentStarts(owner: CacheOwner, directory: string): readonly number[] {
  return owner.disk
    .list(directory)
    .filter((name) => /^versions-\d+$/.test(name))
    .map((name) => Number(name.slice(PREFIX.length)))
    .toSorted((a, b) => a - b)
}

function placeOf(directory: string, start: number): CachePlace {
  return { path: `${directory}/${PREFIX}${start}`, role: 'versions', generation: start }
}
