// Identifiers (FORMAT §1): their derivation and their text form. Inside the code, an id is its 16
// bytes as 32 lower-case hex digits; the text form is for users and other programs.

import { fromHex, label, toHex } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import type { Random } from '../crypto/random.ts'
import { StoreError } from '../errors.ts'
import { decodeBase32, encodeBase32 } from './base32.ts'

export type IdKind = 'store' | 'memory' | 'version' | 'device'

const ID_LENGTH = 16

const PREFIXES: Readonly<Record<IdKind, string>> = {
  store: 'memstore_',
  memory: 'mem_',
  version: 'memver_',
  device: 'dev_',
}
/** 26 digits have 130 bits: the first two are zero. */
const DIGITS = 26
const LEADING_ZEROS = 2

const SEED_LABEL = label('GLK1/seed/v1')
const STORE_LABEL = label('GLK1/store/v1')
const DEVICE_LABEL = label('GLK1/device/v1')
const RECOVERY_LABEL = label('GLK1/recovery/v1')
const GRANT_LABEL = label('GLK1/grant/v1')

/**
 * The seed of the store with this founder's Ed25519 public key and random bytes, 32 hex digits:
 * what every key, hash and sealed object of the store is bound to, from before it has an id.
 */
export function seedOf(founderKey: Uint8Array, founderRandom: Uint8Array): string {
  return toHex(hash256(SEED_LABEL, founderKey, founderRandom).subarray(0, ID_LENGTH))
}

/** The id of the store that begins with the genesis record of this hash. */
export function storeIdOf(genesis: Uint8Array): string {
  return toHex(hash256(STORE_LABEL, genesis).subarray(0, ID_LENGTH))
}

/** The id of the device with this Ed25519 public key. */
export function deviceIdOf(publicKey: Uint8Array): string {
  return toHex(hash256(DEVICE_LABEL, publicKey).subarray(0, ID_LENGTH))
}

/** The id under which the recovery identity with this slot and Ed25519 public key signs records. */
export function recoveryIdOf(slotId: string, publicKey: Uint8Array): string {
  return toHex(hash256(RECOVERY_LABEL, fromHex(slotId), publicKey).subarray(0, ID_LENGTH))
}

/**
 * The id under which the holder of a grant signs records: that of the device which gave it, by its
 * id, and of the grant's Ed25519 public key. The same key given by another device is another grant.
 */
export function grantIdOf(granter: string, publicKey: Uint8Array): string {
  return toHex(hash256(GRANT_LABEL, fromHex(granter), publicKey).subarray(0, ID_LENGTH))
}

/** A new slot id. */
export function newId(random: Random): string {
  return toHex(random(ID_LENGTH))
}

/** A prefix such as `mem_`, and 26 digits of Crockford's base32. */
export function formatId(kind: IdKind, hex: string): string {
  return PREFIXES[kind] + formatDigits(hex)
}

/** The 26 digits alone, of any 16 bytes. */
export function formatDigits(hex: string): string {
  return encodeBase32(fromHex(hex), LEADING_ZEROS)
}

/** Parses exactly the form that `formatId` produces; returns hex. Throws `invalid_input`. */
export function parseId(kind: IdKind, text: string): string {
  const hex = findId(kind, text)
  if (hex !== undefined) return hex
  throw new StoreError(
    'invalid_input',
    `A ${kind} id is ${PREFIXES[kind]} followed by ${DIGITS} lower-case base32 digits`,
  )
}

/** As `parseId`; undefined for any other form, which no id has (Memory Stores API §3.6). */
export function findId(kind: IdKind, text: string): string | undefined {
  const prefix = PREFIXES[kind]
  return text.startsWith(prefix) ? findDigits(text.slice(prefix.length)) : undefined
}

/** Parses exactly the form that `formatDigits` produces; undefined for any other. */
export function findDigits(digits: string): string | undefined {
  const bytes = digits.length === DIGITS ? decodeBase32(digits, LEADING_ZEROS) : undefined
  return bytes && toHex(bytes)
}
