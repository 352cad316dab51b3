// T8: a member cannot make versions that contradict the history or each other, nor write a path or
// a text that the grammar refuses. FORMAT §5, §5.2, §6.1, §6.2, §6.4.

import { beforeAll, describe, expect, test } from 'vitest'
import { utf8 } from '../../src/bytes.ts'
import { sha256 } from '../../src/crypto/digest.ts'
import type { SignedRow } from '../../src/format/change-record.ts'
import type { DetailRow } from '../../src/format/detail.ts'
import { zeroHash, zeroId } from '../../src/format/record.ts'
import type { Fault, NewRow } from '../support/forge-fault.ts'
import type { Forge } from '../support/forge.ts'
import { endOfB, fresh } from '../support/forged-clones.ts'
import {
  accepted,
  memory,
  nextRow,
  refused,
  standardHistory,
  type Verdicts,
  verdicts,
  version,
} from '../support/standard-forge.ts'

type Case = [code: string, name: string, forging: (forge: Forge) => void, reference?: string]

let standard: Forge
beforeAll(async () => {
  const { forge } = await standardHistory()
  standard = forge
})

/** A change of one row, with the record's row spoiled before it is signed. */
function withRow(change: Partial<SignedRow>, row: NewRow = nextRow): (forge: Forge) => void {
  const record: Fault['record'] = (r) => ({ ...r, rows: r.rows.map((x) => ({ ...x, ...change })) })
  return (forge) => forge.change([row], { record })
}

async function judge(forging: Case[2]): Promise<Verdicts> {
  const forge = standard.fork()
  forging(forge)
  return verdicts(forge)
}

describe('T8: rows that contradict the history are refused', () => {
  test.each<Case>([
    ['row_base_mismatch', 'an older base', (f) => f.change([{ ...nextRow, base: version.a1 }])],
    [
      'row_base_mismatch',
      'the base of another memory',
      (f) => f.change([{ ...nextRow, base: version.b1 }]),
    ],
    ['row_base_mismatch', 'no base', (f) => f.change([{ ...nextRow, base: zeroId }])],
    [
      'row_base_mismatch',
      'a second base',
      (f) => f.change([{ ...nextRow, secondBase: version.b1 }]),
    ],
    [
      'row_memory_missing',
      'a change of a memory that never was',
      (f) => f.change([{ ...fresh, operation: 'modified', base: version.a1 }]),
    ],
    [
      'row_memory_missing',
      'a restored memory that never was',
      (f) => f.change([{ ...fresh, base: version.a1 }]),
    ],
    [
      'row_memory_exists',
      'a restored memory that is not deleted',
      (f) => f.change([{ ...nextRow, operation: 'created' }]),
    ],
    [
      'row_memory_missing',
      'a change of a deleted memory',
      (f) => {
        f.change([endOfB])
        f.change([{ ...nextRow, memoryId: memory.b, path: '/dir/b.md' }])
      },
    ],
    [
      'row_memory_missing',
      'a deletion of a deleted memory',
      (f) => {
        f.change([endOfB])
        f.change([endOfB])
      },
    ],
    [
      'row_path_conflict',
      'two memories at one path',
      (f) => f.change([{ ...fresh, path: '/a.md' }]),
    ],
    [
      'row_path_conflict',
      'a memory below another',
      (f) => f.change([{ ...fresh, path: '/a.md/below' }]),
    ],
    ['row_path_conflict', 'a memory above another', (f) => f.change([{ ...fresh, path: '/dir' }])],
    [
      'row_path_conflict',
      'a memory above another, which was moved later',
      (f) => {
        f.change([{ ...fresh, path: '/dir' }])
        const end = { ...fresh, operation: 'modified', path: '/moved' } as const
        f.change([{ ...end, versionId: version.b2 }])
      },
    ],
    ['record_rows', 'no row', (f) => f.change([])],
    ['record_rows', 'a row without an operation', withRow({ operation: undefined })],
    [
      'record_rows',
      'a memory created again',
      (f) => f.change([{ ...fresh, memoryId: memory.a, base: zeroId }]),
    ],
    [
      'record_rows',
      'a new memory with an id of its choice',
      withRow({ memoryId: 'ab'.repeat(16) }, fresh),
    ],
    ['record_rows', 'a change of no memory', withRow({ memoryId: zeroId })],
    ['record_rows', 'a deletion of no memory', withRow({ memoryId: zeroId }, endOfB)],
    [
      'record_rows',
      'a restored memory that is none',
      (f) => {
        f.change([endOfB])
        withRow({ memoryId: zeroId }, { ...endOfB, operation: 'created' })(f)
      },
    ],
    [
      'record_rows',
      'a new memory after a known one',
      (f) =>
        f.change([fresh, nextRow], {
          record: (record) => ({ ...record, rows: record.rows.toReversed() }),
        }),
    ],
    [
      'record_rows',
      'rows in the wrong order',
      (f) =>
        f.change([nextRow, endOfB], {
          record: (record) => ({ ...record, rows: record.rows.toReversed() }),
        }),
    ],
    [
      'record_rows',
      'one memory in two rows',
      (f) => f.change([nextRow, { ...nextRow, versionId: version.b2 }]),
    ],
  ])('%s: %s', async (code, _, forging, reference) => {
    expect(await judge(forging)).toEqual(refused(code, reference))
  })

  test('a restored memory that was deleted is accepted', async () => {
    const forge = standard.fork()
    forge.change([endOfB])
    forge.change([{ ...endOfB, operation: 'created', content: 'back\n' }])
    expect(await verdicts(forge)).toEqual(accepted)
  })
})

