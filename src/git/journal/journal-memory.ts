// The memory that holds the frames of a journal until they are packed. It is shared with the
// packing thread, so that nothing is copied, and reused, because garbage collection is slow for
// objects that live for a second. Must not know its content.

import { MEBIBYTE } from '../../limits.ts'

/** Larger allocations have their own buffer. */
const slabBytes = MEBIBYTE
/**
 * Free slabs to keep: enough for two journals when packing is slow. Shared buffers beyond that
 * become garbage that V8 does not count.
 */
const freeMax = 16

/** The free slabs, for both files of a journal. */
export class JournalMemory {
  readonly #free: SharedArrayBuffer[] = []

  take(): SharedArrayBuffer {
    return this.#free.pop() ?? new SharedArrayBuffer(slabBytes)
  }

  giveBack(slabs: readonly SharedArrayBuffer[]): void {
    this.#free.push(...slabs.slice(0, freeMax - this.#free.length))
  }
}

/** The slabs that hold the frames of one file. */
export class JournalSlabs {
  readonly #memory: JournalMemory
  #used: SharedArrayBuffer[] = []
  /** Where the last slab is free. */
  #at = slabBytes
  /** Slabs of removed frames that a reader may still use. */
  #retired: SharedArrayBuffer[] = []

  constructor(memory: JournalMemory) {
    this.#memory = memory
  }

  /** Allocates bytes with arbitrary content. */
  take(length: number): Uint8Array {
    if (length > slabBytes) return new Uint8Array(new SharedArrayBuffer(length))
    if (this.#at + length > slabBytes) {
      this.#used.push(this.#memory.take())
      this.#at = 0
    }
    const start = this.#at
    this.#at += length
    return new Uint8Array(this.#used.at(-1) ?? this.#memory.take(), start, length)
  }

  /** Called when the frames are removed from the file. */
  retire(): void {
    this.#retired.push(...this.#used)
    this.#used = []
    this.#at = slabBytes
  }

  /** The same, when an unknown thread may still read the frames: their slabs are not reused. */
  abandon(): void {
    this.#used = []
    this.#at = slabBytes
  }

  /** Called when nothing reads removed frames any more. */
  reuse(): void {
    this.#memory.giveBack(this.#retired)
    this.#retired = []
  }
}
