// FORMAT, notation and §4: H, H', the salts' BLAKE2b-192 and libsodium's crypto_kdf, which is
// BLAKE2b of the empty message, keyed, with the subkey number (64 bits, little-endian) as salt and
// the context as personalization, both filled with zero bytes to 16.

import { blake2b } from '@noble/hashes/blake2.js'
import { sha256 as nobleSha256, sha512 as nobleSha512 } from '@noble/hashes/sha2.js'
import { concat, utf8, zeros } from './bytes.ts'

/** BLAKE2b-256 of the concatenation. */
export function H(...parts: readonly Uint8Array[]): Uint8Array {
  return blake2b(concat(...parts), { dkLen: 32 })
}

/** BLAKE2b of `length` bytes, keyed. */
export function keyedBlake2b(length: number, key: Uint8Array, message: Uint8Array): Uint8Array {
  return blake2b(message, { dkLen: length, key })
}

/** H'(key, message). */
export function keyedH(key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array {
  return keyedBlake2b(32, key, concat(...parts))
}

/** Subkey `id` (1 to 255) of 32 bytes; the context has 8 characters. */
export function subkey(master: Uint8Array, id: number, context: string): Uint8Array {
  const salt = concat(Uint8Array.of(id), zeros(15))
  const personalization = concat(utf8(context), zeros(8))
  return blake2b(zeros(0), { dkLen: 32, key: master, salt, personalization })
}

export function sha256(bytes: Uint8Array): Uint8Array {
  return nobleSha256(bytes)
}

export function sha512(bytes: Uint8Array): Uint8Array {
  return nobleSha512(bytes)
}
