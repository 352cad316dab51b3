// What grants in force wrote on a line that is left is written again, in the name of this device
// and one change for each (decision 0077): such a record is late only because it rests on one of a
// removed device, and its author may be a sandbox that has ended (FORMAT §7.4). Brings in nothing
// of that device: kept-states.ts. Must be part of one transition of the branch.

import { toHex } from '../../bytes.ts'
import { formatId } from '../../format/id.ts'
import { zeroId } from '../../format/record.ts'
import type { NewObject, Oid } from '../../git/objects/object.ts'
import { noteBytesMax } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'
import { TimeSlice } from '../../time-slice.ts'
import { mayWrite, roleOf } from '../access/authority.ts'
import { decodeAt } from '../access/post-revocation.ts'
import { type Change, planChanges } from '../changes/changes.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildChange } from '../commits/commit.ts'
import { readMemory } from '../history/contents.ts'
import type { CommitEntry, VersionEntry } from '../history/history-rows.ts'
import type { HistorySource } from '../history/history.ts'
import { mergeContents } from '../merge/content-merge.ts'
import { pathsAside } from '../merge/placement.ts'
import type { StoreSession } from '../session/session.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { isVerdict } from '../verify/verdict.ts'
import { type KeptState, KeptStates } from './kept-states.ts'
import type { LeftLine } from './redo.ts'
import { isTaken } from './remote-history.ts'
import type { GrantChanges, GrantWork, NotWritten } from './report.ts'

/** A line that is left, and where new objects are kept until the transition is on disk. */
export interface WritingGrantWork {
  readonly session: StoreSession
  readonly line: LeftLine
  readonly made: Map<Oid, NewObject>
  readonly signal: AbortSignal | undefined
}

export interface GrantWorkDone {
  readonly objects: readonly NewObject[]
  readonly work: GrantWork
  /** The positions of commits of which nothing is lost: written again, now or before. */
  readonly settled: ReadonlySet<number>
}

/** Moves the session to the changes that are written again. */
export function writeGrantsAgain(
  writing: WritingGrantWork,
  author: Author,
): Promise<GrantWorkDone> {
  return new GrantWriter(writing, author).write()
}

class GrantWriter {
  readonly #writing: WritingGrantWork
  readonly #author: Author
  readonly #states: KeptStates
  #arrived: ArrivedWork | undefined
  readonly #objects: NewObject[] = []
  readonly #settled: Set<number> = new Set()
  readonly #notAgain: GrantWork['notAgain'][number][] = []
  /** By grant, with the ids that its memories have here. */
  readonly #again: Map<string, { changes: number; memoryIds: Set<string> }> = new Map()
  /** By the id of a memory on the left line, that of the one which was created for it. */
  readonly #renamed: Map<string, string> = new Map()

