// Checks one commit against the history before it and moves the snapshot to it: the second half of
// FORMAT §8, except for the rows (verify-rows.ts). Each check throws its own error code; none
// returns a boolean.

import { equalBytes, toHex } from '../../bytes.ts'
import { hash256 } from '../../crypto/digest.ts'
import { assert, type ErrorCode, StoreError } from '../../errors.ts'
import type { ChangeRecord } from '../../format/change-record.ts'
import { openEnvelope, recordContext } from '../../format/envelope.ts'
import { readmeFile, storeFile } from '../../format/public-files.ts'
import { bringsKeyring, joinsKeyrings } from '../../format/record-rules.ts'
import { zeroHash } from '../../format/record.ts'
import { decodeSettings } from '../../format/settings.ts'
import type { NewObject, Oid, TreeEntry } from '../../git/objects/object.ts'
import { opensContents } from '../../keys/epoch.ts'
import {
  admitterOf,
  checkAuthor,
  checkInTime,
  checkJoining,
  checkSuccession,
  openNewKeyring,
} from '../access/authority.ts'
import type { KeyringChange, TwoKeyrings } from '../access/keyring-change.ts'
import { joinChange, checkChangesSound, keyringChange } from '../access/keyring-join.ts'
import { getBlob, getEntry, getTree, hasObject } from '../snapshot/git-reads.ts'
import { encodeRoot } from '../snapshot/root-tree.ts'
import {
  authorState,
  beforeGenesis,
  type DeviceState,
  type Effect,
  type Head,
  type KeyringState,
  lastRecords,
  type SettingsState,
  type Snapshot,
  type Undo,
} from '../snapshot/snapshot.ts'
import type { CheckedCommit } from './checked-commit.ts'
import type { MergeContext, Merging } from './merge-context.ts'
import { findMemory, readRows, type VerifyContext } from './verify-rows.ts'

/** What a commit itself changed: nothing that it has from a parent. */
export interface OwnPart extends Pick<Effect, 'memories' | 'keyring' | 'settings'> {
  /** Undefined for a recovery identity. */
  readonly deviceId: string | undefined
  /** Undefined unless the record brings a keyring. */
  readonly keyringChange: KeyringChange | undefined
  /** The author, and the devices that the commit shows to be forked. */
  readonly devices: ReadonlyMap<string, DeviceState>
}

/** The result of verifying a commit, to which the snapshot has moved. */
export interface Verified {
  readonly own: OwnPart
  readonly undo: Undo
}

/** Moves a snapshot from commit to commit. */
export interface Cursor {
  /** Moves the snapshot to a verified parent of the commit, if there is one. */
  enter(commit: CheckedCommit): MergeContext
  /** Called once the snapshot has moved to the commit. */
  add(commit: CheckedCommit, verified: Verified): void
}

/**
 * Verifies a commit after its parents and moves the snapshot to it. Runs in steps, a few for each
 * row; the snapshot must not be read before the last one.
 */
