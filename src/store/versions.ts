// Questions about the past: versions by memory, path, actor, session, operation and time, newest
// first, in pages. Pure over the history in RAM.

import { StoreError } from '../errors.ts'
import { formatId, parseId } from '../format/id.ts'
import type { Actor, Operation } from '../format/record.ts'
import type { CommitEntry, History, VersionEntry } from './history.ts'

/** One version row (Memory Stores API, "memory version"). Times are ms since 1970. */
export interface Version {
  readonly versionId: string
  readonly memoryId: string
  readonly operation: Operation
  /** Undefined once redacted, and only then. */
  readonly path: string | undefined
  /** Undefined for a deletion and once redacted. */
  readonly sha256: string | undefined
  readonly sizeBytes: number | undefined
  readonly createdAt: number
  readonly createdBy: Actor | undefined
  readonly session: string | undefined
  readonly deviceId: string
  /** The version that this one replaced, if any. */
  readonly baseVersionId: string | undefined
  /** The reason that its change was given, if any. */
  readonly reason: string | undefined
  /** The git commit, 40 hex digits. */
  readonly commit: string
  readonly redactedAt: number | undefined
  readonly redactedBy: Actor | undefined
}

/** All given conditions must hold. */
export interface VersionFilter {
  readonly memoryId?: string | undefined
  /** Versions at this path, or below it if it was a directory. */
  readonly path?: string | undefined
  readonly actorId?: string | undefined
  readonly session?: string | undefined
  readonly operation?: Operation | undefined
  /** Inclusive, ms since 1970. */
  readonly since?: number | undefined
  readonly until?: number | undefined
  /** 1 to 1,000; 100 if left out. */
  readonly limit?: number | undefined
  /** The cursor that the page before gave. */
  readonly after?: string | undefined
}

export interface VersionPage {
  /** Newest first. */
  readonly versions: readonly Version[]
  /** Give it as `after` to go on; undefined at the end. */
  readonly next: string | undefined
}

const PAGE_DEFAULT = 100
const PAGE_MAX = 1000

export function findVersions(history: History, filter: VersionFilter): VersionPage {
  const limit = checkLimit(filter.limit)
  const candidates = candidatesFor(history, filter)
  const found: VersionEntry[] = []
  for (let index = startOf(history, candidates, filter.after); index >= 0; index -= 1) {
    const entry = candidates[index]
    if (entry === undefined || !matches(entry, filter)) continue
    if (found.length === limit) return pageOf(history, found, true)
    found.push(entry)
  }
  return pageOf(history, found, false)
}

export function describeVersion(history: History, entry: VersionEntry): Version {
  const { commit } = entry
  const redaction = history.findRedaction(entry.versionId)
  return {
    versionId: formatId('version', entry.versionId),
    memoryId: formatId('memory', entry.memoryId),
    operation: entry.operation,
    path: entry.path,
    sha256: entry.sha256,
    sizeBytes: entry.size,
    createdAt: commit.time,
    createdBy: commit.actor,
    session: commit.session,
    deviceId: formatId('device', commit.deviceId),
    baseVersionId: /^0+$/.test(entry.base) ? undefined : formatId('version', entry.base),
    reason: commit.note,
    commit: commit.oid,
    redactedAt: redaction?.time,
    redactedBy: redaction?.actor,
  }
}

export function getVersionEntry(history: History, versionId: string): VersionEntry {
  const entry = history.find(parseId('version', versionId))
  if (entry === undefined) throw new StoreError('not_found', 'There is no such version')
  return entry
}

/** Oldest first, the narrowest list that holds every match. */
function candidatesFor(history: History, filter: VersionFilter): readonly VersionEntry[] {
  if (filter.memoryId === undefined) return history.versions
  return history.ofMemory(parseId('memory', filter.memoryId))
}

function matches(entry: VersionEntry, filter: VersionFilter): boolean {
  const { commit } = entry
  return (
    (filter.operation === undefined || entry.operation === filter.operation) &&
    (filter.path === undefined || isAtOrBelow(entry.path, filter.path)) &&
    (filter.since === undefined || commit.time >= filter.since) &&
    (filter.until === undefined || commit.time <= filter.until) &&
    wroteIt(commit, filter)
  )
}

function wroteIt(commit: CommitEntry, filter: VersionFilter): boolean {
  if (filter.actorId !== undefined && commit.actor?.id !== filter.actorId) return false
  return filter.session === undefined || commit.session === filter.session
}

function isAtOrBelow(path: string | undefined, at: string): boolean {
  if (path === undefined) return false
  return at === '/' || path === at || path.startsWith(`${at}/`)
}

function startOf(
  history: History,
  candidates: readonly VersionEntry[],
  after: string | undefined,
): number {
  if (after === undefined) return candidates.length - 1
  const last = history.find(parseId('version', after))
  const index = last === undefined ? -1 : candidates.lastIndexOf(last)
  if (index === -1) throw new StoreError('invalid_input', 'The cursor belongs to another query')
  return index - 1
}

function pageOf(history: History, found: readonly VersionEntry[], more: boolean): VersionPage {
  const versions = found.map((entry) => describeVersion(history, entry))
  return { versions, next: more ? versions.at(-1)?.versionId : undefined }
}

function checkLimit(limit: number | undefined): number {
  if (limit === undefined) return PAGE_DEFAULT
  if (Number.isInteger(limit) && limit >= 1 && limit <= PAGE_MAX) return limit
  throw new StoreError('invalid_input', `The limit must be an integer from 1 to ${PAGE_MAX}`)
}
