// Queries for versions by memory, path, actor, session, operation and time, newest first, in pages.
// Reads the history in RAM, and contents from git.

import { StoreError } from '../../errors.ts'
import type { Actor, ActorType, Operation } from '../../format/change-record.ts'
import { formatId, parseId } from '../../format/id.ts'
import { isAtOrBelow } from '../../format/path.ts'
import { zeroId } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import { type Page, type PageQuery, pageSizeOf } from '../../page.ts'
import { atOnce } from '../../time-slice.ts'
import { countLeading } from '../commits/count-leading.ts'
import { beforeBeginning } from './beginning-entry.ts'
import { type ContentSource, readVersionContent } from './contents.ts'
import type { CommitEntry, VersionEntry } from './history-rows.ts'
import type { History } from './history.ts'
import { findPlacedTime, mayLieBetween } from './record-times.ts'
import { mergedInputsOf, pathBeforeMove } from './version-inputs.ts'

/** One version row (Memory Stores API, "memory version"). Times are ms since 1970. */
export interface Version {
  readonly versionId: string
  readonly memoryId: string
  readonly operation: Operation
  /** Undefined once redacted, and only then. */
  readonly path: string | undefined
  /** The path of the version before, if this one moved the memory and neither is redacted. */
  readonly movedFrom: string | undefined
  /** Undefined for a deletion and once redacted. */
  readonly sha256: string | undefined
  readonly sizeBytes: number | undefined
  /** By the clock of the device. */
  readonly createdAt: number
  /**
   * Set if a later change has a time over 24 hours earlier: then `createdAt` is doubtful, and this
   * is the earliest such time, which `at` uses.
   */
  readonly placedAt: number | undefined
  readonly createdBy: Actor | undefined
  readonly session: string | undefined
  readonly deviceId: string
  /** The version that this one replaced, if any; the first one for a merge. */
  readonly baseVersionId: string | undefined
  /**
   * The versions that a merge of clones combined: those of both sides, and those of another memory
   * with the same path that was joined into this one. Empty for all others.
   */
  readonly mergedFrom: readonly string[]
  /** The reason given with its change, if any. */
  readonly reason: string | undefined
  /** The git commit, 40 hex digits. */
  readonly commit: string
  readonly redactedAt: number | undefined
  readonly redactedBy: Actor | undefined
  /** Only with the view `full`; undefined for a deletion and once redacted. */
  readonly content?: string | undefined
}

/** A version with its content: undefined for a deletion and once redacted. */
export interface FullVersion extends Version {
  readonly content: string | undefined
}

/** A version with the versions that a merge combined in it, in the order of `mergedFrom`. */
export interface VersionWithInputs extends FullVersion {
  readonly inputs: readonly FullVersion[]
}

/** All given conditions must hold (Memory Stores API §7). */
export interface VersionFilter extends PageQuery {
  /** `mem_…`, also of a deleted memory. */
  readonly memoryId?: string | undefined
  /** Only versions at or below this path. Redacted ones have no path. */
  readonly path?: string | undefined
  readonly actorId?: string | undefined
  readonly actorType?: ActorType | undefined
  readonly session?: string | undefined
  /** Only versions that the holder of this grant wrote, `dev_…`. */
  readonly grantId?: string | undefined
  readonly operation?: Operation | undefined
  /** True: only redacted versions. False: only the others. */
  readonly redacted?: boolean | undefined
  /**
   * Inclusive, ms since 1970. A doubtful time is treated as both `placedAt` and, unless the head is
   * over 24 hours earlier, `createdAt`.
   */
  readonly since?: number | undefined
  readonly until?: number | undefined
  /**
   * Default: `newest` first. The order is that of the history, which clocks may contradict;
   * `latest` is by `createdAt` alone, the latest first, and `since` and `until` compare with that
   * too. Of two versions of one time, the one written later comes first.
   */
  readonly order?: 'newest' | 'oldest' | 'latest' | undefined
  /**
   * The cursor from the previous page: the id of its last version. It remains valid when versions
   * are written, merged or redacted in the meantime, and works in either order.
   */
  readonly page?: string | undefined
}

const OPERATIONS = new Set<unknown>(['created', 'modified', 'deleted', undefined])
const ORDERS = new Set<unknown>(['newest', 'oldest', 'latest', undefined])

/** A page without contents, for any view. Throws `invalid_input`. */
export function findVersions(history: History, filter: VersionFilter): Page<Version> {
  return describePage(history, atOnce(findEntries(history, filter)))
}

