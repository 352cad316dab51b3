// The rules of FORMAT §6.1 that concern one record only: the fields and the actor that its kind
// requires, and the number, order and content of its rows.

import { compareBytes, fromHex, isZero } from '../bytes.ts'
import { StoreError } from '../errors.ts'
import { actorIdLengthMax, grantRowsMax, rowsMax, timeMax } from '../limits.ts'
import type { GrantRow, RecordBody, RecordKind, SignedRow } from './change-record.ts'

/** FORMAT §1.2. */
const NAME = new RegExp(`^[A-Za-z0-9._:@-]{1,${actorIdLengthMax}}$`)
const NO_ID = /^0+$/

/** Whether the rows of a record are versions, so that it has a detail. */
export function writesVersions({ kind }: Pick<RecordBody, 'kind'>): boolean {
  return kind === 'change'
}

/** Whether a record of this kind names a keyring, which applies from then on. */
export function bringsKeyring(kind: RecordKind): boolean {
  return kind === 'genesis' || kind === 'keyring'
}

/** The first 32 bytes of a row of grants, by which the rows ascend. */
export function grantRowKey(row: GrantRow): Uint8Array {
  return row.begins === undefined ? fromHex(row.grantId.padEnd(64, '0')) : row.key
}

/** Throws `record_malformed` or `record_rows`. */
export function checkRecordRules(record: RecordBody): void {
  if (record.time > timeMax) throw malformed('its time is out of range')
  checkFields(record)
  checkActor(record)
  const [first, second] = record.parents
  if (first !== undefined && second !== undefined && compareBytes(first, second) >= 0) {
    throw malformed('its parents do not ascend')
  }
  checkRowCount(record)
  checkRowOrder(record)
  checkGrants(record)
  for (const row of record.rows) checkRow(record, row)
}

function checkFields(record: RecordBody): void {
  const { kind } = record
  const genesis = kind === 'genesis'
  if (genesis !== (record.parents.length === 0)) {
    throw malformed('only genesis has no parent')
  }
  if (record.parents.length === 2 && !writesVersions(record)) {
    throw malformed('it has two parents, but its kind cannot merge')
  }
  if (bringsKeyring(kind) === isZero(record.keyringHash)) {
    throw malformed('exactly genesis and keyring changes name a keyring')
  }
  if (record.directoryNumber !== 0 && kind !== 'keyring') {
    throw malformed('its kind has no directory number')
  }
  if ((genesis || kind === 'settings') === isZero(record.settingsHash)) {
    throw malformed('exactly genesis and settings changes name settings')
  }
  if ((kind === 'redact') !== (record.reason !== undefined)) {
    throw malformed('exactly redactions have a reason')
  }
}

function checkActor(record: RecordBody): void {
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

function checkRowCount(record: RecordBody): void {
  const { kind, parents, rows } = record
  const hasRows = kind === 'redact' || writesVersions(record)
  const least = hasRows && parents.length < 2 ? 1 : 0
  const most = hasRows ? rowsMax : 0
  if (rows.length < least || rows.length > most) {
    throw badRows('the kind does not allow this number of rows')
  }
}

/** Of kind 6, by their first 32 bytes. */
function checkGrants({ kind, rows, grants }: RecordBody): void {
  if (kind !== 'grants') {
    if (grants.length > 0) throw badRows('only kind 6 has grants')
    return
  }
  if (rows.length > 0 || grants.length === 0 || grants.length > grantRowsMax) {
    throw badRows('the kind does not allow this number of rows')
  }
  grants.forEach((row, index) => {
    const before = grants[index - 1]
    if (before !== undefined && compareBytes(grantRowKey(before), grantRowKey(row)) >= 0)
      throw badRows('they do not ascend')
    const { begins } = row
    if (begins !== undefined && begins.notAfter > timeMax) throw badRows('an end is out of range')
  })
}

/** New memories, which have no id yet, come first. */
function checkRowOrder({ kind, rows }: RecordBody): void {
  const keys = rows.map((row) => (kind === 'redact' ? row.memoryId + row.base : row.memoryId))
  keys.forEach((key, index) => {
    const before = keys[index - 1]
    if (before === undefined || before < key) return
    if (before > key || kind === 'redact' || !NO_ID.test(key)) throw badRows('they do not ascend')
  })
}

function checkRow({ kind, parents }: RecordBody, row: SignedRow): void {
  const { operation, base, secondBase, commitment } = row
  const isFirst = operation === 'created' && NO_ID.test(base)
  if (NO_ID.test(row.memoryId) !== isFirst) {
    throw badRows('exactly a memory that is created has no id yet')
  }
  if (kind === 'redact') {
    if (NO_ID.test(secondBase) && operation === undefined && isZero(commitment)) return
    throw badRows('a redaction row holds more than a version to redact')
  }
  if (operation === undefined) throw badRows('one has no operation')
  if (operation === 'created' && parents.length === 2) throw badRows('a merge creates no memory')
}

function malformed(problem: string): StoreError {
  return new StoreError('record_malformed', `A record is malformed: ${problem}`)
}

function badRows(problem: string): StoreError {
  return new StoreError('record_rows', `The rows of a record are not allowed: ${problem}`)
}
