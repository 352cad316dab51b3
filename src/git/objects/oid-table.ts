// Finds the row of an oid in a column of oids. The table takes 8 to 16 bytes per row, where a Map
// of strings would take nearly 80: a sender without a key chooses the number of rows. The hash has
// random keys, since the sender chooses the oids too and could make them collide. Threads share
// the memory.

import { systemRandom } from '../../crypto/random.ts'
import { Bytes } from '../../platform/bytes.ts'
import { sharedMemory } from '../../platform/threads.ts'
import type { Oid } from './object.ts'

const oidBytes = 20
const oidWords = 5

/** Can be posted to a thread, which then reads the same memory. */
export interface OidColumns {
  /** Five words for each row, in the byte order of this machine. */
  readonly words: Int32Array
  /** One more than the row of an oid; 0 for none. Never more than half full. */
  readonly slots: Uint32Array
  readonly keys: Int32Array
}

export class OidTable {
  readonly columns: OidColumns
  /** 20 bytes for each row. */
  readonly oids: Bytes
  readonly #shift: number
  readonly #wanted: Int32Array = new Int32Array(oidWords)
  readonly #wantedBytes: Bytes = Bytes.from(this.#wanted.buffer)

  /** A table without rows. */
  static of(count: number): OidTable {
    const bits = Math.max(1, Math.ceil(Math.log2(2 * count + 1)))
    const random = systemRandom(oidBytes)
    return new OidTable({
      words: new Int32Array(sharedMemory(count * oidBytes)),
      slots: new Uint32Array(sharedMemory(2 ** bits * Uint32Array.BYTES_PER_ELEMENT)),
      keys: new Int32Array(random.slice().buffer).map((key) => key | 1),
    })
  }

  constructor(columns: OidColumns) {
    this.columns = columns
    this.oids = Bytes.from(columns.words.buffer)
    this.#shift = 32 - Math.log2(columns.slots.length)
  }

  /** Adds a row whose oid was written before. Returns false if another row has the same one. */
  add(row: number): boolean {
    const { words, slots } = this.columns
    const slot = this.#find(words, row * oidWords)
    if (slots[slot] !== 0) return false
    slots[slot] = row + 1
    return true
  }

  find(oid: Oid): number | undefined {
    this.#wantedBytes.write(oid, 'hex')
    const row = this.columns.slots[this.#find(this.#wanted, 0)] ?? 0
    return row === 0 ? undefined : row - 1
  }

  /** The slot of the oid whose words begin at `at`, or the free one where it would be. */
  #find(oids: Int32Array, at: number): number {
    const { words, slots, keys } = this.columns
    const mask = slots.length - 1
    let sum = 0
    for (let word = 0; word < oidWords; word += 1) {
      sum += Math.imul(oids[at + word] ?? 0, keys[word] ?? 0)
    }
    for (let slot = (sum >>> 0) >>> this.#shift; ; slot = (slot + 1) & mask) {
      const start = ((slots[slot] ?? 0) - 1) * oidWords
      if (start < 0 || isEqual(words, start, oids, at)) return slot
    }
  }
}

function isEqual(a: Int32Array, atA: number, b: Int32Array, atB: number): boolean {
  for (let word = 0; word < oidWords; word += 1) {
    if (a[atA + word] !== b[atB + word]) return false
  }
  return true
}
