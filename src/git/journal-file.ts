// One of the two journal files: which frames are valid, appending, and starting over. The file is
// preallocated with zeros and overwritten, so that an append waits for its data alone. Must be
// written only by who holds the writer lock of the store; anyone may read.

import { concatBytes, equalBytes, isZero } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { journalStepBytesMax, journalStepBytesMin } from '../limits.ts'
import type { Disk } from './disk.ts'
import {
  checksumBytes,
  decodeJournalHeader,
  decodePayload,
  encodeFrames,
  encodeJournalHeader,
  type Frame,
  frameChecksum,
  frameHeaderBytes,
  framePayloadLength,
  headerChecksum,
  journalHeaderBytes,
} from './journal-frame.ts'
import type { Transition } from './object-store.ts'

const noBytes = new Uint8Array(0)
/** The zeros after the last frame: what an earlier use left there never follows it. */
const terminator = new Uint8Array(frameHeaderBytes)

/** What a look at the disk found: frames at the end alone, or anything else as well. */
export type JournalNews = 'nothing' | 'frames' | 'everything'

export class JournalFile {
  readonly #disk: Disk
  readonly #path: string
  #fd: number | undefined
  #writable = false
  #header: Uint8Array = noBytes
  #generation = 0
  #frames: Frame[] = []
  /** The file's bytes just before `#end`: the last checksum, or the salt. */
  #tail: Uint8Array = noBytes
  #checksum: Uint8Array = noBytes
  #end = 0
  /** Up to here this handle itself has made the file durable. */
  #durable = 0
  /** Frames of this handle are in the file that are not durable yet. */
  #appending = false
  #poisoned: StoreError | undefined

  constructor(disk: Disk, path: string) {
    this.#disk = disk
    this.#path = path
  }

  /** Rises at every switch between the files; 0 if the file holds no journal. */
  get generation(): number {
    return this.#generation
  }

  get frames(): readonly Frame[] {
    return this.#frames
  }

  /** Bytes of header and frames. */
  get bytes(): number {
    return this.#end
  }

  /** Whether frames are here that nobody, or another handle, has made durable. */
  get uncertain(): boolean {
    return this.#durable < this.#end
  }

