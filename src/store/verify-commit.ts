// Judges one commit against the history before it and moves the snapshot to it: the second half of
// FORMAT §8. Every refusal has a code of its own; nothing here returns a boolean.

import { equalBytes, toHex } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import { StoreError } from '../errors.ts'
import type { ErrorCode } from '../errors.ts'
import { openEnvelope, recordContext } from '../format/envelope.ts'
import { readmeFile, storeFile } from '../format/public-files.ts'
import { zeroHash, zeroId } from '../format/record.ts'
import type { RecordRow } from '../format/record.ts'
import { decodeSettings } from '../format/settings.ts'
import type { Oid, TreeEntry } from '../git/object.ts'
import { checkAuthor, checkSuccession, openNewKeyring } from './authority.ts'
import { encodeRoot } from './commit.ts'
import type { DecodedCommit } from './decoded-commit.ts'
import { getBlob, getEntry, getTree } from './git-reads.ts'
import { judgeDecoded } from './judged-commit.ts'
import type { CommitSource, JudgedCommit } from './judged-commit.ts'
import { findBlob } from './memory-tree.ts'
import { beforeGenesis } from './snapshot.ts'
import type {
  CurrentVersion,
  Effect,
  KeyringState,
  LiveMemory,
  SettingsState,
  Snapshot,
  Undo,
} from './snapshot.ts'

/** The versions in the causal past, for "new" and "is there" (FORMAT §6.4). */
export interface KnownVersions {
  /** The memory of a version, undefined if there is no such version. */
  findMemory(versionId: string): string | undefined
  add(versionId: string, memoryId: string): void
}

export interface VerifyContext extends CommitSource {
  /** R of FORMAT §8.1: every version that a redact record of this head names. */
  readonly redacted: ReadonlySet<string>
  readonly versions: KnownVersions
}

/** Verifies the commit after the snapshot's head; the snapshot moves to it. */
export function verifyCommit(
  context: VerifyContext,
  snapshot: Snapshot,
  commit: DecodedCommit,
): Undo {
  return verifyJudged(context, snapshot, judgeDecoded(context, commit))
}

/** The same, once the commit was judged by itself. */
export function verifyJudged(
  context: VerifyContext,
  snapshot: Snapshot,
  commit: JudgedCommit,
): Undo {
  try {
    return verifyInOrder(context, snapshot, commit)
  } catch (error) {
    if (!(error instanceof StoreError) || error.details.commit !== undefined) throw error
    const details = { ...error.details, commit: commit.oid }
    throw new StoreError(error.code, error.message, { cause: error, details })
  }
}

function verifyInOrder(context: VerifyContext, snapshot: Snapshot, commit: JudgedCommit): Undo {
  checkPosition(snapshot, commit)
  const keyring = readKeyring(context, commit)
  checkAuthor(snapshot, commit, keyring)
  if (keyring !== undefined && commit.record.kind === 'keyring') {
    checkSuccession(context, snapshot.keyring, keyring)
  }
  checkDeviceChain(snapshot, commit)
  const settings = readSettings(context, commit)
  const memories = readRows(context, snapshot, commit)
  return moveSnapshot(context, snapshot, commit, { memories, keyring, settings })
}

/** Parents, height, newest keyring and its kid. */
function checkPosition(snapshot: Snapshot, commit: JudgedCommit): void {
  const { record, epoch } = commit
  const { head, keyring } = snapshot
  if (record.parents.length === 2) {
    throw new StoreError('upgrade_required', 'The history has merges, which need a newer release')
  }
  const genesis = head === beforeGenesis
  const oids = genesis ? [] : [head.commit]
  const hashes = genesis ? [] : [head.record]
  if (commit.parents.join() !== oids.join() || toHexes(record.parents) !== toHexes(hashes)) {
    refuse('record_parents', 'The parents of the commit are not those that its record names')
  }
  if (genesis !== (record.kind === 'genesis')) {
    refuse('record_parents', 'A history starts with genesis and has no other')
  }
  if (record.height !== head.height + 1) refuse('record_height', 'The height does not follow')
  if (!equalBytes(record.keyring, keyring.record)) {
    refuse('record_keyring', 'The record does not name the newest keyring of its past')
  }
  if (!genesis && epoch.kid !== keyring.kid) {
    refuse('record_epoch', 'The record is sealed under another epoch than the one in force')
  }
}

