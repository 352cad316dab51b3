// The object store on a disk: recent transitions in the journal, everything else in packs, and
// loose objects only where another git program wrote them. Owns which of them is asked, and when
// the journal is packed. Must change what it holds in memory only after the disk has it.

import { resolve } from 'node:path'
import { type Random, systemRandom } from '../crypto/random.ts'
import { assert, hasCode, StoreError } from '../errors.ts'
import {
  journalBytesMax,
  journalTransitionBytesMax,
  journalWaitBytes,
  lockWaitMsDefault,
} from '../limits.ts'
import { BackgroundCheckpoint } from './background-checkpoint.ts'
import { Branch } from './branch.ts'
import { Checkpointer, type Packer } from './checkpoint.ts'
import { type Disk, systemDisk } from './disk.ts'
import type { GitFileLockContext } from './git-file-lock.ts'
import { branchMovedError, Journal } from './journal.ts'
import { countLooseObjects, readLooseObject } from './loose-object.ts'
import type { GitObject, Oid } from './object.ts'
import type { ObjectStore, StorageStatus, Transition } from './object-store.ts'
import { PackSet } from './pack-set.ts'
import { workerPacker } from './pack-worker.ts'
import { LockIdentity, ProcessLock } from './process-lock.ts'
import { checkRepository, ensureSettings, initRepository, ownDirectoryName } from './repository.ts'

/** How long another git program may hold the branch's lock file. */
const gitLockWaitMs = 1000
/** Quiet time after a write before the journal is packed. */
const idleMsDefault = 1000
/** Reloads that must agree before the branch is said to have moved away from the journal. */
const agreeingReloads = 3

export interface DiskObjectStoreOptions {
  readonly directory: string
  readonly disk?: Disk
  readonly random?: Random
  /** How long to wait for another writer before `locked`. */
  readonly lockWaitMs?: number
  /** Quiet time after a write before the journal is packed; Infinity: never by itself. */
  readonly idleMs?: number
  readonly packer?: Packer
}

/** Makes the repository and opens it. Throws `store_exists` or `not_a_store`. */
export async function createDiskObjectStore(options: DiskObjectStoreOptions): Promise<ObjectStore> {
  await initRepository(options.disk ?? systemDisk, resolve(options.directory))
  return openDiskObjectStore(options)
}

/** Opens a repository. Throws as `checkRepository` does, and what the journal finds. */
export async function openDiskObjectStore(options: DiskObjectStoreOptions): Promise<ObjectStore> {
  const store = new DiskObjectStore(options)
  try {
    store.load()
  } catch (error) {
    await store.close()
    throw error
  }
  return store
}

class DiskObjectStore implements ObjectStore {
  readonly #disk: Disk
  readonly #files: GitFileLockContext
  readonly #journal: Journal
  readonly #branch: Branch
  readonly #packs: PackSet
  readonly #packer: Packer
  readonly #writerLock: ProcessLock
  readonly #checkpointLock: ProcessLock
  readonly #checkpointer: Checkpointer
  readonly #background: BackgroundCheckpoint
  readonly #lockWaitMs: number
  /** Whether memory follows from what the disk said; false after a contradiction. */
  #linked = false
  #settled = false
  #writing = false
  #wrote = false
  /** Whether lock files of this handle can exist. */
  #locked = false
  #closing: Promise<void> | undefined
  #closed = false

