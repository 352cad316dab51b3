// Every version row of the history, for queries about the past. Commits are in the canonical order,
// ascending (record height, record hash): the same on every machine, parents first. Filled on
// demand (catch-up.ts), released when unused (held-history.ts), kept between runs in sealed
// segments (history-cache.ts). Trusts the head, which must be verified.

import { assert } from '../../errors.ts'
import { zeroId } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import { OidCollector, type Oids, OidSet } from '../../git/objects/oid-list.ts'
import { Ancestry } from '../commits/ancestry.ts'
import { countLeading } from '../commits/count-leading.ts'
import type { CommitSource, Epochs } from '../commits/decoded-commit.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { IdIndex } from '../tables/id-index.ts'
import { Table, u32 } from '../tables/table.ts'
import { firstEntryOf } from './beginning-entry.ts'
import { CommitAt, EntryList, VersionAt } from './history-entries.ts'
import type { CommitEntry, NewCommit, VersionEntry, VersionRow } from './history-rows.ts'
import { type HistoryRun, HistoryTable } from './history-table.ts'

export interface HistorySource extends CommitSource {
  readonly epochs: Epochs
}

export class History {
  /** In canonical order; the entry at i has position i. */
  readonly commits: EntryList<CommitEntry>
  /** In the order of their commits; rows of one commit in the record's order. */
  readonly versions: EntryList<VersionEntry>
  /** The number of first commits that segments on disk hold unchanged. */
  cachedCommits = 0
  /** Whether commits that segments on disk hold have changed. */
  cacheIsStale = false
  /** Set after a redaction elsewhere, until `catchUp` replaces the old commits. */
  isSuperseded = false
  /** The state that a clone without the earlier history begins at: its commit has position 0. */
  beginning: Snapshot | undefined
  #ancestry: Ancestry = new Ancestry()
  /** A version's number is that of its row; memories are numbered by first appearance. */
  #versionIds: IdIndex = new IdIndex()
  #memoryIds: IdIndex = new IdIndex()
  /** The numbers of a memory's first row and of its newest. */
  #memories: Table<{ first: number; newest: number }> = new Table({ first: u32, newest: u32 })
  /** By row, the position of the first redact commit that names it. */
  #redactions: Map<number, number> = new Map()
  /** The rows of the last commit that was asked for: a merge may have thousands. */
  #byPath: { readonly position: number; readonly rows: Map<string, VersionEntry[]> } | undefined
  /** Replaced, not changed, when commits are removed: existing entries remain valid. */
  #table: HistoryTable = new HistoryTable(this.#ids)