  constructor(writing: WritingGrantWork, author: Author) {
    const { session, line } = writing
    const { snapshot } = session
    this.#writing = writing
    this.#author = author
    this.#states = new KeptStates(line, {
      redacted: snapshot.redacted,
      isCarried: (commit) => isByGrantInForce(snapshot, commit),
      limit: snapshot.settings.value.limits.contentBytes,
    })
  }

  async write(): Promise<GrantWorkDone> {
    const { session, line, signal } = this.#writing
    const isAny = [...line.positions].some((position) => {
      return session.snapshot.grants.has(line.history.commits.at(position)?.deviceId ?? '')
    })
    if (isAny && mayWriteAgain(session)) {
      const slice = new TimeSlice(signal)
      for (const position of [...line.positions].toSorted((a, b) => a - b)) {
        if (slice.isOver()) await slice.next()
        const commit = line.history.commits.at(position)
        if (commit !== undefined) await this.#writeCommit(commit)
      }
    }
    const { current } = session.snapshot
    const again = Array.from(this.#again, ([grantId, { changes, memoryIds }]): GrantChanges => {
      const live = [...memoryIds].flatMap((memoryId) => current.get(memoryId)?.live ?? [])
      const memories = live.map((memory) => ({ memoryId: idOf(memory), path: memory.path }))
      return { grantId, changes, memories }
    })
    const work = { again, notAgain: this.#notAgain }
    return { objects: this.#objects, work, settled: this.#settled }
  }

  async #writeCommit(commit: CommitEntry): Promise<void> {
    const { session, line } = this.#writing
    const rows = line.history.rowsAt(commit.position)
    const found = rows.map((entry) => ({ entry, state: this.#states.add(entry) }))
    const { grant, deviceId } = session.identity
    const isOurs = grant === undefined || commit.deviceId === deviceId
    // A merge is made anew by the changes that it merged.
    const isWritten = isOurs && !line.history.isMerge(commit)
    if (isWritten && isByGrantInForce(session.snapshot, commit)) await this.#repeat(commit, found)
    for (const entry of rows) this.#states.release(entry)
  }

  async #repeat(commit: CommitEntry, found: readonly KeptRow[]): Promise<void> {
    const record = recordName(this.#writing.line.contents, commit.oid)
    this.#arrived ??= new ArrivedWork(this.#writing.line)
    const arrived = this.#arrived.find(commit, record)
    if (arrived === 'erased') {
      for (const { entry } of found) this.#leave(entry, 'redacted')
      return
    }
    if (arrived === undefined) return this.#writeChanges(commit, record, found)
    for (const { entry } of found) this.#noteRenamed(entry, arrived)
    this.#settled.add(commit.position)
  }

  async #writeChanges(
    commit: CommitEntry,
    record: string,
    found: readonly KeptRow[],
  ): Promise<void> {
    const { snapshot } = this.#writing.session
    const plan = new ChangePlan(snapshot, (entry) => this.#liveOf(entry), this.#readContent)
    let isWhole = true
    for (const { entry, state } of found) {
      const base = entry.base === zeroId ? undefined : this.#states.of(entry.base)
      const problem = typeof state === 'string' ? state : plan.add(entry, state, base)
      if (problem === undefined) continue
      isWhole = false
      this.#leave(entry, problem)
    }
    const isWritten = await this.#build(commit, record, plan)
    if (!isWritten) for (const entry of plan.entries) this.#leave(entry, 'refused')
    else if (isWhole) this.#settled.add(commit.position)
  }

  /** False if the store does not take the change, such as one above its limits. */
  async #build(commit: CommitEntry, record: string, plan: ChangePlan): Promise<boolean> {
    const { session, made } = this.#writing
    const { snapshot } = session
    const { actor = this.#author.actor, session: agentSession } = commit
    const by: Author = { actor, session: agentSession, reason: noteAgain(commit, record) }
    try {
      const now = session.nextTime()
      const planned = { snapshot, now, readContent: this.#readContent }
      const { rows } = await planChanges(planned, plan.changes)
      if (rows.length === 0) return true
      const built = await buildChange(await session.commitContext(now, by), snapshot, rows, by)
      session.moveTo(built.snapshot)
      for (const object of built.objects) {
        made.set(object.oid, object)
        this.#objects.push(object)
      }
    } catch (error) {
      if (!isVerdict(error)) throw error
      return false
    }
    this.#note(commit, plan)
    return true
  }

  #note({ deviceId }: CommitEntry, { entries, created }: ChangePlan): void {
    const { paths } = this.#writing.session.snapshot
    for (const [memoryId, path] of created) {
      const memory = paths.findMemory(path)
      if (memory !== undefined) this.#renamed.set(memoryId, memory.memoryId)
    }
    const grantId = formatId('device', deviceId)
    const again = this.#again.get(grantId) ?? { changes: 0, memoryIds: new Set<string>() }
    this.#again.set(grantId, again)
    again.changes += 1
    for (const entry of entries) {
      const live = this.#liveOf(entry)
      if (live !== undefined) again.memoryIds.add(live.memoryId)
    }
  }

  /** Finds the memory in which a change that was written again has left what a version wrote. */
  #noteRenamed({ memoryId, path = '' }: VersionEntry, rows: readonly VersionEntry[]): void {
    const places = new Set([path, ...pathsAside(path, memoryId)])
    const row = rows.find((one) => one.path !== undefined && places.has(one.path))
    if (row !== undefined) this.#renamed.set(memoryId, row.memoryId)
  }

  /** The memory as it is now, or another one at the path where one was created. */
  #liveOf({ memoryId, base, path = '' }: VersionEntry): LiveMemory | undefined {
    const { current, paths } = this.#writing.session.snapshot
    const same = current.get(this.#renamed.get(memoryId) ?? memoryId)?.live
    return same ?? (base === zeroId ? paths.findMemory(path) : undefined)
  }

  readonly #readContent = (memory: LiveMemory): string => {
    const { session, line } = this.#writing
    return readMemory({ ...line.contents, epochs: session.epochs }, memory)
  }

  #leave({ versionId, memoryId, path, commit }: VersionEntry, why: NotWritten): void {
    this.#notAgain.push({
      grantId: formatId('device', commit.deviceId),
      versionId: formatId('version', versionId),
      memoryId: formatId('memory', memoryId),
      path,
      why,
    })
  }
}

