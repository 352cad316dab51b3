// In place of crypto/sodium.ts: the same functions over libsodium's WebAssembly, which the build
// reduces to them (scripts/web-sodium.mjs), without the package's wrappers. Arguments and results
// are copied through the module's heap, and overwritten there before a call returns. C reads as
// many bytes of a key as it expects, so that lengths are checked here.

import { utf8 } from '../../bytes.ts'
import type { Sodium } from '../../crypto/sodium.ts'
import { assert } from '../../errors.ts'
import { randomBytes } from './crypto.ts'

/** A function of C; a 64-bit number is passed as its low and its high half. */
type NativeFunction = (...words: readonly number[]) => number

interface LinearMemory {
  readonly buffer: ArrayBufferLike
  grow(pages: number): number
}

/** The exports of the module. */
interface SodiumModule {
  readonly memory: LinearMemory
  readonly malloc: NativeFunction
  readonly free: NativeFunction
  readonly sodium_init: NativeFunction
  readonly crypto_aead_xchacha20poly1305_ietf_decrypt: NativeFunction
  readonly crypto_aead_xchacha20poly1305_ietf_encrypt: NativeFunction
  readonly crypto_generichash: NativeFunction
  readonly crypto_kdf_derive_from_key: NativeFunction
  readonly crypto_kem_xwing_dec: NativeFunction
  readonly crypto_kem_xwing_enc_deterministic: NativeFunction
  readonly crypto_kem_xwing_seed_keypair: NativeFunction
  readonly crypto_sign_detached: NativeFunction
  readonly crypto_sign_seed_keypair: NativeFunction
  readonly crypto_sign_verify_detached: NativeFunction
}

/** What the module calls, under the names that its compiler gave. */
type SodiumImports = Readonly<Record<'a', Readonly<Record<'a' | 'b' | 'c' | 'd', NativeFunction>>>>

const PAGE = 65_536
const TAG = 16
const XWING = { publicKey: 1216, ciphertext: 1120, secret: 32 }
const SIGNING = { publicKey: 32, privateKey: 64, signature: 64 }

let started: SodiumModule | undefined

/** Begins libsodium, once. `instantiate` resolves to the exports of its module. */
export async function startSodium(
  instantiate: (imports: SodiumImports) => Promise<SodiumModule>,
): Promise<void> {
  if (started !== undefined) return
  let memory: LinearMemory | undefined
  const grow: NativeFunction = (bytes = 0) => (memory && growTo(memory, bytes >>> 0) ? 1 : 0)
  const found = await instantiate({ a: { a: abort, b: randomNumber, c: abort, d: grow } })
  memory = found.memory
  assert(found.sodium_init() >= 0, 'libsodium does not start')
  started = found
}

function abort(): never {
  throw new Error('libsodium was called with wrong arguments')
}

function randomNumber(): number {
  return randomBytes(4).reduce((number, byte) => (number << 8) | byte, 0)
}

function growTo(memory: LinearMemory, bytes: number): boolean {
  const length = memory.buffer.byteLength
  const missing = bytes - length
  // A quarter more than before, so that it seldom grows; if that is refused, the missing bytes.
  for (const more of [Math.max(missing, length / 4), missing]) {
    try {
      memory.grow(Math.ceil(more / PAGE))
      return true
    } catch {
      // The engine has no more.
    }
  }
  return false
}

/** Rejects before `startSodium` has resolved. */
export async function loadSodium(): Promise<void> {
  libsodium()
}

export function wipe(...secrets: readonly Uint8Array[]): void {
  for (const secret of secrets) secret.fill(0)
}

function libsodium(): SodiumModule {
  assert(started !== undefined, 'libsodium has not started')
  return started
}

interface Region {
  readonly address: number
  readonly length: number
}

/** The parts of the module's memory that one call uses. */
class Frame {
  readonly #regions: Region[] = []

  /** Room for a result. */
  room(length: number): Region {
    const region = { address: libsodium().malloc(length) >>> 0, length }
    assert(region.address !== 0, 'libsodium has no memory left')
    this.#regions.push(region)
    return region
  }

  /** The address of a copy of `bytes`, which must have `length`. */
  put(bytes: Uint8Array, length: number = bytes.length): number {
    assert(bytes.length === length, `an argument of libsodium must have ${length} bytes`)
    const region = this.room(length)
    view(region).set(bytes)
    return region.address
  }

  end(): void {
    for (const region of this.#regions) {
      view(region).fill(0)
      libsodium().free(region.address)
    }
  }
}

/** Only until the memory grows. */
function view({ address, length }: Region): Uint8Array {
  return new Uint8Array(libsodium().memory.buffer, address, length)
}

function call<T>(work: (frame: Frame, native: SodiumModule) => T): T {
  const frame = new Frame()
  try {
    return work(frame, libsodium())
  } finally {
    frame.end()
  }
}

function checkDone(status: number): void {
  assert(status === 0, 'libsodium has refused its arguments')
}

