// One of the two journal files: which batches are valid, appending, and starting over. Zeros are
// made durable before a batch is written over them, so that an append waits for its data alone, and
// a write that did not end can be told from damage (journal-survey.ts). Must be written only by who
// holds the writer lock of the store; anyone may read. Must write nothing over damage.

import { concatBytes, equalBytes, isZero } from '../../bytes.ts'
import type { Disk } from '../../disk/disk.ts'
import { StoreError } from '../../errors.ts'
import { journalPackBytes, journalStepBytesMax, journalStepBytesMin } from '../../limits.ts'
import type { Transition } from '../object-store.ts'
import {
  type Batch,
  batchBytes,
  batchHeadBytes,
  encodeBatch,
  findBatch,
  findHead,
  type Frame,
  magicBytes,
  type Origin,
  sectorBytes,
  sectorEnd,
} from './journal-frame.ts'
import { type JournalMemory, JournalSlabs } from './journal-memory.ts'
import { isOfSame, judgeRest, type Rest } from './journal-survey.ts'

const noBytes = new Uint8Array(0)
/** Never written to, so that no memory is behind it. */
const zeros = new Uint8Array(journalStepBytesMax)
const noOrigin: Origin = { generation: 0, salt: noBytes }
/** Looks at a file that changes under each of them, before it counts as being written. */
const looksMax = 4
/** Enough of the end for the sum of the last batch, wherever a sector begins in it. */
const tailBytes = 2 * sectorBytes

/** What a look at the disk found: frames at the end alone, or anything else as well. */
export type JournalNews = 'nothing' | 'frames' | 'everything'

export interface JournalFileParts {
  readonly disk: Disk
  readonly path: string
  /** Whether nobody else can be writing: what looks like damage may else be a write under way. */
  readonly isQuiet: () => boolean
  readonly memory: JournalMemory
}

export class JournalFile {
  readonly #disk: Disk
  readonly #path: string
  readonly #isQuiet: () => boolean
  readonly #slabs: JournalSlabs
  #fd: number | undefined
  #writable = false
  /** The file's first bytes, by which another use of it is noticed. */
  #first: Uint8Array = noBytes
  #origin: Origin = noOrigin
  #frames: Frame[] = []
  /** The file's bytes just before `#end`, the sum of the last batch among them. */
  #tail: Uint8Array = noBytes
  #end = 0
  /** What followed the last batch when this handle looked. */
  #rest: Rest = 'zeros'
  /** What was seen where that looks like damage. */
  #doubt: Uint8Array = noBytes
  /** Up to here the file is known to be durable. */
  #durable = 0
  /** Frames of this handle are in the file that are not durable yet. */
  #appending = false
  #poisoned: StoreError | undefined

  constructor({ disk, path, isQuiet, memory }: JournalFileParts) {
    this.#disk = disk
    this.#path = path
    this.#isQuiet = isQuiet
    this.#slabs = new JournalSlabs(memory)
  }

  /** Rises at every switch between the files; 0 if the file holds no journal. */
  get generation(): number {
    return this.#origin.generation
  }

  get frames(): readonly Frame[] {
    return this.#frames
  }

  /** Bytes up to the end of the last batch. */
  get bytes(): number {
    return this.#end
  }

  /** Whether frames are here that nobody, or another handle, has made durable. */
  get uncertain(): boolean {
    return this.#durable < this.#end
  }