  constructor(beginning?: Snapshot) {
    this.beginning = beginning
    this.commits = new EntryList(
      () => this.#table.commits.length,
      (position) => new CommitAt(this.#table, position),
    )
    this.versions = new EntryList(
      () => this.#table.rows.length,
      (row) => new VersionAt(this.#table, row),
    )
    if (beginning !== undefined) this.append(...firstEntryOf(beginning))
  }

  /** Whether the commit at a position stands for all earlier ones (beginning-entry.ts). */
  isBeginning(position: number): boolean {
    return position === 0 && this.beginning !== undefined
  }

  get head(): CommitEntry | undefined {
    return this.commits.at(-1)
  }

  find(versionId: string): VersionEntry | undefined {
    const row = this.#versionIds.find(versionId)
    return row === undefined ? undefined : new VersionAt(this.#table, row)
  }

  /** The index of a version in `versions`. */
  indexOf(versionId: string): number | undefined {
    return this.#versionIds.find(versionId)
  }

  findCommit(oid: Oid, height: number): CommitEntry | undefined {
    return this.atHeight(height).find((commit) => commit.oid === oid)
  }

  /** More than one commit where clones wrote concurrently. */
  atHeight(height: number): readonly CommitEntry[] {
    const start = countLeading(this.commits, (commit) => commit.height < height)
    let end = start
    while (this.commits.at(end)?.height === height) end += 1
    return [...this.commits.range(start, end)]
  }

  /** By itself, for a pass over all of them. */
  timeAt(position: number): number {
    return this.#table.commits.columns.time.get(position)
  }

  isCutAt(position: number): boolean {
    return this.#table.commits.columns.isCut.get(position)
  }

  /** By ascending position, not in git's order. */
  parentsOf({ position }: Pick<CommitEntry, 'position'>): readonly CommitEntry[] {
    return this.#entries(this.#ancestry.parentsOf(position).toSorted((a, b) => a - b))
  }

  isMerge({ position }: Pick<CommitEntry, 'position'>): boolean {
    return this.#ancestry.parentsOf(position).length > 1
  }

  /** Whether the commit at a position is one of the given commits or in the past of one of them. */
  pastOf(...commits: readonly CommitEntry[]): (position: number) => boolean {
    return this.#ancestry.pastOf(commits.map(({ position }) => position))
  }

  /** The commits for which `holds` that are not in the past of another such commit. */
  newest(holds: (commit: CommitEntry) => boolean): readonly CommitEntry[] {
    return this.#entries(
      this.#ancestry.newest((position) => holds(new CommitAt(this.#table, position))),
    )
  }

  /** The ids of all commits. */
  oids(): Oids {
    const { length } = this.commits
    const collector = new OidCollector()
    for (let position = 0; position < length; position += 1) {
      collector.add(this.#table.commits.columns.oid.get(position))
    }
    return new OidSet(collector.finish())
  }

  /** The commits below a position without children there; their ids identify all below it. */
  tipsBefore(position: number): readonly CommitEntry[] {
    return this.#entries(this.#ancestry.tipsBefore(position))
  }

  /** The id of each memory that ever existed, in the order of first appearance. */
  *memoryIds(): Generator<string> {
    for (let memory = 0; memory < this.#memoryIds.size; memory += 1) {
      yield this.#memoryIds.idAt(memory)
    }
  }

  /** The versions of a memory, in the order of the history. */
  ofMemory(memoryId: string): readonly VersionEntry[] {
    const versions: VersionEntry[] = []
    for (
      let row = this.#newestRow(memoryId);
      row !== undefined;
      row = this.#table.rows.columns.before.get(row)
    ) {
      versions.push(new VersionAt(this.#table, row))
    }
    return versions.toReversed()
  }

  /** The first version of a memory. */
  firstOf(memoryId: string): VersionEntry | undefined {
    const memory = this.#memoryIds.find(memoryId)
    if (memory === undefined) return undefined
    return new VersionAt(this.#table, this.#memories.columns.first.get(memory))
  }

  /** The newest version of a memory whose commit's position satisfies `holds`. */
  newestOf(
    memoryId: string,
    holds: (position: number) => boolean = () => true,
  ): VersionEntry | undefined {
    for (
      let row = this.#newestRow(memoryId);
      row !== undefined;
      row = this.#table.rows.columns.before.get(row)
    ) {
      if (holds(this.#table.rows.columns.position.get(row))) return new VersionAt(this.#table, row)
    }
    return undefined
  }

  /** The versions that the commit at a position wrote. */
  rowsAt(position: number): readonly VersionEntry[] {
    return [...this.versions.range(...this.rangeAt(position))]
  }

  /** Their indexes in `versions`: the first, and the one after the last. */
  rangeAt(position: number): readonly [start: number, end: number] {
    return [this.#table.firstRow(position), this.#table.firstRow(position + 1)]
  }

  /** The versions that the commit at a position wrote at a path: those of one merge are joined. */
  rowsAtPath(position: number, path: string): readonly VersionEntry[] {
    if (this.#byPath?.position !== position) {
      const rows = new Map<string, VersionEntry[]>()
      for (const row of this.rowsAt(position)) {
        if (row.path === undefined) continue
        const same = rows.get(row.path)
        if (same === undefined) rows.set(row.path, [row])
        else same.push(row)
      }
      this.#byPath = { position, rows }
    }
    return this.#byPath.rows.get(path) ?? []
  }

  /** The first redact commit that names a version. */
  findRedaction(versionId: string): CommitEntry | undefined {
    // Few histories have one, and the first look-up of an id makes the index.
    if (this.#redactions.size === 0) return undefined
    const position = this.#redactions.get(this.#versionIds.find(versionId) ?? -1)
    return position === undefined ? undefined : new CommitAt(this.#table, position)
  }

  findMemory(versionId: string): string | undefined {
    return this.find(versionId)?.memoryId
  }

  /**
   * Appends the next commit in canonical order; the versions that it names must exist. `parents`
   * are positions, by default the commit before.
   */
  append(commit: NewCommit, rows: readonly VersionRow[], parents?: readonly number[]): void {
    this.#table.addCommit(commit, this.#ancestry.append(parents))
    for (const row of rows) this.#appendRow(row)
    for (const versionId of commit.redacts) {
      const row = this.#versionIds.find(versionId)
      assert(row !== undefined, 'a redaction names versions in its past')
      this.#table.addRedacted(row)
      this.#noteRedactions(this.commits.length - 1, [row])
    }
  }

  /** Copies runs of commits: the first one from `start` on, each up to the given end. */
  copier(start: number): (end: number) => HistoryRun {
    const [table, ancestry] = [this.#table, this.#ancestry]
    const [versionIds, memoryIds] = [this.#versionIds.ids, this.#memoryIds.ids]
    const copyTable = table.copier(start)
    let from = start
    return (end) => {
      const [first, last] = [table.firstRow(from), table.firstRow(end)]
      const parents: [number, readonly number[]][] = []
      for (let position = from; position < end; position += 1) {
        const known = ancestry.parentsOf(position)
        const follows = known.length < 2 && (known[0] ?? -1) === position - 1
        if (!follows) parents.push([position - from, known])
      }
      from = end
      return {
        ...copyTable(end),
        versionIds: versionIds.bytes(first, last),
        memoryIds: memoryIds.bytes(this.#memoriesBefore(first), this.#memoriesBefore(last)),
        parents,
      }
    }
  }

  /** Appends a run of an equal history; false, with nothing done, if that was another one. */
  appendRun(run: HistoryRun): boolean {
    const [position, row] = [this.commits.length, this.versions.length]
    if (!this.#table.append(run)) return false
    const parents = new Map(run.parents)
    this.#versionIds.append(run.versionIds)
    this.#memoryIds.append(run.memoryIds)
    for (let at = position; at < this.commits.length; at += 1) {
      this.#ancestry.append(parents.get(at - position))
      if (run.redacted.length > 0) this.#noteRedactions(at, this.#table.redactedRows(at))
    }
    const { memory } = this.#table.rows.columns
    for (let at = row; at < this.versions.length; at += 1) this.#noteNewest(memory.get(at), at)
    return true
  }

  /**
   * Applies a redaction: sets the new ids of rewritten commits, by position, and erases what the
   * details said of redacted versions. Newer commits are left to `catchUp`.
   */
  applyRedaction(rewritten: ReadonlyMap<number, Oid>, redacted: ReadonlySet<string>): void {
    this.#byPath = undefined
    for (const [position, oid] of rewritten) {
      if (position >= this.commits.length) continue
      this.#table.commits.columns.oid.set(position, oid)
      this.#changedFrom(position)
    }
    const paths = new Set<number>()
    for (const versionId of redacted) {
      const row = this.#versionIds.find(versionId)
      if (row === undefined) continue
      paths.add(this.#table.eraseRow(row).path)
      this.#changedFrom(this.#table.rows.columns.position.get(row))
    }
    this.#table.forgetPaths(paths)
  }

  /** A copy of the commits below a position. A redaction applied to one shows in the other. */
  prefix(position: number): History {
    const prefix = new History()
    // A history that is read again from its first commit on has all of them.
    prefix.beginning = position === 0 ? undefined : this.beginning
    const table = this.#table
    const rows = table.firstRow(position)
    const memories = this.#memoriesBefore(rows)
    prefix.#ancestry = this.#ancestry.prefix(position)
    prefix.#versionIds = this.#versionIds.prefix(rows)
    prefix.#memoryIds = this.#memoryIds.prefix(memories)
    prefix.#memories = this.#memories.copy(0, memories)
    prefix.#table = table.prefix(prefix.#ids, position)
    for (let row = table.rows.length - 1; row >= rows; row -= 1) {
      const [memory, before] = [
        table.rows.columns.memory.get(row),
        table.rows.columns.before.get(row),
      ]
      if (before !== undefined && memory < memories)
        prefix.#memories.columns.newest.set(memory, before)
    }
    for (const [row, at] of this.#redactions) if (at < position) prefix.#redactions.set(row, at)
    prefix.isSuperseded = this.isSuperseded
    prefix.cachedCommits = this.cachedCommits
    prefix.cacheIsStale = this.cacheIsStale
    if (position < this.commits.length) prefix.#changedFrom(position)
    return prefix
  }

  /** Removes the commits from a position on. */
  truncate(position: number): void {
    if (position < this.commits.length) this.become(this.prefix(position))
  }

  /** Replaces all contents by those of another history, which must not be used afterwards. */
  become(other: History): void {
    this.#byPath = undefined
    this.cachedCommits = other.cachedCommits
    this.cacheIsStale = other.cacheIsStale
    this.isSuperseded = other.isSuperseded
    this.beginning = other.beginning
    this.#ancestry = other.#ancestry
    this.#versionIds = other.#versionIds
    this.#memoryIds = other.#memoryIds
    this.#memories = other.#memories
    this.#redactions = other.#redactions
    this.#table = other.#table
  }

  get #ids(): HistoryTable['ids'] {
    return { versions: this.#versionIds.ids, memories: this.#memoryIds.ids }
  }

  #entries(positions: readonly number[]): readonly CommitEntry[] {
    return positions.map((position) => new CommitAt(this.#table, position))
  }

  #newestRow(memoryId: string): number | undefined {
    const memory = this.#memoryIds.find(memoryId)
    return memory === undefined ? undefined : this.#memories.columns.newest.get(memory)
  }

  #appendRow(row: VersionRow): void {
    const number = this.#versionIds.add(row.versionId)
    assert(number === this.#table.rows.length, 'a version id is used once')
    const memory = this.#memoryIds.add(row.memoryId)
    const isFirst = memory === this.#memories.length
    const before = isFirst ? undefined : this.#memories.columns.newest.get(memory)
    const [base, secondBase] = [this.#rowOf(row.base), this.#rowOf(row.secondBase)]
    this.#table.addRow(row, { memory, before, base, secondBase })
    this.#noteNewest(memory, number)
  }

  #noteNewest(memory: number, row: number): void {
    const { first, newest } = this.#memories.columns
    if (memory === this.#memories.length) first.set(this.#memories.add(), row)
    newest.set(memory, row)
  }

  #noteRedactions(position: number, rows: readonly number[]): void {
    for (const row of rows) if (!this.#redactions.has(row)) this.#redactions.set(row, position)
  }

  /** The number of memories whose first version is before a row. */
  #memoriesBefore(row: number): number {
    const firstRows = {
      length: this.#memories.length,
      at: (memory: number) => this.#memories.columns.first.get(memory),
    }
    return countLeading(firstRows, (first) => first < row)
  }

  #rowOf(versionId: string): number | undefined {
    if (versionId === zeroId) return undefined
    const row = this.#versionIds.find(versionId)
    assert(row !== undefined, 'a version is based on versions in its past')
    return row
  }

  #changedFrom(position: number): void {
    if (position >= this.cachedCommits) return
    this.cachedCommits = position
    this.cacheIsStale = true
  }
}
