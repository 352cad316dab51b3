// The ids of versions and of new memories (FORMAT §1). They follow from the hash of the record that
// writes them: no one can choose an id that another history has.

import { ByteWriter, fromHex, label, toHex } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import type { ChangeRecord, RecordBody, RecordRow, SignedRow } from './change-record.ts'
import { zeroId } from './record.ts'

const ID_LENGTH = 16

const VERSION_LABEL = label('GLK1/version/v1')
const MEMORY_LABEL = label('GLK1/memory/v1')

/** The record with the ids of its rows. `hash` is the record's. */
export function nameRows(storeId: string, record: RecordBody, hash: Uint8Array): ChangeRecord {
  const { kind, rows } = record
  if (kind === 'redact') return { ...record, rows: rows.map((row) => targetOf(row)) }
  const idOf = (purpose: Uint8Array, index: number): string => {
    const place = new ByteWriter().u16(index).bytes()
    return toHex(hash256(purpose, fromHex(storeId), hash, place).subarray(0, ID_LENGTH))
  }
  const named = rows.map((row, index): RecordRow => {
    const { base, secondBase, operation, commitment } = row
    const memoryId = row.memoryId === zeroId ? idOf(MEMORY_LABEL, index) : row.memoryId
    const versionId = idOf(VERSION_LABEL, index)
    return { memoryId, versionId, base, secondBase, operation, commitment }
  })
  return { ...record, rows: named }
}

function targetOf({ base: versionId, memoryId, ...nothing }: SignedRow): RecordRow {
  return { ...nothing, memoryId, versionId, base: zeroId }
}
