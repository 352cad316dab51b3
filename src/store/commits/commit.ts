// Builds the git objects of one commit from a plan: seals blobs, detail and record, signs, encodes
// trees (FORMAT §5, §6). Writes nothing to disk. A write passes through here between planning
// (changes.ts) and the object store (writer.ts).

import { compareBytes, fromHex, type Sealed } from '../../bytes.ts'
import { hash256 } from '../../crypto/digest.ts'
import { assert, StoreError } from '../../errors.ts'
import type {
  Actor,
  ChangeRecord,
  GrantRow,
  RecordRow,
  RedactReason,
  SignedRow,
} from '../../format/change-record.ts'
import { encodeCommit } from '../../format/commit.ts'
import { encodeDetail } from '../../format/detail.ts'
import {
  detailContext,
  memoryContext,
  recordContext,
  sealEnvelope,
  sealInThread,
} from '../../format/envelope.ts'
import { storeIdOf } from '../../format/id.ts'
import { encodeMemoryBlob } from '../../format/memory-blob.ts'
import { readmeFile, storeFile } from '../../format/public-files.ts'
import { grantRowKey } from '../../format/record-rules.ts'
import { zeroHash, zeroId } from '../../format/record.ts'
import { type NewObject, newObject, type Oid } from '../../git/objects/object.ts'
import type { Oids } from '../../git/objects/oid-list.ts'
import type { NewKeyring } from '../../keys/keyring.ts'
import { commitBytesMax, contentBytesDefault } from '../../limits.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import type { CurrentVersion } from '../snapshot/live-memory.ts'
import { encodeRoot } from '../snapshot/root-tree.ts'
import {
  authorState,
  beforeGenesis,
  type GrantState,
  type KeyringState,
  type SettingsState,
  Snapshot,
} from '../snapshot/snapshot.ts'
import type { Author, CommitContext, OtherParent } from './commit-context.ts'
import type { Epochs } from './decoded-commit.ts'
import { parentsOf, type RecordFields, type SignedRecord, signNext } from './new-record.ts'
import { type MergeRow, newRows, type PlannedRow } from './new-rows.ts'

/** A larger content is sealed in another thread; for a smaller one that is slower. */
const inlineBytesMax = contentBytesDefault

/** The objects of a commit, and the snapshot after it. */
export interface BuiltCommit {
  readonly snapshot: Snapshot
  /** With the epoch that the commit begins. */
  readonly epochs?: Epochs
  /** The only parent; undefined if the head is no single commit on top of the one before. */
  readonly onto?: Oid | undefined
  readonly objects: readonly NewObject[]
  /** Objects that the commit erases (FORMAT §10). */
  readonly dead?: Oids
}

/** A commit of versions, with their ids in the order of the planned rows. */
export interface BuiltVersions extends BuiltCommit {
  readonly versionIds: readonly string[]
}

export interface MergePlan {
  readonly rows: readonly MergeRow[]
  readonly author: Author
}

/** The keyring that a commit brings. */
export type BroughtKeyring = Pick<NewKeyring, 'bytes' | 'directory' | 'epoch' | 'archived'>

/** A change of memories: one version row each (FORMAT §6.1, kind 2). */
export async function buildChange(
  context: CommitContext,
  snapshot: Snapshot,
  planned: readonly PlannedRow[],
  author: Author,
): Promise<BuiltVersions> {
  const rows = planned.map((row) => ({ ...row, secondBase: zeroId }))
  return buildRows(context, snapshot, { rows, author })
}

/**
 * A merge of the snapshot's head with another head; neither descends from the other. The context's
 * epoch is that of the later keyring, its signer continues the newest record of both sides. Rows
 * ascend by memory id; there is one for each open memory (FORMAT §6.4).
 */
export async function buildMerge(
  context: CommitContext,
  snapshot: Snapshot,
  other: OtherParent,
  { rows: planned, author }: MergePlan,
): Promise<BuiltVersions> {
  const rows = inParentOrder(snapshot, other, planned)
  const built = await buildRows(context, snapshot, { rows, author, other })
  if (other.redacted.size === 0) return built
  const redacted = new Set([...snapshot.redacted, ...other.redacted])
  return { ...built, snapshot: built.snapshot.with({ redacted }) }
}

/** Orders the bases of each row as the parents: the smaller record hash first. */
function inParentOrder(
  { head }: Snapshot,
  other: OtherParent,
  rows: readonly MergeRow[],
): readonly MergeRow[] {
  if (compareBytes(head.record, other.head.record) < 0) return rows
  return rows.map((row) => {
    const { base, secondBase } = row
    return secondBase === zeroId ? row : { ...row, base: secondBase, secondBase: base }
  })
}

/**
 * Runs in time slices: a change of ten thousand memories is one commit. No other command runs
 * before it is done.
 */
