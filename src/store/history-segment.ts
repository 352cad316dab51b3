// A run of consecutive commits of the history as bytes, for the sealed cache (history-cache.ts).
// This release's own: another version number makes it unreadable, and it is made again from git.
//
// u8 version ‖ oid before the first commit 20 (zeros at genesis) ‖ u32 n ‖ n × (u16 length ‖ text)
// ‖ u32 length ‖ ids and hashes ‖ u32 commits ‖ commits. A text is named by its number from 1 on,
// as u32; 0 stands for none. Ids and hashes stand apart so that all become text in one go.

import { ByteReader, ByteWriter, fromHex, toHex, utf8, utf8Text } from '../bytes.ts'
import { assert } from '../errors.ts'
import { zeroId } from '../format/record.ts'
import type { Actor, ActorType, Operation, RecordKind, RedactReason } from '../format/record.ts'
import type { Oid } from '../git/object.ts'
import type { CommitEntry, History, VersionRow } from './history.ts'
import { otherRelease } from './sealed-cache.ts'

const VERSION = 2
const OID_DIGITS = 40
const ID_DIGITS = 32
const HASH_DIGITS = 64
const NO_OID = '0'.repeat(OID_DIGITS)
const NO_HASH = '0'.repeat(HASH_DIGITS)
// Codes in the file are places in these lists; 0 stands for none.
const KINDS: readonly RecordKind[] = ['genesis', 'change', 'redact', 'keyring', 'settings']
const OPERATIONS: readonly Operation[] = ['created', 'modified', 'deleted']
const ACTOR_TYPES: readonly ActorType[] = ['api', 'user', 'service_account', 'session']
const REASONS: readonly RedactReason[] = [
  'unspecified',
  'leaked_secret',
  'personal_data',
  'legal',
  'poisoned',
  'retention',
]

/** The commits at heights from `start` up to `end`, exclusive. */
export function encodeSegment(history: History, start: number, end: number): Uint8Array {
  const writer = new SegmentWriter()
  const commits = history.commits.slice(start, end)
  for (const commit of commits) writer.add(commit, history.rowsAt(commit.height))
  return writer.bytes(history.commits[start - 1]?.oid, commits.length)
}

/**
 * Appends a segment to the history that it continues; false if it continues another one. Throws
 * `upgrade_required` for another release's file.
 */
export function appendSegment(history: History, padded: Uint8Array): boolean {
  const reader = new ByteReader(padded, otherRelease)
  if (reader.u8() !== VERSION) throw otherRelease()
  if (toHex(reader.raw(OID_DIGITS / 2)) !== (history.head?.oid ?? NO_OID)) return false
  const segment = new SegmentReader(reader)
  for (let left = reader.u32(); left > 0; left -= 1) {
    const commit = segment.commit(history.commits.length)
    history.append(commit, segment.rows(history))
  }
  return true
}

class SegmentWriter {
  readonly #commits = new ByteWriter()
  readonly #ids = new ByteWriter()
  readonly #texts = new Map<string, number>()

