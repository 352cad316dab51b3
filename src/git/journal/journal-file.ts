// One of the two journal files: finds its valid batches, appends, and starts over. Zeros are
// durable before a batch overwrites them, so an append waits only for its data, and an interrupted
// write can be told from damage (journal-survey.ts). Must be written only under the writer lock;
// reading needs none. Must write nothing over damage.

import { concatBytes, equalBytes, isZero } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import {
  journalFileBytesMax,
  journalStepBytesMax,
  journalStepBytesMin,
  KIBIBYTE,
} from '../../limits.ts'
import type { Transition } from '../object-store.ts'
import {
  type Batch,
  batchBytes,
  batchHeadBytes,
  damaged,
  encodeBatch,
  findBatch,
  findHead,
  type Frame,
  magicBytes,
  type Origin,
  sectorBytes,
  sectorEnd,
} from './journal-frame.ts'
import { isOfSame, classifyRest, type Rest } from './journal-survey.ts'

const problem = 'changes that are not packed yet cannot all be read'
const noBytes = new Uint8Array(0)
/** Never written to, so that the system allocates no memory for it. */
const zeros = new Uint8Array(journalStepBytesMax)
const noOrigin: Origin = { generation: 0, salt: noBytes }
/** Reads of a file that changes between them, before it is treated as being written. */
const looksMax = 4
/** A burst of changes after a quiet time waits for three extensions of a file, not for five. */
const journalGrowth = 3
/** Long enough to contain the sum of the last batch, wherever its sectors start. */
const tailBytes = 2 * sectorBytes
/** Of a sync that takes longer, the way to the thread pool and back is a small part. */
const fastSyncMs = 1
/** Fast syncs in a row before this thread waits for the next one: a slow one must not block it. */
const fastSyncsMin = 4
/** More takes longer than the syncs before let expect. */
const fastSyncBytesMax = 256 * KIBIBYTE

/** What changed on the disk since the last read: only new frames, or anything else. */
export type JournalNews = 'nothing' | 'frames' | 'everything'

export class JournalFile {
  readonly #disk: Disk
  readonly #path: string
  readonly #isQuiet: () => boolean
  #fd: number | undefined
  #writable = false
  /** The file's first bytes; they change when the file is started again. */
  #first: Uint8Array = noBytes
  #origin: Origin = noOrigin
  #frames: Frame[] = []
  /** The file's bytes just before `#end`, including the sum of the last batch. */
  #tail: Uint8Array = noBytes
  #end = 0
  /** What followed the last batch at the last read. */
  #rest: Rest = 'zeros'
  /** The bytes that look like damage. */
  #doubt: Uint8Array = noBytes
  /** The file is known to be durable up to this position. */
  #durable = 0
  /** Up to this position it has durable zeros, or frames; 0 if that is not known. */
  #reserved = 0
  /** Whether this handle is appending frames that are not durable yet. */
  #appending = false
  #poisoned: StoreError | undefined
  /** In a row. */
  #fastSyncs = 0

  /**
   * `isQuiet`: whether no other process can be writing, since a write in progress looks like
   * damage.
   */
  constructor(disk: Disk, path: string, isQuiet: () => boolean) {
    this.#disk = disk
    this.#path = path
    this.#isQuiet = isQuiet
  }

  /** Rises with every switch between the files; 0 if the file holds no journal. */
  get generation(): number {
    return this.#origin.generation
  }

  get frames(): readonly Frame[] {
    return this.#frames
  }

  get bytes(): number {
    return this.#end
  }

  /** Whether the file has frames that may not be durable. */
  get uncertain(): boolean {
    return this.#durable < this.#end
  }

  /** Whether the last read could not distinguish a write in progress from damage. */
  get doubtful(): boolean {
    return this.#rest === 'damaged'
  }

