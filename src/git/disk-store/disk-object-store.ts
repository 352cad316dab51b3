// The object store on a disk: recent transitions in the journal, all other objects in packs, and
// loose objects where another git program wrote them. Owns which of them is asked, and when the
// journal is packed. Must change its state in memory only after the disk has changed.

import { resolve } from 'node:path'
import type { Random } from '../../crypto/random.ts'
import { type Disk, systemDisk } from '../../disk/disk.ts'
import { refuseForeignRoot } from '../../disk/foreign-owner.ts'
import type { ProcessLock } from '../../disk/process-lock.ts'
import { assert, StoreError } from '../../errors.ts'
import { journalBytesMax, journalWaitBytes, lockWaitMsDefault, purgeWaitMs } from '../../limits.ts'
import type { Journal } from '../journal/journal.ts'
import { BackgroundCheckpoint } from '../maintenance/background-checkpoint.ts'
import { Checkpointer } from '../maintenance/checkpoint.ts'
import { MaintenanceTurn, packedElsewhereError } from '../maintenance/maintenance-turn.ts'
import {
  checkTransitions,
  type CompactOptions,
  type ObjectAmount,
  type ObjectStore,
  type Reclaimable,
  type StorageStatus,
  type Transition,
} from '../object-store.ts'
import type { GitObject, NewObject, Oid, SizeLimit } from '../objects/object.ts'
import { listOf } from '../objects/oid-set.ts'
import type { PackSet } from '../pack/pack-set.ts'
import type { Packer } from '../pack/packer.ts'
import { emptyAside } from '../purge/emptied-names.ts'
import { PurgeIntents } from '../purge/purge-intents.ts'
import { Purge } from '../purge/purge.ts'
import type { Branch } from '../refs/branch.ts'
import type { GitFileLockContext } from '../refs/git-file-lock.ts'
import {
  checkRepository,
  ensureSettingsUnlessBusy,
  initRepository,
  makeOwnDirectory,
} from '../refs/repository.ts'
import { DiskExchange } from './disk-exchange.ts'
import { HeadLink } from './head-link.ts'
import { Staging } from './staging.ts'
import { StorageReport } from './storage-report.ts'
import { type DiskObjectStoreOptions, openStoreParts } from './store-parts.ts'
import { StoredObjects } from './stored-objects.ts'

/** Creates a repository and opens it. Throws `store_exists` or `not_a_store`. */
export async function createDiskObjectStore(options: DiskObjectStoreOptions): Promise<ObjectStore> {
  await initRepository(options.disk ?? systemDisk, resolve(options.directory))
  return openDiskObjectStore(options)
}

