// The rules of FORMAT §6.1 that one record can break by itself: which fields its kind fills, who
// its actor may be, and the number, order and content of its rows.

import { compareBytes, isZero } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { actorIdLengthMax, rowsMax, timeMax } from '../limits.ts'
import type { ChangeRecord, RecordKind, RecordRow } from './change-record.ts'

/** FORMAT §1.2. The length is bounded by the field. */
const NAME = new RegExp(`^[A-Za-z0-9._:@-]{1,${actorIdLengthMax}}$`)
const NO_ID = /^0+$/

/** Whether a record joins two keyrings (FORMAT §7.2); its rows merge memories. */
export function joinsKeyrings({ kind, parents }: KindOfRecord): boolean {
  return kind === 'keyring' && parents.length === 2
}

/** Whether the rows of a record are versions, so that it has a detail. */
export function writesVersions(record: KindOfRecord): boolean {
  return record.kind === 'change' || joinsKeyrings(record)
}

/** Whether a record of this kind names a keyring, which is in force from then on. */
export function bringsKeyring(kind: RecordKind): boolean {
  return kind === 'genesis' || kind === 'keyring'
}

type KindOfRecord = Pick<ChangeRecord, 'kind' | 'parents'>

/** Throws `record_malformed` or `record_rows`. */
export function checkRecordRules(record: ChangeRecord): void {
  if (record.time > timeMax) throw malformed('its time is beyond the calendar')
  checkFields(record)
  checkActor(record)
  const [first, second] = record.parents
  if (first !== undefined && second !== undefined && compareBytes(first, second) >= 0) {
    throw malformed('its parents do not ascend')
  }
  checkRowCount(record)
  checkRowOrder(record)
  for (const row of record.rows) checkRow(record, row)
}

function checkFields(record: ChangeRecord): void {
  const { kind } = record
  const genesis = kind === 'genesis'
  if (genesis !== (record.parents.length === 0)) {
    throw malformed('genesis has no parent, and nothing else has none')
  }
  if (record.parents.length === 2 && !writesVersions(record)) {
    throw malformed('it has two parents, and is no merge')
  }
  if (bringsKeyring(kind) === isZero(record.keyringHash)) {
    throw malformed('genesis and keyring changes name a keyring, and nothing else does')
  }
  if (record.directoryNumber !== 0 && kind !== 'keyring') {
    throw malformed('it has a directory number, which its kind has not')
  }
  if ((genesis || kind === 'settings') === isZero(record.settingsHash)) {
    throw malformed('genesis and changes of settings name settings, and nothing else does')
  }
  if ((kind === 'redact') !== (record.reason !== undefined)) {
    throw malformed('a redaction has a reason, and nothing else has')
  }
}

function checkActor(record: ChangeRecord): void {
  const { kind, actor, session } = record
  if (actor === undefined && (kind === 'redact' || writesVersions(record))) {
    throw malformed('a change or a redaction names no actor')
  }
  for (const name of [actor?.id, session]) {
    if (name !== undefined && !NAME.test(name)) {
      throw malformed('an actor or session id has characters that are not allowed')
    }
  }
  if (actor?.type === 'session' && session !== undefined && session !== actor.id) {
    throw malformed('the session of an actor of type session is not its id')
  }
}

function checkRowCount(record: ChangeRecord): void {
  const { kind, parents, rows } = record
  const hasRows = kind === 'redact' || writesVersions(record)
  const least = hasRows && parents.length < 2 ? 1 : 0
  const most = hasRows ? rowsMax : 0
  if (rows.length < least || rows.length > most) {
    throw badRows('their number is not one that the kind allows')
  }
}

function checkRowOrder({ kind, rows }: ChangeRecord): void {
  const keys = rows.map((row) => (kind === 'redact' ? row.memoryId + row.versionId : row.memoryId))
  keys.forEach((key, index) => {
    const before = keys[index - 1]
    if (before !== undefined && before >= key) throw badRows('they do not ascend')
  })
}

function checkRow({ kind, parents }: ChangeRecord, row: RecordRow): void {
  if (kind !== 'redact') {
    if (row.operation === undefined) throw badRows('one has no operation')
    if (row.operation === 'created' && parents.length === 2) {
      throw badRows('a merge creates no memory')
    }
    // Zero stands for none where a base is named.
    if (NO_ID.test(row.versionId)) throw badRows('one has the version id zero')
    return
  }
  const empty =
    NO_ID.test(row.base) &&
    NO_ID.test(row.secondBase) &&
    row.operation === undefined &&
    isZero(row.commitment)
  if (!empty) throw badRows('one of a redaction holds more than a version to redact')
}

function malformed(problem: string): StoreError {
  return new StoreError('record_malformed', `A record is malformed: ${problem}`)
}

function badRows(problem: string): StoreError {
  return new StoreError('record_rows', `The rows of a record are not allowed: ${problem}`)
}
