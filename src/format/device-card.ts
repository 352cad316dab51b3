// The device card (FORMAT §1.4): the public half of an identity, as text that is copied to another
// machine. The device's signatures bind keys and name, so that the fingerprint, a hash of the
// signing key only, also authenticates the key that the store's secrets are sealed to.

import { concatBytes, isZero, label, utf8, utf8Text } from '../bytes.ts'
import { encapsulate, kemPublicKeyLength } from '../crypto/recipient.ts'
import { sign, type SigningKeyPair, verifySignature } from '../crypto/signature.ts'
import { StoreError } from '../errors.ts'
import { deviceNameBytesMax } from '../limits.ts'
import { type CheckedText, decodeChecked, encodeChecked } from './checked-text.ts'
import { type DeviceKeys, type SignedKeys, verifyDeviceKeys } from './device-keys.ts'
import { checkDeviceName, checkNewDeviceName } from './device-name.ts'
import { deviceIdOf, formatId } from './id.ts'

const SIGNING_KEY_LENGTH = 32
const SIGNATURE_LENGTH = 64
const KEYS_LENGTH = SIGNING_KEY_LENGTH + kemPublicKeyLength
const NAME_AT = KEYS_LENGTH + SIGNATURE_LENGTH
const SIGNED_LENGTH = NAME_AT + deviceNameBytesMax
const form: CheckedText = {
  prefix: 'GITLOCKET-DEVICE-1-',
  label: label('GLK1/device-card-text/v1'),
  length: SIGNED_LENGTH + SIGNATURE_LENGTH,
  checksum: 3,
}
const SIGNATURE_LABEL = label('GLK1/device-card/v1')
const LINE_WIDTH = 76

/** The contents of a card. */
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
  const { signing, kem, keySignature } = identity
  const signed = concatBytes(signing.publicKey, kem.publicKey, keySignature, field)
  const signature = sign(concatBytes(SIGNATURE_LABEL, signed), signing)
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
  const keySignature = bytes.slice(KEYS_LENGTH, NAME_AT)
  checkSignatures({ signingKey, kemKey, keySignature }, signed, bytes.subarray(SIGNED_LENGTH))
  checkKemKey(kemKey)
  return {
    deviceId: deviceIdOf(signingKey),
    signing: { publicKey: signingKey },
    kem: { publicKey: kemKey },
    keySignature,
    name: readName(signed.subarray(NAME_AT)),
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

function checkSignatures(keys: SignedKeys, signed: Uint8Array, signature: Uint8Array): void {
  try {
    verifyDeviceKeys(keys)
    verifySignature(concatBytes(SIGNATURE_LABEL, signed), signature, keys.signingKey)
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
