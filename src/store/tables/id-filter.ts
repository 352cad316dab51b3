// Says of an id of sixteen bytes that it was never added, or that it perhaps was: a few of a
// thousand are mistaken for one that was. Takes two bytes for each.

import { systemRandom } from '../../crypto/random.ts'

const ID_BYTES = 16
const WORDS = 4
/** Powers of two, so that a part of a hash is a place. */
const BITS_MIN = 2 ** 16
const BITS_PER_ID = 16

export class IdFilter {
  readonly #bits: Uint32Array
  readonly #shift: number
  #count = 0

  /** With room for `count` ids at least. */
  constructor(count: number) {
    let bits = BITS_MIN
    while (bits < BITS_PER_ID * count) bits *= 2
    this.#bits = new Uint32Array(bits / 32)
    this.#shift = 32 - Math.log2(bits)
  }

  /** Whether more would make it useless. */
  get isFull(): boolean {
    return BITS_PER_ID * this.#count >= 2 * 32 * this.#bits.length
  }

  /** Ids that stand one after another in `bytes`. */
  add(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    for (let at = 0; at < bytes.length; at += ID_BYTES) {
      this.#count += 1
      for (let word = 0; word < WORDS; word += 1) {
        const place = this.#placeOf(view.getUint32(at + 4 * word), word)
        this.#bits[place >>> 5] = (this.#bits[place >>> 5] ?? 0) | (1 << (place & 31))
      }
    }
  }

  /** Whether one of such ids was perhaps added. */
  mayHaveAnyOf(bytes: Uint8Array): boolean {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    for (let at = 0; at < bytes.length; at += ID_BYTES) {
      let isThere = true
      for (let word = 0; word < WORDS && isThere; word += 1) {
        const place = this.#placeOf(view.getUint32(at + 4 * word), word)
        isThere = ((this.#bits[place >>> 5] ?? 0) & (1 << (place & 31))) !== 0
      }
      if (isThere) return true
    }
    return false
  }

  #placeOf(word: number, which: number): number {
    return Math.imul(word, factors[which] ?? 1) >>> this.#shift
  }
}

/** Others choose ids, but not which of them have the same places in this process. */
const factors: Uint32Array = Uint32Array.from({ length: WORDS }, () => {
  return Buffer.from(systemRandom(4)).readUInt32LE() | 1
})
