// Text forms with a checksum (FORMAT §1.3, §1.4): a prefix and upper-case base32 of bytes and a
// truncated hash, so that a typing error is distinguished from a wrong key. Knows no structure of
// the bytes.

import { concatBytes, equalBytes } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import { decodeBase32, encodeBase32 } from './base32.ts'

/** The parameters of one text form. */
export interface CheckedText {
  /** In upper case. */
  readonly prefix: string
  /** The label of the hash that gives the checksum. */
  readonly label: Uint8Array
  /** Number of bytes, without the checksum. */
  readonly length: number
  /** Number of checksum bytes, such that all bits fill whole characters. */
  readonly checksum: number
}

/** The digits, without the prefix; the caller groups them. */
export function encodeChecked(form: CheckedText, bytes: Uint8Array): string {
  return encodeBase32(concatBytes(bytes, checksumOf(form, bytes))).toUpperCase()
}

/**
 * The decoded bytes, or undefined if the text is damaged or of another form. After the prefix,
 * ignores spaces, hyphens and the case of ASCII letters, and reads i, l and o as digits.
 */
export function decodeChecked(form: CheckedText, text: string): Uint8Array | undefined {
  const { prefix, length, checksum } = form
  if (lowerCase(text.slice(0, prefix.length)) !== lowerCase(prefix)) return undefined
  const typed = lowerCase(text.slice(prefix.length).replaceAll(/[\s-]/g, ''))
  if (typed.length !== Math.ceil(((length + checksum) * 8) / 5)) return undefined
  const all = decodeBase32(typed.replaceAll(/[il]/g, '1').replaceAll('o', '0'))
  if (all?.length !== length + checksum) return undefined
  const bytes = all.slice(0, length)
  return equalBytes(checksumOf(form, bytes), all.subarray(length)) ? bytes : undefined
}

/** Of ASCII letters only: Unicode would take U+212A for a K. */
function lowerCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

function checksumOf({ label, checksum }: CheckedText, bytes: Uint8Array): Uint8Array {
  return hash256(label, bytes).subarray(0, checksum)
}
