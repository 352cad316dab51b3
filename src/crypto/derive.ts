// Subkeys of a master key (FORMAT §4): libsodium's crypto_kdf, which is BLAKE2b with the subkey's
// number and an eight-character context. A subkey reveals nothing about the others.

import { assert } from '../errors.ts'
import { sodium } from './sodium.ts'

/** The 32-byte subkey number `subkeyId` of a 32-byte master key. */
export function deriveKey(master: Uint8Array, subkeyId: number, context: string): Uint8Array {
  assert(context.length === 8, 'a key derivation context has eight characters')
  return sodium.crypto_kdf_derive_from_key(32, subkeyId, context, master)
}
