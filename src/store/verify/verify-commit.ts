// Checks one commit against the history before it and applies it to a snapshot: the second half of
// FORMAT §8, except for the rows (verify-rows.ts). Each check throws its own error code; none
// returns a boolean.

import { equalBytes, toHex } from '../../bytes.ts'
import { hash256 } from '../../crypto/digest.ts'
import { type ErrorCode, StoreError } from '../../errors.ts'
import type { ChangeRecord } from '../../format/change-record.ts'
import { openEnvelope, recordContext } from '../../format/envelope.ts'
import { storeIdOf } from '../../format/id.ts'
import { readmeFile, storeFile } from '../../format/public-files.ts'
import { bringsKeyring } from '../../format/record-rules.ts'
import { zeroHash } from '../../format/record.ts'
import { decodeSettings } from '../../format/settings.ts'
import type { NewObject, Oid, TreeEntry } from '../../git/objects/object.ts'
import { opensContents } from '../../keys/epoch.ts'
import { admitterOf, checkAuthor, checkSuccession, openNewKeyring } from '../access/authority.ts'
import { applyGrants, type GrantsPast } from '../access/grants.ts'
import { endsOf, isOwner, isOwnersKind, type SideCommit } from '../access/lateness.ts'
import { getBlob, getEntry, getTree, hasObject } from '../snapshot/git-reads.ts'
import { encodeRoot } from '../snapshot/root-tree.ts'
import {
  authorState,
  beforeGenesis,
  type CommitEffect,
  type DeviceState,
  type Head,
  type KeyringState,
  lastRecords,
  type SettingsState,
  type Snapshot,
} from '../snapshot/snapshot.ts'
import type { CheckedCommit } from './checked-commit.ts'
import {
  findMemory,
  type MergeContext,
  type Merging,
  readRows,
  type VerifyContext,
} from './verify-rows.ts'

/** What a commit itself changed: nothing that it has from a parent. */
export interface OwnPart extends Pick<CommitEffect, 'memories' | 'keyring' | 'settings'> {
  /** The author, its rights and ends, as lateness asks for them. */
  readonly side: Pick<SideCommit<unknown>, 'author' | 'isOwners' | 'ends'>
  /** The author, and the devices that the commit shows to be forked. */
  readonly devices: ReadonlyMap<string, DeviceState>
  /** Those that it begins, and undefined for those that it ends or shows to have ended. */
  readonly grants: CommitEffect['grants']
}

/** The result of verifying a commit, with the snapshot after it. */
export interface Verified {
  readonly own: OwnPart
  readonly snapshot: Snapshot
}

/** Has the snapshots of the commits that were verified and are still needed. */
export interface Cursor {
  /** The snapshot of a verified parent of the commit, if there is one. */
  enter(commit: CheckedCommit): MergeContext & { readonly snapshot: Snapshot }
  add(commit: CheckedCommit, verified: Verified): void
}

/** Verifies a commit after its parents. Runs in steps, a few for each row. */
export function* verifyChecked(
  context: VerifyContext,
  commit: CheckedCommit,
  cursor: Cursor,
): Generator<undefined, void> {
  try {
    const { snapshot, ...mergeContext } = cursor.enter(commit)
    cursor.add(commit, yield* verifyInOrder(context, snapshot, commit, mergeContext))
  } catch (error) {
    if (!(error instanceof StoreError) || error.details.commit !== undefined) throw error
    const details = { ...error.details, commit: commit.oid }
    throw new StoreError(error.code, error.message, { cause: error, details })
  }
}

function* verifyInOrder(
  context: VerifyContext,
  snapshot: Snapshot,
  commit: CheckedCommit,
  mergeContext: MergeContext,
): Generator<undefined, Verified> {
  const { merging } = mergeContext
  const { record } = commit
  const before = merging?.other.keyring ?? snapshot.keyring
  const past = stateBefore(snapshot, merging)
  const device = past.deviceOf(record.deviceId)
  checkPosition(snapshot, commit, merging)
  checkKeyring(snapshot, commit, before, merging)
  if (merging?.isLate === true) {
    refuse(
      'record_after_revocation',
      'A parent of a merge is of a device that was removed, or rests on one',
    )
  }
  if (record.kind === 'genesis') checkStoreId(context, commit)
  const keyring = yield* readKeyring(context, commit)
  checkAuthor({ keyring: before, ...past }, commit, keyring)
  if (merging?.needsOwner === true && !isOwner(before.directory, record.deviceId)) {
    refuse('merge_needs_owner', 'Only an owner may merge what a former owner redacted or set')
  }
  if (keyring !== undefined && record.kind === 'keyring') {
    const author = admitterOf(before.directory, record)
    const lastRecordOf = lastRecords(snapshot.devices)
    checkSuccession({ seed: commit.epoch.seed, author, lastRecordOf }, before, keyring)
  }
  checkDeviceChain(device, commit)
  const settings = readSettings(context, snapshot, commit)
  const memories = yield* readRows(context, snapshot, commit, mergeContext)
  const begun = applyGrants(record, { directory: before.directory, ...past })
  const authors = authorState(commit.record, commit.hash)
  const forked = [...(merging?.other.devices ?? [])].filter(([, state]) => state.forked)
  const devices = merging === undefined ? authors : new Map([...forked, ...authors])
  const ended = [...(merging?.other.grants ?? [])].filter(([, state]) => state === undefined)
  const grants = new Map([...ended, ...begun])
  const side = sideOf(record, past)
  const own = { side, memories, devices, grants, keyring, settings }
  return { own, snapshot: yield* snapshotAfter(context, snapshot, commit, own, merging) }
}

