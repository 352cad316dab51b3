// Sealing of whole envelopes (FORMAT §3, §3.2): key derivation with a key commitment, the hedged
// salt, and XChaCha20-Poly1305. The header is 24 bytes of associated data here; format/envelope.ts
// checks it. Large ciphertexts are opened by the platform's cipher where it has one: OpenSSL's
// lacks the long nonce but takes a third of the time of WebAssembly. With format/public-files.ts
// the only file that makes `Sealed` bytes.

import { concatBytes, label, type Sealed } from '../bytes.ts'
import { assert, StoreError } from '../errors.ts'
import { Bytes } from '../platform/bytes.ts'
import { chaCha20Stream, hasCiphers, openChaCha20Poly1305 } from '../platform/crypto.ts'
import { hash256, keyedHash } from './digest.ts'
import { sodium, wipe } from './sodium.ts'

export const headerLength: number = 24
export const saltLength: number = 24
const COMMITMENT_LENGTH = 32
const CIPHERTEXT_OFFSET = headerLength + saltLength + COMMITMENT_LENGTH
const TAG_LENGTH = 16
/** What an envelope adds to its padded plaintext. */
export const envelopeOverhead: number = CIPHERTEXT_OFFSET + TAG_LENGTH

/** Below this number of bytes, two contexts of OpenSSL cost more than opening in libsodium. */
const LARGE = 8192

const SEAL_LABEL = label('GLK1/seal/v1')

export interface SaltInput {
  /** The salt subkey. */
  readonly saltKey: Uint8Array
  /** The number of the envelope's type. */
  readonly type: number
  readonly context: Uint8Array
  /** 32 bytes; secret or fresh, unless the plaintext itself never repeats. */
  readonly hedge: Uint8Array
  /** The padded plaintext. */
  readonly plaintext: Uint8Array
}

/**
 * The 24-byte salt, which is also the nonce. It depends on the plaintext, so random bytes that
 * repeat (a cloned machine) still never give two plaintexts one nonce.
 */
export function deriveSalt(input: SaltInput): Uint8Array {
  const { saltKey, type, context, hedge, plaintext } = input
  assert(hedge.length === 32, 'a hedge has 32 bytes')
  const start = Uint8Array.of(type)
  return keyedHash(
    saltLength,
    saltKey,
    start,
    contextLength(context),
    context,
    hedge,
    hash256(plaintext),
  )
}

export interface SealInput {
  /** The first 24 bytes of the envelope. */
  readonly header: Uint8Array
  readonly salt: Uint8Array
  /** The 32-byte subkey; the message key is derived from it. */
  readonly key: Uint8Array
  readonly context: Uint8Array
  /** The padded plaintext. */
  readonly plaintext: Uint8Array
}

/** header 24 ‖ salt 24 ‖ key commitment 32 ‖ ciphertext ‖ tag 16. */
export function sealBytes(input: SealInput): Sealed {
  const { header, salt, key, context, plaintext } = input
  assert(header.length === headerLength && salt.length === saltLength, 'header 24, salt 24 bytes')
  const okm = deriveMessageKey(key, header, salt, context)
  const start = concatBytes(header, salt, okm.subarray(32))
  const ciphertext = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
    plaintext,
    start,
    null,
    salt,
    okm.subarray(0, 32),
  )
  wipe(okm)
  return asSealed(start, ciphertext)
}

/**
 * The padded plaintext. The caller has checked the length (at least 96) and the header. Throws
 * `envelope_commitment` if `key` and `context` are not those that it was sealed with, and
 * `envelope_tag` if they are but its bytes were changed.
 */
export function openBytes(envelope: Uint8Array, key: Uint8Array, context: Uint8Array): Uint8Array {
  const header = envelope.subarray(0, headerLength)
  const salt = envelope.subarray(headerLength, headerLength + saltLength)
  const okm = deriveMessageKey(key, header, salt, context)
  try {
    const commitment = envelope.subarray(headerLength + saltLength, CIPHERTEXT_OFFSET)
    // Without this check one ciphertext can be made to open under two keys.
    if (!sodium.memcmp(okm.subarray(32), commitment)) throw wrongCommitment()
    return decrypt(envelope, salt, okm.subarray(0, 32))
  } finally {
    wipe(okm)
  }
}

