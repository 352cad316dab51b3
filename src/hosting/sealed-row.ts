// A record as a row of a database (FORMAT §14.5): sealed as a whole, with copies of its id, scope,
// time and weight for indexes. The seal is bound to the table, the id and the change that wrote
// it. The copies are compared with the record, so that a row answers only for its own record.

import { toHex, utf8, utf8Text } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import { StoreError } from '../errors.ts'
import {
  type CacheOwner,
  type CachePlace,
  openCache,
  otherRelease,
  sealCache,
  untilPadding,
} from '../store/local/sealed-cache.ts'
import type { RecordsRole } from './host-backend.ts'
import type { RecordTable } from './host-records.ts'

export interface SealedRow {
  readonly id: string
  readonly scope: string
  readonly time: number
  readonly weight: number
  /** The generation of the change that wrote it: no two changes have the same. */
  readonly generation: number
  readonly body: Uint8Array
}

/** Which table a row is in, and who seals it. */
export interface SealedRowPlace<R> {
  readonly owner: CacheOwner
  readonly role: RecordsRole
  readonly name: string
  readonly table: RecordTable<R>
}

interface RowBody<R> {
  readonly version: number
  readonly record: R
}

const VERSION = 1

export function sealRow<R>(place: SealedRowPlace<R>, record: R, generation: number): SealedRow {
  const columns = columnsOf(place, record)
  const body: RowBody<R> = { version: VERSION, record }
  const plaintext = utf8(JSON.stringify(body))
  const sealed = sealCache(ownerOf(place, columns.id), placeOf(place, generation), plaintext)
  return { ...columns, generation, body: sealed }
}

/** Throws `wrong_key` for a row that is damaged or foreign, and `upgrade_required`. */
export function openRow<R>(place: SealedRowPlace<R>, row: SealedRow): R {
  const { version, record } = openBody(place, row)
  if (version !== VERSION) throw otherRelease()
  const columns = columnsOf(place, record)
  const isSame =
    columns.id === row.id &&
    columns.scope === row.scope &&
    columns.time === row.time &&
    columns.weight === row.weight
  if (isSame) return record
  throw damaged(place.role)
}

function openBody<R>(place: SealedRowPlace<R>, { id, generation, body }: SealedRow): RowBody<R> {
  let plaintext: Uint8Array
  try {
    plaintext = openCache(ownerOf(place, id), placeOf(place, generation), body)
  } catch (error) {
    throw damaged(place.role, error)
  }
  // Authenticated as this device's: with this version it has the shape that we write.
  return JSON.parse(utf8Text(untilPadding(plaintext)))
}

function columnsOf<R>(
  { table }: SealedRowPlace<R>,
  record: R,
): Pick<SealedRow, 'id' | 'scope' | 'time' | 'weight'> {
  const { idOf, scopeOf, timeOf, weightOf = () => 0 } = table
  return {
    id: idOf(record),
    scope: scopeOf(record),
    time: timeOf(record),
    weight: weightOf(record),
  }
}

/** Table and id stand where the store id does, so that the seal fails for another row. */
function ownerOf<R>({ owner, name }: SealedRowPlace<R>, id: string): CacheOwner {
  return { ...owner, storeId: toHex(hash256(utf8(`${name} ${id}`)).subarray(0, 16)) }
}

function placeOf<R>({ role }: SealedRowPlace<R>, generation: number): CachePlace {
  return { path: '', role, generation }
}

function damaged(role: RecordsRole, cause?: unknown): StoreError {
  const problem = `The ${role} of the server: a row is damaged, or written by another identity`
  return new StoreError('wrong_key', problem, { cause })
}
