// A window over a pack that is read from its start to its end: one large read after the other, and
// views of what they brought. Must not know what entries are.

import { MEBIBYTE } from '../../limits.ts'
import { corruptPack } from './pack-entry.ts'
import type { Pack } from './pack.ts'

const windowBytes = 2 * MEBIBYTE

export class PackWindow {
  readonly #pack: Pack
  readonly #memory: Buffer
  #start = 0
  #end = 0

  constructor(pack: Pack) {
    this.#pack = pack
    this.#memory = Buffer.allocUnsafeSlow(Math.min(windowBytes, pack.bytes))
  }

  /** The offset after the last byte that it shows. */
  get end(): number {
    return this.#end
  }

  /** Whether it shows these bytes of the pack. */
  shows(from: number, to: number): boolean {
    return from >= this.#start && to <= this.#end
  }

  /** Moves it to start at `offset`. Throws `pack_corrupt` at the end of the pack. */
  moveTo(offset: number): void {
    this.#start = offset
    this.#end = offset + this.#pack.readInto(offset, this.#memory).length
    if (this.#end === offset) throw corruptPack('it ends too early')
  }

  /** Bytes that it shows, as a view that is valid until it moves. */
  view(from: number, to: number): Buffer {
    return this.#memory.subarray(from - this.#start, to - this.#start)
  }
}
