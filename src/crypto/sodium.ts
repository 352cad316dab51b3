// The only importer of libsodium: exactly the functions of suite 1 (FORMAT, notation), without
// Argon2id and without the wrapper's random generator. None works before `loadSodium` resolves;
// callers that make or read an identity, and each thread, wait for it. The module itself does not,
// so that `require` can load the library.

import wrappers, { ready } from 'libsodium-wrappers'
import { assert } from '../errors.ts'

/** The functions in use, with libsodium's names. They throw for arguments of other lengths. */
export interface Sodium {
  /** Throws if the ciphertext was not sealed with these. */
  readonly crypto_aead_xchacha20poly1305_ietf_decrypt: (
    secretNonce: null,
    ciphertext: Uint8Array,
    additional: Uint8Array,
    nonce: Uint8Array,
    key: Uint8Array,
  ) => Uint8Array
  readonly crypto_aead_xchacha20poly1305_ietf_encrypt: (
    message: Uint8Array,
    additional: Uint8Array,
    secretNonce: null,
    nonce: Uint8Array,
    key: Uint8Array,
  ) => Uint8Array
  readonly crypto_generichash: (
    length: number,
    message: Uint8Array,
    key: Uint8Array | null,
  ) => Uint8Array
  /** `context` has eight bytes. */
  readonly crypto_kdf_derive_from_key: (
    length: number,
    subkeyId: number,
    context: string,
    key: Uint8Array,
  ) => Uint8Array
  readonly crypto_kem_xwing_dec: (ciphertext: Uint8Array, seed: Uint8Array) => Uint8Array
  readonly crypto_kem_xwing_enc_deterministic: (
    publicKey: Uint8Array,
    seed: Uint8Array,
  ) => { readonly ciphertext: Uint8Array; readonly sharedSecret: Uint8Array }
  readonly crypto_kem_xwing_seed_keypair: (seed: Uint8Array) => { readonly publicKey: Uint8Array }
  readonly crypto_sign_detached: (message: Uint8Array, privateKey: Uint8Array) => Uint8Array
  readonly crypto_sign_seed_keypair: (seed: Uint8Array) => {
    readonly publicKey: Uint8Array
    readonly privateKey: Uint8Array
  }
  readonly crypto_sign_verify_detached: (
    signature: Uint8Array,
    message: Uint8Array,
    publicKey: Uint8Array,
  ) => boolean
  /** In constant time. */
  readonly memcmp: (a: Uint8Array, b: Uint8Array) => boolean
  readonly memzero: (bytes: Uint8Array) => void
}

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
] as const satisfies readonly (keyof Sodium)[]

export const sodium: Sodium = wrappers

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
