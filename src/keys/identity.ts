// A device's secret (FORMAT §1.3): generated, formatted and parsed as text. Must never be printed.

import { concatBytes, equalBytes, fromHex, label } from '../bytes.ts'
import { type Random, systemRandom } from '../crypto/random.ts'
import { type KemKeyPair, kemKeyPair } from '../crypto/recipient.ts'
import { type SigningKeyPair, signingKeyPair } from '../crypto/signature.ts'
import { loadSodium } from '../crypto/sodium.ts'
import { StoreError } from '../errors.ts'
import { type CheckedText, decodeChecked, encodeChecked } from '../format/checked-text.ts'
import { signDeviceKeys } from '../format/device-keys.ts'
import { deviceIdOf, formatId } from '../format/id.ts'
import type { EpochKeys } from './epoch.ts'

/** The secret of a device. Keep it in a file that only its owner can read, outside every store. */
export interface Identity {
  /** 32 hex digits; the fingerprint is `formatId('device', …)` of it. */
  readonly deviceId: string
  readonly signing: SigningKeyPair
  readonly kem: KemKeyPair
  /** 64 bytes, by the device over both public keys (FORMAT §1.4). */
  readonly keySignature: Uint8Array
  /** 32 bytes that protect files of this device. */
  readonly localSecret: Uint8Array
  /** The 96 bytes from which all the fields above are derived. */
  readonly secret: Uint8Array
  /** @internal Set for the holder of a grant, which has no slot in a keyring. */
  readonly grant?: HeldAccess | undefined
}

/** What the holder of a grant has in place of a slot. */
export interface HeldAccess {
  /** 32 hex digits. */
  readonly storeId: string
  /** The Ed25519 public key of the device that gave it. */
  readonly granterKey: Uint8Array
  /** The name of the device that gave it, with which the refs of its wraps and baseline end. */
  readonly name: string
  /** Whether a verified head has shown that the grant has ended. */
  isOver: boolean
  /** The age of a shown state beyond which it is not accepted as current; undefined for any. */
  maxAgeMs: number | undefined
  /** The time of the newest baseline that this process has seen of the granter; 0 without one. */
  signedAt: number
  /** The blobs of the granter's wraps and start, among the refs that a remote shows. */
  blobsAmong(named: ReadonlyMap<string, string>): {
    readonly wraps: string | undefined
    readonly start: string | undefined
  }
  /** The keys of an epoch; undefined if no wrap had them. */
  epochOf(kid: string): EpochKeys | undefined
  /**
   * Keeps the keys in the granter's wraps. Older wraps add keys of older epochs. Throws
   * `wraps_malformed`, `device_signature_invalid`, `keyring_mismatch`, `upgrade_required`, or
   * `grant_keys_missing` if they have none for this grant.
   */
  learn(wraps: Uint8Array): EpochKeys
}

const identityForm: CheckedText = {
  prefix: 'GITLOCKET-IDENTITY-1-',
  label: label('GLK1/identity-text/v1'),
  length: 96,
  checksum: 4,
}
/** The end of the store id, and the key. */
const recoveryForm: CheckedText = {
  prefix: 'GLKR1-',
  label: label('GLK1/recovery-text/v1'),
  length: 37,
  checksum: 3,
}
const operatorForm: CheckedText = {
  prefix: 'GLKO1-',
  label: label('GLK1/operator-text/v1'),
  length: 32,
  checksum: 3,
}
/** Of the store id, in the text of a recovery key. */
const STORE_END_LENGTH = 5

/** Generates an identity. Asynchronous, so that a key store can replace it. */
export async function generateIdentity(random: Random = systemRandom): Promise<Identity> {
  await loadSodium()
  return identityOf(random(96))
}

/** Formats an identity file: a comment with the fingerprint, then the secret. */
export function formatIdentity(identity: Identity): string {
  const device = formatId('device', identity.deviceId)
  const secret = identityForm.prefix + encodeChecked(identityForm, identity.secret)
  return `# gitlocket identity of ${device}: keep it secret\n${secret}\n`
}

/** Parses an identity file. Rejects with `invalid_identity`, without quoting the text. */
export async function parseIdentity(text: string): Promise<Identity> {
  await loadSodium()
  return decodeIdentity(text)
}

/** Like `parseIdentity`, if libsodium is loaded. */
export function decodeIdentity(text: string): Identity {
  const lines = text.split('\n').map((line) => line.trim())
  const [secretLine, ...more] = lines.filter((line) => line !== '' && !line.startsWith('#'))
  if (secretLine === undefined || more.length > 0) {
    throw invalid('An identity file must hold one identity, and otherwise only comments')
  }
  const secret = decodeChecked(identityForm, secretLine)
  if (secret === undefined) throw invalid('The identity is damaged or incomplete')
  return identityOf(secret)
}

export function generateRecoveryKey(random: Random): Uint8Array {
  return random(32)
}

/** `GLKR1-` and eight groups of eight characters to print on paper, the first the store's end. */
export function formatRecoveryKey(storeId: string, key: Uint8Array): string {
  const text = encodeChecked(recoveryForm, concatBytes(storeEnd(storeId), key))
  return recoveryForm.prefix + (text.match(/.{8}/g) ?? []).join('-')
}

/** The contents of a recovery key's text. */
export interface RecoveryKey {
  /** 32 bytes. */
  readonly key: Uint8Array
  /** Whether the text names this store, by the end of its id. */
  readonly isOf: (storeId: string) => boolean
}

/** Throws `invalid_identity`, without quoting the text. */
export function parseRecoveryKey(text: string): RecoveryKey {
  const bytes = decodeChecked(recoveryForm, text.trim())
  if (bytes === undefined) throw invalid('The recovery key has a typing error or is incomplete')
  const end = bytes.subarray(0, STORE_END_LENGTH)
  return {
    key: bytes.slice(STORE_END_LENGTH),
    isOf: (storeId) => equalBytes(storeEnd(storeId), end),
  }
}

/**
 * A new operator secret, for those who run many stores: `GLKO1-` and eight groups of seven
 * characters. It gives each store a recovery key, and nothing in two stores shows that.
 */
export async function generateOperatorSecret(random: Random = systemRandom): Promise<string> {
  await loadSodium()
  const text = encodeChecked(operatorForm, random(32))
  return operatorForm.prefix + (text.match(/.{7}/g) ?? []).join('-')
}

/** 32 bytes. Throws `invalid_identity`, without quoting the text. */
export function parseOperatorSecret(text: string): Uint8Array {
  const secret = decodeChecked(operatorForm, text.trim())
  if (secret !== undefined) return secret
  throw invalid('The operator secret has a typing error or is incomplete')
}

function storeEnd(storeId: string): Uint8Array {
  return fromHex(storeId).subarray(-STORE_END_LENGTH)
}

function identityOf(secret: Uint8Array): Identity {
  const signing = signingKeyPair(secret.slice(0, 32))
  const kem = kemKeyPair(secret.slice(32, 64))
  let keySignature: Uint8Array | undefined
  return {
    deviceId: deviceIdOf(signing.publicKey),
    signing,
    kem,
    // When it is first asked for, since it needs the public half of `kem`.
    get keySignature() {
      keySignature ??= signDeviceKeys(signing, kem)
      return keySignature
    },
    localSecret: secret.slice(64, 96),
    secret,
  }
}

function invalid(message: string): StoreError {
  return new StoreError('invalid_identity', message)
}
