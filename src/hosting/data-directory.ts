// The data directory of a server: which file lies where, and the locks of its processes. A store
// with unfinished work has a marker, a file of its name. Decides no more than names and order.

import { basename, resolve } from 'node:path'
import { asciiText, toHex, utf8 } from '../bytes.ts'
import { type Clock, systemClock } from '../clock.ts'
import { hash256 } from '../crypto/digest.ts'
import { type Random, systemRandom } from '../crypto/random.ts'
import { atomicWrite, type Disk, makeDurableDirectory } from '../disk/disk.ts'
import { refuseForeignRoot } from '../disk/foreign-owner.ts'
import { holdForLife } from '../disk/hold-for-life.ts'
import { LockIdentity, ProcessLock, sweepOwners } from '../disk/process-lock.ts'
import { systemDisk } from '../disk/system-disk.ts'
import { hasCode, StoreError } from '../errors.ts'
import { findId, parseId } from '../format/id.ts'
import { traceOfStore } from '../git/disk-store/head-trace.ts'
import type { Identity } from '../keys/identity.ts'
import { lineFileBytesMax, lockWaitMsDefault } from '../limits.ts'
import { createStoreAt } from '../store/create.ts'
import type { CacheOwner } from '../store/local/sealed-cache.ts'
import type { MemoryStore } from '../store/memory-store.ts'
import { openStore } from '../store/open.ts'
import {
  localPlaces,
  type StoreEnvironment,
  type StorePlaces,
} from '../store/session/open-options.ts'
import { TimeSlice } from '../time-slice.ts'
import { FileRecords } from './file-records.ts'
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
} from './host-backend.ts'
import type { HostRecords, ReadList, RecordTables } from './host-records.ts'
import { sealList } from './list-file.ts'
import type { SealedFilePlace } from './sealed-file.ts'
import { copyFiles, copyRepository } from './store-copy.ts'

export interface HostPlaces {
  /** The stores, the list of them, and the credentials. */
  readonly dataDirectory: string
  /** Outside, for the state that reveals old copies, and not backed up with them. */
  readonly stateDirectory: string
  readonly identity: Identity
  readonly clock?: Clock
  /** @internal Replaced in tests. */
  readonly random?: Random
  /** @internal Replaced in tests. */
  readonly disk?: Disk
}

/** What belongs to no store. */
const NO_STORE = '0'.repeat(32)
/** Ends the marker of a store whose settings are being changed. */
const CHANGED = '.changed'

/** One state directory serves several data directories, whose names can be long. */
function nameOf(dataDirectory: string): string {
  return toHex(hash256(utf8(dataDirectory)).subarray(0, 16))
}

export class DataDirectory implements RotatingBackend {
  readonly disk: Disk
  readonly random: Random
  readonly clock: Clock
  /** Its one server looks when it starts. */
  readonly sweepEveryMs = undefined
  readonly path: string
  readonly stores: string
  readonly #identity: Identity
  /** For the anchors of the stores: where the command line looks for them too. */
  readonly #storeStates: string
  readonly #markers: string
  readonly #state: string
  readonly #lockIdentity: LockIdentity
  readonly #locks: ProcessLock[] = []
  readonly #claims: Readonly<Record<HostClaim, ProcessLock>>

