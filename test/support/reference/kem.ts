// FORMAT, notation: X-Wing, with the randomness of an encapsulation given, as libsodium's
// crypto_kem_xwing_enc_deterministic takes it: 32 bytes for ML-KEM, then 32 for X25519.

import { ml_kem768_x25519 as xwing } from '@noble/post-quantum/hybrid.js'
import { remembered } from './remembered.ts'

/** The X-Wing public key of a seed of 32 bytes. */
export const kemPublicKey: (seed: Uint8Array) => Uint8Array = remembered(
  (seed) => xwing.keygen(seed).publicKey,
)

export interface Encapsulation {
  readonly ciphertext: Uint8Array
  readonly sharedSecret: Uint8Array
}

/** With a public key, from 64 bytes; undefined if nothing can be sealed to the key. */
export const encapsulate: (publicKey: Uint8Array, seed: Uint8Array) => Encapsulation | undefined =
  remembered((publicKey, seed) => {
    try {
      const { cipherText: ciphertext, sharedSecret } = xwing.encapsulate(publicKey, seed)
      return { ciphertext, sharedSecret }
    } catch {
      return undefined
    }
  })

/** The public key of the seed, and the shared secret in a ciphertext for it. */
export function decapsulate(
  ciphertext: Uint8Array,
  seed: Uint8Array,
): { publicKey: Uint8Array; sharedSecret: Uint8Array } {
  const { publicKey, secretKey } = xwing.keygen(seed)
  return { publicKey, sharedSecret: xwing.decapsulate(ciphertext, secretKey) }
}