/** The keyring that a record of kind 1 or 4 brings. */
function readKeyring(context: VerifyContext, commit: JudgedCommit): KeyringState | undefined {
  const { record, epoch } = commit
  if (record.kind !== 'genesis' && record.kind !== 'keyring') return undefined
  const oid = getEntry(getTree(context.objects, commit.tree), 'keyring')
  const bytes = getBlob(context.objects, oid, 'keyring_mismatch')
  if (!equalBytes(hash256(bytes), record.keyringHash)) {
    refuse('keyring_mismatch', 'The keyring is not the one that the record names')
  }
  const opened = openNewKeyring(context, record, bytes)
  if (record.kind === 'genesis' && opened.kid !== epoch.kid) {
    refuse('record_epoch', 'Genesis is sealed under another epoch than its keyring')
  }
  return { ...opened, oid, record: commit.hash }
}

function readSettings(context: VerifyContext, commit: JudgedCommit): SettingsState | undefined {
  const { record, epoch } = commit
  if (record.kind !== 'genesis' && record.kind !== 'settings') return undefined
  const oid = getEntry(getTree(context.objects, commit.tree), 'settings')
  const bytes = getBlob(context.objects, oid, 'settings_mismatch')
  if (!equalBytes(hash256(bytes), record.settingsHash)) {
    refuse('settings_mismatch', 'The settings are not those that the record names')
  }
  const padded = openEnvelope('settings', epoch.settings, recordContext(context.storeId), bytes)
  return { oid, value: decodeSettings(padded) }
}

/** Sequence, chain and clock of the device, in the record's own causal past. */
function checkDeviceChain(snapshot: Snapshot, commit: JudgedCommit): void {
  const { record } = commit
  const before = snapshot.devices.get(record.deviceId)
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
  if (record.time < (before?.time ?? 0)) {
    refuse('record_time', "The record is older than its device's previous one")
  }
}

function readRows(
  context: VerifyContext,
  snapshot: Snapshot,
  commit: JudgedCommit,
): ReadonlyMap<string, CurrentVersion> {
  const memories = new Map<string, CurrentVersion>()
  const { record } = commit
  if (record.kind === 'redact') {
    for (const row of record.rows) checkRedactTarget(context, snapshot, row)
    return memories
  }
  record.rows.forEach((row, index) => {
    const created = checkRow(context, snapshot, row, record.time)
    const live = isRedacted(context, commit, row, index)
      ? undefined
      : readLive(snapshot, commit, row, { index, created })
    const operation = row.operation ?? 'deleted'
    memories.set(row.memoryId, { versionId: row.versionId, operation, created, live })
  })
  return memories
}

/** Row rules of FORMAT §6.4; returns when the memory was created. */
function checkRow(
  context: VerifyContext,
  snapshot: Snapshot,
  row: RecordRow,
  time: number,
): number {
  if (row.secondBase !== zeroId) {
    refuse('row_base_mismatch', 'A row of a commit with one parent has a second base')
  }
  if (context.versions.findMemory(row.versionId) !== undefined) {
    refuse('row_version_reused', 'A version id is used twice')
  }
  context.versions.add(row.versionId, row.memoryId)
  const before = snapshot.current.get(row.memoryId)
  if (row.operation === 'created' && row.base === zeroId) {
    if (before !== undefined) refuse('row_memory_exists', 'A memory is created twice')
    return time
  }
  if (before === undefined) {
    return refuse('row_memory_missing', 'A row changes a memory that does not exist')
  }
  if (row.base !== before.versionId) {
    refuse('row_base_mismatch', 'A row is not based on the current version of its memory')
  }
  if (row.operation === 'created' && before.operation !== 'deleted') {
    refuse('row_memory_exists', 'Only a deleted memory is created again')
  }
  if (row.operation !== 'created' && before.operation === 'deleted') {
    refuse('row_memory_missing', 'A row changes a memory that is deleted')
  }
  return before.created
}

