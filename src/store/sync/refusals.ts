// Refusals of a merge, and descriptions of commits that are not part of the history (FORMAT §7.4):
// whose they are, what each side changed, and which commands decide. Trusts the commits, which were
// verified. Must not decide, except whether the role of this device allows a merge.

import { toHex } from '../../bytes.ts'
import { type ErrorCode, hasCode, StoreError } from '../../errors.ts'
import type { Operation, RecordKind } from '../../format/change-record.ts'
import {
  type Directory,
  findDevice,
  type RecoveryEntry,
  type MemberRole,
  giversText,
} from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import type { Oid } from '../../git/objects/object.ts'
import type { Identity } from '../../keys/identity.ts'
import { checkMayWrite, findRecovery, mayWrite, roleOf } from '../access/authority.ts'
import { decodeAt, directoryAt } from '../access/post-revocation.ts'
import type { CommitSource } from '../commits/decoded-commit.ts'
import type { Divergence, OneSide } from '../commits/divergence.ts'
import type { HistorySource } from '../history/history.ts'
import { readKnownCommit } from '../history/known-commit.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/**
 * Checks the role of this device in the keyring in force. Throws `permission_denied`, with advice
 * for a reader that has unsent changes.
 */
export function checkMayMerge(newest: Snapshot, identity: Identity): void {
  const role = roleOf(newest, identity.deviceId)
  if (role === undefined || mayWrite(role, 'change')) {
    checkMayWrite(newest, identity, 'change')
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
      '. Nothing was merged or sent; local changes are kept',
    { details: { ...(mayMerge && { commit: head }), versionIds } },
  )
}

/** The remote's history differs from before the state that the clone of a grant began with. */
export function rewrittenError(cause?: unknown): StoreError {
  return new StoreError(
    'history_needed',
    'Something was redacted or merged that is older than the state that this clone began with: ' +
      'copy unsent texts with `gitlocket cat`, remove the directory of the clone, and begin ' +
      'again with the grant. Nothing was sent or taken over',
    { cause },
  )
}

/** All of the history is needed, and was not fetched or is refused. */
export function lacksWholeError(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error
  const { code, message, details } = error
  const asTheyAre: readonly ErrorCode[] = [
    'cancelled',
    'ref_conflict',
    'remote_moved',
    'baseline_false',
  ]
  if (asTheyAre.includes(code)) return error
  return new StoreError(
    code === 'object_missing' ? 'history_needed' : code,
    `Something older than this clone was merged, which needs all of the history: ${message}. ` +
      'Unsent changes are kept: sync again, or copy them with `gitlocket cat` and begin again ' +
      'with the grant in another directory',
    { cause: error, details },
  )
}

/** The same until the granter describes a newer state. */
export function noNewStartError(granter: string, cause?: unknown): StoreError {
  return new StoreError(
    'history_needed',
    'Something older than the state that this clone began with was redacted or merged, and ' +
      `${formatId('device', granter)}, which gave the grant, has not synced since. Run ` +
      '`gitlocket sync` there and then here, where unsent changes are kept: after a redaction, ' +
      'this clone begins anew',
    { cause },
  )
}

/** The granter's new start lacks something that the remote has shown here. */
export function lacksShownError(granter: string, what: string): StoreError {
  return new StoreError(
    'rolled_back',
    `The remote shows a rewritten history, and the state that ${formatId('device', granter)} ` +
      `describes lacks ${what} that the remote has shown before: it was rolled back, or shows ` +
      'different histories to different clones. Unsent changes are kept; nothing was taken over',
  )
}

/** The holder of a grant has changes that no one may send any more. */
export function grantOverError(): StoreError {
  return new StoreError(
    'grant_expired',
    'The grant has ended, and changes were not sent: they are kept here alone, where no further ' +
      'ones are made. Copy their texts with `gitlocket cat`, and write them with another grant',
  )
}