/**
 * Public framing around sealed parts: the keyring (FORMAT §7). The caller ensures that the framing
 * contains only what §11 lets the remote learn.
 */
export function sealedFraming(...parts: readonly Uint8Array[]): Sealed {
  return asSealed(...parts)
}

function decrypt(envelope: Uint8Array, nonce: Uint8Array, key: Uint8Array): Uint8Array {
  const additional = envelope.subarray(0, CIPHERTEXT_OFFSET)
  const ciphertext = envelope.subarray(CIPHERTEXT_OFFSET)
  if (hasCiphers && ciphertext.length >= LARGE) {
    try {
      return openLarge({ ciphertext, additional, nonce, key })
    } catch {
      // libsodium decides: not every OpenSSL has the cipher.
    }
  }
  try {
    return sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
      null,
      ciphertext,
      additional,
      nonce,
      key,
    )
  } catch {
    // libsodium's own error has no details.
    throw new StoreError('envelope_tag', 'A sealed object was changed after it was sealed')
  }
}

/** 64 bytes: the message key and the key commitment. */
function deriveMessageKey(
  key: Uint8Array,
  header: Uint8Array,
  salt: Uint8Array,
  context: Uint8Array,
): Uint8Array {
  return keyedHash(64, key, SEAL_LABEL, header, salt, contextLength(context), context)
}

function contextLength(context: Uint8Array): Uint8Array {
  assert(context.length < 65_536, 'a context is shorter than 64 KiB')
  return Uint8Array.of(context.length >>> 8, context.length)
}

function wrongCommitment(): StoreError {
  return new StoreError(
    'envelope_commitment',
    'A sealed object was not sealed with this key for this place',
  )
}

function asSealed(...parts: readonly Uint8Array[]): Sealed {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- sealed or public
  return concatBytes(...parts) as Sealed
}

/** The part of the nonce that enters the key; the rest is the end of a short nonce. */
const KEY_NONCE_LENGTH = 16
const BLOCK_LENGTH = 64
const WORD = 4
/** The first four words of a block's state; the last four are counter and short nonce. */
const constants: Bytes = Bytes.from('expand 32-byte k')

interface LargeCiphertext {
  /** With the tag of 16 bytes at its end. */
  readonly ciphertext: Uint8Array
  readonly additional: Uint8Array
  /** 24 bytes. */
  readonly nonce: Uint8Array
  readonly key: Uint8Array
}

/** The plaintext. Throws an error of the platform if the tag is wrong, or without such a cipher. */
function openLarge(input: LargeCiphertext): Uint8Array {
  const { ciphertext, additional, nonce, key } = input
  const shortNonce = concatBytes(new Uint8Array(WORD), nonce.subarray(KEY_NONCE_LENGTH))
  const shortKey = hChaCha20(key, nonce.subarray(0, KEY_NONCE_LENGTH))
  try {
    return openChaCha20Poly1305({ ciphertext, additional, nonce: shortNonce, key: shortKey })
  } finally {
    wipe(shortKey)
  }
}

/**
 * HChaCha20: the first and the last four words of a block of ChaCha20 before the state at its
 * beginning is added. That part of the state is public, so it can be subtracted again.
 */
function hChaCha20(key: Uint8Array, nonce: Uint8Array): Uint8Array {
  const block = chaCha20Stream(key, nonce, BLOCK_LENGTH)
  const words = new DataView(block.buffer, block.byteOffset)
  const added = concatBytes(constants, nonce)
  const state = new DataView(added.buffer)
  const derived = Bytes.alloc(added.length)
  for (let at = 0; at < added.length; at += WORD) {
    const inBlock = at < constants.length ? at : BLOCK_LENGTH - added.length + at
    const word = words.getUint32(inBlock, true) - state.getUint32(at, true)
    derived.writeUInt32LE(word >>> 0, at)
  }
  wipe(block)
  return derived
}
