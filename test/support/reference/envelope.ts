// FORMAT §3: sealed envelopes, their salts and their padding. Keys come from §4 (keys.ts). The
// steps of opening stand in the document's order, each with a refusal of its own.

import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import { concat, equal, fromHex, label, Reader, toHex, u16, u8, utf8, zeros } from './bytes.ts'
import { H, keyedBlake2b } from './hash.ts'
import { ensure, refuse } from './refusal.ts'

const typeNumbers = {
  record: 1,
  memory: 2,
  detail: 3,
  settings: 4,
  slot: 5,
  cache: 6,
  directory: 7,
  archive: 8,
  wrap: 9,
  baseline: 10,
} as const

export type EnvelopeType = keyof typeof typeNumbers

export interface EnvelopeKeys {
  /** 32 hex digits. */
  readonly kid: string
  readonly key: Uint8Array
  readonly saltKey: Uint8Array
}

const saltStart = 24
const commitmentStart = 48
const headerLength = 80
const tagLength = 16

// §3.1

const storeContext = fromHex

export const recordContext: (seed: string) => Uint8Array = storeContext
export const settingsContext: (seed: string) => Uint8Array = storeContext
export const directoryContext: (seed: string) => Uint8Array = storeContext

export function memoryContext(seed: string, memoryId: string): Uint8Array {
  return fromHex(seed + memoryId)
}

export function detailContext(seed: string, recordHash: string): Uint8Array {
  return fromHex(seed + recordHash)
}

export function slotContext(seed: string, type: number, publicBytes: Uint8Array): Uint8Array {
  return concat(fromHex(seed), u8(type), publicBytes)
}

export function archiveContext(seed: string, master: 'A' | 'C'): Uint8Array {
  return concat(fromHex(seed), utf8(master))
}

export function wrapContext(seed: string, grantId: string, kid: string): Uint8Array {
  return fromHex(seed + grantId + kid)
}

/** `beginning` are the 40 bytes that begin the file of the baseline. */
export function baselineContext(seed: string, beginning: Uint8Array): Uint8Array {
  return concat(fromHex(seed), H(beginning))
}

// §3.2

export const zeroHedge: Uint8Array = zeros(32)

function deriveSalt(
  type: EnvelopeType,
  saltKey: Uint8Array,
  context: Uint8Array,
  hedge: Uint8Array,
  padded: Uint8Array,
): Uint8Array {
  const place = concat(u8(typeNumbers[type]), u16(context.length), context)
  return keyedBlake2b(24, saltKey, concat(place, hedge, H(padded)))
}

/** Refuses an envelope whose salt is not the one that §3.2 gives; returns the padded plaintext. */
function checkSalt(
  type: EnvelopeType,
  keys: EnvelopeKeys,
  context: Uint8Array,
  hedge: Uint8Array,
  opened: { readonly envelope: Uint8Array; readonly padded: Uint8Array },
): Uint8Array {
  const expected = deriveSalt(type, keys.saltKey, context, hedge, opened.padded)
  const actual = opened.envelope.slice(saltStart, commitmentStart)
  ensure(equal(actual, expected), 'envelope_salt', 'The salt is not derived from the plaintext')
  return opened.padded
}

// §3.3

/** The smallest size of the type's ladder that holds `length` bytes. */
export function paddedLength(type: EnvelopeType, length: number): number {
  if (type === 'record') return Math.max(512, Math.ceil(length / 256) * 256)
  if (type === 'detail' && length <= 256) return 256
  if (length > 1024 && length <= 1280) return 1280
  let power = 512
  for (;;) {
    if (length <= power) return power
    if (length <= power * 1.5) return power * 1.5
    power *= 2
  }
}

function pad(type: EnvelopeType, plaintext: Uint8Array): Uint8Array {
  return concat(plaintext, zeros(paddedLength(type, plaintext.length) - plaintext.length))
}

