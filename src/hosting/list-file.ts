// The bytes of a list as a file: sealed as a whole, with its generation, for this identity alone.

import { utf8, utf8Text } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { sealedFileBytesMax } from '../limits.ts'
import {
  type CacheOwner,
  openCache,
  otherRelease,
  sealCache,
  untilPadding,
} from '../store/local/sealed-cache.ts'
import { type RecordsRole, unreleasedHostError } from './host-backend.ts'

export interface ListFile<T> {
  readonly generation: number
  readonly value: T
}

const VERSION = 2
/** Of servers from before format 1 was frozen. */
const UNRELEASED = 1

/** Throws `store_full`. */
export function sealList<T>(
  owner: CacheOwner,
  role: RecordsRole,
  { generation, value }: ListFile<T>,
): Uint8Array {
  const text = JSON.stringify({ version: VERSION, generation, value })
  if (text.length > sealedFileBytesMax) throw listFull(role)
  return sealCache(owner, { role, generation: 0 }, utf8(text))
}

/** Throws `wrong_key` for bytes that are damaged or foreign, and `upgrade_required`. */
export function openList<T>(owner: CacheOwner, role: RecordsRole, bytes: Uint8Array): ListFile<T> {
  let plaintext: Uint8Array
  try {
    plaintext = openCache(owner, { role, generation: 0 }, bytes)
  } catch (error) {
    const problem = `The ${role} of the server: damaged, or written by another identity`
    throw new StoreError('wrong_key', problem, { cause: error })
  }
  // Authenticated as this device's: with this version it has the shape that we write.
  const file: ListFile<T> & { readonly version: number } = JSON.parse(
    utf8Text(untilPadding(plaintext)),
  )
  if (file.version === UNRELEASED) throw unreleasedHostError(`The ${role} of the server`)
  if (file.version !== VERSION) throw otherRelease()
  return { generation: file.generation, value: file.value }
}

export function listFull(role: RecordsRole): StoreError {
  const problem = `The ${role} of the server have no room for more`
  return new StoreError('store_full', problem, { details: { limit: sealedFileBytesMax } })
}
