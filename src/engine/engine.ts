// An engine: the database that several servers share. Makes its tables, opens it, and checks that
// this release and the database fit. Knows no store.

import { toHex } from '../bytes.ts'
import { type Random, systemRandom } from '../crypto/random.ts'
import { StoreError } from '../errors.ts'
import { type AddressOptions, parseEngineAddress } from './address.ts'
import { EnginePool, type PoolOptions, repeating } from './pool.ts'
import { schema } from './schema.ts'
import { SqlLogs } from './sql-log.ts'

/** The format of rows that this release writes, and the newest that it reads. */
const FORMAT = 1

export interface EngineOptions extends AddressOptions, Omit<PoolOptions, 'address'> {
  /** `postgres://user:password@host/database`. */
  readonly url: string
  /** @internal Replaced in tests. */
  readonly random?: Random
}

export class Engine {
  readonly pool: EnginePool
  readonly logs: SqlLogs
  /** Differs from that of every other process. */
  readonly server: string

  /** Throws `upgrade_required`, `invalid_input` for the address, or a storage code. */
  static async open(options: EngineOptions): Promise<Engine> {
    const { random = systemRandom } = options
    const engine = new Engine(await openPool(options), random)
    try {
      await engine.#checkFormat()
      return engine
    } catch (error) {
      await engine.close()
      throw error
    }
  }

  private constructor(pool: EnginePool, random: Random) {
    this.pool = pool
    this.server = toHex(random(16))
    this.logs = new SqlLogs(pool, this.server)
  }

  close(): Promise<void> {
    return this.pool.close()
  }

  async #checkFormat(): Promise<void> {
    const [row] = (await soon(() => this.pool.query(findFormat, []))).rows
    if (row === undefined) {
      throw new StoreError('storage_failed', 'The engine is not ready: run `gitlocket engine init`')
    }
    if (Number(row['floor']) <= FORMAT) return
    throw new StoreError(
      'upgrade_required',
      'All servers of this engine have been upgraded to a later release: upgrade this one',
    )
  }
}

/** Makes the tables that are missing, and changes no others. Idempotent. */
export async function initEngine(options: EngineOptions): Promise<void> {
  const pool = await openPool(options)
  try {
    for (const text of schema) await soon(() => pool.query({ name: '', text }, []))
    await soon(() => pool.query(noteFormat, [FORMAT]))
  } finally {
    await pool.close()
  }
  await (await Engine.open(options)).close()
}

/**
 * Rewrites the tables, so that no file of the primary holds removed rows. Locks each table in the
 * meantime. Standbys follow; backups, snapshots and archived logs of the database keep their bytes.
 */
export async function scrubEngine(options: EngineOptions): Promise<void> {
  const engine = await Engine.open(options)
  try {
    const { rows } = await engine.pool.repeat(findTables, [])
    for (const { name } of rows) {
      if (typeof name !== 'string' || !/^gl_[a-z_]+$/.test(name)) continue
      await engine.pool.repeat({ name: '', text: `vacuum full ${name}` }, [])
    }
  } finally {
    await engine.close()
  }
}

/** At a start, someone waits who may have mistyped the address. */
const START_MS = 5000

function soon<T>(work: () => Promise<T>): Promise<T> {
  return repeating(work, performance.now() + START_MS)
}

async function openPool({ url, insecure, ...options }: EngineOptions): Promise<EnginePool> {
  return EnginePool.open({ ...options, address: parseEngineAddress(url, { insecure }) })
}

const findFormat = { name: 'gl_format', text: 'select format, floor from gl_engine' }
const noteFormat = {
  name: 'gl_note_format',
  text: `insert into gl_engine (format, floor)
    select $1::int, $1::int where not exists (select from gl_engine)`,
}
const findTables = {
  name: 'gl_tables',
  text: `select tablename as name from pg_tables
    where schemaname = current_schema() and tablename like 'gl\\_%'`,
}
