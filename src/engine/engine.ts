// An engine: the database that several servers share. Makes its tables, opens it, and checks that
// this release and the database fit. Knows no store.

import { toHex } from '../bytes.ts'
import { type Random, systemRandom } from '../crypto/random.ts'
import { StoreError } from '../errors.ts'
import { unreleasedHostError } from '../hosting/host-backend.ts'
import { type AddressOptions, parseEngineAddress } from './address.ts'
import {
  EngineFailure,
  engineError,
  EnginePool,
  type PoolOptions,
  repeating,
  type SqlResult,
} from './pool.ts'
import { schema } from './schema.ts'
import { SqlLogs } from './sql-log.ts'

/** The newest format of rows that this release reads (FORMAT §14.7). */
const FORMAT = 2
/** The oldest one: format 1 was never released. */
const OLDEST = 2
/** How long `ready` waits for an answer. */
const READY_MS = 2000

export interface EngineOptions extends AddressOptions, Omit<PoolOptions, 'address'> {
  /** `postgres://user:password@host/database`. */
  readonly url: string
  /** How old the answers of reads may be; else those of any server are seen at once. */
  readonly maxStaleMs?: number | undefined
  /** @internal Replaced in tests. */
  readonly random?: Random
  /** @internal That of another release, in tests. */
  readonly format?: number
}

export class Engine {
  readonly pool: EnginePool
  readonly logs: SqlLogs
  /** Differs from that of every other process. */
  readonly server: string
  readonly #format: number

  /** Throws `upgrade_required`, `invalid_input` for the address, or a storage code. */
  static async open(options: EngineOptions): Promise<Engine> {
    const engine = new Engine(await openPool(options), options)
    try {
      await engine.#checkFormat()
      return engine
    } catch (error) {
      await engine.close()
      throw error
    }
  }

  private constructor(
    pool: EnginePool,
    { random = systemRandom, format = FORMAT, maxStaleMs }: EngineOptions,
  ) {
    this.pool = pool
    this.#format = format
    this.server = toHex(random(16))
    this.logs = new SqlLogs(pool, this.server, maxStaleMs)
  }

  /** Has other servers know that this one runs, for two minutes. */
  async noteRunning(): Promise<void> {
    await this.pool.repeat(noteServer, [this.server, this.#format])
  }

  /** Throws `locked` if a server runs here, or may have run two minutes ago. */
  async checkNoneRuns(): Promise<void> {
    const [row] = (await this.pool.repeat(findServers, [this.server])).rows
    const count = Number(row?.['count'])
    if (count === 0) return
    throw new StoreError(
      'locked',
      `${count === 1 ? 'A server runs' : `${count} servers run`}: end all first. A server that ` +
        'has died is forgotten after two minutes',
    )
  }

  async noteEnded(): Promise<void> {
    await this.pool.query(forgetServer, [this.server])
  }

  /**
   * Whether requests can be served now. Throws `upgrade_required` if there are rows that this
   * release cannot read, and a storage code if the engine does not answer soon.
   */
  async ready(): Promise<void> {
    if (this.logs.hasLater) throw laterRelease()
    const asked = this.pool.query(findFormat, [])
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const error = new StoreError('storage_failed', 'The engine does not answer')
      timer = setTimeout(() => reject(error), READY_MS)
    })
    try {
      this.#checkFloor((await Promise.race([asked, late])).rows[0])
    } catch (error) {
      throw error instanceof EngineFailure ? engineError(error) : error
    } finally {
      clearTimeout(timer)
    }
  }

  close(): Promise<void> {
    return this.pool.close()
  }

  async #checkFormat(): Promise<void> {
    const [row] = (await soon(() => this.pool.query(findFormat, []))).rows
    this.#checkFloor(row)
    if (Number(row?.['format']) >= this.#format) return
    throw new StoreError(
      'storage_failed',
      'The tables are those of an earlier release: run `gitlocket engine init` of this one, ' +
        'which leaves running servers as they are',
    )
  }

  #checkFloor(row: SqlResult['rows'][number] | undefined): void {
    if (row === undefined) throw notReady()
    checkOldest(row)
    if (Number(row['floor']) > this.#format) throw laterRelease()
  }
}

/** Makes the tables that are missing, and changes no others. Idempotent. */
export async function initEngine(options: EngineOptions): Promise<void> {
  const pool = await openPool(options)
  try {
    await addTables(pool, options)
  } finally {
    await pool.close()
  }
  await (await Engine.open(options)).close()
}

/** Only adds: servers of the release before continue. Throws `upgrade_required`. */
async function addTables(
  pool: EnginePool,
  { format = FORMAT }: Pick<EngineOptions, 'format'>,
): Promise<void> {
  const [row] = (await soon(() => pool.query(findTable, []))).rows
  if (row?.['found'] === true) {
    checkOldest((await soon(() => pool.query(findFormat, []))).rows[0])
  }
  for (const text of schema) await soon(() => pool.query({ name: '', text }, []))
  await soon(() => pool.query(beginFormat, [format]))
  await soon(() => pool.query(raiseFormat, [format]))
}

/** The lowest format that servers must know, before and after an upgrade. */
export interface EngineUpgrade {
  readonly before: number
  readonly after: number
}

/**
 * Lets all servers write in the format of this release, which earlier ones cannot read. Idempotent.
 * Throws `locked` while servers of an earlier release run, and what `Engine.open` throws.
 */
