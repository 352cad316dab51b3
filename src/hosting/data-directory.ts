// Where a server of many stores keeps what, and the locks of its processes. Decides no more than
// names and order.

import { resolve } from 'node:path'
import { toHex, utf8 } from '../bytes.ts'
import { type Clock, systemClock } from '../clock.ts'
import { hash256 } from '../crypto/digest.ts'
import { type Random, systemRandom } from '../crypto/random.ts'
import { type Disk, makeDurableDirectory, systemDisk } from '../disk/disk.ts'
import { refuseForeignRoot } from '../disk/foreign-owner.ts'
import { LockIdentity, ProcessLock, sweepOwners } from '../disk/process-lock.ts'
import { hasCode, StoreError } from '../errors.ts'
import { encodeBase32 } from '../format/base32.ts'
import type { Identity } from '../keys/identity.ts'
import { lockWaitMsDefault } from '../limits.ts'
import type { CacheOwner } from '../store/local/sealed-cache.ts'
import type { StoreEnvironment, StorePlaces } from '../store/session/open-options.ts'
import { FileRecords } from './file-records.ts'
import type { HostRecords, Lists, RecordTables } from './host-records.ts'
import type { SealedFilePlace } from './sealed-file.ts'

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

/** About the server itself, or about a store of it, by its id: for people who run it. */
export interface HostNotice {
  readonly about: string
  readonly error: unknown
}

export interface RecordsOptions<T> {
  readonly role: SealedFilePlace['role']
  readonly tables: RecordTables<T>
  /** The records of a host that never had any. */
  readonly first: () => Lists<T>
  readonly notice: (notice: HostNotice) => void
  /** Accepts once an older state that was put back. */
  readonly acceptRolledBack: boolean
}

const ID_BYTES = 16
/** 26 digits of base32 have 130 bits: the first two are zero. */
const LEADING_ZEROS = 2
/** What belongs to no store. */
const NO_STORE = '0'.repeat(32)

/** One state directory serves several data directories, whose names can be long. */
function nameOf(dataDirectory: string): string {
  return toHex(hash256(utf8(dataDirectory)).subarray(0, 16))
}

export class DataDirectory {
  readonly disk: Disk
  readonly random: Random
  readonly clock: Clock
  readonly identity: Identity
  readonly path: string
  /** For the anchors of the stores: where the command line looks for them too. */
  readonly storeStates: string
  readonly stores: string
  readonly unfinished: string
  readonly #state: string
  readonly #identity: LockIdentity
  readonly #locks: ProcessLock[] = []
  readonly #halves: ProcessLock

  /** Throws `storage_denied` for root in places of another user. */
  constructor({ dataDirectory, stateDirectory, identity, ...environment }: HostPlaces) {
    const { disk = systemDisk, random = systemRandom, clock = systemClock } = environment
    this.disk = disk
    this.random = random
    this.clock = clock
    this.identity = identity
    this.path = resolve(dataDirectory)
    this.stores = `${this.path}/stores`
    this.unfinished = `${this.path}/unfinished`
    this.storeStates = resolve(stateDirectory)
    refuseForeignRoot(this.path, this.storeStates)
    this.#state = `${this.storeStates}/servers/${nameOf(this.path)}`
    this.#identity = new LockIdentity(disk, this.locks, random)
    this.#halves = this.#lock('stores.lock', 'stores')
  }

  /** Of locks alone: a directory with nothing else is empty. */
  get locks(): string {
    return `${this.path}/gitlocket`
  }

  get owner(): CacheOwner {
    const { disk, identity, random } = this
    return { disk, identity, random, storeId: NO_STORE }
  }

  /** Warns of a state directory inside the data directory, though all would work. */
  checkApart(notice: (notice: HostNotice) => void): void {
    if (!`${this.storeStates}/`.startsWith(`${this.path}/`)) return
    const problem =
      'The state directory should be outside of the data directory: else who puts back an old ' +
      'copy of the one puts back the other, and it is not noticed'
    notice({ about: 'state', error: new StoreError('invalid_input', problem) })
  }

  async make(): Promise<void> {
    for (const path of [this.locks, this.stores, this.unfinished, this.#state]) {
      await makeDurableDirectory(this.disk, path)
    }
  }

  /** Which stores have a directory. */
  storeIds(): readonly string[] {
    return this.disk.list(this.stores)
  }

  storePath(storeId: string): string {
    return `${this.stores}/${storeId}`
  }

  /** What a store is opened with. */
  placeOf(storeId: string): StorePlaces & StoreEnvironment & { readonly storeId: string } {
    const { disk, random, clock, identity, storeStates: stateDirectory } = this
    const directory = this.storePath(storeId)
    return { disk, random, clock, identity, stateDirectory, directory, storeId }
  }

  /**
   * The public id of a key, workspace or session, in the form of FORMAT §1.1, so that one can be
   * the actor of a record (§1.2).
   */
  newId(prefix: 'wrkspc_' | 'apikey_' | 'sesn_'): string {
    return prefix + encodeBase32(this.random(ID_BYTES), LEADING_ZEROS)
  }

  /** Throws `rolled_back`, `wrong_key`, `upgrade_required` or a storage code. */
  openRecords<T extends object>(options: RecordsOptions<T>): Promise<HostRecords<T>> {
    const { role, tables, first, notice, acceptRolledBack } = options
    const parts = {
      ...this.file(role),
      first: () => {
        if (role === 'catalogue' && !acceptRolledBack && this.storeIds().length > 0) throw lost()
        return first()
      },
      notice: (error: StoreError) => notice({ about: role, error }),
    }
    return FileRecords.open(parts, tables, acceptRolledBack)
  }

  /** Where a sealed file is, and its freshness. */
  file(role: SealedFilePlace['role']): SealedFilePlace {
    const { owner, clock } = this
    const paths = { path: `${this.path}/${role}`, freshnessPath: `${this.#state}/${role}` }
    return { owner, clock, role, ...paths, lock: this.#lock(`${role}.lock`, role) }
  }

  /** Holds the lock of the one server until the result is called. Throws `locked`. */
  async holdForLife(): Promise<() => Promise<void>> {
    const lock = this.#lock('server.lock', 'server')
    try {
      return await new Promise((done, reject) => {
        const held = lock.hold(0, () => {
          return new Promise<void>((release) => {
            done(async () => {
              release()
              await held
            })
          })
        })
        held.catch(reject)
      })
    } catch (error) {
      if (!hasCode(error, 'locked')) throw error
      const problem = 'Another server has this data directory open: end it, or use its address'
      throw new StoreError('locked', problem, { cause: error })
    }
  }

  /**
   * Runs `work` while no process makes a store apart from its server, and none erases marked
   * stores. Taken before the lock of a sealed file. Throws `locked`.
   */
  holdStores<T>(work: () => Promise<T>): Promise<T> {
    return this.#halves.hold(lockWaitMsDefault, work)
  }

  /** Removes what locks of dead processes left. Under the lock of the server. */
  async sweepLocks(): Promise<void> {
    await sweepOwners(this.disk, this.locks)
  }

  /** Called while no work under a lock runs. Releases locks whose release failed. */
  async close(): Promise<void> {
    for (const lock of this.#locks) lock.abandon()
    await this.#identity.remove()
  }

  #lock(name: string, purpose: string): ProcessLock {
    const { disk, random } = this
    const path = `${this.locks}/${name}`
    const lock = new ProcessLock({ disk, identity: this.#identity, path, random, purpose })
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
