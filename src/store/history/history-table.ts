// The commits and version rows of a history as records of about fifty bytes: a million fit in RAM.
// Rows refer to each other, memories, authors and texts by number. No copy of erased data remains
// elsewhere in RAM. Must not search.

import { assert } from '../../errors.ts'
import type { Operation, RecordKind, RedactReason } from '../../format/change-record.ts'
import { operations, recordKinds, redactReasons, zeroId } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import { Records } from '../tables/records.ts'
import { Names, Notes } from '../tables/texts.ts'
import type { Author, NewCommit, VersionRow } from './history-rows.ts'
import { Appearances, type TableRun } from './history-run.ts'

// Fields of a commit.
const OID = 0
const TIME = 20
const FIRST_ROW = 28
const FIRST_REDACTED = 32
const HEIGHT = 36
const AUTHOR = 40
const NOTE = 44
const KIND = 48
const REASON = 49
const IS_CUT = 50
const COMMIT_BYTES = 51
// Fields of a row. Rows are stored as their number plus one; 0 means none.
const MEMORY = 0
const POSITION = 4
const BEFORE = 8
const BASE = 12
const SECOND_BASE = 16
const PATH = 20
const SIZE = 24
const OPERATION = 28
const SHA256 = 29
const ROW_BYTES = 61

const OID_BYTES = 20
const ID_BYTES = 16
const SHA256_BYTES = 32

/** Ids by number. */
interface Ids {
  readonly versions: Records
  readonly memories: Records
}

interface Texts {
  readonly authors: Author[]
  readonly authorNumbers: Map<string, number>
  readonly paths: Names
  readonly notes: Notes
}

interface Parts {
  readonly commits: Records
  readonly rows: Records
  readonly redacted: Records
  readonly texts: Texts
}

function emptyParts(): Parts {
  return {
    commits: new Records(COMMIT_BYTES),
    rows: new Records(ROW_BYTES),
    redacted: new Records(4),
    texts: { authors: [], authorNumbers: new Map(), paths: new Names(), notes: new Notes() },
  }
}

/** The rows and the memory that a new row refers to, by number. */
export interface RowLinks {
  readonly memory: number
  /** The version of the same memory that was written before. */
  readonly before: number | undefined
  readonly base: number | undefined
  readonly secondBase: number | undefined
}

export class HistoryTable {
  readonly commits: Records
  readonly rows: Records
  /** Numbers of rows that redact records name, in the order of those records. */
  readonly redacted: Records
  readonly #ids: Ids
  readonly #texts: Texts

  constructor(ids: Ids, parts: Parts = emptyParts()) {
    this.#ids = ids
    this.commits = parts.commits
    this.rows = parts.rows
    this.redacted = parts.redacted
    this.#texts = parts.texts
  }

