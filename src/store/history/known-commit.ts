// Reads what the history keeps of one commit from git. Trusts the commit, which must be verified:
// its form and salts are not checked again. Strings are copied so that none keeps a larger one
// alive: a hundred thousand commits are in RAM together.

import { equalBytes, toHex } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import type { ChangeRecord, RecordRow } from '../../format/change-record.ts'
import { type CommitSections, findSections } from '../../format/commit.ts'
import { decodeDetail, type DetailRow } from '../../format/detail.ts'
import { detailContext, openEnvelope, readKid, recordContext } from '../../format/envelope.ts'
import { decodeRecord, recordHash, zeroId, nameRows } from '../../format/record.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { EpochKeys } from '../../keys/epoch.ts'
import { Bytes } from '../../platform/bytes.ts'
import { readCommitBytes } from '../commits/decoded-commit.ts'
import type { CommitEntry, NewCommit, VersionRow } from './history-rows.ts'
import type { History, HistorySource } from './history.ts'

export interface KnownCommit {
  /** The hash of its record, which with the height determines its position. */
  readonly hash: Uint8Array
  readonly parents: readonly Oid[]
  readonly commit: NewCommit
  readonly rows: readonly VersionRow[]
}

/** `bytes` is the body of the commit, if the caller has read it. */
export function readKnownCommit(source: HistorySource, oid: Oid, bytes?: Uint8Array): KnownCommit {
  const { sections, epoch, hash, body } = openKnownRecord(source, oid, bytes)
  const details = openKnownDetail(epoch, sections, hash)
  const record = nameRows(source.storeId, body, hash)
  const { kind, rows } = record
  return {
    hash,
    parents: sections.parents,
    commit: newCommit(oid, record, details.get(0)?.note),
    rows: kind === 'redact' ? [] : rows.map((row, index) => versionRow(row, details.get(index))),
  }
}

/** The record hash of a commit: a redaction that rewrites the commit does not change it. */
export function readRecordHash(source: HistorySource, oid: Oid): Uint8Array {
  return openKnownRecord(source, oid).hash
}

/**
 * The entry of a record, under whichever commit id: whether a history contains another one is
 * decided on records, which a redaction leaves as they are.
 */
export function findRecord(
  source: HistorySource,
  history: History,
  { height, record }: { readonly height: number; readonly record: Uint8Array },
): CommitEntry | undefined {
  const isSame = ({ oid }: CommitEntry) => equalBytes(readRecordHash(source, oid), record)
  return history.atHeight(height).find(isSame)
}

function openKnownRecord(
  { objects, epochs }: HistorySource,
  oid: Oid,
  bytes: Uint8Array = readCommitBytes(objects, oid),
) {
  const sections = findSections(bytes)
  const epoch = epochs.get(readKid('record', sections.record))
  if (epoch === undefined) {
    throw new StoreError('envelope_epoch', `The commit ${oid} is sealed under an unknown epoch`)
  }
  const context = recordContext(epoch)
  const opened = openEnvelope('record', epoch.record, context, sections.record)
  const { record: body, signed } = decodeRecord(opened)
  return { sections, epoch, hash: recordHash(epoch, signed), body }
}

function openKnownDetail(
  epoch: EpochKeys,
  { detail }: CommitSections,
  hash: Uint8Array,
): ReadonlyMap<number, DetailRow> {
  if (detail === undefined) return new Map()
  const context = detailContext(epoch, hash)
  const rows = decodeDetail(openEnvelope('detail', epoch.detail, context, detail))
  return new Map(rows.map((row) => [row.row, row]))
}

function newCommit(oid: Oid, record: ChangeRecord, note: string | undefined): NewCommit {
  const { height, kind, time, deviceId, actor, session, reason } = record
  const redacts = kind === 'redact' ? record.rows.map((row) => compact(row.versionId)) : []
  const noteIfAny = note === '' ? undefined : note
  return { oid, height, kind, time, deviceId, actor, session, reason, redacts, note: noteIfAny }
}

function versionRow(row: RecordRow, detail: DetailRow | undefined): VersionRow {
  const { operation } = row
  if (operation === undefined) {
    throw new StoreError('record_rows', 'A row of a change has no operation')
  }
  const content = operation === 'deleted' ? undefined : detail
  return {
    versionId: compact(row.versionId),
    memoryId: compact(row.memoryId),
    operation,
    base: compact(row.base),
    secondBase: row.secondBase === zeroId ? zeroId : compact(row.secondBase),
    path: detail?.path,
    size: content?.size,
    sha256: content && toHex(content.sha256),
  }
}

/** A copy that does not share memory with the string it was sliced from. */
function compact(hex: string): string {
  return Bytes.from(hex, 'latin1').toString('latin1')
}
