// Trees that deltas were applied to, the oldest dropped first: neighbours in a history share their
// chains. Bounded in bytes. They lie in one ring of memory: as objects of their own they would be
// garbage that only a full collection frees. Must be cleared when a pack is closed, since a key is
// only a number of the pack and an offset.

import type { GitObject } from './object.ts'

/** A larger object would push out too many others. */
const objectBytesMax = 65_536
/** A place is one number, `start * placeUnit + length`: two hundred thousand of them are made. */
const placeUnit = 2 ** 17
const ringBytesMin = 65_536

export class DeltaBaseCache {
  readonly #bytesMax: number
  #ring: Uint8Array | undefined
  readonly #places = new Map<number, number>()
  /** The keys from `#oldest` on are in the order in which the ring overwrites them. */
  #order: number[] = []
  #oldest = 0
  #next = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** A copy. */
  find(key: number): GitObject | undefined {
    const tree = this.view(key)
    return tree && { type: 'tree', body: tree.body.slice() }
  }

  /** As `find`, but good only until something is added. */
  view(key: number): GitObject | undefined {
    const place = this.#places.get(key)
    if (place === undefined || this.#ring === undefined) return undefined
    const start = startOf(place)
    return { type: 'tree', body: this.#ring.subarray(start, start + (place % placeUnit)) }
  }

  /** Keeps trees alone: a store's commits and blobs are never the base of a delta. */
  add(key: number, { type, body }: { readonly type: string; readonly body: Uint8Array }): void {
    if (type !== 'tree' || body.length > Math.min(objectBytesMax, this.#bytesMax)) return
    if (this.#places.has(key)) return
    const ring = this.#withRoomFor(body.length)
    if (this.#next + body.length > ring.length) {
      this.#dropUpTo(ring.length)
      this.#next = 0
    }
    const end = this.#next + body.length
    this.#dropUpTo(end)
    ring.set(body, this.#next)
    this.#places.set(key, this.#next * placeUnit + body.length)
    this.#order.push(key)
    this.#next = end
  }

  clear(): void {
    this.#places.clear()
    this.#order = []
    this.#oldest = 0
    this.#ring = undefined
    this.#next = 0
  }

  /**
   * The ring, twice as large while it may grow: most stores need a small part of it. It is as large
   * as it may be before it turns for the first time, so that no place in it ever moves.
   */
  #withRoomFor(length: number): Uint8Array {
    let size = this.#ring?.length ?? Math.min(ringBytesMin, this.#bytesMax)
    while (size < this.#bytesMax && this.#next + length > size) {
      size = Math.min(2 * size, this.#bytesMax)
    }
    if (this.#ring?.length === size) return this.#ring
    const larger = new Uint8Array(size)
    if (this.#ring !== undefined) larger.set(this.#ring)
    this.#ring = larger
    return larger
  }

  /** Drops what starts between the next place and `end`: it is about to be overwritten. */
  #dropUpTo(end: number): void {
    for (;;) {
      const key = this.#order[this.#oldest]
      const place = key === undefined ? undefined : this.#places.get(key)
      if (key === undefined || place === undefined) break
      if (startOf(place) < this.#next || startOf(place) >= end) break
      this.#places.delete(key)
      this.#oldest += 1
    }
    if (this.#oldest < this.#order.length / 2) return
    this.#order = this.#order.slice(this.#oldest)
    this.#oldest = 0
  }
}

function startOf(place: number): number {
  return Math.floor(place / placeUnit)
}