export async function upgradeEngine(options: EngineOptions): Promise<EngineUpgrade> {
  const { format = FORMAT } = options
  const pool = await openPool(options)
  let before = format
  try {
    // Tables of other programs are not taken for those of an engine.
    if ((await soon(() => pool.query(findFormat, []))).count === 0) throw notReady()
    await addTables(pool, options)
    await pool.repeatTransaction(async (query) => {
      before = Number((await query(holdFormat, [])).rows[0]?.['floor'])
      if (before > format) throw laterRelease()
      const [older] = (await query(findOlder, [format])).rows
      if (Number(older?.['count']) > 0) throw olderServers(older)
      await query(raiseFloor, [format])
      return true
    })
  } finally {
    await pool.close()
  }
  return { before, after: format }
}

/** Throws unless servers have written nothing that this release cannot read. */
function checkOldest(row: SqlResult['rows'][number] | undefined): void {
  if (row !== undefined && Number(row['floor']) < OLDEST) throw unreleasedHostError('The engine')
}

function notReady(): StoreError {
  return new StoreError('storage_failed', 'The engine is not ready: run `gitlocket engine init`')
}

function laterRelease(): StoreError {
  return new StoreError(
    'upgrade_required',
    'The servers of this engine have been upgraded to a later release: upgrade this one',
  )
}

function olderServers(row: SqlResult['rows'][number] | undefined): StoreError {
  const count = Number(row?.['count'])
  const servers = count === 1 ? 'A server' : `${count} servers`
  const seconds = Math.max(0, Math.round(Number(row?.['seconds'])))
  return new StoreError(
    'locked',
    `${servers} of an earlier release, last seen ${seconds} s ago: end or upgrade them first. ` +
      'A server that has died is forgotten after two minutes',
  )
}

/**
 * Rewrites the tables, so that no file of the primary holds removed rows. Locks each table in the
 * meantime. Standbys follow; backups, snapshots and archived logs of the database keep their bytes.
 * Throws `locked`, with nothing rewritten, if a transaction that began earlier does not end: the
 * database would keep the rows for it.
 */
export async function scrubEngine(options: EngineOptions, waitMs = SCRUB_WAIT_MS): Promise<void> {
  const engine = await Engine.open(options)
  try {
    await waitForEarlier(engine.pool, waitMs)
    const { rows } = await engine.pool.repeat(findTables, [])
    for (const { name } of rows) {
      if (typeof name !== 'string' || !/^gl_[a-z_]+$/.test(name)) continue
      await engine.pool.repeat({ name: '', text: `vacuum full ${name}`, isLong: true }, [])
    }
  } finally {
    await engine.close()
  }
}

const SCRUB_WAIT_MS = 60_000
const SCRUB_PAUSE_MS = 100

async function waitForEarlier(pool: EnginePool, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs
  const [now] = (await pool.repeat(findTransaction, [])).rows
  for (;;) {
    const [found] = (await pool.repeat(findEarlier, [String(now?.['id'])])).rows
    if (Number(found?.['count']) === 0) return
    if (performance.now() >= deadline) throw earlierTransaction()
    await new Promise((resolve) => setTimeout(resolve, SCRUB_PAUSE_MS))
  }
}

function earlierTransaction(): StoreError {
  return new StoreError(
    'locked',
    'A transaction or a standby still reads an earlier state of the database, which therefore ' +
      'keeps removed data: end it (pg_stat_activity.backend_xmin, pg_replication_slots.xmin, ' +
      'pg_prepared_xacts), and scrub again',
  )
}

/** At a start, someone waits who may have mistyped the address. */
const START_MS = 5000

function soon<T>(work: () => Promise<T>): Promise<T> {
  return repeating(work, performance.now() + START_MS)
}

async function openPool({ url, insecure, ...options }: EngineOptions): Promise<EnginePool> {
  return EnginePool.open({ ...options, address: parseEngineAddress(url, { insecure }) })
}

const findTable = {
  name: 'gl_find_table',
  text: `select to_regclass('gl_engine') is not null as found`,
}
const findFormat = { name: 'gl_format', text: 'select format, floor from gl_engine' }
const beginFormat = {
  name: 'gl_begin_format',
  text: `insert into gl_engine (format, floor)
    select $1::int, $1::int where not exists (select from gl_engine)`,
}
const raiseFormat = {
  name: 'gl_raise_format',
  text: 'update gl_engine set format = $1 where format < $1',
}
const holdFormat = { name: 'gl_hold_format', text: 'select floor from gl_engine for update' }
const raiseFloor = {
  name: 'gl_raise_floor',
  text: 'update gl_engine set floor = $1 where floor < $1',
}
const noteServer = {
  name: 'gl_note_server',
  text: `insert into gl_server as s (server, format, at) values ($1, $2, now())
    on conflict (server) do update set at = now()`,
}
const forgetServer = {
  name: 'gl_forget_server',
  text: `delete from gl_server where server = $1 or at < now() - interval '1 day'`,
}
const findOlder = {
  name: 'gl_older_servers',
  text: `select count(*), extract(epoch from now() - max(at)) as seconds from gl_server
    where format < $1 and at > now() - interval '2 minutes'`,
}
const findServers = {
  name: 'gl_servers',
  text: `select count(*) from gl_server
    where server <> $1 and at > now() - interval '2 minutes'`,
}
const findTables = {
  name: 'gl_tables',
  text: `select tablename as name from pg_tables
    where schemaname = current_schema() and tablename like 'gl\\_%'`,
}
const findTransaction = { name: 'gl_transaction', text: 'select pg_current_xact_id() as id' }
/** A later transaction has a lower age. */
const findEarlier = {
  name: 'gl_earlier',
  text: `select count(*) from (
      select backend_xmin as id from pg_stat_activity
        where pid <> pg_backend_pid() and (datname = current_database() or datname is null)
      union all select backend_xid from pg_stat_activity where datname = current_database()
      union all select xmin from pg_replication_slots
      union all select transaction from pg_prepared_xacts where database = current_database()
    ) as open where age(id) > age($1::xid8::xid)`,
}
