// A bounded cache in RAM of decrypted contents, by version: an agent reads and edits the same few
// memories repeatedly. Also caches the tree of memories of one commit, because a search reads many
// versions of one commit in a row.

import type { Oid } from '../../git/objects/object.ts'
import { MEBIBYTE } from '../../limits.ts'

const UNITS_MAX = 4 * MEBIBYTE
const COMMITS_MAX = 16

export class ContentCache {
  /** Oldest first: a Map keeps the order of insertion. */
  readonly #contents: Map<string, string> = new Map()
  #units = 0
  /** Commit to tree, oldest first. */
  readonly #memories: Map<Oid, Oid | undefined> = new Map()

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
    const memories = this.#memories
    const tree = memories.has(commit) ? memories.get(commit) : find(commit)
    memories.delete(commit)
    memories.set(commit, tree)
    const [oldest] = memories.keys()
    if (memories.size > COMMITS_MAX && oldest !== undefined) memories.delete(oldest)
    return tree
  }

  clear(): void {
    this.#contents.clear()
    this.#memories.clear()
    this.#units = 0
  }
}
