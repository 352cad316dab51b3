// A Bloom filter of ids of 16 bytes: few in a thousand are false positives. Takes two bytes for
// each id.

import { systemRandom } from '../../crypto/random.ts'

const ID_BYTES = 16
const WORDS = 4
/** Sizes are powers of two, so that the top bits of a hash are an index. */
const BITS_MIN = 2 ** 16
const BITS_PER_ID = 16

export class IdFilter {
  readonly #bits: Uint32Array
  readonly #shift: number
  #count = 0

  /** A filter with room for at least `count` ids. */
  constructor(count: number) {
    let bits = BITS_MIN
    while (bits < BITS_PER_ID * count) bits *= 2
    this.#bits = new Uint32Array(bits / 32)
    this.#shift = 32 - Math.log2(bits)
  }

  /** Whether more ids would make it useless. */
  get isFull(): boolean {
    return BITS_PER_ID * this.#count >= 2 * 32 * this.#bits.length
  }

  /** Adds the ids that `bytes` holds one after another. */
  add(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    for (let at = 0; at < bytes.length; at += ID_BYTES) {
      this.#count += 1
      for (let word = 0; word < WORDS; word += 1) {
        const bit = this.#bitOf(view.getUint32(at + 4 * word), word)
        this.#bits[bit >>> 5] = (this.#bits[bit >>> 5] ?? 0) | (1 << (bit & 31))
      }
    }
  }

  /** Whether one of the ids in `bytes` may have been added; false is certain. */
  mayHaveAnyOf(bytes: Uint8Array): boolean {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    for (let at = 0; at < bytes.length; at += ID_BYTES) {
      let mayHave = true
      for (let word = 0; word < WORDS && mayHave; word += 1) {
        const bit = this.#bitOf(view.getUint32(at + 4 * word), word)
        mayHave = ((this.#bits[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0
      }
      if (mayHave) return true
    }
    return false
  }

  #bitOf(word: number, which: number): number {
    return Math.imul(word, factors[which] ?? 1) >>> this.#shift
  }
}

/** Random, because others choose the ids and must not choose collisions. */
const factors: Uint32Array = Uint32Array.from({ length: WORDS }, () => {
  return Buffer.from(systemRandom(4)).readUInt32LE() | 1
})
