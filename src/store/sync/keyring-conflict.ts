// The refusal of keyrings that changed apart (FORMAT §7.2): what each side changed, by whom, and
// the commands that decide. Must not decide.

import { toHex } from '../../bytes.ts'
import { StoreError } from '../../errors.ts'
import { type Directory, findDevice, type RecoveryEntry } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import type { Oid } from '../../git/objects/object.ts'
import { findRecovery } from '../access/authority.ts'
import { decodeAt, directoryAt } from '../access/post-revocation.ts'
import type { CommitSource } from '../commits/decoded-commit.ts'
import type { Divergence, OneSide } from '../commits/divergence.ts'

/** At most this many changes of a side are named. */
const NAMED_MAX = 5

/** `isOlder`: whether the remote lacks what it has shown before. */
export function keyringConflictError(
  source: CommitSource,
  { ours, theirs }: Divergence,
  isOlder: boolean,
): StoreError {
  const older = isOlder
    ? ' The remote showed another line before: follow it only if an owner says so.'
    : ''
  return new StoreError(
    'keyring_conflict',
    'Here and at the remote, who may open the store was changed without knowing of each other. ' +
      `Here: ${describeSide(source, ours)}. There: ${describeSide(source, theirs)}.${older} ` +
      'Nothing was merged or sent; what is written here stays',
  )
}

/** Redactions come first: they are undone if the other side is kept. */
function describeSide(source: CommitSource, { commits, keyrings }: OneSide): string {
  const redacted = new Set(commits.flatMap((oid) => redactsOf(source, oid)))
  const changes = keyrings.toReversed().map((oid) => describeChange(source, oid))
  const more = changes.length - NAMED_MAX
  return [
    ...(redacted.size > 0 ? [`redacted versions: ${redacted.size}`] : []),
    ...changes.slice(0, NAMED_MAX),
    ...(more > 0 ? [`and ${more} more changes`] : []),
  ].join('; ')
}

function redactsOf(source: CommitSource, oid: Oid): readonly string[] {
  const { kind, rows } = decodeAt(source, oid).record
  return kind === 'redact' ? rows.map(({ versionId }) => versionId) : []
}

function describeChange(source: CommitSource, oid: Oid): string {
  const { record, parts } = decodeAt(source, oid)
  const [parent] = parts.parents
  if (parent === undefined) return 'the store was created'
  const before = directoryAt(source, parent)
  const what = differences(before, directoryAt(source, oid))
  const changed = what.length === 0 ? 'changed the keys' : what.join(', ')
  const time = new Date(record.time).toISOString().replace(/:\d\d\.\d+Z$/, 'Z')
  return `${authorOf(before, record.deviceId)} ${changed} (${time})`
}

function authorOf(before: Directory, authorId: string): string {
  const recovery = findRecovery(before, authorId)
  if (recovery === undefined) return formatId('device', authorId)
  return recovery.type === 'passphrase' ? 'the passphrase' : 'a recovery key'
}

function nameOf(deviceId: string): string {
  return formatId('device', deviceId)
}

/** What one directory has that another has not, in words. */
function differences(before: Directory, after: Directory): readonly string[] {
  const changes: string[] = []
  for (const { deviceId, role, name: called } of after.devices) {
    const old = findDevice(before, deviceId)
    if (old === undefined) changes.push(`added ${nameOf(deviceId)} as ${role}`)
    else if (old.role !== role) changes.push(`made ${nameOf(deviceId)} ${role}`)
    else if (old.name !== called) changes.push(`renamed ${nameOf(deviceId)}`)
  }
  for (const { deviceId } of before.devices) {
    if (findDevice(after, deviceId) === undefined) changes.push(`removed ${nameOf(deviceId)}`)
  }
  for (const type of ['passphrase', 'recovery'] as const) {
    if (slotsOf(before, type) !== slotsOf(after, type)) {
      changes.push(`changed the ${type === 'passphrase' ? 'passphrase' : 'recovery keys'}`)
    }
  }
  if (before.quota !== after.quota) changes.push(`set the quota to ${after.quota}`)
  return changes
}

function slotsOf({ recovery }: Directory, type: RecoveryEntry['type']): string {
  return recovery
    .filter((entry) => entry.type === type)
    .map(({ slotId, signingKey }) => slotId + toHex(signingKey))
    .join()
}
