// FORMAT §6.1 and §6.3: Ed25519 as libsodium verifies it. The rules are spelled out, since
// verifiers differ: the equation is checked without the cofactor by comparing the bytes of R, S is
// below the group order, encodings are canonical, and neither R nor the public key has small order.
// (noble's own `verify` multiplies by the cofactor, and so accepts signatures that libsodium
// refuses.)

import { ed25519 } from '@noble/curves/ed25519.js'
import { concat, equal, toHex } from './bytes.ts'
import { sha512 } from './hash.ts'
import { type Refusal, refuse } from './refusal.ts'
import { remembered } from './remembered.ts'

const { Point } = ed25519
const groupOrder = Point.Fn.ORDER

export const publicKeyOf: (seed: Uint8Array) => Uint8Array = remembered((seed) => {
  return ed25519.getPublicKey(seed)
})

export const sign: (message: Uint8Array, seed: Uint8Array) => Uint8Array = remembered(
  (message, seed) => ed25519.sign(message, seed),
)

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(bytes.toReversed())}`)
}

function point(bytes: Uint8Array): InstanceType<typeof Point> | undefined {
  try {
    return Point.fromBytes(bytes, false)
  } catch {
    return undefined
  }
}

/** Refuses with `kind`. */
export function verifySignature(
  message: Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
  kind: Refusal = 'device_signature_invalid',
): void {
  const problem = problemOf(message, signature, publicKey)
  if (problem !== undefined) refuse(kind, problem)
}

const problemOf: (
  message: Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
) => string | undefined = remembered((message, signature, publicKey) => {
  if (signature.length !== 64) return 'A signature has 64 bytes'
  const [r, s] = [signature.slice(0, 32), littleEndian(signature.slice(32))]
  if (s >= groupOrder) return 'S is not reduced'
  const [R, A] = [point(r), point(publicKey)]
  if (R === undefined || A === undefined) return 'A point is not in its canonical encoding'
  if (R.isSmallOrder() || A.isSmallOrder()) return 'A point has small order'
  const k = littleEndian(sha512(concat(r, publicKey, message))) % groupOrder
  const expected = Point.BASE.multiplyUnsafe(s).subtract(A.multiplyUnsafe(k))
  return equal(expected.toBytes(), r) ? undefined : 'The signature is not the key’s'
})
