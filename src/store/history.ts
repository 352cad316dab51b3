// Every version row of the history, in RAM, for questions about the past. Commits stand in the
// canonical order, ascending (record height, record hash): on every machine the same, parents
// first. Filled on demand (catch-up.ts), so writers do not pay for it; kept between runs in sealed
// segments (history-cache.ts). Trusts the head: it has been verified before anyone asks.

import { zeroId } from '../format/record.ts'
import type { Actor, Operation, RecordKind, RedactReason } from '../format/record.ts'
import { assert } from '../errors.ts'
import type { Oid } from '../git/object.ts'
import { Ancestry } from './ancestry.ts'
import { countLeading } from './count-leading.ts'
import type { Epochs } from './decoded-commit.ts'
import type { KnownVersions } from './verify-rows.ts'
import type { ObjectSource } from './git-reads.ts'

/** What a commit says about all its rows. */
export interface CommitEntry {
  readonly oid: Oid
  /** Its place in the canonical order of the history. In a line that is its height. */
  readonly position: number
  readonly height: number
  /** Whether every commit that stands before it is in its past. In a line always. */
  readonly isCut: boolean
  readonly kind: RecordKind
  readonly time: number
  readonly deviceId: string
  readonly actor: Actor | undefined
  readonly session: string | undefined
  readonly reason: RedactReason | undefined
  /** The versions that a redact record names. */
  readonly redacts: readonly string[]
  /** Free text given with a change, undefined if none or redacted. */
  readonly note: string | undefined
}

/** One version row. Path, size and hash are undefined once redacted. */
export interface VersionEntry {
  readonly versionId: string
  readonly memoryId: string
  readonly operation: Operation
  readonly base: string
  /** The other version that a merge put together, else `zeroId`. */
  readonly secondBase: string
  readonly path: string | undefined
  readonly size: number | undefined
  readonly sha256: string | undefined
  readonly commit: CommitEntry
}

/** A commit that has no place yet. */
export type NewCommit = Omit<CommitEntry, 'position' | 'isCut'>

export type VersionRow = Omit<VersionEntry, 'commit'>

export interface HistorySource {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly epochs: Epochs
}

/** Entries are read-only for all others, who see what a redaction takes from them. */
type Writable<T> = { -readonly [Key in keyof T]: T[Key] }

const nothing: readonly string[] = []

export class History implements Pick<KnownVersions, 'findMemory'> {
  /** In canonical order; `commits[i]` has position i. */
  readonly commits: CommitEntry[] = []
  /** In the order of their commits, those of one commit in the record's order. */
  readonly versions: VersionEntry[] = []
  /** How many of the commits are in segments on disk, as they are here. */
  cachedCommits = 0
  /** Whether commits changed that are in segments on disk. */
  cacheIsStale = false
  /** Whether the commits are those of before a redaction elsewhere, until `catchUp` ran again. */
  isSuperseded = false
  readonly #ancestry: Ancestry = new Ancestry()
  readonly #byVersion: Map<string, VersionEntry> = new Map()
  readonly #byMemory: Map<string, VersionEntry[]> = new Map()
  readonly #redactions: Map<string, CommitEntry> = new Map()
  /** Names that many commits repeat: each is in RAM once. Nothing that can be redacted. */
  readonly #names: Map<string, string> = new Map()
  readonly #actors: Map<string, Actor> = new Map()

  get head(): CommitEntry | undefined {
    return this.commits.at(-1)
  }

  find(versionId: string): VersionEntry | undefined {
    return this.#byVersion.get(versionId)
  }

  findCommit(oid: Oid, height: number): CommitEntry | undefined {
    return this.atHeight(height).find((commit) => commit.oid === oid)
  }

  /** More than one where clones went on side by side. */
  atHeight(height: number): readonly CommitEntry[] {
    const start = countLeading(this.commits, (commit) => commit.height < height)
    let end = start
    while (this.commits[end]?.height === height) end += 1
    return this.commits.slice(start, end)
  }

  /** By ascending position, which is not the order in git. */
  parentsOf({ position }: CommitEntry): readonly CommitEntry[] {
    return this.#entries(this.#ancestry.parentsOf(position).toSorted((a, b) => a - b))
  }

  /** Whether it has several parents. */
  isMerge({ position }: CommitEntry): boolean {
    return this.#ancestry.parentsOf(position).length > 1
  }

  /** Whether the commit at a position is one of the given commits or in the past of one of them. */
  pastOf(...commits: readonly CommitEntry[]): (position: number) => boolean {
    return this.#ancestry.pastOf(commits.map(({ position }) => position))
  }

