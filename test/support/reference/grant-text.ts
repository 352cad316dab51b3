// FORMAT §1.7, §12: the text of a grant, and the keys that it and a device's local secret give.

import { concat, fromHex, label, toHex, u32 } from './bytes.ts'
import { grantIdOf } from './grants.ts'
import { keyedH, subkey } from './hash.ts'
import { checksum, readTyped, toBase32, type TypedForm } from './identity.ts'
import { publicKeyOf } from './signature.ts'

export interface GrantText {
  readonly storeId: string
  readonly granterKey: string
  /** Under which the granter keeps wraps and starts. */
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

export function grantName(localSecret: Uint8Array, storeId: string): string {
  return toHex(keyedH(localSecret, label('GLK1/grant-name/v1'), fromHex(storeId))).slice(0, 32)
}

export function grantSecret(localSecret: Uint8Array, storeId: string, number: number): Uint8Array {
  return keyedH(localSecret, label('GLK1/grant/v1'), fromHex(storeId), u32(number))
}

export interface GrantKeys {
  readonly grantId: string
  readonly signingSeed: Uint8Array
  readonly wrapKey: Uint8Array
  readonly wrapSaltKey: Uint8Array
  readonly localSecret: Uint8Array
}

export function grantKeys(secret: Uint8Array, storeId: string): GrantKeys {
  const root = keyedH(secret, label('GLK1/grant-root/v1'), fromHex(storeId))
  const at = (id: number): Uint8Array => subkey(root, id, 'GLK1grnt')
  const [wrapKey, signingSeed, wrapSaltKey, localSecret] = [at(1), at(2), at(3), at(4)]
  const grantId = grantIdOf(toHex(publicKeyOf(signingSeed)))
  return { grantId, signingSeed, wrapKey, wrapSaltKey, localSecret }
}
