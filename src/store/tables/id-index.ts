// A hash table from ids of 16 bytes to numbers, assigned from 0 in the order of insertion. A map of
// a million ids would take ten times the memory.

import { systemRandom } from '../../crypto/random.ts'
import { Records } from './records.ts'

const ID_BYTES = 16
/** Sizes are powers of two; at most three quarters of the slots are used. */
const SLOTS_MIN = 64

export class IdIndex {
  #ids: Records = new Records(ID_BYTES)
  /** Open addressing: the number of an id plus one; 0 is free. */
  #slots: Uint32Array = new Uint32Array(SLOTS_MIN)
  /** Whether ids were appended that no slot has: most questions look up none of them. */
  #isBehind = false

  get size(): number {
    return this.#ids.length
  }

  /** The current ids by number. */
  get ids(): Records {
    return this.#ids
  }

  idAt(number: number): string {
    return this.#ids.hex(number, 0, ID_BYTES)
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
    this.#ids.setHex(number, 0, id)
    this.#slots[slot] = number + 1
    if (4 * this.size > 3 * this.#slots.length) this.#fill(2 * this.#slots.length)
    return number
  }

  /** A copy with the first `size` ids. */
  prefix(size: number): IdIndex {
    this.#keepUp()
    const prefix = new IdIndex()
    prefix.#ids = this.#ids
    prefix.#slots = this.#slots.slice()
    if (2 * size < this.size) {
      prefix.#ids = this.#ids.prefix(size)
      prefix.#fill(slotsFor(size))
      return prefix
    }
    for (let number = this.size - 1; number >= size; number -= 1) {
      prefix.#readWordsAt(number)
      prefix.#free(prefix.#slotOf())
    }
    prefix.#ids = this.#ids.prefix(size)
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
      this.#ids.u32(number, 0) === words[0] &&
      this.#ids.u32(number, 4) === words[1] &&
      this.#ids.u32(number, 8) === words[2] &&
      this.#ids.u32(number, 12) === words[3]
    )
  }

  /** Frees a slot and moves later entries up, so that no search stops at it too early. */
  #free(slot: number): void {
    const mask = this.#slots.length - 1
    let free = slot
    this.#slots[free] = 0
    for (let next = (free + 1) & mask; this.#slots[next]; next = (next + 1) & mask) {
      const taken = this.#slots[next] ?? 0
      this.#readWordsAt(taken - 1)
      const home = hashWords() & mask
      if (((next - home) & mask) < ((next - free) & mask)) continue
      this.#slots[free] = taken
      this.#slots[next] = 0
      free = next
    }
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

  #readWordsAt(number: number): void {
    for (let word = 0; word < words.length; word += 1) words[word] = this.#ids.u32(number, 4 * word)
  }
}

function slotsFor(size: number): number {
  let slots = SLOTS_MIN
  while (4 * size > 3 * slots) slots *= 2
  return slots
}

const digits = Buffer.alloc(ID_BYTES)
/** The id of the current operation. */
const words = new Uint32Array(4)

function readWords(id: string): boolean {
  if (id.length !== 2 * ID_BYTES || digits.write(id, 'hex') !== ID_BYTES) return false
  for (let word = 0; word < words.length; word += 1) words[word] = digits.readUInt32LE(4 * word)
  return true
}

/** Random, because others choose the ids and must not choose collisions. */
const factors: Uint32Array = Uint32Array.from({ length: 4 }, () => {
  return Buffer.from(systemRandom(4)).readUInt32LE() | 1
})

/** The same as `hashWords`, for very many ids. */
function hashAt(ids: Records, number: number): number {
  let hash = 0
  for (let word = 0; word < 4; word += 1) {
    hash = Math.imul(hash ^ ids.u32(number, 4 * word), factors[word] ?? 1)
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