  /** Of the commits for which `holds`, those that are not in the past of another one. */
  newest(holds: (commit: CommitEntry) => boolean): readonly CommitEntry[] {
    return this.#entries(
      this.#ancestry.newest((position) => {
        const commit = this.commits[position]
        return commit !== undefined && holds(commit)
      }),
    )
  }

  /** The commits below a position that have no children there: their names tell which all are. */
  tipsBefore(position: number): readonly CommitEntry[] {
    return this.#entries(this.#ancestry.tipsBefore(position))
  }

  /** In the order of the history. */
  ofMemory(memoryId: string): readonly VersionEntry[] {
    return this.#byMemory.get(memoryId) ?? []
  }

  /** The versions of each memory there ever was, in the order of the history. */
  memories(): Iterable<readonly VersionEntry[]> {
    return this.#byMemory.values()
  }

  /** The versions that the commit at a position wrote. */
  rowsAt(position: number): readonly VersionEntry[] {
    return this.versions.slice(this.#firstRow(position), this.#firstRow(position + 1))
  }

  /** The redact commit that names a version. */
  findRedaction(versionId: string): CommitEntry | undefined {
    return this.#redactions.get(versionId)
  }

  findMemory(versionId: string): string | undefined {
    return this.find(versionId)?.memoryId
  }

  /** The next commit in canonical order. `parents` are positions: the one before, if left out. */
  append(commit: NewCommit, rows: readonly VersionRow[], parents?: readonly number[]): void {
    const entry = this.#shareNames(commit, this.#ancestry.append(parents))
    this.commits.push(entry)
    for (const versionId of entry.redacts) {
      if (!this.#redactions.has(versionId)) this.#redactions.set(versionId, entry)
    }
    for (const row of rows) this.#appendRow(row, entry)
  }

  /**
   * What a redaction did to commits that are here: by position, the names that they have now. The
   * redacted versions lose all that the details said. What is newer is left to `catchUp`.
   */
  applyRedaction(rewritten: ReadonlyMap<number, Oid>, redacted: ReadonlySet<string>): void {
    for (const [position, oid] of rewritten) {
      const commit: Writable<CommitEntry> | undefined = this.commits[position]
      if (commit === undefined) continue
      commit.oid = oid
      this.#changedFrom(position)
    }
    for (const versionId of redacted) this.#erase(versionId)
  }

  /** Keeps the commits below a position. */
  truncate(position: number): void {
    if (position < this.commits.length) this.#changedFrom(position)
    this.#ancestry.truncate(position)
    for (let row = this.versions.at(-1); row !== undefined; row = this.versions.at(-1)) {
      if (row.commit.position < position) break
      this.versions.pop()
      this.#removeRow(row)
    }
    for (const commit of this.commits.splice(position)) {
      for (const versionId of commit.redacts) {
        if (this.#redactions.get(versionId) === commit) this.#redactions.delete(versionId)
      }
    }
  }

  #entries(positions: readonly number[]): readonly CommitEntry[] {
    return positions.map((position) => {
      const commit = this.commits[position]
      assert(commit !== undefined, 'a position in the history')
      return commit
    })
  }

  #appendRow(row: VersionRow, commit: CommitEntry): void {
    const { versionId, operation, size, sha256 } = row
    const siblings = this.#byMemory.get(row.memoryId)
    const before = siblings?.at(-1)
    // Equal strings of one memory's versions are one string.
    const memoryId = before?.memoryId ?? row.memoryId
    const path = before?.path === row.path ? before?.path : row.path
    const base = shareId(row.base, siblings)
    const secondBase = shareId(row.secondBase, siblings)
    const entry = { versionId, memoryId, operation, base, secondBase, path, size, sha256, commit }
    this.versions.push(entry)
    this.#byVersion.set(versionId, entry)
    if (siblings === undefined) this.#byMemory.set(memoryId, [entry])
    else siblings.push(entry)
  }

  /** Of the newest row. */
  #removeRow({ versionId, memoryId }: VersionEntry): void {
    this.#byVersion.delete(versionId)
    const siblings = this.#byMemory.get(memoryId)
    siblings?.pop()
    if (siblings?.length === 0) this.#byMemory.delete(memoryId)
  }

  #erase(versionId: string): void {
    const entry: Writable<VersionEntry> | undefined = this.#byVersion.get(versionId)
    if (entry === undefined) return
    entry.path = undefined
    entry.size = undefined
    entry.sha256 = undefined
    // The first row's detail holds the note of the whole change.
    const commit: Writable<CommitEntry> = entry.commit
    if (this.versions[this.#firstRow(commit.position)] === entry) commit.note = undefined
    this.#changedFrom(commit.position)
  }

  /** The index of the first version at or after a position. */
  #firstRow(position: number): number {
    return countLeading(this.versions, ({ commit }) => commit.position < position)
  }

  #changedFrom(position: number): void {
    if (position >= this.cachedCommits) return
    this.cachedCommits = position
    this.cacheIsStale = true
  }

  #shareNames(commit: NewCommit, isCut: boolean): CommitEntry {
    const position = this.commits.length
    const { oid, height, kind, time, reason, note } = commit
    const deviceId = this.#shareName(commit.deviceId)
    const session = commit.session === undefined ? undefined : this.#shareName(commit.session)
    const actor = commit.actor === undefined ? undefined : this.#shareActor(commit.actor)
    const redacts = commit.redacts.length === 0 ? nothing : commit.redacts
    const who = { deviceId, actor, session }
    return { oid, position, height, isCut, kind, time, ...who, reason, redacts, note }
  }

  #shareName(name: string): string {
    const known = this.#names.get(name)
    if (known === undefined) this.#names.set(name, name)
    return known ?? name
  }

  #shareActor(actor: Actor): Actor {
    const key = `${actor.type}:${actor.id}`
    const known = this.#actors.get(key)
    if (known === undefined) this.#actors.set(key, actor)
    return known ?? actor
  }
}

/** Equal ids of one memory's versions are one string. */
function shareId(id: string, siblings: readonly VersionEntry[] | undefined): string {
  if (id === zeroId) return zeroId
  const before = siblings?.at(-1)?.versionId
  if (id === before) return before
  return siblings?.findLast(({ versionId }) => versionId === id)?.versionId ?? id
}
