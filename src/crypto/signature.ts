// Ed25519 (FORMAT §6.1, §6.3). Signing is deterministic, so a signature can be re-made and
// compared. Verification is libsodium's alone: implementations differ on malleable signatures and
// small-order keys, and a history that one reader accepts and another refuses is a fork.

import { StoreError } from '../errors.ts'
import { sodium } from './sodium.ts'

export interface SigningKeyPair {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** libsodium's form: seed 32 ‖ public key 32. */
  readonly secretKey: Uint8Array
}

/** The key pair of a 32-byte seed. */
export function signingKeyPair(seed: Uint8Array): SigningKeyPair {
  const { publicKey, privateKey } = sodium.crypto_sign_seed_keypair(seed)
  return { publicKey, secretKey: privateKey }
}

/** The 32-byte seed that `signingKeyPair` made the pair of. */
export function signingSeed(pair: SigningKeyPair): Uint8Array {
  return pair.secretKey.slice(0, 32)
}

/** 64 bytes, the same for the same message and key. */
export function sign(message: Uint8Array, pair: SigningKeyPair): Uint8Array {
  return sodium.crypto_sign_detached(message, pair.secretKey)
}

/** Throws `device_signature_invalid`. */
export function verifySignature(
  message: Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
): void {
  if (isValid(message, signature, publicKey)) return
  throw new StoreError(
    'device_signature_invalid',
    'A record does not carry a valid signature of the device that it names',
  )
}

function isValid(message: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): boolean {
  if (signature.length !== 64 || publicKey.length !== 32) return false
  return sodium.crypto_sign_verify_detached(signature, message, publicKey)
}
