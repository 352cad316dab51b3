// A baseline, here called a start (FORMAT §13): a signed statement of a device about the state of a
// store, for a reader that begins without the history. It is sealed under C, so only members and
// holders of grants can open it, and signed outside of that, so that nothing is decrypted or parsed
// before the signature verifies. A reader takes the device's word for the earlier history.

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
import { deviceIdOf, storeIdOf } from '../format/id.ts'
import { newerRelease } from '../format/public-files.ts'
import { decodeStart, encodeStart, malformedStart, type Start } from '../format/start.ts'
import { startBytesMax } from '../limits.ts'
import type { EpochKeys } from './epoch.ts'

const MAGIC = utf8('GLKB')
const VERSION = 1
const HEADER_LENGTH = 40
const SIGNATURE_LENGTH = 64
const SIGNATURE_LABEL = label('GLK1/baseline/v1')

/** Throws `change_too_large`, or `baseline_malformed` if a memory is of an epoch not in `kids`. */
export function makeStart(
  epoch: EpochKeys,
  start: Omit<Start, 'granter'>,
  how: { readonly storeId: string; readonly pair: SigningKeyPair; readonly random: Random },
): Uint8Array {
  const header = concatBytes(
    new ByteWriter().raw(MAGIC).u8(VERSION).raw(new Uint8Array(3)).bytes(),
    fromHex(epoch.kid + epoch.seed),
  )
  const plaintext = encodeStart(start)
  const sealedLength = paddedLength('baseline', plaintext.length) + envelopeOverhead
  if (HEADER_LENGTH + SIGNATURE_LENGTH + sealedLength > startBytesMax) {
    throw new StoreError('change_too_large', 'The store has too many memories for a baseline')
  }
  const context = startContext(epoch, hash256(header))
  const sealed = sealEnvelope('baseline', epoch.start, context, how.random(32), plaintext)
  const message = signedMessage({ ...epoch, ...how }, header, sealed)
  return concatBytes(header, sign(message, how.pair), sealed)
}

/** Throws `baseline_malformed` or `upgrade_required`. */
function readHeader(bytes: Uint8Array): Seeded & { readonly kid: string } {
  if (bytes.length > startBytesMax) throw malformedStart('it is too large')
  const reader = new ByteReader(bytes, malformedStart)
  if (!equalBytes(reader.raw(4), MAGIC)) throw malformedStart('it has another beginning')
  if (reader.u8() !== VERSION) throw newerRelease('the baseline of a device')
  if (!isZero(reader.raw(3))) throw malformedStart('a reserved byte is not zero')
  return { kid: toHex(reader.raw(16)), seed: toHex(reader.raw(16)) }
}

function checkHeader(bytes: Uint8Array, epoch: EpochKeys): void {
  const { kid, seed } = readHeader(bytes)
  if (seed !== epoch.seed) throw malformedStart('it is of another store')
  if (kid !== epoch.kid) throw new StoreError('envelope_epoch', 'A baseline is of another epoch')
}

/** Whether bytes begin as a start does. */
export function isStart(bytes: Uint8Array): boolean {
  return equalBytes(bytes.subarray(0, MAGIC.length), MAGIC)
}

/** The epoch of a start, by its kid. Throws `baseline_malformed` or `upgrade_required`. */
export function kidOfStart(bytes: Uint8Array): string {
  return readHeader(bytes).kid
}

/** A statement that may be of anyone who has the keys. Throws as `openStart`. */
export function readStart(bytes: Uint8Array, epoch: EpochKeys): Omit<Start, 'granter'> {
  checkHeader(bytes, epoch)
  const context = startContext(epoch, hash256(bytes.subarray(0, HEADER_LENGTH)))
  const sealed = bytes.subarray(HEADER_LENGTH + SIGNATURE_LENGTH)
  const padded = openEnvelope('baseline', epoch.start, context, sealed)
  const { start, length } = decodeStart(padded)
  checkPadding('baseline', padded, length)
  return start
}

/**
 * The statement of the device of `granterKey` about a store. Throws an `envelope_` code,
 * `device_signature_invalid`, `store_id_mismatch`, `baseline_malformed` or `upgrade_required`.
 */
export function openStart(
  bytes: Uint8Array,
  epoch: EpochKeys,
  granterKey: Uint8Array,
  storeId: string,
): Start {
  checkHeader(bytes, epoch)
  const end = HEADER_LENGTH + SIGNATURE_LENGTH
  if (bytes.length < end) throw malformedStart('it ends too early')
  const header = bytes.subarray(0, HEADER_LENGTH)
  const sealed = bytes.subarray(end)
  const signature = bytes.slice(HEADER_LENGTH, end)
  verifySignature(signedMessage({ ...epoch, storeId }, header, sealed), signature, granterKey)
  const start = readStart(bytes, epoch)
  if (storeIdOf(start.genesis.record) !== storeId) {
    throw new StoreError('store_id_mismatch', 'A baseline names the genesis of another store')
  }
  return { ...start, granter: deviceIdOf(granterKey) }
}

function signedMessage(
  { seed, storeId }: Seeded & { readonly storeId: string },
  header: Uint8Array,
  sealed: Uint8Array,
): Uint8Array {
  return concatBytes(SIGNATURE_LABEL, fromHex(storeId + seed), hash256(header, sealed))
}