export function* verifyChecked(
  context: VerifyContext,
  snapshot: Snapshot,
  commit: CheckedCommit,
  cursor: Cursor,
): Generator<undefined, void> {
  try {
    const mergeContext = cursor.enter(commit)
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
  const before = keyringsBefore(snapshot, merging)
  const device =
    merging?.other.devices.get(record.deviceId) ?? snapshot.devices.get(record.deviceId)
  checkPosition(snapshot, commit, merging)
  checkKeyring(snapshot, commit, before)
  if (merging !== undefined && !areTwo(before)) checkInTime(merging.parents)
  const keyring = yield* readKeyring(context, commit)
  checkAuthor({ keyring: before[0], device }, commit, keyring)
  if (keyring !== undefined && record.kind === 'keyring') {
    checkNewKeyring(context.storeId, before, keyring, { snapshot, record, merging })
  }
  checkDeviceChain(device, commit)
  const settings = readSettings(context, snapshot, commit)
  const memories = yield* readRows(context, snapshot, commit, mergeContext)
  const authors = authorState(commit.record, commit.hash)
  const forked = [...(merging?.other.devices ?? [])].filter(([, state]) => state.forked)
  const devices = merging === undefined ? authors : new Map([...forked, ...authors])
  const authorId = record.deviceId
  const change = keyring && changeOf(authorId, before, keyring)
  const deviceId = record.sequence === 0 ? undefined : authorId
  const own = { deviceId, memories, devices, keyring, keyringChange: change, settings }
  return { own, undo: yield* moveSnapshot(context, snapshot, commit, own, merging) }
}

function changeOf(authorId: string, before: KeyringsBefore, next: KeyringState): KeyringChange {
  const directories = before.map(({ directory }) => directory)
  if (areTwo(before)) return joinChange(authorId, directories, next.directory)
  return keyringChange(authorId, before[0].directory, next.directory)
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
  const parents = merging === undefined ? here : merging.parents.map((parent) => parent.head)
  const oids = parents.map((parent) => parent.commit)
  const hashes = parents.map((parent) => parent.record)
  if (commit.parents.join() !== oids.join() || toHexes(record.parents) !== toHexes(hashes)) {
    refuse('record_parents', 'The parents of the commit are not those that its record names')
  }
  const height = Math.max(head.height, ...parents.map((parent) => parent.height)) + 1
  if (record.height !== height) refuse('record_height', 'The height does not follow')
}

/** The keyring in force; for a merge the later one, or both if neither is later. */
type KeyringsBefore = readonly [KeyringState] | TwoKeyrings

function keyringsBefore(snapshot: Snapshot, merging: Merging | undefined): KeyringsBefore {
  const { keyring } = snapshot
  const concurrent = merging?.other.concurrent
  if (concurrent === undefined) return [merging?.other.keyring ?? keyring]
  return merging?.isOursFirst === true ? [keyring, concurrent] : [concurrent, keyring]
}

function areTwo(keyrings: KeyringsBefore): keyrings is TwoKeyrings {
  return keyrings.length === 2
}

/** Checks that the record names the newest keyring of its past and is sealed under its epoch. */
function checkKeyring(snapshot: Snapshot, commit: CheckedCommit, before: KeyringsBefore): void {
  const { record, epoch } = commit
  const joins = joinsKeyrings(record)
  if (areTwo(before) && !joins) {
    refuse('keyring_conflict', 'A merge chooses between keyrings that were changed independently')
  }
  if (!areTwo(before) && joins) {
    refuse('keyring_chain', 'A record joins keyrings of which one is later than the other')
  }
  if (!equalBytes(record.keyring, before[0].record)) {
    refuse('record_keyring', 'The record does not name the newest keyring of its past')
  }
  // A record that joins two is sealed under the epoch it brings, as genesis is: no older epoch is
  // known to all.
  if (snapshot.head !== beforeGenesis && !joins && epoch.kid !== before[0].kid) {
    refuse('record_epoch', 'The record is not sealed under the epoch in force')
  }
}

/** A keyring record, and the snapshot at its first parent. */
interface KeyringRecord {
  readonly snapshot: Snapshot
  readonly record: ChangeRecord
  readonly merging: Merging | undefined
}

function checkNewKeyring(
  storeId: string,
  before: KeyringsBefore,
  keyring: KeyringState,
  { snapshot, record, merging }: KeyringRecord,
): void {
  if (!areTwo(before)) {
    const author = admitterOf(before[0].directory, record)
    const lastRecordOf = lastRecords(snapshot.devices)
    return checkSuccession({ storeId, author, lastRecordOf }, before[0], keyring)
  }
  checkJoining(storeId, before, keyring)
  const [first, second] = merging?.parents ?? []
  assert(first !== undefined && second !== undefined, 'a join has two parents')
  checkChangesSound(
    { keyring: before[0], changes: first.keyringChanges },
    { keyring: before[1], changes: second.keyringChanges },
  )
  checkInTime([first, second])
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
  if ((record.kind === 'genesis' || joinsKeyrings(record)) && opened.kid !== epoch.kid) {
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
  const padded = openEnvelope('settings', epoch.settings, recordContext(context.storeId), bytes)
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
function* moveSnapshot(
  context: VerifyContext,
  snapshot: Snapshot,
  commit: CheckedCommit,
  own: OwnPart,
  merging: Merging | undefined,
): Generator<undefined, Undo> {
  const { record, hash, oid, tree } = commit
  const head = { commit: oid, record: hash, height: record.height, tree }
  const effect = { head, ...(merging === undefined ? own : joined(merging, own)) }
  // Built of what was verified before, whose trees need not be encoded again.
  yield* snapshot.tree()
  const undo = yield* snapshot.applying(effect)
  try {
    if (record.kind === 'genesis') checkPublicFiles(context, getTree(context.objects, tree))
    const trees: NewObject[] = []
    const root = yield* encodeRoot(context.storeId, snapshot, trees)
    if (root !== tree) refuseTree(context, snapshot, tree)
    // The trees were encoded, not read: a missing one would go unnoticed.
    for (const { oid: made } of trees) {
      if (!hasObject(context.objects, made)) refuse('object_missing', `The tree ${made} is missing`)
      yield
    }
    return undo
  } catch (error) {
    undo()
    throw error
  }
}

/** The changes of the other parent, and on top those of the merge. */
function joined({ other }: Merging, own: OwnPart): Omit<Effect, 'head'> {
  return {
    memories: new Map([...other.memories, ...own.memories]),
    devices: new Map([...other.devices, ...own.devices]),
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
