// A hash table from ids of 16 bytes to numbers, assigned from 0 in the order of insertion. A map of
// a million ids would take ten times the memory.

import { systemRandom } from '../../crypto/random.ts'
import { Bytes } from '../../platform/bytes.ts'
import { hex, Table } from './table.ts'

const ID_BYTES = 16
/** Sizes are powers of two; at most three quarters of the slots are used. */
const SLOTS_MIN = 64

/** Ids by number. */
export type Ids = Table<{ id: string }>

export class IdIndex {
  #ids: Ids = new Table({ id: hex(ID_BYTES) })
  /** Open addressing: the number of an id plus one; 0 is free. */
  #slots: Uint32Array = new Uint32Array(SLOTS_MIN)
  /** Whether ids were appended that no slot has: most questions look up none of them. */
  #isBehind = false

  constructor() {
    drawFactors()
  }

  get size(): number {
    return this.#ids.length
  }

  /** The current ids by number. */
  get ids(): Ids {
    return this.#ids
  }

  idAt(number: number): string {
    return this.#ids.columns.id.get(number)
  }

  /** Appends ids of 16 bytes each, none of which was added before. */
  append(ids: Uint8Array): void {
    this.#ids.append(ids)
    this.#isBehind = true
  }

  /** The number of an id of 32 hex digits; undefined if it was not added. */
  find(id: string): number | undefined {
    this.#keepUp()
    if (!readWords(id)) return undefined
    const slot = this.#slotOf()
    const taken = this.#slots[slot] ?? 0
    return taken === 0 ? undefined : taken - 1
  }

  /** Adds an id unless it was added before, and returns its number. */
  add(id: string): number {
    this.#keepUp()
    if (!readWords(id)) throw new Error('An id has 32 hex digits')
    const slot = this.#slotOf()
    const taken = this.#slots[slot] ?? 0
    if (taken !== 0) return taken - 1
    const number = this.#ids.add()
    this.#ids.columns.id.set(number, id)
    this.#slots[slot] = number + 1
    if (4 * this.size > 3 * this.#slots.length) this.#fill(2 * this.#slots.length)
    return number
  }

  /** A copy with the first `size` ids. */
  prefix(size: number): IdIndex {
    const prefix = new IdIndex()
    prefix.#ids = this.#ids.prefix(size)
    if (size === this.size && !this.#isBehind) prefix.#slots = this.#slots.slice()
    else prefix.#isBehind = true
    return prefix
  }

  #keepUp(): void {
    if (!this.#isBehind) return
    this.#isBehind = false
    this.#fill(Math.max(this.#slots.length, slotsFor(this.size)))
  }

  /** The slot of the id in `words`, or the free slot where it would be. */
  #slotOf(): number {
    const mask = this.#slots.length - 1
    let slot = hashWords() & mask
    for (let taken = this.#slots[slot]; taken; taken = this.#slots[slot]) {
      if (this.#isAt(taken - 1)) return slot
      slot = (slot + 1) & mask
    }
    return slot
  }

  #isAt(number: number): boolean {
    return (
      this.#ids.word(number, 0) === words[0] &&
      this.#ids.word(number, 4) === words[1] &&
      this.#ids.word(number, 8) === words[2] &&
      this.#ids.word(number, 12) === words[3]
    )
  }

  #fill(slots: number): void {
    this.#slots = new Uint32Array(slots)
    const mask = slots - 1
    const ids = this.#ids
    const { size } = this
    for (let number = 0; number < size; number += 1) {
      let slot = hashAt(ids, number) & mask
      while (this.#slots[slot]) slot = (slot + 1) & mask
      this.#slots[slot] = number + 1
    }
  }
}

function slotsFor(size: number): number {
  let slots = SLOTS_MIN
  while (4 * size > 3 * slots) slots *= 2
  return slots
}

const digits = Bytes.alloc(ID_BYTES)
/** The id of the current operation. */
const words = new Uint32Array(4)

function readWords(id: string): boolean {
  if (id.length !== 2 * ID_BYTES || digits.write(id, 'hex') !== ID_BYTES) return false
  for (let word = 0; word < words.length; word += 1) words[word] = digits.readUInt32LE(4 * word)
  return true
}

/**
 * Random, because others choose the ids and must not choose collisions. Drawn for the first index:
 * workerd has no randomness while it loads modules.
 */
const factors = new Uint32Array(4)

function drawFactors(): void {
  if (factors[0] !== 0) return
  const random = Bytes.from(systemRandom(4 * factors.length))
  for (const word of factors.keys()) factors[word] = random.readUInt32LE(4 * word) | 1
}

/** The same as `hashWords`, for very many ids. */
function hashAt(ids: Ids, number: number): number {
  let hash = 0
  for (let word = 0; word < 4; word += 1) {
    hash = Math.imul(hash ^ ids.word(number, 4 * word), factors[word] ?? 1)
    hash ^= hash >>> 15
  }
  return hash >>> 0
}

function hashWords(): number {
  let hash = 0
  for (let word = 0; word < words.length; word += 1) {
    hash = Math.imul(hash ^ (words[word] ?? 0), factors[word] ?? 1)
    hash ^= hash >>> 15
  }
  return hash >>> 0
}