/** A page in the view that the filter asks for. Throws `invalid_input`. */
export function* readVersions(
  history: History,
  source: ContentSource,
  filter: VersionFilter,
): Generator<undefined, Page<Version>> {
  const page = yield* findEntries(history, filter)
  if (filter.view !== 'full') return describePage(history, page)
  return { ...page, data: page.data.map((entry) => readVersion(history, source, entry)) }
}

export function readVersionWithInputs(
  history: History,
  source: ContentSource,
  versionId: string,
): VersionWithInputs {
  const entry = getVersionEntry(history, versionId)
  const inputs = combinedIn(history, entry)
  return {
    ...readVersion(history, source, entry),
    inputs: inputs.map((input) => readVersion(history, source, input)),
  }
}

function readVersion(history: History, source: ContentSource, entry: VersionEntry): FullVersion {
  const content = readVersionContent(source, entry)
  return { ...describeVersion(history, entry), content }
}

/** Throws `history_needed` for a version from before the beginning of this clone. */
export function describeVersion(history: History, entry: VersionEntry): Version {
  const { commit } = entry
  if (history.isBeginning(commit.position)) throw beforeBeginning()
  const redaction = history.findRedaction(entry.versionId)
  return {
    versionId: formatId('version', entry.versionId),
    memoryId: formatId('memory', entry.memoryId),
    operation: entry.operation,
    path: entry.path,
    movedFrom: pathBeforeMove(entry),
    sha256: entry.sha256,
    sizeBytes: entry.size,
    createdAt: commit.time,
    placedAt: findPlacedTime(history, commit),
    createdBy: commit.actor,
    session: commit.session,
    deviceId: formatId('device', commit.deviceId),
    baseVersionId: entry.base === zeroId ? undefined : formatId('version', entry.base),
    mergedFrom: combinedIn(history, entry).map((input) => formatId('version', input.versionId)),
    // The note is in the detail of the change's first row and may outlive other rows.
    reason: redaction === undefined ? commit.note : undefined,
    commit: commit.oid,
    redactedAt: redaction?.time,
    redactedBy: redaction?.actor,
  }
}

/** The combined versions; empty if a merge only moved or deleted a memory. */
function combinedIn(history: History, entry: VersionEntry): readonly VersionEntry[] {
  const inputs = mergedInputsOf(history, entry)
  return inputs.length > 1 ? inputs : []
}

export function getVersionEntry(history: History, versionId: string): VersionEntry {
  const entry = history.find(parseId('version', versionId))
  if (entry !== undefined) return entry
  if (history.beginning !== undefined) throw beforeBeginning()
  throw new StoreError('not_found', 'There is no such version')
}

function describePage(history: History, page: Page<VersionEntry>): Page<Version> {
  return { ...page, data: page.data.map((entry) => describeVersion(history, entry)) }
}

function* findEntries(
  history: History,
  filter: VersionFilter,
): Generator<undefined, Page<VersionEntry>> {
  checkFilter(filter)
  const limit = pageSizeOf(filter)
  const candidates = yield* candidatesFor(history, filter)
  const matches = conditionOf(history, filter)
  const direction = filter.order === 'oldest' ? 1 : -1
  const data: VersionEntry[] = []
  let index = startOf(history, candidates, { direction, filter })
  for (; index >= 0 && index < candidates.length; index += direction) {
    yield
    const entry = candidates.at(index)
    if (entry === undefined || !matches(entry)) continue
    const last = data.length === limit ? data.at(-1) : undefined
    if (last !== undefined) return { data, nextPage: formatId('version', last.versionId) }
    data.push(entry)
  }
  return { data, nextPage: undefined }
}

/** The narrowest list that holds every match, oldest first. */
function* candidatesFor(history: History, filter: VersionFilter): Generator<undefined, Versions> {
  const isByTime = filter.order === 'latest'
  if (filter.memoryId === undefined) {
    return isByTime ? yield* versionsByTime(history) : history.versions
  }
  const versions = history.ofMemory(parseId('memory', filter.memoryId))
  return isByTime ? sortedByTime(versions) : versions
}

/** Whether a version is one that the filter asks for. */
export function conditionOf(
  history: History,
  filter: VersionFilter,
): (entry: VersionEntry) => boolean {
  const { operation, path: at, redacted, grantId } = filter
  const grant = grantId === undefined ? undefined : parseId('device', grantId)
  return ({ operation: done, path, versionId, commit }) =>
    !history.isBeginning(commit.position) &&
    (operation === undefined || done === operation) &&
    (at === undefined || isAtOrBelow(path, at)) &&
    (grant === undefined || commit.deviceId === grant) &&
    (redacted === undefined || redacted === (history.findRedaction(versionId) !== undefined)) &&
    isWrittenBy(history, commit, filter)
}

