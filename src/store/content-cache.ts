// Decrypted contents that were used last, in RAM only, by blob: an agent reads and edits the same few
// memories again and again. Bounded in bytes.

import { MEBIBYTE } from '../limits.ts'
import type { Oid } from '../git/object.ts'

const UNITS_MAX = 4 * MEBIBYTE

export class ContentCache {
  /** Oldest first: a Map keeps the order of insertion. */
  readonly #contents: Map<Oid, string> = new Map()
  #units = 0

  find(blob: Oid): string | undefined {
    const content = this.#contents.get(blob)
    if (content === undefined) return undefined
    this.#contents.delete(blob)
    this.#contents.set(blob, content)
    return content
  }

  add(blob: Oid, content: string): void {
    if (content.length > UNITS_MAX / 4 || this.#contents.has(blob)) return
    this.#contents.set(blob, content)
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
