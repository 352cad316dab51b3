// Bytes: concatenation, conversion to and from text, and a bounded reader and writer for the
// layouts of docs/FORMAT.md. Knows nothing of cryptography. All integers are big-endian.

import type { StoreError } from './errors.ts'
import { Bytes } from './platform/bytes.ts'

declare const sealedBrand: unique symbol

/**
 * Bytes that may be written into a git blob: a sealed envelope, or one of the constant public
 * files. Only `crypto/aead.ts` and `format/public-files.ts` make values of this type, so plaintext
 * that reaches git is a compile error.
 */
export type Sealed = Uint8Array & { readonly [sealedBrand]: true }

/** Bytes that can be transferred to a thread: their buffer is no `SharedArrayBuffer`. */
export type OwnedBytes = Uint8Array & { readonly buffer: ArrayBuffer }

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function utf8(text: string): Uint8Array {
  return encoder.encode(text)
}

/** The text of UTF-8 bytes; a byte-order mark is kept. Throws a TypeError on invalid UTF-8. */
export function utf8Text(bytes: Uint8Array): string {
  return decoder.decode(bytes)
}

/** The bytes of an ASCII label, followed by one NUL byte (FORMAT, notation). */
export function label(text: string): Uint8Array {
  return encoder.encode(`${text}\0`)
}

/** The bytes of ASCII text. Several times faster than `utf8` for large texts. */
export function asciiBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  Bytes.from(bytes.buffer).write(text, 'latin1')
  return bytes
}

export function asciiText(bytes: Uint8Array): string {
  return Bytes.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  return joinBytes(parts)
}

/** The same for a list that may be longer than arguments may be. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.length
  const all = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** Compares bytewise; a prefix sorts first. Not constant-time: for public values only. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Bytes.compare(a, b)
}

/** Not constant-time: for public values only. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Bytes.compare(a, b) === 0
}

export function isZero(bytes: Uint8Array): boolean {
  const { length } = bytes
  // Every byte equals the one before and the first is zero: many times faster for large input.
  if (length > 256) return bytes[0] === 0 && equalBytes(bytes.subarray(1), bytes.subarray(0, -1))
  let at = 0
  while (at < length && bytes[at] === 0) at += 1
  return at === length
}

/** Small inputs are copied here: reading their `buffer` would allocate one, which is slower. */
const scratch = Bytes.allocUnsafeSlow(64)
const scratchBytes = new Uint8Array(scratch.buffer)

export function toHex(bytes: Uint8Array): string {
  if (bytes.length <= scratch.length) {
    scratchBytes.set(bytes)
    return scratch.toString('hex', 0, bytes.length)
  }
  return Bytes.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')
}

/** The bytes of lower-case hex digits, which the caller has checked. */
export function fromHex(hex: string): Uint8Array {
  if (hex.length > 2 * scratch.length) return new Uint8Array(Bytes.from(hex, 'hex'))
  return scratchBytes.slice(0, scratch.write(hex, 'hex'))
}

export function toBase64(bytes: Uint8Array): string {
  return Bytes.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')
}

/** The bytes of canonical base64 (no white space, exact padding, no stray bits), or undefined. */
export function fromBase64(text: string): Uint8Array | undefined {
  const bytes = Bytes.from(text, 'base64')
  return bytes.toString('base64') === text ? new Uint8Array(bytes) : undefined
}

const INITIAL_LENGTH = 256
const TWO_TO_32 = 2 ** 32

/** Appends fixed-width fields; `bytes()` returns the result. */
export class ByteWriter {
  #bytes = new Uint8Array(INITIAL_LENGTH)
  #length = 0

  u8(value: number): this {
    const start = this.#grow(1)
    this.#bytes[start] = value
    return this
  }

  u16(value: number): this {
    const start = this.#grow(2)
    this.#bytes[start] = value >>> 8
    this.#bytes[start + 1] = value
    return this
  }

  u32(value: number): this {
    const start = this.#grow(4)
    this.#bytes[start] = value >>> 24
    this.#bytes[start + 1] = value >>> 16
    this.#bytes[start + 2] = value >>> 8
    this.#bytes[start + 3] = value
    return this
  }

  /** A non-negative safe integer as eight bytes. */
  u64(value: number): this {
    return this.u32(Math.floor(value / TWO_TO_32)).u32(value % TWO_TO_32)
  }

  raw(bytes: Uint8Array): this {
    const start = this.#grow(bytes.length)
    this.#bytes.set(bytes, start)
    return this
  }

  /** Returns the result and ends the writing: a full buffer is returned without a copy. */
  bytes(): OwnedBytes {
    const all = this.#bytes
    return this.#length === all.length ? all : all.slice(0, this.#length)
  }

  /** Makes room, in a new buffer if necessary; returns where the field starts. */
  #grow(length: number): number {
    const start = this.#length
    this.#length += length
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length))
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    return start
  }
}

/**
 * Reads fixed-width fields of untrusted bytes. A read past the end, and a 64-bit integer that is
 * not a safe integer, throw the StoreError that `fail` makes.
 */
export class ByteReader {
  readonly #bytes: Uint8Array
  readonly #fail: (problem: string) => StoreError
  #at = 0

  constructor(bytes: Uint8Array, fail: (problem: string) => StoreError) {
    this.#bytes = bytes
    this.#fail = fail
  }

  get offset(): number {
    return this.#at
  }

  get remaining(): number {
    return this.#bytes.length - this.#at
  }

  u8(): number {
    return this.#bytes[this.#take(1)] ?? 0
  }

  u16(): number {
    return this.#integer(this.#take(2), 2)
  }

  u32(): number {
    return this.#integer(this.#take(4), 4)
  }

  u64(): number {
    const start = this.#take(8)
    const value = this.#integer(start, 4) * TWO_TO_32 + this.#integer(start + 4, 4)
    if (!Number.isSafeInteger(value)) throw this.#fail('an integer is out of range')
    return value
  }

  raw(length: number): Uint8Array {
    const start = this.#take(length)
    return this.#bytes.slice(start, start + length)
  }

  view(length: number): Uint8Array {
    const start = this.#take(length)
    return this.#bytes.subarray(start, start + length)
  }

  end(): void {
    if (this.remaining !== 0) throw this.#fail('bytes follow the end')
  }

  #integer(start: number, length: number): number {
    let value = 0
    for (let at = start; at < start + length; at += 1) value = value * 256 + (this.#bytes[at] ?? 0)
    return value
  }

  #take(length: number): number {
    const start = this.#at
    if (length > this.remaining) throw this.#fail('it ends too early')
    this.#at = start + length
    return start
  }
}
