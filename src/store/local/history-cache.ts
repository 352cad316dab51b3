// The history between runs: sealed segments, each a run of consecutive commits with the tables as
// they are in RAM, so that nothing is decoded commit by commit. A segment that is missing, does not
// fit or is of another release is read from git again: the files may vanish at any time, and a
// redaction removes them.

import { pause } from '../../async.ts'
import { ByteReader, ByteWriter, utf8, utf8Text } from '../../bytes.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { HistoryRun } from '../history/history-table.ts'
import type { History } from '../history/history.ts'
import {
  type CacheOwner,
  type CachePlace,
  findCacheBytes,
  otherRelease,
  writeCacheBytes,
} from './sealed-cache.ts'

/** With fewer new commits or rows than this, reading them from git again is cheaper than a file. */
const WORTH_WRITING = 256
/** Rows of a few large commits, per row of the last segment, which is rewritten. */
const ROWS_GROWTH = 0.5
/**
 * Commits of a whole segment, the work of one turn of the event loop: with a row each they nearly
 * fill the padded size of 192 KiB. The last segment may have fewer and is rewritten when it grows.
 */
const SEGMENT = 1500
/** This many new commits are written even while the history is in use. */
const OVERDUE = 4096
const PREFIX = 'versions-'

// u8 version ‖ u32 length and JSON of the header ‖ five tables, each u32 length ‖ rows.
const VERSION = 6

interface SegmentHeader extends Pick<HistoryRun, 'texts' | 'parents'> {
  /** The tips before the first commit: equal tips have an equal past. */
  readonly tips: readonly Oid[]
}

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
  // It still holds what a redaction has erased, or it has no beginning.
  if (history.isSuperseded || history.beginning !== undefined) return false
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
  return isWorthWriting(history) && history.commits.length - history.cachedCommits >= OVERDUE
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
    // Set before the file exists, so that a change in the meantime lowers it; a missing file is
    // noticed.
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

/** Encodes runs of commits: the first one from `start` on, each up to the given end. */
export function segmentEncoder(history: History, start: number): (end: number) => Uint8Array {
  const copy = history.copier(start)
  let from = start
  return (end) => {
    const { texts, parents, ...tables } = copy(end)
    const header: SegmentHeader = { tips: tipsBefore(history, from), texts, parents }
    from = end
    const { commits, rows, redacted, versionIds, memoryIds } = tables
    const json = utf8(JSON.stringify(header))
    const writer = new ByteWriter().u8(VERSION)
    for (const part of [json, commits, rows, redacted, versionIds, memoryIds])
      writer.u32(part.length).raw(part)
    return writer.bytes()
  }
}

/**
 * Appends a segment to the history that it continues; false if it continues another one. Throws
 * `upgrade_required` for another release's file.
 */
export function appendSegment(history: History, padded: Uint8Array): boolean {
  const reader = new ByteReader(padded, otherRelease)
  if (reader.u8() !== VERSION) throw otherRelease()
  const part = (): Uint8Array => reader.view(reader.u32())
  // Authenticated as this device's: with this version it has the shape that we write.
  const { tips, ...rest }: SegmentHeader = JSON.parse(utf8Text(part()))
  if (tips.join() !== tipsBefore(history, history.commits.length).join()) return false
  const tables = { commits: part(), rows: part(), redacted: part() }
  return history.appendRun({ ...rest, ...tables, versionIds: part(), memoryIds: part() })
}

function tipsBefore(history: History, position: number): readonly Oid[] {
  return history.tipsBefore(position).map(({ oid }) => oid)
}
