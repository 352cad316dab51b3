// FORMAT §6.2: the removable part of a change, and its commitments.

import { concat, fromHex, label, Reader, toHex, u16, u32, u8, utf8, utf8Text } from './bytes.ts'
import { checkPadding, paddedLength } from './envelope.ts'
import { keyedH } from './hash.ts'
import { checkPath } from './path.ts'
import { ensure } from './refusal.ts'

const noteBytesMax = 4096

export interface RowDetail {
  readonly path: string
  readonly note: string
  readonly size: number
  /** Hex. */
  readonly sha256: string
}

export interface DetailRow extends RowDetail {
  /** Index of the record's row. */
  readonly row: number
  /** Hex. */
  readonly blinding: string
}

/** The largest sealed size of a detail with `rows` rows: with the longest paths and note. */
export function detailBytesMax(rows: number): number {
  return paddedLength('detail', 3 + rows * (74 + 1024) + noteBytesMax) + 96
}

function encodeRowDetail(detail: RowDetail): Uint8Array {
  const [path, note] = [utf8(detail.path), utf8(detail.note)]
  const lengths = concat(u16(path.length), u16(note.length), u32(detail.size))
  return concat(lengths, fromHex(detail.sha256), path, note)
}

/** Hex. */
export function detailCommitment(blinding: string, detail: RowDetail): string {
  return toHex(keyedH(fromHex(blinding), label('GLK1/detail/v1'), encodeRowDetail(detail)))
}

/** The plaintext, before padding. */
export function encodeDetail(rows: readonly DetailRow[]): Uint8Array {
  const encoded = rows.map((r) => concat(u16(r.row), encodeRowDetail(r), fromHex(r.blinding)))
  return concat(u8(1), u16(rows.length), ...encoded)
}

/** Padded plaintext to rows; else `detail_malformed` or `envelope_padding`. */
export function decodeDetail(padded: Uint8Array): DetailRow[] {
  const reader = new Reader(padded, 'detail_malformed')
  ensure(reader.u8() === 1, 'upgrade_required', 'The detail has another version')
  const rows = Array.from({ length: reader.u16() }, () => readRow(reader))
  checkPadding('detail', padded, reader.offset)
  let before = -1
  for (const { row, note } of rows) {
    ensure(row > before, 'detail_malformed', 'The rows do not ascend')
    ensure(row === 0 || note === '', 'detail_malformed', 'Only the first row has a note')
    before = row
  }
  return rows
}

function readRow(reader: Reader): DetailRow {
  const row = reader.u16()
  const [pathLength, noteLength] = [reader.u16(), reader.u16()]
  ensure(noteLength <= noteBytesMax, 'detail_malformed', 'A note has at most 4,096 bytes')
  const size = reader.u32()
  const sha256 = reader.hex(32)
  const path = checkPath(utf8Text(reader.raw(pathLength), 'detail_malformed'), 'detail_malformed')
  const note = utf8Text(reader.raw(noteLength), 'detail_malformed')
  return { row, path, note, size, sha256, blinding: reader.hex(32) }
}
