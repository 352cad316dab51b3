// Builds the rows of a new commit (FORMAT §6.1, §6.2): the detail rows, each with a fresh blinding,
// and the record rows, which commit to them. Seals nothing.

import { fromHex } from '../../bytes.ts'
import type { Random } from '../../crypto/random.ts'
import type { Operation, SignedRow } from '../../format/change-record.ts'
import { detailCommitment, type DetailRow } from '../../format/detail.ts'
import { zeroHash } from '../../format/record.ts'
import type { Author } from './commit-context.ts'

/** Yields twice for each row. */
export function* newRows(
  random: Random,
  planned: readonly MergeRow[],
  author: Author,
): Generator<
  undefined,
  { readonly details: readonly DetailRow[]; readonly rows: readonly SignedRow[] }
> {
  const details: DetailRow[] = []
  for (const [index, row] of planned.entries()) {
    details.push(newDetail(random, row, index, author))
    yield
  }
  const rows: SignedRow[] = []
  for (const [index, row] of planned.entries()) {
    rows.push(signedRow(row, details[index]))
    yield
  }
  return { details, rows }
}

function newDetail(random: Random, row: PlannedRow, index: number, author: Author): DetailRow {
  const isDeletion = row.content === undefined
  return {
    row: index,
    path: row.path,
    note: index === 0 ? (author.reason ?? '') : '',
    size: row.size,
    sha256: isDeletion ? zeroHash : fromHex(row.sha256),
    blinding: random(32),
  }
}

function signedRow(row: MergeRow, detail: DetailRow | undefined): SignedRow {
  const { memoryId, base, secondBase, operation } = row
  const commitment = detail === undefined ? zeroHash : detailCommitment(detail.blinding, detail)
  return { memoryId, base, secondBase, operation, commitment }
}

/** A version row to be written, with the contents of its detail and blob. Ids are in hex. */
export interface PlannedRow {
  /** `zeroId` for a new memory. */
  readonly memoryId: string
  readonly base: string
  readonly operation: Operation
  readonly path: string
  /** Undefined for a deletion. */
  readonly content: string | undefined
  /** Bytes of UTF-8; 0 for a deletion. */
  readonly size: number
  /** 64 hex digits; empty for a deletion. */
  readonly sha256: string
  readonly created: number
}

/**
 * A row of a merge. `base` is the snapshot's version and `secondBase` the other side's. For a
 * settled memory `base` is the settled version, from either side, and `secondBase` is zero.
 */
export interface MergeRow extends PlannedRow {
  readonly secondBase: string
}
