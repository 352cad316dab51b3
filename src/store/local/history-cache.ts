// The history between runs: sealed segments, each a run of consecutive commits. What is missing or
// does not fit is left out and read from git again: the files may vanish at any time, and do so
// when a redaction erases what they hold.

import { pause } from '../../async.ts'
import type { History } from '../history/history.ts'
import { appendSegment, encodeSegment } from './history-segment.ts'
import {
  type CacheOwner,
  type CachePlace,
  findCacheBytes,
  writeCacheBytes,
} from './sealed-cache.ts'

/** Fewer new commits than this are cheaper to read from git again than to write a file for. */
const WORTH_WRITING = 256
/**
 * Commits of a whole segment: so many are a turn's work. The last one may have fewer, and is
 * written anew when it grows.
 */
const SEGMENT = 1024
/** So many should not wait until nobody asks any more. */
const OVERDUE = 4096
const PREFIX = 'versions-'

/** Appends every segment that continues what `history` has, which is whole segments or nothing. */
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

/** Whether segments are out of date, or there is enough that none of them holds yet. */
export function isWorthWriting(history: History): boolean {
  // It still says what was erased.
  if (history.isSuperseded) return false
  if (history.cacheIsStale) return true
  return history.commits.length - history.cachedCommits >= WORTH_WRITING
}

/** Whether much is in no segment. */
export function isOverdue(history: History): boolean {
  return !history.isSuperseded && history.commits.length - history.cachedCommits >= OVERDUE
}

/** Writes what no segment holds as it is, if it is worth that. */
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
  for (let start = first; start < history.commits.length; start += SEGMENT) {
    const end = Math.min(start + SEGMENT, history.commits.length)
    const bytes = encodeSegment(history, start, end)
    // Before the file is there, so that a change meanwhile counts; a file that is missing is seen.
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