/** A version of the line, and what it comes to. */
interface KeptRow {
  readonly entry: VersionEntry
  readonly state: ReturnType<KeptStates['add']>
}

/** The changes that bring what one commit wrote into a snapshot. */
class ChangePlan {
  readonly changes: Change[] = []
  /** The versions that they repeat. */
  readonly entries: VersionEntry[] = []
  /** By the id of a memory on the left line, the path at which one is created for it. */
  readonly created: Map<string, string> = new Map()
  readonly #snapshot: Snapshot
  readonly #liveOf: (entry: VersionEntry) => LiveMemory | undefined
  readonly #read: (memory: LiveMemory) => string
  readonly #taken: Set<string> = new Set()

  constructor(
    snapshot: Snapshot,
    liveOf: (entry: VersionEntry) => LiveMemory | undefined,
    read: (memory: LiveMemory) => string,
  ) {
    this.#snapshot = snapshot
    this.#liveOf = liveOf
    this.#read = read
  }

  /** Returns why a version is not written again, if so. */
  add(
    entry: VersionEntry,
    { path, content }: KeptState,
    before: KeptState | string | undefined,
  ): NotWritten | undefined {
    const base = typeof before === 'string' ? undefined : before
    const live = this.#liveOf(entry)
    if (content === undefined) {
      // An edit of the followed line outlives a deletion, as in a merge.
      if (live !== undefined && this.#read(live) !== base?.content) return 'overlaps'
      if (live !== undefined) this.#change(entry, { type: 'delete', memoryId: idOf(live) })
      return undefined
    }
    if (live === undefined) {
      const free = [path, ...pathsAside(path, entry.memoryId)].find((one) => this.#isFree(one))
      const at = free ?? path
      this.created.set(entry.memoryId, at)
      this.#taken.add(at)
      this.#change(entry, { type: 'create', path: at, content })
      return undefined
    }
    const sides = { base: base?.content ?? '', older: this.#read(live), newer: content }
    const { contentBytes } = this.#snapshot.settings.value.limits
    const merged = mergeContents(sides, contentBytes).content
    const moves = path !== base?.path && path !== live.path && this.#isFree(path)
    const at = moves ? path : live.path
    this.#taken.add(at)
    this.#change(entry, { type: 'update', memoryId: idOf(live), content: merged, path: at })
    return undefined
  }

  #change(entry: VersionEntry, change: Change): void {
    this.entries.push(entry)
    this.changes.push(change)
  }

  #isFree(path: string): boolean {
    return !this.#taken.has(path) && !isTaken(this.#snapshot.paths, path)
  }
}

function idOf({ memoryId }: LiveMemory): string {
  return formatId('memory', memoryId)
}

/** An archived store takes no changes, and a forked device makes none. */
function mayWriteAgain({ snapshot, identity }: StoreSession): boolean {
  const { settings, devices } = snapshot
  if (settings.value.archivedAt !== undefined) return false
  if (devices.get(identity.deviceId)?.forked === true) return false
  return mayWrite(roleOf(snapshot, identity.deviceId), 'change')
}

/** Whether a grant would still let its holder write a change, as far as the followed line tells. */
function isByGrantInForce(snapshot: Snapshot, { kind, deviceId, time }: CommitEntry): boolean {
  const grant = snapshot.grants.get(deviceId)
  if (kind !== 'change' || grant === undefined || grant.role !== 'writer') return false
  return time <= grant.notAfter
}

/** Digits of a record's hash in a note. */
const HASH_DIGITS = 16

const NOTE = /^Written again for (dev_[0-9a-z]{26}), record ([0-9a-f]{16})(?:: |$)/

/** The note of a change that is written again: which one it was, and what its own note said. */
function noteAgain({ deviceId, note }: CommitEntry, record: string): string {
  const head = `Written again for ${formatId('device', deviceId)}, record ${record}`
  let text = note === undefined ? head : `${head}: ${note}`
  // The cut may be inside of a character of two units.
  while (Bytes.byteLength(text) > noteBytesMax)
    text = text.slice(0, -1).replace(/[\uD800-\uDBFF]$/u, '')
  return text
}

/** What names a record in a note: a redaction changes the commit and not this. */
function recordName(source: HistorySource, oid: Oid): string {
  return toHex(decodeAt(source, oid).hash).slice(0, HASH_DIGITS)
}

/**
 * The changes that another device or an earlier sync has already written again: the note of such a
 * change names the record that it repeats. If a redaction has erased a note, its change is treated
 * as any that it may repeat, so that no erased text comes back.
 */
class ArrivedWork {
  /** By the name of a record, the rows of the change that repeats it. */
  readonly #repeats: Map<string, readonly VersionEntry[]> = new Map()
  /** The actors and sessions of changes of which a redaction has erased the note. */
  readonly #erased: Set<string> = new Set()

