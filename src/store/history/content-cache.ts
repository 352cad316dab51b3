// A bounded cache in RAM of decrypted contents, by version: an agent reads and edits the same few
// memories repeatedly. Also caches the tree of memories of one commit, because a search reads many
// versions of one commit in a row.

import { type CacheBudget, cachesOfProcess, type CacheShare } from '../../cache-budget.ts'
import type { Oid } from '../../git/objects/object.ts'
import { MEBIBYTE } from '../../limits.ts'

/** A unit of UTF-16 takes two bytes, or one if the whole text is Latin. */
const BYTES_MAX = 8 * MEBIBYTE
/** A larger text would evict too many others. */
const CONTENT_BYTES_MAX = BYTES_MAX / 4
/** What an entry takes next to its text. */
const ENTRY_BYTES = 200
const COMMITS_MAX = 16

export class ContentCache {
  readonly #share: CacheShare
  /** Oldest first: a Map keeps the order of insertion. */
  readonly #contents: Map<string, string> = new Map()
  /** Commit to tree, oldest first. */
  readonly #memories: Map<Oid, Oid | undefined> = new Map()

  constructor(budget: CacheBudget = cachesOfProcess) {
    this.#share = budget.share((bytes) => this.#shed(bytes))
  }

  find(versionId: string): string | undefined {
    const content = this.#contents.get(versionId)
    if (content === undefined) return undefined
    this.#share.touch()
    this.#contents.delete(versionId)
    this.#contents.set(versionId, content)
    return content
  }

  add(versionId: string, content: string): void {
    const bytes = bytesOf(content)
    if (bytes > CONTENT_BYTES_MAX || this.#contents.has(versionId)) return
    this.#shed(this.#share.bytes + bytes - BYTES_MAX)
    while (!this.#share.grow(bytes)) {
      if (this.#contents.size === 0) return
      this.#shed(bytes)
    }
    this.#contents.set(versionId, content)
  }

  remove(versionId: string): void {
    const content = this.#contents.get(versionId)
    if (content === undefined) return
    this.#contents.delete(versionId)
    this.#share.shrink(bytesOf(content))
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
    this.#share.shrink(this.#share.bytes)
  }

  #shed(bytes: number): void {
    let kept = bytes
    for (const [oldest, content] of this.#contents) {
      if (kept <= 0) return
      this.#contents.delete(oldest)
      this.#share.shrink(bytesOf(content))
      kept -= bytesOf(content)
    }
  }
}

function bytesOf(content: string): number {
  return ENTRY_BYTES + 2 * content.length
}
