// Hash functions: BLAKE2b for everything that security rests on (FORMAT, notation: H and H'),
// SHA-256 for a memory's content, SHA-512 inside SSHSIG. Git's SHA-1 is sha1.ts's.

import { concatBytes } from '../bytes.ts'
import { assert } from '../errors.ts'
import { digestOf, hexDigestOf } from '../platform/crypto.ts'
import { sodium } from './sodium.ts'

/** H: BLAKE2b-256 of the concatenation. */
export function hash256(...parts: readonly Uint8Array[]): Uint8Array {
  return sodium.crypto_generichash(32, joined(parts), null)
}

/**
 * BLAKE2b of `length` bytes (16 to 64) over the concatenation, keyed with 16 to 64 bytes. The
 * length enters the hash, so outputs of different lengths are unrelated.
 */
export function keyedHash(
  length: number,
  key: Uint8Array,
  ...parts: readonly Uint8Array[]
): Uint8Array {
  return sodium.crypto_generichash(length, joined(parts), key)
}

export function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(digestOf('sha256', bytes))
}

/** SHA-256 of a text's UTF-8 bytes, as 64 hex digits, without a copy of those bytes. */
export function sha256OfText(text: string): string {
  return hexDigestOf('sha256', text)
}

export function sha512(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(digestOf('sha512', bytes))
}

/** In constant time, for values that are as good as secrets. Lengths are public. */
export function equalSecrets(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && sodium.memcmp(a, b)
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts
  return first !== undefined && parts.length === 1 ? first : concatBytes(...parts)
}

/**
 * The 32-byte subkey number `subkeyId` of a 32-byte master key (FORMAT §4): libsodium's crypto_kdf,
 * which is BLAKE2b with that number and an eight-character context.
 */
export function deriveKey(master: Uint8Array, subkeyId: number, context: string): Uint8Array {
  assert(context.length === 8, 'a key derivation context has eight characters')
  return sodium.crypto_kdf_derive_from_key(32, subkeyId, context, master)
}