  /** Looks at all changes that are kept and may repeat one of the line. */
  constructor({ history, followed, positions }: LeftLine) {
    const heights = [...positions].map((position) => history.commits.at(position)?.height ?? 0)
    const lowest = heights.reduce((low, height) => Math.min(low, height), Infinity)
    for (const kept of [followed, history]) {
      for (const commit of kept.commits) {
        if (commit.height < lowest || (kept === history && positions.has(commit.position))) continue
        if (commit.kind === 'change') this.#add(commit, kept.rowsAt(commit.position))
      }
    }
  }

  /** The rows that repeat a record, or `erased` if they may have been redacted. */
  find(commit: CommitEntry, record: string): readonly VersionEntry[] | 'erased' | undefined {
    const rows = this.#repeats.get(nameOf(commit.deviceId, record))
    if (rows !== undefined) return rows
    return this.#erased.has(authorOf(commit)) ? 'erased' : undefined
  }

  #add(commit: CommitEntry, rows: readonly VersionEntry[]): void {
    const [, device, record] = NOTE.exec(commit.note ?? '') ?? []
    if (device !== undefined && record !== undefined) this.#repeats.set(`${device} ${record}`, rows)
    const [first] = rows
    if (first !== undefined && first.path === undefined) this.#erased.add(authorOf(commit))
  }
}

function nameOf(deviceId: string, record: string): string {
  return `${formatId('device', deviceId)} ${record}`
}

function authorOf({ actor, session }: CommitEntry): string {
  return JSON.stringify([actor?.type, actor?.id, session])
}
