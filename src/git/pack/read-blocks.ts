// A small cache of recently read blocks of one file: the next read is usually adjacent, since a
// pack has commits, trees and blobs each in the order of the history. Must only be used for a file
// that does not change; trusts nothing in it.

import { KIBIBYTE } from '../../limits.ts'

const blockBytes = 16 * KIBIBYTE
/** For commits, trees and blobs, and one more for other positions. */
const blocksMax = 4

/** Fills `into` from `position`; returns the number of bytes read, fewer only at the end. */
export type ReadAt = (into: Uint8Array, position: number) => number

interface Block {
  readonly memory: Uint8Array
  start: number
  /** The number of valid bytes. */
  length: number
}

export class ReadBlocks {
  readonly #read: ReadAt
  /** The most recently used block is first. */
  readonly #blocks: Block[] = []

  constructor(read: ReadAt) {
    this.#read = read
  }

  /** The bytes from `position` to the end of its block, as a temporary view. */
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
