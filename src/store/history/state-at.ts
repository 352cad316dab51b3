// The memories at a point, by their ids: all of them at once, without texts, or one with its text
// and its versions so far. Reads only.

import { StoreError } from '../../errors.ts'
import { formatId, parseId } from '../../format/id.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Page } from '../../page.ts'
import { byAge } from '../snapshot/live-memory.ts'
import { PathTree } from '../snapshot/path-tree.ts'
import { createdOf, writtenOf } from './beginning-entry.ts'
import { type ContentSource, readVersionContent } from './contents.ts'
import type { VersionEntry } from './history-rows.ts'
import type { History } from './history.ts'
import { type Point, type ResolvedPoint, resolvePointOrHead, versionAt } from './points.ts'
import { placedTime } from './record-times.ts'
import { describeVersion, type Version } from './versions.ts'

/** A memory that had been deleted by a point. */
export interface DeletedMemory {
  readonly memoryId: string
  /** Its last one. */
  readonly path: string
  readonly deletedAt: number
}

/** A memory at a point, as a list of ten thousand has it. */
export interface ListedState {
  readonly memoryId: string
  readonly path: string
  readonly sizeBytes: number
  readonly updatedAt: number
}

/** All memories at a point, in no order. */
export interface StateAt {
  /** The newest commit, 40 hex digits, and its time, ms since 1970 (FORMAT §6.5). */
  readonly commit: string
  readonly time: number
  readonly memories: readonly ListedState[]
  /** Only if they were asked for, and their path is not redacted. */
  readonly deleted: readonly DeletedMemory[]
  /** Memories that are not listed: see `PastView`. */
  readonly redacted: number
  readonly displaced: number
}

/** One memory at a point. */
export interface MemoryState {
  readonly memoryId: string
  /** `absent`: it did not exist yet. `displaced`: see `PastView`. */
  readonly state: 'live' | 'deleted' | 'redacted' | 'displaced' | 'absent'
  /** The version of that point. */
  readonly version: Version | undefined
  /** How many versions it had had by then. */
  readonly versions: number
  /** The commits of the versions before and after it, 40 hex digits. */
  readonly before: string | undefined
  readonly after: string | undefined
  /** When the first one was written. */
  readonly createdAt: number
  /** Of the version, or the last one known before it. */
  readonly path: string | undefined
  /** For a memory that was live. */
  readonly content: string | undefined
}

/** A version of a memory, counted from its first one, 1. */
export interface NumberedVersion extends Version {
  readonly number: number
}

export interface MemoryVersionsQuery {
  /** Up to a point of the history; all if left out. */
  readonly at?: Point | undefined
  readonly limit: number
  /** The `nextPage` of the page before. */
  readonly after?: string | undefined
}

/** The newest first. */
export interface MemoryVersions extends Page<NumberedVersion> {
  readonly total: number
}

/** A memory at its path at a point. Does not keep the history in RAM. */
export interface PastMemory {
  readonly memoryId: string
  readonly path: string
  readonly size: number
  readonly sha256: string
  readonly versionId: string
  /** The commit that wrote the version; its id changes if something before it is redacted. */
  readonly commit: { readonly oid: Oid; readonly time: number }
  /** When its first version was written, and this one. */
  readonly created: number
  readonly updated: number
}

export interface MemoriesAt {
  readonly shown: readonly PastMemory[]
  readonly deleted: readonly VersionEntry[]
  readonly redacted: number
  /** The ids, in hex, of those that are not shown because of an older one at their path. */
  readonly displaced: readonly string[]
}

/** Yields after each memory that ever existed. */
export function* memoriesAt(
  history: History,
  resolved: ResolvedPoint,
): Generator<undefined, MemoriesAt> {
  const live: PastMemory[] = []
  const deleted: VersionEntry[] = []
  let redacted = 0
  for (const memoryId of history.memoryIds()) {
    yield
    const entry = versionAt(history, memoryId, resolved)
    if (entry === undefined) continue
    const { path, size, sha256, versionId } = entry
    const { oid } = entry.commit
    const time = writtenOf(history, entry)
    const created = createdOf(history, memoryId) ?? time
    if (entry.operation === 'deleted') deleted.push(entry)
    else if (path === undefined || size === undefined || sha256 === undefined) redacted += 1
    else {
      const commit = { oid, time }
      live.push({ memoryId, path, size, sha256, versionId, commit, created, updated: time })
    }
  }
  // Only where clones had diverged can the paths of two memories conflict.
  if (resolved.tips.length < 2) return { shown: live, deleted, redacted, displaced: [] }
  let paths = PathTree.of<PastMemory>()
  const shown = live.toSorted(byAge).filter((memory) => {
    if (paths.findOccupant(memory.path) !== undefined) return false
    paths = paths.with(memory)
    return true
  })
  const isShown = new Set(shown)
  const displaced = live.filter((memory) => !isShown.has(memory)).map(({ memoryId }) => memoryId)
  return { shown, deleted, redacted, displaced }
}

