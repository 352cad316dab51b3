// Blocks of one pack that were read last: what is asked for next is mostly next to it, since a pack
// has commits, trees and blobs each in the order of the history. Bounded. Must only be used on a
// file that does not change, and believes nothing in it.

import { KIBIBYTE } from '../../limits.ts'

const blockBytes = 16 * KIBIBYTE
/** For commits, trees and blobs, and one more for what lies elsewhere. */
const blocksMax = 4

/** Fills `into` from `position` on; the number of bytes read, fewer only at the end. */
export type ReadAt = (into: Uint8Array, position: number) => number

interface Block {
  readonly memory: Uint8Array
  start: number
  /** Bytes that the file has there. */
  length: number
}

export class ReadBlocks {
  readonly #read: ReadAt
  /** The one used last is the first. */
  readonly #blocks: Block[] = []

  constructor(read: ReadAt) {
    this.#read = read
  }

  /** What the file has from `position` to the end of a block, a view for the moment. */
  at(position: number): Uint8Array {
    const start = position - (position % blockBytes)
    const index = this.#blocks.findIndex((block) => block.start === start)
    const block = index === -1 ? this.#load(start) : this.#blocks[index]
    if (block === undefined) return new Uint8Array(0)
    if (index > 0) this.#blocks.unshift(...this.#blocks.splice(index, 1))
    return block.memory.subarray(position - start, block.length)
  }

  #load(start: number): Block {
    const oldest = this.#blocks.length < blocksMax ? undefined : this.#blocks.pop()
    const memory = oldest?.memory ?? Buffer.allocUnsafeSlow(blockBytes)
    const block = { memory, start, length: this.#read(memory, start) }
    this.#blocks.unshift(block)
    return block
  }
}
