// Connections to a PostgreSQL server, or to the primary among several. Owns which failures are
// worth another attempt. Must not put a text of the server into an error: it may hold values.

import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import type pg from 'pg'
import type { Client, ClientBase, Pool, PoolClient, QueryResult } from 'pg'
import { type ErrorCode, StoreError } from '../errors.ts'
import type { EngineAddress, EngineHost } from './address.ts'

export interface PoolOptions {
  readonly address: EngineAddress
  /** The most connections of this process, 16 by default. */
  readonly connections?: number | undefined
  /** Certificates in PEM that vouch for the server, in place of the system's. */
  readonly ca?: string | undefined
  /** For poolers that cannot keep prepared statements. */
  readonly unnamed?: boolean | undefined
  /** @internal How long a statement may take; replaced in tests. */
  readonly answerMs?: number
}

/** A statement; its name is that of the prepared one. */
export interface SqlStatement {
  readonly name: string
  readonly text: string
  /** Whether it may take as long as it likes. */
  readonly isLong?: boolean
}

type SqlValue = string | number | boolean | null | Uint8Array | readonly string[]

export interface SqlResult {
  readonly count: number
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  /**
   * Whether the server warned: a wait for its standby was cancelled, and the change, though
   * committed, may be lost with the primary.
   */
  readonly isWarned: boolean
}

export type SqlRow = SqlResult['rows'][number]

export type Query = (statement: SqlStatement, values: readonly SqlValue[]) => Promise<SqlResult>

/** A statement failed. With `isTransient`, it may succeed later, or may have succeeded. */
export class EngineFailure extends Error {
  readonly isTransient: boolean
  readonly sqlState: string | undefined

  constructor(cause: unknown) {
    super('A statement of the engine failed', { cause })
    this.sqlState = sqlStateOf(cause)
    this.isTransient =
      this.sqlState === undefined ? !isUntrusted(cause) : transient.test(this.sqlState)
  }
}

/** How long a statement is repeated: a failover takes less. */
const PATIENCE_MS = 60_000
const PAUSE_MS_MAX = 500
/** A connection that does not answer for so long is given up. */
const ANSWER_MS = 30_000
/** The most that a timer can wait. */
const LONG_ANSWER_MS = 2 ** 31 - 1
const CONNECT_MS = 5000
/** Of `pauseAfter`, about 80 ms. */
const SETTLE_PAUSE = 3

/**
 * No connection, a server that starts, stops or is a standby, too many connections, a cancelled
 * statement, and transactions that another one has stood in the way of.
 */
const transient = /^(?:08...|25006|25P03|40001|40P01|53300|55P03|57...)$/

export class EnginePool {
  readonly #pools: readonly Pool[]
  readonly #isNamed: boolean
  readonly #warnings: WeakSet<ClientBase> = new WeakSet()
  #primary = 0

  /** Throws `invalid_input` without the package `pg`. Connects to nothing. */
  static async open(options: PoolOptions): Promise<EnginePool> {
    return new EnginePool(await loadPackage(), options)
  }