/** Yields after each memory. Throws as `resolvePoint` does. */
export function* stateAt(
  history: History,
  at: Point | undefined,
  withDeleted: boolean,
): Generator<undefined, StateAt> {
  const resolved = resolvePointOrHead(history, at)
  const { shown, deleted, redacted, displaced } = yield* memoriesAt(history, resolved)
  return {
    commit: resolved.commit.oid,
    time: placedTime(history, resolved.commit),
    memories: shown.map(describeListed),
    deleted: withDeleted ? deleted.flatMap(describeDeleted) : [],
    redacted,
    displaced: displaced.length,
  }
}

/** Throws `not_found` for a memory that never was, and as `resolvePoint` does. */
export function* memoryAt(
  history: History,
  source: ContentSource,
  id: string,
  at: Point | undefined,
): Generator<undefined, MemoryState> {
  const memoryId = getMemoryId(history, id)
  const resolved = resolvePointOrHead(history, at)
  const entries = entriesBy(history, memoryId, resolved)
  const entry = versionAt(history, memoryId, resolved)
  const createdAt = createdOf(history, memoryId) ?? 0
  const path = entry?.path ?? entries.findLast((one) => one.path !== undefined)?.path
  const before = entries.at(-2)?.commit.oid
  const later = history
    .ofMemory(memoryId)
    .find(({ commit: { position } }) => position > resolved.commit.position)
  const after = later?.commit.oid
  const found = { memoryId: id, versions: entries.length, before, after, createdAt, path }
  if (entry === undefined) {
    return { ...found, state: 'absent', version: undefined, content: undefined }
  }
  const version = describeVersion(history, entry)
  if (entry.operation === 'deleted') {
    return { ...found, state: 'deleted', version, content: undefined }
  }
  const diverged = resolved.tips.length > 1
  if (diverged && (yield* memoriesAt(history, resolved)).displaced.includes(memoryId)) {
    return { ...found, state: 'displaced', version, content: undefined }
  }
  const content = readVersionContent(source, entry)
  return { ...found, state: content === undefined ? 'redacted' : 'live', version, content }
}

/** Throws `not_found`, `invalid_input` for a cursor of another query, and as `resolvePoint`. */
export function versionsOf(
  history: History,
  id: string,
  { at, limit, after }: MemoryVersionsQuery,
): MemoryVersions {
  const entries = entriesBy(history, getMemoryId(history, id), resolvePointOrHead(history, at))
  const last = after === undefined ? undefined : parseId('version', after)
  const end = entries.findIndex(({ versionId }) => versionId === last)
  if (last !== undefined && end === -1) {
    throw new StoreError('invalid_input', 'The cursor belongs to another query')
  }
  const stop = last === undefined ? entries.length : end
  const start = Math.max(0, stop - limit)
  const data = entries.slice(start, stop).map((entry, index) => {
    return Object.assign(describeVersion(history, entry), { number: start + index + 1 })
  })
  const nextPage = start > 0 ? data[0]?.versionId : undefined
  return { data: data.toReversed(), nextPage, total: entries.length }
}

function describeListed({ memoryId, path, size, commit }: PastMemory): ListedState {
  const updatedAt = commit.time
  return { memoryId: formatId('memory', memoryId), path, sizeBytes: size, updatedAt }
}

function describeDeleted({ memoryId, path, commit }: VersionEntry): readonly DeletedMemory[] {
  if (path === undefined) return []
  return [{ memoryId: formatId('memory', memoryId), path, deletedAt: commit.time }]
}

/** The versions of a memory by a point, oldest first. */
function entriesBy(
  history: History,
  memoryId: string,
  { commit, has }: ResolvedPoint,
): readonly VersionEntry[] {
  return history.ofMemory(memoryId).filter(({ commit: { position } }) => {
    return position <= commit.position && has(position)
  })
}

function getMemoryId(history: History, id: string): string {
  const memoryId = parseId('memory', id)
  if (history.firstOf(memoryId) !== undefined) return memoryId
  throw new StoreError('not_found', 'There is no such memory')
}
