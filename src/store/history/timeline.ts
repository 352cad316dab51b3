// The history grouped by session, or by actor for versions without a session, and by day. Made of
// the history in RAM, in one pass that continues where the previous one ended.

import { StoreError } from '../../errors.ts'
import type { Actor, Operation } from '../../format/change-record.ts'
import { findId, formatId } from '../../format/id.ts'
import { zeroId } from '../../format/record.ts'
import type { CommitEntry, VersionEntry } from './history-rows.ts'
import type { History } from './history.ts'
import { conditionOf, getVersionEntry, type VersionFilter } from './versions.ts'

/** All that are given must hold; see `VersionFilter`. */
export interface TimelineFilter
  extends
    Pick<VersionFilter, 'actorId' | 'session' | 'operation' | 'path'>,
    Pick<VersionFilter, 'since' | 'until' | 'redacted'> {
  /** `dev_…` */
  readonly deviceId?: string | undefined
}

/** The range of a group: a day, or all time. */
export type Grouping =
  /**
   * By session, or by actor without one; the IANA time zone determines the start of a day.
   */
  | { readonly by: 'day'; readonly timeZone: string }
  | { readonly by: 'session' | 'actor' }
  | UnreviewedGrouping

/**
 * By session, or by actor without one: the versions that are not in the past of one that a user has
 * reviewed. So a version of another device that a sync brings later is listed, wherever the order
 * of the history places it. Leaves out merges, since their inputs are listed, and the changes by a
 * user on this device: they are the reader's own. A program that writes as that user must name its
 * session to be reviewed.
 */
export interface UnreviewedGrouping {
  readonly by: 'unreviewed'
  /** Versions, `memver_…`. */
  readonly reviewed: readonly string[]
  /** `dev_…` */
  readonly ownDevice: string
}

/** Versions that belong together. Numbers are of those that match the filter. */
export interface VersionGroup {
  /** The newest version, which names the group. */
  readonly versionId: string
  /** `2026-01-31`; empty if the grouping is not by day. */
  readonly day: string
  readonly session: string | undefined
  readonly actor: Actor | undefined
  readonly deviceIds: readonly string[]
  /** The newest version of each device: all others of the group are in the past of these. */
  readonly tips: readonly string[]
  /** Of its versions, ms since 1970. */
  readonly first: number
  readonly last: number
  readonly versions: number
  readonly memories: number
  readonly created: number
  readonly modified: number
  readonly deleted: number
  readonly redacted: number
  /** The newest ones that were given, each once. */
  readonly reasons: readonly string[]
  /** The oldest version of an unreviewed group, if older ones of its writer were reviewed. */
  readonly since: string | undefined
}

/** What a group did to one memory. */
export interface GroupedChange {
  readonly memoryId: string
  /** The last path that it had there; undefined once redacted. */
  readonly path: string | undefined
  /** The path before, if it was another one. */
  readonly movedFrom: string | undefined
  /** From before the group to after it. */
  readonly operation: Operation
  readonly versions: number
  readonly redacted: number
  /** The version before the group, if there is one, and its last one. */
  readonly before: string | undefined
  readonly after: string
}

interface GroupDraft {
  readonly day: string
  readonly session: string | undefined
  readonly actor: Actor | undefined
  /** The newest version of each. */
  readonly devices: Map<string, VersionEntry>
  readonly memories: Set<string>
  newest: VersionEntry
  /** Indexes in the history's versions. */
  readonly firstRow: number
  lastRow: number
  first: number
  last: number
  versions: number
  redacted: number
  readonly operations: Record<Operation, number>
  /** The newest one last. */
  readonly reasons: Set<string>
  readonly since: VersionEntry | undefined
}

const REASONS_MAX = 3

/** The groups of one history, filter and grouping, which grow with the history. */
export class Timeline {
  readonly #history: History
  readonly #matches: (entry: VersionEntry) => boolean
  readonly #keyOf: (commit: CommitEntry) => string | undefined
  readonly #dayOf: ((time: number) => string) | undefined
  /** Whether a commit was reviewed, by the key of a group of which something was. */
  readonly #reviewed: ReadonlyMap<string, (position: number) => boolean>
  readonly #groups = new Map<string, GroupDraft>()
  /** The number of rows that are in the groups, and the last commit of them. */
  #rows = 0
  #last: { readonly position: number; readonly oid: string } | undefined

