// The rows of a record of kind 6 (FORMAT §12). Each begins or ends a grant, and is as long as a row
// of any other kind, so that sizes do not tell kinds apart.

import { type ByteReader, type ByteWriter, isZero } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import type { GrantRole, GrantRow } from './change-record.ts'

const BEGINS = 1
const ENDS = 2
/** As in the directory. */
export const grantRoles: Readonly<Record<GrantRole, number>> = { writer: 2, reader: 3 }
/** Reserved: 7, and 32 for a scope. */
const RESERVED = new Uint8Array(39)

export function writeGrantRow(writer: ByteWriter, { key, begins }: GrantRow): void {
  writer
    .raw(key)
    .u8(begins === undefined ? ENDS : BEGINS)
    .u8(begins === undefined ? 0 : grantRoles[begins.role])
    .u64(begins?.notAfter ?? 0)
    .raw(RESERVED)
}

/** Throws `record_rows`. */
export function readGrantRow(reader: ByteReader): GrantRow {
  const key = reader.raw(32)
  const [what, number, notAfter] = [reader.u8(), reader.u8(), reader.u64()]
  if (!isZero(reader.raw(RESERVED.length))) throw badRow('a reserved byte is not zero')
  if (what === ENDS && number === 0 && notAfter === 0) return { key, begins: undefined }
  const role = (['writer', 'reader'] as const).find((one) => grantRoles[one] === number)
  if (what !== BEGINS || role === undefined) throw badRow('it neither begins nor ends a grant')
  return { key, begins: { role, notAfter } }
}

function badRow(problem: string): StoreError {
  return new StoreError('record_rows', `A row of grants is not allowed: ${problem}`)
}
