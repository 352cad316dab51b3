// The memory in which the frames of a journal stay until they are packed: shared with the thread
// that packs them, so that nothing is copied for it, and used again, since what lives for a second
// only is what a garbage collector is slowest to give back. Must not know what is in it.

import { MEBIBYTE } from '../../limits.ts'

/** Larger pieces have memory of their own. */
const slabBytes = MEBIBYTE
/**
 * What is kept for the next frames: as much as two journals are where packing is slow. What is not
 * kept is garbage that V8 does not count.
 */
const freeMax = 16

/** Slabs that no frame is in. One for both files of a journal. */
export class JournalMemory {
  readonly #free: SharedArrayBuffer[] = []

  take(): SharedArrayBuffer {
    return this.#free.pop() ?? new SharedArrayBuffer(slabBytes)
  }

  giveBack(slabs: readonly SharedArrayBuffer[]): void {
    this.#free.push(...slabs.slice(0, freeMax - this.#free.length))
  }
}

/** What the frames of one file are in. */
export class JournalSlabs {
  readonly #memory: JournalMemory
  #used: SharedArrayBuffer[] = []
  /** Where the last of them is free. */
  #at = slabBytes
  /** Slabs of frames that are gone, and that somebody may still look at. */
  #left: SharedArrayBuffer[] = []

  constructor(memory: JournalMemory) {
    this.#memory = memory
  }

  /** Bytes of any content. */
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

  /** The frames are gone from the file. */
  leave(): void {
    this.#left.push(...this.#used)
    this.#used = []
    this.#at = slabBytes
  }

  /** The same, where a thread may still read them that nobody here knows of. */
  abandon(): void {
    this.#used = []
    this.#at = slabBytes
  }

  /** Nobody looks at frames any more that are gone. */
  reuse(): void {
    this.#memory.giveBack(this.#left)
    this.#left = []
  }
}
