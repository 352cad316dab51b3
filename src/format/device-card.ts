// The device card (FORMAT §1.4): the public half of an identity, as text that is copied to another
// machine. The signature binds both keys, so that the fingerprint, a hash of the signing key only,
// also authenticates the key that the store's secrets are sealed to.

import { concatBytes, isZero, label, utf8, utf8Text } from '../bytes.ts'
import { encapsulate, type KemKeyPair, kemPublicKeyLength } from '../crypto/recipient.ts'
import { sign, type SigningKeyPair, verifySignature } from '../crypto/signature.ts'
import { StoreError } from '../errors.ts'
import { deviceNameBytesMax } from '../limits.ts'
import { type CheckedText, decodeChecked, encodeChecked } from './checked-text.ts'
import { checkDeviceName, checkNewDeviceName } from './device-name.ts'
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
const SIGNED_LENGTH = KEYS_LENGTH + deviceNameBytesMax
const form: CheckedText = {
  prefix: 'GITLOCKET-DEVICE-1-',
  label: label('GLK1/device-card-text/v1'),
  length: SIGNED_LENGTH + SIGNATURE_LENGTH,
  checksum: 2,
}
const SIGNATURE_LABEL = label('GLK1/device-card/v1')
const LINE_WIDTH = 76

/** What a card says. */
export interface DeviceCard extends DeviceKeys {
  /** FORMAT §1.5; may be empty. */
  readonly name: string
}

/**
 * Formats the card of an identity: a comment with the fingerprint, and lines of at most 76
 * characters. It contains no secret, but must not be replaced on its way. Throws `invalid_input`
 * for a name that devices cannot have.
 */
export function formatDeviceCard(
  identity: DeviceKeys & { readonly signing: SigningKeyPair },
  { name = '' }: { readonly name?: string } = {},
): string {
  const field = new Uint8Array(deviceNameBytesMax)
  field.set(utf8(checkNewDeviceName(name)))
  const signed = concatBytes(identity.signing.publicKey, identity.kem.publicKey, field)
  const signature = sign(concatBytes(SIGNATURE_LABEL, signed), identity.signing)
  const text = form.prefix + encodeChecked(form, concatBytes(signed, signature))
  const lines = text.match(new RegExp(`.{1,${LINE_WIDTH}}`, 'g')) ?? []
  const device = formatId('device', identity.deviceId)
  return [`# gitlocket device card of ${device}`, ...lines, ''].join('\n')
}

/** Parses a card; lines that start with # are comments. Throws `invalid_input`. */
export function parseDeviceCard(text: string): DeviceCard {
  const lines = text.split('\n').map((line) => line.trim())
  const digits = lines.filter((line) => !line.startsWith('#')).join('')
  const bytes = decodeChecked(form, digits)
  if (bytes === undefined) throw invalid('The device card is damaged or incomplete')
  const signed = bytes.subarray(0, SIGNED_LENGTH)
  const signingKey = bytes.slice(0, SIGNING_KEY_LENGTH)
  const kemKey = bytes.slice(SIGNING_KEY_LENGTH, KEYS_LENGTH)
  checkSignature(signed, bytes.subarray(SIGNED_LENGTH), signingKey)
  checkKemKey(kemKey)
  return {
    deviceId: deviceIdOf(signingKey),
    signing: { publicKey: signingKey },
    kem: { publicKey: kemKey },
    name: readName(signed.subarray(KEYS_LENGTH)),
  }
}

/** The name fills its field with zero bytes. */
function readName(field: Uint8Array): string {
  const end = field.indexOf(0)
  const length = end === -1 ? field.length : end
  if (!isZero(field.subarray(length))) throw invalid('The name in the device card is malformed')
  try {
    return checkDeviceName(utf8Text(field.subarray(0, length)))
  } catch (error) {
    throw invalid('The name in the device card is not allowed', error)
  }
}

function checkSignature(signed: Uint8Array, signature: Uint8Array, signingKey: Uint8Array): void {
  try {
    verifySignature(concatBytes(SIGNATURE_LABEL, signed), signature, signingKey)
  } catch (error) {
    throw invalid('The keys of the device card do not belong together', error)
  }
}

/** A key that nothing can be sealed to would block every later change of the store's keyring. */
function checkKemKey(kemKey: Uint8Array): void {
  try {
    encapsulate(kemKey, new Uint8Array(64))
  } catch (error) {
    throw invalid('The device card holds an invalid encryption key', error)
  }
}

function invalid(message: string, cause?: unknown): StoreError {
  return new StoreError('invalid_input', message, { cause })
}
