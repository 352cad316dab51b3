// FORMAT §1.4 and §1.5: device cards, the public half of an identity, and the names of devices.

import { concat, label, utf8, utf8Text, zeros } from './bytes.ts'
import { checksum, deviceIdOf, type Identity, readTyped, toBase32 } from './identity.ts'
import { encapsulate, kemPublicKey } from './kem.ts'
import { ensure, type Refusal, refuse } from './refusal.ts'
import { publicKeyOf, sign, verifySignature } from './signature.ts'

const nameBytes = 256

/** The name, if it is one. White space at an end is of category Zs: the rest is never allowed. */
export function checkDeviceName(name: string, kind: Refusal): string {
  ensure(Array.from(name).length <= 64, kind, 'A device name has at most 64 code points')
  ensure(!/\p{Cs}/u.test(name), kind, 'A device name has a lone surrogate')
  ensure(name.normalize('NFC') === name, kind, 'A device name is not in NFC')
  const refused = /[\p{Cc}\p{Cf}\u2028\u2029]/u.test(name)
  ensure(!refused, kind, 'A device name has a character that shows nothing')
  ensure(!/^\p{Zs}|\p{Zs}$/u.test(name), kind, 'A device name begins or ends with white space')
  return name
}

export interface DeviceCard {
  readonly deviceId: string
  readonly signingKey: Uint8Array
  readonly kemKey: Uint8Array
  readonly name: string
}

const cardForm = {
  prefix: 'GITLOCKET-DEVICE-1-',
  name: 'GLK1/device-card-text/v1',
  length: 1568,
  check: 2,
}

/** What the card's signature signs. */
function signedMessage(keysAndName: Uint8Array): Uint8Array {
  return concat(label('GLK1/device-card/v1'), keysAndName)
}

export function formatDeviceCard(identity: Identity, name: string): string {
  const filled = concat(utf8(name), zeros(nameBytes - utf8(name).length))
  const keys = concat(publicKeyOf(identity.signingSeed), kemPublicKey(identity.kemSeed))
  const keysAndName = concat(keys, filled)
  const card = concat(keysAndName, sign(signedMessage(keysAndName), identity.signingSeed))
  const whole = concat(card, checksum(cardForm.name, card, 2))
  return cardForm.prefix + toBase32(whole, 2512).toUpperCase()
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
  const filled = card.slice(1248, 1504)
  verifySignature(signedMessage(card.slice(0, 1504)), card.slice(1504), signingKey)
  const name = utf8Text(filled, 'invalid_identity').replace(/\0+$/, '')
  checkDeviceName(name, 'invalid_identity')
  const sealable = encapsulate(kemKey, zeros(64)) !== undefined
  ensure(sealable, 'invalid_identity', 'Nothing can be sealed to the X-Wing key')
  return { deviceId: deviceIdOf(signingKey), signingKey, kemKey, name }
}
