// The refusals of a reconciliation, with advice for each. Must not decide which of them applies,
// except whether the role of this device allows a merge.

import { StoreError } from '../../errors.ts'
import { checkMayWrite, mayWrite, roleOf } from '../access/authority.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

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

interface OwnLate {
  /** Whether this device keeps the late changes by building on them (FORMAT §7.4). */
  readonly canKeep: boolean
  /** Whether theirs lacks redactions that are here, and cannot be undone here. */
  readonly redacts: boolean
}

export function ownLateError({ canKeep, redacts }: OwnLate): StoreError {
  const keep =
    'change something yourself, which keeps it, and sync again; if that is refused, an owner ' +
    'removes the device that changed the keyring, and `sync --repair` leaves that change out'
  const rejoin = 'join the store again in another directory with a new identity'
  const wait = 'sync again once the authors of the changes below it have sent them'
  const redacted = `It may have redacted versions here. To continue without it, ${rejoin}`
  const choices = canKeep ? `${redacted}; or ${keep}` : redacted
  const advice = redacts ? choices : `To continue, ${canKeep ? keep : wait}`
  return new StoreError(
    'record_late',
    `The newest change here is by a device that has been removed since, or rests on one. ${advice}`,
  )
}

/** Theirs removed the author of an old commit of ours, on which sound keyring records rest. */
export function keyringsLostError(): StoreError {
  return new StoreError(
    'record_late',
    'The remote has removed a device on which changes here of who may open the store rest. ' +
      'Nothing was left out. If the remote is right, join the store again in another directory ' +
      'with a new identity; if not, replace what it shows: `git push --force <address> main`',
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