  private constructor({ Pool }: Pick<typeof pg, 'Pool'>, options: PoolOptions) {
    this.#isNamed = options.unnamed !== true
    this.#pools = options.address.hosts.map((host) => {
      const pool = new Pool(configOf(host, options))
      // The next statement finds that an idle connection was lost.
      pool.on('error', () => undefined)
      pool.on('connect', (client) => this.#watch(client))
      return pool
    })
  }

  /** Runs a statement once. Throws an `EngineFailure`. */
  query(statement: SqlStatement, values: readonly SqlValue[]): Promise<SqlResult> {
    return this.#using((client) => this.#run(client, statement, values))
  }

  /**
   * Runs a statement that may be repeated, until it succeeds. Throws `storage_failed` if it does
   * not within a minute.
   */
  repeat(statement: SqlStatement, values: readonly SqlValue[]): Promise<SqlResult> {
    return repeating(() => this.query(statement, values))
  }

  /** Runs work once, in a transaction that is committed if it returns true. */
  transaction(work: (query: Query) => Promise<boolean>): Promise<boolean> {
    return this.#using(async (client) => {
      await this.#run(client, begin, [])
      try {
        const isDone = await work((statement, values) => this.#run(client, statement, values))
        const { isWarned } = await this.#run(client, isDone ? commit : rollback, [])
        if (isDone && isWarned) await this.#settle(client)
        return isDone
      } catch (error) {
        await this.#run(client, rollback, []).catch(() => undefined)
        throw error
      }
    })
  }

  /** The same, again after a failure that may pass: `work` and its commit must bear that. */
  repeatTransaction(work: (query: Query) => Promise<boolean>): Promise<boolean> {
    let attempts = 0
    return repeating(async () => {
      attempts += 1
      const isDone = await this.transaction(work)
      // What it found may be what an earlier attempt has committed, unknown to the standby.
      if (attempts > 1) await this.#using((client) => this.#settle(client))
      return isDone
    })
  }

  /** Whether a pooler answers for the server: then the process is another one than it said. */
  isPooled(): Promise<boolean> {
    return this.#using(async (client) => {
      const [row] = (await this.#run(client, findProcess, [])).rows
      return 'processID' in client && Number(row?.['pid']) !== client.processID
    })
  }

  /** Connections in use, and statements that wait for one. */
  get load(): { readonly connections: number; readonly waiting: number } {
    const sum = (count: (pool: Pool) => number): number => {
      return this.#pools.reduce((total, pool) => total + count(pool), 0)
    }
    return { connections: sum((pool) => pool.totalCount), waiting: sum((p) => p.waitingCount) }
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()))
  }

  async #using<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connect()
    let failure: EngineFailure | undefined
    try {
      return await work(client)
    } catch (error) {
      failure = error instanceof EngineFailure ? error : undefined
      if (failure?.isTransient === true) this.#lookElsewhere()
      throw error
    } finally {
      // A connection in an unknown state is not used again.
      client.release(failure !== undefined)
    }
  }

  /** Resolves once a change has been committed that the standby confirms, too. */
  async #settle(client: PoolClient): Promise<void> {
    const deadline = patience()
    while ((await this.#run(client, settle, [])).isWarned) {
      if (performance.now() >= deadline) throw new EngineFailure(new Error('the standby is away'))
      await pauseAfter(SETTLE_PAUSE)
    }
  }

  /** A connection to the primary, which is looked for from the last one on. */
  async #connect(): Promise<PoolClient> {
    let failure: EngineFailure | undefined
    for (let attempt = 0; attempt < this.#pools.length; attempt += 1) {
      try {
        return await this.#pool.connect()
      } catch (error) {
        failure = new EngineFailure(error)
        // Another host may have a certificate that can be trusted.
        if (failure.sqlState !== undefined && !failure.isTransient) throw failure
        this.#lookElsewhere()
      }
    }
    throw failure ?? new Error('an engine has at least one host')
  }

  get #pool(): Pool {
    const pool = this.#pools[this.#primary]
    if (pool === undefined) throw new Error('an engine has at least one host')
    return pool
  }

  #lookElsewhere(): void {
    this.#primary = (this.#primary + 1) % this.#pools.length
  }

  async #run(
    client: PoolClient,
    { name, text, isLong = false }: SqlStatement,
    values: readonly SqlValue[],
  ): Promise<SqlResult> {
    this.#warnings.delete(client)
    const given = values.map((value) => (value instanceof Uint8Array ? bufferOf(value) : value))
    const longer = isLong ? { query_timeout: LONG_ANSWER_MS } : {}
    const query = { text, values: given, ...(this.#isNamed && name !== '' && { name }), ...longer }
    let result: QueryResult<Record<string, unknown>>
    try {
      result = await client.query<Record<string, unknown>>(query)
    } catch (error) {
      throw new EngineFailure(error)
    }
    return {
      count: result.rowCount ?? 0,
      rows: result.rows,
      isWarned: this.#warnings.has(client),
    }
  }

  #watch(client: PoolClient): void {
    client.on('notice', ({ severity }) => {
      if (severity === 'WARNING') this.#warnings.add(client)
    })
    client.on('error', () => undefined)
  }
}

/**
 * Repeats work that fails for a moment. Throws `storage_failed`, or the code of a lasting failure.
 */
export async function repeating<T>(
  work: () => Promise<T>,
  deadline: number = performance.now() + PATIENCE_MS,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof EngineFailure)) throw error
      if (!error.isTransient || performance.now() >= deadline) throw engineError(error)
      await pauseAfter(attempt)
    }
  }
}

/** When repeating ends that begins now. */
export function patience(): number {
  return performance.now() + PATIENCE_MS
}

/** Grows to half a second. */
export function pauseAfter(attempt: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.min(PAUSE_MS_MAX, 10 * 2 ** attempt)))
}

export function engineError({ sqlState, cause }: EngineFailure): StoreError {
  const [code, problem] = problems[sqlState ?? ''] ?? [
    'storage_failed' as const,
    sqlState === undefined ? unreachable(cause) : `it reports SQLSTATE ${sqlState}`,
  ]
  return new StoreError(code, `The engine does not do it: ${problem}`)
}