/** Refuses padding other than the zero bytes that §3.3 asks for after `length` bytes. */
export function checkPadding(type: EnvelopeType, padded: Uint8Array, length: number): void {
  const fits = padded.length === paddedLength(type, length)
  ensure(fits, 'envelope_padding', 'The padded length is not on the ladder')
  const clean = padded.slice(length).every((byte) => byte === 0)
  ensure(clean, 'envelope_padding', 'The padding has a byte other than zero')
}

// §3

function header(type: EnvelopeType, kid: string): Uint8Array {
  return concat(utf8('GLK1'), u8(1), u8(typeNumbers[type]), u16(0), fromHex(kid))
}

function sealingKeys(key: Uint8Array, head: Uint8Array, salt: Uint8Array, context: Uint8Array) {
  const message = concat(label('GLK1/seal/v1'), head, salt, u16(context.length), context)
  const okm = keyedBlake2b(64, key, message)
  return { cipherKey: okm.slice(0, 32), commitment: okm.slice(32) }
}

/** Seals padded plaintext under any salt: for tests that make faulty envelopes. */
function sealWithSalt(
  type: EnvelopeType,
  keys: EnvelopeKeys,
  context: Uint8Array,
  salt: Uint8Array,
  padded: Uint8Array,
): Uint8Array {
  const head = header(type, keys.kid)
  const { cipherKey, commitment } = sealingKeys(keys.key, head, salt, context)
  const ad = concat(head, salt, commitment)
  return concat(ad, xchacha20poly1305(cipherKey, salt, ad).encrypt(padded))
}

/** Pads, derives the salt and seals. */
export function sealEnvelope(
  type: EnvelopeType,
  keys: EnvelopeKeys,
  context: Uint8Array,
  hedge: Uint8Array,
  plaintext: Uint8Array,
): Uint8Array {
  const padded = pad(type, plaintext)
  const salt = deriveSalt(type, keys.saltKey, context, hedge, padded)
  return sealWithSalt(type, keys, context, salt, padded)
}

/** The kid of an envelope, after the checks that need no key. */
export function readKid(type: EnvelopeType, envelope: Uint8Array): string {
  const whole = envelope.length >= headerLength + tagLength
  ensure(whole, 'envelope_truncated', 'An envelope has at least 96 bytes')
  const reader = new Reader(envelope, 'envelope_truncated')
  ensure(equal(reader.raw(4), utf8('GLK1')), 'envelope_magic', 'This is not an envelope')
  ensure(reader.u8() === 1, 'envelope_suite', 'The suite is unknown')
  ensure(reader.u8() === typeNumbers[type], 'envelope_type', 'An envelope of another type is here')
  ensure(reader.u16() === 0, 'envelope_flags', 'A flag is set')
  return reader.hex(16)
}

/** The padded plaintext. */
export function openEnvelope(
  type: EnvelopeType,
  keys: EnvelopeKeys,
  context: Uint8Array,
  envelope: Uint8Array,
): Uint8Array {
  const kid = readKid(type, envelope)
  ensure(kid === keys.kid, 'envelope_epoch', 'The envelope is sealed under another key')
  const head = envelope.slice(0, saltStart)
  const salt = envelope.slice(saltStart, commitmentStart)
  const { cipherKey, commitment } = sealingKeys(keys.key, head, salt, context)
  const same = toHex(envelope.slice(commitmentStart, headerLength)) === toHex(commitment)
  ensure(same, 'envelope_commitment', 'The envelope is bound to another key or place')
  try {
    const aead = xchacha20poly1305(cipherKey, salt, envelope.slice(0, headerLength))
    return aead.decrypt(envelope.slice(headerLength))
  } catch {
    return refuse('envelope_tag', 'The ciphertext was altered')
  }
}

/**
 * openEnvelope, and the salt recomputed: what a verifier does with records, details and memories.
 */
export function openDeterministic(
  type: EnvelopeType,
  keys: EnvelopeKeys,
  context: Uint8Array,
  hedge: Uint8Array,
  envelope: Uint8Array,
): Uint8Array {
  const padded = openEnvelope(type, keys, context, envelope)
  return checkSalt(type, keys, context, hedge, { envelope, padded })
}