  /** Whether the last look has left open if a write is under way or the file is damaged. */
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
   * Reads what others wrote since the last time. Nobody can during an append of this handle. Throws
   * `journal_corrupt` for damage; for what may also be a write under way, leaves `doubtful`.
   */
  refresh(): JournalNews {
    if (this.#appending) return 'nothing'
    const news = this.#look()
    if (!this.doubtful) return news
    for (let look = 0; look < looksMax && this.doubtful; look += 1) {
      const seen = this.#doubt
      // What was being written at that moment is whole when the file is read again.
      const isQuiet = this.#isQuiet()
      this.#load()
      if (isQuiet && this.doubtful && equalBytes(seen, this.#doubt)) throw damagedError()
    }
    return 'everything'
  }

  /**
   * Starts a journal without frames. Durable when it resolves, and so is that the frames of before
   * are gone: the branch moves on, and they would not lead to where it is.
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
    this.#slabs.abandon()
    this.#first = bytes.slice(0, batchHeadBytes)
    this.#origin = { generation, salt }
    this.#moveEnd(bytes)
    this.#durable = this.#end
  }

  /**
   * Appends one frame for each transition: one write, one fdatasync. Frames that another handle
   * wrote go into the same write again, because a failed fdatasync of a process that died leaves
   * pages that look clean and are not on the disk. If this throws, the frames are not in the file,
   * unless `poisoned` is set.
   */
  async append(transitions: readonly Transition[]): Promise<readonly Frame[]> {
    if (this.#poisoned !== undefined) throw this.#poisoned
    // Without its first batch nothing in the file would be found.
    if (this.#durable < sectorBytes) await this.harden()
    if (this.#rest !== 'zeros') await this.scrub()
    const place = { start: this.#end, durable: this.#durable }
    const batch = encodeBatch(this.#origin, place, transitions, (n) => this.#slabs.take(n))
    const fd = this.#openForWriting()
    await this.#reserve(fd, this.#end + batch.bytes.length + sectorBytes)
    this.#appending = true
    try {
      await this.#writeDurably(fd, batch.bytes)
    } finally {
      this.#appending = false
    }
    this.#frames.push(...batch.frames)
    this.#moveEnd(batch.bytes)
    this.#durable = this.#end
    return batch.frames
  }

  /** Makes all frames durable that another handle wrote. */
  async harden(): Promise<void> {
    if (!this.uncertain) return
    const fd = this.#openForWriting()
    this.#disk.write(fd, this.#readAt(this.#durable, this.#end - this.#durable), this.#durable)
    await this.#disk.sync(fd)
    this.#durable = this.#end
  }

  /** Empties the journal in one step, which a crash undoes or not. Durable after `sync`. */
  clear(): void {
    this.#empty(0)
  }

  /** As `clear`, but keeps zeros for the next journal to be written on. Durable after `start`. */
  renew(): void {
    this.#empty(journalPackBytes)
  }

  /** Nobody looks any more at frames that were here before `clear` or `renew`. */
  reuseMemory(): void {
    this.#slabs.reuse()
  }

  /** Overwrites everything but the batches with zeros, durably: nothing follows the last one. */
  async scrub(): Promise<void> {
    if (this.#open() === undefined) return
    const fd = this.#openForWriting()
    const size = this.#disk.size(fd)
    // Who emptied the file may have died before that was durable.
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

  #look(): JournalNews {
    const isKnown = equalBytes(this.#readAt(0, batchHeadBytes), this.#first)
    if (isKnown && !this.doubtful) return this.#refreshTail()
    this.#load()
    return 'everything'
  }

  /** The bytes around the end tell whether frames came, and whether the last one is still there. */
  #refreshTail(): JournalNews {
    if (this.generation === 0) return 'nothing'
    const { length } = this.#tail
    const around = this.#readAt(this.#end - length, length + magicBytes)
    if (!equalBytes(around.subarray(0, length), this.#tail)) {
      this.#load()
      return 'everything'
    }
    if (isZero(around.subarray(length))) return 'nothing'
    const known = this.#frames.length
    this.#scan()
    // Reading all the zeros that follow is for whoever sees the file for the first time.
    if (!isZero(this.#readAt(this.#end, magicBytes))) this.#judge()
    return this.#frames.length > known ? 'frames' : 'nothing'
  }

  #load(): void {
    this.#forget()
    this.#slabs.abandon()
    this.#first = this.#readAt(0, batchHeadBytes)
    this.#scan()
    this.#judge()
  }

  /** As of a file in which there is nothing but zeros. */
  #forget(): void {
    this.#first = noBytes
    this.#origin = noOrigin
    this.#frames = []
    this.#tail = noBytes
    this.#end = 0
    this.#durable = 0
    this.#rest = 'zeros'
    this.#doubt = noBytes
  }

  /** Takes intact batches from the end that is known. */
  #scan(): void {
    for (let batch = this.#findNext(); batch !== undefined; batch = this.#findNext()) {
      if (this.generation === 0) this.#origin = batch
      this.#frames.push(...batch.frames)
      this.#moveEnd(this.#readAt(batch.start, batch.end - batch.start))
      // Who wrote it knew that of all before it.
      this.#durable = Math.max(this.#durable, batch.durable)
    }
  }

  #empty(keptMax: number): void {
    const size = this.#size()
    if (size === 0) return
    const fd = this.#openForWriting()
    this.#disk.truncate(fd, 0)
    this.#writeZeros(fd, 0, Math.min(size, keptMax))
    this.#forget()
    this.#slabs.leave()
    this.#first = this.#readAt(0, batchHeadBytes)
  }

  /** Looks at what follows the last batch. */
  #judge(): void {
    const rest = this.#readAt(this.#end, Math.max(0, this.#size() - this.#end))
    this.#rest = judgeRest(rest, this.#end)
    this.#doubt = this.doubtful ? concatBytes(this.#first, rest) : noBytes
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
    this.#tail = batch.slice(-tailBytes)
  }

  async #writeDurably(fd: number, batch: Uint8Array): Promise<void> {
    const uncertain = this.#readAt(this.#durable, this.#end - this.#durable)
    const bytes = uncertain.length === 0 ? batch : concatBytes(uncertain, batch)
    try {
      this.#disk.write(fd, bytes, this.#durable)
      await this.#disk.sync(fd)
    } catch (error) {
      await this.#takeBack(fd, batch.length, error)
      throw error
    }
  }

  /** Overwrites a write that failed; if that fails too, its outcome is unknown for good. */
  async #takeBack(fd: number, length: number, cause: unknown): Promise<void> {
    try {
      this.#disk.write(fd, new Uint8Array(length), this.#end)
      await this.#disk.sync(fd)
    } catch {
      const sentence =
        'A change was neither written nor taken back for sure: reopen the store to see it'
      this.#poisoned = new StoreError('storage_failed', sentence, { cause })
      throw this.#poisoned
    }
  }

  /** Extends the file with durable zeros to at least `needed` bytes; steps grow with it. */
  async #reserve(fd: number, needed: number): Promise<void> {
    const size = this.#disk.size(fd)
    if (size >= needed) return
    let end = size
    while (end < needed) end += Math.min(Math.max(end, journalStepBytesMin), journalStepBytesMax)
    this.#writeZeros(fd, size, end)
    await this.#disk.sync(fd)
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

function damagedError(): StoreError {
  return new StoreError(
    'journal_corrupt',
    'The journal of the store is damaged: changes that are not packed yet cannot all be read',
  )
}
