// Checks what grants allow (FORMAT §12): who begins and ends them, and what their holders write.
// lateness.ts decides which records of an ended grant are late.

import { equalBytes } from '../../bytes.ts'
import { type ErrorCode, StoreError } from '../../errors.ts'
import type { ChangeRecord, GrantRow } from '../../format/change-record.ts'
import type { Directory } from '../../format/directory.ts'
import { grantIdOf } from '../../format/id.ts'
import type { DeviceState, GrantState } from '../snapshot/snapshot.ts'
import { isInForce, isOwner } from './lateness.ts'

/** The state before a record, in its causal past. */
export interface GrantsPast {
  readonly directory: Directory
  readonly grantOf: (grantId: string) => GrantState | undefined
  readonly deviceOf: (deviceId: string) => DeviceState | undefined
}

/**
 * The grants that a record of kind 6 begins or ends, after it. Throws `grant_known`,
 * `grant_foreign` or `grant_ended`.
 */
export function applyGrants(
  { deviceId, grants }: ChangeRecord,
  past: GrantsPast,
): ReadonlyMap<string, GrantState> {
  return new Map(
    grants.map((row) => {
      const id = grantIdOf(row.key)
      return [id, applyRow(row, past.grantOf(id), deviceId, past)]
    }),
  )
}

function applyRow(
  { key, begins }: GrantRow,
  known: GrantState | undefined,
  author: string,
  { directory }: GrantsPast,
): GrantState {
  if (begins !== undefined) {
    if (known !== undefined || isOfMember(directory, key)) {
      refuse('grant_known', 'A grant is begun with a key that was used before')
    }
    return { ...begins, key, granter: author, ended: false }
  }
  if (known === undefined || (known.granter !== author && !isOwner(directory, author))) {
    return refuse('grant_foreign', 'A grant is ended by neither its granter nor an owner')
  }
  if (known.ended) refuse('grant_ended', 'A grant is ended that had ended before')
  return { ...known, ended: true }
}

function isOfMember({ devices, recovery }: Directory, key: Uint8Array): boolean {
  return [...devices, ...recovery].some(({ signingKey }) => equalBytes(signingKey, key))
}

/** Throws `record_role`, `record_sequence`, `grant_ended` or `record_device`. */
export function checkGrantAuthor(
  { kind, sequence, time }: ChangeRecord,
  { role, ended, notAfter, granter }: GrantState,
  { directory, deviceOf }: GrantsPast,
): void {
  if (kind !== 'change' || role !== 'writer') {
    refuse('record_role', 'The holder of a grant changes memories, if it is a writer, and no more')
  }
  if (sequence > 0) refuse('record_sequence', 'A grant has no sequence numbers')
  if (ended || time > notAfter) refuse('grant_ended', 'The grant of the author has ended')
  if (!isInForce(directory, granter) || deviceOf(granter)?.forked === true) {
    refuse('record_device', 'The device that gave the grant of the author may not write any more')
  }
}

/** Before a write: throws `grant_expired` if the time of a grant is over, or it never began. */
export function checkIsInTime(grant: GrantState | undefined, time: number): void {
  if (grant !== undefined && time <= grant.notAfter) return
  refuse('grant_expired', 'The grant has ended: a device of the store gives another one')
}

function refuse(code: ErrorCode, message: string): never {
  throw new StoreError(code, message)
}
