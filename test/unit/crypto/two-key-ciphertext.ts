// A ciphertext that authenticates under two keys of a bare Poly1305 AEAD: the attack that the key
// commitment of FORMAT §3 is there for. One block is chosen so that both polynomials end in one
// tag.

const P = 2n ** 130n - 5n
const BLOCK = 2n ** 128n
const CLAMP = 0x0ffffffc0ffffffc0ffffffc0fffffffn

export interface TwoKeyInput {
  /** The first 32 bytes of each key's stream: the one-time Poly1305 keys. */
  readonly polyKeys: readonly Uint8Array[]
  readonly associatedData: Uint8Array
}

/** ciphertext ‖ tag; the plaintexts under the two keys are noise, which is enough. */
export function forgeTwoKeyCiphertext({ polyKeys, associatedData }: TwoKeyInput): Uint8Array {
  const keys = polyKeys.map(readKey)
  for (let attempt = 0; attempt < 4096; attempt++) {
    const filler = toBytes(BigInt(attempt), 16)
    for (let wraps = -4n; wraps <= 4n; wraps++) {
      const block = solve(keys, associatedData, filler, wraps)
      if (block === undefined) continue
      const ciphertext = join(filler, block)
      const [first, second] = keys.map((key) => tagOf(key, associatedData, ciphertext))
      if (first !== undefined && first === second) return join(ciphertext, toBytes(first, 16))
    }
  }
  throw new Error('No such ciphertext was found')
}

interface PolyKey {
  readonly r: bigint
  readonly s: bigint
}

/** The second block that brings the sums of both keys `wraps` × 2^128 apart, if it is a block. */
function solve(
  keys: readonly PolyKey[],
  associatedData: Uint8Array,
  filler: Uint8Array,
  wraps: bigint,
): Uint8Array | undefined {
  const [a, b] = keys
  if (a === undefined || b === undefined) throw new Error('Two keys are needed')
  // With a block of zeros the sums are constants; a block x adds x · r²: two factors follow it.
  const zero = join(filler, new Uint8Array(16))
  const difference =
    b.s - a.s + wraps * BLOCK + sumOf(b, associatedData, zero) - sumOf(a, associatedData, zero)
  const slope = modulo(a.r * a.r - b.r * b.r)
  const x = modulo(difference * inverse(slope))
  return x < BLOCK ? toBytes(x, 16) : undefined
}

function tagOf(key: PolyKey, associatedData: Uint8Array, ciphertext: Uint8Array): bigint {
  return (sumOf(key, associatedData, ciphertext) + key.s) % BLOCK
}

/** The Poly1305 accumulator over the input of RFC 8439 §2.8. */
function sumOf(key: PolyKey, associatedData: Uint8Array, ciphertext: Uint8Array): bigint {
  const lengths = join(
    toBytes(BigInt(associatedData.length), 8),
    toBytes(BigInt(ciphertext.length), 8),
  )
  const input = join(padded(associatedData), join(padded(ciphertext), lengths))
  let sum = 0n
  for (let at = 0; at < input.length; at += 16) {
    sum = modulo((sum + fromBytes(input.subarray(at, at + 16)) + BLOCK) * key.r)
  }
  return sum
}

function readKey(bytes: Uint8Array): PolyKey {
  return { r: fromBytes(bytes.subarray(0, 16)) & CLAMP, s: fromBytes(bytes.subarray(16, 32)) }
}

function padded(bytes: Uint8Array): Uint8Array {
  return join(bytes, new Uint8Array((16 - (bytes.length % 16)) % 16))
}

function inverse(value: bigint): bigint {
  let [base, exponent, result] = [modulo(value), P - 2n, 1n]
  for (; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = modulo(result * base)
    base = modulo(base * base)
  }
  return result
}

function modulo(value: bigint): bigint {
  return ((value % P) + P) % P
}

/** Little-endian. */
function fromBytes(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n)
}

function toBytes(value: bigint, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => Number((value >> BigInt(8 * index)) & 255n))
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  return Uint8Array.from([...a, ...b])
}
