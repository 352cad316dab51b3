// The texts of a history, numbered from 1; 0 means none. Texts that many rows repeat are stored
// once, as strings; others as bytes, which take less memory. Both can be erased.

import { utf8Text } from '../../bytes.ts'
import { Bytes } from '../../platform/bytes.ts'

/** Texts that repeat: paths. */
export class Names {
  readonly #texts: (string | undefined)[] = [undefined]
  readonly #numbers: Map<string, number> = new Map()

  /** The count of numbers given, 0 included. */
  get length(): number {
    return this.#texts.length
  }

  numberOf(text: string | undefined): number {
    if (text === undefined) return 0
    const known = this.#numbers.get(text)
    if (known !== undefined) return known
    const number = this.#texts.push(text) - 1
    this.#numbers.set(text, number)
    return number
  }

  at(number: number): string | undefined {
    return this.#texts[number]
  }

  forget(number: number): void {
    const text = this.#texts[number]
    if (text === undefined) return
    this.#numbers.delete(text)
    this.#texts[number] = undefined
  }
}

const CHUNK = 65_536
const LENGTH_BYTES = 4

/** Texts that hardly ever repeat: notes. */
export class Notes {
  readonly #chunks: Bytes[] = []
  #used = CHUNK

  add(text: string | undefined): number {
    if (text === undefined) return 0
    const bytes = Bytes.byteLength(text)
    const length = LENGTH_BYTES + bytes
    if (this.#used + length > CHUNK) {
      // A text longer than a chunk gets its own chunk.
      this.#chunks.push(Bytes.alloc(Math.max(CHUNK, length)))
      this.#used = 0
    }
    const start = this.#used
    const chunk = this.#chunks.at(-1)
    chunk?.writeUInt32LE(bytes, start)
    chunk?.write(text, start + LENGTH_BYTES)
    this.#used += length
    return (this.#chunks.length - 1) * CHUNK + start + 1
  }

  at(number: number): string | undefined {
    const bytes = this.#bytesAt(number)
    return bytes && utf8Text(bytes)
  }

  forget(number: number): void {
    this.#bytesAt(number)?.fill(0)
  }

  /** A view of the text's UTF-8 bytes. */
  #bytesAt(number: number): Bytes | undefined {
    if (number === 0) return undefined
    const chunk = this.#chunks[Math.floor((number - 1) / CHUNK)]
    const start = (number - 1) % CHUNK
    const end = start + LENGTH_BYTES + (chunk?.readUInt32LE(start) ?? 0)
    return chunk?.subarray(start + LENGTH_BYTES, end)
  }
}
