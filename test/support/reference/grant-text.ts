// FORMAT §1.7, §12: the text of a grant, and the keys that it and a device's local secret give.

import { grantIdOf } from './active-grants.ts'
import { concat, fromHex, label, toHex, u32 } from './bytes.ts'
import { keyedH, subkey } from './hash.ts'
import { checksum, deviceIdOf, readTyped, toBase32, type TypedForm } from './identity.ts'
import { refNameKey } from './keys.ts'
import { publicKeyOf } from './signature.ts'

export interface GrantText {
  readonly storeId: string
  readonly granterKey: string
  /** Under which the granter keeps wraps and baselines. */
  readonly name: string
  readonly secret: Uint8Array
}

const form: TypedForm = { prefix: 'GLKG1-', name: 'GLK1/grant-text/v1', length: 96, check: 4 }

export function formatGrantText({ storeId, granterKey, name, secret }: GrantText): string {
  const bytes = concat(fromHex(storeId + granterKey + name), secret)
  return form.prefix + toBase32(concat(bytes, checksum(form.name, bytes, 4)), 160).toUpperCase()
}

/** Else `invalid_identity`. */
export function parseGrantText(text: string): GrantText {
  const bytes = readTyped(text, form)
  return {
    storeId: toHex(bytes.slice(0, 16)),
    granterKey: toHex(bytes.slice(16, 48)),
    name: toHex(bytes.slice(48, 64)),
    secret: bytes.slice(64),
  }
}

/** The name of a device's refs, from the C of the store's first epoch. */
export function refName(firstContent: Uint8Array, deviceId: string): string {
  const hash = keyedH(refNameKey(firstContent), label('GLK1/ref-name/v1'), fromHex(deviceId))
  return toHex(hash).slice(0, 32)
}

export function grantSecret(localSecret: Uint8Array, storeId: string, number: number): Uint8Array {
  return keyedH(localSecret, label('GLK1/grant-secret/v1'), fromHex(storeId), u32(number))
}

export interface GrantKeys {
  readonly grantId: string
  readonly signingSeed: Uint8Array
  readonly wrapKey: Uint8Array
  readonly wrapSaltKey: Uint8Array
  readonly localSecret: Uint8Array
}

export function grantKeys({ storeId, granterKey, secret }: Omit<GrantText, 'name'>): GrantKeys {
  const root = keyedH(secret, label('GLK1/grant-root/v1'), fromHex(storeId))
  const at = (id: number): Uint8Array => subkey(root, id, 'GLK1grnt')
  const [wrapKey, signingSeed, wrapSaltKey, localSecret] = [at(1), at(2), at(3), at(4)]
  const granter = deviceIdOf(fromHex(granterKey))
  const grantId = grantIdOf(granter, toHex(publicKeyOf(signingSeed)))
  return { grantId, signingSeed, wrapKey, wrapSaltKey, localSecret }
}
