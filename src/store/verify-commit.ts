// Judges one commit against the history before it and moves the snapshot to it: the second half of
// FORMAT §8. Every refusal has a code of its own; nothing here returns a boolean.

import { equalBytes, toHex } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import { StoreError } from '../errors.ts'
import type { ErrorCode } from '../errors.ts'
import { detailCommitment } from '../format/detail.ts'
import type { DetailRow } from '../format/detail.ts'
import {
  memoryContext,
  openDeterministic,
  openEnvelope,
  recordContext,
} from '../format/envelope.ts'
import { decodeMemoryBlob } from '../format/memory-blob.ts'
import { readmeFile, storeFile } from '../format/public-files.ts'
import { zeroHash, zeroId } from '../format/record.ts'
import type { RecordRow } from '../format/record.ts'
import { decodeSettings } from '../format/settings.ts'
import type { Oid, TreeEntry } from '../git/object.ts'
import { checkAuthor, checkSuccession, openNewKeyring } from './authority.ts'
import { encodeRoot } from './commit.ts'
import { openDetail } from './decoded-commit.ts'
import type { DecodedCommit, Epochs } from './decoded-commit.ts'
import { getBlob, getEntry, getTree } from './git-reads.ts'
import type { ObjectSource } from './git-reads.ts'
import { findBlob } from './memory-tree.ts'
import { beforeGenesis } from './snapshot.ts'
import type {
  CurrentVersion,
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

export interface VerifyContext {
  readonly objects: ObjectSource
  readonly storeId: string
  readonly epochs: Epochs
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
  try {
    return verifyInOrder(context, snapshot, commit)
  } catch (error) {
    if (!(error instanceof StoreError) || error.details.commit !== undefined) throw error
    const details = { ...error.details, commit: commit.oid }
    throw new StoreError(error.code, error.message, { cause: error, details })
  }
}

function verifyInOrder(context: VerifyContext, snapshot: Snapshot, commit: DecodedCommit): Undo {
  checkPosition(snapshot, commit)
  const root = getTree(context.objects, commit.parts.tree)
  const keyring = readKeyring(context, commit, root)
  checkAuthor(context.storeId, snapshot, commit, keyring)
  if (keyring !== undefined && commit.record.kind === 'keyring') {
    checkSuccession(context, snapshot.keyring, keyring)
  }
  checkDeviceChain(snapshot, commit)
  const settings = readSettings(context, commit, root)
  const memories = readRows(context, snapshot, commit, root)
  return moveSnapshot(context, snapshot, commit, { memories, keyring, settings, root })
}

/** Parents, height, newest keyring and its kid. */
function checkPosition(snapshot: Snapshot, commit: DecodedCommit): void {
  const { record, parts, epoch } = commit
  const { head, keyring } = snapshot
  if (record.parents.length === 2) {
    throw new StoreError('upgrade_required', 'The history has merges, which need a newer release')
  }
  const genesis = head === beforeGenesis
  const oids = genesis ? [] : [head.commit]
  const hashes = genesis ? [] : [head.record]
  if (parts.parents.join() !== oids.join() || toHexes(record.parents) !== toHexes(hashes)) {
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
function readKeyring(
  context: VerifyContext,
  commit: DecodedCommit,
  root: readonly TreeEntry[],
): KeyringState | undefined {
  const { record, epoch } = commit
  if (record.kind !== 'genesis' && record.kind !== 'keyring') return undefined
  const oid = getEntry(root, 'keyring')
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

function readSettings(
  context: VerifyContext,
  commit: DecodedCommit,
  root: readonly TreeEntry[],
): SettingsState | undefined {
  const { record, epoch } = commit
  if (record.kind !== 'genesis' && record.kind !== 'settings') return undefined
  const oid = getEntry(root, 'settings')
  const bytes = getBlob(context.objects, oid, 'settings_mismatch')
  if (!equalBytes(hash256(bytes), record.settingsHash)) {
    refuse('settings_mismatch', 'The settings are not those that the record names')
  }
  const padded = openEnvelope('settings', epoch.settings, recordContext(context.storeId), bytes)
  return { oid, value: decodeSettings(padded) }
}

/** Sequence, chain and clock of the device, in the record's own causal past. */
function checkDeviceChain(snapshot: Snapshot, commit: DecodedCommit): void {
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
  commit: DecodedCommit,
  root: readonly TreeEntry[],
): ReadonlyMap<string, CurrentVersion> {
  const memories = new Map<string, CurrentVersion>()
  const { record } = commit
  if (record.kind === 'redact') {
    for (const row of record.rows) checkRedactTarget(context, snapshot, row)
    return memories
  }
  const details = openDetail(context.storeId, commit)
  if (Math.max(-1, ...details.keys()) >= record.rows.length) {
    refuse('detail_malformed', 'The detail has a row that the record does not have')
  }
  const tree = root.find((entry) => entry.name === 'm')?.oid
  record.rows.forEach((row, index) => {
    const created = checkRow(context, snapshot, row, record.time)
    const detail = checkDetail(context, row, details.get(index), index)
    const blob = tree === undefined ? undefined : findBlob(context.objects, tree, row.memoryId)
    const before = snapshot.current.get(row.memoryId)?.live
    const live = readLive(context, commit, row, { detail, blob, created, before })
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

function checkDetail(
  context: VerifyContext,
  row: RecordRow,
  detail: DetailRow | undefined,
  index: number,
): DetailRow | undefined {
  const redacted = context.redacted.has(row.versionId)
  if (detail === undefined) {
    if (redacted) return undefined
    return refuse('detail_missing', 'A detail is missing and no redaction explains it')
  }
  if (redacted) refuse('redaction_undone', 'A redacted version has its detail back')
  if (!equalBytes(detailCommitment(detail.blinding, detail), row.commitment)) {
    refuse('detail_mismatch', 'A detail is not the one that the record commits to')
  }
  if (index !== 0 && detail.note !== '') {
    refuse('detail_malformed', 'Only the first row of a change has a note')
  }
  return detail
}

/** The memory blob of a row, opened, re-sealed and compared with the detail. */
function readLive(
  context: VerifyContext,
  commit: DecodedCommit,
  row: RecordRow,
  found: {
    readonly detail: DetailRow | undefined
    readonly blob: Oid | undefined
    readonly created: number
    /** The memory before, undefined if there was none or it is redacted. */
    readonly before: LiveMemory | undefined
  },
): LiveMemory | undefined {
  const { detail, blob, created, before } = found
  if (detail === undefined) {
    if (blob === undefined) return undefined
    return refuse('redaction_undone', 'A redacted version has its content back')
  }
  if (row.operation === 'deleted') {
    if (detail.size !== 0 || !equalBytes(detail.sha256, zeroHash)) {
      refuse('detail_mismatch', 'The detail of a deletion names a content')
    }
    if (before !== undefined && before.path !== detail.path) {
      refuse('detail_mismatch', 'The detail of a deletion names another path')
    }
    return undefined
  }
  if (blob === undefined) return refuse('tree_mismatch', 'The tree lacks a memory')
  const bytes = getBlob(context.objects, blob, 'memory_mismatch')
  const ctx = memoryContext(context.storeId, row.memoryId)
  const keys = commit.epoch.memory
  const memory = decodeMemoryBlob(openDeterministic('memory', keys, ctx, detail.blinding, bytes))
  const size = Buffer.byteLength(memory.content)
  const matches =
    memory.versionId === row.versionId &&
    memory.created === created &&
    memory.path === detail.path &&
    size === detail.size &&
    equalBytes(memory.sha256, detail.sha256)
  if (!matches) refuse('memory_mismatch', 'A memory is not the one that its detail describes')
  const ids = { memoryId: row.memoryId, versionId: row.versionId, blob, kid: commit.epoch.kid }
  const times = { created, updated: commit.record.time }
  return { ...ids, path: memory.path, size, sha256: toHex(memory.sha256), ...times }
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
  commit: DecodedCommit,
  next: {
    readonly memories: ReadonlyMap<string, CurrentVersion>
    readonly keyring: KeyringState | undefined
    readonly settings: SettingsState | undefined
    readonly root: readonly TreeEntry[]
  },
): Undo {
  const { record, hash, oid, parts } = commit
  const state = { sequence: record.sequence, record: hash, time: record.time }
  const device = record.sequence === 0 ? undefined : { id: record.deviceId, state }
  const head = { commit: oid, record: hash, height: record.height, tree: parts.tree }
  const { memories, keyring, settings } = next
  const undo = snapshot.apply({ head, memories, device, keyring, settings })
  try {
    if (record.kind === 'genesis') checkPublicFiles(context, next.root)
    const root = encodeRoot(context.storeId, snapshot, [])
    if (root !== parts.tree) refuseTree(context, snapshot, next.root)
    return undo
  } catch (error) {
    undo()
    throw error
  }
}

/** Says what is wrong with a tree that is not the one that the history describes. */
function refuseTree(context: VerifyContext, snapshot: Snapshot, root: readonly TreeEntry[]): never {
  checkPublicFiles(context, root)
  const tree = root.find((entry) => entry.name === 'm')?.oid
  for (const versionId of context.redacted) {
    const memoryId = context.versions.findMemory(versionId)
    if (memoryId === undefined || snapshot.current.get(memoryId)?.live !== undefined) continue
    if (tree === undefined || findBlob(context.objects, tree, memoryId) === undefined) continue
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
