// Asks millions of times whether an oid is one of a list that hardly ever has it: bits answer most
// questions, the list the others. Pure.

import { oidBytes, type OidList } from './oid-list.ts'

/** One in as many questions about other oids reaches the list. */
const bitsPerOid = 16
const bitsMin = 1024

export class OidProbe {
  readonly #list: OidList
  readonly #bits: Uint8Array
  readonly #shift: number

  constructor(list: OidList) {
    this.#list = list
    const width = Math.ceil(Math.log2(Math.max(bitsMin, bitsPerOid * list.count)))
    this.#shift = 32 - Math.min(32, width)
    this.#bits = new Uint8Array(2 ** (29 - this.#shift))
    for (let at = 0; at < list.bytes.length; at += oidBytes) {
      const bit = this.#bitOf(list.bytes, at)
      this.#bits[bit >>> 3] = (this.#bits[bit >>> 3] ?? 0) | (1 << (bit & 7))
    }
  }

  /** Whether the list has the oid that starts at `at`. */
  has(bytes: Uint8Array, at: number): boolean {
    const bit = this.#bitOf(bytes, at)
    const isLikely = ((this.#bits[bit >>> 3] ?? 0) & (1 << (bit & 7))) !== 0
    return isLikely && this.#list.has(bytes.subarray(at, at + oidBytes))
  }

  /** The first bits of an oid, which is a hash. */
  #bitOf(bytes: Uint8Array, at: number): number {
    const high = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
    const low = ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)
    return ((high << 16) | low) >>> this.#shift
  }
}
