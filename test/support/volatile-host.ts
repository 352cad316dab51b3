// A backend for a host whose records and marks are in memory, shared by several servers, as with a
// database. Stores are in a directory all the same: a test opens them as any other.

import { DataDirectory, type HostPlaces } from '../../src/hosting/data-directory.ts'
import {
  type HostBackend,
  type HostClaim,
  type HostJob,
  type HostNotice,
  type NewStoreOptions,
  notEmptyError,
  type RecordsOptions,
  type StoreUse,
  type Unfinished,
  type UnfinishedState,
} from '../../src/hosting/host-backend.ts'
import type { HostRecords } from '../../src/hosting/host-records.ts'
import type { MemoryStore } from '../../src/index.ts'
import { RowDatabase, type SeenGenerations, VolatileRecords } from './volatile-records.ts'

interface Mark extends Unfinished {
  readonly by: VolatileBackend
}

/** What the servers share. */
export class SharedPlace {
  readonly database = new RowDatabase()
  readonly seen: SeenGenerations = new Map()
  readonly marks = new Map<string, Mark>()
  readonly jobs = new Set<HostJob>()
  readonly living = new Set<VolatileBackend>()
  sweepEveryMs: number | undefined
}

export class VolatileBackend implements HostBackend {
  readonly #shared: SharedPlace
  readonly #directory: DataDirectory

  constructor(shared: SharedPlace, places: HostPlaces) {
    this.#shared = shared
    this.#directory = new DataDirectory(places)
    shared.living.add(this)
  }

  get clock(): HostBackend['clock'] {
    return this.#directory.clock
  }

  get random(): HostBackend['random'] {
    return this.#directory.random
  }

  get owner(): HostBackend['owner'] {
    return this.#directory.owner
  }

  get sweepEveryMs(): number | undefined {
    return this.#shared.sweepEveryMs
  }

  ready(): Promise<void> {
    return this.#directory.ready()
  }

  make(): Promise<void> {
    return this.#directory.make()
  }

  async contents(): Promise<'host' | 'nothing'> {
    return this.#shared.database.of('catalogue').head === undefined ? 'nothing' : 'host'
  }

  async fill<T>(notice: (notice: HostNotice) => void, work: () => Promise<T>): Promise<T> {
    if ((await this.contents()) !== 'nothing') throw notEmptyError()
    try {
      return await this.#directory.fill(notice, work)
    } catch (error) {
      this.#shared.database.clear()
      throw error
    }
  }

  async serve(): Promise<() => Promise<void>> {
    return async () => undefined
  }

  async close(): Promise<void> {
    this.#shared.living.delete(this)
    await this.#directory.close()
  }

  openRecords<T extends object>(options: RecordsOptions<T>): Promise<HostRecords<T>> {
    const { database, seen } = this.#shared
    const { owner } = this
    return VolatileRecords.open({ ...options, owner, rows: database.of(options.role), seen })
  }

  heads(): Promise<ReadonlyMap<string, string>> {
    return this.#directory.heads()
  }

  openStore(storeId: string, use?: StoreUse): Promise<MemoryStore> {
    return this.#directory.openStore(storeId, use)
  }

  createStore(
    options: NewStoreOptions,
    reserve: (storeId: string) => Promise<void>,
  ): Promise<MemoryStore> {
    return this.#directory.createStore(options, reserve)
  }

  async eraseStore(storeId: string): Promise<void> {
    await this.#directory.eraseStore(storeId)
    for (const state of ['making', 'erasing', 'changed'] as const) {
      await this.settle(storeId, state)
    }
  }

  copyStore(storeId: string, to: string): Promise<void> {
    return this.#directory.copyStore(storeId, to)
  }

  restoreStore(storeId: string, from: string): Promise<void> {
    return this.#directory.restoreStore(storeId, from)
  }

  hasRemote(storeId: string): Promise<boolean> {
    return this.#directory.hasRemote(storeId)
  }

  async mark(storeId: string, state: UnfinishedState): Promise<void> {
    this.#shared.marks.set(`${storeId} ${state}`, { storeId, state, by: this })
  }

  async settle(storeId: string, state: UnfinishedState): Promise<void> {
    this.#shared.marks.delete(`${storeId} ${state}`)
  }

  async unfinished(): Promise<readonly Unfinished[]> {
    const { marks, living } = this.#shared
    return [...marks.values()].filter(({ by }) => !living.has(by))
  }

  hold<T>(_claim: HostClaim, work: () => Promise<T>): Promise<T> {
    return work()
  }

  async runJob(job: HostJob, work: () => Promise<void>): Promise<void> {
    const { jobs } = this.#shared
    if (jobs.has(job)) return
    jobs.add(job)
    try {
      await work()
    } finally {
      jobs.delete(job)
    }
  }
}
