// A run of consecutive commits of the history as bytes, for the sealed cache (history-cache.ts).
// Private to this release: a segment of another version is not read but rebuilt from git.

import { ByteReader, ByteWriter, fromHex, toHex, utf8, utf8Text } from '../../bytes.ts'
import type { Actor, ActorType } from '../../format/change-record.ts'
import { zeroId } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { CommitEntry, VersionEntry, VersionRow } from '../history/history-rows.ts'
import { codeOf, valueOf } from '../history/history-table.ts'
import type { History } from '../history/history.ts'
import { kinds, operations, reasons } from '../tables/codes.ts'
import { otherRelease } from './sealed-cache.ts'

// u8 version ‖ u32 n ‖ n × oid of a tip 20 ‖ u32 n ‖ n × (u16 length ‖ text) ‖ u32 length ‖ ids
// and hashes ‖ u32 commits ‖ commits. The tips are those before the first commit: equal tips have
// an equal past. Texts are numbered from 1, as u32; 0 means none. Ids and hashes are stored apart,
// so that all of them are decoded to hex together.
const VERSION = 4
const OID_DIGITS = 40
const ID_DIGITS = 32
const HASH_DIGITS = 64
const NO_HASH = '0'.repeat(HASH_DIGITS)
const ACTOR_TYPES: readonly ActorType[] = ['api', 'user', 'service_account', 'session']

// How a row encodes its bases.
const NO_BASE = 0
const VERSION_BEFORE = 1
const NAMED_BASES = 2

/** The commits at positions from `start` up to `end`, exclusive. */
export function encodeSegment(history: History, start: number, end: number): Uint8Array {
  const writer = new SegmentWriter(history)
  for (const commit of history.commits.range(start, end)) writer.add(commit)
  return writer.bytes(start, end - start)
}

/**
 * Appends a segment to the history that it continues; false if it continues another one. Throws
 * `upgrade_required` for another release's file.
 */
export function appendSegment(history: History, padded: Uint8Array): boolean {
  const reader = new ByteReader(padded, otherRelease)
  if (reader.u8() !== VERSION) throw otherRelease()
  const tips = Array.from({ length: reader.u32() }, () => toHex(reader.raw(OID_DIGITS / 2)))
  if (tips.join() !== tipsBefore(history, history.commits.length).join()) return false
  const segment = new SegmentReader(history, reader)
  for (let remaining = reader.u32(); remaining > 0; remaining -= 1) segment.appendNext()
  return true
}

function tipsBefore(history: History, position: number): readonly Oid[] {
  return history.tipsBefore(position).map(({ oid }) => oid)
}

class SegmentWriter {
  readonly #history: History
  readonly #commits = new ByteWriter()
  readonly #ids = new ByteWriter()
  readonly #texts = new Map<string, number>()

  constructor(history: History) {
    this.#history = history
  }