async function buildRows(
  context: CommitContext,
  snapshot: Snapshot,
  { rows: planned, author, other }: MergePlan & { readonly other?: OtherParent | undefined },
): Promise<BuiltVersions> {
  const { details, rows } = await inSlices(newRows(context.random, planned, author))
  const { actor, session } = author
  const fields = {
    kind: 'change' as const,
    actor,
    session,
    rows,
  }
  const slice = new TimeSlice()
  const signed = signNext(context, snapshot, fields, other)
  const objects: NewObject[] = []
  const memories = new Map(other?.memories)
  for (const [index, row] of signed.record.rows.entries()) {
    if (slice.isOver()) await slice.next()
    const [plan, detail] = [planned[index], details[index]]
    assert(plan !== undefined && detail !== undefined, 'a row is planned and has a detail')
    memories.set(row.memoryId, await sealMemory(context, row, plan, detail.blinding, objects))
  }
  if (slice.isOver()) await slice.next()
  const encoded = encodeDetail(details)
  if (slice.isOver()) await slice.next()
  const detail = sealEnvelope(
    'detail',
    context.epoch.detail,
    detailContext(context.epoch, signed.hash),
    zeroHash,
    encoded,
  )
  if (slice.isOver()) await slice.next()
  const parts = { signed, detail, memories, objects, other }
  const built = await finish(context, snapshot, parts)
  return { ...built, versionIds: signed.record.rows.map(({ versionId }) => versionId) }
}

function bringKeyring(
  { bytes, directory, epoch, archived }: BroughtKeyring,
  { hash }: SignedRecord,
  objects: NewObject[],
): KeyringState {
  const { oid } = push(objects, newObject('blob', bytes))
  return { oid, record: hash, kid: epoch.kid, archived, directory }
}

interface Replaced {
  readonly keyring?: BroughtKeyring
  readonly settings?: { readonly bytes: Sealed; readonly value: SettingsState['value'] }
}

/** A commit that replaces keyring or settings and touches no memory (kinds 4 and 5). */
export async function buildAdministration(
  context: CommitContext,
  snapshot: Snapshot,
  fields: RecordFields,
  replaced: Replaced,
): Promise<BuiltCommit> {
  const signed = signNext(context, snapshot, { ...fields, ...hashesOf(replaced) })
  return bringBlobs(context, snapshot, signed, replaced)
}

function hashesOf({ keyring, settings }: Replaced): Partial<RecordFields> {
  return {
    ...(keyring && { keyringHash: hash256(keyring.bytes) }),
    ...(settings && { settingsHash: hash256(settings.bytes) }),
  }
}

async function bringBlobs(
  context: CommitContext,
  snapshot: Snapshot,
  signed: SignedRecord,
  replaced: Replaced,
): Promise<BuiltCommit> {
  const objects: NewObject[] = []
  const keyring = replaced.keyring && bringKeyring(replaced.keyring, signed, objects)
  let settings: SettingsState | undefined
  if (replaced.settings !== undefined) {
    const blob = push(objects, newObject('blob', replaced.settings.bytes))
    const { value } = replaced.settings
    const { height, time, kind } = signed.record
    const created = kind === 'genesis' ? time : snapshot.settings.created
    settings = { oid: blob.oid, value, record: signed.hash, height, updated: time, created }
  }
  const memories = new Map<string, CurrentVersion>()
  return finish(context, snapshot, { signed, memories, objects, keyring, settings })
}

/** A commit that names versions to erase (kind 3), made on the already rewritten history. */
export async function buildRedaction(
  context: CommitContext,
  snapshot: Snapshot,
  redacted: { readonly rows: readonly SignedRow[]; readonly reason: RedactReason },
  author: Author,
): Promise<BuiltCommit> {
  const { actor, session } = author
  const signed = signNext(context, snapshot, { kind: 'redact', actor, session, ...redacted })
  return finish(context, snapshot, { signed, memories: new Map(), objects: [] })
}

/** The rows of a commit of grants, and what it makes of them: throws where a rule is broken. */
export interface GrantsPlan {
  readonly rows: readonly GrantRow[]
  readonly apply: (record: ChangeRecord) => ReadonlyMap<string, GrantState | undefined>
}

/** A commit that begins and ends grants (kind 6). */
export async function buildGrants(
  context: CommitContext,
  snapshot: Snapshot,
  { rows, apply }: GrantsPlan,
  { actor, session }: Author,
): Promise<BuiltCommit> {
  const grants = rows.toSorted((a, b) => compareBytes(grantRowKey(a), grantRowKey(b)))
  const signed = signNext(context, snapshot, { kind: 'grants', actor, session, grants })
  const parts = { signed, memories: new Map(), objects: [], grants: apply(signed.record) }
  return finish(context, snapshot, parts)
}

/**
 * The first commit of a store (kind 1), whose record gives the store its id, with the public files
 * that every later tree keeps.
 */
