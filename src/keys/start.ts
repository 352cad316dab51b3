// A start (FORMAT §13): a signed statement of a device about the state of a store, for a reader
// that begins without the history. It is sealed under C, so only members and holders of grants can
// open it. A reader that uses it takes the device's word for the earlier history.

import {
  ByteReader,
  ByteWriter,
  concatBytes,
  equalBytes,
  fromHex,
  isZero,
  label,
  toHex,
  utf8,
} from '../bytes.ts'
import { envelopeOverhead } from '../crypto/aead.ts'
import { hash256 } from '../crypto/digest.ts'
import type { Random } from '../crypto/random.ts'
import { sign, type SigningKeyPair, verifySignature } from '../crypto/signature.ts'
import { StoreError } from '../errors.ts'
import {
  checkPadding,
  openEnvelope,
  paddedLength,
  sealEnvelope,
  type Seeded,
  startContext,
} from '../format/envelope.ts'
import { deviceIdOf } from '../format/id.ts'
import { newerRelease } from '../format/public-files.ts'
import { decodeStart, encodeStart, malformedStart, type Start } from '../format/start.ts'
import { startBytesMax } from '../limits.ts'
import type { EpochKeys } from './epoch.ts'

const MAGIC = utf8('GLKS')
const VERSION = 1
const HEADER_LENGTH = 40
const SIGNATURE_LENGTH = 64
const SIGNATURE_LABEL = label('GLK1/start/v1')

/** Throws `change_too_large`, or `start_malformed` if a memory is of an epoch not in `kids`. */
export function makeStart(
  epoch: EpochKeys,
  start: Omit<Start, 'granter'>,
  { pair, random }: { readonly pair: SigningKeyPair; readonly random: Random },
): Uint8Array {
  const header = concatBytes(
    new ByteWriter().raw(MAGIC).u8(VERSION).raw(new Uint8Array(3)).bytes(),
    fromHex(epoch.kid + epoch.seed),
  )
  const body = encodeStart({ ...start, granter: deviceIdOf(pair.publicKey) })
  const signature = sign(signedMessage(epoch, header, body), pair)
  const plaintext = concatBytes(body, signature)
  const context = startContext(epoch, hash256(header))
  const sealedLength = paddedLength('start', plaintext.length) + envelopeOverhead
  if (HEADER_LENGTH + sealedLength > startBytesMax) {
    throw new StoreError('change_too_large', 'The store has too many memories for a start')
  }
  return concatBytes(header, sealEnvelope('start', epoch.start, context, random(32), plaintext))
}

/** Throws `start_malformed` or `upgrade_required`. */
function readHeader(bytes: Uint8Array): Seeded & { readonly kid: string } {
  if (bytes.length > startBytesMax) throw malformedStart('it is too large')
  const reader = new ByteReader(bytes, malformedStart)
  if (!equalBytes(reader.raw(4), MAGIC)) throw malformedStart('it has another beginning')
  if (reader.u8() !== VERSION) {
    throw newerRelease('the start of a device')
  }
  if (!isZero(reader.raw(3))) throw malformedStart('a reserved byte is not zero')
  return { kid: toHex(reader.raw(16)), seed: toHex(reader.raw(16)) }
}

/**
 * The statement of the device of `granterKey`. Throws an `envelope_` code,
 * `device_signature_invalid`, `start_malformed` or `upgrade_required`.
 */
export function openStart(bytes: Uint8Array, epoch: EpochKeys, granterKey: Uint8Array): Start {
  const start = openStartOf(bytes, epoch, () => granterKey)
  if (start.granter !== deviceIdOf(granterKey)) throw malformedStart('it names another device')
  return start
}

/** Whether bytes begin as a start does. */
export function isStart(bytes: Uint8Array): boolean {
  return equalBytes(bytes.subarray(0, MAGIC.length), MAGIC)
}

/** A statement that may be of anyone who has the keys. Throws as `openStart`. */
export function readStart(bytes: Uint8Array, epoch: EpochKeys): Start {
  return openBody(bytes, epoch).start
}

/** The epoch of a start, by its kid. Throws `start_malformed` or `upgrade_required`. */
export function kidOfStart(bytes: Uint8Array): string {
  return readHeader(bytes).kid
}

/**
 * A statement of whichever device, whose key `keyOf` gives; undefined is an unknown device. Throws
 * as `openStart`.
 */
export function openStartOf(
  bytes: Uint8Array,
  epoch: EpochKeys,
  keyOf: (granter: string) => Uint8Array | undefined,
): Start {
  const { start, message, signature } = openBody(bytes, epoch)
  const key = keyOf(start.granter)
  if (key === undefined) throw malformedStart('its device is unknown')
  verifySignature(message, signature, key)
  return start
}

interface OpenedStart {
  readonly start: Start
  /** What the device has signed, and its signature, not verified. */
  readonly message: Uint8Array
  readonly signature: Uint8Array
}

function openBody(bytes: Uint8Array, epoch: EpochKeys): OpenedStart {
  const { kid, seed } = readHeader(bytes)
  if (seed !== epoch.seed) throw malformedStart('it is of another store')
  if (kid !== epoch.kid) throw new StoreError('envelope_epoch', 'A start is of another epoch')
  const header = bytes.subarray(0, HEADER_LENGTH)
  const context = startContext(epoch, hash256(header))
  const padded = openEnvelope('start', epoch.start, context, bytes.subarray(HEADER_LENGTH))
  const { start, length } = decodeStart(padded)
  const end = length + SIGNATURE_LENGTH
  if (end > padded.length) throw malformedStart('it ends too early')
  checkPadding('start', padded, end)
  const body = padded.subarray(0, length)
  const message = signedMessage(epoch, header, body)
  return { start, message, signature: padded.subarray(length, end) }
}

function signedMessage({ seed }: Seeded, header: Uint8Array, body: Uint8Array): Uint8Array {
  return concatBytes(SIGNATURE_LABEL, fromHex(seed), hash256(header, body))
}
