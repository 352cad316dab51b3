// The public keys of a device, and its own signature over them (FORMAT §1.4), which cards and
// directories carry: no one else can put another X-Wing key next to its Ed25519 key.

import { concatBytes, equalBytes, label } from '../bytes.ts'
import type { KemKeyPair } from '../crypto/recipient.ts'
import { sign, type SigningKeyPair, verifySignature } from '../crypto/signature.ts'

/** The keys of a device: an identity, or its public half. */
export interface DeviceKeys {
  /** 32 hex digits; the fingerprint is `formatId('device', …)` of it. */
  readonly deviceId: string
  readonly signing: Pick<SigningKeyPair, 'publicKey'>
  readonly kem: Pick<KemKeyPair, 'publicKey'>
  /** 64 bytes, by the device over both keys. */
  readonly keySignature: Uint8Array
}

/** 32, 1216 and 64 bytes. */
export interface SignedKeys {
  readonly signingKey: Uint8Array
  readonly kemKey: Uint8Array
  readonly keySignature: Uint8Array
}

const LABEL = label('GLK1/device-keys/v1')

/** The key signature of a device. */
export function signDeviceKeys(
  signing: SigningKeyPair,
  { publicKey }: Pick<KemKeyPair, 'publicKey'>,
): Uint8Array {
  return sign(concatBytes(LABEL, signing.publicKey, publicKey), signing)
}

/** Signatures count: two of one device may both verify. */
export function areSameKeys(a: SignedKeys, b: SignedKeys): boolean {
  return (
    equalBytes(a.signingKey, b.signingKey) &&
    equalBytes(a.kemKey, b.kemKey) &&
    equalBytes(a.keySignature, b.keySignature)
  )
}

/** Throws if the device has not signed these keys. */
export function verifyDeviceKeys({ signingKey, kemKey, keySignature }: SignedKeys): void {
  verifySignature(concatBytes(LABEL, signingKey, kemKey), keySignature, signingKey)
}