export async function buildGenesis(
  nameless: Omit<CommitContext, 'storeId'>,
  keyring: BroughtKeyring,
  settings: Required<Replaced>['settings'],
  actor: Actor | undefined,
): Promise<{ readonly storeId: string; readonly built: BuiltCommit }> {
  const { directory, epoch } = keyring
  const none = { oid: '', record: zeroHash }
  const snapshot = Snapshot.of({
    head: beforeGenesis,
    keyring: { ...none, kid: epoch.kid, archived: [], directory },
    settings: { ...none, value: settings.value, height: -1, updated: 0, created: 0 },
  })
  const replaced = { keyring, settings }
  const fields = { kind: 'genesis', actor, directoryNumber: 0, ...hashesOf(replaced) } as const
  // Genesis names no memory or version, so that its record needs no id yet.
  const signed = signNext({ ...nameless, storeId: zeroId }, snapshot, fields)
  const storeId = storeIdOf(signed.hash)
  const built = await bringBlobs({ ...nameless, storeId }, snapshot, signed, replaced)
  const files = [readmeFile, storeFile(storeId)].map((file) => newObject('blob', file))
  return { storeId, built: { ...built, objects: [...files, ...built.objects] } }
}

interface NewCommitParts {
  readonly signed: SignedRecord
  readonly detail?: Sealed
  readonly memories: ReadonlyMap<string, CurrentVersion>
  readonly objects: NewObject[]
  readonly keyring?: KeyringState | undefined
  readonly settings?: SettingsState | undefined
  readonly other?: OtherParent | undefined
  readonly grants?: ReadonlyMap<string, GrantState | undefined>
}

async function sealMemory(
  context: CommitContext,
  { memoryId, versionId }: RecordRow,
  plan: PlannedRow,
  blinding: Uint8Array,
  objects: NewObject[],
): Promise<CurrentVersion> {
  const { operation, created, path, content, sha256, size } = plan
  if (content === undefined) return { versionId, operation, created, live: undefined }
  const plaintext = encodeMemoryBlob({ path, content, versionId, created, sha256: fromHex(sha256) })
  const ctx = memoryContext(context.epoch, memoryId)
  const { memory: keys } = context.epoch
  const sealing: Sealing = ['memory', keys, ctx, blinding, plaintext]
  const blob = push(objects, await newBlob(size > inlineBytesMax, sealing)).oid
  const { kid } = context.epoch
  const times = { created, updated: context.time }
  const live = { memoryId, versionId, path, size, sha256, blob, kid, ...times }
  return { versionId, operation, created, live }
}

type Sealing = Parameters<typeof sealEnvelope>

async function newBlob(isLarge: boolean, sealing: Sealing): Promise<NewObject> {
  if (!isLarge) return newObject('blob', sealEnvelope(...sealing))
  return { type: 'blob', ...(await sealInThread(...sealing)) }
}

/** Encodes the changed trees and the commit. */
async function finish(
  context: CommitContext,
  snapshot: Snapshot,
  parts: NewCommitParts,
): Promise<BuiltCommit> {
  const { signed, memories, objects, other } = parts
  const { record, hash } = signed
  const { head } = snapshot
  const parents = parentsOf(snapshot, other).map(({ commit }) => commit)
  await checkTree(context.storeId, snapshot)
  const devices = new Map([...(other?.devices ?? []), ...authorState(record, hash)])
  const keyring = parts.keyring ?? other?.keyring
  const settings = parts.settings ?? other?.settings
  const grants = parts.grants ?? other?.grants ?? new Map()
  const effect = { head, memories, devices, grants, keyring, settings }
  const next = await inSlices(snapshot.applying(effect))
  const tree = await inSlices(encodeRoot(context.storeId, next, objects))
  const commit = push(objects, newCommit(context, parts, tree, parents)).oid
  const after = { commit, record: hash, height: record.height, tree }
  const onto = other === undefined ? head.commit : undefined
  return { snapshot: next.with({ head: after }), onto, objects }
}

/** Throws `change_too_large`. */
function newCommit(
  context: CommitContext,
  { signed, detail }: NewCommitParts,
  tree: Oid,
  parents: readonly Oid[],
): NewObject {
  const { height } = signed.record
  const record = sealRecord(context, signed.bytes)
  const body = encodeCommit({ tree, parents, height, record, detail }, context.epoch.group)
  if (body.length > commitBytesMax) {
    throw new StoreError('change_too_large', 'The change is too large for one commit: split it', {
      details: { actual: body.length, limit: commitBytesMax },
    })
  }
  return newObject('commit', body)
}

/**
 * A wrong cache must not get into the history: its tree must be the head's. The memories next to a
 * change are compared when it is made.
 */
async function checkTree(storeId: string, snapshot: Snapshot): Promise<void> {
  if (!snapshot.isCached) return
  if ((await inSlices(encodeRoot(storeId, snapshot, []))) === snapshot.head.tree) return
  throw new StoreError(
    'tree_mismatch',
    'The cached state does not match the history; delete the folder gitlocket/cache and open again',
  )
}

function sealRecord(context: CommitContext, bytes: Uint8Array): Sealed {
  const ctx = recordContext(context.epoch)
  return sealEnvelope('record', context.epoch.record, ctx, zeroHash, bytes)
}

function push(objects: NewObject[], object: NewObject): NewObject {
  objects.push(object)
  return object
}
