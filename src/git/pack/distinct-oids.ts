// Tells whether an oid of a column is there twice, in eight bytes each at most. The hash has random
// keys: the oids are chosen by others, who could make them collide otherwise.

import { systemRandom } from '../../crypto/random.ts'

const oidBytes = 20
const wordBytes = 4

export class DistinctOids {
  readonly #oids: Buffer
  /** One more than the row of an oid; 0 for none. Never more than half full. */
  readonly #table: Uint32Array
  readonly #shift: number
  readonly #keys: Buffer = Buffer.from(systemRandom(oidBytes))

  /** `oids` has 20 bytes for each of `count` rows, which may be filled later. */
  constructor(oids: Buffer, count: number) {
    const bits = Math.max(1, Math.ceil(Math.log2(2 * count + 1)))
    this.#oids = oids
    this.#table = new Uint32Array(2 ** bits)
    this.#shift = 32 - bits
  }

  /** Returns false if a row that was added before has the same oid. */
  add(row: number): boolean {
    const mask = this.#table.length - 1
    const at = row * oidBytes
    for (let slot = this.#slotOf(at); ; slot = (slot + 1) & mask) {
      const other = this.#table[slot] ?? 0
      if (other === 0) {
        this.#table[slot] = row + 1
        return true
      }
      const start = (other - 1) * oidBytes
      if (this.#oids.compare(this.#oids, start, start + oidBytes, at, at + oidBytes) === 0) {
        return false
      }
    }
  }

  #slotOf(at: number): number {
    let sum = 0
    for (let word = 0; word < oidBytes; word += wordBytes) {
      sum += Math.imul(this.#oids.readInt32LE(at + word), this.#keys.readInt32LE(word) | 1)
    }
    return (sum >>> 0) >>> this.#shift
  }
}
