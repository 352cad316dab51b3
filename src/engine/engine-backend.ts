// The backend of a host in a database (hosting/host-backend.ts): any number of servers share it.
// Each has replicas of the stores that it serves, and nothing else on its disk that matters.

import { type Clock, systemClock } from '../clock.ts'
import { type Random, systemRandom } from '../crypto/random.ts'
import { systemDisk } from '../disk/system-disk.ts'
import { hasCode, StoreError } from '../errors.ts'
import { findRepository } from '../git/replica/replica-repository.ts'
import { type BackupReport, noHostError } from '../hosting/backup.ts'
import { Catalogue } from '../hosting/catalogue.ts'
import { Credentials } from '../hosting/credentials.ts'
import {
  type HostClaim,
  type HostJob,
  type HostNotice,
  type NewStoreOptions,
  notEmptyError,
  type RecordsOptions,
  type RecordsRole,
  type RotatingBackend,
  type RotatingPlace,
  type StoreUse,
  type Unfinished,
  type UnfinishedState,
} from '../hosting/host-backend.ts'
import type { HostRecords, ReadList, RecordTables } from '../hosting/host-records.ts'
import { copyRepository } from '../hosting/store-copy.ts'
import type { Identity } from '../keys/identity.ts'
import { createStoreAt } from '../store/create.ts'
import type { CacheOwner } from '../store/local/sealed-cache.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { openStore } from '../store/open.ts'
import { Engine, type EngineOptions } from './engine.ts'
import { Jobs } from './jobs.ts'
import { type Query, sqlStatements } from './pool.ts'
import { replaceRecords } from './record-change.ts'
import { ReplacedLogs, type SharedStorePlace } from './replaced-logs.ts'
import { replicaBytesDefault, Replicas } from './replicas.ts'
import { SqlOwnFiles } from './sql-own.ts'
import { type SeenGenerations, SqlRecords } from './sql-records.ts'

export interface EnginePlaces extends EngineOptions {
  readonly identity: Identity
  /** Where replicas may be: a directory of this machine that can be lost. */
  readonly replicaDirectory: string
  /** The most bytes of replicas that are not open; 10 GiB by default. */
  readonly replicaBytes?: number | undefined
  /** Keeps what reveals a database that was put back; without it, only servers that run notice. */
  readonly stateDirectory?: string | undefined
  readonly clock?: Clock
}

export interface AcceptReport extends BackupReport {
  /**
   * `memstore_…`, with a remote: a sync must fetch its changes before the store is written to, or
   * the remote sees two histories of this device, which can then no longer write.
   */
  readonly unsynced: readonly string[]
}

const NO_STORE = '0'.repeat(32)
const SWEEP_MS = 10 * 60_000
/** Often enough that others know for two minutes that it runs. */
const NOTE_MS = 30_000

const statements = sqlStatements({
  mark: 'insert into gl_mark (store, state, at) values ($1, $2, now()) on conflict do nothing',
  settle: 'delete from gl_mark where store = $1 and state = $2',
  // A server takes less to make a store, or it has died.
  unfinished: `select store, state from gl_mark where at < now() - interval '10 minutes'`,
  eraseEntries: 'delete from gl_log where store = $1',
  eraseParts: 'delete from gl_part where store = $1',
  eraseOwn: 'delete from gl_own where store = $1',
  eraseStore: 'delete from gl_store where store = $1',
  eraseMarks: 'delete from gl_mark where store = $1',
  // A token tells an entry from another one of its number, which a restored database may have.
  heads: `select store, number || ' ' || coalesce(token, base_id, '') as head
    from gl_store left join gl_log using (store, number)`,
  findLists: 'select from gl_list limit 1',
  findStores: 'select from gl_store limit 1',
  holdEngine: 'select from gl_engine for update',
  findFilling: `select from gl_mark where store = '' and state = 'filling'`,
  beginFilling: `insert into gl_mark (store, state, at) values ('', 'filling', now())`,
  endFilling: `delete from gl_mark where store = '' and state = 'filling'`,
  clearStores: 'delete from gl_store',
  clearEntries: 'delete from gl_log',
  clearParts: 'delete from gl_part',
  clearOwn: 'delete from gl_own',
  clearMarks: 'delete from gl_mark',
  clearRecords: 'delete from gl_record',
  clearChanges: 'delete from gl_change',
  clearLists: 'delete from gl_list',
})

/** In the order in which an append and a change of a list wait for them. */
const cleared = [
  'clearStores',
  'clearEntries',
  'clearParts',
  'clearOwn',
  'clearMarks',
  'clearLists',
  'clearRecords',
  'clearChanges',
] as const

export class EngineBackend implements RotatingBackend {
  readonly clock: Clock
  readonly random: Random
  readonly owner: CacheOwner
  readonly sweepEveryMs = SWEEP_MS
  readonly #engine: Engine
  readonly #places: EnginePlaces
  readonly #replicas: Replicas
  readonly #jobs: Jobs
  readonly #seen: SeenGenerations = new Map()
  readonly #records: Pick<SqlRecords<object>, 'check'>[] = []
  readonly #logs: ReplacedLogs
  #isFilling = false

