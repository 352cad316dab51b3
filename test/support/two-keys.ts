// One ciphertext that XChaCha20-Poly1305 opens under two keys: what an AEAD without key commitment
// allows, and what the key commitment of FORMAT §3 is there for. Two blocks of the ciphertext are
// chosen so that Poly1305 gives one tag under both keys: two linear equations modulo 2^130 - 5.

import { xchacha20, xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import { concatBytes } from '../../src/bytes.ts'

const p = 2n ** 130n - 5n
const block = 2n ** 128n

interface Authenticator {
  readonly r: bigint
  readonly s: bigint
}

/** ciphertext ‖ tag, of `blocks` blocks of 16 bytes. Every attempt succeeds with 1 in 16. */
export function twoKeyCiphertext(
  keys: readonly [Uint8Array, Uint8Array],
  nonce: Uint8Array,
  associated: Uint8Array,
  blocks: number,
): Uint8Array {
  const [one, two] = [authenticator(keys[0], nonce), authenticator(keys[1], nonce)]
  for (let attempt = 0n; attempt < 4096n; attempt += 1n) {
    const tag = (attempt * 0x9e3779b97f4a7c15f39cc0605cedc834n) % block
    const found = solve(one, two, tag, { associated, blocks, attempt })
    if (found === undefined) continue
    const sealed = concatBytes(found, bytesOf(tag))
    xchacha20poly1305(keys[0], nonce, associated).decrypt(sealed)
    xchacha20poly1305(keys[1], nonce, associated).decrypt(sealed)
    return sealed
  }
  throw new Error('No ciphertext was found')
}

function authenticator(key: Uint8Array, nonce: Uint8Array): Authenticator {
  const stream = xchacha20(key, nonce, new Uint8Array(32))
  const clamp = 0x0ffffffc0ffffffc0ffffffc0fffffffn
  return { r: numberOf(stream.subarray(0, 16)) & clamp, s: numberOf(stream.subarray(16)) }
}

function solve(
  one: Authenticator,
  two: Authenticator,
  tag: bigint,
  text: { associated: Uint8Array; blocks: number; attempt: bigint },
): Uint8Array | undefined {
  const { associated, blocks, attempt } = text
  const padded = associated.length + ((16 - (associated.length % 16)) % 16)
  const head = concatBytes(associated, new Uint8Array(padded - associated.length))
  const filler = new Uint8Array(16 * (blocks - 2))
  const lengths = concatBytes(
    bytesOf(BigInt(associated.length)).subarray(0, 8),
    bytesOf(BigInt(16 * blocks)).subarray(0, 8),
  )
  // The polynomial is fixed + x·r^3 + y·r^2, with the length block at r^1.
  const known = concatBytes(head, filler, new Uint8Array(32), lengths)
  const wanted = [one, two].map(({ r, s }) => {
    const offset = (attempt % 3n) * block
    const target = ((((tag - s) % block) + block) % block) + offset
    return mod(target - evaluate(known, r, (head.length + filler.length) / 16))
  })
  const [a, b] = [power(one.r, 3n), power(one.r, 2n)]
  const [c, d] = [power(two.r, 3n), power(two.r, 2n)]
  const [e = 0n, f = 0n] = wanted
  const inverse = power(mod(a * d - b * c), p - 2n)
  const x = mod((e * d - b * f) * inverse) - block
  const y = mod((a * f - e * c) * inverse) - block
  const fits = x >= 0n && x < block && y >= 0n && y < block
  return fits ? concatBytes(filler, bytesOf(x), bytesOf(y)) : undefined
}

/** Poly1305 over whole blocks, but for the two blocks from `free` on, which are treated as zero. */
function evaluate(bytes: Uint8Array, r: bigint, free: number): bigint {
  let sum = 0n
  for (let index = 0; index < bytes.length / 16; index += 1) {
    const isFree = index === free || index === free + 1
    const value = isFree ? 0n : numberOf(bytes.subarray(16 * index, 16 * index + 16)) + block
    sum = mod((sum + value) * r)
  }
  return sum
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (let bits = exponent, square = mod(base); bits > 0n; bits >>= 1n) {
    if (bits & 1n) result = mod(result * square)
    square = mod(square * square)
  }
  return result
}

function mod(value: bigint): bigint {
  return ((value % p) + p) % p
}

function numberOf(littleEndian: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(littleEndian.toReversed()).toString('hex')}`)
}

function bytesOf(value: bigint): Uint8Array {
  return new Uint8Array(Buffer.from(value.toString(16).padStart(32, '0'), 'hex')).toReversed()
}