export function waitsError(role: MemberRole | undefined): StoreError {
  const now = role === undefined ? 'is no device of the store' : `is ${role} of the store`
  return new StoreError(
    'permission_denied',
    `An owner has changed the role of this device: it ${now}, and has changes that the remote ` +
      'lacks. Nothing was merged or sent; local changes are kept. To follow the remote ' +
      'without it, `sync --take-theirs`',
  )
}

/** Before our own changes are left for theirs: a redaction cannot be undone here. */
export function leavesRedactionError(): StoreError {
  return new StoreError(
    'merge_held',
    'A redaction here is by a device that was removed since, or rests on one, and cannot be ' +
      'merged. Nothing was merged or sent; local changes are kept',
  )
}

export function theirsLateError(): StoreError {
  return new StoreError(
    'record_after_revocation',
    "The remote's newest change is by a removed device, or rests on one",
  )
}

export function notCanonicalError(): StoreError {
  return new StoreError(
    'not_canonical',
    'The remote rewrote the history differently from what its redactions require',
  )
}

/** At most this many changes of a side are named. */
const NAMED_MAX = 5

/** `isOlder`: whether the remote lacks commits that it has shown before. */
export function keyringConflictError(
  source: CommitSource,
  { ours, theirs }: Divergence,
  isOlder: boolean,
): StoreError {
  const older = isOlder
    ? ' The remote showed another line before: follow it only if an owner tells you to.'
    : ''
  return new StoreError(
    'keyring_conflict',
    'Here and at the remote, who may open the store was changed without knowing of each other. ' +
      `Here: ${describeSide(source, ours)}. There: ${describeSide(source, theirs)}.${older} ` +
      'Nothing was merged or sent; local changes are kept',
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
  if (before.givers !== after.givers) changes.push(`let ${giversText(after.givers)} give grants`)
  return changes
}

function slotsOf({ recovery }: Directory, type: RecoveryEntry['type']): string {
  return recovery
    .filter((entry) => entry.type === type)
    .map(({ slotId, signingKey }) => slotId + toHex(signingKey))
    .join()
}

/** A late commit, which is not part of the history. */
export interface LateChange {
  /** 40 hex digits. */
  readonly commit: string
  /** `dev_…`, the author. */
  readonly deviceId: string
  /** ms since 1970, by the clock of the author. */
  readonly time: number
  readonly kind: RecordKind
  /** The versions that it wrote; empty for a redaction, and a change of keyring or settings. */
  readonly versions: readonly LateVersion[]
  /** `memver_…`: the versions that a redaction names. */
  readonly redacts: readonly string[]
}

/** One version that a late commit wrote. */
export interface LateVersion {
  /** `memver_…` */
  readonly versionId: string
  /** `mem_…` */
  readonly memoryId: string
  readonly operation: Operation
  /** Undefined once redacted, and for an auditor. */
  readonly path: string | undefined
}

/** Describes commits in their order. */
export function readLateChanges(
  source: HistorySource,
  commits: readonly Oid[],
): readonly LateChange[] {
  return commits.flatMap((oid) => readIfThere(source, oid))
}

/** Redactions first: the memories do not show them. */
export function inOrderOfWeight(changes: readonly LateChange[]): readonly LateChange[] {
  return changes.toSorted((a, b) => Number(b.kind === 'redact') - Number(a.kind === 'redact'))
}

/** Empty if a redaction that came at the same time has erased the commit. */
function readIfThere(source: HistorySource, oid: Oid): readonly LateChange[] {
  try {
    const { commit, rows } = readKnownCommit(source, oid)
    const versions = rows.map(({ versionId, memoryId, operation, path }) => ({
      versionId: formatId('version', versionId),
      memoryId: formatId('memory', memoryId),
      operation,
      path,
    }))
    const deviceId = formatId('device', commit.deviceId)
    const { time, kind } = commit
    const redacts = commit.redacts.map((versionId) => formatId('version', versionId))
    return [{ commit: oid, deviceId, time, kind, versions, redacts }]
  } catch (error) {
    if (hasCode(error, 'object_missing')) return []
    throw error
  }
}