function isWrittenBy(history: History, commit: CommitEntry, filter: VersionFilter): boolean {
  const { actor, session } = commit
  return (
    (filter.actorId === undefined || actor?.id === filter.actorId) &&
    (filter.actorType === undefined || actor?.type === filter.actorType) &&
    (filter.session === undefined || session === filter.session) &&
    (filter.order === 'latest'
      ? liesBetween(commit, filter)
      : mayLieBetween(history, commit, filter))
  )
}

function liesBetween({ time }: CommitEntry, { since, until }: VersionFilter): boolean {
  return (since ?? time) <= time && time <= (until ?? time)
}

function startOf(
  history: History,
  candidates: Versions,
  { direction, filter }: { readonly direction: 1 | -1; readonly filter: VersionFilter },
): number {
  const { page: after, order } = filter
  if (after === undefined) return direction === 1 ? 0 : candidates.length - 1
  const versionId = parseId('version', after)
  const placeOf = (entry: VersionEntry | undefined) => ({
    time: order === 'latest' ? (entry?.commit.time ?? 0) : 0,
    row: entry === undefined ? -1 : (history.indexOf(entry.versionId) ?? -1),
  })
  const last = placeOf(history.find(versionId))
  const index = countLeading(candidates, (one) => isEarlier(placeOf(one), last))
  if (candidates.at(index)?.versionId !== versionId)
    throw new StoreError('invalid_input', 'The cursor belongs to another query')
  return index + direction
}

function checkFilter({ operation, order, since, until, grantId = '' }: VersionFilter): void {
  if (typeof grantId !== 'string') throw invalid('The id of a grant', 'a string')
  if (!OPERATIONS.has(operation)) throw invalid('The operation', 'created, modified or deleted')
  if (!ORDERS.has(order)) throw invalid('The order', 'newest, oldest or latest')
  if (Number.isNaN(since) || Number.isNaN(until)) throw invalid('A time', 'a number of ms')
}

function invalid(what: string, right: string): StoreError {
  return new StoreError('invalid_input', `${what} must be ${right}`)
}

/** A list that creates its items on demand. */
interface Versions {
  readonly length: number
  at(index: number): VersionEntry | undefined
}

interface TimeOrder {
  /** The number of commits that it covers, and the last of them. */
  readonly commits: number
  readonly head: Oid | undefined
  /** Their latest time, ms since 1970. */
  readonly latest: number
  /** The indexes of their versions; undefined while the history has them in this order. */
  readonly rows: readonly number[] | undefined
}

const nothing: TimeOrder = { commits: 0, head: undefined, latest: -Infinity, rows: undefined }
const orders: WeakMap<History, TimeOrder> = new WeakMap()

/** All versions, earliest first. Yields after each commit that is new to it. */
function* versionsByTime(history: History): Generator<undefined, Versions> {
  const known = orders.get(history) ?? nothing
  const isPrefix = history.commits.at(known.commits - 1)?.oid === known.head
  const order = yield* extend(history, isPrefix ? known : nothing)
  orders.set(history, order)
  const { rows } = order
  if (rows === undefined) return history.versions
  const at = (index: number): VersionEntry | undefined => {
    const row = rows.at(index)
    return row === undefined ? undefined : history.versions.at(row)
  }
  return { length: rows.length, at }
}

/** These versions, which are in the order of the history, earliest first. */
function sortedByTime(versions: readonly VersionEntry[]): Versions {
  return versions.toSorted((a, b) => a.commit.time - b.commit.time)
}

/** Whether a version comes before another one; `rows` are their indexes in the history. */
function isEarlier(
  a: { readonly time: number; readonly row: number },
  b: { readonly time: number; readonly row: number },
): boolean {
  return a.time === b.time ? a.row < b.row : a.time < b.time
}

function* extend(history: History, before: TimeOrder): Generator<undefined, TimeOrder> {
  const { length } = history.commits
  const head = history.head?.oid
  if (before.commits === length) return before
  let { latest } = before
  let isInOrder = before.rows === undefined
  for (let position = before.commits; position < length; position += 1) {
    yield
    const time = history.timeAt(position)
    if (time < latest) isInOrder = false
    latest = Math.max(latest, time)
  }
  if (isInOrder) return { commits: length, head, latest, rows: undefined }
  const positions = Array.from({ length }, (_, position) => position)
  positions.sort((a, b) => history.timeAt(a) - history.timeAt(b))
  const rows = positions.flatMap((position) => {
    const [start, end] = history.rangeAt(position)
    return Array.from({ length: end - start }, (_, index) => start + index)
  })
  return { commits: length, head, latest, rows }
}