/** Devices and grants in the past of a commit. */
function stateBefore(
  snapshot: Snapshot,
  merging: Merging | undefined,
): Omit<GrantsPast, 'directory'> {
  const { devices, grants } = snapshot
  const changed = merging?.other.grants
  return {
    deviceOf: (id) => merging?.other.devices.get(id) ?? devices.get(id),
    grantOf: (id) => (changed?.has(id) === true ? changed.get(id) : grants.get(id)),
    // Only a record of kind 6 asks, which is no merge.
    activeGrants: () => grants.values(),
  }
}

function sideOf(record: ChangeRecord, { grantOf }: Pick<GrantsPast, 'grantOf'>): OwnPart['side'] {
  const { deviceId, sequence } = record
  const grant = grantOf(deviceId)
  const byGrant = grant && { deviceId: grant.granter, grantId: deviceId }
  const author = sequence === 0 ? byGrant : { deviceId, grantId: undefined }
  return { author, isOwners: isOwnersKind(record.kind), ends: endsOf(record) }
}

/** The id is that of the genesis record, as everything in it is (FORMAT §1). */
function checkStoreId({ storeId }: VerifyContext, { hash }: CheckedCommit): void {
  if (storeIdOf(hash) === storeId) return
  refuse('store_id_mismatch', 'The history does not begin with the record that the store id names')
}

/** Parents and height. Only genesis has a record without parents (record-rules.ts). */
function checkPosition(
  snapshot: Snapshot,
  commit: CheckedCommit,
  merging: Merging | undefined,
): void {
  const { record } = commit
  const { head } = snapshot
  const genesis = head === beforeGenesis
  const here: readonly Head[] = genesis ? [] : [head]
  const parents = merging === undefined ? here : merging.parents
  const oids = parents.map((parent) => parent.commit)
  const hashes = parents.map((parent) => parent.record)
  if (commit.parents.join() !== oids.join() || toHexes(record.parents) !== toHexes(hashes)) {
    refuse('record_parents', 'The parents of the commit are not those that its record names')
  }
  const height = Math.max(head.height, ...parents.map((parent) => parent.height)) + 1
  if (record.height !== height) refuse('record_height', 'The height does not follow')
}

/** Checks that the record names the newest keyring of its past and is sealed under its epoch. */
function checkKeyring(
  snapshot: Snapshot,
  { record, epoch }: CheckedCommit,
  before: KeyringState,
  merging: Merging | undefined,
): void {
  if (merging?.other.areKeyringsApart === true) {
    refuse('keyring_conflict', 'A merge chooses between keyrings that were changed independently')
  }
  if (!equalBytes(record.keyring, before.record)) {
    refuse('record_keyring', 'The record does not name the newest keyring of its past')
  }
  if (snapshot.head !== beforeGenesis && epoch.kid !== before.kid) {
    refuse('record_epoch', 'The record is not sealed under the epoch in force')
  }
}

/** The keyring of a record that brings one (kind 1 or 4). */
function* readKeyring(
  context: VerifyContext,
  commit: CheckedCommit,
): Generator<undefined, KeyringState | undefined> {
  const { record, epoch } = commit
  if (!bringsKeyring(record.kind)) return undefined
  const oid = getEntry(getTree(context.objects, commit.tree), 'keyring')
  const bytes = getBlob(context.objects, oid, 'keyring_mismatch')
  if (!equalBytes(hash256(bytes), record.keyringHash)) {
    refuse('keyring_mismatch', 'The keyring is not the one that the record names')
  }
  const opened = yield* openNewKeyring(context, record, bytes)
  if (record.kind === 'genesis' && opened.kid !== epoch.kid) {
    refuse('record_epoch', 'The record is not sealed under the epoch of the keyring it brings')
  }
  return { ...opened, oid, record: commit.hash }
}