  /** Throws `upgrade_required`, `invalid_input` for the address, or a storage code. */
  static async open(places: EnginePlaces): Promise<EngineBackend> {
    const engine = await Engine.open(places)
    try {
      const { random = systemRandom, replicaBytes: bytesMax = replicaBytesDefault } = places
      const where = { disk: systemDisk, random, root: places.replicaDirectory, bytesMax }
      const replicas = await Replicas.open({ ...where, logs: engine.logs })
      return new EngineBackend(engine, places, replicas)
    } catch (error) {
      await engine.close()
      throw error
    }
  }

  private constructor(engine: Engine, places: EnginePlaces, replicas: Replicas) {
    const { identity, clock = systemClock, random = systemRandom } = places
    this.clock = clock
    this.random = random
    this.owner = { disk: systemDisk, identity, random, storeId: NO_STORE }
    this.#engine = engine
    this.#places = places
    this.#replicas = replicas
    this.#jobs = new Jobs(engine.pool, engine.server)
    const placeOf = (storeId: string): SharedStorePlace => this.#place(storeId)
    this.#logs = new ReplacedLogs({ engine, backend: this, placeOf })
  }

  async make(): Promise<void> {}

  async contents(): Promise<'host' | 'other' | 'nothing'> {
    const { pool } = this.#engine
    if ((await pool.repeat(statements.findFilling, [])).count > 0) return 'other'
    if ((await pool.repeat(statements.findLists, [])).count > 0) return 'host'
    return (await pool.repeat(statements.findStores, [])).count > 0 ? 'other' : 'nothing'
  }

