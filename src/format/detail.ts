// Details (FORMAT §6.2): the removable part of a change. Each row has its path, size, hash and
// note, and a blinding: without it, the record's commitment reveals nothing.

import { ByteReader, ByteWriter, label, utf8, utf8Text } from '../bytes.ts'
import { envelopeOverhead } from '../crypto/aead.ts'
import { keyedHash } from '../crypto/digest.ts'
import { assert, StoreError } from '../errors.ts'
import { noteBytesMax, pathBytesMax } from '../limits.ts'
import { checkPadding, paddedLength } from './envelope.ts'
import { decodePath } from './path.ts'
import { newerRelease } from './public-files.ts'

/** The fields of a version that the author signs through the commitment. */
export interface RowDetail {
  readonly path: string
  /** Text of at most 4,096 bytes; empty except in the first row. */
  readonly note: string
  /** Size in bytes of UTF-8; 0 for a deletion. */
  readonly size: number
  /** SHA-256 of the content; zero for a deletion. */
  readonly sha256: Uint8Array
}

export interface DetailRow extends RowDetail {
  /** The row's index in the record. */
  readonly row: number
  /** 32 random bytes, erased with the row. */
  readonly blinding: Uint8Array
}

const VERSION = 1
/** The fields of a row before path and note, and its blinding. */
const ROW_LENGTH = 74
const COMMITMENT_LABEL = label('GLK1/detail/v1')

function encodeRowDetail(detail: RowDetail): Uint8Array {
  return writeRowDetail(new ByteWriter(), detail).bytes()
}

function writeRowDetail(writer: ByteWriter, detail: RowDetail): ByteWriter {
  const { path, note, size, sha256 } = detail
  const pathBytes = utf8(path)
  const noteBytes = utf8(note)
  assert(pathBytes.length <= pathBytesMax && noteBytes.length <= noteBytesMax, 'checked before')
  return writer
    .u16(pathBytes.length)
    .u16(noteBytes.length)
    .u32(size)
    .raw(sha256)
    .raw(pathBytes)
    .raw(noteBytes)
}

/** 32 bytes that commit to the detail, and reveal nothing without the blinding. */
export function detailCommitment(blinding: Uint8Array, detail: RowDetail): Uint8Array {
  return keyedHash(32, blinding, COMMITMENT_LABEL, encodeRowDetail(detail))
}

/** The largest sealed detail of a record with `rows` rows. */
export function detailBytesMax(rows: number): number {
  const length = 3 + rows * (ROW_LENGTH + pathBytesMax) + noteBytesMax
  return paddedLength('detail', length) + envelopeOverhead
}

/** Rows ascend by index; redacted rows are absent. */
export function encodeDetail(rows: readonly DetailRow[]): Uint8Array {
  const writer = new ByteWriter().u8(VERSION).u16(rows.length)
  for (const row of rows) {
    writeRowDetail(writer.u16(row.row), row).raw(row.blinding)
  }
  return writer.bytes()
}

/**
 * Decodes a padded plaintext. Throws `detail_malformed`, `upgrade_required`, `envelope_padding`.
 */
export function decodeDetail(padded: Uint8Array): DetailRow[] {
  const reader = new ByteReader(padded, malformed)
  if (reader.u8() !== VERSION) throw newerRelease()
  const count = reader.u16()
  const rows: DetailRow[] = []
  for (let index = 0; index < count; index++) {
    const row = readRow(reader)
    if (row.row <= (rows.at(-1)?.row ?? -1)) throw malformed('its rows do not ascend')
    if (row.row !== 0 && row.note !== '')
      throw malformed('only the first row of a record has a note')
    rows.push(row)
  }
  checkPadding('detail', padded, reader.offset)
  return rows
}

function readRow(reader: ByteReader): DetailRow {
  const row = reader.u16()
  const pathLength = reader.u16()
  const noteLength = reader.u16()
  const size = reader.u32()
  const sha256 = reader.raw(32)
  const path = decodePath(reader.raw(pathLength), () => malformed('a path is not allowed'))
  if (noteLength > noteBytesMax) throw malformed('a note is too long')
  const note = readText(reader.raw(noteLength))
  return { row, path, note, size, sha256, blinding: reader.raw(32) }
}

function readText(bytes: Uint8Array): string {
  try {
    return utf8Text(bytes)
  } catch {
    throw malformed('a text is not UTF-8')
  }
}

function malformed(problem: string): StoreError {
  return new StoreError('detail_malformed', `A detail is malformed: ${problem}`)
}