function readSettings(
  context: VerifyContext,
  snapshot: Snapshot,
  commit: CheckedCommit,
): SettingsState | undefined {
  const { record, epoch } = commit
  if (record.kind !== 'genesis' && record.kind !== 'settings') return undefined
  const oid = getEntry(getTree(context.objects, commit.tree), 'settings')
  const bytes = getBlob(context.objects, oid, 'settings_mismatch')
  if (!equalBytes(hash256(bytes), record.settingsHash)) {
    refuse('settings_mismatch', 'The settings are not those that the record names')
  }
  const { height, time: updated } = record
  const created = record.kind === 'genesis' ? updated : snapshot.settings.created
  const state = { oid, record: commit.hash, height, updated, created }
  // An auditor sees that settings changed, but not their values.
  if (!opensContents(epoch)) return { ...state, value: snapshot.settings.value }
  const padded = openEnvelope('settings', epoch.settings, recordContext(epoch), bytes)
  return { ...state, value: decodeSettings(padded) }
}

/** Sequence and chain of the device, in the past of the record. Its clock may go back. */
function checkDeviceChain(before: DeviceState | undefined, commit: CheckedCommit): void {
  const { record } = commit
  if (record.sequence === 0) {
    // Sequence 0 is a recovery identity's: checkAuthor has checked that this is one.
    if (equalBytes(record.previous, zeroHash)) return
    refuse('record_chain', 'The record of a recovery identity names a previous record')
  }
  if (record.sequence <= (before?.sequence ?? 0)) {
    refuse('record_sequence', 'The sequence number of the device does not increase')
  }
  if (!equalBytes(record.previous, before?.record ?? zeroHash)) {
    refuse('record_chain', "The record does not continue its device's chain")
  }
}

/** tree = tree(X): encodes the trees from the snapshot and compares the root. */
function* snapshotAfter(
  context: VerifyContext,
  snapshot: Snapshot,
  commit: CheckedCommit,
  own: OwnPart,
  merging: Merging | undefined,
): Generator<undefined, Snapshot> {
  const { record, hash, oid, tree } = commit
  const head = { commit: oid, record: hash, height: record.height, tree }
  const effect = { head, ...(merging === undefined ? own : joined(merging, own)) }
  const next = yield* snapshot.applying(effect)
  if (record.kind === 'genesis') checkPublicFiles(context, getTree(context.objects, tree))
  const trees: NewObject[] = []
  const root = yield* encodeRoot(context.storeId, next, trees)
  if (root !== tree) refuseTree(context, next, tree)
  // The trees were encoded, not read: a missing one would go unnoticed.
  for (const { oid: made } of trees) {
    if (!hasObject(context.objects, made)) refuse('object_missing', `The tree ${made} is missing`)
    yield
  }
  return next
}

/** The changes of the other parent, and on top those of the merge. */
function joined({ other }: Merging, own: OwnPart): Omit<CommitEffect, 'head'> {
  return {
    memories: new Map([...other.memories, ...own.memories]),
    devices: new Map([...other.devices, ...own.devices]),
    grants: new Map([...other.grants, ...own.grants]),
    keyring: own.keyring ?? other.keyring,
    settings: own.settings ?? other.settings,
  }
}

/** Throws why a tree is not the one that the history describes. */
function refuseTree(context: VerifyContext, snapshot: Snapshot, tree: Oid): never {
  checkPublicFiles(context, getTree(context.objects, tree))
  for (const versionId of context.redacted) {
    const memoryId = context.versions.findMemory(versionId)
    if (memoryId === undefined || snapshot.current.get(memoryId)?.live !== undefined) continue
    if (findMemory(context.objects, tree, memoryId) === undefined) continue
    refuse('redaction_undone', 'A redacted version has its content back')
  }
  return refuse('tree_mismatch', 'The tree is not the one that the history describes')
}

/** Checked in genesis: later trees name the same blobs. */
function checkPublicFiles(context: VerifyContext, root: readonly TreeEntry[]): void {
  const files = { 'README.md': readmeFile, 'store.json': storeFile(context.storeId) }
  for (const [name, constant] of Object.entries(files)) {
    const bytes = getBlob(context.objects, getEntry(root, name), 'public_file_mismatch')
    if (!equalBytes(bytes, constant)) {
      refuse('public_file_mismatch', `The file ${name} does not have its constant content`)
    }
  }
}

function toHexes(hashes: readonly Uint8Array[]): string {
  return hashes.map(toHex).join()
}

function refuse(code: ErrorCode, message: string): never {
  throw new StoreError(code, message)
}
