// Hashes, random bytes, and the ciphers and signatures that the platform computes faster than
// WebAssembly. Without those, `hasCiphers` is false and `nativeSigner` returns undefined, and
// libsodium does the same work.

import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  hash,
  randomFillSync,
  sign,
} from 'node:crypto'

export type HashName = 'sha1' | 'sha256' | 'sha512'

export interface RunningHash {
  /** A text is hashed as UTF-8. */
  update(data: Uint8Array | string): RunningHash
  /** Ends the hash. The bytes may be part of a larger, shared buffer. */
  digest(): Uint8Array
  digest(encoding: 'hex'): string
}

export function startHash(name: HashName): RunningHash {
  return createHash(name)
}

/** The bytes may be part of a larger, shared buffer. */
export function digestOf(name: HashName, data: Uint8Array): Uint8Array {
  return hash(name, data, 'buffer')
}

export function hexDigestOf(name: HashName, data: Uint8Array | string): string {
  return hash(name, data, 'hex')
}

export function randomBytes(length: number): Uint8Array {
  return randomFillSync(new Uint8Array(length))
}

export const hasCiphers: boolean = true

const tagLength = 16

/** The key stream of ChaCha20 over as many zeros; the nonce of 16 bytes includes the counter. */
export function chaCha20Stream(key: Uint8Array, nonce: Uint8Array, length: number): Uint8Array {
  return createCipheriv('chacha20', key, nonce).update(new Uint8Array(length))
}

interface SealedInput {
  /** With the tag of 16 bytes at its end. */
  readonly ciphertext: Uint8Array
  readonly additional: Uint8Array
  /** 12 bytes. */
  readonly nonce: Uint8Array
  readonly key: Uint8Array
}

/** The plaintext. Throws if the tag is wrong, or if there is no such cipher. */
export function openChaCha20Poly1305(input: SealedInput): Uint8Array {
  const { ciphertext, additional, nonce, key } = input
  const end = ciphertext.length - tagLength
  const options = { authTagLength: tagLength }
  const opener = createDecipheriv('chacha20-poly1305', key, nonce, options)
  opener.setAAD(additional, { plaintextLength: end })
  opener.setAuthTag(ciphertext.subarray(end))
  const { buffer, byteOffset, length } = opener.update(ciphertext.subarray(0, end))
  opener.final()
  return new Uint8Array(buffer, byteOffset, length)
}

/** Signs with Ed25519. */
export type NativeSigner = (message: Uint8Array) => Uint8Array

/** For a private key in PKCS #8. The engine has a copy of it, and erases that. */
export function nativeSigner(pkcs8: Uint8Array): NativeSigner | undefined {
  const der = Buffer.from(pkcs8.buffer, pkcs8.byteOffset, pkcs8.length)
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  return (message) => new Uint8Array(sign(null, message, key))
}