  /** Throws `invalid_input`. */
  constructor(history: History, filter: TimelineFilter, grouping: Grouping) {
    this.#history = history
    const { deviceId, ...others } = filter
    const matches = conditionOf(history, others)
    this.#matches = (entry) =>
      (deviceId === undefined || formatId('device', entry.commit.deviceId) === deviceId) &&
      matches(entry)
    this.#dayOf = grouping.by === 'day' ? dayIn(grouping.timeZone) : undefined
    this.#keyOf = keyBy(history, grouping, this.#dayOf)
    const reviewed = grouping.by === 'unreviewed' ? grouping.reviewed : []
    this.#reviewed = reviewedPasts(history, reviewed, this.#keyOf)
  }

  /** Whether all that was grouped is in the history still, unchanged. */
  get isCurrent(): boolean {
    if (this.#last === undefined) return true
    return this.#history.commits.at(this.#last.position)?.oid === this.#last.oid
  }

  /** Takes in new versions. Yields after each version. */
  *catchUp(): Generator<undefined, void> {
    const { versions } = this.#history
    for (; this.#rows < versions.length; this.#rows += 1) {
      yield
      const entry = versions.at(this.#rows)
      if (entry === undefined) return
      const { commit } = entry
      this.#last = { position: commit.position, oid: commit.oid }
      if (this.#matches(entry)) this.#add(entry, commit)
    }
  }

  /** Newest first: by day, then by the newest version. */
  groups(): readonly VersionGroup[] {
    return [...this.#groups.values()]
      .toSorted((a, b) => compareDays(b.day, a.day) || b.lastRow - a.lastRow)
      .map(describeGroup)
  }

  /** The group of a version. Throws `not_found` if no version of it matches. */
  group(versionId: string): VersionGroup {
    return describeGroup(this.#groupOf(versionId))
  }

  /** What a group did, by path; redacted paths last. Yields after each version. */
  *changes(versionId: string): Generator<undefined, readonly GroupedChange[]> {
    const { firstRow, lastRow } = this.#groupOf(versionId)
    const key = this.#keyOf(getVersionEntry(this.#history, versionId).commit)
    const byMemory = new Map<string, VersionEntry[]>()
    for (const entry of this.#history.versions.range(firstRow, lastRow + 1)) {
      yield
      if (!this.#matches(entry) || this.#keyOf(entry.commit) !== key) continue
      const known = byMemory.get(entry.memoryId)
      if (known === undefined) byMemory.set(entry.memoryId, [entry])
      else known.push(entry)
    }
    const changes = [...byMemory.values()].map((entries) => this.#changeOf(entries))
    return changes.toSorted((a, b) => comparePaths(a.path, b.path))
  }

  #groupOf(versionId: string): GroupDraft {
    const key = this.#keyOf(getVersionEntry(this.#history, versionId).commit)
    const group = key === undefined ? undefined : this.#groups.get(key)
    if (group !== undefined) return group
    throw new StoreError('not_found', 'Nothing of that matches')
  }

  #add(entry: VersionEntry, commit: CommitEntry): void {
    const key = this.#keyOf(commit)
    if (key === undefined) return
    const isReviewed = this.#reviewed.get(key)
    if (isReviewed?.(commit.position) === true) return
    const { time, deviceId, note } = commit
    const draft = this.#groups.get(key) ?? this.#newDraft(entry, isReviewed !== undefined)
    this.#groups.set(key, draft)
    draft.newest = entry
    draft.lastRow = this.#rows
    draft.first = Math.min(draft.first, time)
    draft.last = Math.max(draft.last, time)
    draft.versions += 1
    draft.devices.set(deviceId, entry)
    draft.memories.add(entry.memoryId)
    draft.operations[entry.operation] += 1
    if (this.#history.findRedaction(entry.versionId) !== undefined) draft.redacted += 1
    if (note !== undefined) addReason(draft.reasons, note)
  }

  #newDraft(entry: VersionEntry, isContinued: boolean): GroupDraft {
    const { session, actor, time } = entry.commit
    return {
      day: this.#dayOf?.(time) ?? '',
      session,
      actor,
      devices: new Map(),
      memories: new Set(),
      newest: entry,
      firstRow: this.#rows,
      lastRow: this.#rows,
      first: time,
      last: time,
      versions: 0,
      redacted: 0,
      operations: { created: 0, modified: 0, deleted: 0 },
      reasons: new Set(),
      since: isContinued ? entry : undefined,
    }
  }

  #changeOf(entries: readonly VersionEntry[]): GroupedChange {
    const [first] = entries
    const last = entries.at(-1)
    if (first === undefined || last === undefined) throw new StoreError('not_found', 'No version')
    const before = first.base === zeroId ? undefined : this.#history.find(first.base)
    const wasLive = before !== undefined && before.operation !== 'deleted'
    const { path } = last
    const isMoved = wasLive && path !== undefined && before.path !== path
    const redacted = entries.filter(({ versionId }) => {
      return this.#history.findRedaction(versionId) !== undefined
    })
    return {
      memoryId: formatId('memory', last.memoryId),
      path,
      movedFrom: isMoved ? before.path : undefined,
      operation: operationFrom(wasLive, last.operation !== 'deleted'),
      versions: entries.length,
      redacted: redacted.length,
      before: wasLive ? formatId('version', before.versionId) : undefined,
      after: formatId('version', last.versionId),
    }
  }
}

function operationFrom(wasLive: boolean, isLive: boolean): Operation {
  if (!isLive) return 'deleted'
  return wasLive ? 'modified' : 'created'
}

/** A repeated one is the newest again. */
function addReason(reasons: Set<string>, reason: string): void {
  reasons.delete(reason)
  reasons.add(reason)
  for (const oldest of reasons) {
    if (reasons.size <= REASONS_MAX) return
    reasons.delete(oldest)
  }
}

function describeGroup(draft: GroupDraft): VersionGroup {
  const { newest, devices, memories, operations, day, session, actor, since } = draft
  const { first, last, versions, redacted } = draft
  return {
    versionId: formatId('version', newest.versionId),
    day,
    session,
    actor,
    deviceIds: [...devices.keys()].map((id) => formatId('device', id)),
    tips: [...devices.values()].map(({ versionId }) => formatId('version', versionId)),
    first,
    last,
    versions,
    memories: memories.size,
    ...operations,
    redacted,
    reasons: [...draft.reasons].toReversed(),
    since: since && formatId('version', since.versionId),
  }
}

function reviewedPasts(
  history: History,
  reviewed: readonly string[],
  keyOf: (commit: CommitEntry) => string | undefined,
): ReadonlyMap<string, (position: number) => boolean> {
  const byKey = new Map<string, CommitEntry[]>()
  for (const id of reviewed) {
    const versionId = findId('version', id)
    const commit = versionId === undefined ? undefined : history.find(versionId)?.commit
    const key = commit && keyOf(commit)
    if (commit === undefined || key === undefined) continue
    const known = byKey.get(key)
    if (known === undefined) byKey.set(key, [commit])
    else known.push(commit)
  }
  return new Map([...byKey].map(([key, commits]) => [key, history.pastOf(...commits)]))
}

/** A version without a key is in no group. */
function keyBy(
  history: History,
  grouping: Grouping,
  dayOf: ((time: number) => string) | undefined,
): (commit: CommitEntry) => string | undefined {
  if (grouping.by === 'session') return ({ session }) => session
  if (grouping.by === 'actor') return ({ actor }) => actor && actorKey(actor)
  if (grouping.by === 'unreviewed') {
    return (commit) => {
      const { session, actor, deviceId } = commit
      if (history.isMerge(commit)) return undefined
      if (session !== undefined) return `session ${session}`
      const isOwn = actor?.type === 'user' && formatId('device', deviceId) === grouping.ownDevice
      return isOwn ? undefined : actorKey(actor)
    }
  }
  return ({ session, actor, time }) =>
    `${dayOf?.(time)} ${session === undefined ? actorKey(actor) : `session ${session}`}`
}

function actorKey(actor: Actor | undefined): string {
  return `actor ${actor?.type} ${actor?.id}`
}

/** Offsets of time zones are multiples of it, ms. */
const QUARTER_MS = 15 * 60_000

/** The day of a time, `2026-01-31`. Throws `invalid_input` for a zone that there is not. */
function dayIn(timeZone: string): (time: number) => string {
  let format: Intl.DateTimeFormat
  try {
    // The form of this locale is that of ISO 8601.
    format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
  } catch (cause) {
    throw new StoreError('invalid_input', 'There is no such time zone', { cause })
  }
  // To format a time takes longer than all the rest.
  const known = new Map<number, string>()
  return (time) => {
    const quarter = Math.floor(time / QUARTER_MS)
    const day = known.get(quarter) ?? format.format(quarter * QUARTER_MS)
    known.set(quarter, day)
    return day
  }
}

function compareDays(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function comparePaths(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  return compareDays(a, b)
}
