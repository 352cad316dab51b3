// Text forms with a checksum (FORMAT §1.3, §1.4): a prefix and upper-case base32 of the bytes and
// the beginning of their hash, so that a typing error is told from a wrong key. Knows no structure
// of what is inside.

import { concatBytes, equalBytes } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import { decodeBase32, encodeBase32 } from './base32.ts'

/** What a kind of text is made of. */
export interface CheckedText {
  /** Upper case. */
  readonly prefix: string
  /** Of the hash that the checksum is taken from. */
  readonly label: Uint8Array
  /** Bytes, without the checksum. */
  readonly length: number
  /** Bytes of it: so many that all bits fill whole characters. */
  readonly checksum: number
}

/** The digits alone, for the caller to group behind the prefix. */
export function encodeChecked(form: CheckedText, bytes: Uint8Array): string {
  return encodeBase32(concatBytes(bytes, checksumOf(form, bytes))).toUpperCase()
}

/**
 * The bytes, or undefined if it is another text or a damaged one. Ignores case, spaces and hyphens
 * after the prefix, and takes the letters that look like digits for them.
 */
export function decodeChecked(form: CheckedText, text: string): Uint8Array | undefined {
  const { prefix, length, checksum } = form
  if (!text.toUpperCase().startsWith(prefix)) return undefined
  const typed = text.slice(prefix.length).replaceAll(/[\s-]/g, '').toLowerCase()
  if (typed.length !== Math.ceil(((length + checksum) * 8) / 5)) return undefined
  const all = decodeBase32(typed.replaceAll(/[il]/g, '1').replaceAll('o', '0'))
  if (all?.length !== length + checksum) return undefined
  const bytes = all.slice(0, length)
  return equalBytes(checksumOf(form, bytes), all.subarray(length)) ? bytes : undefined
}

function checksumOf({ label, checksum }: CheckedText, bytes: Uint8Array): Uint8Array {
  return hash256(label, bytes).subarray(0, checksum)
}
