// The object store on a disk: recent transitions in the journal, everything else in packs, and
// loose objects only where another git program wrote them. Owns which of them is asked, and when
// the journal is packed. Must change what it holds in memory only after the disk has it.

import { resolve } from 'node:path'
import { type Random, systemRandom } from '../../crypto/random.ts'
import { type Disk, systemDisk } from '../../disk/disk.ts'
import { LockIdentity, ProcessLock } from '../../disk/process-lock.ts'
import { assert, StoreError } from '../../errors.ts'
import { journalBytesMax, journalWaitBytes, lockWaitMsDefault, purgeWaitMs } from '../../limits.ts'
import { Journal } from '../journal/journal.ts'
import { BackgroundCheckpoint } from '../maintenance/background-checkpoint.ts'
import { Checkpointer } from '../maintenance/checkpoint.ts'
import { MaintenanceTurn, packedElsewhereError } from '../maintenance/maintenance-turn.ts'
import { workerPacker } from '../maintenance/pack-worker.ts'
import {
  checkTransitions,
  type CompactOptions,
  type ObjectAmount,
  type ObjectStore,
  type Reclaimable,
  type StorageStatus,
  type Transition,
} from '../object-store.ts'
import type { GitObject, NewObject, Oid } from '../objects/object.ts'
import { OidList } from '../objects/oid-list.ts'
import { PackSet } from '../pack/pack-set.ts'
import type { Packer } from '../pack/packer.ts'
import { PurgeIntents } from '../purge/purge-intents.ts'
import { Purge } from '../purge/purge.ts'
import { Branch } from '../refs/branch.ts'
import type { GitFileLockContext } from '../refs/git-file-lock.ts'
import {
  checkRepository,
  ensureSettingsUnlessBusy,
  initRepository,
  makeOwnDirectory,
  ownDirectoryName,
} from '../refs/repository.ts'
import { DiskExchange } from './disk-exchange.ts'
import { HeadLink } from './head-link.ts'
import { Staging } from './staging.ts'
import { StorageReport } from './storage-report.ts'
import { StoredObjects } from './stored-objects.ts'

/** For another git program that holds the branch's lock file. */
const gitLockWaitMs = 1000
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
    await store.load()
  } catch (error) {
    await store.close()
    throw error
  }
  return store
}

