// libsodium of the web: over the reduced module, each function gives the published answers and, for
// other inputs, those of the package, whose module is whole.

import { randomFillSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { blake2b } from '@noble/hashes/blake2.js'
import { ml_kem768_x25519 as xwing } from '@noble/post-quantum/hybrid.js'
import { beforeAll, describe, expect, test } from 'vitest'
import { readLibsodium, reduceModule, sodiumModule } from '../../../scripts/web-sodium.mjs'
import { equalBytes, fromHex, toHex, utf8 } from '../../../src/bytes.ts'
import { type Sodium, sodium as whole } from '../../../src/crypto/sodium.ts'
import { loadSodium, sodium, startSodium, wipe } from '../../../src/web/platform/sodium.ts'
import { full } from '../../support/seed.ts'

type Instantiate = Parameters<typeof startSodium>[0]
type Exports = Awaited<ReturnType<Instantiate>>

/** The types of Node.js lack it. */
const engine: {
  readonly Module: (new (bytes: Uint8Array) => object) & {
    exports(module: object): readonly { readonly name: string }[]
  }
  readonly Instance: new (
    module: object,
    imports: Parameters<Instantiate>[0],
  ) => { readonly exports: Exports }
} = Reflect.get(globalThis, 'WebAssembly')
let native: Exports

beforeAll(async () => {
  expect(() => sodium.crypto_generichash(32, utf8('a'), null)).toThrow(/not started/)
  await expect(loadSodium()).rejects.toThrow(/not started/)
  await startSodium(async (imports) => {
    native = new engine.Instance(new engine.Module(sodiumModule()), imports).exports
    return native
  })
  await loadSodium()
})

const random = (length: number): Uint8Array => randomFillSync(new Uint8Array(length))

/** Around the blocks of hashes and ciphers, and more than the memory has at its start. */
const short = [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 111, 112, 127, 128, 129, 255, 257]
const lengths = [...short, 1000, 4095, 4096, 4097, 65_535, 65_537, 300_001, 5_000_001]
const rounds = full ? 100 : 3
const built = new URL('../../../dist/web/libsodium.wasm', import.meta.url)

/** The answer of both; undefined if both refuse. */
function agreed<T>(ask: (one: Sodium) => T): T | undefined {
  const answer = outcomeOf(() => ask(sodium))
  const other = outcomeOf(() => ask(whole))
  // Many times as fast for long ones.
  if (answer instanceof Uint8Array && other instanceof Uint8Array) {
    expect(equalBytes(answer, other)).toBe(true)
  } else expect(answer).toEqual(other)
  return answer
}

function outcomeOf<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch {
    return undefined
  }
}

function flipped(bytes: Uint8Array, at = bytes.length >> 1): Uint8Array {
  return bytes.with(at, (bytes[at] ?? 0) ^ 4)
}

describe('published answers:', () => {
  test('Ed25519, RFC 8032 §7.1, test 3', () => {
    const seed = fromHex('c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7')
    const { publicKey, privateKey } = sodium.crypto_sign_seed_keypair(seed)
    const expected = 'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025'
    expect([toHex(publicKey), toHex(privateKey)]).toEqual([expected, toHex(seed) + expected])
    const message = fromHex('af82')
    const signature = sodium.crypto_sign_detached(message, privateKey)
    expect(toHex(signature)).toBe(
      '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac' +
        '18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
    )
    expect(sodium.crypto_sign_verify_detached(signature, message, publicKey)).toBe(true)
  })

  test('BLAKE2b, RFC 7693 appendix A', () => {
    expect(toHex(sodium.crypto_generichash(64, utf8('abc'), null))).toBe(
      'ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1' +
        '7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923',
    )
  })

  test('XChaCha20-Poly1305, draft-irtf-cfrg-xchacha §A.3.1', () => {
    const message = utf8(
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the " +
        'future, sunscreen would be it.',
    )
    const additional = fromHex('50515253c0c1c2c3c4c5c6c7')
    const key = Uint8Array.from({ length: 32 }, (_, index) => 0x80 + index)
    const nonce = Uint8Array.from({ length: 24 }, (_, index) => 0x40 + index)
    const expected =
      'bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb' +
      '731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452' +
      '2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9' +
      '21f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49'
    const encrypt = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt
    const decrypt = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt
    expect(toHex(encrypt(message, additional, null, nonce, key))).toBe(expected)
    expect(decrypt(null, fromHex(expected), additional, nonce, key)).toEqual(message)
  })

  test("another implementation's X-Wing and key derivation", () => {
    const seed = random(32)
    const { publicKey } = sodium.crypto_kem_xwing_seed_keypair(seed)
    expect(toHex(publicKey)).toBe(toHex(xwing.keygen(seed).publicKey))
    const seeds = random(64)
    const encapsulated = sodium.crypto_kem_xwing_enc_deterministic(publicKey, seeds)
    const { cipherText, sharedSecret } = xwing.encapsulate(publicKey, seeds)
    expect(encapsulated).toEqual({ ciphertext: cipherText, sharedSecret })
    expect(sodium.crypto_kem_xwing_dec(cipherText, seed)).toEqual(sharedSecret)

    const salt = Uint8Array.of(7, ...new Uint8Array(15))
    const personalization = Uint8Array.of(...utf8('GLK1test'), ...new Uint8Array(8))
    const derived = blake2b(new Uint8Array(), { dkLen: 32, key: seed, salt, personalization })
    expect(sodium.crypto_kdf_derive_from_key(32, 7, 'GLK1test', seed)).toEqual(derived)
  })
})

