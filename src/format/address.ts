// The address of a store at a remote (FORMAT §1.8): where it is, which store it must hold, and a
// keyring record that the history there must have, so that no older state passes for the newest.

import { fromHex, toHex } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { findDigits, formatDigits, formatId, parseId } from './id.ts'

const MARK = '#memstore_'
const STATE_BYTES = 16

export interface StoreAddress {
  /** As git takes it. */
  readonly url: string
  /** 32 hex digits; undefined if the address names no store. */
  readonly storeId: string | undefined
  /** The first 16 bytes of the hash of a keyring record, as 32 hex digits. */
  readonly state: string | undefined
}

/** What follows the `#` of an address. `keyring` is the hash of the newest keyring record. */
export function formatStateOf(storeId: string, keyring: Uint8Array): string {
  return `${formatId('store', storeId)}+${formatDigits(toHex(keyring.subarray(0, STATE_BYTES)))}`
}

/** Throws `invalid_input`. */
export function parseAddress(text: string): StoreAddress {
  const hash = text.lastIndexOf(MARK)
  if (hash === -1) return { url: text, storeId: undefined, state: undefined }
  const [id = '', ...rest] = text.slice(hash + 1).split('+')
  const url = text.slice(0, hash)
  const storeId = parseId('store', id)
  if (rest.length === 0) return { url, storeId, state: undefined }
  const state = findDigits(rest.join('+'))
  if (state !== undefined) return { url, storeId, state }
  throw new StoreError(
    'invalid_input',
    'What follows the + of the address is not the state of a store, 26 lower-case base32 digits: ' +
      'copy the whole address again',
  )
}

/** Whether the hash of a keyring record is the one that an address names. */
export function isState(state: string, keyring: Uint8Array): boolean {
  return fromHex(state).every((byte, index) => byte === keyring[index])
}
