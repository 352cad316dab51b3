// FORMAT §1.4 and §1.5: device cards, the public half of an identity, and the names of devices.

import { concat, label, utf8Text, zeros } from './bytes.ts'
import { hasForbidden, hasSpaceAtEnd, isWellFormed } from './characters.ts'
import { deviceIdOf, readTyped } from './identity.ts'
import { encapsulate } from './kem.ts'
import { ensure, type Refusal, refuse } from './refusal.ts'
import { verifySignature } from './signature.ts'

/** The name as readers check it, if it is one. 64 code points have at most 256 bytes. */
export function checkDeviceName(name: string, kind: Refusal): string {
  ensure(Array.from(name).length <= 64, kind, 'A device name has at most 64 code points')
  ensure(isWellFormed(name), kind, 'A device name has a lone surrogate')
  ensure(!hasForbidden(name), kind, 'A device name has a forbidden character')
  ensure(!hasSpaceAtEnd(name), kind, 'A device name begins or ends with white space')
  return name
}

/** The public keys of a device, which it has signed itself. */
export interface DeviceKeys {
  /** Ed25519. */
  readonly signingKey: Uint8Array
  /** X-Wing. */
  readonly kemKey: Uint8Array
  /** 64 bytes. */
  readonly keySignature: Uint8Array
}

function keysMessage(signingKey: Uint8Array, kemKey: Uint8Array): Uint8Array {
  return concat(label('GLK1/device-keys/v1'), signingKey, kemKey)
}

/** Refuses with `kind` keys that the device has not signed. */
export function checkDeviceKeys(
  { signingKey, kemKey, keySignature }: DeviceKeys,
  kind: Refusal,
): void {
  verifySignature(keysMessage(signingKey, kemKey), keySignature, signingKey, kind)
}

export interface DeviceCard extends DeviceKeys {
  readonly deviceId: string
  readonly name: string
}

const cardForm = {
  prefix: 'GITLOCKET-DEVICE-1-',
  name: 'GLK1/device-card-text/v1',
  length: 1632,
  check: 3,
}

/** What the card signature signs: keys, key signature and name follow the label. */
function signedMessage(signed: Uint8Array): Uint8Array {
  return concat(label('GLK1/device-card/v1'), signed)
}

/** Else `invalid_input`, whatever is wrong. */
export function parseDeviceCard(file: string): DeviceCard {
  try {
    return readCard(file)
  } catch {
    return refuse('invalid_input', 'The text is not a device card')
  }
}

function readCard(file: string): DeviceCard {
  const lines = file.split('\n').map((line) => line.trim())
  const card = readTyped(lines.filter((line) => !line.startsWith('#')).join(''), cardForm)
  const [signingKey, kemKey] = [card.slice(0, 32), card.slice(32, 1248)]
  const [keySignature, filled] = [card.slice(1248, 1312), card.slice(1312, 1568)]
  const keys = { signingKey, kemKey, keySignature }
  checkDeviceKeys(keys, 'invalid_input')
  verifySignature(signedMessage(card.slice(0, 1568)), card.slice(1568), signingKey)
  const name = utf8Text(filled, 'invalid_input').replace(/\0+$/, '')
  checkDeviceName(name, 'invalid_input')
  const sealable = encapsulate(kemKey, zeros(64)) !== undefined
  ensure(sealable, 'invalid_input', 'Nothing can be sealed to the X-Wing key')
  return { deviceId: deviceIdOf(signingKey), ...keys, name }
}
