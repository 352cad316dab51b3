// The commits and version rows of a history as rows of about fifty bytes: a million fit in RAM.
// Rows refer to each other, memories, authors and texts by number. No copy of erased data remains
// elsewhere in RAM. Must not search.

import type { Operation, RecordKind, RedactReason } from '../../format/change-record.ts'
import { operations, recordKinds, redactReasons } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Ids } from '../tables/id-index.ts'
import { code, type Column, f64, flag, hex, link, Table, u32 } from '../tables/table.ts'
import { Names, Notes } from '../tables/texts.ts'
import type { VersionAuthor, NewCommit, VersionRow } from './history-rows.ts'

interface CommitFields {
  oid: Oid
  time: number
  firstRow: number
  firstRedacted: number
  height: number
  author: number
  note: number
  kind: RecordKind | undefined
  reason: RedactReason | undefined
  isCut: boolean
}

interface RowFields {
  memory: number
  position: number
  /** The version of the same memory that was written before. */
  before: number | undefined
  base: number | undefined
  secondBase: number | undefined
  /** 0 once redacted. */
  path: number
  size: number
  operation: Operation | undefined
  sha256: string
}

/** The rows and the memory that a new row refers to, by number. */
export type RowLinks = Pick<RowFields, 'memory' | 'before' | 'base' | 'secondBase'>

function commitTable(): Table<CommitFields> {
  return new Table({
    oid: hex(20),
    time: f64,
    firstRow: u32,
    firstRedacted: u32,
    height: u32,
    author: u32,
    note: u32,
    kind: code(recordKinds),
    reason: code(redactReasons),
    isCut: flag,
  })
}

function rowTable(): Table<RowFields> {
  return new Table({
    memory: u32,
    position: u32,
    before: link,
    base: link,
    secondBase: link,
    path: u32,
    size: u32,
    operation: code(operations),
    sha256: hex(32),
  })
}

/** Texts by number, from 1. */
class Texts {
  readonly authors: (VersionAuthor | undefined)[] = [undefined]
  readonly #authorNumbers: Map<string, number> = new Map()
  readonly paths: Names = new Names()
  readonly notes: Notes = new Notes()

  authorNumber({ deviceId, actor, session }: VersionAuthor): number {
    const key = JSON.stringify([deviceId, actor?.type, actor?.id, session])
    const known = this.#authorNumbers.get(key)
    if (known !== undefined) return known
    const number = this.authors.push({ deviceId, actor, session }) - 1
    this.#authorNumbers.set(key, number)
    return number
  }
}

/**
 * Consecutive commits as bytes of their tables, to be kept elsewhere and appended to an equal
 * history. Rows, positions and memories have the same numbers in each process, since they follow
 * from the history; texts are numbered by first appearance.
 */
interface TableRun {
  readonly commits: Uint8Array
  readonly rows: Uint8Array
  readonly redacted: Uint8Array
  readonly texts: {
    /** The numbers of texts that the commits before have. */
    readonly pathsBefore: number
    readonly authorsBefore: number
    /** The texts that no commit before has, in the order of their numbers. */
    readonly paths: readonly string[]
    readonly authors: readonly VersionAuthor[]
    /** By the index of the commit in the run. */
    readonly notes: readonly (readonly [index: number, note: string])[]
  }
}

/** A run with the ids and parents of its commits. */
export interface HistoryRun extends TableRun {
  /** 16 bytes each: of the rows, and of the memories that appear first in them. */
  readonly versionIds: Uint8Array
  readonly memoryIds: Uint8Array
  /** Positions, by index in the run; left out where the only parent is the commit before. */
  readonly parents: readonly (readonly [index: number, positions: readonly number[]])[]
}

/** Ids by number. */
interface HistoryIds {
  readonly versions: Ids
  readonly memories: Ids
}

export class HistoryTable {
  readonly commits: Table<CommitFields>
  readonly rows: Table<RowFields>
  /** Numbers of rows that redact records name, in the order of those records. */
  readonly redacted: Table<{ row: number }>
  readonly ids: HistoryIds
  readonly texts: Texts

  constructor(
    ids: HistoryIds,
    commits: Table<CommitFields> = commitTable(),
    rows: Table<RowFields> = rowTable(),
    redacted: Table<{ row: number }> = new Table({ row: u32 }),
    texts: Texts = new Texts(),
  ) {
    this.ids = ids
    this.commits = commits
    this.rows = rows
    this.redacted = redacted
    this.texts = texts
  }

