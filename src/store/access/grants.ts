// Checks what grants allow (FORMAT §12): who begins and ends them, and what their holders write.
// lateness.ts decides which records of an ended grant are refused in a merge.

import { type ErrorCode, StoreError } from '../../errors.ts'
import type { ChangeRecord, GrantRow } from '../../format/change-record.ts'
import { type Directory, mayGive } from '../../format/directory.ts'
import { grantIdOf } from '../../format/id.ts'
import { wrapsMax } from '../../limits.ts'
import type { DeviceState, GrantState } from '../snapshot/snapshot.ts'
import { isOwner } from './lateness.ts'

/** A grant's record may be dated this much before the begin of the grant. */
const EARLY_MS = 24 * 60 * 60 * 1000

/** The state before a record, in its causal past. */
export interface GrantsPast {
  readonly directory: Directory
  /** The active grant of an id. */
  readonly grantOf: (grantId: string) => GrantState | undefined
  readonly activeGrants: () => Iterable<GrantState>
  readonly deviceOf: (deviceId: string) => DeviceState | undefined
}

/**
 * What a record of kind 6 makes of grants: one that begins, or undefined for one that ends. Throws
 * `record_role`, `grant_known`, `grant_limit`, `grant_foreign` or `grant_ended`.
 */
export function applyGrants(
  { deviceId, grants, time }: Pick<ChangeRecord, 'deviceId' | 'grants' | 'time'>,
  past: GrantsPast,
): ReadonlyMap<string, GrantState | undefined> {
  const effect = new Map(grants.map((row) => applyRow(row, deviceId, time, past)))
  const begun = [...effect.values()].filter((state) => state !== undefined).length
  if (begun > 0) {
    const own = Array.from(past.activeGrants()).filter(({ granter }) => granter === deviceId)
    const ended = own.filter(({ key }) => effect.has(grantIdOf(deviceId, key)))
    if (own.length - ended.length + begun > wrapsMax) {
      refuse('grant_limit', `A device has at most ${wrapsMax} grants that have not ended`)
    }
  }
  return effect
}

function applyRow(
  row: GrantRow,
  author: string,
  time: number,
  { directory, grantOf }: GrantsPast,
): readonly [grantId: string, GrantState | undefined] {
  if (row.begins !== undefined) {
    const { key, begins } = row
    if (!mayGive(directory, author)) {
      refuse('record_role', 'The author may not give grants in this store')
    }
    const grantId = grantIdOf(author, key)
    if (grantOf(grantId) !== undefined) {
      refuse('grant_known', 'A grant is begun that has not ended')
    }
    return [grantId, { ...begins, key, granter: author, began: time }]
  }
  const known = grantOf(row.grantId)
  if (known === undefined) {
    return refuse('grant_ended', 'A grant is ended that is not active')
  }
  if (known.granter !== author && !isOwner(directory, author)) {
    refuse('grant_foreign', 'A grant is ended by neither its granter nor an owner')
  }
  return [row.grantId, undefined]
}

/** Throws `record_role`, `record_sequence`, `grant_ended`, `grant_time` or `record_device`. */
export function checkGrantAuthor(
  { kind, sequence, time }: ChangeRecord,
  { role, notAfter, granter, began }: GrantState,
  { deviceOf }: Pick<GrantsPast, 'deviceOf'>,
): void {
  if (kind !== 'change' || role !== 'writer') {
    refuse('record_role', 'The holder of a grant changes memories, if it is a writer, and no more')
  }
  if (sequence > 0) refuse('record_sequence', 'A grant has no sequence numbers')
  if (time > notAfter) refuse('grant_ended', 'The grant of the author has ended')
  if (time < began - EARLY_MS) {
    refuse('grant_time', 'A change is dated more than a day before the grant of its author')
  }
  if (deviceOf(granter)?.forked === true) {
    refuse('record_device', 'The device that gave the grant of the author may not write any more')
  }
}

/** Before a write: throws `grant_expired` if the time of a grant is over, or it is not active. */
export function checkIsInTime(grant: GrantState | undefined, time: number): void {
  if (grant === undefined) {
    refuse('grant_expired', 'The grant has ended: a device of the store gives another one')
  }
  if (time <= grant.notAfter) return
  const [end, now] = [grant.notAfter, time].map((at) => new Date(at).toISOString())
  refuse(
    'grant_expired',
    `The grant ended at ${end}, and the clock of this machine shows ${now}: correct the clock if ` +
      'it is wrong, or ask a device of the store for another grant',
  )
}

function refuse(code: ErrorCode, message: string): never {
  throw new StoreError(code, message)
}
