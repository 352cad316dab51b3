// X-Wing, the hybrid of ML-KEM-768 and X25519 that wraps an epoch's keys for one recipient (FORMAT
// §7). Decapsulation never fails: a foreign or damaged ciphertext gives a different shared secret,
// which the key commitment of the slot's envelope detects.

import { assert } from '../errors.ts'
import { sodium } from './sodium.ts'

export const kemPublicKeyLength: number = 1216
export const kemCiphertextLength: number = 1120

export interface KemKeyPair {
  /** 1,216 bytes. */
  readonly publicKey: Uint8Array
  /** The 32-byte seed. */
  readonly secretKey: Uint8Array
}

export interface Encapsulation {
  /** 1,120 bytes, public. */
  readonly ciphertext: Uint8Array
  /** 32 bytes. */
  readonly sharedSecret: Uint8Array
}

/**
 * The key pair of a 32-byte seed. The public key is made when it is first asked for: it takes
 * milliseconds in a new process, and anyone who only opens a store does not need it.
 */
export function kemKeyPair(seed: Uint8Array): KemKeyPair {
  const secretKey = seed.slice()
  let publicKey: Uint8Array | undefined
  return {
    secretKey,
    get publicKey() {
      publicKey ??= sodium.crypto_kem_xwing_seed_keypair(secretKey).publicKey
      return publicKey
    },
  }
}

/** A shared secret for the holder of `publicKey`, from a secret seed of 64 bytes. */
export function encapsulate(publicKey: Uint8Array, seed: Uint8Array): Encapsulation {
  assert(publicKey.length === kemPublicKeyLength, 'an X-Wing public key has 1,216 bytes')
  return sodium.crypto_kem_xwing_enc_deterministic(publicKey, seed)
}

/** 32 bytes: the shared secret, or unrelated bytes if the ciphertext was made for another key. */
export function decapsulate(ciphertext: Uint8Array, pair: KemKeyPair): Uint8Array {
  assert(ciphertext.length === kemCiphertextLength, 'an X-Wing ciphertext has 1,120 bytes')
  return sodium.crypto_kem_xwing_dec(ciphertext, pair.secretKey)
}
