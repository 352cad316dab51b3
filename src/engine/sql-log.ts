// The shared log in PostgreSQL: single statements by primary key. The compare-and-swap of an append
// is on the store's row in `gl_store`, not on the key of the log: entries are removed, and a server
// that slept would append a number again that was removed. Owns when a write is durable.

import { StoreError } from '../errors.ts'
import type {
  BaseChange,
  LogBase,
  LogEntry,
  LogPosition,
  PartsRef,
  SharedLog,
} from '../git/replica/shared-log.ts'
import { Coalescer } from './coalescer.ts'
import {
  EngineFailure,
  engineError,
  type EnginePool,
  patience,
  pauseAfter,
  repeating,
  type SqlResult,
  type SqlStatement,
  sqlStatements,
} from './pool.ts'

const statements = sqlStatements({
  create: `insert into gl_store (store, number, base, swept, remotes) values ($1, 0, 0, 0, false)
    on conflict do nothing`,
  positions: 'select store, number, base from gl_store where store = any($1)',
  entries: `select number, body from (
      select number, body,
        sum(octet_length(body)) over (order by number) - octet_length(body) as earlier
      from gl_log where store = $1 and number > $2 order by number limit 4096) as next
    where earlier < $3 order by number`,
  append: `with moved as (
      update gl_store as s set number = $2, remotes = coalesce($8, remotes),
        holder = case when holder = $5 then null else holder end
      where s.store = $1 and s.number = $2::bigint - 1
        and (s.holder is null or s.holder = $5 or s.until < now())
        and ($6::text is null or $7 = (select count(*) from gl_part as p
          where p.store = s.store and p.id = $6 and p.swept = s.swept))
      returning 1)
    insert into gl_log (store, number, token, body, parts) select $1, $2, $3, $4, $6 from moved`,
  remotes: 'select remotes from gl_store where store = $1',
  claim: `update gl_store set holder = $2, until = now() + interval '2 seconds'
    where store = $1 and (holder is null or holder = $2 or until < now())`,
  release: 'update gl_store set holder = null where store = $1 and holder = $2',
  token: 'select token from gl_log where store = $1 and number = $2',
  settle: 'update gl_store set base = base where store = $1',
  putPart: `insert into gl_part (store, id, part, body, swept, at)
    select store, $2, $3, $4, swept, now() from gl_store where store = $1 on conflict do nothing`,
  parts: `select part, body from gl_part where store = $1 and id = $2 and part > $3
    order by part limit 8`,
  removeParts: `delete from gl_part where store = $1 and id = $2
    and not exists (select from gl_log where store = $1 and parts = $2)
    and not exists (select from gl_store where store = $1 and base_id = $2)`,
  base: 'select base, base_id from gl_store where store = $1',
  holdBase: `select base_id from gl_store where store = $1 and base = $2
    and ($3::bigint is null or number = $3) for update`,
  setBase: `update gl_store set number = greatest(number, $2), base = $2, base_id = $3,
    swept = swept + $4, remotes = coalesce($5, remotes) where store = $1`,
  removeEntries: 'delete from gl_log where store = $1 and number <= $2 returning parts',
  /* Those of servers that died, or of all servers. */
  unnamedParts: `select distinct id from gl_part as p where store = $1 and id <> $2
    and ($3 or at < now() - interval '1 hour')
    and not exists (select from gl_log where store = p.store and parts = p.id)`,
  dropParts: 'delete from gl_part where store = $1 and id = any($2)',
})

/** The logs of all stores of an engine, as one process sees them. */
export class SqlLogs {
  readonly #pool: EnginePool
  /** Differs from that of every other process, also of those that were. */
  readonly #server: string
  /** Whether a store has an entry or a base of a later release. */
  hasLater = false
  #handles = 0
  readonly #asking: Coalescer<string, LogPosition | undefined>

  readonly maxStaleMs: number | undefined

  constructor(pool: EnginePool, server: string, maxStaleMs?: number) {
    this.#pool = pool
    this.#server = server
    this.maxStaleMs = maxStaleMs
    this.#asking = new Coalescer((stores) => this.#findPositions(stores))
  }

  /** Throws `store_exists`. */
  async create(store: string): Promise<void> {
    const { count } = await this.#pool.repeat(statements.create, [store])
    if (count !== 1) throw new StoreError('store_exists', 'The engine has this store already')
  }

  /** Whether the newest entry about remotes of a store leaves it any. */
  async hasRemotes(store: string): Promise<boolean> {
    return (await this.#pool.repeat(statements.remotes, [store])).rows[0]?.['remotes'] === true
  }

  log(store: string): SharedLog {
    this.#handles += 1
    return new SqlLog(this.#pool, this, store, `${this.#server}.${this.#handles}`)
  }

  position(store: string): Promise<LogPosition | undefined> {
    return this.#asking.ask(store)
  }

  async #findPositions(stores: readonly string[]): Promise<readonly (LogPosition | undefined)[]> {
    const { rows } = await this.#pool.repeat(statements.positions, [[...new Set(stores)]])
    const found = new Map(rows.map((row) => [row['store'], positionOf(row)]))
    return stores.map((store) => found.get(store))
  }
}

class SqlLog implements SharedLog {
  readonly maxStaleMs: number | undefined
  readonly #pool: EnginePool
  readonly #logs: SqlLogs
  readonly #store: string
  /** Whose claims and appends these are. */
  readonly #holder: string
  #appends = 0

  constructor(pool: EnginePool, logs: SqlLogs, store: string, holder: string) {
    this.#pool = pool
    this.#logs = logs
    this.maxStaleMs = logs.maxStaleMs
    this.#store = store
    this.#holder = holder
  }

  position(): Promise<LogPosition | undefined> {
    return this.#logs.position(this.#store)
  }

