// The refusals of a reconciliation, with advice for each. Must not decide which of them applies,
// except whether the role of this device allows a merge.

import { StoreError } from '../../errors.ts'
import type { Role } from '../../format/directory.ts'
import type { Oid } from '../../git/objects/object.ts'
import { checkMayWrite, mayWrite, roleOf } from '../access/authority.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { LateChange } from './post-revocation-changes.ts'

/**
 * Checks the role of this device in the keyring in force. Throws `permission_denied`, with advice
 * for a reader that has unsent changes.
 */
export function checkMayMerge(newest: Snapshot, deviceId: string): void {
  const role = roleOf(newest, deviceId)
  if (role === undefined || mayWrite(role, 'change')) {
    checkMayWrite(newest, deviceId, 'change')
    return
  }
  throw new StoreError(
    'permission_denied',
    `This device is ${role} of the store, and has changes that the remote lacks: they are sent ` +
      'once an owner lets it write, or another device sends them. To read on before that, join ' +
      'the store again in another directory, accepting the rollback. Nothing was taken over',
  )
}

interface Held {
  /** What a former owner has redacted or set, on either side. */
  readonly ours: readonly LateChange[]
  readonly theirs: readonly LateChange[]
  /** Whether this device is an owner. */
  readonly mayMerge: boolean
  /** The head of the remote. */
  readonly head: Oid
}

export function heldError({ ours, theirs, mayMerge, head }: Held): StoreError {
  const held = [...ours, ...theirs]
  const authors = [...new Set(held.map(({ deviceId }) => deviceId))].join(', ')
  const versionIds = held.flatMap(({ redacts }) => redacts)
  const acts = [
    ...(versionIds.length > 0 ? [`redacted ${versionIds.length} versions`] : []),
    ...(held.some(({ kind }) => kind === 'settings') ? ['changed the settings'] : []),
    ...(held.some(({ kind }) => kind === 'grants') ? ['given or ended grants'] : []),
  ]
  return new StoreError(
    'merge_held',
    `${authors}, owner no more, has ${acts.join(' and ')} on an older state` +
      (mayMerge ? `, as of commit ${head}` : '') +
      '. Nothing was merged or sent; what is written here stays',
    { details: { ...(mayMerge && { commit: head }), versionIds } },
  )
}

/** Nobody takes over what is here, since this device may not write any more. */
export function waitsError(role: Role | undefined): StoreError {
  const now = role === undefined ? 'is no device of the store' : `is ${role} of the store`
  return new StoreError(
    'permission_denied',
    `An owner has changed the role of this device: it ${now}, and has changes that the remote ` +
      'lacks. Nothing was merged or sent; what is written here stays. To follow the remote ' +
      'without it, `sync --take-theirs`',
  )
}

/** Before our own changes are left for theirs: a redaction cannot be undone here. */
export function leavesRedactionError(): StoreError {
  return new StoreError(
    'merge_held',
    'A redaction here is by a device that was removed since, or rests on one, and cannot be ' +
      'merged. Nothing was merged or sent; what is written here stays',
  )
}

export function theirsLateError(): StoreError {
  return new StoreError(
    'record_late',
    "The remote's newest change is by a removed device, or rests on one",
  )
}

export function notCanonicalError(): StoreError {
  return new StoreError(
    'not_canonical',
    'The remote rewrote the history differently from what its redactions require',
  )
}
