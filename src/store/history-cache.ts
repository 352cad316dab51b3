// The history between runs: sealed segments, each a run of consecutive commits, appended to and
// never changed. What is missing or does not fit is left out and read from git again.

import type { CommitEntry, History, VersionEntry } from './history.ts'
import { findCache, writeCache } from './sealed-cache.ts'
import type { CacheOwner, CachePlace } from './sealed-cache.ts'

/** Fewer new commits than this are cheaper to read from git again than to keep a file for. */
const SEGMENT_MIN = 256
const SEGMENT_MAX = 8192
const PREFIX = 'versions-'

type Row = Omit<VersionEntry, 'commit'>

interface SegmentFile {
  readonly version: 1
  /** The commit before the first; empty at genesis. */
  readonly after: string
  readonly commits: readonly { readonly commit: CommitEntry; readonly rows: readonly Row[] }[]
}

/** Appends every segment that continues what `history` has. */
export function readHistory(owner: CacheOwner, directory: string, history: History): void {
  for (const start of segmentStarts(owner, directory)) {
    if (start !== history.commits.length) return
    const file = findCache<SegmentFile>(owner, placeOf(directory, start), 1)
    if (file === undefined || file.after !== (history.head?.oid ?? '')) return
    for (const { commit, rows } of file.commits) history.append(commit, rows)
    history.cachedCommits = history.commits.length
  }
}

/** Whether there is enough that no segment holds yet. */
export function isWorthWriting(history: History): boolean {
  return history.commits.length - history.cachedCommits >= SEGMENT_MIN
}

/** Writes what no segment holds yet, if it is worth a file. */
export async function writeHistory(
  owner: CacheOwner,
  directory: string,
  history: History,
): Promise<void> {
  for (const stale of segmentStarts(owner, directory)) {
    if (stale >= history.cachedCommits) owner.disk.remove(placeOf(directory, stale).path)
  }
  while (isWorthWriting(history)) {
    const start = history.cachedCommits
    const commits = history.commits.slice(start, start + SEGMENT_MAX)
    const rows = rowsOf(history, commits)
    const file: SegmentFile = {
      version: 1,
      after: history.commits[start - 1]?.oid ?? '',
      commits: commits.map((commit) => ({ commit, rows: rows.get(commit) ?? [] })),
    }
    await writeCache(owner, placeOf(directory, start), file)
    history.cachedCommits += commits.length
  }
}

function rowsOf(history: History, commits: readonly CommitEntry[]): Map<CommitEntry, Row[]> {
  const rows = new Map<CommitEntry, Row[]>(commits.map((commit) => [commit, []]))
  for (const { commit, ...row } of history.versions) rows.get(commit)?.push(row)
  return rows
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
