// Views of one commit or one version of a history. An entry holds only its index in the table and
// is created on demand. Two entries of one version are different objects: compare their ids.

import type { Actor, Operation, RecordKind, RedactReason } from '../../format/change-record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { CommitEntry, VersionEntry } from './history-rows.ts'
import type { HistoryTable } from './history-table.ts'

/** A view of a commit in a table. */
export class CommitAt implements CommitEntry {
  readonly #table: HistoryTable
  readonly position: number

  constructor(table: HistoryTable, position: number) {
    this.#table = table
    this.position = position
  }

  get oid(): Oid {
    return this.#table.oid(this.position)
  }

  get height(): number {
    return this.#table.height(this.position)
  }

  get isCut(): boolean {
    return this.#table.isCut(this.position)
  }

  get kind(): RecordKind {
    return this.#table.kind(this.position)
  }

  get time(): number {
    return this.#table.time(this.position)
  }

  get deviceId(): string {
    return this.#table.author(this.position).deviceId
  }

  get actor(): Actor | undefined {
    return this.#table.author(this.position).actor
  }

  get session(): string | undefined {
    return this.#table.author(this.position).session
  }

  get reason(): RedactReason | undefined {
    return this.#table.reason(this.position)
  }

  get redacts(): readonly string[] {
    return this.#table.redacts(this.position)
  }

  get note(): string | undefined {
    return this.#table.note(this.position)
  }
}

/** A view of a version in a table. */
export class VersionAt implements VersionEntry {
  readonly #table: HistoryTable
  readonly #row: number

  constructor(table: HistoryTable, row: number) {
    this.#table = table
    this.#row = row
  }

  get versionId(): string {
    return this.#table.versionId(this.#row)
  }

  get memoryId(): string {
    return this.#table.memoryId(this.#row)
  }

  get operation(): Operation {
    return this.#table.operation(this.#row)
  }

  get base(): string {
    return this.#table.base(this.#row)
  }

  get secondBase(): string {
    return this.#table.secondBase(this.#row)
  }

  get bases(): readonly VersionEntry[] {
    return this.#table.bases(this.#row).map((row) => new VersionAt(this.#table, row))
  }

  get path(): string | undefined {
    return this.#table.path(this.#row)
  }

  get size(): number | undefined {
    return this.#table.size(this.#row)
  }

  get sha256(): string | undefined {
    return this.#table.sha256(this.#row)
  }

  get commit(): CommitEntry {
    return new CommitAt(this.#table, this.#table.position(this.#row))
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