  /** Creates the file if it is missing. Returns whether the directory must be synced. */
  create(): boolean {
    if (this.#disk.stat(this.#path) !== undefined) return false
    this.#disk.close(this.#disk.open(this.#path, 'wx'))
    return true
  }

  /** Reads what others wrote since the last time. Nobody can during an append of this handle. */
  refresh(): JournalNews {
    if (this.#appending) return 'nothing'
    const header = this.#readAt(0, journalHeaderBytes)
    if (equalBytes(header, this.#header)) return this.#refreshTail()
    this.#load(header)
    return 'everything'
  }

  /** Starts a journal without frames. Not synced: that happens with the first frame. */
  start(generation: number, salt: Uint8Array): void {
    const header = encodeJournalHeader(generation, salt)
    const fd = this.#openForWriting()
    this.#reserve(fd, header.length + terminator.length)
    this.#disk.write(fd, concatBytes(header, terminator), 0)
    this.#poisoned = undefined
    this.#load(header)
  }

  /**
   * Appends one frame for each transition: one write, one fdatasync. Frames that another handle
   * wrote go into the same write again, because a failed fdatasync of a process that died leaves
   * pages that look clean and are not on the disk. If this throws, the frames are not in the file,
   * unless `poisoned` is set.
   */
  async append(transitions: readonly Transition[]): Promise<readonly Frame[]> {
    if (this.#poisoned !== undefined) throw this.#poisoned
    const encoded = encodeFrames(transitions, this.#checksum, this.#end)
    const end = this.#end + encoded.bytes.length
    const fd = this.#openForWriting()
    this.#reserve(fd, end + terminator.length)
    this.#appending = true
    try {
      await this.#writeDurably(fd, encoded.bytes)
    } finally {
      this.#appending = false
    }
    this.#frames.push(...encoded.frames)
    this.#checksum = encoded.checksum
    this.#tail = encoded.checksum
    this.#end = end
    this.#durable = end
    return encoded.frames
  }

  /** Makes all frames durable that another handle wrote. */
  async harden(): Promise<void> {
    if (!this.uncertain) return
    const fd = this.#openForWriting()
    this.#disk.write(fd, this.#readAt(this.#durable, this.#end - this.#durable), this.#durable)
    await this.#disk.sync(fd)
    this.#durable = this.#end
  }

  /** Empties the journal. Visible at once, durable after `sync`. */
  clear(): void {
    if (this.#generation === 0) return
    this.#disk.write(this.#openForWriting(), new Uint8Array(journalHeaderBytes), 0)
    this.#load(new Uint8Array(journalHeaderBytes))
  }

  /** Makes durable that no frame follows the last one. */
  async fence(): Promise<void> {
    if (this.#open() === undefined) return
    const fd = this.#openForWriting()
    const isEmpty = this.#generation === 0
    if (this.#disk.size(fd) === 0) return
    if (isEmpty) this.#disk.write(fd, new Uint8Array(journalHeaderBytes), 0)
    else this.#disk.write(fd, terminator, this.#end)
    await this.#disk.sync(fd)
  }

  /** Overwrites everything but the live frames with zeros, durably. */
  async scrub(): Promise<void> {
    if (this.#open() === undefined) return
    const fd = this.#openForWriting()
    const size = this.#disk.size(fd)
    let at = this.#generation === 0 ? 0 : this.#end
    if (at >= size) return
    const zeros = new Uint8Array(Math.min(journalStepBytesMax, size - at))
    while (at < size) {
      const part = zeros.subarray(0, Math.min(zeros.length, size - at))
      this.#disk.write(fd, part, at)
      at += part.length
    }
    await this.#disk.sync(fd)
  }

  async sync(): Promise<void> {
    if (this.#fd !== undefined) await this.#disk.sync(this.#fd)
  }

  /** Gives the space of an empty journal back. */
  truncate(): void {
    if (this.#generation !== 0) return
    const fd = this.#open()
    if (fd !== undefined && this.#disk.size(fd) > 0) {
      this.#disk.truncate(this.#openForWriting(), 0)
    }
  }

  close(): void {
    if (this.#fd !== undefined) this.#disk.close(this.#fd)
    this.#fd = undefined
    this.#writable = false
  }

  /** The bytes around the end tell whether frames came, and whether the last one is still there. */
  #refreshTail(): JournalNews {
    if (this.#generation === 0) return 'nothing'
    const length = this.#tail.length + frameHeaderBytes
    const around = this.#readAt(this.#end - this.#tail.length, length)
    if (!equalBytes(around.subarray(0, this.#tail.length), this.#tail)) {
      this.#load(this.#header)
      return 'everything'
    }
    return !isZero(around.subarray(this.#tail.length)) && this.#scan() ? 'frames' : 'nothing'
  }

  #load(header: Uint8Array): void {
    this.#generation = decodeJournalHeader(header)
    this.#header = header
    this.#frames = []
    this.#durable = 0
    if (this.#generation === 0) {
      this.#end = 0
      return
    }
    this.#end = journalHeaderBytes
    this.#tail = header.subarray(-checksumBytes)
    this.#checksum = headerChecksum(header)
    this.#scan()
  }

  /** Takes valid frames from the end that is known. Stops at a torn one: nobody was told of it. */
  #scan(): boolean {
    const fd = this.#open()
    if (fd === undefined) return false
    const size = this.#disk.size(fd)
    const known = this.#frames.length
    while (this.#scanFrame(size)) continue
    return this.#frames.length > known
  }

  #scanFrame(size: number): boolean {
    const start = this.#end
    const header = this.#readAt(start, frameHeaderBytes)
    const length = framePayloadLength(header, size - start - frameHeaderBytes)
    if (length === undefined) return false
    const whole = this.#readAt(start, frameHeaderBytes + length + checksumBytes)
    const body = whole.subarray(0, frameHeaderBytes + length)
    const checksum = frameChecksum(this.#checksum, body)
    if (!equalBytes(checksum, whole.subarray(body.length))) return false
    this.#end = start + whole.length
    this.#frames.push(decodePayload(body.subarray(frameHeaderBytes), this.#end))
    this.#checksum = checksum
    this.#tail = checksum
    return true
  }

  async #writeDurably(fd: number, frames: Uint8Array): Promise<void> {
    const uncertain = this.#readAt(this.#durable, this.#end - this.#durable)
    try {
      this.#disk.write(fd, concatBytes(uncertain, frames, terminator), this.#durable)
      await this.#disk.sync(fd)
    } catch (error) {
      await this.#takeBack(fd, frames.length, error)
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

  /** Extends the file with zeros to at least `needed` bytes; steps grow with it. */
  #reserve(fd: number, needed: number): void {
    let size = this.#disk.size(fd)
    while (size < needed) {
      const step = Math.min(Math.max(size, journalStepBytesMin), journalStepBytesMax)
      this.#disk.write(fd, new Uint8Array(step), size)
      size += step
    }
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
