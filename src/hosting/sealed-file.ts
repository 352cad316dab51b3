// A JSON value in a file that only this identity reads, replaced as a whole with each change, so
// that no history keeps removed values. How new it is, its generation, is kept outside, in the
// state directory: an old copy that was put back is noticed (FORMAT §9). First the file is durable,
// then its freshness, then the change is answered. Several processes change it, one at a time.

import { basename, dirname } from 'node:path'
import { toHex } from '../bytes.ts'
import type { Clock } from '../clock.ts'
import { hash256 } from '../crypto/digest.ts'
import {
  atomicWrite,
  type FileStatus,
  isSameFile,
  makeDurableDirectory,
  targetOf,
} from '../disk/disk.ts'
import type { ProcessLock } from '../disk/process-lock.ts'
import { assert, hasCode, StoreError } from '../errors.ts'
import { lockWaitMsDefault, MEBIBYTE, sealedFileBytesMax } from '../limits.ts'
import {
  type CacheOwner,
  type CachePlace,
  cacheRole,
  readCache,
  writeCache,
} from '../store/local/sealed-cache.ts'
import type { RecordsRole } from './host-backend.ts'
import { listFull, openList, sealList } from './list-file.ts'

export interface SealedFilePlace {
  readonly owner: CacheOwner
  /** Its name in errors. */
  readonly role: RecordsRole
  readonly path: string
  /** Outside of the backup that contains the file. */
  readonly freshnessPath: string
  readonly lock: ProcessLock
  readonly clock: Clock
}

export interface SealedFileParts<T> extends SealedFilePlace {
  /** The value of a file that was never written. */
  readonly first: () => T
  /** What generation such a value is above. */
  readonly firstAbove?: number | undefined
  /** Told once of each file that is refused while the last good value remains in force. */
  readonly notice: (error: StoreError) => void
}

interface Generation {
  readonly generation: number
  /** Of the file's bytes, in hex. */
  readonly digest: string
}

interface FreshnessFile extends Generation {
  readonly version: 1
}

interface State<T> extends Generation {
  readonly value: T
  /** Of the file, in bytes. */
  readonly size: number
}

interface Pending<T> {
  readonly change: (now: T) => T
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}

const VERSION = 1
/** More than file systems round the times of files to. */
const TICK_MS = 20

export class SealedFile<T extends object> {
  readonly #parts: SealedFileParts<T>
  readonly #freshness: CachePlace
  readonly #pending: Pending<T>[] = []
  #state: State<T> | undefined
  /** The newest generation that the state directory knows. */
  #known = 0
  /** The status of the version of the file that was read last; undefined if there was no file. */
  #seen: FileStatus | undefined
  /** False until a version was read: `#seen` tells nothing. */
  #hasSeen = false
  #seenDigest: string | undefined
  /** Whether every later version has another identity. */
  #isSettled = false
  #busy = false
  /** Then the file on the disk may be one that is not durable yet. */
  #writing = false
  #wasRolledBack = false
  /** Why the file on the disk is not taken. */
  #refused: StoreError | undefined

  private constructor(parts: SealedFileParts<T>) {
    const { role, freshnessPath } = parts
    this.#parts = parts
    this.#freshness = { path: freshnessPath, role: 'freshness', generation: cacheRole[role] }
  }

