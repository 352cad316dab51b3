// Trees that deltas were applied to, the least recently used dropped first: neighbours in a history
// share their chains. Bounded in bytes. Must be cleared when a pack is closed, since a key is only
// the pack's name and an offset.

import type { GitObject } from './object.ts'

/** A larger object would push out too many others. */
const objectBytesMax = 65_536
/** What a Map entry and an object cost beside the body. */
const overheadBytes = 200

export class DeltaBaseCache {
  readonly #bytesMax: number
  readonly #objects = new Map<string, GitObject>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  find(key: string): GitObject | undefined {
    const object = this.#objects.get(key)
    if (object === undefined) return undefined
    // A Map iterates in order of insertion, so its first key is always the oldest use.
    this.#objects.delete(key)
    this.#objects.set(key, object)
    return object
  }

  /** Keeps trees alone: a store's commits and blobs are never the base of a delta. */
  add(key: string, object: GitObject): void {
    if (object.type !== 'tree' || object.body.length > objectBytesMax) return
    if (this.#objects.has(key)) return
    this.#objects.set(key, object)
    this.#bytes += object.body.length + overheadBytes
    for (const [oldest, dropped] of this.#objects) {
      if (this.#bytes <= this.#bytesMax) break
      this.#objects.delete(oldest)
      this.#bytes -= dropped.body.length + overheadBytes
    }
  }

  clear(): void {
    this.#objects.clear()
    this.#bytes = 0
  }
}
