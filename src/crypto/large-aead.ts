// Opens large ciphertexts of XChaCha20-Poly1305 by node:crypto, which lacks the long nonce but
// takes a third of the time of WebAssembly. Short ones are faster in libsodium: two contexts of
// OpenSSL cost more than opening them.

import { createCipheriv, createDecipheriv } from 'node:crypto'
import { concatBytes } from '../bytes.ts'
import { wipe } from './wipe.ts'

const TAG_LENGTH = 16
/** What of the nonce enters the key; the rest is the end of a short nonce. */
const KEY_NONCE_LENGTH = 16
const BLOCK_LENGTH = 64
const WORD = 4
/** The first four words of a block's state; the last four are counter and short nonce. */
const constants: Buffer = Buffer.from('expand 32-byte k')

export interface LargeCiphertext {
  /** With the tag of 16 bytes at its end. */
  readonly ciphertext: Uint8Array
  readonly additional: Uint8Array
  /** 24 bytes. */
  readonly nonce: Uint8Array
  /** 32 bytes. */
  readonly key: Uint8Array
}

/** The plaintext. Throws an error of OpenSSL if the tag is wrong, or if it has no such cipher. */
export function openLarge(input: LargeCiphertext): Uint8Array {
  const { ciphertext, additional, nonce, key } = input
  const end = ciphertext.length - TAG_LENGTH
  const shortNonce = concatBytes(new Uint8Array(WORD), nonce.subarray(KEY_NONCE_LENGTH))
  const shortKey = hChaCha20(key, nonce.subarray(0, KEY_NONCE_LENGTH))
  try {
    const options = { authTagLength: TAG_LENGTH }
    const opener = createDecipheriv('chacha20-poly1305', shortKey, shortNonce, options)
    opener.setAAD(additional, { plaintextLength: end })
    opener.setAuthTag(ciphertext.subarray(end))
    const { buffer, byteOffset, length } = opener.update(ciphertext.subarray(0, end))
    opener.final()
    return new Uint8Array(buffer, byteOffset, length)
  } finally {
    wipe(shortKey)
  }
}

/**
 * HChaCha20: the first and the last four words of a block of ChaCha20 before the state at its
 * beginning is added. That part of the state is public, so it can be subtracted again.
 */
function hChaCha20(key: Uint8Array, nonce: Uint8Array): Uint8Array {
  const block = createCipheriv('chacha20', key, nonce).update(new Uint8Array(BLOCK_LENGTH))
  const added = concatBytes(constants, nonce)
  const state = new DataView(added.buffer)
  const derived = Buffer.alloc(added.length)
  for (let at = 0; at < added.length; at += WORD) {
    const inBlock = at < constants.length ? at : BLOCK_LENGTH - added.length + at
    const word = block.readUInt32LE(inBlock) - state.getUint32(at, true)
    derived.writeUInt32LE(word >>> 0, at)
  }
  wipe(block)
  return derived
}
