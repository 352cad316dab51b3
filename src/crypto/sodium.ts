// The only importer of libsodium: exactly the functions that suite 1 uses (FORMAT, notation), of
// which none works before `loadSodium` has resolved. Whoever makes or reads an identity, and each
// thread that uses them, waits for that; not this module, so that `require` can load the library.
// Argon2id is not among them: it needs the larger build, which
// argon2-worker.ts alone loads. The random generator of libsodium's wrapper is not used either.

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
  // Builds of libsodium differ in what they leave out, and a missing function is only undefined.
  for (const name of functions) {
    assert(typeof wrappers[name] === 'function', `this build of libsodium lacks ${name}`)
  }
}
