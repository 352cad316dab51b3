// A bounded cache in RAM of decrypted contents, by version: an agent reads and edits the same few
// memories repeatedly. Also caches the tree of memories of one commit, because a search reads many
// versions of one commit in a row.

import type { Oid } from '../../git/objects/object.ts'
import { MEBIBYTE } from '../../limits.ts'

const UNITS_MAX = 4 * MEBIBYTE

export class ContentCache {
  /** Oldest first: a Map keeps the order of insertion. */
  readonly #contents: Map<string, string> = new Map()
  #units = 0
  #memories: { readonly commit: Oid; readonly tree: Oid | undefined } | undefined

  find(versionId: string): string | undefined {
    const content = this.#contents.get(versionId)
    if (content === undefined) return undefined
    this.#contents.delete(versionId)
    this.#contents.set(versionId, content)
    return content
  }

  add(versionId: string, content: string): void {
    if (content.length > UNITS_MAX / 4 || this.#contents.has(versionId)) return
    this.#contents.set(versionId, content)
    this.#units += content.length
    for (const [oldest, text] of this.#contents) {
      if (this.#units <= UNITS_MAX) return
      this.#contents.delete(oldest)
      this.#units -= text.length
    }
  }

  /** The tree `m` of a commit, read by `find` unless it is cached. */
  memoriesOf(commit: Oid, find: (commit: Oid) => Oid | undefined): Oid | undefined {
    if (this.#memories?.commit !== commit) this.#memories = { commit, tree: find(commit) }
    return this.#memories.tree
  }

  clear(): void {
    this.#contents.clear()
    this.#memories = undefined
    this.#units = 0
  }
}
