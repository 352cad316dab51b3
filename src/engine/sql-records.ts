// The records of a host in PostgreSQL: a sealed row for each (hosting/sealed-row.ts). The changes
// of one list follow each other: each holds the row of the list, raises its generation, and seals
// that. A generation that is lower than one seen before is an older state that was put back.

import { utf8, utf8Text } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import type { RecordsOptions, RecordsRole } from '../hosting/host-backend.ts'
import type {
  HostRecords,
  Lists,
  RecordPosition,
  RecordQuery,
  RecordsSnapshot,
  RecordStep,
  RecordStepOn,
  RecordTally,
  StoredRecord,
} from '../hosting/host-records.ts'
import { sealList } from '../hosting/list-file.ts'
import { openRow, type SealedRow, type SealedRowPlace, sealRow } from '../hosting/sealed-row.ts'
import { type CacheOwner, openCache, sealCache, untilPadding } from '../store/local/sealed-cache.ts'
import { Coalescer } from './coalescer.ts'
import {
  type EnginePool,
  type Query,
  type SqlResult,
  type SqlStatement,
  sqlStatements,
} from './pool.ts'

/** More than the changes that a database can lose when it is put back. */
const GENERATIONS_LOST = 2 ** 20
/** Rows that a page reads at a time, until it has the wanted ones. */
const PAGE_ROWS = 200

const columns = 'id, scope, time, weight, generation, body'
const statements = sqlStatements({
  shareEngine: 'select from gl_engine for share',
  findFilling: `select from gl_mark where store = '' and state = 'filling'`,
  findList: 'select generation, head from gl_list where list = $1',
  addList:
    'insert into gl_list (list, generation, head) values ($1, $2, $3) on conflict do nothing',
  holdList: 'select generation, head from gl_list where list = $1 for update',
  moveList: 'update gl_list set generation = $2, head = $3 where list = $1',
  findRecords: `select kind, ${columns} from gl_record
    where list = $1 and (kind, id) in (select * from unnest($2::text[], $3::text[]))`,
  addedRecords: `select ${columns} from gl_record where list = $1 and kind = $2 order by added, id`,
  newestRecords: `select ${columns} from gl_record where list = $1 and kind = $2
    order by time desc, id desc`,
  countRecords: 'select count(*) from gl_record where list = $1 and kind = $2',
  pageRecords: `select ${columns} from gl_record where list = $1 and kind = $2 and scope = $3
    and time >= $4 and time <= $5 and (time, id) < ($6, $7) and ($8::text[] is null or id = any($8))
    order by time desc, id desc limit $9`,
  tallyRecords: `select count(*), coalesce(sum(weight), 0) as weight from gl_record
    where list = $1 and kind = $2 and scope = $3 and time > $4`,
  addRecord: `insert into gl_record (list, kind, id, scope, time, weight, generation, added, body)
    values ($1, $2, $3, $4, $5, $6, $7, $7, $8) on conflict do nothing`,
  replaceRecord: `update gl_record set weight = $5, generation = $6, body = $7
    where list = $1 and kind = $2 and id = $3 and generation = $4`,
  removeRecord: 'delete from gl_record where list = $1 and kind = $2 and id = $3',
  expectRecord: `select from gl_record
    where list = $1 and kind = $2 and id = $3 and generation = $4`,
  clearRecords: 'delete from gl_record where list = $1 and kind = $2 and scope = $3',
  expireRecords: 'delete from gl_record where list = $1 and kind = $2 and time <= $3',
})

/** The newest generations that this server has seen. */
export type SeenGenerations = Map<RecordsRole, number>

export interface SqlRecordsParts<T> extends RecordsOptions<T> {
  readonly pool: EnginePool
  readonly owner: CacheOwner
  readonly seen: SeenGenerations
  /** Whether the lists are made by the one process that fills an empty engine. */
  readonly isFilling?: boolean
}

type SqlRow = SqlResult['rows'][number]

interface WantedRecord {
  readonly kind: string
  readonly id: string
}

