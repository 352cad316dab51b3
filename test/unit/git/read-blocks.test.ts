import { describe, expect, test } from 'vitest'
import { CacheBudget } from '../../../src/cache-budget.ts'
import { ReadBlocks } from '../../../src/git/pack/read-blocks.ts'

const block = 16 * 1024
/** The number of blocks kept without a budget. */
const kept = 32

/** A file in RAM that counts how often it is read. */
function fileOf(length: number, budget?: CacheBudget) {
  const bytes = Uint8Array.from({ length }, (_, at) => at % 251)
  const reads: number[] = []
  const blocks = new ReadBlocks((into, position) => {
    reads.push(position)
    const part = bytes.subarray(position, position + into.length)
    into.set(part)
    return part.length
  }, budget)
  return { bytes, reads, blocks }
}

describe('ReadBlocks', () => {
  test.each([0, 1, block - 1, block, 3 * block + 7])(
    'returns the bytes from position %i to the end of the block',
    (position) => {
      const { bytes, blocks } = fileOf(5 * block)
      const end = (Math.floor(position / block) + 1) * block
      expect(Buffer.compare(blocks.at(position), bytes.subarray(position, end))).toBe(0)
    },
  )

  test('gives less at the end of the file, and nothing after it', () => {
    const { bytes, blocks } = fileOf(block + 10)
    expect([...blocks.at(block + 3)]).toEqual([...bytes.subarray(block + 3)])
    expect(blocks.at(block + 10)).toHaveLength(0)
    expect(blocks.at(block + 11)).toHaveLength(0)
    expect(blocks.at(9 * block)).toHaveLength(0)
  })

  test('reads a block once, and again only after as many others as are kept', () => {
    const { reads, blocks } = fileOf((kept + 2) * block)
    const first = Array.from({ length: kept }, (_, n) => n)
    for (const start of first) blocks.at(start * block)
    for (const start of first.filter((n) => n !== 3).toReversed()) blocks.at(start * block + 5)
    expect(reads).toEqual(first.map((start) => start * block))
    // The third was not asked for longest.
    blocks.at(kept * block)
    for (const start of first.filter((n) => n !== 3)) blocks.at(start * block)
    expect(reads.slice(kept)).toEqual([kept * block])
    blocks.at(3 * block)
    expect(reads.slice(kept + 1)).toEqual([3 * block])
  })

  test('a block that took the memory of another holds nothing of it', () => {
    const { bytes, blocks } = fileOf(kept * block + 10)
    for (let start = 0; start <= kept; start += 1) blocks.at(start * block)
    expect([...blocks.at(kept * block)]).toEqual([...bytes.subarray(kept * block)])
    expect(Buffer.compare(blocks.at(0), bytes.subarray(0, block))).toBe(0)
  })

  test('reads a block once if a budget has room for all, and gives them back', () => {
    const budget = new CacheBudget(9 * block)
    const { bytes, reads, blocks } = fileOf(8 * block + 10, budget)
    for (const turn of [0, 1]) {
      for (let start = 0; start < 9; start += 1) {
        const found = blocks.at(start * block + turn)
        const all = bytes.subarray(start * block + turn, (start + 1) * block)
        expect(Buffer.compare(found, all)).toBe(0)
      }
    }
    expect(reads).toHaveLength(9)
    expect(budget.bytes).toBe(9 * block)
    blocks.forget()
    expect(budget.bytes).toBe(0)
  })

  test('makes room for a cache that is in use, and works with few blocks without any', () => {
    const budget = new CacheBudget(6 * block)
    const { bytes, reads, blocks } = fileOf(9 * block, budget)
    for (const start of [0, 1, 2, 3, 4, 5, 6, 7]) blocks.at(start * block)
    expect(reads).toHaveLength(8)
    const other = budget.share(() => undefined)
    expect(other.grow(2 * block)).toBe(true)
    expect(budget.bytes).toBe(2 * block)
    for (const start of [0, 8, 3, 1]) {
      expect(blocks.at(start * block)[7]).toBe(bytes[start * block + 7])
    }
  })
})
