// Decrypted contents that were used last, in RAM only, by version: an agent reads and edits the
// same few memories again and again. Bounded in bytes.

import { MEBIBYTE } from '../limits.ts'

const UNITS_MAX = 4 * MEBIBYTE

export class ContentCache {
  /** Oldest first: a Map keeps the order of insertion. */
  readonly #contents: Map<string, string> = new Map()
  #units = 0

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

  clear(): void {
    this.#contents.clear()
    this.#units = 0
  }
}