class DiskObjectStore implements ObjectStore {
  readonly packDirectory: string | undefined
  readonly exchange: DiskExchange
  readonly #disk: Disk
  readonly #files: GitFileLockContext
  readonly #journal: Journal
  readonly #branch: Branch
  readonly #packs: PackSet
  readonly #link: HeadLink
  readonly #stored: StoredObjects
  readonly #packer: Packer
  readonly #writerLock: ProcessLock
  readonly #checkpointLock: ProcessLock
  readonly #staging: Staging
  readonly #intents: PurgeIntents
  readonly #checkpointer: Checkpointer
  readonly #background: BackgroundCheckpoint
  readonly #maintenance: MaintenanceTurn
  readonly #report: StorageReport
  readonly #lockWaitMs: number
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
    this.#writerLock = lock('lock', 'writer')
    this.#checkpointLock = lock('checkpoint.lock', 'checkpoint')
    const isQuiet = (): boolean => !this.#writerLock.isHeldElsewhere()
    this.#journal = new Journal({ disk, directory: ownDirectory, random, isQuiet })
    this.#files = { disk, directory, ownDirectory, identity, random, waitMs: gitLockWaitMs }
    this.#branch = new Branch(disk, directory)
    const packDirectory = `${directory}/objects/pack`
    this.#packs = new PackSet(disk, packDirectory)
    this.#link = new HeadLink(this.#journal, this.#branch, this.#packs)
    this.#stored = new StoredObjects(disk, `${directory}/objects`, this.#journal, this.#packs)
    // Another thread has no other disk than the system's.
    this.packDirectory = disk === systemDisk ? packDirectory : undefined
    this.#packer = options.packer ?? workerPacker(packDirectory)
    this.#lockWaitMs = lockWaitMs
    this.#staging = new Staging(disk, packDirectory, this.#packer)
    this.#intents = new PurgeIntents({
      disk,
      ownDirectory,
      packDirectory,
      random,
      read: (oid) => this.#stored.find(oid),
      fenceJournal: () => this.#journal.scrub(),
    })
    this.#checkpointer = this.#createCheckpointer()
    this.#background = new BackgroundCheckpoint({
      journal: this.#journal,
      countPacks: () => this.#packs.size,
      idleMs: options.idleMs,
      run: () => this.#checkpointer.run(0, false),
    })
    this.exchange = this.#createExchange(packDirectory)
    this.#maintenance = new MaintenanceTurn(this.#background)
    this.#report = new StorageReport({
      disk,
      directory: `${directory}/objects`,
      ownDirectory,
      journal: this.#journal,
      packs: this.#packs,
      intents: this.#intents,
      lock: this.#writerLock,
      background: this.#background,
    })
  }

  get head(): Oid | undefined {
    return this.#link.head
  }

  async load(): Promise<void> {
    checkRepository(this.#disk, this.#files.directory)
    this.#journal.refresh()
    this.#link.reload()
    // Who wrote it may also have died in the middle: with the lock nothing is left open.
    if (this.#journal.doubtful) await this.#exclusive(async () => {})
  }

  read(oid: Oid): GitObject | undefined {
    this.#assertOpen()
    const found = this.#stored.find(oid)
    if (found !== undefined) return found
    // Another process may have packed it, or written it, a moment ago.
    this.refresh()
    this.#packs.rescan()
    return this.#stored.find(oid)
  }

  has(oid: Oid): boolean {
    this.#assertOpen()
    return this.#stored.has(oid) || this.read(oid) !== undefined
  }

  refresh(): void {
    this.#assertOpen()
    this.#link.refresh()
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
    checkTransitions(this.head, transitions)
    const { error } = this.#background
    if (error !== undefined && this.#journal.bytes > journalBytesMax) throw error
    if (!this.#settled) await ensureSettingsUnlessBusy(this.#files)
    this.#settled = true
    if (transitions.length === 0) return
    const small: Transition[] = []
    for (const transition of transitions) small.push(await this.#staging.spill(transition))
    const erases = small.some(({ dead }) => dead !== undefined && dead.size > 0)
    if (erases || !this.#staging.isEmpty) await this.#commitStaged(small)
    else await this.#journal.append(small)
    this.#wrote = true
  }

  async stage(objects: readonly NewObject[]): Promise<void> {
    assert(this.#writing, 'stage was called outside of exclusive')
    await this.#staging.add(objects)
  }

  objectIds(): Iterable<Oid> {
    this.refresh()
    this.#packs.rescan()
    return this.#stored.ids()
  }

  async compact(options: CompactOptions = {}): Promise<void> {
    this.#assertNotClosing()
    await this.#maintenance.take(options, (how) => {
      return this.#checkpointer.compact(this.#lockWaitMs, how)
    })
  }

  async checkpoint(): Promise<void> {
    this.#assertNotClosing()
    await this.#background.settled()
    const erases = this.#intents.pending(this.head) > 0
    const waitMs = erases ? Math.max(purgeWaitMs, this.#lockWaitMs) : this.#lockWaitMs
    if (!(await this.#checkpointer.run(waitMs, false))) throw packedElsewhereError()
    this.#background.succeeded()
  }

  status(): StorageStatus {
    this.refresh()
    return this.#report.status(this.head)
  }

  reclaimable(): Reclaimable {
    this.refresh()
    return this.#report.reclaimable(this.head)
  }

  async findUnreachable(options: CompactOptions = {}): Promise<ObjectAmount> {
    this.#assertNotClosing()
    return this.#maintenance.take(options, (how) => {
      return this.#checkpointer.measureUnreachable(this.#lockWaitMs, how)
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#background.stop()
    await this.#maintenance.stop()
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
    if (this.#locked) {
      this.#checkpointLock.abandon()
      this.#writerLock.abandon()
    }
    await this.#files.identity.remove()
  }

  async #exclusive<T>(work: () => Promise<T>): Promise<T> {
    await makeOwnDirectory(this.#files)
    this.#locked = true
    return this.#writerLock.hold(this.#lockWaitMs, async () => {
      this.refresh()
      await this.#settleIntents()
      try {
        return await work()
      } finally {
        if (!this.#staging.isEmpty) await this.#staging.drop()
      }
    })
  }

  /** Cancels what a writer that failed wanted to erase. One listing if there is nothing. */
  async #settleIntents(): Promise<void> {
    const before = this.#intents.cancelled
    // What is committed and not erased yet is a reason to checkpoint.
    if (await this.#intents.settle(this.head)) this.#wrote = true
    if (this.#intents.cancelled > before) this.#packs.rescan()
  }

  /**
   * The intent is durable before the packs show and before the frame is written: whoever finds it
   * without the frame cancels it, and whoever finds both purges.
   */
  async #commitStaged(transitions: readonly Transition[]): Promise<void> {
    try {
      // A pack that a cancelled intent names must not become one of ours meanwhile.
      await this.#settleIntents()
      const packs = await this.#staging.fresh()
      const [first] = transitions
      if (first?.dead !== undefined && first.dead.size > 0) {
        const names = packs.map(({ name }) => name)
        await this.#intents.write(first, OidList.of(first.dead), names)
      }
      await this.#staging.publish(packs)
      await this.#journal.append(transitions)
      this.#packs.rescan()
    } catch (error) {
      await this.#takeBack()
      throw error
    }
  }

  /** After a commit that failed. If this fails too, the next writer does it. */
  async #takeBack(): Promise<void> {
    try {
      await this.#staging.drop()
      this.refresh()
      await this.#settleIntents()
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
  }

  #createCheckpointer(): Checkpointer {
    const parts = {
      files: this.#files,
      journal: this.#journal,
      branch: this.#branch,
      packer: this.#packer,
      exclusive: <T>(work: () => Promise<T>) => this.#exclusive(work),
      reload: () => this.#link.reload(),
    }
    const purge = new Purge({
      ...parts,
      intents: this.#intents,
      findTag: (oid) => this.#stored.findTag(oid),
      has: (oid) => this.#stored.has(oid),
    })
    return new Checkpointer({
      ...parts,
      lock: this.#checkpointLock,
      packs: () => this.#packs.packs(),
      purge: () => purge.run(),
    })
  }

  #createExchange(packDirectory: string): DiskExchange {
    return new DiskExchange({
      files: this.#files,
      directory: packDirectory,
      packer: this.#packer,
      find: (oid) => this.read(oid),
      has: (oid) => this.#stored.has(oid),
      packs: () => this.#packs.packs(),
      exclusive: (work) => this.exclusive(work),
      checkpoint: () => this.checkpoint(),
      rescan: () => this.#packs.rescan(),
    })
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
