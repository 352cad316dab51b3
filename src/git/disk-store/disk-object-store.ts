// The object store on a disk, composed of its parts: the objects, the turn of the writer, the
// maintenance and the exchange of packs. Owns when it is closed.

import { resolve } from 'node:path'
import { refuseForeignRoot } from '../../disk/foreign-owner.ts'
import { systemDisk } from '../../disk/system-disk.ts'
import { isOfSystem } from '../../disk/unsynced-disk.ts'
import type {
  CompactOptions,
  ObjectAmount,
  ObjectStore,
  Reclaimable,
  ServedRef,
  StorageStatus,
  Transition,
} from '../object-store.ts'
import type { GitObject, NewObject, Oid, SizeLimit } from '../objects/object.ts'
import { checkRepository, initRepository } from '../refs/repository.ts'
import { DiskExchange } from './disk-exchange.ts'
import { Maintenance } from './maintenance.ts'
import { isServed, serveRefs } from './served-repository.ts'
import { measureReclaimable, storageStatus } from './storage-report.ts'
import { type DiskObjectStoreOptions, openStoreParts, type StoreParts } from './store-parts.ts'
import { closedError, type StoredObjects } from './stored-objects.ts'
import { WriterTurn } from './writer-turn.ts'

export async function createDiskObjectStore(
  options: DiskObjectStoreOptions,
): Promise<DiskObjectStore> {
  await initRepository(options.disk ?? systemDisk, resolve(options.directory), options)
  return openDiskObjectStore(options)
}

/** Opens a repository. Throws what `checkRepository` and reading the journal throw. */
export async function openDiskObjectStore(
  options: DiskObjectStoreOptions,
): Promise<DiskObjectStore> {
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

export class DiskObjectStore implements ObjectStore {
  readonly packDirectories: readonly string[] | undefined
  readonly exchange: DiskExchange
  readonly #parts: StoreParts
  readonly #objects: StoredObjects
  readonly #writer: WriterTurn
  readonly #maintenance: Maintenance
  readonly #options: DiskObjectStoreOptions
  #closing: Promise<void> | undefined

  constructor(options: DiskObjectStoreOptions) {
    this.#options = options
    this.#parts = openStoreParts(options)
    this.#objects = this.#parts.objects
    // Another thread can only use the system's disk.
    const isShared = isOfSystem(this.#parts.files.disk)
    this.packDirectories = isShared ? [this.#objects.packDirectory] : undefined
    this.#writer = new WriterTurn(this.#parts)
    this.#maintenance = new Maintenance(this.#parts, this.#writer, options.idleMs)
    this.exchange = new DiskExchange(this.#parts, this)
  }

  get head(): Oid | undefined {
    return this.#objects.head
  }

  get erasures(): number {
    return this.#objects.changes
  }

  async load(): Promise<void> {
    const { disk, directory } = this.#parts.files
    checkRepository(disk, directory, this.#options)
    const { journal } = this.#objects
    journal.refresh()
    this.#objects.reload()
    // Its writer may have died in the middle: under the lock, the doubt is settled.
    if (journal.doubtful) await this.#writer.exclusive(async () => {})
  }

  read(oid: Oid, limit?: SizeLimit): GitObject | undefined {
    return this.#objects.read(oid, limit)
  }

  has(oid: Oid): boolean {
    return this.#objects.has(oid) || this.read(oid) !== undefined
  }

  refresh(): void {
    this.#objects.refresh()
  }

  objectIds(): Iterable<Oid> {
    return this.#objects.ids()
  }

  async exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#assertNotClosing()
    await this.#maintenance.beforeWrite()
    try {
      return await this.#writer.exclusive(work)
    } finally {
      if (this.#writer.wrote) this.#maintenance.schedule()
    }
  }

  async commit(transitions: readonly Transition[]): Promise<void> {
    this.#maintenance.checkRoom()
    await this.#writer.commit(transitions)
  }

  stage(objects: readonly NewObject[]): Promise<void> {
    return this.#writer.stage(objects)
  }

  async checkpoint(): Promise<void> {
    this.#assertNotClosing()
    await this.#maintenance.checkpoint()
  }

  async compact(options: CompactOptions = {}): Promise<void> {
    this.#assertNotClosing()
    await this.#maintenance.compact(options)
  }

  async findUnreachable(options: CompactOptions = {}): Promise<ObjectAmount> {
    this.#assertNotClosing()
    return this.#maintenance.findUnreachable(options)
  }

  serve(refs: readonly ServedRef[]): string | undefined {
    this.#assertNotClosing()
    return serveRefs(this.#parts.files, refs)
  }

  serves(directory: string): boolean {
    return isServed(this.#parts.files.disk, directory)
  }

  status(): StorageStatus {
    this.refresh()
    return { ...storageStatus(this.#parts), checkpointError: this.#maintenance.error }
  }

  reclaimable(): Reclaimable {
    this.refresh()
    return measureReclaimable(this.#parts)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { files, lock } = this.#parts
    await this.#maintenance.stop()
    await lock.settled()
    try {
      if (this.#writer.wrote) await this.#maintenance.finish()
    } finally {
      this.#objects.close()
      this.#maintenance.abandon()
      lock.abandon()
      await files.identity.remove()
    }
  }

  #assertNotClosing(): void {
    if (this.#closing !== undefined) throw closedError()
  }
}
