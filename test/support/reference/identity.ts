// FORMAT §1: identifiers, identities, recovery keys and operator secrets, and their text forms in
// Crockford base32.
// Inside the reference, ids are lower-case hex of 32 digits.

import { concat, fromHex, label, toHex, u16, u8 } from './bytes.ts'
import { H, keyedH } from './hash.ts'
import { ensure, refuse } from './refusal.ts'

const digits = '0123456789abcdefghjkmnpqrstvwxyz'

/** The bytes as one number, most significant digit first, in exactly `length` digits. */
export function toBase32(bytes: Uint8Array, length: number): string {
  let value = BigInt(`0x${toHex(bytes)}`)
  let text = ''
  for (let i = 0; i < length; i++) {
    text = digits.charAt(Number(value % 32n)) + text
    value /= 32n
  }
  return text
}

/**
 * The inverse: `length` bytes, or undefined if a character is no digit or the number is too great.
 */
function fromBase32(text: string, length: number): Uint8Array | undefined {
  let value = 0n
  for (const character of text) {
    const digit = digits.indexOf(character)
    if (digit < 0) return undefined
    value = value * 32n + BigInt(digit)
  }
  const hex = value.toString(16).padStart(2 * length, '0')
  return hex.length === 2 * length ? fromHex(hex) : undefined
}

// §1

export function seedOf(founderKey: Uint8Array, founderRandom: Uint8Array): string {
  return toHex(H(label('GLK1/seed/v1'), founderKey, founderRandom)).slice(0, 32)
}

/** The id of the store whose genesis record has this hash. */
export function storeIdOf(genesis: string): string {
  return toHex(H(label('GLK1/store/v1'), fromHex(genesis))).slice(0, 32)
}

export function deviceIdOf(publicKey: Uint8Array): string {
  return toHex(H(label('GLK1/device/v1'), publicKey)).slice(0, 32)
}

/** The id of a recovery identity, which no device has, whatever key they share. */
export function recoveryIdOf(slotId: string, publicKey: Uint8Array): string {
  return toHex(H(label('GLK1/recovery/v1'), fromHex(slotId), publicKey)).slice(0, 32)
}

/** The id of the version that a row of a record brings; rows count from 0. */
export function versionIdOf(storeId: string, recordHash: string, index: number): string {
  return idOfRow('GLK1/version/v1', storeId, recordHash, index)
}

/** The id of the memory that a row of a record creates. */
export function memoryIdOf(storeId: string, recordHash: string, index: number): string {
  return idOfRow('GLK1/memory/v1', storeId, recordHash, index)
}

function idOfRow(name: string, storeId: string, recordHash: string, index: number): string {
  const hash = H(label(name), fromHex(storeId), fromHex(recordHash), u16(index))
  return toHex(hash).slice(0, 32)
}

// §1.1

const idPrefixes = { store: 'memstore_', memory: 'mem_', version: 'memver_', device: 'dev_' }

export type IdKind = keyof typeof idPrefixes

export function formatId(kind: IdKind, id: string): string {
  return idPrefixes[kind] + toBase32(fromHex(id), 26)
}

/** Exactly the form of §1.1, else `invalid_input`. */
export function parseId(kind: IdKind, text: string): string {
  const prefix = idPrefixes[kind]
  const fits = text.startsWith(prefix) && text.length === prefix.length + 26
  const id = fits ? fromBase32(text.slice(prefix.length), 16) : undefined
  return id === undefined ? refuse('invalid_input', 'This is not such an id') : toHex(id)
}

// §1.8

export interface Address {
  readonly url: string
  readonly storeId: string
  /** The first 16 bytes of the hash of a keyring record; empty if none is named. */
  readonly state: string
}

/** An address that names a store. */
export function parseAddress(text: string): Address {
  const at = text.lastIndexOf('#memstore_')
  const [id = '', state, ...more] = text.slice(at + 1).split('+')
  const storeId = parseId('store', id)
  const bytes = state === undefined ? new Uint8Array() : fromBase32(state, 16)
  const fits = bytes !== undefined && more.length === 0 && (state ?? '').length % 26 === 0
  if (!fits || state === '') return refuse('invalid_input', 'This is no state of a store')
  return { url: text.slice(0, at), storeId, state: toHex(bytes) }
}

// §1.2

/** Whether the text may be an actor or session id. */
export function isCallerId(text: string): boolean {
  return /^[A-Za-z0-9._:@-]{1,64}$/.test(text)
}

// §1.3

export interface Identity {
  readonly signingSeed: Uint8Array
  readonly kemSeed: Uint8Array
  readonly localSecret: Uint8Array
}

const identityPrefix = 'GITLOCKET-IDENTITY-1-'
const recoveryPrefix = 'GLKR1-'
const operatorPrefix = 'GLKO1-'

