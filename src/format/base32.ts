// Crockford's base32 (FORMAT §1.1, §1.3): lower case, most significant bit first, without the
// letters i, l, o and u. Decodes only what `encodeBase32` produces; lenient callers map the text
// first.

import { Bytes } from '../platform/bytes.ts'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const DIGITS = Bytes.from(ALPHABET, 'latin1')

/** `leadingZeros` zero bits precede the bytes, so that the bits fill whole characters. */
export function encodeBase32(bytes: Uint8Array, leadingZeros = 0): string {
  // A text made digit by digit would be a tree of its parts, thirty times as large in RAM.
  const text = Bytes.allocUnsafe(Math.floor((leadingZeros + 8 * bytes.length) / 5))
  let length = 0
  let held = 0
  let bits = leadingZeros
  for (const byte of bytes) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text[length] = DIGITS[held >>> bits] ?? 0
      length += 1
      held &= (1 << bits) - 1
    }
  }
  return text.toString('latin1', 0, length)
}

/** Undefined for an invalid character, or if a leading bit is not zero. */
export function decodeBase32(text: string, leadingZeros = 0): Uint8Array | undefined {
  const bytes: number[] = []
  let held = 0
  let bits = -leadingZeros
  for (const character of text) {
    const digit = ALPHABET.indexOf(character)
    if (digit === -1) return undefined
    held = (held << 5) | digit
    bits += 5
    if (bits >= 8) {
      bits -= 8
      if (held >>> bits > 0xff) return undefined
      bytes.push(held >>> bits)
      held &= (1 << bits) - 1
    }
  }
  return held === 0 && bits < 5 ? Uint8Array.from(bytes) : undefined
}