  /** A copy of the first `commits` commits; `ids` must contain their ids. */
  prefix(ids: Ids, commits: number): HistoryTable {
    return new HistoryTable(ids, {
      commits: this.commits.prefix(commits),
      rows: this.rows.prefix(this.firstRow(commits)),
      redacted: this.redacted.prefix(this.#firstRedacted(commits)),
      texts: this.#texts,
    })
  }

  addCommit(commit: NewCommit, isCut: boolean): void {
    const { oid, height, kind, time, reason, note } = commit
    const { commits } = this
    const position = commits.add()
    commits.setHex(position, OID, oid)
    commits.setF64(position, TIME, time)
    commits.setU32(position, FIRST_ROW, this.rows.length)
    commits.setU32(position, FIRST_REDACTED, this.redacted.length)
    commits.setU32(position, HEIGHT, height)
    commits.setU32(position, AUTHOR, this.#authorNumber(commit))
    commits.setU32(position, NOTE, this.#texts.notes.add(note))
    commits.setU8(position, KIND, codeOf(recordKinds, kind))
    commits.setU8(position, REASON, codeOf(redactReasons, reason))
    commits.setU8(position, IS_CUT, Number(isCut))
  }

  /** Adds a row to the newest commit. */
  addRow(row: VersionRow, links: RowLinks): void {
    const { rows } = this
    const number = rows.add()
    rows.setU32(number, MEMORY, links.memory)
    rows.setU32(number, POSITION, this.commits.length - 1)
    rows.setU32(number, BEFORE, optional(links.before))
    rows.setU32(number, BASE, optional(links.base))
    rows.setU32(number, SECOND_BASE, optional(links.secondBase))
    rows.setU32(number, PATH, this.#texts.paths.numberOf(row.path))
    rows.setU8(number, OPERATION, codeOf(operations, row.operation))
    if (row.sha256 === undefined || row.size === undefined) return
    rows.setU32(number, SIZE, row.size)
    rows.setHex(number, SHA256, row.sha256)
  }

  /** Copies runs of commits: the first one from `start` on, each up to the given end. */
  copier(start: number): (end: number) => TableRun {
    const texts = { paths: new Appearances(), authors: new Appearances() }
    for (let row = 0; row < this.firstRow(start); row += 1) {
      const path = this.rows.u32(row, PATH)
      if (path !== 0) texts.paths.numberOf(path)
    }
    for (let at = 0; at < start; at += 1) texts.authors.numberOf(this.commits.u32(at, AUTHOR))
    let from = start
    return (end) => {
      const run = this.#copy(from, end, texts)
      from = end
      return run
    }
  }

  /** Appends a run; false, with nothing done, if the commits before it have other texts. */
  append(run: TableRun): boolean {
    const { paths, authors, notes } = this.#texts
    const { textsBefore } = run
    if (paths.length - 1 !== textsBefore.paths) return false
    if (authors.length !== textsBefore.authors) return false
    for (const path of run.paths) paths.numberOf(path)
    for (const author of run.authors) this.#authorNumber(author)
    const start = this.commits.length
    this.commits.append(run.commits)
    this.rows.append(run.rows)
    this.redacted.append(run.redacted)
    for (const [index, bytes] of run.notes) {
      this.commits.setU32(start + index, NOTE, notes.addBytes(bytes))
    }
    return true
  }

  #copy(
    start: number,
    end: number,
    texts: { readonly paths: Appearances; readonly authors: Appearances },
  ): TableRun {
    const textsBefore = { paths: texts.paths.size, authors: texts.authors.size }
    const commits = this.commits.bytes(start, end)
    const notes = new Map<number, Uint8Array>()
    for (let at = 0; at < commits.length; at += COMMIT_BYTES) {
      const author = texts.authors.numberOf(commits.readUInt32LE(at + AUTHOR))
      commits.writeUInt32LE(author - 1, at + AUTHOR)
      const note = this.#texts.notes.bytesAt(commits.readUInt32LE(at + NOTE))
      if (note !== undefined) notes.set(at / COMMIT_BYTES, note)
      commits.writeUInt32LE(0, at + NOTE)
    }
    const rows = this.rows.bytes(this.firstRow(start), this.firstRow(end))
    for (let at = PATH; at < rows.length; at += ROW_BYTES) {
      const path = rows.readUInt32LE(at)
      if (path !== 0) rows.writeUInt32LE(texts.paths.numberOf(path), at)
    }
    const redacted = this.redacted.bytes(this.#firstRedacted(start), this.#firstRedacted(end))
    const paths = texts.paths.after(textsBefore.paths).map((path) => this.#texts.paths.at(path))
    const authors = texts.authors.after(textsBefore.authors)
    return {
      commits,
      rows,
      redacted,
      textsBefore,
      paths: paths.map((path) => path ?? ''),
      authors: authors.flatMap((author) => this.#texts.authors[author] ?? []),
      notes,
    }
  }

  /** Notes that the newest commit redacts a row. */
  addRedacted(row: number): void {
    this.redacted.setU32(this.redacted.add(), 0, row)
  }

  /**
   * Erases what the detail said of a row, and the note of the commit if its first row is erased.
   */
  eraseRow(row: number): { readonly path: number } {
    const { rows, commits } = this
    const path = rows.u32(row, PATH)
    rows.setU32(row, PATH, 0)
    rows.setU32(row, SIZE, 0)
    rows.setZero(row, SHA256, SHA256_BYTES)
    const position = this.position(row)
    // The first row's detail holds the note of the whole change.
    if (this.firstRow(position) === row) {
      this.#texts.notes.forget(commits.u32(position, NOTE))
      commits.setU32(position, NOTE, 0)
    }
    return { path }
  }

  /** Forgets those of the given paths that no row uses. */
  forgetPaths(numbers: ReadonlySet<number>): void {
    const unused = new Set(numbers)
    for (let row = 0; row < this.rows.length && unused.size > 0; row += 1) {
      unused.delete(this.rows.u32(row, PATH))
    }
    for (const number of unused) this.#texts.paths.forget(number)
  }

  setOid(position: number, oid: Oid): void {
    this.commits.setHex(position, OID, oid)
  }

  oid(position: number): Oid {
    return this.commits.hex(position, OID, OID_BYTES)
  }

  height(position: number): number {
    return this.commits.u32(position, HEIGHT)
  }

  time(position: number): number {
    return this.commits.f64(position, TIME)
  }

  isCut(position: number): boolean {
    return this.commits.u8(position, IS_CUT) !== 0
  }

  kind(position: number): RecordKind {
    const kind = valueOf(recordKinds, this.commits.u8(position, KIND))
    assert(kind !== undefined, 'a commit has a kind')
    return kind
  }

  reason(position: number): RedactReason | undefined {
    return valueOf(redactReasons, this.commits.u8(position, REASON))
  }

  author(position: number): Author {
    const author = this.#texts.authors[this.commits.u32(position, AUTHOR)]
    assert(author !== undefined, 'a commit has an author')
    return author
  }

  note(position: number): string | undefined {
    return this.#texts.notes.at(this.commits.u32(position, NOTE))
  }

  redacts(position: number): readonly string[] {
    return this.redactedRows(position).map((row) => this.versionId(row))
  }

  redactedRows(position: number): readonly number[] {
    const [start, end] = [this.#firstRedacted(position), this.#firstRedacted(position + 1)]
    return Array.from({ length: end - start }, (_, index) => this.redacted.u32(start + index, 0))
  }

  /** The first row at or after a position. */
  firstRow(position: number): number {
    const isPast = position >= this.commits.length
    return isPast ? this.rows.length : this.commits.u32(position, FIRST_ROW)
  }

  versionId(row: number): string {
    return this.#ids.versions.hex(row, 0, ID_BYTES)
  }

  memoryId(row: number): string {
    return this.#ids.memories.hex(this.memory(row), 0, ID_BYTES)
  }

  memory(row: number): number {
    return this.rows.u32(row, MEMORY)
  }

  position(row: number): number {
    return this.rows.u32(row, POSITION)
  }

  before(row: number): number | undefined {
    return numberOf(this.rows.u32(row, BEFORE))
  }

  base(row: number): string {
    return this.#idOf(this.rows.u32(row, BASE))
  }

  secondBase(row: number): string {
    return this.#idOf(this.rows.u32(row, SECOND_BASE))
  }

  /** The rows of the versions that a row names as those before it. */
  bases(row: number): readonly number[] {
    return [BASE, SECOND_BASE].flatMap((field) => numberOf(this.rows.u32(row, field)) ?? [])
  }

  operation(row: number): Operation {
    const operation = valueOf(operations, this.rows.u8(row, OPERATION))
    assert(operation !== undefined, 'a version has an operation')
    return operation
  }

  path(row: number): string | undefined {
    return this.#texts.paths.at(this.rows.u32(row, PATH))
  }

  size(row: number): number | undefined {
    return this.#hasContent(row) ? this.rows.u32(row, SIZE) : undefined
  }

  sha256(row: number): string | undefined {
    return this.#hasContent(row) ? this.rows.hex(row, SHA256, SHA256_BYTES) : undefined
  }

  /** A redacted row has no path. */
  #hasContent(row: number): boolean {
    return this.rows.u32(row, PATH) !== 0 && this.operation(row) !== 'deleted'
  }

  #firstRedacted(position: number): number {
    const isPast = position >= this.commits.length
    return isPast ? this.redacted.length : this.commits.u32(position, FIRST_REDACTED)
  }

  #idOf(name: number): string {
    const row = numberOf(name)
    return row === undefined ? zeroId : this.versionId(row)
  }

  #authorNumber({ deviceId, actor, session }: Author): number {
    const { authors, authorNumbers } = this.#texts
    const key = JSON.stringify([deviceId, actor?.type, actor?.id, session])
    const known = authorNumbers.get(key)
    if (known !== undefined) return known
    const number = authors.push({ deviceId, actor, session }) - 1
    authorNumbers.set(key, number)
    return number
  }
}

/** Encodes an optional number: 0 means none. */
function optional(number: number | undefined): number {
  return number === undefined ? 0 : number + 1
}

function numberOf(name: number): number | undefined {
  return name === 0 ? undefined : name - 1
}

export function codeOf<T>(values: readonly T[], value: T | undefined): number {
  if (value === undefined) return 0
  const index = values.indexOf(value)
  assert(index !== -1, 'a value that has a code')
  return index + 1
}

export function valueOf<T>(values: readonly T[], code: number): T | undefined {
  return code === 0 ? undefined : values[code - 1]
}