export function checksum(name: string, bytes: Uint8Array, length: number): Uint8Array {
  return H(label(name), bytes).slice(0, length)
}

/** A text form: its prefix, the label of its checksum, and how many bytes both parts have. */
export interface TypedForm {
  readonly prefix: string
  readonly name: string
  readonly length: number
  readonly check: number
}

/**
 * Reads what a person typed: case, `I`, `L`, `O`, white space and hyphens are forgiven after the
 * prefix. Only ASCII letters have two cases here: a dotless i is not an `I`.
 */
export function readTyped(text: string, { prefix, name, length, check }: TypedForm): Uint8Array {
  const upper = text.trim().replaceAll(/[a-z]/g, (letter) => letter.toUpperCase())
  ensure(upper.startsWith(prefix), 'invalid_identity', 'The prefix is wrong')
  const typed = upper.slice(prefix.length).replaceAll(/[\s-]/g, '')
  const digitsOnly = typed.replaceAll(/[IL]/g, '1').replaceAll('O', '0')
  const plain = digitsOnly.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  const digitCount = Math.ceil(((length + check) * 8) / 5)
  const whole = plain.length === digitCount ? fromBase32(plain, length + check) : undefined
  if (whole === undefined) return refuse('invalid_identity', 'The length or a character is wrong')
  const secret = whole.slice(0, length)
  const expected = toHex(checksum(name, secret, check))
  ensure(toHex(whole.slice(length)) === expected, 'invalid_identity', 'The checksum is wrong')
  return secret
}

const identityForm = {
  prefix: identityPrefix,
  name: 'GLK1/identity-text/v1',
  length: 96,
  check: 4,
}

export function formatIdentity(identity: Identity): string {
  const secret = concat(identity.signingSeed, identity.kemSeed, identity.localSecret)
  const whole = concat(secret, checksum(identityForm.name, secret, 4))
  return identityPrefix + toBase32(whole, 160).toUpperCase()
}

/** The identity of an identity file or of its one line; else `invalid_identity`. */
export function parseIdentity(file: string): Identity {
  const lines = file.split('\n').map((line) => line.trim())
  const [line, ...others] = lines.filter((text) => text !== '' && !text.startsWith('#'))
  if (line === undefined || others.length > 0) {
    return refuse('invalid_identity', 'An identity file holds one identity')
  }
  const secret = readTyped(line, identityForm)
  return {
    signingSeed: secret.slice(0, 32),
    kemSeed: secret.slice(32, 64),
    localSecret: secret.slice(64),
  }
}

const recoveryForm = {
  prefix: recoveryPrefix,
  name: 'GLK1/recovery-text/v1',
  length: 37,
  check: 3,
}

export interface RecoveryKey {
  /** The last 5 bytes of the id of its store, as hex. */
  readonly storeEnd: string
  /** 32 bytes. */
  readonly key: Uint8Array
}

/** The last 5 bytes of a store id, as hex. */
export function storeEndOf(storeId: string): string {
  return storeId.slice(-10)
}

export function formatRecoveryKey(storeId: string, key: Uint8Array): string {
  const named = concat(fromHex(storeEndOf(storeId)), key)
  const text = toBase32(concat(named, checksum(recoveryForm.name, named, 3)), 64).toUpperCase()
  return recoveryPrefix + text.replaceAll(/.{8}(?=.)/g, '$&-')
}

/** Else `invalid_identity`. */
export function parseRecoveryKey(text: string): RecoveryKey {
  const named = readTyped(text, recoveryForm)
  return { storeEnd: toHex(named.slice(0, 5)), key: named.slice(5) }
}

const operatorForm = {
  prefix: operatorPrefix,
  name: 'GLK1/operator-text/v1',
  length: 32,
  check: 3,
}

export function formatOperatorSecret(secret: Uint8Array): string {
  const text = toBase32(concat(secret, checksum(operatorForm.name, secret, 3)), 56).toUpperCase()
  return operatorPrefix + text.replaceAll(/.{7}(?=.)/g, '$&-')
}

/** The 32 bytes, else `invalid_identity`. */
export function parseOperatorSecret(text: string): Uint8Array {
  return readTyped(text, operatorForm)
}

/** The recovery key of a store that an operator secret gives; the counter is 0 to 15. */
export function operatorRecoveryKey(secret: Uint8Array, seed: string, counter: number): Uint8Array {
  return keyedH(secret, label('GLK1/operator/v1'), fromHex(seed), u8(counter))
}

/** All of them, the first one first. */
export function operatorRecoveryKeys(secret: Uint8Array, seed: string): readonly Uint8Array[] {
  return Array.from({ length: 16 }, (_, counter) => operatorRecoveryKey(secret, seed, counter))
}