  /**
   * Writes the first file if there never was one. Throws `rolled_back` for an old one, `wrong_key`
   * for one that is damaged or of another identity.
   */
  static async open<T extends object>(
    parts: SealedFileParts<T>,
    acceptRolledBack: boolean,
  ): Promise<SealedFile<T>> {
    const file = new SealedFile(parts)
    await parts.lock.hold(lockWaitMsDefault, () => file.#open(acceptRolledBack))
    return file
  }

  /** Whether an older file was accepted when this was opened. */
  get wasRolledBack(): boolean {
    return this.#wasRolledBack
  }

  /** Throws `store_full` if an addition has no room, before anything else is made. */
  checkRoom(): void {
    if (this.#current().size > sealedFileBytesMax - MEBIBYTE) throw listFull(this.#parts.role)
  }

  /** The newest verified value, whichever process wrote it. Costs a stat. */
  read(): T {
    if (!this.#writing) this.#reload()
    return this.#current().value
  }

  /**
   * Replaces the value by what `change` makes of it; the same object is no change. Resolves when
   * that is durable, with the value that was written. Changes that wait together share one write; a
   * change that throws is left out, and rejects alone. It must be pure.
   */
  update(change: (now: T) => T): Promise<T> {
    const result = new Promise<T>((resolve, reject) => {
      this.#pending.push({ change, resolve, reject })
    })
    void this.#work()
    return result
  }

  /** The newest value and the file that holds it. Rejects with `rolled_back` if it is refused. */
  async snapshot(): Promise<{ readonly value: T; readonly bytes: Uint8Array }> {
    const { lock, owner, path } = this.#parts
    return lock.hold(lockWaitMsDefault, async () => {
      this.#reload()
      const { value, digest } = this.#current()
      const bytes = owner.disk.readFile(path)
      if (bytes !== undefined && digestOf(bytes) === digest) return { value, bytes }
      throw this.#rolledBack(bytes === undefined)
    })
  }

  async #open(acceptRolledBack: boolean): Promise<void> {
    const { first, firstAbove = 0 } = this.#parts
    this.#removeLeftovers()
    const known = this.#readFreshness(acceptRolledBack)
    this.#known = known?.generation ?? 0
    const found = this.#readFile()
    const isOld = isBehind(found, known)
    if (isOld && !acceptRolledBack) throw this.#rolledBack(found === undefined)
    this.#wasRolledBack = isOld
    const generation = Math.max(this.#known, found?.generation ?? firstAbove)
    this.#state = found
    // Beyond all that there ever was: an accepted file must not be replaced by a later old one.
    if (found === undefined || isOld) await this.#write(found?.value ?? first(), generation + 1)
    else if (found.generation > this.#known) await this.#adopt(found)
    this.#note()
  }

  /** A half-written file of a crash may hold values that were removed since. */
  #removeLeftovers(): void {
    const { path, owner } = this.#parts
    const directory = dirname(path)
    for (const name of owner.disk.list(directory)) {
      if (targetOf(name) === basename(path)) owner.disk.remove(`${directory}/${name}`)
    }
  }

  async #work(): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    while (this.#pending.length > 0) await this.#turn()
    this.#busy = false
  }

  async #turn(): Promise<void> {
    const batch: Pending<T>[] = []
    try {
      await this.#parts.lock.hold(lockWaitMsDefault, async () => {
        batch.push(...this.#pending.splice(0))
        await this.#apply(batch)
      })
    } catch (error) {
      const failed = batch.length > 0 ? batch : this.#pending.splice(0)
      for (const { reject } of failed) reject(error)
    }
  }

