// Checks one commit against the history before it and moves the snapshot to it: the second half of
// FORMAT §8, but for the rows (verify-rows.ts). Every refusal has a code of its own; nothing here
// returns a boolean.

import { equalBytes, toHex } from '../../bytes.ts'
import { hash256 } from '../../crypto/digest.ts'
import { assert, type ErrorCode, StoreError } from '../../errors.ts'
import { openEnvelope, recordContext } from '../../format/envelope.ts'
import { readmeFile, storeFile } from '../../format/public-files.ts'
import { bringsKeyring, joinsKeyrings } from '../../format/record-rules.ts'
import { zeroHash } from '../../format/record.ts'
import { decodeSettings } from '../../format/settings.ts'
import type { NewObject, Oid, TreeEntry } from '../../git/objects/object.ts'
import { opensContents } from '../../keys/epoch.ts'
import {
  checkAuthor,
  checkInTime,
  checkJoining,
  checkSuccession,
  openNewKeyring,
} from '../access/authority.ts'
import type { KeyringChange, TwoKeyrings } from '../access/keyring-change.ts'
import { changeWithoutGrants, checkChangesSound, keyringChange } from '../access/keyring-join.ts'
import { getBlob, getEntry, getTree, hasObject } from '../snapshot/git-reads.ts'
import { encodeRoot } from '../snapshot/root-tree.ts'
import {
  authorState,
  beforeGenesis,
  type DeviceState,
  type Effect,
  type Head,
  type KeyringState,
  type SettingsState,
  type Snapshot,
  type Undo,
} from '../snapshot/snapshot.ts'
import type { CheckedCommit } from './checked-commit.ts'
import type { MergeContext, Merging } from './merge-context.ts'
import { findMemory, readRows, type VerifyContext } from './verify-rows.ts'

/** What a commit brought, and did not take from a parent. */
export interface OwnPart extends Pick<Effect, 'memories' | 'keyring' | 'settings'> {
  readonly authorId: string
  /** Of a record that brings a keyring. */
  readonly keyringChange: KeyringChange | undefined
  /** The author, and devices of which it shows that they are forked. */
  readonly devices: ReadonlyMap<string, DeviceState>
}

/** The snapshot has moved to a commit. */
export interface Verified {
  readonly own: OwnPart
  readonly undo: Undo
}

/** Where a snapshot goes from commit to commit. */
export interface Cursor {
  /** Moves the snapshot to a parent of a commit, if one was verified. */
  enter(commit: CheckedCommit): MergeContext
  /** The snapshot has moved on to the commit. */
  add(commit: CheckedCommit, verified: Verified): void
}

/**
 * Verifies a commit after its parents; the snapshot, which is on the way, moves to it. In steps, a
 * few for each row: until the last one nobody may look at the snapshot.
 */
