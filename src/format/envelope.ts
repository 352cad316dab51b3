// Envelopes (FORMAT §3): header, contexts, padding, and the order of a reader's checks.
// crypto/aead.ts does the cryptography. Opening shows that the bytes are authentic for their
// context, not that they are valid: the file of each type decodes the plaintext and checks its
// padding.

import {
  concatBytes,
  equalBytes,
  fromHex,
  isZero,
  type OwnedBytes,
  type Sealed,
  toHex,
  utf8,
} from '../bytes.ts'
import {
  deriveSalt,
  envelopeOverhead,
  headerLength,
  openBytes,
  saltLength,
  sealBytes,
} from '../crypto/aead.ts'
import type { Random } from '../crypto/random.ts'
import { type SealedBlob, sealInThread as sealBytesInThread } from '../crypto/seal-thread.ts'
import { type ErrorCode, StoreError } from '../errors.ts'

export type EnvelopeType =
  | 'record'
  | 'memory'
  | 'detail'
  | 'settings'
  | 'slot'
  | 'cache'
  | 'directory'
  | 'archive'
  | 'wrap'
  | 'baseline'

/** The keys for one type of envelope. */
export interface EnvelopeKeys {
  /** The epoch, as 32 hex digits; zeros for local caches. */
  readonly kid: string
  /** The subkey of the type. */
  readonly key: Uint8Array
  /** The salt subkey. */
  readonly saltKey: Uint8Array
}

/** The hedge of a salt, or a function that extracts it from the padded plaintext. */
export type Hedge = Uint8Array | ((padded: Uint8Array) => Uint8Array)

const TYPES: Readonly<Record<EnvelopeType, number>> = {
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
}
const MAGIC = utf8('GLK1')
const SUITE = 1
/** The hedge of an envelope that is a function of its plaintext and its place. */
export const noHedge: Uint8Array = new Uint8Array(32)

/**
 * Pads and seals a plaintext. `hedge` is 32 bytes: the row's blinding for a memory, fresh random
 * bytes for settings, wraps, starts and local caches, zero for all others (FORMAT §3.2).
 */
export function sealEnvelope(
  type: EnvelopeType,
  keys: EnvelopeKeys,
  context: Uint8Array,
  hedge: Uint8Array,
  plaintext: Uint8Array,
): Sealed {
  const padded = pad(type, plaintext)
  const salt = saltOf(type, keys, context, hedge, padded)
  return sealBytes({
    header: header(type, keys.kid),
    salt,
    key: keys.key,
    context,
    plaintext: padded,
  })
}

/** Like `sealEnvelope`, in a worker thread, for large plaintexts. */
export function sealInThread(
  type: EnvelopeType,
  keys: EnvelopeKeys,
  context: Uint8Array,
  hedge: Uint8Array,
  plaintext: Uint8Array,
): Promise<SealedBlob> {
  const { kid, key, saltKey } = keys
  const padded = pad(type, plaintext)
  const envelope = { type: TYPES[type], header: header(type, kid), context }
  return sealBytesInThread({ ...envelope, key, saltKey, hedge, plaintext: padded })
}

/** The padded plaintext. Throws an `envelope_` code. */
export function openEnvelope(
  type: EnvelopeType,
  keys: EnvelopeKeys,
  context: Uint8Array,
  envelope: Uint8Array,
): Uint8Array {
  if (readKid(type, envelope) !== keys.kid) {
    refuse('envelope_epoch', 'belongs to another epoch than this key')
  }
  const padded = openBytes(envelope, keys.key, context)
  if (paddedLength(type, padded.length) !== padded.length) {
    refuse('envelope_padding', 'has a padded size that its type does not allow')
  }
  return padded
}

/**
 * Like `openEnvelope`, for types whose envelope is a function of plaintext and context: also
 * derives the salt, and throws `envelope_salt` if it differs, so that nothing can be sealed again.
 */
export function openDeterministic(
  type: EnvelopeType,
  keys: EnvelopeKeys,
  context: Uint8Array,
  hedge: Hedge,
  envelope: Uint8Array,
): Uint8Array {
  const padded = openEnvelope(type, keys, context, envelope)
  const secret = typeof hedge === 'function' ? hedge(padded) : hedge
  const salt = envelope.subarray(headerLength, headerLength + saltLength)
  if (!equalBytes(salt, saltOf(type, keys, context, secret, padded))) {
    refuse('envelope_salt', 'has a salt that does not follow from its content')
  }
  return padded
}

