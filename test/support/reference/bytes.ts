// FORMAT, notation: big-endian integers, NUL-ended labels, concatenation, and a reader of fields.
// Each encoder returns its bytes, so that a layout reads as the document writes it. Slow on purpose
// wherever that is plainer.

import { ensure, type Refusal, refuse } from './refusal.ts'

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts))
}

/** An integer of `length` bytes. */
function integer(value: number, length: number): Uint8Array {
  return fromHex(value.toString(16).padStart(2 * length, '0'))
}

export function u8(value: number): Uint8Array {
  return integer(value, 1)
}

export function u16(value: number): Uint8Array {
  return integer(value, 2)
}

export function u32(value: number): Uint8Array {
  return integer(value, 4)
}

export function u64(value: number): Uint8Array {
  return integer(value, 8)
}

export function zeros(length: number): Uint8Array {
  return new Uint8Array(length)
}

/** "text\0" of the document. */
export function label(text: string): Uint8Array {
  return utf8(`${text}\0`)
}

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** The text of well-formed UTF-8; a byte-order mark is a character like others. */
export function utf8Text(bytes: Uint8Array, kind: Refusal): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return refuse(kind, 'A text is not UTF-8')
  }
}

export function ascii(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1')
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

export function fromHex(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, 'hex'))
}

export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

/** Reads fields from untrusted bytes; refuses with `kind` what ends early or has a rest. */
export class Reader {
  readonly #bytes: Uint8Array
  readonly #kind: Refusal
  #at = 0

  constructor(bytes: Uint8Array, kind: Refusal) {
    this.#bytes = bytes
    this.#kind = kind
  }

  /** Bytes consumed so far. */
  get offset(): number {
    return this.#at
  }

  raw(length: number): Uint8Array {
    const end = this.#at + length
    ensure(end <= this.#bytes.length, this.#kind, 'A field lies beyond the end')
    const field = this.#bytes.slice(this.#at, end)
    this.#at = end
    return field
  }

  hex(length: number): string {
    return toHex(this.raw(length))
  }

  u8(): number {
    return this.#integer(1)
  }

  u16(): number {
    return this.#integer(2)
  }

  u32(): number {
    return this.#integer(4)
  }

  /** At most 2^53 - 1. */
  u64(): number {
    return this.#integer(8)
  }

  /** Everything that was not read yet. */
  rest(): Uint8Array {
    return this.raw(this.#bytes.length - this.#at)
  }

  end(): void {
    ensure(this.#at === this.#bytes.length, this.#kind, 'Bytes follow the last field')
  }

  #integer(length: number): number {
    const value = Number(`0x${this.hex(length)}`)
    ensure(Number.isSafeInteger(value), this.#kind, 'An integer is above 2^53 - 1')
    return value
  }
}