describe('as the package does, it', () => {
  test('hashes', { tags: 'slow' }, () => {
    for (const message of lengths.map(random)) {
      for (const length of [1, 16, 24, 32, 63, 64]) {
        agreed((one) => one.crypto_generichash(length, message, null))
        const key = random(16 + (message.length % 49))
        agreed((one) => one.crypto_generichash(length, message, key))
      }
    }
    for (const length of [0, 65]) {
      agreed((one) => one.crypto_generichash(length, utf8('a'), null))
      agreed((one) => one.crypto_generichash(32, utf8('a'), random(length)))
    }
  })

  test('seals and opens', { tags: 'slow' }, () => {
    for (const [at, message] of lengths.map(random).entries()) {
      const additional = random(short[(at * 7) % short.length] ?? 0)
      const [nonce, key] = [random(24), random(32)]
      const seal = (withKey: Uint8Array, withNonce: Uint8Array) =>
        agreed((one) =>
          one.crypto_aead_xchacha20poly1305_ietf_encrypt(
            message,
            additional,
            null,
            withNonce,
            withKey,
          ),
        )
      const open = (bytes: Uint8Array, bound = additional, withKey = key) =>
        agreed((one) =>
          one.crypto_aead_xchacha20poly1305_ietf_decrypt(null, bytes, bound, nonce, withKey),
        )
      const ciphertext = seal(key, nonce) ?? new Uint8Array()
      expect(equalBytes(open(ciphertext) ?? new Uint8Array(1), message)).toBe(true)
      expect(open(flipped(ciphertext))).toBeUndefined()
      expect(open(flipped(ciphertext, ciphertext.length - 1))).toBeUndefined()
      expect(open(ciphertext.subarray(1))).toBeUndefined()
      expect(open(ciphertext.subarray(0, 15))).toBeUndefined()
      expect(open(ciphertext, Uint8Array.of(...additional, 0))).toBeUndefined()
      expect(open(ciphertext, additional, flipped(key))).toBeUndefined()
      expect(open(ciphertext, additional, key.subarray(1))).toBeUndefined()
      expect(seal(key.subarray(1), nonce)).toBeUndefined()
      expect(seal(key, random(12))).toBeUndefined()
    }
  })

  test('derives keys', () => {
    const key = random(32)
    const derive = (length: number, id: number, context = 'GLK1test', from = key) =>
      agreed((one) => one.crypto_kdf_derive_from_key(length, id, context, from))
    for (const length of [16, 24, 32, 64]) {
      for (const id of [0, 1, 255, 65_536, 2 ** 31 - 1]) {
        expect(derive(length, id)).toHaveLength(length)
      }
    }
    expect(derive(32, -1)).toBeUndefined()
    expect(derive(32, 2 ** 31)).toBeUndefined()
    expect(derive(32, 1.5)).toBeUndefined()
    expect(derive(32, 1, 'short')).toBeUndefined()
    expect(derive(32, 1, 'too long a text')).toBeUndefined()
    expect(derive(32, 1, 'GLK1test', key.subarray(1))).toBeUndefined()
  })

  test('signs and verifies', { tags: 'slow' }, () => {
    for (const message of lengths.map(random)) {
      const seed = random(32)
      const { publicKey, privateKey } = sodium.crypto_sign_seed_keypair(seed)
      expect(whole.crypto_sign_seed_keypair(seed)).toMatchObject({ publicKey, privateKey })
      const signature = sodium.crypto_sign_detached(message, privateKey)
      expect(whole.crypto_sign_detached(message, privateKey)).toEqual(signature)
      const isValid = (text: Uint8Array, by: Uint8Array, key: Uint8Array) =>
        agreed((one) => one.crypto_sign_verify_detached(by, text, key))
      expect(isValid(message, signature, publicKey)).toBe(true)
      expect(isValid(Uint8Array.of(...message.subarray(0, 99), 1), signature, publicKey)).toBe(
        false,
      )
      expect(isValid(message, flipped(signature), publicKey)).toBe(false)
      expect(isValid(message, flipped(signature, 3), publicKey)).toBe(false)
      expect(isValid(message, signature, flipped(publicKey))).toBe(false)
      expect(isValid(message, signature, new Uint8Array(32))).toBe(false)
      expect(isValid(message, signature.subarray(1), publicKey)).toBeUndefined()
      expect(isValid(message, signature, publicKey.subarray(1))).toBeUndefined()
    }
    agreed((one) => one.crypto_sign_seed_keypair(random(31)))
    agreed((one) => one.crypto_sign_detached(utf8('a'), random(32)))
  })

  test('encapsulates and decapsulates', { tags: 'slow' }, () => {
    for (let round = 0; round < rounds; round += 1) {
      const [seed, encapsulation] = [random(32), random(64)]
      const { publicKey } = sodium.crypto_kem_xwing_seed_keypair(seed)
      expect(whole.crypto_kem_xwing_seed_keypair(seed).publicKey).toEqual(publicKey)
      const made = sodium.crypto_kem_xwing_enc_deterministic(publicKey, encapsulation)
      expect(whole.crypto_kem_xwing_enc_deterministic(publicKey, encapsulation)).toEqual(made)
      const decapsulate = (ciphertext: Uint8Array, by: Uint8Array) =>
        agreed((one) => one.crypto_kem_xwing_dec(ciphertext, by))
      const { ciphertext, sharedSecret } = made
      expect(decapsulate(ciphertext, seed)).toEqual(sharedSecret)
      expect(decapsulate(flipped(ciphertext), seed)).not.toEqual(sharedSecret)
      expect(decapsulate(flipped(ciphertext, 1100), seed)).not.toEqual(sharedSecret)
      expect(decapsulate(ciphertext, flipped(seed))).not.toEqual(sharedSecret)
      expect(decapsulate(random(1120), random(32))).toHaveLength(32)
      expect(decapsulate(ciphertext.subarray(1), seed)).toBeUndefined()
      expect(decapsulate(ciphertext, seed.subarray(1))).toBeUndefined()
    }
    agreed((one) => one.crypto_kem_xwing_seed_keypair(random(31)))
    agreed((one) => one.crypto_kem_xwing_enc_deterministic(random(1215), random(64)))
    // Not a key: its numbers are above the modulus.
    agreed((one) =>
      one.crypto_kem_xwing_enc_deterministic(new Uint8Array(1216).fill(255), random(64)),
    )
  })

  test('compares, and overwrites', () => {
    const bytes = random(40)
    expect(agreed((one) => one.memcmp(bytes, bytes.slice()))).toBe(true)
    expect(agreed((one) => one.memcmp(bytes, flipped(bytes)))).toBe(false)
    expect(agreed((one) => one.memcmp(bytes, bytes.subarray(1)))).toBeUndefined()
    sodium.memzero(bytes.subarray(0, 20))
    expect(bytes.subarray(0, 20)).toEqual(new Uint8Array(20))
    wipe(bytes)
    expect(bytes).toEqual(new Uint8Array(40))
  })
})

