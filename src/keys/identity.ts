// A device's secret (FORMAT §1.3): generated here, written and read as text, never printed.

import { label, concatBytes, equalBytes } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import { systemRandom } from '../crypto/random.ts'
import type { Random } from '../crypto/random.ts'
import { kemKeyPair } from '../crypto/recipient.ts'
import type { KemKeyPair } from '../crypto/recipient.ts'
import { signingKeyPair } from '../crypto/signature.ts'
import type { SigningKeyPair } from '../crypto/signature.ts'
import { StoreError } from '../errors.ts'
import { decodeBase32, encodeBase32 } from '../format/base32.ts'
import { deviceIdOf, formatId } from '../format/id.ts'

/** The secret of a device. Keep it in a file that nobody else can read, outside every store. */
export interface Identity {
  /** 32 hex digits; `formatId('device', …)` of it is the fingerprint. */
  readonly deviceId: string
  readonly signing: SigningKeyPair
  readonly kem: KemKeyPair
  /** 32 bytes, for what only this device reads. */
  readonly localSecret: Uint8Array
  /** The 96 bytes that everything above comes from. */
  readonly secret: Uint8Array
}

const IDENTITY_PREFIX = 'GITLOCKET-IDENTITY-1-'
const IDENTITY_LABEL = label('GLK1/identity-text/v1')
const RECOVERY_PREFIX = 'GLKR1-'
const RECOVERY_LABEL = label('GLK1/recovery-text/v1')

/** A new identity. Asynchronous, so that a key store may take its place. */
export async function generateIdentity(random: Random = systemRandom): Promise<Identity> {
  return identityOf(random(96))
}

/** The text of an identity file: a comment with the fingerprint, then the secret. */
export function formatIdentity(identity: Identity): string {
  const device = formatId('device', identity.deviceId)
  const secret = encodeChecked(IDENTITY_LABEL, identity.secret, 4)
  return `# gitlocket identity of ${device}: keep it secret\n${IDENTITY_PREFIX}${secret}\n`
}

/** Reads the text of an identity file. Throws `invalid_identity`, without repeating any of it. */
export function parseIdentity(text: string): Identity {
  const lines = text.split('\n').map((line) => line.trim())
  const [secretLine, ...more] = lines.filter((line) => line !== '' && !line.startsWith('#'))
  if (secretLine === undefined || more.length > 0) {
    throw invalid('An identity file holds one identity and comments')
  }
  const secret = decodeChecked(IDENTITY_PREFIX, IDENTITY_LABEL, secretLine, 96, 4)
  if (secret === undefined) throw invalid('The identity is damaged or incomplete')
  return identityOf(secret)
}

export function generateRecoveryKey(random: Random): Uint8Array {
  return random(32)
}

/** `GLKR1-` and eight groups of seven characters, for paper. */
export function formatRecoveryKey(key: Uint8Array): string {
  const text = encodeChecked(RECOVERY_LABEL, key, 3)
  return RECOVERY_PREFIX + (text.match(/.{7}/g) ?? []).join('-')
}

/** Throws `invalid_identity`, without repeating the text. */
export function parseRecoveryKey(text: string): Uint8Array {
  const key = decodeChecked(RECOVERY_PREFIX, RECOVERY_LABEL, text.trim(), 32, 3)
  if (key !== undefined) return key
  throw invalid('The recovery key has a typing error or is incomplete')
}

function identityOf(secret: Uint8Array): Identity {
  const signing = signingKeyPair(secret.slice(0, 32))
  return {
    deviceId: deviceIdOf(signing.publicKey),
    signing,
    kem: kemKeyPair(secret.slice(32, 64)),
    localSecret: secret.slice(64, 96),
    secret,
  }
}

function encodeChecked(purpose: Uint8Array, secret: Uint8Array, checksum: number): string {
  const check = hash256(purpose, secret).subarray(0, checksum)
  return encodeBase32(concatBytes(secret, check)).toUpperCase()
}

function decodeChecked(
  prefix: string,
  purpose: Uint8Array,
  text: string,
  length: number,
  checksum: number,
): Uint8Array | undefined {
  if (!text.toUpperCase().startsWith(prefix)) return undefined
  const digits = text.slice(prefix.length).replaceAll(/[\s-]/g, '').toLowerCase()
  const bytes = decodeBase32(digits.replaceAll(/[il]/g, '1').replaceAll('o', '0'))
  if (bytes?.length !== length + checksum) return undefined
  const secret = bytes.slice(0, length)
  const check = hash256(purpose, secret).subarray(0, checksum)
  return equalBytes(check, bytes.subarray(length)) ? secret : undefined
}

function invalid(message: string): StoreError {
  return new StoreError('invalid_identity', message)
}