  fill<T>(_notice: (notice: HostNotice) => void, work: () => Promise<T>): Promise<T> {
    return this.#jobs.hold('restore', async () => {
      await this.#beginFilling()
      this.#isFilling = true
      try {
        const result = await work()
        await this.#engine.pool.repeat(statements.endFilling, [])
        return result
      } catch (error) {
        await this.#clear()
        throw error
      } finally {
        this.#isFilling = false
      }
    })
  }

  /** Several may be. Other releases learn that this one runs, and it learns what it cannot read. */
  async serve(notice: (notice: HostNotice) => void): Promise<() => Promise<void>> {
    const engine = this.#engine
    await engine.noteRunning()
    let wasReady = true
    const note = async (): Promise<void> => {
      try {
        await engine.ready()
        await engine.noteRunning()
        wasReady = true
      } catch (error) {
        if (wasReady) notice({ about: 'engine', error })
        wasReady = false
      }
    }
    const timer = setInterval(() => void note(), NOTE_MS).unref()
    return async () => {
      clearInterval(timer)
      // If the engine is away, it is forgotten all the same.
      await engine.noteEnded().catch(() => undefined)
    }
  }

  async ready(): Promise<void> {
    await this.#engine.ready()
    for (const records of this.#records) await records.check()
  }

  async close(): Promise<void> {
    await this.#replicas.close()
    await this.#engine.close()
  }

  async openRecords<T extends object>(options: RecordsOptions<T>): Promise<HostRecords<T>> {
    const { owner } = this
    const isFilling = this.#isFilling
    const parts = { pool: this.#engine.pool, owner, seen: this.#seen, isFilling }
    const records = await SqlRecords.open({ ...options, ...parts })
    this.#records.push(records)
    return records
  }

  async heads(): Promise<ReadonlyMap<string, string>> {
    const { rows } = await this.#engine.pool.repeat(statements.heads, [])
    return new Map(rows.map(({ store, head }) => [String(store), String(head)]))
  }

  openStore(storeId: string, use: StoreUse = {}): Promise<MemoryStore> {
    return openStore({ ...this.#place(storeId), storeId, ...use })
  }

  async createStore(
    options: NewStoreOptions,
    reserve: (storeId: string) => Promise<void>,
  ): Promise<MemoryStore> {
    const place = this.#place('')
    const { store } = await createStoreAt({ ...place, ...options }, async (storeId) => {
      await reserve(storeId)
      await this.#engine.logs.create(storeId)
      return this.#replicas.placeOf(storeId)
    })
    return store
  }

  /** The marks are removed with the rest, in one transaction. */
  async eraseStore(storeId: string): Promise<void> {
    const { pool } = this.#engine
    await pool.repeatTransaction(async (query) => {
      // First: an append waits for this row, and finds none.
      await query(statements.eraseStore, [storeId])
      await query(statements.eraseEntries, [storeId])
      await query(statements.eraseParts, [storeId])
      await query(statements.eraseOwn, [storeId])
      await query(statements.eraseMarks, [storeId])
      return true
    })
    this.#replicas.remove(storeId)
  }

  /** From a replica of its own, which follows the log until the copy begins. */
  async copyStore(storeId: string, to: string): Promise<void> {
    const store = await this.openStore(storeId)
    try {
      // A replica that was made from the log has a journal alone, which is no repository.
      await store.maintenance.checkpoint()
      const from = findRepository(systemDisk, this.#replicas.placeOf(storeId))
      if (from === undefined) throw new StoreError('not_a_store', 'The replica has no repository')
      await copyRepository({ disk: systemDisk, random: this.random }, from, to)
    } finally {
      await store.close()
    }
  }

  async restoreStore(storeId: string, from: string): Promise<void> {
    await this.mark(storeId, 'making')
    await this.#engine.logs.create(storeId)
    await this.#logs.share(storeId, from)
    await this.settle(storeId, 'making')
  }

  /**
   * Accepts once a database that was put back to an older state, for all servers: each store leaves
   * room above its numbers for those that were lost, and so do the lists. May be repeated, also
   * after a crash. Rejects with `not_found` without a host; a store that a server writes to in the
   * meantime is among the failed ones.
   */
  acceptRestored(notice: (notice: HostNotice) => void): Promise<AcceptReport> {
    return this.#jobs.hold('restore', () => this.#acceptRestored(notice))
  }

  async #acceptRestored(notice: (notice: HostNotice) => void): Promise<AcceptReport> {
    if ((await this.contents()) !== 'host') throw noHostError()
    const catalogue = await Catalogue.open(this, notice, false).catch((error: unknown) => {
      // A row of it was put back alone.
      if (hasCode(error, 'rolled_back')) return Catalogue.open(this, notice, true)
      throw error
    })
    const storeIds = (await catalogue.stores()).map(({ storeId }) => storeId)
    const [failed, unsynced]: [string[], string[]] = [[], []]
    for (const storeId of storeIds) {
      try {
        if (await this.#logs.accept(storeId)) unsynced.push(storeId)
      } catch (error) {
        if (!(error instanceof StoreError)) throw error
        notice({ about: storeId, error })
        failed.push(storeId)
      }
    }
    // Last: without them, a server that remembers newer ones serves nothing.
    await Catalogue.open(this, notice, true)
    await Credentials.open(this, notice, true)
    return { stores: storeIds.length - failed.length, failed, unsynced }
  }

  async withoutServers<T>(
    _notice: (notice: HostNotice) => void,
    work: () => Promise<T>,
  ): Promise<T> {
    await this.#engine.checkNoneRuns()
    return work()
  }

  async rotateStore(
    storeId: string,
    next: Identity,
    change: (place: RotatingPlace) => Promise<void>,
  ): Promise<void> {
    await this.#logs.rotate(storeId, next, change)
    this.#replicas.remove(storeId)
  }

  async takeRecords<T extends object>(
    role: RecordsRole,
    tables: RecordTables<T>,
    list: ReadList<T>,
  ): Promise<void> {
    const { owner } = this
    const isSame = await this.#engine.pool.repeatTransaction((query) => {
      return replaceRecords({ query, owner, role, tables }, list)
    })
    if (!isSame) throw new StoreError('locked', 'Another server changes the lists: end it first')
  }

  hasRemote(storeId: string): Promise<boolean> {
    return this.#engine.logs.hasRemotes(storeId)
  }

  async mark(storeId: string, state: UnfinishedState): Promise<void> {
    await this.#engine.pool.repeat(statements.mark, [storeId, state])
  }

  async settle(storeId: string, state: UnfinishedState): Promise<void> {
    await this.#engine.pool.repeat(statements.settle, [storeId, state])
  }

  async unfinished(): Promise<readonly Unfinished[]> {
    const { rows } = await this.#engine.pool.repeat(statements.unfinished, [])
    return rows.flatMap(({ store, state }) => {
      const isKnown = state === 'making' || state === 'erasing' || state === 'changed'
      return typeof store === 'string' && isKnown ? [{ storeId: store, state }] : []
    })
  }

  hold<T>(claim: HostClaim, work: () => Promise<T>): Promise<T> {
    return this.#jobs.hold(claim, work)
  }

  runJob(job: HostJob, work: () => Promise<void>): Promise<void> {
    return this.#jobs.run(job, work)
  }

  /** Its first lists are made with the same row of `gl_engine`: no server starts in between. */
  async #beginFilling(): Promise<void> {
    await this.#engine.pool.repeatTransaction(async (query) => {
      await query(statements.holdEngine, [])
      const wasFilling = (await query(statements.findFilling, [])).count > 0
      if (wasFilling) await clearTables(query)
      for (const name of ['findLists', 'findStores'] as const) {
        if ((await query(statements[name], [])).count > 0) throw notEmptyError()
      }
      await query(statements.beginFilling, [])
      return true
    })
  }

  async #clear(): Promise<void> {
    await this.#engine.pool.repeatTransaction(async (query) => {
      await clearTables(query)
      return true
    })
  }

  #place(storeId: string) {
    const { identity, stateDirectory = this.#replicas.stateDirectory } = this.#places
    const { clock, random } = this
    const directory = this.#replicas.placeOf(storeId)
    const { logs, pool } = this.#engine
    const sharedLog = logs.log.bind(logs)
    const ownFiles = (id: string): SqlOwnFiles => new SqlOwnFiles(pool, id)
    return { identity, clock, random, directory, stateDirectory, sharedLog, ownFiles }
  }
}

async function clearTables(query: Query): Promise<void> {
  for (const name of cleared) await query(statements[name], [])
}
