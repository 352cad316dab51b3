// The records of a host in PostgreSQL: a sealed row for each (hosting/sealed-row.ts). The changes
// of one list follow each other: each holds the row of the list, raises its generation, and seals
// that with a digest of all rows. A generation that is lower than one seen before is an older state
// that was put back, and so is a row that is not the one of the digest (row-index.ts).

import { equalBytes, fromHex, toHex } from '../bytes.ts'
import { hasCode, StoreError } from '../errors.ts'
import type { RecordsOptions, RecordsRole } from '../hosting/host-backend.ts'
import type {
  HostRecords,
  Lists,
  RecordPosition,
  RecordQuery,
  RecordsSnapshot,
  RecordStep,
  RecordTally,
  StoredRecord,
} from '../hosting/host-records.ts'
import { sealList } from '../hosting/list-file.ts'
import {
  type ListedRow,
  type ListHead,
  noRows,
  openHead,
  RowDigest,
  sealHead,
  stateOfRow,
} from '../hosting/list-head.ts'
import { openRow } from '../hosting/sealed-row.ts'
import type { CacheOwner } from '../store/local/sealed-cache.ts'
import { Coalescer } from './coalescer.ts'
import type { EnginePool, Query, SqlResult, SqlRow, SqlStatement } from './pool.ts'
import { boundOf, type MadeChange, RecordChange, tallyOf } from './record-change.ts'
import { recordStatements } from './record-statements.ts'
import { mixedRows, RowIndex } from './row-index.ts'

/** More than the changes that a database can lose when it is put back. */
const GENERATIONS_LOST = 2 ** 20
/** Rows that a page reads at a time, until it has the wanted ones. */
const PAGE_ROWS = 200

/** The newest generations that this server has seen. */
export type SeenGenerations = Map<RecordsRole, number>

export interface SqlRecordsParts<T> extends RecordsOptions<T> {
  readonly pool: EnginePool
  readonly owner: CacheOwner
  readonly seen: SeenGenerations
  /** Whether the lists are made by the one process that fills an empty engine. */
  readonly isFilling?: boolean
}

/** In place of a row that is not the newest one of its record, or is missing. */
interface MixedRow {
  readonly mixed: SqlRow | undefined
}
/** Readings of a row that another server may be changing. */
const ATTEMPTS = 8

type AskedValue = string | number | null | readonly string[]

interface WantedRecord {
  readonly kind: string
  readonly id: string
}

/** Undefined for a record that does not exist. */
type FoundRow = SqlRow | MixedRow | undefined

function isMixed(found: FoundRow): found is MixedRow {
  return found !== undefined && 'mixed' in found
}

export class SqlRecords<T extends object> implements HostRecords<T> {
  wasRolledBack = false
  readonly #parts: SqlRecordsParts<T>
  readonly #finding: Coalescer<WantedRecord, FoundRow>
  readonly #digest: RowDigest
  readonly #index: RowIndex
  #opened: { readonly bytes: Uint8Array; readonly head: ListHead } | undefined
  #isMixed = false
  /** Rows whose bodies were refused: a reading of all rows takes the hashes of bodies only. */
  #refused: Map<string, WantedRecord> = new Map()

  /** Throws `rolled_back`, `wrong_key` or a storage code. */
  static async open<T extends object>(parts: SqlRecordsParts<T>): Promise<SqlRecords<T>> {
    const records = new SqlRecords(parts)
    await records.#checkFilled((statement) => parts.pool.repeat(statement, []))
    await records.#makeFirst()
    await records.#checkNewest()
    return records
  }

  private constructor(parts: SqlRecordsParts<T>) {
    this.#parts = parts
    const { pool, owner, role } = parts
    this.#finding = new Coalescer((wanted) => this.#findRows(wanted))
    this.#digest = new RowDigest(owner, role)
    this.#index = new RowIndex({ pool, owner, role, headOf: (row) => this.#note(row, this.#seen) })
  }

