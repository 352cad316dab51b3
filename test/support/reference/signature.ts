// FORMAT §6.1 and §6.3: Ed25519 as libsodium verifies it. The rules are spelled out, since
// verifiers differ: the equation is checked without the cofactor by comparing the bytes of R, S is
// below the group order, encodings are canonical, and neither R nor the public key has small order.
// (noble's own `verify` multiplies by the cofactor, and so accepts signatures that libsodium
// refuses.)

import { ed25519 } from '@noble/curves/ed25519.js'
import { concat, equal, toHex } from './bytes.ts'
import { sha512 } from './hash.ts'
import { ensure, type Refusal, refuse } from './refusal.ts'

const { Point } = ed25519
const groupOrder = Point.Fn.ORDER

export function publicKeyOf(seed: Uint8Array): Uint8Array {
  return ed25519.getPublicKey(seed)
}

export function sign(message: Uint8Array, seed: Uint8Array): Uint8Array {
  return ed25519.sign(message, seed)
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(bytes.toReversed())}`)
}

function point(bytes: Uint8Array, kind: Refusal): InstanceType<typeof Point> {
  try {
    return Point.fromBytes(bytes, false)
  } catch {
    return refuse(kind, 'A point is not in its canonical encoding')
  }
}

/** Refuses with `kind`. */
export function verifySignature(
  message: Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
  kind: Refusal = 'device_signature_invalid',
): void {
  ensure(signature.length === 64, kind, 'A signature has 64 bytes')
  const [r, s] = [signature.slice(0, 32), littleEndian(signature.slice(32))]
  ensure(s < groupOrder, kind, 'S is not reduced')
  const [R, A] = [point(r, kind), point(publicKey, kind)]
  ensure(!R.isSmallOrder() && !A.isSmallOrder(), kind, 'A point has small order')
  const k = littleEndian(sha512(concat(r, publicKey, message))) % groupOrder
  const expected = Point.BASE.multiplyUnsafe(s).subtract(A.multiplyUnsafe(k))
  ensure(equal(expected.toBytes(), r), kind, 'The signature is not the key’s')
}