export function* verifyChecked(
  context: VerifyContext,
  snapshot: Snapshot,
  commit: CheckedCommit,
  cursor: Cursor,
): Generator<undefined, void> {
  try {
    const place = cursor.enter(commit)
    cursor.add(commit, yield* verifyInOrder(context, snapshot, commit, place))
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
  place: MergeContext,
): Generator<undefined, Verified> {
  const { merging } = place
  const { record } = commit
  const before = keyringsBefore(snapshot, merging)
  const device =
    merging?.other.devices.get(record.deviceId) ?? snapshot.devices.get(record.deviceId)
  checkPosition(snapshot, commit, merging)
  checkKeyring(snapshot, commit, before)
  if (merging !== undefined && !areTwo(before)) checkInTime(before[0], merging.parents)
  const keyring = readKeyring(context, commit)
  for (const one of before) checkAuthor({ keyring: one, device }, commit, keyring)
  if (keyring !== undefined && record.kind === 'keyring') {
    checkNewKeyring(context.storeId, before, keyring, merging)
  }
  checkDeviceChain(device, commit)
  const settings = readSettings(context, snapshot, commit)
  const memories = yield* readRows(context, snapshot, commit, place)
  const authors = authorState(commit.record, commit.hash)
  const forked = [...(merging?.other.devices ?? [])].filter(([, state]) => state.forked)
  const devices = merging === undefined ? authors : new Map([...forked, ...authors])
  const authorId = record.deviceId
  const change = keyring && changeOf(authorId, before, keyring)
  const own = { authorId, memories, devices, keyring, keyringChange: change, settings }
  return { own, undo: yield* moveSnapshot(context, snapshot, commit, own, merging) }
}

function changeOf(authorId: string, before: KeyringsBefore, next: KeyringState): KeyringChange {
  if (areTwo(before)) return changeWithoutGrants(authorId)
  return keyringChange(authorId, before[0].directory, next.directory)
}

/** Parents and height. A record without parents is genesis, and no other is (record-rules.ts). */
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

/** The keyring in force; of a merge the later one, or both if neither is that. */
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

/** The newest keyring of the past, and its epoch. */
function checkKeyring(snapshot: Snapshot, commit: CheckedCommit, before: KeyringsBefore): void {
  const { record, epoch } = commit
  const joins = joinsKeyrings(record)
  if (areTwo(before) && !joins) {
    refuse('keyring_conflict', 'A merge chooses between keyrings that do not know of each other')
  }
  if (!areTwo(before) && joins) {
    refuse('keyring_chain', 'A record joins keyrings, and one of them is the later one')
  }
  if (!equalBytes(record.keyring, before[0].record)) {
    refuse('record_keyring', 'The record does not name the newest keyring of its past')
  }
  // What joins two is sealed under its own epoch, as genesis is: no older one is known to all.
  if (snapshot.head !== beforeGenesis && !joins && epoch.kid !== before[0].kid) {
    refuse('record_epoch', 'The record is sealed under another epoch than the one in force')
  }
}

function checkNewKeyring(
  storeId: string,
  before: KeyringsBefore,
  keyring: KeyringState,
  merging: Merging | undefined,
): void {
  if (!areTwo(before)) return checkSuccession(storeId, before[0], keyring)
  checkJoining(storeId, before, keyring)
  const [first, second] = merging?.parents ?? []
  assert(first !== undefined && second !== undefined, 'a join has two parents')
  checkChangesSound(
    { keyring: before[0], changes: first.keyringChanges },
    { keyring: before[1], changes: second.keyringChanges },
  )
  const { directory } = keyring
  checkInTime({ record: before[0].record, directory }, [first])
  checkInTime({ record: before[1].record, directory }, [second])
}

/** The keyring that a record of kind 1 or 4 brings. */
function readKeyring(context: VerifyContext, commit: CheckedCommit): KeyringState | undefined {
  const { record, epoch } = commit
  if (!bringsKeyring(record.kind)) return undefined
  const oid = getEntry(getTree(context.objects, commit.tree), 'keyring')
  const bytes = getBlob(context.objects, oid, 'keyring_mismatch')
  if (!equalBytes(hash256(bytes), record.keyringHash)) {
    refuse('keyring_mismatch', 'The keyring is not the one that the record names')
  }
  const opened = openNewKeyring(context, record, bytes)
  if ((record.kind === 'genesis' || joinsKeyrings(record)) && opened.kid !== epoch.kid) {
    refuse('record_epoch', 'The record is sealed under another epoch than its keyring')
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
  const state = { oid, record: commit.hash, height: record.height }
  // An auditor sees that settings changed, and not to what.
  if (!opensContents(epoch)) return { ...state, value: snapshot.settings.value }
  const padded = openEnvelope('settings', epoch.settings, recordContext(context.storeId), bytes)
  return { ...state, value: decodeSettings(padded) }
}

/** Sequence and chain of the device, in the record's own causal past. Its clock may go back. */
function checkDeviceChain(before: DeviceState | undefined, commit: CheckedCommit): void {
  const { record } = commit
  if (record.sequence === 0) {
    // Only a recovery identity may, and checkAuthor has said that this is one.
    if (equalBytes(record.previous, zeroHash)) return
    refuse('record_chain', 'A recovery identity has no chain')
  }
  if (record.sequence <= (before?.sequence ?? 0)) {
    refuse('record_sequence', 'The sequence number of the device does not grow')
  }
  if (!equalBytes(record.previous, before?.record ?? zeroHash)) {
    refuse('record_chain', "The record does not continue its device's chain")
  }
}

/** tree = tree(X): the trees are made again and compared. */
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
  const undo = yield* snapshot.applying(effect)
  try {
    if (record.kind === 'genesis') checkPublicFiles(context, getTree(context.objects, tree))
    const trees: NewObject[] = []
    const root = yield* encodeRoot(context.storeId, snapshot, trees)
    if (root !== tree) refuseTree(context, snapshot, tree)
    // Made again and not read, so that one which is missing would go unnoticed.
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

/** What the other parent has, and what the merge made. */
function joined({ other }: Merging, own: OwnPart): Omit<Effect, 'head'> {
  return {
    memories: new Map([...other.memories, ...own.memories]),
    devices: new Map([...other.devices, ...own.devices]),
    keyring: own.keyring ?? other.keyring,
    settings: own.settings ?? other.settings,
  }
}

/** Says what is wrong with a tree that is not the one that the history describes. */
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

/** Later trees name the same blobs, so once is enough. */
function checkPublicFiles(context: VerifyContext, root: readonly TreeEntry[]): void {
  const files = { 'README.md': readmeFile, 'store.json': storeFile(context.storeId) }
  for (const [name, constant] of Object.entries(files)) {
    const bytes = getBlob(context.objects, getEntry(root, name), 'public_file_mismatch')
    if (!equalBytes(bytes, constant)) {
      refuse('public_file_mismatch', `The file ${name} is not the constant one`)
    }
  }
}

function toHexes(hashes: readonly Uint8Array[]): string {
  return hashes.map(toHex).join()
}

function refuse(code: ErrorCode, message: string): never {
  throw new StoreError(code, message)
}