/** Makes the checks that need no key, in the order of FORMAT §3, and returns the kid. */
export function readKid(type: EnvelopeType, envelope: Uint8Array): string {
  if (envelope.length < envelopeOverhead) refuse('envelope_truncated', 'is too short')
  if (!equalBytes(envelope.subarray(0, 4), MAGIC)) {
    refuse('envelope_magic', 'does not start with GLK1')
  }
  if (envelope[4] !== SUITE) {
    refuse('envelope_suite', 'uses an unknown cipher suite')
  }
  if (envelope[5] !== TYPES[type]) refuse('envelope_type', `is not of the type ${type}`)
  if (envelope[6] !== 0 || envelope[7] !== 0) {
    refuse('envelope_flags', 'has undefined flags')
  }
  return toHex(envelope.subarray(8, headerLength))
}

/** The padded size of a plaintext of `length` bytes (FORMAT §3.3). */
export function paddedLength(type: EnvelopeType, length: number): number {
  if (type === 'record') return Math.max(512, Math.ceil(length / 256) * 256)
  if (type === 'detail' && length <= 256) return 256
  if (length > 1024 && length <= 1280) return 1280
  let power = 512
  while (power < length) power *= 2
  const threeQuarters = power * 0.75
  return power > 512 && length <= threeQuarters ? threeQuarters : power
}

/** Throws `envelope_padding` unless `padded` is a plaintext of `length` bytes, correctly padded. */
export function checkPadding(type: EnvelopeType, padded: Uint8Array, length: number): void {
  const rest = padded.subarray(length)
  if (padded.length === paddedLength(type, length) && isZero(rest)) return
  refuse('envelope_padding', 'is not padded with zeros to the smallest size that holds it')
}

/** Something of a store, which the store's seed binds to it (FORMAT §1). */
export interface Seeded {
  /** 32 hex digits. */
  readonly seed: string
}

/** The context of records, settings and directories. */
export function recordContext({ seed }: Seeded): Uint8Array {
  return fromHex(seed)
}

export function memoryContext({ seed }: Seeded, memoryId: string): Uint8Array {
  return fromHex(seed + memoryId)
}

export function detailContext({ seed }: Seeded, recordHash: Uint8Array): Uint8Array {
  return concatBytes(fromHex(seed), recordHash)
}

/** `publicBytes` precedes the envelope in the slot's body (FORMAT §7). */
export function slotContext(
  { seed }: Seeded,
  slotType: number,
  publicBytes: Uint8Array,
): Uint8Array {
  return concatBytes(fromHex(seed), Uint8Array.of(slotType), publicBytes)
}

export function archiveContext({ seed }: Seeded, master: 'A' | 'C'): Uint8Array {
  return concatBytes(fromHex(seed), utf8(master))
}

/** `kid` is that of the epoch whose keys the wrap holds. */
export function wrapContext({ seed }: Seeded, grantId: string, kid: string): Uint8Array {
  return fromHex(seed + grantId + kid)
}

/** `headerHash` is H of what precedes the envelope in its file (FORMAT §13). */
export function startContext({ seed }: Seeded, headerHash: Uint8Array): Uint8Array {
  return concatBytes(fromHex(seed), headerHash)
}

/** `role` distinguishes kinds of local files, `generation` the files of one kind. */
export function cacheContext(
  storeId: string,
  deviceId: string,
  role: number,
  generation: number,
): Uint8Array {
  const tail = new Uint8Array(9)
  const view = new DataView(tail.buffer)
  view.setUint8(0, role)
  view.setBigUint64(1, BigInt(generation))
  return concatBytes(fromHex(storeId + deviceId), tail)
}

/** Random bytes that look like an envelope of `length` bytes of plaintext. No one can open them. */
export function decoyEnvelope(
  type: EnvelopeType,
  kid: string,
  length: number,
  random: Random,
): Uint8Array {
  const rest = envelopeOverhead - headerLength + paddedLength(type, length)
  return concatBytes(header(type, kid), random(rest))
}

function header(type: EnvelopeType, kid: string): Uint8Array {
  return concatBytes(MAGIC, Uint8Array.of(SUITE, TYPES[type], 0, 0), fromHex(kid))
}

function pad(type: EnvelopeType, plaintext: Uint8Array): OwnedBytes {
  const padded = new Uint8Array(paddedLength(type, plaintext.length))
  padded.set(plaintext)
  return padded
}

function saltOf(
  type: EnvelopeType,
  keys: EnvelopeKeys,
  context: Uint8Array,
  hedge: Uint8Array,
  plaintext: Uint8Array,
): Uint8Array {
  return deriveSalt({ saltKey: keys.saltKey, type: TYPES[type], context, hedge, plaintext })
}

function refuse(code: ErrorCode, problem: string): never {
  throw new StoreError(code, `A sealed object ${problem}`)
}