  async entries(after: number, bytesMax: number): Promise<readonly LogEntry[]> {
    const { rows } = await this.#repeat('entries', after, bytesMax)
    return rows.map((row) => ({ number: Number(row['number']), body: bytesOf(row) }))
  }

  /**
   * A connection that is lost leaves the outcome open: the same statement with the same token is
   * repeated until the store's row shows it. A server that shows the row may still lose it, if its
   * standby has not confirmed it; only a later change of the same store that waits for the standby
   * settles that. So does a warning: the server stopped waiting.
   */
  async append(
    number: number,
    body: Uint8Array,
    parts?: PartsRef,
    hasRemotes?: boolean,
  ): Promise<boolean> {
    this.#appends += 1
    const token = `${this.#holder}.${this.#appends}`
    const sent = [parts?.id ?? null, parts?.count ?? null, hasRemotes ?? null]
    const values = [this.#store, number, token, body, this.#holder, ...sent]
    const deadline = patience()
    for (let attempt = 0, isOpen = false; ; attempt += 1) {
      try {
        const { count, isWarned } = await this.#pool.query(statements.append, values)
        if (count === 1 && !isWarned) return true
        if (count === 1) return await this.#settle(deadline)
        if (!isOpen) return false
      } catch (error) {
        if (!(error instanceof EngineFailure)) throw error
        if (!error.isTransient) throw engineError(error)
        isOpen = true
      }
      if (isOpen) {
        const outcome = await this.#outcome(number, token, deadline)
        if (outcome !== undefined) return outcome && this.#settle(deadline)
      }
      if (performance.now() >= deadline) throw unknownError()
      await pauseAfter(attempt)
    }
  }

  async claim(): Promise<boolean> {
    return (await this.#repeat('claim', this.#holder)).count === 1
  }

  async release(): Promise<void> {
    await this.#repeat('release', this.#holder)
  }

  async putPart(id: string, part: number, body: Uint8Array): Promise<void> {
    await this.#repeat('putPart', id, part, body)
  }

  async *parts(id: string): AsyncGenerator<Uint8Array> {
    for (let part = -1; ;) {
      const { rows } = await this.#repeat('parts', id, part)
      if (rows.length === 0) return
      for (const row of rows) {
        part += 1
        if (Number(row['part']) !== part) return
        yield bytesOf(row)
      }
    }
  }

  async removeParts(id: string): Promise<void> {
    await this.#repeat('removeParts', id)
  }

  async base(): Promise<LogBase | undefined> {
    const [row] = (await this.#repeat('base')).rows
    const id = row?.['base_id']
    return typeof id === 'string' ? { number: Number(row?.['base']), id } : undefined
  }

  noteLater(): void {
    this.#logs.hasLater = true
  }

  async setBase(change: BaseChange): Promise<boolean> {
    const { expected, base, removeTo, erases, leapsFrom = null, hasRemotes = null } = change
    const store = this.#store
    return repeating(async () => {
      const isDone = await this.#pool.transaction(async (query) => {
        const [old] = (await query(statements.holdBase, [store, expected, leapsFrom])).rows
        if (old === undefined) return false
        const removed = await query(statements.removeEntries, [store, removeTo])
        const unnamed = await query(statements.unnamedParts, [store, base.id, erases])
        // An append of parts that are removed here waits for this row, and is then refused by it.
        const sweeps = unnamed.rows.some(({ id }) => id !== old['base_id']) ? 1 : 0
        await query(statements.setBase, [store, base.number, base.id, sweeps, hasRemotes])
        const ids = [old['base_id'], ...removed.rows.map(({ parts }) => parts)]
        const dropped = [...ids, ...unnamed.rows.map(({ id }) => id)].filter(isText)
        await query(statements.dropParts, [store, dropped])
        return true
      })
      // The connection may have been lost after the commit.
      return isDone || (await this.base())?.id === base.id
    })
  }

  /** Whether entry `number` is ours; undefined if it is not decided. */
  async #outcome(number: number, token: string, deadline: number): Promise<boolean | undefined> {
    const [store] = [this.#store]
    const run = (statement: SqlStatement, values: (string | number)[]): Promise<SqlResult> => {
      return repeating(() => this.#pool.query(statement, values), deadline)
    }
    const [row] = (await run(statements.token, [store, number])).rows
    if (row !== undefined) return row['token'] === token
    const position = await this.position()
    // Without a row at or above it, the statement may still run, or was never received.
    if (position === undefined || position.number < number) return undefined
    throw unknownError()
  }

  /** Resolves to true once a change has been committed that the standby confirms, too. */
  async #settle(deadline: number): Promise<true> {
    for (let attempt = 0; ; attempt += 1) {
      const done = await repeating(() => {
        return this.#pool.query(statements.settle, [this.#store])
      }, deadline)
      if (!done.isWarned) return true
      if (performance.now() >= deadline) throw unknownError()
      await pauseAfter(attempt)
    }
  }

  #repeat(
    name: keyof typeof statements,
    ...values: readonly (string | number | Uint8Array)[]
  ): Promise<SqlResult> {
    return this.#pool.repeat(statements[name], [this.#store, ...values])
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function positionOf(row: Readonly<Record<string, unknown>>): LogPosition {
  return { number: Number(row['number']), base: Number(row['base']) }
}

/** A copy: what the driver returns is a view of what the socket received. */
function bytesOf(row: Readonly<Record<string, unknown>>): Uint8Array {
  const { body } = row
  if (!(body instanceof Uint8Array)) throw unknownError()
  return new Uint8Array(body)
}

function unknownError(): StoreError {
  return new StoreError(
    'storage_failed',
    'It is unknown whether the engine kept the change: read it again before you repeat it',
  )
}
