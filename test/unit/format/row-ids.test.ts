// The ids that a record's rows get from its hash (FORMAT §1), by known answers.

import { expect, test } from 'vitest'
import { concatBytes, fromHex, label, toHex } from '../../../src/bytes.ts'
import { hash256 } from '../../../src/crypto/digest.ts'
import type { RecordBody, SignedRow } from '../../../src/format/change-record.ts'
import { zeroHash, zeroId, nameRows } from '../../../src/format/record.ts'

const storeId = '11'.repeat(16)
const hash = new Uint8Array(32).fill(5)
const edited: SignedRow = {
  memoryId: '21'.repeat(16),
  base: '23'.repeat(16),
  secondBase: zeroId,
  operation: 'modified',
  commitment: zeroHash,
}
const created: SignedRow = { ...edited, memoryId: zeroId, base: zeroId, operation: 'created' }
const body: RecordBody = {
  kind: 'change',
  height: 1,
  deviceId: '31'.repeat(16),
  sequence: 1,
  previous: zeroHash,
  keyring: zeroHash,
  parents: [zeroHash],
  time: 0,
  actor: { type: 'user', id: 'u' },
  session: undefined,
  reason: undefined,
  directoryNumber: 0,
  keyringHash: zeroHash,
  settingsHash: zeroHash,
  rows: [created, created, edited],
  grants: [],
}

function expected(purpose: string, index: number, of: Uint8Array = hash): string {
  const place = Uint8Array.of(index >> 8, index & 0xff)
  return toHex(hash256(label(purpose), concatBytes(fromHex(storeId), of, place))).slice(0, 32)
}

const versionOf = (index: number) => expected('GLK1/version/v1', index)
const memoryOf = (index: number) => expected('GLK1/memory/v1', index)

test('a new memory gets an id, another one keeps its own, each row is a version', () => {
  const { rows } = nameRows(storeId, body, hash)
  expect(rows.map(({ memoryId, versionId }) => [memoryId, versionId])).toEqual([
    [memoryOf(0), versionOf(0)],
    [memoryOf(1), versionOf(1)],
    [edited.memoryId, versionOf(2)],
  ])
  expect(rows.map(({ base }) => base)).toEqual([zeroId, zeroId, edited.base])
})

test('the index has two bytes, and every part of the record tells', () => {
  const rows = Array.from({ length: 300 }, () => created)
  const named = nameRows(storeId, { ...body, rows }, hash).rows
  expect(named[258]?.versionId).toBe(versionOf(258))
  expect(named[258]?.memoryId).toBe(memoryOf(258))
  const other = nameRows(storeId, { ...body, rows }, new Uint8Array(32)).rows
  const foreign = nameRows('12'.repeat(16), { ...body, rows }, hash).rows
  const ids = [named, other, foreign].flat().flatMap((row) => [row.memoryId, row.versionId])
  expect(new Set(ids).size).toBe(3 * 2 * 300)
})

test('a redaction names a version of another record', () => {
  const target: SignedRow = { ...edited, operation: undefined }
  const { rows } = nameRows(storeId, { ...body, kind: 'redact', rows: [target] }, hash)
  const { memoryId, base: versionId } = edited
  expect(rows).toEqual([{ ...target, memoryId, versionId, base: zeroId }])
})
