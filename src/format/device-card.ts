// The device card (FORMAT §1.4): the public half of an identity, as text that is copied to another
// machine. The signature binds both keys, so that the fingerprint, a hash of the signing key only,
// also authenticates the key that the store's secrets are sealed to.

import { concatBytes, label } from '../bytes.ts'
import { encapsulate, type KemKeyPair, kemPublicKeyLength } from '../crypto/recipient.ts'
import { sign, type SigningKeyPair, verifySignature } from '../crypto/signature.ts'
import { StoreError } from '../errors.ts'
import { type CheckedText, decodeChecked, encodeChecked } from './checked-text.ts'
import { deviceIdOf, formatId } from './id.ts'

/** The keys of a device: an identity, or its public half. */
export interface DeviceKeys {
  /** 32 hex digits; the fingerprint is `formatId('device', …)` of it. */
  readonly deviceId: string
  readonly signing: Pick<SigningKeyPair, 'publicKey'>
  readonly kem: Pick<KemKeyPair, 'publicKey'>
}

const SIGNING_KEY_LENGTH = 32
const SIGNATURE_LENGTH = 64
const KEYS_LENGTH = SIGNING_KEY_LENGTH + kemPublicKeyLength
const form: CheckedText = {
  prefix: 'GITLOCKET-DEVICE-1-',
  label: label('GLK1/device-card-text/v1'),
  length: KEYS_LENGTH + SIGNATURE_LENGTH,
  checksum: 3,
}
const SIGNATURE_LABEL = label('GLK1/device-card/v1')
const LINE_WIDTH = 76

/**
 * Formats the card of an identity: a comment with the fingerprint, and lines of at most 76
 * characters. It contains no secret, but must not be replaced on its way.
 */
export function formatDeviceCard(
  identity: DeviceKeys & { readonly signing: SigningKeyPair },
): string {
  const keys = concatBytes(identity.signing.publicKey, identity.kem.publicKey)
  const signature = sign(concatBytes(SIGNATURE_LABEL, keys), identity.signing)
  const text = form.prefix + encodeChecked(form, concatBytes(keys, signature))
  const lines = text.match(new RegExp(`.{1,${LINE_WIDTH}}`, 'g')) ?? []
  const device = formatId('device', identity.deviceId)
  return [`# gitlocket device card of ${device}`, ...lines, ''].join('\n')
}

/** Parses a card; lines that start with # are comments. Throws `invalid_input`. */
export function parseDeviceCard(text: string): DeviceKeys {
  const lines = text.split('\n').map((line) => line.trim())
  const digits = lines.filter((line) => !line.startsWith('#')).join('')
  const bytes = decodeChecked(form, digits)
  if (bytes === undefined) throw invalid('The device card is damaged or incomplete')
  const keys = bytes.subarray(0, KEYS_LENGTH)
  const signingKey = keys.slice(0, SIGNING_KEY_LENGTH)
  const kemKey = keys.slice(SIGNING_KEY_LENGTH)
  checkSignature(keys, bytes.subarray(KEYS_LENGTH), signingKey)
  checkKemKey(kemKey)
  return {
    deviceId: deviceIdOf(signingKey),
    signing: { publicKey: signingKey },
    kem: { publicKey: kemKey },
  }
}

function checkSignature(keys: Uint8Array, signature: Uint8Array, signingKey: Uint8Array): void {
  try {
    verifySignature(concatBytes(SIGNATURE_LABEL, keys), signature, signingKey)
  } catch (error) {
    throw invalid('The keys of the device card do not belong together', error)
  }
}

/** A key that nothing can be sealed to would block every later change of the store's keyring. */
function checkKemKey(kemKey: Uint8Array): void {
  try {
    encapsulate(kemKey, (length) => new Uint8Array(length))
  } catch (error) {
    throw invalid('The device card holds an invalid encryption key', error)
  }
}

function invalid(message: string, cause?: unknown): StoreError {
  return new StoreError('invalid_input', message, { cause })
}