  constructor(options: DiskObjectStoreOptions) {
    const { disk = systemDisk, random = systemRandom, lockWaitMs = lockWaitMsDefault } = options
    const directory = resolve(options.directory)
    const ownDirectory = `${directory}/${ownDirectoryName}`
    const identity = new LockIdentity(disk, ownDirectory, random)
    const lock = (name: string, purpose: string): ProcessLock => {
      return new ProcessLock({ disk, identity, path: `${ownDirectory}/${name}`, random, purpose })
    }
    this.#disk = disk
    this.#files = { disk, directory, ownDirectory, identity, random, waitMs: gitLockWaitMs }
    this.#journal = new Journal(disk, ownDirectory, random)
    this.#branch = new Branch(disk, directory)
    this.#packs = new PackSet(disk, `${directory}/objects/pack`)
    this.#packer = options.packer ?? workerPacker(`${directory}/objects/pack`)
    this.#writerLock = lock('lock', 'writer')
    this.#checkpointLock = lock('checkpoint.lock', 'checkpoint')
    this.#lockWaitMs = lockWaitMs
    this.#checkpointer = new Checkpointer({
      files: this.#files,
      journal: this.#journal,
      branch: this.#branch,
      packer: this.#packer,
      lock: this.#checkpointLock,
      exclusive: (work) => this.#exclusive(work),
      reload: () => this.#reload(),
      packs: () => this.#packs.packs(),
    })
    this.#background = new BackgroundCheckpoint({
      journal: this.#journal,
      idleMs: options.idleMs ?? idleMsDefault,
      run: () => this.#checkpointer.run(0, false),
    })
  }

  get head(): Oid | undefined {
    return this.#journal.head ?? this.#branch.value
  }

  load(): void {
    checkRepository(this.#disk, this.#files.directory)
    this.#journal.refresh()
    this.#reload()
  }

  read(oid: Oid): GitObject | undefined {
    this.#assertOpen()
    const found = this.#find(oid)
    if (found !== undefined) return found
    // Another process may have packed it, or written it, a moment ago.
    this.refresh()
    this.#packs.rescan()
    return this.#find(oid)
  }

  refresh(): void {
    this.#assertOpen()
    const news = this.#journal.refresh()
    const same = this.#linked && news !== 'everything'
    if (!same || this.#branch.changed()) this.#reload()
  }

  async exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#assertNotClosing()
    if (this.#journal.bytes > journalWaitBytes) await this.#background.settled()
    try {
      return await this.#exclusive(async () => {
        this.#writing = true
        try {
          return await work()
        } finally {
          this.#writing = false
        }
      })
    } finally {
      if (this.#wrote) this.#background.schedule()
    }
  }

  async commit(transitions: readonly Transition[]): Promise<void> {
    assert(this.#writing, 'commit was called outside of exclusive')
    this.#checkChain(transitions)
    const { error } = this.#background
    if (error !== undefined && this.#journal.bytes > journalBytesMax) throw error
    await this.#settle()
    const small: Transition[] = []
    for (const transition of transitions) small.push(await this.#spill(transition))
    if (small.length > 0) await this.#journal.append(small)
    this.#wrote = true
  }

  async checkpoint(): Promise<void> {
    this.#assertNotClosing()
    await this.#background.settled()
    if (!(await this.#checkpointer.run(this.#lockWaitMs, false))) {
      throw new StoreError('locked', 'Another process is packing the store: try again later')
    }
    this.#background.succeeded()
  }

  status(): StorageStatus {
    this.refresh()
    return {
      journalBytes: this.#journal.totalBytes,
      journalFrames: this.#journal.liveFrames.length,
      packs: this.#packs.packs(),
      looseObjects: countLooseObjects(this.#disk, `${this.#files.directory}/objects`),
      lockOwner: this.#writerLock.holder(),
      checkpointError: this.#background.error,
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#background.stop()
    await this.#writerLock.settled()
    try {
      // Another process that is packing all this time has the store open, and will close it too.
      if (this.#wrote) await this.#checkpointer.run(this.#lockWaitMs, true)
    } finally {
      this.#closed = true
      await this.#release()
    }
  }

  async #release(): Promise<void> {
    await this.#packer.close()
    this.#packs.close()
    this.#journal.close()
    if (!this.#locked) return
    this.#checkpointLock.abandon()
    this.#writerLock.abandon()
    this.#files.identity.remove()
  }

  #find(oid: Oid): GitObject | undefined {
    return (
      this.#journal.find(oid) ??
      this.#packs.read(oid) ??
      readLooseObject(this.#disk, `${this.#files.directory}/objects`, oid)
    )
  }

  async #exclusive<T>(work: () => Promise<T>): Promise<T> {
    await this.#makeOwnDirectory()
    this.#locked = true
    return this.#writerLock.hold(this.#lockWaitMs, () => {
      this.refresh()
      return work()
    })
  }

  /** A clone has none. */
  async #makeOwnDirectory(): Promise<void> {
    if (this.#disk.stat(this.#files.ownDirectory) !== undefined) return
    this.#disk.makeDirectory(this.#files.ownDirectory)
    await this.#disk.syncDirectory(this.#files.directory)
  }

  /**
   * The journal was read before the branch, because a checkpoint moves the branch first: what it
   * took from the journal is then behind the branch. If they do not fit, one of them is older.
   */
  #reload(): void {
    this.#linked = false
    for (let agreed = 0; agreed < agreeingReloads; agreed += 1) {
      this.#branch.load()
      this.#packs.rescan()
      this.#linked = this.#journal.link(this.#branch.value)
      if (this.#linked) return
      if (this.#journal.refresh() !== 'nothing' || this.#branch.changed()) agreed = -1
    }
    throw branchMovedError()
  }

  #checkChain(transitions: readonly Transition[]): void {
    let head = this.head
    for (const { expected, next } of transitions) {
      if (expected !== head) {
        throw new StoreError('ref_conflict', 'The store has moved on: refresh and try again')
      }
      head = next
    }
  }

  /** Gives a clone the settings of a store. Somebody who edits the config just then goes first. */
  async #settle(): Promise<void> {
    if (this.#settled) return
    try {
      await ensureSettings({ ...this.#files, waitMs: 0 })
    } catch (error) {
      if (!hasCode(error, 'locked', 'ref_conflict')) throw error
    }
    this.#settled = true
  }

  /** Puts the objects of a large transition into a pack, so that the journal stays small. */
  async #spill(transition: Transition): Promise<Transition> {
    const bytes = transition.objects.reduce((sum, object) => sum + object.body.length, 0)
    if (bytes <= journalTransitionBytesMax) return transition
    await this.#packer.write(transition.objects)
    this.#packs.rescan()
    return { ...transition, objects: [] }
  }

  #assertNotClosing(): void {
    if (this.#closing !== undefined) throw closedError()
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError()
  }
}

function closedError(): StoreError {
  return new StoreError('store_closed', 'The store is closed')
}
