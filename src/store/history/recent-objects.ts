// A bounded cache of recently read commits and trees, for work that reads many versions: those of
// one commit share its bytes and upper trees, and a commit of many rows is large. Must not outlive
// that work, or erased objects would stay in RAM.

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
    // A blob is rarely read twice.
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