  /** Throws `rolled_back` as long as a row that was refused is not put right. */
  async check(): Promise<void> {
    if (!this.#isMixed) return
    await this.#index.check()
    const refused = [...this.#refused.values()]
    if (refused.length > 0 && (await this.#findRows(refused)).some(isMixed)) throw this.#mixed()
    this.#refused.clear()
    this.#isMixed = false
  }

  /** A database has no bound of its own. */
  async checkRoom(): Promise<void> {}

  async find<K extends keyof T>(table: K, id: string): Promise<StoredRecord<T[K]> | undefined> {
    // No text of PostgreSQL has it, and no record.
    if (id.includes('\0')) return undefined
    const row = await this.#finding.ask({ kind: String(table), id })
    if (isMixed(row)) throw this.#refuse(table, { kind: String(table), id }, row.mixed)
    return row && { record: this.#open(table, row), revision: String(row['generation']) }
  }

  async list<K extends keyof T>(table: K): Promise<readonly T[K][]> {
    const rows = await this.#askRows(this.#listing(table), table, [])
    return rows.map((row) => this.#open(table, row))
  }

  async count(table: keyof T): Promise<number> {
    const [row] = (await this.#ask('countRecords', [String(table)])).rows
    return Number(row?.['count'])
  }

  async page<K extends keyof T>(table: K, query: RecordQuery<T[K]>): Promise<readonly T[K][]> {
    const { scope, since, until, among, isWanted, limit } = query
    const found: T[K][] = []
    const bounds = [boundOf(since), boundOf(until)]
    for (let after: RecordPosition | undefined = query.after; ;) {
      const from = [boundOf(after?.time ?? Infinity), after?.id ?? '']
      const values = [scope, ...bounds, ...from, among ?? null, PAGE_ROWS]
      const rows = await this.#askRows('pageRecords', table, values)
      for (const row of rows) {
        const record = this.#open(table, row)
        if (isWanted(record)) found.push(record)
        if (found.length === limit) return found
      }
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE_ROWS) return found
      after = { time: Number(last['time']), id: String(last['id']) }
    }
  }

  async tally(table: keyof T, scope: string, after: number): Promise<RecordTally> {
    return tallyOf(await this.#ask('tallyRecords', [String(table), scope, boundOf(after)]))
  }

  async change(steps: readonly RecordStep<T>[]): Promise<boolean> {
    for (;;) {
      const tried = await this.#tryChange(steps)
      if (typeof tried === 'boolean') return tried
      // Not while it holds the list: there may be many rows.
      await this.#followed(() => this.#index.follow(tried))
    }
  }

  /** Whether it was made; the head of the list if this server is too far behind it. */
  async #tryChange(steps: readonly RecordStep<T>[]): Promise<boolean | ListHead> {
    const { pool, role } = this.#parts
    let ahead: ListHead | undefined
    let done: (MadeChange & { readonly before: ListHead }) | undefined
    const isMade = await pool.repeatTransaction(async (query) => {
      const seen = this.#seen
      const head = this.#note((await query(recordStatements.holdList, [role])).rows[0], seen)
      const isNear = await this.#followed(() => this.#index.followWithin(query, head))
      ahead = isNear ? undefined : head
      if (!isNear) return false
      const change = this.#begin(query, { ...head, generation: head.generation + 1 })
      for (const step of steps) {
        if (!(await change.take(step))) return false
      }
      done = { before: head, ...(await change.finish()) }
      return true
    })
    if (isMade && done !== undefined) {
      this.#see(done.head.generation)
      this.#index.note(done.before, done.head, done.rows)
    }
    return ahead ?? isMade
  }

  /** `work` of the index, whose refusal is noticed. */
  async #followed<R>(work: () => Promise<R>): Promise<R> {
    try {
      return await work()
    } catch (error) {
      throw hasCode(error, 'rolled_back') ? this.#mixed() : error
    }
  }

  /** While no change is made. */
  async snapshot(): Promise<RecordsSnapshot<T>> {
    const { pool, role, owner } = this.#parts
    const lists: Partial<Record<keyof T, readonly T[keyof T][]>> = {}
    let generation = 0
    await pool.repeatTransaction(async (query) => {
      const head = this.#note((await query(recordStatements.holdList, [role])).rows[0], this.#seen)
      generation = head.generation
      const listed: ListedRow[] = []
      for (const table of this.#tableNames()) {
        const kind = String(table)
        const { rows } = await query(recordStatements[this.#listing(table)], [role, kind])
        lists[table] = rows.map((row) => this.#open(table, row))
        listed.push(...rows.map((row) => listedOf({ ...row, kind })))
      }
      if (!equalBytes(this.#digest.of(listed), head.digest)) throw this.#mixed()
      return true
    })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each table was read
    const value = lists as Lists<T>
    return { lists: value, bytes: sealList(owner, role, { generation, value }) }
  }

  #begin(query: Query, head: ListHead): RecordChange<T> {
    const stateOf = this.#index.stateOf.bind(this.#index)
    return new RecordChange({ ...this.#parts, query, stateOf }, head)
  }

  #listing(table: keyof T): 'newestRecords' | 'addedRecords' {
    return this.#parts.tables[table].order === 'newest' ? 'newestRecords' : 'addedRecords'
  }

  async #makeFirst(): Promise<void> {
    const { pool, owner, role, first, firstAbove = 0, acceptRolledBack } = this.#parts
    if ((await pool.repeat(recordStatements.findList, [role])).count > 0) return
    if (this.#seen > 0 && !acceptRolledBack) throw this.#rolledBack()
    await pool.repeatTransaction(async (query) => {
      // No one begins to fill it until this ends.
      await query(recordStatements.shareEngine, [])
      await this.#checkFilled((statement) => query(statement, []))
      // Another server may be as early.
      const generation = Math.max(this.#seen, firstAbove) + 1
      const head = { generation, digest: noRows, since: generation }
      const values = [role, generation, sealHead(owner, role, head)]
      if ((await query(recordStatements.addList, values)).count === 0) return false
      const change = this.#begin(query, head)
      const lists = first()
      for (const table of this.#tableNames()) {
        for (const record of lists[table]) await change.take({ kind: 'add', table, record })
      }
      await change.finish()
      return true
    })
  }

  /** Throws `storage_failed` while a backup is restored, and after a crash in it. */
  async #checkFilled(ask: (statement: SqlStatement) => Promise<SqlResult>): Promise<void> {
    if (this.#parts.isFilling || (await ask(recordStatements.findFilling)).count === 0) return
    throw new StoreError(
      'storage_failed',
      'The engine is half filled: if no restore runs, run `gitlocket serve restore` again',
    )
  }

  /** Accepts an older state once, if that is asked for: it is made the newest. */
  async #checkNewest(): Promise<void> {
    const { pool, role, acceptRolledBack } = this.#parts
    const seen = this.#seen
    const [row] = (await pool.repeat(recordStatements.findList, [role])).rows
    try {
      await this.#index.follow(this.#note(row, seen))
    } catch (error) {
      if (!acceptRolledBack || !hasCode(error, 'rolled_back')) throw error
      this.wasRolledBack = true
    }
    if (acceptRolledBack) await this.#acceptRows()
  }

  async #acceptRows(): Promise<void> {
    const { pool, role } = this.#parts
    let generation = 0
    await pool.repeatTransaction(async (query) => {
      const [row] = (await query(recordStatements.holdList, [role])).rows
      // Above what other servers remember, too.
      generation = Math.max(this.#seen, this.#headOf(row).generation) + GENERATIONS_LOST
      const { rows } = await query(recordStatements.allBodies, [role])
      const listed = rows.map(listedOf)
      const digest = this.#digest.of(listed)
      for (const [at, { kind, id, hash }] of listed.entries()) {
        const said = rows[at]?.['hash']
        if (said instanceof Uint8Array && toHex(said) === hash) continue
        await query(recordStatements.correctHash, [role, kind, id, fromHex(hash)])
      }
      await this.#begin(query, { generation, digest, since: generation }).finish()
      return true
    })
    this.#see(generation)
    this.#index.forget()
  }

  get #seen(): number {
    return this.#parts.seen.get(this.#parts.role) ?? 0
  }

  #see(generation: number): void {
    if (generation > this.#seen) this.#parts.seen.set(this.#parts.role, generation)
  }

  /**
   * The head of a list, which must be as new as any that was seen before it was asked for. Throws
   * `rolled_back`.
   */
  #note(row: SqlRow | undefined, seen: number): ListHead {
    const head = this.#headOf(row)
    if (head.generation < seen) throw this.#rolledBack()
    this.#see(head.generation)
    return head
  }

  /** Throws `wrong_key` unless this identity sealed it, and `upgrade_required`. */
  #headOf(row: SqlRow | undefined): ListHead {
    if (row === undefined) return { generation: 0, digest: noRows, since: 0 }
    const { owner, role } = this.#parts
    const [bytes, generation] = [row['head'], Number(row['generation'])]
    if (!(bytes instanceof Uint8Array)) throw foreign(role)
    const opened = this.#opened
    const isKnown = opened?.head.generation === generation && equalBytes(opened.bytes, bytes)
    if (isKnown) return opened.head
    try {
      const copy = new Uint8Array(bytes)
      const head = openHead(owner, role, generation, copy)
      this.#opened = { bytes: copy, head }
      return head
    } catch (error) {
      if (hasCode(error, 'upgrade_required')) throw error
      throw foreign(role, error)
    }
  }

  /** Rows of this list are not those of its newest state. */
  #mixed(): StoreError {
    const { role, notice } = this.#parts
    const error = mixedRows(role)
    if (!this.#isMixed) notice({ about: role, error })
    this.#isMixed = true
    return error
  }

  #rolledBack(): StoreError {
    const problem = `The ${this.#parts.role} in the engine: older than a state that was seen before`
    return new StoreError(
      'rolled_back',
      `${problem}; put the newest database back, or accept this one with ` +
        '`gitlocket serve accept-restored`',
    )
  }

  #tableNames(): readonly (keyof T)[] {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the tables have no other keys
    return Object.keys(this.#parts.tables) as (keyof T)[]
  }

  async #findRows(wanted: readonly WantedRecord[]): Promise<readonly FoundRow[]> {
    const values = [wanted.map(({ kind }) => kind), wanted.map(({ id }) => id)]
    for (let attempt = 1; ; attempt += 1) {
      const { rows } = await this.#ask('findRecords', values)
      const found = new Map(rows.map((row) => [`${String(row['kind'])} ${String(row['id'])}`, row]))
      const answers = wanted.map(({ kind, id }): FoundRow => {
        const row = found.get(`${kind} ${id}`)
        return this.#index.hasRow(kind, id, row) ? row : { mixed: row }
      })
      if (attempt === ATTEMPTS || !answers.some(isMixed)) return answers
    }
  }

  /** Rows of a table, each the newest of its record. Throws `rolled_back`. */
  async #askRows(
    name: 'addedRecords' | 'newestRecords' | 'pageRecords',
    table: keyof T,
    values: readonly AskedValue[],
  ): Promise<readonly SqlRow[]> {
    const kind = String(table)
    for (let attempt = 1; ; attempt += 1) {
      const { rows } = await this.#ask(name, [kind, ...values])
      const mixed = rows.find((row) => !this.#index.hasRow(kind, String(row['id']), row))
      const areAll = name === 'pageRecords' || this.#index.countOf(kind) === rows.length
      if (mixed === undefined && areAll) return rows
      if (attempt < ATTEMPTS) continue
      if (mixed === undefined) throw this.#mixed()
      throw this.#refuse(table, { kind, id: String(mixed['id']) }, mixed)
    }
  }

  /** For a row that is not what the list has. */
  #refuse(table: keyof T, wanted: WantedRecord, row: SqlRow | undefined): StoreError {
    const state = this.#index.stateOf(wanted.kind, wanted.id)
    if (row !== undefined && state?.generation === Number(row['generation'])) {
      // A damaged row has its own error.
      this.#open(table, row)
      this.#refused.set(`${wanted.kind} ${wanted.id}`, wanted)
    }
    return this.#mixed()
  }

  /** The index is then as new as the answer, or newer. */
  async #ask(
    name: keyof typeof recordStatements,
    values: readonly AskedValue[],
  ): Promise<SqlResult> {
    const { pool, role } = this.#parts
    const seen = this.#seen
    const [list, result] = await Promise.all([
      pool.repeat(recordStatements.findList, [role]),
      pool.repeat(recordStatements[name], [role, ...values]),
    ])
    const head = this.#note(list.rows[0], seen)
    await this.#followed(() => this.#index.follow(head))
    return result
  }

  /** Throws `wrong_key` or `upgrade_required`. */
  #open<K extends keyof T>(table: K, { id, scope, time, weight, generation, body }: SqlRow): T[K] {
    const { owner, role, tables } = this.#parts
    if (!(body instanceof Uint8Array)) throw foreign(role)
    return openRow(
      { owner, role, name: String(table), table: tables[table] },
      {
        id: String(id),
        scope: String(scope),
        time: Number(time),
        weight: Number(weight),
        generation: Number(generation),
        body: new Uint8Array(body),
      },
    )
  }
}

function listedOf({ kind, id, generation, body }: SqlRow): ListedRow {
  const bytes = body instanceof Uint8Array ? body : new Uint8Array()
  return { kind: String(kind), id: String(id), ...stateOfRow(Number(generation), bytes) }
}

function foreign(role: RecordsRole, cause?: unknown): StoreError {
  const problem = `The ${role} in the engine: damaged, or written by another identity`
  return new StoreError('wrong_key', problem, { cause })
}