/** A change whose record commits to a detail that lies. */
function claiming(row: NewRow, lie: Partial<DetailRow>): Case[2] {
  return (forge) => forge.change([row], { claim: (honest) => ({ ...honest, ...lie }) })
}

const rewritten: Fault['details'] = (rows) => rows.map((row) => ({ ...row, path: '/lie.md' }))

describe("T8: details and memories that differ from the record's commitments are refused", () => {
  const lying = utf8('lie\n')
  test.each<Case>([
    [
      'detail_mismatch',
      'a detail of another path',
      (f) => f.change([nextRow], { details: rewritten }),
    ],
    [
      'detail_mismatch',
      'a detail with another blinding',
      (f) =>
        f.change([nextRow], {
          details: (rows) => rows.map((row) => ({ ...row, blinding: new Uint8Array(32) })),
        }),
    ],
    ['detail_mismatch', 'a commitment to nothing', withRow({ commitment: zeroHash })],
    ['detail_missing', 'no detail', (f) => f.change([nextRow], { details: () => [] })],
    [
      'detail_malformed',
      'a detail for a row that is not there',
      (f) => f.change([nextRow], { details: (rows) => [...rows, ...rows.map(moved(9))] }),
    ],
    [
      'detail_malformed',
      'one row twice',
      (f) => f.change([nextRow], { details: (rows) => [...rows, ...rows] }),
    ],
    [
      'detail_malformed',
      'a note beside the second row',
      (f) => f.change([fresh, { ...nextRow, note: 'x' }]),
    ],
    [
      'detail_mismatch',
      'a deletion with a text',
      (f) => f.change([{ ...endOfB, operation: 'modified', content: 'x' }], asDeletion),
    ],
    ['detail_mismatch', 'a deletion that claims a size', claiming(endOfB, { size: 1 })],
    [
      'detail_mismatch',
      'a deletion that claims a hash',
      claiming(endOfB, { sha256: sha256(lying) }),
    ],
    ['memory_mismatch', 'a memory of another size', claiming(nextRow, { size: 5 })],
    ['detail_mismatch', 'a deletion at another path', (f) => f.change([{ ...endOfB, path: '/z' }])],
    [
      'memory_mismatch',
      'a memory with another text than its detail',
      (f) =>
        f.change([nextRow], {
          blob: (blob) => ({ ...blob, content: 'lie\n', sha256: sha256(lying) }),
        }),
    ],
    [
      'memory_mismatch',
      'a memory at another path',
      (f) => f.change([nextRow], { blob: (blob) => ({ ...blob, path: '/lie.md' }) }),
    ],
    [
      'memory_mismatch',
      'a memory of another version',
      (f) => f.change([nextRow], { blob: (blob) => ({ ...blob, versionId: f.idOf(version.a1) }) }),
    ],
    [
      'memory_mismatch',
      'a memory that was created at another time',
      (f) => f.change([nextRow], { blob: (blob) => ({ ...blob, created: 5 }) }),
    ],
    [
      'memory_malformed',
      'a memory with another hash',
      (f) => f.change([nextRow], { blob: (blob) => ({ ...blob, sha256: zeroHash }) }),
    ],
    [
      'memory_malformed',
      'a text with a NUL character',
      (f) => f.change([{ ...nextRow, content: 'a\0b' }]),
    ],
  ])('%s: %s', async (code, _, forging, reference) => {
    expect(await judge(forging)).toEqual(refused(code, reference))
  })
})

describe('T8: a path that the grammar refuses is refused in a record too', () => {
  test.each<[name: string, path: string]>([
    ['no slash', 'a'],
    ['the root', '/'],
    ['an empty segment', '/a//b'],
    ['a slash at the end', '/a/'],
    ['a dot', '/./a'],
    ['two dots', '/../a'],
    ['two dots at the end', '/a/..'],
    ['NUL', '/a\0b'],
    ['a line break', '/a\nb'],
    ['a line separator', '/a\u2028b'],
    ['a zero-width joiner', '/a\u200db'],
    ['text direction', '/a\u202eb'],
    ['a byte-order mark', '/\ufeffa'],
    ['21 segments', '/a'.repeat(21)],
    ['the reserved name', '/.anthropic-memory-store'],
  ])('%s', async (_, path) => {
    const forge = standard.fork()
    forge.change([{ ...fresh, path }])
    expect(await verdicts(forge)).toEqual(refused('detail_malformed'))
  })
})

function moved(index: number) {
  return <T extends { readonly row: number }>(row: T): T => ({ ...row, row: index })
}

/** By its record a deletion; its detail and blob are those of a change. */
const asDeletion: Fault = {
  record: (record) => ({
    ...record,
    rows: record.rows.map((row) => ({ ...row, operation: 'deleted' })),
  }),
}