const pooled = 'a pooler shares its connections: use --engine-unnamed'
const problems: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  '28P01': ['storage_denied', 'user or password are wrong'],
  '28000': ['storage_denied', 'it does not let this user in'],
  '3D000': ['storage_failed', 'there is no such database: create it first'],
  '42P01': ['storage_failed', 'its tables are missing: run `gitlocket engine init`'],
  '42501': ['storage_denied', 'the user lacks rights: see docs/FLEET.md'],
  '53100': ['storage_full', 'its disk is full'],
  // Prepared in another connection, or not in this one.
  '26000': ['storage_failed', pooled],
  '42P05': ['storage_failed', pooled],
}

const findProcess: SqlStatement = { name: 'gl_process', text: 'select pg_backend_pid() as pid' }
/** Statements by their names. */
export function sqlStatements<Name extends string>(
  texts: Readonly<Record<Name, string>>,
): Record<Name, SqlStatement> {
  const named = Object.entries<string>(texts).map(([name, text]) => {
    return [name, { name: `gl_${name}`, text }] as const
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same names
  return Object.fromEntries(named) as Record<Name, SqlStatement>
}

/** Two commands, which have no name. A server that stops keeps the rows of others so long. */
const begin: SqlStatement = {
  name: '',
  text: `begin; set local idle_in_transaction_session_timeout = '5s'`,
}
/** Writes in any case. */
const settle: SqlStatement = {
  name: 'gl_settle_any',
  text: `insert into gl_job (name, holder, until) values ('settled', null, now())
    on conflict (name) do update set until = now()`,
}
const commit: SqlStatement = { name: 'gl_commit', text: 'commit' }
const rollback: SqlStatement = { name: 'gl_rollback', text: 'rollback' }

async function loadPackage(): Promise<Pick<typeof pg, 'Pool'>> {
  try {
    return (await import('pg')).default
  } catch (error) {
    throw new StoreError('invalid_input', 'An engine needs the package pg: npm install pg', {
      cause: error,
    })
  }
}

function configOf({ host, port }: EngineHost, options: PoolOptions): object {
  const { address, connections = 16, ca, answerMs = ANSWER_MS } = options
  const { user, password, database, isEncrypted } = address
  return {
    host,
    port,
    user,
    password,
    database,
    max: connections,
    ssl: isEncrypted && encryptionOf(host, ca),
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: answerMs,
    keepAlive: true,
    application_name: 'gitlocket',
    verify: refuseStandby,
  }
}

/** Older releases of `pg` compare no address, only a name, with the certificate. */
function encryptionOf(host: string, ca: string | undefined): object {
  return {
    rejectUnauthorized: true,
    checkServerIdentity: (_: string, certificate: PeerCertificate) => {
      return checkServerIdentity(host, certificate)
    },
    ...(ca === undefined ? {} : { ca }),
  }
}

/** Called with each new connection: a standby answers, but takes no writes. */
function refuseStandby(client: Client, done: (error?: Error) => void): void {
  client.query<Record<string, unknown>>('show transaction_read_only', (error, result) => {
    const isStandby = result?.rows[0]?.['transaction_read_only'] === 'on'
    done(error ?? (isStandby ? new StandbyError() : undefined))
  })
}

class StandbyError extends Error {
  readonly code = '25006'
}

function sqlStateOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error) || !('code' in cause)) return undefined
  const { code } = cause
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

function unreachable(cause: unknown): string {
  const code = codeOf(cause)
  if (code === altName) return `its certificate is for another host (${code})`
  if (isUntrusted(cause)) {
    return code === undefined
      ? 'it does not speak TLS, which everything but this machine needs'
      : `its certificate cannot be trusted (${code}): --engine-ca names those to trust`
  }
  return code === undefined ? 'it does not answer' : `it is not reached (${code})`
}

/** The server is another one, or does not encrypt: no later attempt is better. */
function isUntrusted(cause: unknown): boolean {
  const isPlain = cause instanceof Error && cause.message.includes('support SSL connections')
  return isPlain || /CERT|SIGNATURE/.test(codeOf(cause) ?? '')
}

const altName = 'ERR_TLS_CERT_ALTNAME_INVALID'

/** Of the system or of TLS, such as ECONNREFUSED or SELF_SIGNED_CERT_IN_CHAIN. */
function codeOf(cause: unknown): string | undefined {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return typeof code === 'string' && /^[A-Z_]{3,60}$/.test(code) ? code : undefined
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}
