// Hashes in JavaScript, and random bytes of the browser. Ciphers and signatures are libsodium's.

import { sha1 } from '@noble/hashes/legacy.js'
import { sha256, sha512 } from '@noble/hashes/sha2.js'
import type { HashName, NativeSigner, RunningHash } from '../../platform/crypto.ts'
import { Bytes } from './bytes.ts'

const hashes = { sha1, sha256, sha512 }
const encoder = new TextEncoder()
/** The most that `getRandomValues` gives at once. */
const randomBytesMax = 65_536

function plain(data: Uint8Array | string): Uint8Array {
  if (typeof data === 'string') return encoder.encode(data)
  return new Uint8Array(data.buffer, data.byteOffset, data.length)
}

class WebHash implements RunningHash {
  readonly #hash: { update(bytes: Uint8Array): unknown; digest(): Uint8Array }

  constructor(name: HashName) {
    this.#hash = hashes[name].create()
  }

  update(data: Uint8Array | string): this {
    this.#hash.update(plain(data))
    return this
  }

  digest(): Uint8Array
  digest(encoding: 'hex'): string
  digest(encoding?: 'hex'): Uint8Array | string {
    const bytes = this.#hash.digest()
    return encoding === undefined ? bytes : Bytes.from(bytes).toString('hex')
  }
}

export function startHash(name: HashName): RunningHash {
  return new WebHash(name)
}

export function digestOf(name: HashName, data: Uint8Array): Uint8Array {
  return hashes[name](plain(data))
}

export function hexDigestOf(name: HashName, data: Uint8Array | string): string {
  return Bytes.from(hashes[name](plain(data))).toString('hex')
}

export function randomBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  for (let at = 0; at < length; at += randomBytesMax) {
    crypto.getRandomValues(bytes.subarray(at, at + randomBytesMax))
  }
  return bytes
}

export const hasCiphers: boolean = false

export function chaCha20Stream(): Uint8Array {
  throw new Error('libsodium has the ciphers')
}

export function openChaCha20Poly1305(): Uint8Array {
  throw new Error('libsodium has the ciphers')
}

export function nativeSigner(): NativeSigner | undefined {
  return undefined
}
