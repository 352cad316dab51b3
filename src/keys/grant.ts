// The text of a grant, and the keys that follow from it (FORMAT §1.7, §12). A device derives the
// secrets of its grants instead of storing them, so it can seal their wraps again in each epoch.
// The text is a secret: it may be printed only where the grant is given.

import { concatBytes, fromHex, label, toHex, ByteWriter } from '../bytes.ts'
import { deriveKey, keyedHash } from '../crypto/digest.ts'
import { type SigningKeyPair, signingKeyPair } from '../crypto/signature.ts'
import { wipe } from '../crypto/sodium.ts'
import { StoreError } from '../errors.ts'
import { type CheckedText, decodeChecked, encodeChecked } from '../format/checked-text.ts'
import type { EnvelopeKeys } from '../format/envelope.ts'
import { grantIdOf } from '../format/id.ts'
import { zeroId } from '../format/record.ts'
import type { Identity } from './identity.ts'

/** The contents of a grant's text. */
export interface Grant {
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
  readonly grantId: string
  readonly signing: SigningKeyPair
  readonly wrap: EnvelopeKeys
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
const NAME_LABEL = label('GLK1/grant-name/v1')
const SECRET_LABEL = label('GLK1/grant/v1')
const ROOT_LABEL = label('GLK1/grant-root/v1')

/** `GLKG1-` and 160 characters. */
export function formatGrant({ storeId, granterKey, name, secret }: Grant): string {
  const bytes = concatBytes(fromHex(storeId), granterKey, fromHex(name), secret)
  return form.prefix + encodeChecked(form, bytes)
}

/** Throws `invalid_identity`, without quoting the text. */
export function parseGrant(text: string): Grant {
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
): Grant {
  if (number > GRANTS_MAX) {
    throw new StoreError('change_too_large', 'A device has no further numbers for grants')
  }
  const store = fromHex(storeId)
  const counter = new ByteWriter().u32(number).bytes()
  const name = keyedHash(32, localSecret, NAME_LABEL, store)
  return {
    storeId,
    granterKey: signing.publicKey,
    name: toHex(name.subarray(0, 16)),
    secret: keyedHash(32, localSecret, SECRET_LABEL, store, counter),
  }
}

export function grantKeysOf({ storeId, secret }: Pick<Grant, 'storeId' | 'secret'>): GrantKeys {
  const root = keyedHash(32, secret, ROOT_LABEL, fromHex(storeId))
  const signing = signingKeyPair(deriveKey(root, 2, CONTEXT))
  const [key, saltKey] = [deriveKey(root, 1, CONTEXT), deriveKey(root, 3, CONTEXT)]
  wipe(root)
  return { grantId: grantIdOf(signing.publicKey), signing, wrap: { kid: zeroId, key, saltKey } }
}