test('a call leaves no key and no text in the memory of the module', () => {
  const [message, key, nonce, seed] = [random(4000), random(32), random(24), random(32)]
  const seal = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt
  const open = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt
  const ciphertext = seal(message, nonce, null, nonce, key)
  open(null, ciphertext, nonce, nonce, key)
  expect(() => open(null, ciphertext, key, nonce, key)).toThrow(/refused/)
  const { privateKey } = sodium.crypto_sign_seed_keypair(seed)
  sodium.crypto_sign_detached(message, privateKey)
  sodium.crypto_kdf_derive_from_key(32, 1, 'GLK1test', seed)
  sodium.crypto_generichash(32, message, key)
  const memory = Buffer.from(native.memory.buffer)
  for (const secret of [message.subarray(0, 64), message.subarray(-64), key, seed, privateKey]) {
    expect(memory.includes(Buffer.from(secret))).toBe(false)
  }
})

describe('the reduced module', () => {
  test('is built, and exports the functions that are called', () => {
    const bytes = sodiumModule()
    expect(readFileSync(built).equals(bytes)).toBe(true)
    const exported = engine.Module.exports(new engine.Module(bytes))
    expect(exported.map(({ name }) => name)).toContain('memory')
    expect(exported).toHaveLength(14)
  })

  test('keeps every section, and the body of each function or a trap', () => {
    const { bytes } = readLibsodium()
    const [before, after] = [sectionsOf(bytes), sectionsOf(sodiumModule())]
    expect([...after.keys()]).toEqual([...before.keys()])
    for (const [id, content] of after) {
      if (id !== 7 && id !== 10)
        expect(content.equals(before.get(id) ?? content.subarray(1))).toBe(true)
    }
    const [bodies, kept] = [before, after].map((sections) => bodiesIn(sections.get(10)))
    const trap = Buffer.of(0, 0, 0x0b)
    const changed = kept?.filter((body, at) => !bodies?.[at]?.equals(body)) ?? []
    expect(kept).toHaveLength(bodies?.length ?? 0)
    expect(changed.length).toBeGreaterThan(200)
    expect(changed.every((body) => body.equals(trap))).toBe(true)
  })

  test('is refused without an export in use, and of an unknown form', () => {
    const { bytes, names } = readLibsodium()
    const reduce = (module: Buffer, name = names.get('free') ?? '') =>
      reduceModule(module, { [name]: 'free' })
    expect(() => reduce(bytes, 'gone')).toThrow('libsodium does not export free')
    expect(() => reduce(bytes.subarray(0, -1))).toThrow('ends too early')
    expect(() => reduce(bytes.subarray(1))).toThrow('not WebAssembly')
    expect(() => reduce(Buffer.concat([bytes, Buffer.of(8, 1, 1)]))).toThrow('section 8')
    const reduced = (instruction: number) => reduceModule(moduleWith(instruction), { f: 'g' })
    expect(engine.Module.exports(new engine.Module(reduced(0x01)))).toMatchObject([{ name: 'g' }])
    expect(() => reduced(0xfb)).toThrow('instruction 251')
  })
})