  add(commit: CommitEntry, rows: readonly VersionRow[]): void {
    const { oid, kind, time, deviceId, actor, session, reason, note, redacts } = commit
    this.#ids.raw(fromHex(oid + redacts.join('')))
    this.#commits
      .u8(codeOf(KINDS, kind))
      .u64(time)
      .u32(this.#text(deviceId))
      .u8(codeOf(ACTOR_TYPES, actor?.type))
      .u32(this.#text(actor?.id))
      .u32(this.#text(session))
      .u8(codeOf(REASONS, reason))
      .u32(this.#text(note))
      .u16(redacts.length)
      .u16(rows.length)
    for (const row of rows) this.#addRow(row)
  }

  bytes(after: Oid | undefined, commits: number): Uint8Array {
    const writer = new ByteWriter().u8(VERSION).raw(fromHex(after ?? NO_OID))
    writer.u32(this.#texts.size)
    for (const text of this.#texts.keys()) {
      const bytes = utf8(text)
      writer.u16(bytes.length).raw(bytes)
    }
    const ids = this.#ids.bytes()
    writer.u32(ids.length).raw(ids).u32(commits)
    return writer.raw(this.#commits.bytes()).bytes()
  }

  #addRow({ versionId, memoryId, operation, base, path, size, sha256 }: VersionRow): void {
    this.#ids.raw(fromHex(versionId + (sha256 ?? NO_HASH)))
    this.#commits
      .u32(this.#text(memoryId))
      .u8(codeOf(OPERATIONS, operation))
      // A base that is there is the memory's version before (FORMAT §6.4).
      .u8(base === zeroId ? 0 : 1)
      .u32(this.#text(path))
      .u32(size ?? 0)
  }

  #text(text: string | undefined): number {
    if (text === undefined) return 0
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    this.#texts.set(text, this.#texts.size + 1)
    return this.#texts.size
  }
}

class SegmentReader {
  readonly #reader: ByteReader
  readonly #texts: readonly string[]
  /** Its pieces share its memory, and all of them are kept. */
  readonly #ids: string
  #at = 0

  constructor(reader: ByteReader) {
    this.#reader = reader
    this.#texts = Array.from({ length: reader.u32() }, () => utf8Text(reader.raw(reader.u16())))
    this.#ids = toHex(reader.raw(reader.u32()))
  }

  commit(height: number): CommitEntry {
    const reader = this.#reader
    const oid = this.#id(OID_DIGITS)
    const kind = valueOf(KINDS, reader.u8())
    const time = reader.u64()
    const deviceId = this.#text()
    const actor = actorOf(valueOf(ACTOR_TYPES, reader.u8()), this.#text())
    const session = this.#text()
    const reason = valueOf(REASONS, reader.u8())
    const note = this.#text()
    const redacts = Array.from({ length: reader.u16() }, () => this.#id(ID_DIGITS))
    if (kind === undefined || deviceId === undefined) throw otherRelease()
    return { oid, height, kind, time, deviceId, actor, session, reason, redacts, note }
  }

  rows(history: History): readonly VersionRow[] {
    const rows: VersionRow[] = []
    for (let left = this.#reader.u16(); left > 0; left -= 1) rows.push(this.#row(history))
    return rows
  }

  #row(history: History): VersionRow {
    const reader = this.#reader
    const versionId = this.#id(ID_DIGITS)
    const hash = this.#id(HASH_DIGITS)
    const memoryId = this.#text()
    const operation = valueOf(OPERATIONS, reader.u8())
    if (memoryId === undefined || operation === undefined) throw otherRelease()
    const before = reader.u8() === 0 ? undefined : history.ofMemory(memoryId).at(-1)
    const base = before?.versionId ?? zeroId
    const path = this.#text()
    const bytes = reader.u32()
    const hasContent = operation !== 'deleted' && path !== undefined
    const size = hasContent ? bytes : undefined
    const sha256 = hasContent ? hash : undefined
    return { versionId, memoryId, operation, base, path, size, sha256 }
  }

  #id(digits: number): string {
    const start = this.#at
    this.#at += digits
    return this.#ids.slice(start, this.#at)
  }

  #text(): string | undefined {
    const number = this.#reader.u32()
    return number === 0 ? undefined : this.#texts[number - 1]
  }
}

function actorOf(type: ActorType | undefined, id: string | undefined): Actor | undefined {
  return type === undefined || id === undefined ? undefined : { type, id }
}

function codeOf<T>(values: readonly T[], value: T | undefined): number {
  if (value === undefined) return 0
  const index = values.indexOf(value)
  assert(index !== -1, 'a value that a segment can hold')
  return index + 1
}

function valueOf<T>(values: readonly T[], code: number): T | undefined {
  return code === 0 ? undefined : values[code - 1]
}