/** FORMAT §8.1: what is redacted is gone, and nothing else. */
function isRedacted(
  context: VerifyContext,
  commit: JudgedCommit,
  row: RecordRow,
  index: number,
): boolean {
  const redacted = context.redacted.has(row.versionId)
  if (commit.hasDetail(index)) {
    if (redacted) refuse('redaction_undone', 'A redacted version has its detail back')
    return false
  }
  if (!redacted) refuse('detail_missing', 'A detail is missing and no redaction explains it')
  if (findMemory(context, commit.tree, row.memoryId) !== undefined) {
    refuse('redaction_undone', 'A redacted version has its content back')
  }
  return true
}

/** What a row makes of its memory: nothing, if it deletes it. */
function readLive(
  snapshot: Snapshot,
  commit: JudgedCommit,
  row: RecordRow,
  { index, created }: { readonly index: number; readonly created: number },
): LiveMemory | undefined {
  const { path, memory } = commit.openRow(index)
  if (memory === undefined) {
    // Undefined if there was none or it is redacted.
    const before = snapshot.current.get(row.memoryId)?.live
    if (before !== undefined && before.path !== path) {
      refuse('detail_mismatch', 'The detail of a deletion names another path')
    }
    return undefined
  }
  if (memory.created !== created) {
    refuse('memory_mismatch', 'A memory is not the one that its detail describes')
  }
  const { blob, size, sha256 } = memory
  const { memoryId, versionId } = row
  const times = { created, updated: commit.record.time }
  return { memoryId, versionId, path, size, sha256, ...times, blob, kid: commit.epoch.kid }
}

function checkRedactTarget(context: VerifyContext, snapshot: Snapshot, row: RecordRow): void {
  if (context.versions.findMemory(row.versionId) !== row.memoryId) {
    refuse('redact_target', 'A redaction names a version that is not in its past')
  }
  const current = snapshot.current.get(row.memoryId)
  if (current?.versionId === row.versionId && current.operation !== 'deleted') {
    refuse('redact_target', 'A redaction names the current version of a live memory')
  }
}

/** tree = tree(X): the trees are made again and compared. */
function moveSnapshot(
  context: VerifyContext,
  snapshot: Snapshot,
  commit: JudgedCommit,
  next: Pick<Effect, 'memories' | 'keyring' | 'settings'>,
): Undo {
  const { record, hash, oid, tree } = commit
  const state = { sequence: record.sequence, record: hash, time: record.time }
  const device = record.sequence === 0 ? undefined : { id: record.deviceId, state }
  const head = { commit: oid, record: hash, height: record.height, tree }
  const undo = snapshot.apply({ head, ...next, device })
  try {
    if (record.kind === 'genesis') checkPublicFiles(context, getTree(context.objects, tree))
    if (encodeRoot(context.storeId, snapshot, []) !== tree) refuseTree(context, snapshot, tree)
    return undo
  } catch (error) {
    undo()
    throw error
  }
}

/** Says what is wrong with a tree that is not the one that the history describes. */
function refuseTree(context: VerifyContext, snapshot: Snapshot, tree: Oid): never {
  checkPublicFiles(context, getTree(context.objects, tree))
  for (const versionId of context.redacted) {
    const memoryId = context.versions.findMemory(versionId)
    if (memoryId === undefined || snapshot.current.get(memoryId)?.live !== undefined) continue
    if (findMemory(context, tree, memoryId) === undefined) continue
    refuse('redaction_undone', 'A redacted version has its content back')
  }
  return refuse('tree_mismatch', 'The tree is not the one that the history describes')
}

function findMemory({ objects }: VerifyContext, root: Oid, memoryId: string): Oid | undefined {
  const tree = getTree(objects, root).find((entry) => entry.name === 'm')?.oid
  return tree === undefined ? undefined : findBlob(objects, tree, memoryId)
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