  add(commit: CommitEntry): void {
    const { oid, kind, time, deviceId, actor, session, reason, note, redacts } = commit
    const rows = this.#history.rowsAt(commit.position)
    this.#ids.raw(fromHex(oid + redacts.join('')))
    this.#addParents(commit)
    this.#commits
      .u8(codeOf(kinds, kind))
      .u64(time)
      .u32(this.#text(deviceId))
      .u8(codeOf(ACTOR_TYPES, actor?.type))
      .u32(this.#text(actor?.id))
      .u32(this.#text(session))
      .u8(codeOf(reasons, reason))
      .u32(this.#text(note))
      .u16(redacts.length)
      .u16(rows.length)
    for (const row of rows) this.#addRow(row)
  }

  bytes(start: number, commits: number): Uint8Array {
    const tips = tipsBefore(this.#history, start)
    const writer = new ByteWriter()
      .u8(VERSION)
      .u32(tips.length)
      .raw(fromHex(tips.join('')))
    writer.u32(this.#texts.size)
    for (const text of this.#texts.keys()) {
      const bytes = utf8(text)
      writer.u16(bytes.length).raw(bytes)
    }
    const ids = this.#ids.bytes()
    writer.u32(ids.length).raw(ids).u32(commits)
    return writer.raw(this.#commits.bytes()).bytes()
  }

  /** Parents and height, unless the only parent is the commit before. */
  #addParents(commit: CommitEntry): void {
    const { height, position } = commit
    const parents = this.#history.parentsOf(commit).map((parent) => parent.position)
    const follows = parents.length === 1 && parents[0] === position - 1
    const listed = follows ? [] : parents
    this.#commits.u8(listed.length)
    for (const parent of listed) this.#commits.u32(position - parent)
    if (listed.length > 0) this.#commits.u32(height)
  }

  #addRow(row: VersionEntry): void {
    const { versionId, memoryId, operation, base, secondBase, path, size, sha256 } = row
    const bases = this.#basesOf(row)
    this.#ids.raw(fromHex(versionId + (sha256 ?? NO_HASH)))
    if (bases === NAMED_BASES) this.#ids.raw(fromHex(base + secondBase))
    this.#commits
      .u32(this.#text(memoryId))
      .u8(codeOf(operations, operation))
      .u8(bases)
      .u32(this.#text(path))
      .u32(size ?? 0)
  }

  #basesOf({ versionId, base, secondBase }: VersionEntry): number {
    if (secondBase !== zeroId) return NAMED_BASES
    if (base === zeroId) return NO_BASE
    const before = this.#history.findBefore(versionId)
    return before?.versionId === base ? VERSION_BEFORE : NAMED_BASES
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
  readonly #history: History
  readonly #reader: ByteReader
  readonly #texts: readonly string[]
  /** One string of which all slices are kept: they share its memory. */
  readonly #ids: string
  #at = 0

  constructor(history: History, reader: ByteReader) {
    this.#history = history
    this.#reader = reader
    this.#texts = Array.from({ length: reader.u32() }, () => utf8Text(reader.raw(reader.u16())))
    this.#ids = toHex(reader.raw(reader.u32()))
  }

  appendNext(): void {
    const reader = this.#reader
    const oid = this.#id(OID_DIGITS)
    const parents = this.#parents()
    const height = parents === undefined ? this.#nextHeight() : reader.u32()
    const kind = valueOf(kinds, reader.u8())
    const time = reader.u64()
    const deviceId = this.#text()
    const actor = actorOf(valueOf(ACTOR_TYPES, reader.u8()), this.#text())
    const session = this.#text()
    const reason = valueOf(reasons, reader.u8())
    const note = this.#text()
    const redacts = Array.from({ length: reader.u16() }, () => this.#id(ID_DIGITS))
    const rows: VersionRow[] = []
    for (let remaining = reader.u16(); remaining > 0; remaining -= 1) rows.push(this.#row())
    if (kind === undefined || deviceId === undefined) throw otherRelease()
    this.#history.append(
      { oid, height, kind, time, deviceId, actor, session, reason, redacts, note },
      rows,
      parents,
    )
  }

  /** The positions of the parents; undefined if the only parent is the commit before. */
  #parents(): readonly number[] | undefined {
    const count = this.#reader.u8()
    if (count === 0) return undefined
    const position = this.#history.commits.length
    return Array.from({ length: count }, () => position - this.#reader.u32())
  }

  #nextHeight(): number {
    return (this.#history.head?.height ?? -1) + 1
  }

  #row(): VersionRow {
    const reader = this.#reader
    const versionId = this.#id(ID_DIGITS)
    const hash = this.#id(HASH_DIGITS)
    const memoryId = this.#text()
    const operation = valueOf(operations, reader.u8())
    if (memoryId === undefined || operation === undefined) throw otherRelease()
    const bases = reader.u8()
    const base = bases === VERSION_BEFORE ? this.#versionBefore(memoryId) : this.#base(bases)
    const secondBase = this.#base(bases)
    const path = this.#text()
    const bytes = reader.u32()
    const hasContent = operation !== 'deleted' && path !== undefined
    const size = hasContent ? bytes : undefined
    const sha256 = hasContent ? hash : undefined
    return { versionId, memoryId, operation, base, secondBase, path, size, sha256 }
  }

  #versionBefore(memoryId: string): string {
    const before = this.#history.newestOf(memoryId)
    if (before === undefined) throw otherRelease()
    return before.versionId
  }

  #base(bases: number): string {
    return bases === NAMED_BASES ? this.#id(ID_DIGITS) : zeroId
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
