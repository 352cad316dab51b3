// The head of a list of a host in a database (FORMAT §14.6): its generation, and a digest of all
// its rows, sealed. The digest is the XOR of a keyed hash of each row's place, generation and body,
// so that a change brings it up to date by the rows that it writes. Only this identity has the key,
// and no one else sees the hashes or their sum: to find other rows with the same digest is a guess
// of 256 bits.

import { fromHex, toHex, utf8, utf8Text } from '../bytes.ts'
import { hash256, keyedHash } from '../crypto/digest.ts'
import {
  type CacheOwner,
  openCache,
  otherRelease,
  rowSecretOf,
  sealCache,
  untilPadding,
} from '../store/local/sealed-cache.ts'
import type { RecordsRole } from './host-backend.ts'

const VERSION = 1
const DIGEST_BYTES = 32
/** Stands where a store id does. */
const LIST = 'f'.repeat(32)

export interface ListHead {
  readonly generation: number
  readonly digest: Uint8Array
  /** When the list was first made, or accepted as a backup or an attack had left it. */
  readonly since: number
}

interface HeadFile extends Pick<ListHead, 'since'> {
  readonly version: number
  readonly digest: string
}

/** The digest of a list without rows. */
export const noRows: Uint8Array = new Uint8Array(DIGEST_BYTES)

export function sealHead(
  owner: CacheOwner,
  role: RecordsRole,
  { generation, digest, since }: ListHead,
): Uint8Array {
  const plaintext = utf8(JSON.stringify({ version: VERSION, digest: toHex(digest), since }))
  return sealCache({ ...owner, storeId: LIST }, { role, generation }, plaintext)
}

/** Throws an envelope code or `upgrade_required`. */
export function openHead(
  owner: CacheOwner,
  role: RecordsRole,
  generation: number,
  head: Uint8Array,
): ListHead {
  const plaintext = openCache({ ...owner, storeId: LIST }, { role, generation }, head)
  // Authenticated as this device's: with this version it has the shape that we write.
  const file: HeadFile = JSON.parse(utf8Text(untilPadding(plaintext)))
  if (file.version !== VERSION) throw otherRelease()
  return { generation, digest: fromHex(file.digest), since: file.since }
}

/** A generation alone does not tell a row from another one: a change that failed had it, too. */
export interface RowState {
  readonly generation: number
  /** H of the sealed body, in hex. */
  readonly hash: string
}

export interface ListedRow extends RowState {
  readonly kind: string
  readonly id: string
}

export function stateOfRow(generation: number, body: Uint8Array): RowState {
  return { generation, hash: toHex(hash256(body)) }
}

export class RowDigest {
  readonly #key: Uint8Array
  readonly #role: RecordsRole

  constructor({ identity }: CacheOwner, role: RecordsRole) {
    this.#key = rowSecretOf(identity)
    this.#role = role
  }

  of(rows: readonly ListedRow[]): Uint8Array {
    let digest = noRows
    for (const row of rows) digest = this.moved(digest, row, undefined, row)
    return digest
  }

  /** `digest` after a row was written; undefined stands for a row that does not exist. */
  moved(
    digest: Uint8Array,
    row: Pick<ListedRow, 'kind' | 'id'>,
    before: RowState | undefined,
    after: RowState | undefined,
  ): Uint8Array {
    let next = digest
    for (const state of [before, after]) {
      if (state !== undefined) next = xor(next, this.#hashOf(row, state))
    }
    return next
  }

  /** Nothing but the id may have spaces, and what follows it has one length. */
  #hashOf({ kind, id }: Pick<ListedRow, 'kind' | 'id'>, state: RowState): Uint8Array {
    const text = utf8(`${this.#role} ${kind} ${state.generation} ${id} ${state.hash}`)
    return keyedHash(DIGEST_BYTES, this.#key, text)
  }
}

function xor(a: Uint8Array, b: Uint8Array): Uint8Array {
  return a.map((byte, at) => byte ^ (b[at] ?? 0))
}