/** Opens a repository. Throws what `checkRepository` and reading the journal throw. */
export async function openDiskObjectStore(options: DiskObjectStoreOptions): Promise<ObjectStore> {
  refuseForeignRoot(resolve(options.directory))
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
  readonly packDirectories: readonly string[] | undefined
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
    const parts = openStoreParts(options)
    const { disk, packDirectory, random } = parts
    this.#disk = disk
    this.#writerLock = parts.writerLock
    this.#checkpointLock = parts.checkpointLock
    this.#journal = parts.journal
    this.#files = parts.files
    this.#branch = parts.branch
    this.#packs = parts.packs
    this.#link = new HeadLink(this.#journal, this.#branch, this.#packs)
    this.#stored = new StoredObjects(disk, parts.objectDirectory, this.#journal, this.#packs)
    // Another thread can only use the system's disk.
    this.packDirectories = disk === systemDisk ? [packDirectory] : undefined
    this.#packer = parts.packer
    this.#lockWaitMs = options.lockWaitMs ?? lockWaitMsDefault
    this.#staging = new Staging(disk, packDirectory, this.#packer)
    this.#intents = this.#createIntents(packDirectory, random, options.secret)
    this.#checkpointer = this.#createCheckpointer()
    this.#background = new BackgroundCheckpoint({
      journal: this.#journal,
      countPacks: () => this.#packs.size,
      idleMs: options.idleMs,
      run: () => this.#checkpointer.run(0, false),
    })
    this.exchange = this.#createExchange(packDirectory)
    this.#maintenance = new MaintenanceTurn(this.#background)
    this.#report = this.#createReport(parts.objectDirectory)
  }

  get head(): Oid | undefined {
    return this.#link.head
  }

  get erasures(): number {
    return this.#link.changes
  }

  async load(): Promise<void> {
    checkRepository(this.#disk, this.#files.directory)
    this.#journal.refresh()
    this.#link.reload()
    // Its writer may have died in the middle: under the lock, the doubt is settled.
    if (this.#journal.doubtful) await this.#exclusive(async () => {})
  }

  read(oid: Oid, limit?: SizeLimit): GitObject | undefined {
    this.#assertOpen()
    const found = this.#stored.find(oid, limit)
    if (found !== undefined) return found
    // Another process may just have packed or written it.
    this.refresh()
    this.#packs.rescan()
    return this.#stored.find(oid, limit)
  }

  has(oid: Oid): boolean {
    this.#assertOpen()
    return this.#stored.has(oid) || this.read(oid) !== undefined
  }

  refresh(): void {
    this.#assertOpen()
    this.#link.refresh(this.#writerLock.isMarked)
  }

  async exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#assertNotClosing()
    if (this.#journal.bytes > journalWaitBytes) await this.#background.settled()
    try {
      return await this.#exclusive(work)
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
    const erases = small.some(({ dead }) => dead !== undefined)
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
      // A process that is packing all this time has the store open, and packs again when it closes.
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
    if (!this.#locked) await makeOwnDirectory(this.#files)
    this.#locked = true
    return this.#writerLock.hold(this.#lockWaitMs, async (isSame) => {
      try {
        this.#assertOpen()
        const isKnown = this.#link.refresh(isSame)
        if (!isKnown || !this.#intents.isEmpty) await this.#settleIntents()
        this.#writing = true
        return await work()
      } catch (error) {
        this.#link.doubt()
        throw error
      } finally {
        this.#writing = false
        if (!this.#staging.isEmpty) await this.#staging.drop()
      }
    })
  }

  /** Cancels the purge intents of a writer that failed. Costs one listing without any. */
  async #settleIntents(): Promise<void> {
    const before = this.#intents.cancelled
    // Objects that are committed as dead and not erased yet are a reason to checkpoint.
    if (await this.#intents.settle(this.head)) this.#wrote = true
    if (this.#intents.cancelled > before) this.#packs.rescan()
  }

  /**
   * The intent is durable before the packs become visible and before the frame is written: a
   * process that finds the intent without the frame cancels it; one that finds both purges.
   */
  async #commitStaged(transitions: readonly Transition[]): Promise<void> {
    try {
      // A pack that a cancelled intent names must not be reused for this commit.
      await this.#settleIntents()
      const packs = await this.#staging.fresh()
      const [first] = transitions
      if (first?.dead?.size === 0) await emptyAside(this.#files)
      else if (first?.dead !== undefined) {
        const names = packs.map(({ name }) => name)
        await this.#intents.write(first, listOf(first.dead), names)
      }
      await this.#staging.publish(packs)
      await this.#journal.append(transitions)
      this.#packs.rescan()
    } catch (error) {
      await this.#undoCommit()
      throw error
    }
  }

  /** Undoes a commit that failed. If this fails too, the next writer does it. */
  async #undoCommit(): Promise<void> {
    try {
      await this.#staging.drop()
      this.refresh()
      await this.#settleIntents()
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    }
  }

  #createIntents(
    packDirectory: string,
    random: Random,
    secret: Uint8Array | undefined,
  ): PurgeIntents {
    return new PurgeIntents({
      disk: this.#disk,
      ownDirectory: this.#files.ownDirectory,
      packDirectory,
      random,
      secret,
      read: (oid) => this.#stored.find(oid),
      fenceJournal: () => this.#journal.scrub(),
    })
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
      packDirectories: this.packDirectories,
      packer: this.#packer,
      find: (oid, limit) => this.read(oid, limit),
      has: (oid) => this.#stored.has(oid),
      packs: () => this.#packs.packs(),
      exclusive: (work) => this.exclusive(work),
      checkpoint: () => this.checkpoint(),
      rescan: () => this.#packs.rescan(),
    })
  }

  #createReport(directory: string): StorageReport {
    return new StorageReport({
      disk: this.#disk,
      directory,
      ownDirectory: this.#files.ownDirectory,
      journal: this.#journal,
      packs: this.#packs,
      intents: this.#intents,
      lock: this.#writerLock,
      background: this.#background,
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
