// The only importer of libsodium: exactly the functions of suite 1 (FORMAT, notation), without
// Argon2id and without the wrapper's random generator. None works before `loadSodium` resolves;
// callers that make or read an identity, and each thread, wait for it. The module itself does not,
// so that `require` can load the library.

import wrappers, { ready } from 'libsodium-wrappers'
import { assert } from '../errors.ts'

const functions = [
  'crypto_aead_xchacha20poly1305_ietf_decrypt',
  'crypto_aead_xchacha20poly1305_ietf_encrypt',
  'crypto_generichash',
  'crypto_kdf_derive_from_key',
  'crypto_kem_xwing_dec',
  'crypto_kem_xwing_enc_deterministic',
  'crypto_kem_xwing_seed_keypair',
  'crypto_sign_detached',
  'crypto_sign_seed_keypair',
  'crypto_sign_verify_detached',
  'memcmp',
  'memzero',
] as const

export const sodium: Pick<typeof wrappers, (typeof functions)[number]> = wrappers

export async function loadSodium(): Promise<void> {
  await ready
  // Builds of libsodium omit different functions; a missing one is undefined.
  for (const name of functions) {
    assert(typeof wrappers[name] === 'function', `this build of libsodium lacks ${name}`)
  }
}

/**
 * Overwrites secrets that are no longer needed. The engine may have copied them before: FORMAT and
 * the threat model promise nothing about process memory. This only shortens the exposure.
 */
export function wipe(...secrets: readonly Uint8Array[]): void {
  for (const secret of secrets) sodium.memzero(secret)
}