  /** Throws `storage_denied` for root in places of another user. */
  constructor({ dataDirectory, stateDirectory, identity, ...environment }: HostPlaces) {
    const { disk = systemDisk, random = systemRandom, clock = systemClock } = environment
    this.disk = disk
    this.random = random
    this.clock = clock
    this.path = resolve(dataDirectory)
    this.stores = `${this.path}/stores`
    this.#identity = identity
    this.#markers = `${this.path}/unfinished`
    this.#storeStates = resolve(stateDirectory)
    refuseForeignRoot(this.path, this.#storeStates)
    this.#state = `${this.#storeStates}/servers/${nameOf(this.path)}`
    this.#lockIdentity = new LockIdentity(disk, this.locks, random)
    const lockOf = (name: HostClaim): ProcessLock => this.#lock(`${name}.lock`, name)
    this.#claims = { stores: lockOf('stores'), rotation: lockOf('rotation') }
  }

  /** Of locks alone: a directory with nothing else is empty. */
  get locks(): string {
    return `${this.path}/gitlocket`
  }

  get owner(): CacheOwner {
    const { disk, random } = this
    return { disk, identity: this.#identity, random, storeId: NO_STORE }
  }

  storePath(storeId: string): string {
    return `${this.stores}/${storeId}`
  }

  /** Where a sealed file is, and its freshness. */
  file(role: RecordsRole): SealedFilePlace {
    const { owner, clock } = this
    const paths = { path: `${this.path}/${role}`, freshnessPath: `${this.#state}/${role}` }
    return { owner, clock, role, ...paths, lock: this.#lock(`${role}.lock`, role) }
  }

  async make(): Promise<void> {
    for (const path of [this.locks, this.stores, this.#markers, this.#state]) {
      await makeDurableDirectory(this.disk, path)
    }
  }

  /** Its one server has opened it. */
  async ready(): Promise<void> {}

  async contents(): Promise<'host' | 'other' | 'nothing'> {
    if (this.disk.stat(`${this.path}/catalogue`) !== undefined) return 'host'
    const isEmpty = this.disk.list(this.path).every((name) => name === basename(this.locks))
    return isEmpty ? 'nothing' : 'other'
  }

  async fill<T>(notice: (notice: HostNotice) => void, work: () => Promise<T>): Promise<T> {
    if ((await this.contents()) !== 'nothing') throw notEmptyError()
    await this.make()
    const leave = await this.serve(notice)
    try {
      return await work()
    } catch (error) {
      for (const name of this.disk.list(this.path)) {
        if (name !== basename(this.locks)) this.disk.removeTree(`${this.path}/${name}`)
      }
      throw error
    } finally {
      await leave()
    }
  }

  async serve(notice: (notice: HostNotice) => void): Promise<() => Promise<void>> {
    const unlock = await this.holdForLife()
    try {
      this.#checkApart(notice)
      // Locks of dead processes leave files.
      await sweepOwners(this.disk, this.locks)
      return unlock
    } catch (error) {
      await unlock()
      throw error
    }
  }

  /** Releases locks whose release failed. */
  async close(): Promise<void> {
    for (const lock of this.#locks) lock.abandon()
    await this.#lockIdentity.remove()
  }

  openRecords<T extends object>(options: RecordsOptions<T>): Promise<HostRecords<T>> {
    const { role, tables, first, firstAbove, notice, acceptRolledBack } = options
    const parts = {
      ...this.file(role),
      first: () => {
        const hasStores = role === 'catalogue' && this.disk.list(this.stores).length > 0
        if (hasStores && !acceptRolledBack) throw lost()
        return first()
      },
      firstAbove,
      notice: (error: StoreError) => notice({ about: role, error }),
    }
    return FileRecords.open(parts, tables, acceptRolledBack)
  }

  async heads(): Promise<ReadonlyMap<string, string>> {
    const { disk } = this
    const heads = new Map<string, string>()
    const slice = new TimeSlice()
    for (const storeId of disk.list(this.stores)) {
      if (findId('store', storeId) === undefined) continue
      heads.set(storeId, traceOfStore(disk, this.storePath(storeId)))
      if (slice.isOver()) await slice.next()
    }
    return heads
  }

  openStore(storeId: string, use: StoreUse = {}): Promise<MemoryStore> {
    return openStore({ ...this.#place(), directory: this.storePath(storeId), storeId, ...use })
  }

  async createStore(
    options: NewStoreOptions,
    reserve: (storeId: string) => Promise<void>,
  ): Promise<MemoryStore> {
    const { store } = await createStoreAt({ ...this.#place(), ...options }, async (storeId) => {
      await reserve(storeId)
      return this.storePath(storeId)
    })
    return store
  }

  /** If the place of the store is a link, the link is removed. */
  async eraseStore(storeId: string): Promise<void> {
    const { disk } = this
    for (const parent of [this.stores, this.#storeStates]) {
      disk.removeTree(`${parent}/${storeId}`)
      if (disk.stat(parent) !== undefined) await disk.syncDirectory(parent)
    }
    await this.settle(storeId, 'changed')
    await this.settle(storeId, 'erasing')
  }

  copyStore(storeId: string, to: string): Promise<void> {
    return copyRepository(this, this.storePath(storeId), to)
  }

  restoreStore(storeId: string, from: string): Promise<void> {
    return copyFiles(this.disk, from, this.storePath(storeId), () => true)
  }

  async withoutServers<T>(
    notice: (notice: HostNotice) => void,
    work: () => Promise<T>,
  ): Promise<T> {
    // An empty directory needs no lock, and gets none.
    if ((await this.contents()) === 'nothing') return work()
    const leave = await this.serve(notice)
    try {
      return await work()
    } finally {
      await leave()
    }
  }

  async rotateStore(
    storeId: string,
    _next: Identity,
    change: (place: RotatingPlace) => Promise<void>,
  ): Promise<void> {
    const place = { ...this.#place(), directory: this.storePath(storeId) }
    await change(place)
    const left = localPlaces(place, parseId('store', storeId))
    const { anchorFile, remotesFile, grantsFile, erasuresDirectory, cacheDirectory } = left
    const paths = [anchorFile, remotesFile, grantsFile, erasuresDirectory, cacheDirectory]
    for (const path of paths) {
      this.disk.removeTree(path)
    }
  }

  async takeRecords<T extends object>(
    role: RecordsRole,
    _tables: RecordTables<T>,
    { generation, value }: ReadList<T>,
  ): Promise<void> {
    const { owner, path, lock } = this.file(role)
    const bytes = sealList(owner, role, { generation: generation + 1, value })
    await lock.hold(lockWaitMsDefault, () => atomicWrite(this.disk, path, bytes))
  }

  async hasRemote(storeId: string): Promise<boolean> {
    const config = this.disk.readFile(`${this.storePath(storeId)}/config`, lineFileBytesMax)
    return config !== undefined && /^[ \t]*\[remote /m.test(asciiText(config))
  }

  async mark(storeId: string, state: UnfinishedState): Promise<void> {
    const path = this.#marker(storeId, state)
    if (this.disk.stat(path) === undefined) this.disk.close(this.disk.open(path, 'wx'))
    await this.disk.syncDirectory(this.#markers)
  }

  async settle(storeId: string, state: UnfinishedState): Promise<void> {
    this.disk.remove(this.#marker(storeId, state))
    await this.disk.syncDirectory(this.#markers)
  }

  async unfinished(): Promise<readonly Unfinished[]> {
    const found = this.disk.list(this.#markers).map((name): Unfinished => {
      const state = name.endsWith(CHANGED) ? 'changed' : 'making'
      return { storeId: name.replace(CHANGED, ''), state }
    })
    return found.filter(({ storeId }) => findId('store', storeId) !== undefined)
  }

  /** Taken before the lock of a sealed file. */
  hold<T>(claim: HostClaim, work: () => Promise<T>): Promise<T> {
    return this.#claims[claim].hold(lockWaitMsDefault, work)
  }

  /** The one server has every job; but the command line makes stores next to a sweep. */
  runJob(job: HostJob, work: () => Promise<void>): Promise<void> {
    return job === 'sweep' ? this.hold('stores', work) : work()
  }

  /** Holds the lock of the one server until the result is called. Throws `locked`. */
  async holdForLife(): Promise<() => Promise<void>> {
    try {
      return await holdForLife(this.#lock('server.lock', 'server'))
    } catch (error) {
      if (!hasCode(error, 'locked')) throw error
      const problem = 'Another server has this data directory open: end it, or use its address'
      throw new StoreError('locked', problem, { cause: error })
    }
  }

  /** Warns of a state directory inside the data directory, though all would work. */
  #checkApart(notice: (notice: HostNotice) => void): void {
    if (!`${this.#storeStates}/`.startsWith(`${this.path}/`)) return
    const problem =
      'The state directory should be outside of the data directory: else who puts back an old ' +
      'copy of the one puts back the other, and it is not noticed'
    notice({ about: 'state', error: new StoreError('invalid_input', problem) })
  }

  #place(): StoreEnvironment & Omit<StorePlaces, 'directory'> {
    const { disk, random, clock } = this
    const stateDirectory = this.#storeStates
    return { disk, random, clock, identity: this.#identity, stateDirectory }
  }

  #marker(storeId: string, state: UnfinishedState): string {
    return `${this.#markers}/${storeId}${state === 'changed' ? CHANGED : ''}`
  }

  #lock(name: string, purpose: string): ProcessLock {
    const { disk, random } = this
    const path = `${this.locks}/${name}`
    const lock = new ProcessLock({ disk, identity: this.#lockIdentity, path, random, purpose })
    this.#locks.push(lock)
    return lock
  }
}

function lost(): StoreError {
  return new StoreError(
    'rolled_back',
    'There are stores and no list of them: put the file catalogue back, or a whole backup',
  )
}