  /** Creates the file if it is missing. Returns whether the directory must be synced. */
  create(): boolean {
    if (this.#disk.stat(this.#path) !== undefined) return false
    this.#disk.close(this.#disk.open(this.#path, 'wx'))
    return true
  }

  /**
   * Reads frames that other processes wrote, except during an append of this handle, when none can.
   * Throws `journal_corrupt` for damage; sets `doubtful` if it may be a write in progress.
   */
  refresh(): JournalNews {
    if (this.#appending) return 'nothing'
    const change = this.#readChange()
    if (!this.doubtful) return change
    for (let look = 0; look < looksMax && this.doubtful; look += 1) {
      const last = this.#doubt
      // A write in progress at that moment is complete when the file is read again.
      const isQuiet = this.#isQuiet()
      this.#load()
      if (isQuiet && this.doubtful && equalBytes(last, this.#doubt)) throw damaged(problem)
    }
    return 'everything'
  }

  /**
   * Starts a journal without frames. When it resolves, this and the removal of the old frames are
   * durable: the branch moves on, and the old frames would not fit it.
   */
  async start(generation: number, salt: Uint8Array): Promise<void> {
    if (this.#rest !== 'zeros') this.clear()
    const fd = this.#openForWriting()
    const { bytes } = encodeBatch({ generation, salt }, { start: 0, durable: 0 }, [])
    const isEmpty = this.#disk.size(fd) <= bytes.length
    const rest = zeros.subarray(0, isEmpty ? journalStepBytesMin - bytes.length : 0)
    this.#disk.write(fd, concatBytes(bytes, rest), 0)
    await this.#disk.sync(fd)
    this.#poisoned = undefined
    this.#forget()
    this.#first = bytes.slice(0, batchHeadBytes)
    this.#origin = { generation, salt }
    this.#moveEnd(bytes)
    this.#durable = this.#end
  }

  /**
   * Appends one frame per transition, with one write and one fdatasync. Frames of another handle
   * that may not be durable are written again: after a failed fdatasync of a process that died,
   * pages look clean and are not on the disk. If this throws, the frames are not in the file,
   * unless `poisoned` is set.
   */
  async append(transitions: readonly Transition[]): Promise<readonly Frame[]> {
    if (this.#poisoned !== undefined) throw this.#poisoned
    // Without a durable first batch, no later one would be found.
    if (this.#durable < sectorBytes) await this.harden()
    if (this.#rest !== 'zeros') await this.scrub()
    const place = { start: this.#end, durable: this.#durable }
    const batch = encodeBatch(this.#origin, place, transitions)
    const fd = this.#openForWriting()
    await this.#reserve(fd, this.#end + batch.bytes.length + sectorBytes)
    await this.#writeDurably(fd, batch.bytes)
    this.#frames.push(...batch.frames)
    this.#moveEnd(batch.bytes)
    this.#durable = this.#end
    return batch.frames
  }

  /** Makes the frames of other handles durable. */
  async harden(): Promise<void> {
    if (!this.uncertain) return
    const fd = this.#openForWriting()
    this.#disk.write(fd, this.#readAt(this.#durable, this.#end - this.#durable), this.#durable)
    await this.#disk.sync(fd)
    this.#durable = this.#end
  }

  /**
   * Empties the journal atomically; keeps some zeros for the next one, at most as many as there
   * were bytes. Durable after `sync`, or after `start`.
   */
  clear(keptMax = 0): void {
    const size = this.#size()
    if (size === 0) return
    const fd = this.#openForWriting()
    this.#disk.truncate(fd, 0)
    this.#writeZeros(fd, 0, Math.min(size, keptMax))
    this.#forget()
    this.#first = this.#readAt(0, batchHeadBytes)
  }

  /** Gives back most of the zeros after the last batch. It need not be durable. */
  shrink(): void {
    const kept = Math.max(journalStepBytesMin, this.#end + sectorBytes)
    if (this.#rest !== 'zeros' || this.#size() <= kept) return
    this.#reserved = 0
    this.#disk.truncate(this.#openForWriting(), kept)
  }

  /** Overwrites everything after the last batch with zeros, durably. */
  async scrub(): Promise<void> {
    if (this.#open() === undefined) return
    const fd = this.#openForWriting()
    const size = this.#disk.size(fd)
    // The process that emptied the file may have died before that was durable.
    if (size === 0) this.#disk.truncate(fd, 0)
    this.#writeZeros(fd, this.#end, size)
    await this.#disk.sync(fd)
    this.#rest = 'zeros'
  }

  async sync(): Promise<void> {
    if (this.#fd !== undefined) await this.#disk.sync(this.#fd)
  }

  close(): void {
    if (this.#fd !== undefined) this.#disk.close(this.#fd)
    this.#fd = undefined
    this.#writable = false
  }

  #readChange(): JournalNews {
    // Another process may have emptied it.
    this.#reserved = 0
    const isKnown = equalBytes(this.#readAt(0, batchHeadBytes), this.#first)
    return isKnown && !this.doubtful ? this.#refreshTail() : this.#load()
  }

  /** The bytes around the end show whether frames were added, and whether the last one remains. */
  #refreshTail(): JournalNews {
    if (this.generation === 0) return 'nothing'
    const { length } = this.#tail
    const around = this.#readAt(this.#end - length, length + magicBytes)
    if (!equalBytes(around.subarray(0, length), this.#tail)) return this.#load()
    if (isZero(around.subarray(length))) return 'nothing'
    const known = this.#frames.length
    this.#scan()
    // The first read of a file checks all the zeros that follow; later ones check these only.
    if (!isZero(this.#readAt(this.#end, magicBytes))) this.#classifyRest()
    return this.#frames.length > known ? 'frames' : 'nothing'
  }

  #load(): JournalNews {
    this.#forget()
    if (this.#size() > journalFileBytesMax) throw damaged(problem)
    const first = this.#readAt(0, batchHeadBytes)
    this.#scan()
    this.#classifyRest()
    this.#first = first
    return 'everything'
  }

  /** Resets the state to that of a file of zeros. */
  #forget(): void {
    this.#first = noBytes
    this.#origin = noOrigin
    this.#frames = []
    this.#tail = noBytes
    this.#end = 0
    this.#durable = 0
    this.#reserved = 0
    this.#rest = 'zeros'
    this.#doubt = noBytes
  }

  /** Reads intact batches from the known end. */
  #scan(): void {
    for (let batch = this.#findNext(); batch !== undefined; batch = this.#findNext()) {
      if (this.generation === 0) this.#origin = batch
      // First, since a read may fail: a frame is not to be found twice.
      this.#moveEnd(this.#readAt(batch.start, batch.end - batch.start))
      this.#frames.push(...batch.frames)
      // The batch's writer knew that everything before `durable` is durable.
      this.#durable = Math.max(this.#durable, batch.durable)
    }
  }

  #classifyRest(): void {
    const rest = this.#readAt(this.#end, Math.max(0, this.#size() - this.#end))
    this.#rest = classifyRest(rest, this.#end)
    this.#doubt = this.doubtful ? concatBytes(this.#readAt(0, batchHeadBytes), rest) : noBytes
  }

  #findNext(): Batch | undefined {
    const start = this.#end
    const head = findHead(this.#readAt(start, batchHeadBytes), start)
    if (head === undefined || start + sectorEnd(batchBytes(head)) > this.#size()) return undefined
    if (this.generation > 0 && !isOfSame(this.#origin, head)) return undefined
    return findBatch(this.#readAt(start, batchBytes(head)), start)
  }

  #moveEnd(batch: Uint8Array): void {
    this.#end += batch.length
    this.#tail = batch.subarray(-tailBytes)
  }

  async #writeDurably(fd: number, batch: Uint8Array): Promise<void> {
    const uncertain = this.#readAt(this.#durable, this.#end - this.#durable)
    const bytes = uncertain.length === 0 ? batch : concatBytes(uncertain, batch)
    this.#appending = true
    try {
      this.#disk.write(fd, bytes, this.#durable)
      await this.#syncAppend(fd, bytes.length)
    } catch (error) {
      await this.#undoWrite(fd, batch.length, error)
      throw error
    } finally {
      this.#appending = false
    }
  }

  async #syncAppend(fd: number, bytes: number): Promise<void> {
    const isHere = this.#fastSyncs >= fastSyncsMin && bytes <= fastSyncBytesMax
    const start = performance.now()
    await this.#disk.sync(fd, isHere)
    this.#fastSyncs = performance.now() - start < fastSyncMs ? this.#fastSyncs + 1 : 0
  }

  /**
   * Overwrites a failed write; if that fails too, the outcome is unknown until the store is
   * reopened.
   */
  async #undoWrite(fd: number, length: number, cause: unknown): Promise<void> {
    try {
      this.#disk.write(fd, new Uint8Array(length), this.#end)
      await this.#disk.sync(fd)
    } catch {
      const text = 'A change may or may not have been written: reopen the store to see which'
      this.#poisoned = new StoreError('storage_failed', text, { cause })
      throw this.#poisoned
    }
  }

  /** Extends the file with durable zeros to at least `needed` bytes, in steps that grow with it. */
  async #reserve(fd: number, needed: number): Promise<void> {
    if (this.#reserved >= needed) return
    const size = this.#disk.size(fd)
    let end = size
    while (end < needed) {
      end += Math.min(Math.max(journalGrowth * end, journalStepBytesMin), journalStepBytesMax)
    }
    if (end > size) {
      this.#writeZeros(fd, size, end)
      await this.#disk.sync(fd)
    }
    this.#reserved = end
  }

  #writeZeros(fd: number, start: number, end: number): void {
    for (let at = start; at < end; at += zeros.length) {
      this.#disk.write(fd, zeros.subarray(0, end - at), at)
    }
  }

  #size(): number {
    const fd = this.#open()
    return fd === undefined ? 0 : this.#disk.size(fd)
  }

  #readAt(position: number, length: number): Uint8Array {
    const fd = this.#open()
    if (fd === undefined || length === 0) return noBytes
    const bytes = new Uint8Array(length)
    return bytes.subarray(0, this.#disk.read(fd, bytes, position))
  }

  #open(): number | undefined {
    this.#fd ??= this.#disk.openExisting(this.#path, 'r')
    return this.#fd
  }

  #openForWriting(): number {
    if (this.#writable && this.#fd !== undefined) return this.#fd
    const fd = this.#disk.open(this.#path, 'r+')
    this.close()
    this.#fd = fd
    this.#writable = true
    return fd
  }
}
