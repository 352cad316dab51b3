// The memory that holds the frames of journals until they are packed. It is shared with the
// packing thread, so that nothing is copied, and reused, because garbage collection is slow for
// objects that live for a second. Must not know its content.

import { KIBIBYTE, MEBIBYTE } from '../../limits.ts'

/** Larger allocations have their own buffer. */
const slabBytes = MEBIBYTE
/** The first of a file. Of many stores, most journals are packed before it is full. */
const firstSlabBytes = 128 * KIBIBYTE
/**
 * Free slabs of a size to keep: enough for two journals when packing is slow. Shared buffers beyond
 * that become garbage that V8 does not count.
 */
const freeBytesMax = 16 * MEBIBYTE

/** Free slabs, for all files that it is given to. */
export class JournalMemory {
  /** By size. */
  readonly #free: ReadonlyMap<number, SharedArrayBuffer[]> = new Map([
    [firstSlabBytes, []],
    [slabBytes, []],
  ])

  take(bytes: number): SharedArrayBuffer {
    return this.#free.get(bytes)?.pop() ?? new SharedArrayBuffer(bytes)
  }

  giveBack(slabs: readonly SharedArrayBuffer[]): void {
    for (const slab of slabs) {
      const free = this.#free.get(slab.byteLength)
      if (free !== undefined && free.length < freeBytesMax / slab.byteLength) free.push(slab)
    }
  }
}

/** Shared by all journals of this process. */
export const journalMemory: JournalMemory = new JournalMemory()

/** The slabs that hold the frames of one file. */
export class JournalSlabs {
  readonly #memory: JournalMemory
  #used: SharedArrayBuffer[] = []
  /** Where the last slab is free. */
  #at = 0
  /** Slabs of removed frames that a reader may still use. */
  #retired: SharedArrayBuffer[] = []

  constructor(memory: JournalMemory) {
    this.#memory = memory
  }

  /** Allocates bytes with arbitrary content. */
  take(length: number): Uint8Array {
    if (length > slabBytes) return new Uint8Array(new SharedArrayBuffer(length))
    let slab = this.#used.at(-1)
    if (slab === undefined || this.#at + length > slab.byteLength) {
      const isFirst = slab === undefined && length <= firstSlabBytes
      slab = this.#memory.take(isFirst ? firstSlabBytes : slabBytes)
      this.#used.push(slab)
      this.#at = 0
    }
    const start = this.#at
    this.#at += length
    return new Uint8Array(slab, start, length)
  }

  /** Called when the frames are removed from the file. */
  retire(): void {
    this.#retired.push(...this.#used)
    this.#used = []
  }

  /** The same, when an unknown thread may still read the frames: their slabs are not reused. */
  abandon(): void {
    this.#used = []
  }

  /** Called when nothing reads removed frames any more. */
  reuse(): void {
    this.#memory.giveBack(this.#retired)
    this.#retired = []
  }
}
