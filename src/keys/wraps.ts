// Grants, which are secret texts, and wraps (FORMAT §12): one blob in which a device seals the keys
// of the newest epoch for each of its grants, and which it signs. It is not part of the history, so
// redactions leave it alone. Holders try every wrap to find theirs. Random wraps make the number up
// to 4, 8, 16, …

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
import { deriveKey, hash256, keyedHash } from '../crypto/digest.ts'
import type { Random } from '../crypto/random.ts'
import { sign, type SigningKeyPair, signingKeyPair, verifySignature } from '../crypto/signature.ts'
import { wipe } from '../crypto/sodium.ts'
import { hasCode, StoreError } from '../errors.ts'
import { type CheckedText, decodeChecked, encodeChecked } from '../format/checked-text.ts'
import {
  checkPadding,
  decoyEnvelope,
  type EnvelopeKeys,
  openEnvelope,
  sealEnvelope,
  type Seeded,
  wrapContext,
} from '../format/envelope.ts'
import { deviceIdOf, grantIdOf } from '../format/id.ts'
import { newerRelease } from '../format/public-files.ts'
import { zeroId } from '../format/record.ts'
import { wrapsMax } from '../limits.ts'
import { type EpochKeys, epochKeys } from './epoch.ts'
import type { Identity } from './identity.ts'

/** A wraps blob, decoded and not verified. */
export interface Wraps extends Seeded {
  readonly kid: string
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
  how: { readonly storeId: string; readonly pair: SigningKeyPair; readonly random: Random },
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
  const body = encodeBody({ kid, seed, sealed })
  return concatBytes(body, sign(signedMessage({ ...how, seed }, body), how.pair))
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
  const [kid, seed] = [toHex(reader.raw(16)), toHex(reader.raw(16))]
  const sealed = Array.from({ length: count }, () => reader.raw(WRAP_LENGTH))
  const ascends = sealed.every((wrap, index) => {
    const before = sealed[index - 1]
    return before === undefined || compareBytes(before, wrap) < 0
  })
  const signature = reader.raw(SIGNATURE_LENGTH)
  reader.end()
  if (!ascends) throw malformed('its wraps do not ascend')
  return { kid, seed, sealed, signature }
}

/** The keys for a holder; undefined if no wrap is for it. Throws `device_signature_invalid`. */
export function openWraps(
  wraps: Wraps,
  granterKey: Uint8Array,
  { storeId, grantId, wrap }: GrantKeys,
): EpochKeys | undefined {
  const body = encodeBody(wraps)
  verifySignature(signedMessage({ ...wraps, storeId }, body), wraps.signature, granterKey)
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

function encodeBody({ kid, seed, sealed }: Omit<Wraps, 'signature'>): Uint8Array {
  const writer = new ByteWriter()
    .raw(MAGIC)
    .u8(VERSION)
    .u8(0)
    .u16(sealed.length)
    .raw(fromHex(kid + seed))
  for (const wrap of sealed) writer.raw(wrap)
  return writer.bytes()
}

function signedMessage(
  { seed, storeId }: Seeded & { readonly storeId: string },
  body: Uint8Array,
): Uint8Array {
  return concatBytes(SIGNATURE_LABEL, fromHex(storeId + seed), hash256(body))
}

function malformed(problem: string): StoreError {
  return new StoreError('wraps_malformed', `The wraps of a device are malformed: ${problem}`)
}

/** The contents of a grant's text. */
interface GrantSecret {
  /** 32 hex digits. */
  readonly storeId: string
  /** The Ed25519 public key of the device that gave it. */
  readonly granterKey: Uint8Array
  /** 32 hex digits: where the granter keeps wraps and starts, at the remote. */
  readonly name: string
  readonly secret: Uint8Array
}

/** What the holder of a grant signs and opens with. */
export interface GrantKeys {
  readonly storeId: string
  readonly grantId: string
  readonly signing: SigningKeyPair
  readonly wrap: EnvelopeKeys
  /** 32 bytes that protect the files of a holder's clone. */
  readonly localSecret: Uint8Array
}

const form: CheckedText = {
  prefix: 'GLKG1-',
  label: label('GLK1/grant-text/v1'),
  length: 96,
  checksum: 4,
}
const CONTEXT = 'GLK1grnt'
/** Its number is a u32. */
const GRANTS_MAX = 0xffff_ffff
const NAME_LABEL = label('GLK1/ref-name/v1')
const SECRET_LABEL = label('GLK1/grant-secret/v1')
const ROOT_LABEL = label('GLK1/grant-root/v1')

/** `GLKG1-` and 160 characters. */
export function formatGrant({ storeId, granterKey, name, secret }: GrantSecret): string {
  const bytes = concatBytes(fromHex(storeId), granterKey, fromHex(name), secret)
  return form.prefix + encodeChecked(form, bytes)
}

/** Throws `invalid_identity`, without quoting the text. */
export function parseGrant(text: string): GrantSecret {
  const bytes = decodeChecked(form, text.trim())
  if (bytes === undefined) {
    throw new StoreError('invalid_identity', 'The grant has a typing error or is incomplete')
  }
  return {
    storeId: toHex(bytes.subarray(0, 16)),
    granterKey: bytes.slice(16, 48),
    name: toHex(bytes.subarray(48, 64)),
    secret: bytes.slice(64),
  }
}

/** The grant `number` of a device for a store, from 0. Throws `change_too_large` from 2^32 on. */
export function grantOf(
  { localSecret, signing }: Pick<Identity, 'localSecret' | 'signing'>,
  storeId: string,
  number: number,
): Omit<GrantSecret, 'name'> {
  if (number > GRANTS_MAX) {
    throw new StoreError('change_too_large', 'A device has no further numbers for grants')
  }
  const store = fromHex(storeId)
  const counter = new ByteWriter().u32(number).bytes()
  return {
    storeId,
    granterKey: signing.publicKey,
    secret: keyedHash(32, localSecret, SECRET_LABEL, store, counter),
  }
}

/**
 * The name of a device's refs at a remote, 32 hex digits (FORMAT §12): members compute it, and a
 * host cannot. `first` is the store's first epoch, so that new keys do not change it.
 */
export function refName(first: EpochKeys, deviceId: string): string {
  return toHex(keyedHash(32, first.refNameKey, NAME_LABEL, fromHex(deviceId)).subarray(0, 16))
}

export function grantKeysOf({
  storeId,
  granterKey,
  secret,
}: Pick<GrantSecret, 'storeId' | 'granterKey' | 'secret'>): GrantKeys {
  const root = keyedHash(32, secret, ROOT_LABEL, fromHex(storeId))
  const signing = signingKeyPair(deriveKey(root, 2, CONTEXT))
  const [key, saltKey] = [deriveKey(root, 1, CONTEXT), deriveKey(root, 3, CONTEXT)]
  const localSecret = deriveKey(root, 4, CONTEXT)
  wipe(root)
  const wrap = { kid: zeroId, key, saltKey }
  const grantId = grantIdOf(deviceIdOf(granterKey), signing.publicKey)
  return { storeId, grantId, signing, wrap, localSecret }
}