/** A module that exports a function of one instruction as `f`. */
function moduleWith(instruction: number): Buffer {
  const magic = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]
  const [types, functions, exported] = [
    [1, 4, 1, 0x60, 0, 0],
    [3, 2, 1, 0],
    [7, 5, 1, 1, 0x66, 0, 0],
  ]
  return Buffer.of(...magic, ...types, ...functions, ...exported, 10, 5, 1, 3, 0, instruction, 0x0b)
}

function sectionsOf(bytes: Buffer): Map<number, Buffer> {
  const sections = new Map<number, Buffer>()
  for (let at = 8; at < bytes.length;) {
    const { start, end } = spanAt(bytes, at + 1)
    sections.set(bytes[at] ?? -1, bytes.subarray(start, end))
    at = end
  }
  return sections
}

function bodiesIn(section: Buffer = Buffer.of()): Buffer[] {
  const bodies = []
  const { start: first } = spanAt(section, 0)
  for (let at = first; at < section.length;) {
    const { start, end } = spanAt(section, at)
    bodies.push(section.subarray(start, end))
    at = end
  }
  return bodies
}

/** What a length in LEB128 at `at` spans. */
function spanAt(bytes: Buffer, at: number): { readonly start: number; readonly end: number } {
  let start = at
  let length = 0
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[start] ?? 0
    length |= (byte & 127) << shift
    start += 1
    if (byte < 128) return { start, end: start + length }
  }
}
