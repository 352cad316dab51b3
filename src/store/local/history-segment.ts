// A run of consecutive commits of the history as bytes, for the sealed cache (history-cache.ts):
// the records of its tables as they are in RAM, so that nothing is decoded commit by commit.
// Private to this release: a segment of another version is not read but rebuilt from git.

import { ByteReader, ByteWriter, fromHex, toHex, utf8, utf8Text } from '../../bytes.ts'
import type { ActorType } from '../../format/change-record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Author } from '../history/history-rows.ts'
import type { HistoryRun } from '../history/history-run.ts'
import { codeOf, valueOf } from '../history/history-table.ts'
import type { History } from '../history/history.ts'
import { otherRelease } from './sealed-cache.ts'

// u8 version ‖ list of tips, each an oid 20 ‖ u32 paths and u32 authors before ‖ five tables, each
// u32 length ‖ records ‖ lists of paths, authors, notes and parents. A list is u32 n ‖ items, a
// text u16 length + 1 ‖ UTF-8, or u16 0 if there is none. The tips are those before the first
// commit: equal tips have an equal past.
const VERSION = 5
const OID_BYTES = 20
const ACTOR_TYPES: readonly ActorType[] = ['api', 'user', 'service_account', 'session']

/** Encodes runs of commits: the first one from `start` on, each up to the given end. */
export function segmentEncoder(history: History, start: number): (end: number) => Uint8Array {
  const copy = history.copier(start)
  let from = start
  return (end) => {
    const tips = tipsBefore(history, from)
    from = end
    return encode(tips, copy(end))
  }
}

/**
 * Appends a segment to the history that it continues; false if it continues another one. Throws
 * `upgrade_required` for another release's file.
 */
export function appendSegment(history: History, padded: Uint8Array): boolean {
  const reader = new ByteReader(padded, otherRelease)
  if (reader.u8() !== VERSION) throw otherRelease()
  const tips = readList(reader, () => toHex(reader.raw(OID_BYTES)))
  if (tips.join() !== tipsBefore(history, history.commits.length).join()) return false
  return history.appendRun(decodeRun(reader))
}

function tipsBefore(history: History, position: number): readonly Oid[] {
  return history.tipsBefore(position).map(({ oid }) => oid)
}

function encode(tips: readonly Oid[], run: HistoryRun): Uint8Array {
  const writer = new ByteWriter().u8(VERSION)
  writeList(writer, tips, (oid) => writer.raw(fromHex(oid)))
  writer.u32(run.textsBefore.paths).u32(run.textsBefore.authors)
  for (const table of tablesOf(run)) writer.u32(table.length).raw(table)
  writeList(writer, run.paths, (path) => writeText(writer, utf8(path)))
  writeList(writer, run.authors, (author) => writeAuthor(writer, author))
  writeList(writer, [...run.notes], ([index, note]) => writeText(writer.u32(index), note))
  writeList(writer, [...run.parents], ([index, parents]) => {
    writeList(writer.u32(index), parents, (parent) => writer.u32(parent))
  })
  return writer.bytes()
}

function tablesOf(run: HistoryRun): readonly Uint8Array[] {
  return [run.commits, run.rows, run.redacted, run.versionIds, run.memoryIds]
}

function decodeRun(reader: ByteReader): HistoryRun {
  const table = () => reader.view(reader.u32())
  return {
    textsBefore: { paths: reader.u32(), authors: reader.u32() },
    commits: table(),
    rows: table(),
    redacted: table(),
    versionIds: table(),
    memoryIds: table(),
    paths: readList(reader, () => readString(reader) ?? ''),
    authors: readList(reader, () => readAuthor(reader)),
    notes: new Map(readList(reader, () => [reader.u32(), readText(reader) ?? new Uint8Array()])),
    parents: new Map(readList(reader, () => [reader.u32(), readList(reader, () => reader.u32())])),
  }
}

function writeAuthor(writer: ByteWriter, { deviceId, actor, session }: Author): void {
  writeText(writer, utf8(deviceId))
  writer.u8(codeOf(ACTOR_TYPES, actor?.type))
  writeText(writer, actor && utf8(actor.id))
  writeText(writer, session === undefined ? undefined : utf8(session))
}

function readAuthor(reader: ByteReader): Author {
  const deviceId = readString(reader) ?? ''
  const type = valueOf(ACTOR_TYPES, reader.u8())
  const id = readString(reader)
  const actor = type === undefined || id === undefined ? undefined : { type, id }
  return { deviceId, actor, session: readString(reader) }
}

function writeText(writer: ByteWriter, text: Uint8Array | undefined): void {
  if (text === undefined) writer.u16(0)
  else writer.u16(text.length + 1).raw(text)
}

function readText(reader: ByteReader): Uint8Array | undefined {
  const length = reader.u16()
  return length === 0 ? undefined : reader.raw(length - 1)
}

function readString(reader: ByteReader): string | undefined {
  const text = readText(reader)
  return text && utf8Text(text)
}

function writeList<T>(writer: ByteWriter, items: readonly T[], write: (item: T) => void): void {
  writer.u32(items.length)
  for (const item of items) write(item)
}

function readList<T>(reader: ByteReader, read: () => T): T[] {
  return Array.from({ length: reader.u32() }, read)
}
