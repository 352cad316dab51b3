// Wraps (FORMAT §12): one blob in which a device seals the keys of the newest epoch for each of its
// grants, and which it signs. It is not part of the history, so redactions leave it alone. Holders
// try every wrap to find theirs. Random wraps make the number up to 4, 8, 16, …

import {
  ByteReader,
  ByteWriter,
  compareBytes,
  concatBytes,
  equalBytes,
  fromHex,
  label,
  toHex,
  utf8,
} from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import type { Random } from '../crypto/random.ts'
import { sign, type SigningKeyPair, verifySignature } from '../crypto/signature.ts'
import { wipe } from '../crypto/sodium.ts'
import { hasCode, StoreError } from '../errors.ts'
import {
  checkPadding,
  decoyEnvelope,
  openEnvelope,
  sealEnvelope,
  type Seeded,
  wrapContext,
} from '../format/envelope.ts'
import { newerRelease } from '../format/public-files.ts'
import { zeroId } from '../format/record.ts'
import { wrapsMax } from '../limits.ts'
import { type EpochKeys, epochKeys } from './epoch.ts'
import type { GrantKeys } from './grant.ts'

/** A wraps blob, decoded and not verified. */
export interface Wraps extends Seeded {
  readonly kid: string
  /** Grows with each blob that a device makes. */
  readonly counter: number
  readonly sealed: readonly Uint8Array[]
  readonly signature: Uint8Array
}

const MAGIC = utf8('GLKW')
const VERSION = 1
const SIGNATURE_LABEL = label('GLK1/wraps/v1')
const WRAP_PLAINTEXT = 64
const WRAP_LENGTH = 608
const SIGNATURE_LENGTH = 64
/** The least number of wraps in a blob. It is doubled until all grants fit. */
const SHOWN_MIN = 4

/** The blob with the keys of an epoch for these grants. Throws `change_too_large`. */
export function makeWraps(
  epoch: EpochKeys,
  grants: readonly GrantKeys[],
  how: { readonly counter: number; readonly pair: SigningKeyPair; readonly random: Random },
): Uint8Array {
  if (grants.length > wrapsMax) {
    throw new StoreError('change_too_large', `A device keeps at most ${wrapsMax} grants`)
  }
  const own = grants.map((grant) => sealWrap(epoch, grant, how.random(32)))
  const others = Array.from({ length: shownCount(own.length) - own.length }, () =>
    decoyEnvelope('wrap', zeroId, WRAP_PLAINTEXT, how.random),
  )
  const sealed = [...own, ...others].toSorted(compareBytes)
  const { kid, seed } = epoch
  const body = encodeBody({ kid, seed, counter: how.counter, sealed })
  return concatBytes(body, sign(signedMessage({ seed }, body), how.pair))
}

/** The hedge is random, so that a wrap that is made again cannot be told from a random one. */
function sealWrap(epoch: EpochKeys, { grantId, wrap }: GrantKeys, hedge: Uint8Array): Uint8Array {
  const plaintext = concatBytes(epoch.auditKey, epoch.contentKey)
  const context = wrapContext(epoch, grantId, epoch.kid)
  const sealed = sealEnvelope('wrap', wrap, context, hedge, plaintext)
  wipe(plaintext)
  return sealed
}

function shownCount(grants: number): number {
  let count = SHOWN_MIN
  while (count < grants) count *= 2
  return count
}

/** Throws `wraps_malformed` or `upgrade_required`. */
export function decodeWraps(bytes: Uint8Array): Wraps {
  const reader = new ByteReader(bytes, malformed)
  if (!equalBytes(reader.raw(4), MAGIC)) throw malformed('it has another beginning')
  if (reader.u8() !== VERSION) {
    throw newerRelease('the wraps of a device')
  }
  if (reader.u8() !== 0) throw malformed('a reserved byte is not zero')
  const count = reader.u16()
  if (count > wrapsMax || shownCount(count) !== count)
    throw malformed('the number of its wraps is not allowed')
  const [kid, seed, counter] = [toHex(reader.raw(16)), toHex(reader.raw(16)), reader.u64()]
  const sealed = Array.from({ length: count }, () => reader.raw(WRAP_LENGTH))
  const ascends = sealed.every((wrap, index) => {
    const before = sealed[index - 1]
    return before === undefined || compareBytes(before, wrap) < 0
  })
  const signature = reader.raw(SIGNATURE_LENGTH)
  reader.end()
  if (!ascends) throw malformed('its wraps do not ascend')
  return { kid, seed, counter, sealed, signature }
}

/** The keys for a holder; undefined if no wrap is for it. Throws `device_signature_invalid`. */
export function openWraps(
  wraps: Wraps,
  granterKey: Uint8Array,
  { grantId, wrap }: GrantKeys,
): EpochKeys | undefined {
  const body = encodeBody(wraps)
  verifySignature(signedMessage(wraps, body), wraps.signature, granterKey)
  const context = wrapContext(wraps, grantId, wraps.kid)
  for (const sealed of wraps.sealed) {
    try {
      const padded = openEnvelope('wrap', wrap, context, sealed)
      checkPadding('wrap', padded, WRAP_PLAINTEXT)
      const epoch = epochKeys(wraps.seed, padded.slice(0, 32), padded.slice(32, 64))
      wipe(padded)
      if (epoch.kid === wraps.kid) return epoch
      throw new StoreError('keyring_mismatch', 'A wrap holds the keys of another epoch')
    } catch (error) {
      if (!hasCode(error, 'envelope_commitment')) throw error
    }
  }
  return undefined
}

function encodeBody({ kid, seed, counter, sealed }: Omit<Wraps, 'signature'>): Uint8Array {
  const writer = new ByteWriter()
    .raw(MAGIC)
    .u8(VERSION)
    .u8(0)
    .u16(sealed.length)
    .raw(fromHex(kid + seed))
    .u64(counter)
  for (const wrap of sealed) writer.raw(wrap)
  return writer.bytes()
}

function signedMessage({ seed }: Seeded, body: Uint8Array): Uint8Array {
  return concatBytes(SIGNATURE_LABEL, fromHex(seed), hash256(body))
}

function malformed(problem: string): StoreError {
  return new StoreError('wraps_malformed', `The wraps of a device are malformed: ${problem}`)
}
