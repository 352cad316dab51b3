// The records of a host as sealed rows in memory: what a database does, for tests. Several openings
// share the rows, as servers do; each remembers the newest generation that it has seen.

import { setImmediate as turn } from 'node:timers/promises'
import { utf8, utf8Text } from '../../src/bytes.ts'
import { StoreError } from '../../src/errors.ts'
import type { RecordsOptions, RecordsRole } from '../../src/hosting/host-backend.ts'
import {
  comparePlaces,
  type HostRecords,
  placeIn,
  type RecordQuery,
  type RecordsSnapshot,
  type RecordStep,
  type RecordStepOn,
  type RecordTally,
  type StoredRecord,
} from '../../src/hosting/host-records.ts'
import { sealList } from '../../src/hosting/list-file.ts'
import {
  openRow,
  type SealedRow,
  type SealedRowPlace,
  sealRow,
} from '../../src/hosting/sealed-row.ts'
import {
  type CacheOwner,
  openCache,
  sealCache,
  untilPadding,
} from '../../src/store/local/sealed-cache.ts'

/** The rows of one list, by table and id, and its sealed generation. */
export interface RowTables {
  readonly tables: Map<string, Map<string, SealedRow>>
  head: Uint8Array | undefined
}

export class RowDatabase {
  readonly #lists = new Map<RecordsRole, RowTables>()

  clear(): void {
    this.#lists.clear()
  }

  of(role: RecordsRole): RowTables {
    const found = this.#lists.get(role) ?? { tables: new Map(), head: undefined }
    this.#lists.set(role, found)
    return found
  }
}

/** The newest generations that a server has seen, which it keeps outside of the database. */
export type SeenGenerations = Map<RecordsRole, number>

interface Parts<T> extends RecordsOptions<T> {
  readonly owner: CacheOwner
  readonly rows: RowTables
  readonly seen: SeenGenerations
}

export class VolatileRecords<T extends object> implements HostRecords<T> {
  readonly #parts: Parts<T>
  wasRolledBack = false

  private constructor(parts: Parts<T>) {
    this.#parts = parts
  }

  static async open<T extends object>(parts: Parts<T>): Promise<VolatileRecords<T>> {
    const records = new VolatileRecords(parts)
    await turn()
    records.#open()
    return records
  }

