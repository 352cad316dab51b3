// Every version row of the history, in RAM, for questions about the past. Filled on demand by
// walking back from the head to what is known, so writers do not pay for it; kept between runs in
// sealed segments (history-cache.ts). Trusts the head: it has been verified before anyone asks.

import { zeroId } from '../format/record.ts'
import type { Actor, Operation, RecordKind, RedactReason } from '../format/record.ts'
import type { Oid } from '../git/object.ts'
import { countLeading } from './count-leading.ts'
import type { Epochs } from './decoded-commit.ts'
import { readKnownCommit } from './known-commit.ts'
import type { KnownCommit } from './known-commit.ts'
import type { KnownVersions } from './verify-commit.ts'
import { pause } from './verify.ts'
import type { Progress } from './verify.ts'
import type { ObjectSource } from './git-reads.ts'

/** What a commit says about all its rows. */
export interface CommitEntry {
  readonly oid: Oid
  readonly height: number
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
  readonly path: string | undefined
  readonly size: number | undefined
  readonly sha256: string | undefined
  readonly commit: CommitEntry
}

export type VersionRow = Omit<VersionEntry, 'commit'>

export interface HistorySource {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly epochs: Epochs
}

/** Entries are read-only for all others, who see what a redaction takes from them. */
type Writable<T> = { -readonly [Key in keyof T]: T[Key] }

const BATCH = 512
const nothing: readonly string[] = []

export class History implements Pick<KnownVersions, 'findMemory'> {
  /** Oldest first; `commits[i]` has height i. */
  readonly commits: CommitEntry[] = []
  /** Oldest first; the rows of a commit stand together, in the record's order. */
  readonly versions: VersionEntry[] = []
  /** How many of the commits are in segments on disk, as they are here. */
  cachedCommits = 0
  /** Whether commits changed that are in segments on disk. */
  cacheIsStale = false
  /** Whether the commits are those of before a redaction elsewhere, until `catchUp` ran again. */
  isSuperseded = false
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

  /** Oldest first. */
  ofMemory(memoryId: string): readonly VersionEntry[] {
    return this.#byMemory.get(memoryId) ?? []
  }

  /** The versions of each memory there ever was, oldest first. */
  memories(): Iterable<readonly VersionEntry[]> {
    return this.#byMemory.values()
  }

  /** The versions that the commit at a height wrote. */
  rowsAt(height: number): readonly VersionEntry[] {
    return this.versions.slice(this.#firstRow(height), this.#firstRow(height + 1))
  }

  /** The redact commit that names a version. */
  findRedaction(versionId: string): CommitEntry | undefined {
    return this.#redactions.get(versionId)
  }

  findMemory(versionId: string): string | undefined {
    return this.find(versionId)?.memoryId
  }

  append(commit: CommitEntry, rows: readonly VersionRow[]): void {
    const entry = this.#shareNames(commit)
    this.commits.push(entry)
    for (const versionId of entry.redacts) {
      if (!this.#redactions.has(versionId)) this.#redactions.set(versionId, entry)
    }
    for (const row of rows) this.#appendRow(row, entry)
  }

  /**
   * What a redaction did to commits that are here: they have other names, and the redacted versions
   * lose all that the details said. Heights above the head are left to `catchUp`.
   */
  applyRedaction(rewritten: ReadonlyMap<number, Oid>, redacted: ReadonlySet<string>): void {
    for (const [height, oid] of rewritten) {
      const commit: Writable<CommitEntry> | undefined = this.commits[height]
      if (commit === undefined) continue
      commit.oid = oid
      this.#changedFrom(height)
    }
    for (const versionId of redacted) this.#erase(versionId)
  }

  /** Keeps the commits below a height. */
  truncate(height: number): void {
    if (height < this.commits.length) this.#changedFrom(height)
    for (let row = this.versions.at(-1); row !== undefined; row = this.versions.at(-1)) {
      if (row.commit.height < height) break
      this.versions.pop()
      this.#removeRow(row)
    }
    for (const commit of this.commits.splice(height)) {
      for (const versionId of commit.redacts) {
        if (this.#redactions.get(versionId) === commit) this.#redactions.delete(versionId)
      }
    }
  }

  #appendRow(row: VersionRow, commit: CommitEntry): void {
    const { versionId, operation, size, sha256 } = row
    const siblings = this.#byMemory.get(row.memoryId)
    const before = siblings?.at(-1)
    // Equal strings of one memory's versions are one string.
    const memoryId = before?.memoryId ?? row.memoryId
    const path = before?.path === row.path ? before?.path : row.path
    const base = [before?.versionId, zeroId].find((id) => id === row.base) ?? row.base
    const entry = { versionId, memoryId, operation, base, path, size, sha256, commit }
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
    if (this.versions[this.#firstRow(commit.height)] === entry) commit.note = undefined
    this.#changedFrom(commit.height)
  }

  /** The index of the first version at or above a height. */
  #firstRow(height: number): number {
    return countLeading(this.versions, ({ commit }) => commit.height < height)
  }

  #changedFrom(height: number): void {
    if (height >= this.cachedCommits) return
    this.cachedCommits = height
    this.cacheIsStale = true
  }

  #shareNames(commit: CommitEntry): CommitEntry {
    const { oid, height, kind, time, reason, note } = commit
    const deviceId = this.#shareName(commit.deviceId)
    const session = commit.session === undefined ? undefined : this.#shareName(commit.session)
    const actor = commit.actor === undefined ? undefined : this.#shareActor(commit.actor)
    const redacts = commit.redacts.length === 0 ? nothing : commit.redacts
    return { oid, height, kind, time, deviceId, actor, session, reason, redacts, note }
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

/**
 * Brings `history` up to `head`, reading only what is new: from the head back to a commit that is
 * known at its height. If the past was rewritten, what was known above that commit is replaced.
 */
export async function catchUp(
  history: History,
  source: HistorySource,
  head: Oid,
  options: { readonly progress?: Progress | undefined; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const newest = history.head?.oid
  if (newest === head) return
  const missing: KnownCommit[] = []
  let height = 0
  for (let next: Oid | undefined = head; next !== undefined && next !== newest;) {
    const known = readKnownCommit(source, next)
    height = known.commit.height
    if (history.commits[height]?.oid === next) {
      height += 1
      break
    }
    missing.push(known)
    next = known.parent
    if (missing.length % BATCH !== 0) continue
    options.progress?.(missing.length, missing.length + height)
    await pause(options.signal)
  }
  // At once: nobody may see the one part without the other.
  history.truncate(height)
  for (const { commit, rows } of missing.toReversed()) history.append(commit, rows)
  history.isSuperseded = false
}