  /** A copy of the first `length` commits; `ids` must contain their ids. */
  prefix(ids: HistoryIds, length: number): HistoryTable {
    return new HistoryTable(
      ids,
      this.commits.prefix(length),
      this.rows.prefix(this.firstRow(length)),
      this.redacted.prefix(this.#firstRedacted(length)),
      this.texts,
    )
  }

  addCommit(commit: NewCommit, isCut: boolean): void {
    const { columns } = this.commits
    const position = this.commits.add()
    columns.oid.set(position, commit.oid)
    columns.time.set(position, commit.time)
    columns.firstRow.set(position, this.rows.length)
    columns.firstRedacted.set(position, this.redacted.length)
    columns.height.set(position, commit.height)
    columns.author.set(position, this.texts.authorNumber(commit))
    columns.note.set(position, this.texts.notes.add(commit.note))
    columns.kind.set(position, commit.kind)
    columns.reason.set(position, commit.reason)
    columns.isCut.set(position, isCut)
  }

  /** Adds a row to the newest commit. */
  addRow({ path, operation, size, sha256 }: VersionRow, links: RowLinks): void {
    const { columns } = this.rows
    const row = this.rows.add()
    columns.memory.set(row, links.memory)
    columns.position.set(row, this.commits.length - 1)
    columns.before.set(row, links.before)
    columns.base.set(row, links.base)
    columns.secondBase.set(row, links.secondBase)
    columns.path.set(row, this.texts.paths.numberOf(path))
    columns.operation.set(row, operation)
    if (sha256 === undefined || size === undefined) return
    columns.size.set(row, size)
    columns.sha256.set(row, sha256)
  }

  addRedacted(row: number): void {
    this.redacted.columns.row.set(this.redacted.add(), row)
  }

  /** Copies runs of commits: the first one from `start` on, each up to the given end. */
  copier(start: number): (end: number) => TableRun {
    const [paths, authors] = [new Appearances(), new Appearances()]
    paths.addAll(this.rows.columns.path, this.firstRow(start))
    authors.addAll(this.commits.columns.author, start)
    let from = start
    return (end) => {
      const run = this.#copy(from, end, paths, authors)
      from = end
      return run
    }
  }

  /** Appends a run; false, with nothing done, if the commits before it have other texts. */
  append({ commits, rows, redacted, texts }: TableRun): boolean {
    const { paths, authors, notes } = this.texts
    if (paths.length - 1 !== texts.pathsBefore) return false
    if (authors.length - 1 !== texts.authorsBefore) return false
    for (const path of texts.paths) paths.numberOf(path)
    for (const author of texts.authors) this.texts.authorNumber(author)
    const start = this.commits.length
    this.commits.append(commits)
    this.rows.append(rows)
    this.redacted.append(redacted)
    for (const [index, note] of texts.notes) {
      this.commits.columns.note.set(start + index, notes.add(note))
    }
    return true
  }

  #copy(start: number, end: number, paths: Appearances, authors: Appearances): TableRun {
    const commits = this.commits.copy(start, end)
    const rows = this.rows.copy(this.firstRow(start), this.firstRow(end))
    const [pathsBefore, authorsBefore] = [paths.size, authors.size]
    paths.renumber(rows.columns.path, rows.length)
    authors.renumber(commits.columns.author, commits.length)
    const { note } = commits.columns
    const notes: [number, string][] = []
    for (let index = 0; index < commits.length; index += 1) {
      const text = this.texts.notes.at(note.get(index))
      if (text !== undefined) notes.push([index, text])
      note.set(index, 0)
    }
    const texts = {
      pathsBefore,
      authorsBefore,
      paths: paths.after(pathsBefore).map((number) => this.texts.paths.at(number) ?? ''),
      authors: authors.after(authorsBefore).flatMap((number) => this.texts.authors[number] ?? []),
      notes,
    }
    const redacted = this.redacted.bytes(this.#firstRedacted(start), this.#firstRedacted(end))
    return { commits: commits.bytes(), rows: rows.bytes(), redacted, texts }
  }

  /**
   * Erases what the detail said of a row, and the note of the commit if its first row is erased.
   */
  eraseRow(row: number): { readonly path: number } {
    const { path, size, sha256, position } = this.rows.columns
    const erased = path.get(row)
    path.set(row, 0)
    size.set(row, 0)
    sha256.set(row, '')
    const commit = position.get(row)
    // The first row's detail holds the note of the whole change.
    if (this.firstRow(commit) === row) {
      const { note } = this.commits.columns
      this.texts.notes.forget(note.get(commit))
      note.set(commit, 0)
    }
    return { path: erased }
  }

  /** Forgets those of the given paths that no row uses. */
  forgetPaths(numbers: ReadonlySet<number>): void {
    const { path } = this.rows.columns
    const unused = new Set(numbers)
    for (let row = 0; row < this.rows.length && unused.size > 0; row += 1) {
      unused.delete(path.get(row))
    }
    for (const number of unused) this.texts.paths.forget(number)
  }

  redactedRows(position: number): readonly number[] {
    const [start, end] = [this.#firstRedacted(position), this.#firstRedacted(position + 1)]
    const { row } = this.redacted.columns
    return Array.from({ length: end - start }, (_, index) => row.get(start + index))
  }

  /** The first row at or after a position. */
  firstRow(position: number): number {
    const isPast = position >= this.commits.length
    return isPast ? this.rows.length : this.commits.columns.firstRow.get(position)
  }

  #firstRedacted(position: number): number {
    const isPast = position >= this.commits.length
    return isPast ? this.redacted.length : this.commits.columns.firstRedacted.get(position)
  }
}

/** Numbers texts by first appearance, from 1, by their numbers in a table. 0 is kept. */
class Appearances {
  readonly #numbers: Map<number, number> = new Map([[0, 0]])

  get size(): number {
    return this.#numbers.size - 1
  }

  addAll(column: Column<number>, length: number): void {
    for (let row = 0; row < length; row += 1) this.#numberOf(column.get(row))
  }

  renumber(column: Column<number>, length: number): void {
    for (let row = 0; row < length; row += 1) column.set(row, this.#numberOf(column.get(row)))
  }

  /** The texts after the first `count`. */
  after(count: number): readonly number[] {
    return [...this.#numbers.keys()].slice(count + 1)
  }

  #numberOf(text: number): number {
    const known = this.#numbers.get(text)
    if (known !== undefined) return known
    const number = this.#numbers.size
    this.#numbers.set(text, number)
    return number
  }
}