export const sodium: Sodium = {
  crypto_aead_xchacha20poly1305_ietf_decrypt(_, ciphertext, additional, nonce, key) {
    return call((frame, { crypto_aead_xchacha20poly1305_ietf_decrypt: decrypt }) => {
      assert(ciphertext.length >= TAG, 'a ciphertext of libsodium has a tag')
      const message = frame.room(ciphertext.length - TAG)
      const sealed = [frame.put(ciphertext), ciphertext.length, 0]
      const bound = [frame.put(additional), additional.length, 0]
      const [nonceAt, keyAt] = [frame.put(nonce, 24), frame.put(key, 32)]
      checkDone(decrypt(message.address, 0, 0, ...sealed, ...bound, nonceAt, keyAt))
      return view(message).slice()
    })
  },

  crypto_aead_xchacha20poly1305_ietf_encrypt(message, additional, _, nonce, key) {
    return call((frame, { crypto_aead_xchacha20poly1305_ietf_encrypt: encrypt }) => {
      const ciphertext = frame.room(message.length + TAG)
      const plain = [frame.put(message), message.length, 0]
      const bound = [frame.put(additional), additional.length, 0]
      const [nonceAt, keyAt] = [frame.put(nonce, 24), frame.put(key, 32)]
      checkDone(encrypt(ciphertext.address, 0, ...plain, ...bound, 0, nonceAt, keyAt))
      return view(ciphertext).slice()
    })
  },

  crypto_generichash(length, message, key) {
    return call((frame, { crypto_generichash: hash }) => {
      const digest = frame.room(length)
      const keyed = key === null ? [0, 0] : [frame.put(key), key.length]
      checkDone(hash(digest.address, length, frame.put(message), message.length, 0, ...keyed))
      return view(digest).slice()
    })
  },

  crypto_kdf_derive_from_key(length, subkeyId, context, key) {
    return call((frame, { crypto_kdf_derive_from_key: derive }) => {
      assert(Number.isInteger(subkeyId) && subkeyId >= 0 && subkeyId < 2 ** 31, 'a subkey number')
      const subkey = frame.room(length)
      const [contextAt, keyAt] = [frame.put(utf8(context), 8), frame.put(key, 32)]
      checkDone(derive(subkey.address, length, subkeyId, 0, contextAt, keyAt))
      return view(subkey).slice()
    })
  },

  crypto_kem_xwing_dec(ciphertext, seed) {
    return call((frame, { crypto_kem_xwing_dec: decapsulate }) => {
      const secret = frame.room(XWING.secret)
      const ciphertextAt = frame.put(ciphertext, XWING.ciphertext)
      checkDone(decapsulate(secret.address, ciphertextAt, frame.put(seed, 32)))
      return view(secret).slice()
    })
  },

  crypto_kem_xwing_enc_deterministic(publicKey, seed) {
    return call((frame, { crypto_kem_xwing_enc_deterministic: encapsulate }) => {
      const ciphertext = frame.room(XWING.ciphertext)
      const secret = frame.room(XWING.secret)
      const [publicAt, seedAt] = [frame.put(publicKey, XWING.publicKey), frame.put(seed, 64)]
      checkDone(encapsulate(ciphertext.address, secret.address, publicAt, seedAt))
      return { ciphertext: view(ciphertext).slice(), sharedSecret: view(secret).slice() }
    })
  },

  crypto_kem_xwing_seed_keypair(seed) {
    return call((frame, { crypto_kem_xwing_seed_keypair: generate }) => {
      const publicKey = frame.room(XWING.publicKey)
      const privateKey = frame.room(32)
      checkDone(generate(publicKey.address, privateKey.address, frame.put(seed, 32)))
      return { publicKey: view(publicKey).slice() }
    })
  },

  crypto_sign_detached(message, privateKey) {
    return call((frame, { crypto_sign_detached: sign }) => {
      const signature = frame.room(SIGNING.signature)
      const messageAt = frame.put(message)
      const keyAt = frame.put(privateKey, SIGNING.privateKey)
      checkDone(sign(signature.address, 0, messageAt, message.length, 0, keyAt))
      return view(signature).slice()
    })
  },

  crypto_sign_seed_keypair(seed) {
    return call((frame, { crypto_sign_seed_keypair: generate }) => {
      const publicKey = frame.room(SIGNING.publicKey)
      const privateKey = frame.room(SIGNING.privateKey)
      checkDone(generate(publicKey.address, privateKey.address, frame.put(seed, 32)))
      return { publicKey: view(publicKey).slice(), privateKey: view(privateKey).slice() }
    })
  },

  crypto_sign_verify_detached(signature, message, publicKey) {
    return call((frame, { crypto_sign_verify_detached: verify }) => {
      const [signatureAt, messageAt] = [frame.put(signature, SIGNING.signature), frame.put(message)]
      const keyAt = frame.put(publicKey, SIGNING.publicKey)
      return verify(signatureAt, messageAt, message.length, 0, keyAt) === 0
    })
  },

  memcmp(a, b) {
    assert(a.length === b.length, 'only bytes of equal length are compared')
    let difference = 0
    for (let at = 0; at < a.length; at += 1) difference |= (a[at] ?? 0) ^ (b[at] ?? 0)
    return difference === 0
  },

  memzero(bytes) {
    bytes.fill(0)
  },
}
