// Views of one commit or one version of a history. An entry holds only its index in the table and
// is created on demand. Two entries of one version are different objects: compare their ids.

import { assert } from '../../errors.ts'
import type { Operation, RecordKind, RedactReason } from '../../format/change-record.ts'
import { zeroId } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { VersionAuthor, CommitEntry, VersionEntry } from './history-rows.ts'
import type { HistoryTable } from './history-table.ts'

export class CommitAt implements CommitEntry {
  readonly #table: HistoryTable
  readonly position: number

  constructor(table: HistoryTable, position: number) {
    this.#table = table
    this.position = position
  }

  get oid(): Oid {
    return this.#table.commits.columns.oid.get(this.position)
  }

  get height(): number {
    return this.#table.commits.columns.height.get(this.position)
  }

  get isCut(): boolean {
    return this.#table.commits.columns.isCut.get(this.position)
  }

  get kind(): RecordKind {
    const kind = this.#table.commits.columns.kind.get(this.position)
    assert(kind !== undefined, 'a commit has a kind')
    return kind
  }

  get time(): number {
    return this.#table.commits.columns.time.get(this.position)
  }

  get deviceId(): string {
    return this.#author.deviceId
  }

  get actor(): VersionAuthor['actor'] {
    return this.#author.actor
  }

  get session(): string | undefined {
    return this.#author.session
  }

  get reason(): RedactReason | undefined {
    return this.#table.commits.columns.reason.get(this.position)
  }

  get redacts(): readonly string[] {
    const { id } = this.#table.ids.versions.columns
    return this.#table.redactedRows(this.position).map((row) => id.get(row))
  }

  get note(): string | undefined {
    const { commits, texts } = this.#table
    return texts.notes.at(commits.columns.note.get(this.position))
  }

  get #author(): VersionAuthor {
    const { commits, texts } = this.#table
    const author = texts.authors[commits.columns.author.get(this.position)]
    assert(author !== undefined, 'a commit has an author')
    return author
  }
}

export class VersionAt implements VersionEntry {
  readonly #table: HistoryTable
  readonly #row: number

  constructor(table: HistoryTable, row: number) {
    this.#table = table
    this.#row = row
  }

  get versionId(): string {
    return this.#table.ids.versions.columns.id.get(this.#row)
  }

  get memoryId(): string {
    const { rows, ids } = this.#table
    return ids.memories.columns.id.get(rows.columns.memory.get(this.#row))
  }

  get operation(): Operation {
    const operation = this.#table.rows.columns.operation.get(this.#row)
    assert(operation !== undefined, 'a version has an operation')
    return operation
  }

  get base(): string {
    return this.#idOf(this.#table.rows.columns.base.get(this.#row))
  }

  get secondBase(): string {
    return this.#idOf(this.#table.rows.columns.secondBase.get(this.#row))
  }

  get bases(): readonly VersionEntry[] {
    const { base, secondBase } = this.#table.rows.columns
    return [base.get(this.#row), secondBase.get(this.#row)].flatMap((row) => {
      return row === undefined ? [] : new VersionAt(this.#table, row)
    })
  }

  get path(): string | undefined {
    const { rows, texts } = this.#table
    return texts.paths.at(rows.columns.path.get(this.#row))
  }

  get size(): number | undefined {
    return this.#hasContent ? this.#table.rows.columns.size.get(this.#row) : undefined
  }

  get sha256(): string | undefined {
    return this.#hasContent ? this.#table.rows.columns.sha256.get(this.#row) : undefined
  }

  get commit(): CommitEntry {
    return new CommitAt(this.#table, this.#table.rows.columns.position.get(this.#row))
  }

  get #hasContent(): boolean {
    return this.#table.rows.columns.path.get(this.#row) !== 0 && this.operation !== 'deleted'
  }

  #idOf(row: number | undefined): string {
    return row === undefined ? zeroId : this.#table.ids.versions.columns.id.get(row)
  }
}

/** A list whose entries are created on demand. */
export class EntryList<T> implements Iterable<T> {
  readonly #count: () => number
  readonly #entry: (index: number) => T

  constructor(count: () => number, entry: (index: number) => T) {
    this.#count = count
    this.#entry = entry
  }

  get length(): number {
    return this.#count()
  }

  /** Undefined out of range; -1 is the last entry. */
  at(index: number): T | undefined {
    const from = index < 0 ? index + this.length : index
    return from >= 0 && from < this.length ? this.#entry(from) : undefined
  }

  /** The entries from `start` to `end`, exclusive. */
  *range(start: number, end: number = this.length): Generator<T> {
    for (let index = start; index < Math.min(end, this.length); index += 1) yield this.#entry(index)
  }

  /** From the last entry to the first. */
  *reversed(): Generator<T> {
    for (let index = this.length - 1; index >= 0; index -= 1) yield this.#entry(index)
  }

  [Symbol.iterator](): Generator<T> {
    return this.range(0)
  }
}