  async #apply(batch: readonly Pending<T>[]): Promise<void> {
    this.#reload()
    const before = this.#current()
    this.#checkNewest(before)
    let { value } = before
    const applied: Pending<T>[] = []
    for (const pending of batch) {
      try {
        value = pending.change(value)
        applied.push(pending)
      } catch (error) {
        pending.reject(error)
      }
    }
    const generation = Math.max(before.generation, this.#known)
    if (value !== before.value) await this.#write(value, generation + 1)
    else if (before.generation > this.#known) await this.#adopt(before)
    for (const { resolve } of applied) resolve(value)
  }

  /** Takes over what another process wrote. A file that is refused leaves the state as it is. */
  #reload(): void {
    const { notice } = this.#parts
    if (!this.#look()) return
    try {
      const known = this.#readFreshness(false)
      this.#known = Math.max(this.#known, known?.generation ?? 0)
      const found = this.#readFile()
      if (found === undefined || isBehind(found, known) || isBehind(found, this.#state)) {
        throw this.#rolledBack(found === undefined)
      }
      this.#state = found
      this.#refused = undefined
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      if (isOfDisk(error)) this.#hasSeen = false
      this.#refused = error
      notice(error)
    }
    // Its writer may have died before it noted how new the file is.
    if (this.#current().generation > this.#known) this.update((now) => now).catch(() => undefined)
  }

  /**
   * A refused file may be replaced by the value here, unless another process wrote it since:
   * a key that it revoked would work again.
   */
  #checkNewest({ generation }: Generation): void {
    const error = this.#refused
    if (error !== undefined && (isOfDisk(error) || generation < this.#known)) throw error
  }

  /** The file is the one that was read or written last. */
  #note(): void {
    const { owner, path } = this.#parts
    this.#seen = owner.disk.stat(path)
    this.#hasSeen = true
    this.#isSettled = false
  }

  /** Whether the file may be another one than was seen last. */
  #look(): boolean {
    const { owner, path, clock } = this.#parts
    const status = owner.disk.stat(path)
    const isKnown = this.#hasSeen && isSameFile(status, this.#seen)
    if (isKnown && this.#isSettled) return false
    this.#seen = status
    this.#hasSeen = true
    this.#isSettled = status === undefined || Math.abs(clock() - status.mtimeMs) > TICK_MS
    return !isKnown || this.#isOther()
  }

  /**
   * A file that was replaced twice within a tick of the clock of the file system may look as it did
   * before: its number is given again. So it is compared as long as it is that young, as git does
   * with its index.
   */
  #isOther(): boolean {
    const { owner, path } = this.#parts
    const bytes = owner.disk.readFile(path)
    return (bytes && digestOf(bytes)) !== this.#seenDigest
  }

  /** Before the file, which may be replaced in between: a newer one is accepted. */
  #readFreshness(renew: boolean): FreshnessFile | undefined {
    const { owner, role } = this.#parts
    try {
      return readCache<FreshnessFile>(owner, this.#freshness, VERSION)
    } catch (error) {
      if (hasCode(error, 'upgrade_required')) throw error
      if (renew) return undefined
      throw new StoreError(
        'freshness_corrupt',
        `The file that reveals old ${role} is damaged, or belongs to another identity`,
        { cause: error },
      )
    }
  }

  #readFile(): State<T> | undefined {
    const { owner, path, role } = this.#parts
    const bytes = owner.disk.readFile(path)
    this.#seenDigest = bytes && digestOf(bytes)
    if (bytes === undefined) return undefined
    const { generation, value } = openList<T>(owner, role, bytes)
    return { generation, digest: digestOf(bytes), value, size: bytes.length }
  }

  async #write(value: T, generation: number): Promise<void> {
    const { owner, role, path } = this.#parts
    this.#writing = true
    try {
      const bytes = sealList(owner, role, { generation, value })
      const state = { generation, digest: digestOf(bytes), value, size: bytes.length }
      await makeDurableDirectory(owner.disk, dirname(path))
      await atomicWrite(owner.disk, path, bytes)
      await this.#writeFreshness(state)
      this.#state = state
      this.#refused = undefined
      this.#seenDigest = state.digest
      this.#note()
    } finally {
      this.#writing = false
    }
  }

  /** Notes a file that another process wrote, and may not have made durable before it died. */
  async #adopt(found: Generation): Promise<void> {
    const { owner, path } = this.#parts
    await owner.disk.syncDirectory(dirname(path))
    await this.#writeFreshness(found)
  }

  async #writeFreshness({ generation, digest }: Generation): Promise<void> {
    const file: FreshnessFile = { version: VERSION, generation, digest }
    await writeCache(this.#parts.owner, this.#freshness, file)
    this.#known = generation
  }

  #current(): State<T> {
    assert(this.#state !== undefined, 'a sealed file is opened first')
    return this.#state
  }

  #rolledBack(isMissing: boolean): StoreError {
    const { role } = this.#parts
    const found = isMissing ? 'is missing' : 'is older than the last version written'
    return new StoreError(
      'rolled_back',
      `The file ${role} of the server ${found}: put the newest back, or accept it as it is`,
    )
  }
}

function isBehind(found: Generation | undefined, known: Generation | undefined): boolean {
  if (known === undefined) return false
  if (found === undefined || found.generation < known.generation) return true
  return found.generation === known.generation && found.digest !== known.digest
}

function isOfDisk(error: StoreError): boolean {
  return hasCode(error, 'storage_failed', 'storage_denied')
}

function digestOf(bytes: Uint8Array): string {
  return toHex(hash256(bytes))
}