  #open(): void {
    const { rows, acceptRolledBack, first, firstAbove = 0 } = this.#parts
    const seen = this.#seen()
    this.wasRolledBack = this.#generation() < seen
    if (this.wasRolledBack && !acceptRolledBack) throw this.#rolledBack()
    if (this.wasRolledBack) this.#advance(seen + 1)
    if (rows.head !== undefined) return
    const lists = first()
    this.#advance(Math.max(seen, firstAbove) + 1)
    for (const table of this.#names()) {
      for (const record of lists[table]) this.#write(table, record)
    }
  }

  async checkRoom(): Promise<void> {}

  async find<K extends keyof T>(table: K, id: string): Promise<StoredRecord<T[K]> | undefined> {
    await this.#look()
    const row = this.#rows(table).get(id)
    if (row === undefined) return undefined
    return { record: openRow(this.#place(table), row), revision: String(row.generation) }
  }

  async list<K extends keyof T>(table: K): Promise<readonly T[K][]> {
    await this.#look()
    return this.#all(table)
  }

  async count(table: keyof T): Promise<number> {
    await this.#look()
    return this.#rows(table).size
  }

  async page<K extends keyof T>(table: K, query: RecordQuery<T[K]>): Promise<readonly T[K][]> {
    await this.#look()
    const { scope, among, since, until, after, isWanted, limit } = query
    const shape = this.#parts.tables[table]
    const found = this.#all(table).filter((record) => {
      const place = placeIn(shape, record)
      if (shape.scopeOf(record) !== scope || among?.includes(place.id) === false) return false
      if (place.time < since || place.time > until) return false
      return (after === undefined || comparePlaces(place, after) > 0) && isWanted(record)
    })
    return found.slice(0, limit)
  }

  async tally(table: keyof T, scope: string, after: number): Promise<RecordTally> {
    await this.#look()
    return this.#tally(table, scope, after)
  }

  /** Between one turn of the event loop and the next, as in a transaction. */
  async change(steps: readonly RecordStep<T>[]): Promise<boolean> {
    await this.#look()
    const { rows } = this.#parts
    const before = { head: rows.head, tables: new Map<string, Map<string, SealedRow>>() }
    for (const [name, table] of rows.tables) before.tables.set(name, new Map(table))
    this.#advance(this.#generation() + 1)
    if (steps.every((step) => this.#take(step))) return true
    rows.head = before.head
    for (const name of rows.tables.keys()) {
      rows.tables.set(name, before.tables.get(name) ?? new Map<string, SealedRow>())
    }
    this.#parts.seen.set(this.#parts.role, this.#generation())
    return false
  }

  async snapshot(): Promise<RecordsSnapshot<T>> {
    await this.#look()
    const entries = this.#names().map((table) => [table, this.#all(table)])
    const lists = Object.fromEntries(entries)
    const { owner, role } = this.#parts
    const file = { generation: this.#generation(), value: lists }
    return { lists, bytes: sealList(owner, role, file) }
  }

  #take<K extends keyof T>(step: RecordStepOn<T, K>): boolean {
    const { idOf } = this.#parts.tables[step.table]
    const rows = this.#rows(step.table)
    switch (step.kind) {
      case 'add':
        return !rows.has(idOf(step.record)) && this.#write(step.table, step.record)
      case 'replace': {
        const row = rows.get(idOf(step.record))
        const isSame = String(row?.generation) === step.revision
        return isSame && this.#write(step.table, step.record)
      }
      case 'remove':
        return rows.delete(step.id)
      case 'expect':
        return String(rows.get(step.id)?.generation) === step.revision
      case 'clear':
        return removeRows(rows, ({ scope }) => scope === step.scope)
      case 'expire':
        return removeRows(rows, ({ time }) => time <= step.until)
      case 'bound':
        break
    }
    const { count, weight } = this.#tally(step.table, step.scope, -Infinity)
    return count <= step.count && weight <= step.weight
  }

  #tally(table: keyof T, scope: string, after: number): RecordTally {
    const all = [...this.#rows(table).values()]
    const found = all.filter((row) => row.scope === scope && row.time > after)
    return { count: found.length, weight: found.reduce((sum, { weight }) => sum + weight, 0) }
  }

  #write<K extends keyof T>(table: K, record: T[K]): true {
    const row = sealRow(this.#place(table), record, this.#generation())
    this.#rows(table).set(row.id, row)
    return true
  }

  #all<K extends keyof T>(table: K): readonly T[K][] {
    const shape = this.#parts.tables[table]
    const rows = [...this.#rows(table).values()]
    const records = rows.map((row) => openRow(this.#place(table), row))
    const sorted = records.toSorted((a, b) => comparePlaces(placeIn(shape, a), placeIn(shape, b)))
    return shape.order === 'newest' ? sorted : sorted.toReversed()
  }

  /** Another process may have changed the rows, or put older ones back. */
  async #look(): Promise<void> {
    await turn()
    const generation = this.#generation()
    if (generation < this.#seen()) throw this.#rolledBack()
    this.#parts.seen.set(this.#parts.role, generation)
  }

  #seen(): number {
    return this.#parts.seen.get(this.#parts.role) ?? 0
  }

  #generation(): number {
    const { owner, role, rows } = this.#parts
    if (rows.head === undefined) return 0
    const place = { path: '', role, generation: 0 } as const
    return Number(utf8Text(untilPadding(openCache(owner, place, rows.head))))
  }

  #advance(generation: number): void {
    const { owner, role, rows, seen } = this.#parts
    const place = { path: '', role, generation: 0 } as const
    rows.head = sealCache(owner, place, utf8(String(generation)))
    seen.set(role, generation)
  }

  #rows(table: keyof T): Map<string, SealedRow> {
    const { tables } = this.#parts.rows
    const found = tables.get(String(table)) ?? new Map<string, SealedRow>()
    tables.set(String(table), found)
    return found
  }

  #place<K extends keyof T>(table: K): SealedRowPlace<T[K]> {
    const { owner, role, tables } = this.#parts
    return { owner, role, name: String(table), table: tables[table] }
  }

  #names(): readonly (keyof T & string)[] {
    const names: string[] = Object.keys(this.#parts.tables)
    return names.filter((name): name is keyof T & string => name in this.#parts.tables)
  }

  #rolledBack(): StoreError {
    return new StoreError('rolled_back', 'The rows are older than those that were seen last')
  }
}

function removeRows(rows: Map<string, SealedRow>, isOver: (row: SealedRow) => boolean): true {
  for (const [id, row] of rows) if (isOver(row)) rows.delete(id)
  return true
}
