// Ed25519 (FORMAT §6.1, §6.3). Signing is deterministic, so a signature can be re-made and
// compared, and two libraries make the same one: for keys that sign often, the platform signs where
// it is faster, as OpenSSL is. Verification is libsodium's alone: implementations differ on
// malleable signatures and small-order keys, and a history that one reader accepts and another
// refuses is a fork.

import { concatBytes, equalBytes, fromHex } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { nativeSigner, type NativeSigner } from '../platform/crypto.ts'
import { equalSecrets } from './digest.ts'
import { sodium, wipe } from './sodium.ts'

/** PKCS #8 of an Ed25519 key, up to its seed (RFC 8410). */
const PKCS8 = fromHex('302e020100300506032b657004220420')
/** Making a native key takes as long as it saves in this number of signatures. */
const NATIVE_AFTER = 32

/** How often each key has signed, and its native key, which the engine erases with its pair. */
const usages = new WeakMap<
  SigningKeyPair,
  { signatures: number; native: NativeSigner | undefined }
>()

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
  const native = nativeKey(pair)
  if (native === undefined) return sodium.crypto_sign_detached(message, pair.secretKey)
  return native(message)
}

/** Undefined for a key that has signed little. */
function nativeKey(pair: SigningKeyPair): NativeSigner | undefined {
  const usage = usages.get(pair)
  if (usage === undefined) usages.set(pair, { signatures: 1, native: undefined })
  else if (usage.signatures < NATIVE_AFTER) usage.signatures += 1
  else usage.native ??= toNative(pair)
  return usage?.native
}

function toNative(pair: SigningKeyPair): NativeSigner | undefined {
  const seed = signingSeed(pair)
  const key = concatBytes(PKCS8, seed)
  try {
    return nativeSigner(key)
  } finally {
    wipe(seed, key)
  }
}

/**
 * Throws `device_signature_invalid`. With `own`, the pair of this device, its signatures are made
 * again and compared, which takes a third of the time; one that differs is verified.
 */
export function verifySignature(
  message: Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
  own?: SigningKeyPair,
): void {
  if (own !== undefined && isMadeAgain(message, signature, publicKey, own)) return
  if (isValid(message, signature, publicKey)) return
  throw new StoreError(
    'device_signature_invalid',
    'A record does not carry a valid signature of the device that it names',
  )
}

/** Compares in constant time: the signature computed here is one that no caller asked for. */
function isMadeAgain(
  message: Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
  own: SigningKeyPair,
): boolean {
  return equalBytes(publicKey, own.publicKey) && equalSecrets(sign(message, own), signature)
}

function isValid(message: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): boolean {
  if (signature.length !== 64 || publicKey.length !== 32) return false
  return sodium.crypto_sign_verify_detached(signature, message, publicKey)
}
