// Objects that were read last, for work that reads many versions: those of one commit share its
// bytes and its upper trees, and a commit of many rows is large. Lives as long as that work, so
// nothing that is erased outlives it. Bounded in bytes.

import type { GitObject, Oid } from '../../git/objects/object.ts'
import { MEBIBYTE } from '../../limits.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'

const BYTES_MAX = 16 * MEBIBYTE

export class RecentObjects implements ObjectSource {
  readonly #objects: ObjectSource
  /** Oldest first: a Map keeps the order of insertion. */
  readonly #recent: Map<Oid, GitObject> = new Map()
  #bytes = 0

  constructor(objects: ObjectSource) {
    this.#objects = objects
  }

  read(oid: Oid): GitObject | undefined {
    const object = this.#recent.get(oid) ?? this.#objects.read(oid)
    // A blob is read once.
    if (object === undefined || object.type === 'blob') return object
    if (!this.#recent.delete(oid)) this.#bytes += object.body.length
    this.#recent.set(oid, object)
    for (const [oldest, { body }] of this.#recent) {
      if (this.#bytes <= BYTES_MAX) break
      this.#recent.delete(oldest)
      this.#bytes -= body.length
    }
    return object
  }
}