export class SqlRecords<T extends object> implements HostRecords<T> {
  readonly #parts: SqlRecordsParts<T>
  readonly #finding: Coalescer<WantedRecord, SqlRow | undefined>
  #wasRolledBack = false

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
    this.#finding = new Coalescer((wanted) => this.#findRows(wanted))
  }

  get wasRolledBack(): boolean {
    return this.#wasRolledBack
  }

  /** A database has no bound of its own. */
  async checkRoom(): Promise<void> {}

  async find<K extends keyof T>(table: K, id: string): Promise<StoredRecord<T[K]> | undefined> {
    // No text of PostgreSQL has it, and no record.
    if (id.includes('\0')) return undefined
    const row = await this.#finding.ask({ kind: String(table), id })
    return row && { record: this.#open(table, row), revision: String(row['generation']) }
  }

  async list<K extends keyof T>(table: K): Promise<readonly T[K][]> {
    const { rows } = await this.#ask(this.#listing(table), table)
    return rows.map((row) => this.#open(table, row))
  }

  async count(table: keyof T): Promise<number> {
    const [row] = (await this.#ask('countRecords', table)).rows
    return Number(row?.['count'])
  }

  async page<K extends keyof T>(table: K, query: RecordQuery<T[K]>): Promise<readonly T[K][]> {
    const { scope, since, until, among, isWanted, limit } = query
    const found: T[K][] = []
    const bounds = [boundOf(since), boundOf(until)]
    for (let after: RecordPosition | undefined = query.after; ;) {
      const from = [boundOf(after?.time ?? Infinity), after?.id ?? '']
      const values = [scope, ...bounds, ...from, among ?? null, PAGE_ROWS]
      const { rows } = await this.#ask('pageRecords', table, ...values)
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
    return tallyOf(await this.#ask('tallyRecords', table, scope, boundOf(after)))
  }

  async change(steps: readonly RecordStep<T>[]): Promise<boolean> {
    const { pool, role } = this.#parts
    let generation = 0
    const isMade = await pool.repeatTransaction(async (query) => {
      const seen = this.#seen
      generation = this.#note((await query(statements.holdList, [role])).rows[0], seen) + 1
      await query(statements.moveList, [role, generation, this.#sealHead(generation)])
      for (const step of steps) {
        if (!(await this.#take(query, step, generation))) return false
      }
      return true
    })
    if (isMade) this.#see(generation)
    return isMade
  }

  /** While no change is made. */
  async snapshot(): Promise<RecordsSnapshot<T>> {
    const { pool, role, owner } = this.#parts
    const lists: Partial<Record<keyof T, readonly T[keyof T][]>> = {}
    let generation = 0
    await pool.repeatTransaction(async (query) => {
      generation = this.#note((await query(statements.holdList, [role])).rows[0], this.#seen)
      for (const table of this.#tableNames()) {
        const { rows } = await query(statements[this.#listing(table)], [role, String(table)])
        lists[table] = rows.map((row) => this.#open(table, row))
      }
      return true
    })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each table was read
    const value = lists as Lists<T>
    return { lists: value, bytes: sealList(owner, role, { generation, value }) }
  }

  #listing(table: keyof T): 'newestRecords' | 'addedRecords' {
    return this.#parts.tables[table].order === 'newest' ? 'newestRecords' : 'addedRecords'
  }

  async #makeFirst(): Promise<void> {
    const { pool, role, first, firstAbove = 0, acceptRolledBack } = this.#parts
    if ((await pool.repeat(statements.findList, [role])).count > 0) return
    if (this.#seen > 0 && !acceptRolledBack) throw this.#rolledBack()
    await pool.repeatTransaction(async (query) => {
      // No one begins to fill it until this ends.
      await query(statements.shareEngine, [])
      await this.#checkFilled((statement) => query(statement, []))
      // Another server may be as early.
      const generation = Math.max(this.#seen, firstAbove) + 1
      const values = [role, generation, this.#sealHead(generation)]
      if ((await query(statements.addList, values)).count === 0) return false
      const lists = first()
      for (const table of this.#tableNames()) {
        for (const record of lists[table]) {
          await this.#take(query, { kind: 'add', table, record }, generation)
        }
      }
      return true
    })
  }

  /** Throws `storage_failed` while a backup is restored, and after a crash in it. */
  async #checkFilled(ask: (statement: SqlStatement) => Promise<SqlResult>): Promise<void> {
    if (this.#parts.isFilling || (await ask(statements.findFilling)).count === 0) return
    throw new StoreError(
      'storage_failed',
      'The engine is half filled: if no restore runs, run `gitlocket serve restore` again',
    )
  }

  /** Accepts an older state once, if that is asked for: it is made the newest. */
  async #checkNewest(): Promise<void> {
    const { pool, role, acceptRolledBack } = this.#parts
    const seen = this.#seen
    const [row] = (await pool.repeat(statements.findList, [role])).rows
    const found = this.#generationOf(row)
    if (!acceptRolledBack) {
      this.#note(row, seen)
      return
    }
    // Above what other servers remember, too.
    const generation = Math.max(seen, found) + GENERATIONS_LOST
    await pool.repeat(statements.moveList, [role, generation, this.#sealHead(generation)])
    this.#see(generation)
    this.#wasRolledBack = found < seen
  }

  get #seen(): number {
    return this.#parts.seen.get(this.#parts.role) ?? 0
  }

  #see(generation: number): void {
    if (generation > this.#seen) this.#parts.seen.set(this.#parts.role, generation)
  }

  /**
   * The generation of a list, which must be as new as any that was seen before it was asked for.
   * Throws `rolled_back`.
   */
  #note(row: SqlRow | undefined, seen: number): number {
    const generation = this.#generationOf(row)
    if (generation < seen) throw this.#rolledBack()
    this.#see(generation)
    return generation
  }

  /** Throws `wrong_key` unless this identity sealed it. */
  #generationOf(row: SqlRow | undefined): number {
    if (row === undefined) return 0
    const { owner, role } = this.#parts
    const { generation, head } = row
    try {
      if (!(head instanceof Uint8Array)) throw new TypeError('a list has no head')
      const place = { role, generation: Number(generation) }
      const plain = openCache({ ...owner, storeId: LIST }, place, new Uint8Array(head))
      if (utf8Text(untilPadding(plain)) === role) return Number(generation)
    } catch (error) {
      throw foreign(role, error)
    }
    throw foreign(role)
  }

  #sealHead(generation: number): Uint8Array {
    const { owner, role } = this.#parts
    return sealCache({ ...owner, storeId: LIST }, { role, generation }, utf8(role))
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

  async #findRows(wanted: readonly WantedRecord[]): Promise<readonly (SqlRow | undefined)[]> {
    const { pool, role } = this.#parts
    const values = [role, wanted.map(({ kind }) => kind), wanted.map(({ id }) => id)]
    const seen = this.#seen
    const [list, { rows }] = await Promise.all([
      pool.repeat(statements.findList, [role]),
      pool.repeat(statements.findRecords, values),
    ])
    this.#note(list.rows[0], seen)
    const found = new Map(rows.map((row) => [`${String(row['kind'])} ${String(row['id'])}`, row]))
    return wanted.map(({ kind, id }) => found.get(`${kind} ${id}`))
  }

  async #ask(
    name: keyof typeof statements,
    table: keyof T,
    ...values: readonly (string | number | null | readonly string[])[]
  ): Promise<SqlResult> {
    const { pool, role } = this.#parts
    const seen = this.#seen
    const [list, result] = await Promise.all([
      pool.repeat(statements.findList, [role]),
      pool.repeat(statements[name], [role, String(table), ...values]),
    ])
    this.#note(list.rows[0], seen)
    return result
  }

  /** Whether the step holds. */
  async #take<K extends keyof T>(
    query: Query,
    step: RecordStepOn<T, K>,
    generation: number,
  ): Promise<boolean> {
    const place = [this.#parts.role, String(step.table)]
    const run = async (
      name: keyof typeof statements,
      ...values: readonly (string | number | Uint8Array)[]
    ): Promise<boolean> => (await query(statements[name], [...place, ...values])).count > 0
    switch (step.kind) {
      case 'add': {
        const { id, scope, time, weight, body } = this.#seal(step.table, step.record, generation)
        return run('addRecord', id, scope, time, weight, generation, body)
      }
      case 'replace': {
        const { id, weight, body } = this.#seal(step.table, step.record, generation)
        return run('replaceRecord', id, Number(step.revision), weight, generation, body)
      }
      case 'remove':
        return run('removeRecord', step.id)
      case 'expect':
        return run('expectRecord', step.id, Number(step.revision))
      case 'clear':
        await run('clearRecords', step.scope)
        return true
      case 'expire':
        await run('expireRecords', boundOf(step.until))
        return true
      case 'bound':
        break
    }
    const values = [...place, step.scope, boundOf(-Infinity)]
    const { count, weight } = tallyOf(await query(statements.tallyRecords, values))
    return count <= step.count && weight <= step.weight
  }

  #seal<K extends keyof T>(table: K, record: T[K], generation: number): SealedRow {
    return sealRow(this.#place(table), record, generation)
  }

  /** Throws `wrong_key` or `upgrade_required`. */
  #open<K extends keyof T>(table: K, { id, scope, time, weight, generation, body }: SqlRow): T[K] {
    if (!(body instanceof Uint8Array)) throw foreign(this.#parts.role)
    return openRow(this.#place(table), {
      id: String(id),
      scope: String(scope),
      time: Number(time),
      weight: Number(weight),
      generation: Number(generation),
      body: new Uint8Array(body),
    })
  }

  #place<K extends keyof T>(table: K): SealedRowPlace<T[K]> {
    const { owner, role, tables } = this.#parts
    return { owner, role, name: String(table), table: tables[table] }
  }
}

/** Stands where a store id does, for the head of a list. */
const LIST = 'f'.repeat(32)

function tallyOf({ rows: [row] }: SqlResult): RecordTally {
  return { count: Number(row?.['count']), weight: Number(row?.['weight']) }
}

/** A time, or one before or after all. */
function boundOf(time: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(-Number.MAX_SAFE_INTEGER, Math.trunc(time)))
}

function foreign(role: RecordsRole, cause?: unknown): StoreError {
  const problem = `The ${role} in the engine: damaged, or written by another identity`
  return new StoreError('wrong_key', problem, { cause })
}
