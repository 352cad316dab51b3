// A small cache of recently read blocks of one file: the next read is usually adjacent, since a
// pack has commits, trees and blobs each in the order of the history. Where reads jump about, as in
// an index, a budget lets every block stay that was read. Must only be used for a file that does
// not change; trusts nothing in it.

import type { CacheBudget, CacheShare } from '../../cache-budget.ts'
import { KIBIBYTE } from '../../limits.ts'
import { Bytes } from '../../platform/bytes.ts'

const blockBytes = 16 * KIBIBYTE
/** For commits, blobs and trees: the trees of one commit lie at as many places as it has trees. */
const blocksMax = 32

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
  /** By their number: the blocks within the budget. */
  #kept: (Uint8Array | undefined)[] = []
  readonly #share: CacheShare | undefined

  /** Without a budget, at most `blocksMax` blocks are kept. */
  constructor(read: ReadAt, budget?: CacheBudget) {
    this.#read = read
    this.#share = budget?.share(() => this.forget())
  }

  /** The bytes from `position` to the end of its block, as a temporary view. */
  at(position: number): Uint8Array {
    const start = position - (position % blockBytes)
    if (this.#share !== undefined) {
      const kept = this.#kept[start / blockBytes] ?? this.#keep(start, this.#share)
      if (kept !== undefined) {
        this.#share.touch()
        return kept.subarray(position - start)
      }
    }
    const index = this.#blocks.findIndex((block) => block.start === start)
    const block = index === -1 ? this.#load(start) : this.#blocks[index]
    if (block === undefined) return new Uint8Array(0)
    if (index > 0) this.#blocks.unshift(...this.#blocks.splice(index, 1))
    return block.memory.subarray(position - start, block.length)
  }

  /** Drops the blocks within the budget. */
  forget(): void {
    this.#kept = []
    this.#share?.shrink(this.#share.bytes)
  }

  /** Undefined if the budget has no room, or the file ends before. */
  #keep(start: number, share: CacheShare): Uint8Array | undefined {
    if (!share.grow(blockBytes)) return undefined
    const memory = Bytes.allocUnsafeSlow(blockBytes)
    const block = memory.subarray(0, this.#read(memory, start))
    this.#kept[start / blockBytes] = block
    return block
  }

  #load(start: number): Block {
    const oldest = this.#blocks.length < blocksMax ? undefined : this.#blocks.pop()
    const memory = oldest?.memory ?? Bytes.allocUnsafeSlow(blockBytes)
    const block = { memory, start, length: this.#read(memory, start) }
    this.#blocks.unshift(block)
    return block
  }
}
