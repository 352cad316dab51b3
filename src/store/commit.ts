// Builds the git objects of one commit from a plan: seals blobs, detail and record, signs, encodes
// trees (FORMAT §5, §6). Moves the snapshot, writes nothing to disk. The life of a write passes
// through here between planning (changes.ts) and the object store (writer.ts).

import { fromHex } from '../bytes.ts'
import type { Sealed } from '../bytes.ts'
import { hash256 } from '../crypto/digest.ts'
import type { Random } from '../crypto/random.ts'
import type { SigningKeyPair } from '../crypto/signature.ts'
import { StoreError } from '../errors.ts'
import { encodeCommit } from '../format/commit.ts'
import { detailCommitment, encodeDetail } from '../format/detail.ts'
import type { DetailRow } from '../format/detail.ts'
import { detailContext, memoryContext, recordContext, sealEnvelope } from '../format/envelope.ts'
import { encodeMemoryBlob } from '../format/memory-blob.ts'
import { readmeFile, storeFile } from '../format/public-files.ts'
import { recordHash, signRecord, zeroHash, zeroId } from '../format/record.ts'
import type { Actor, ChangeRecord, RecordRow, RedactReason } from '../format/record.ts'
import { encodeTree, newObject } from '../git/object.ts'
import type { NewObject, Oid, TreeEntry } from '../git/object.ts'
import type { EpochKeys } from '../keys/epoch.ts'
import { commitBytesMax } from '../limits.ts'
import type { PlannedRow } from './changes.ts'
import { beforeGenesis, Snapshot } from './snapshot.ts'
import type { CurrentVersion, Head, KeyringState, SettingsState } from './snapshot.ts'
import type { Undo } from './snapshot.ts'

/** Who asked for a change, and why. */
export interface Author {
  readonly actor: Actor
  readonly session?: string | undefined
  /** Free text of at most 4,096 bytes, stored encrypted and removed with a redaction. */
  readonly reason?: string | undefined
}

/** The device that signs. `sequence` is the number of the record to be made. */
export interface Signer {
  readonly deviceId: string
  readonly pair: SigningKeyPair
  readonly sequence: number
  readonly previous: Uint8Array
}

export interface CommitContext {
  readonly storeId: string
  readonly epoch: EpochKeys
  readonly signer: Signer
  readonly time: number
  readonly random: Random
}

/** The objects of a commit. The snapshot has moved to it; `undo` moves it back. */
export interface BuiltCommit {
  readonly head: Head
  readonly objects: readonly NewObject[]
  /** Objects that the commit erases (FORMAT §10). */
  readonly dead?: ReadonlySet<Oid>
  readonly undo: Undo
}

/** The fields that a kind fills; the rest of a record follows from the snapshot and the context. */
export type RecordFields = Pick<ChangeRecord, 'kind'> &
  Partial<
    Pick<
      ChangeRecord,
      'actor' | 'session' | 'reason' | 'directoryNumber' | 'keyringHash' | 'settingsHash' | 'rows'
    >
  >

/** A change of memories: one version row each (FORMAT §6.1, kind 2). */
export function buildChange(
  context: CommitContext,
  snapshot: Snapshot,
  planned: readonly PlannedRow[],
  author: Author,
): BuiltCommit {
  const details = planned.map((row, index) => newDetail(context.random, row, index, author))
  const rows = planned.map((row, index) => recordRow(row, details[index]))
  const signed = sign(context, snapshot, {
    kind: 'change',
    actor: author.actor,
    session: author.session,
    rows,
  })
  const objects: NewObject[] = []
  const memories = new Map<string, CurrentVersion>()
  planned.forEach((row, index) => {
    const version = sealMemory(context, row, details[index]?.blinding ?? zeroHash, objects)
    memories.set(row.memoryId, version)
  })
  const detail = sealEnvelope(
    'detail',
    context.epoch.detail,
    detailContext(context.storeId, signed.hash),
    zeroHash,
    encodeDetail(details),
  )
  return finish(context, snapshot, { signed, detail, memories, objects })
}

/** A commit that replaces keyring or settings and touches no memory (kinds 4 and 5). */
export function buildAdministration(
  context: CommitContext,
  snapshot: Snapshot,
  fields: RecordFields,
  replaced: {
    readonly keyring?: {
      readonly bytes: Sealed
      readonly state: Omit<KeyringState, 'oid' | 'record'>
    }
    readonly settings?: { readonly bytes: Sealed; readonly value: SettingsState['value'] }
  },
): BuiltCommit {
  const objects: NewObject[] = []
  const signed = sign(context, snapshot, {
    ...fields,
    ...(replaced.keyring && { keyringHash: hash256(replaced.keyring.bytes) }),
    ...(replaced.settings && { settingsHash: hash256(replaced.settings.bytes) }),
  })
  let keyring: KeyringState | undefined
  let settings: SettingsState | undefined
  if (replaced.keyring !== undefined) {
    const blob = push(objects, newObject('blob', replaced.keyring.bytes))
    keyring = { ...replaced.keyring.state, oid: blob.oid, record: signed.hash }
  }
  if (replaced.settings !== undefined) {
    const blob = push(objects, newObject('blob', replaced.settings.bytes))
    settings = { oid: blob.oid, value: replaced.settings.value }
  }
  const memories = new Map<string, CurrentVersion>()
  return finish(context, snapshot, { signed, memories, objects, keyring, settings })
}

/** A commit that names versions to erase (kind 3); what it erases must be gone by then. */
export function buildRedaction(
  context: CommitContext,
  snapshot: Snapshot,
  redacted: { readonly rows: readonly RecordRow[]; readonly reason: RedactReason },
  author: Author,
): BuiltCommit {
  const { actor, session } = author
  const signed = sign(context, snapshot, { kind: 'redact', actor, session, ...redacted })
  return finish(context, snapshot, { signed, memories: new Map(), objects: [] })
}

/** The first commit of a store (kind 1), with the public files that every later tree keeps. */
export function buildGenesis(
  context: CommitContext,
  keyring: { readonly bytes: Sealed; readonly state: Omit<KeyringState, 'oid' | 'record'> },
  settings: { readonly bytes: Sealed; readonly value: SettingsState['value'] },
  actor: Actor | undefined,
): { readonly built: BuiltCommit; readonly snapshot: Snapshot } {
  const snapshot = new Snapshot(
    beforeGenesis,
    { ...keyring.state, oid: '', record: zeroHash },
    { oid: '', value: settings.value },
  )
  const fields = { kind: 'genesis', actor, directoryNumber: 0 } as const
  const built = buildAdministration(context, snapshot, fields, { keyring, settings })
  const files = [readmeFile, storeFile(context.storeId)].map((file) => newObject('blob', file))
  return { built: { ...built, objects: [...files, ...built.objects] }, snapshot }
}

/** The entries of the root tree (FORMAT §2), in git's order. */
function rootTree(storeId: string, parts: RootParts): readonly TreeEntry[] {
  const entries: TreeEntry[] = [
    { mode: '100644', name: 'README.md', oid: newObject('blob', readmeFile).oid },
    { mode: '100644', name: 'keyring', oid: parts.keyring },
  ]
  if (parts.memories !== undefined) entries.push({ mode: '40000', name: 'm', oid: parts.memories })
  entries.push({ mode: '100644', name: 'settings', oid: parts.settings })
  entries.push({ mode: '100644', name: 'store.json', oid: storeFileOid(storeId) })
  return entries
}

export interface RootParts {
  readonly keyring: Oid
  readonly settings: Oid
  readonly memories: Oid | undefined
}

interface SignedRecord {
  readonly record: ChangeRecord
  readonly bytes: Uint8Array
  readonly hash: Uint8Array
}

interface Parts {
  readonly signed: SignedRecord
  readonly detail?: Sealed
  readonly memories: ReadonlyMap<string, CurrentVersion>
  readonly objects: NewObject[]
  readonly keyring?: KeyringState | undefined
  readonly settings?: SettingsState | undefined
}

function newDetail(random: Random, row: PlannedRow, index: number, author: Author): DetailRow {
  const deleted = row.content === undefined
  return {
    row: index,
    path: row.path,
    note: index === 0 ? (author.reason ?? '') : '',
    size: row.size,
    sha256: deleted ? zeroHash : fromHex(row.sha256),
    blinding: random(32),
  }
}

function recordRow(row: PlannedRow, detail: DetailRow | undefined): RecordRow {
  const { memoryId, versionId, base, operation } = row
  const commitment = detail === undefined ? zeroHash : detailCommitment(detail.blinding, detail)
  return { memoryId, versionId, base, secondBase: zeroId, operation, commitment }
}

function sign(context: CommitContext, snapshot: Snapshot, fields: RecordFields): SignedRecord {
  const { storeId, signer } = context
  const { head } = snapshot
  const record: ChangeRecord = {
    actor: undefined,
    session: undefined,
    reason: undefined,
    directoryNumber: 0,
    keyringHash: zeroHash,
    settingsHash: zeroHash,
    rows: [],
    ...fields,
    height: head.height + 1,
    deviceId: signer.deviceId,
    sequence: signer.sequence,
    previous: signer.previous,
    keyring: snapshot.keyring.record,
    parents: head === beforeGenesis ? [] : [head.record],
    time: context.time,
  }
  const bytes = signRecord(storeId, record, signer.pair)
  return { record, bytes, hash: recordHash(storeId, bytes) }
}

function sealMemory(
  context: CommitContext,
  row: PlannedRow,
  blinding: Uint8Array,
  objects: NewObject[],
): CurrentVersion {
  const { memoryId, versionId, operation, created, path, content, sha256, size } = row
  if (content === undefined) return { versionId, operation, created, live: undefined }
  const plaintext = encodeMemoryBlob({ path, content, versionId, created, sha256: fromHex(sha256) })
  const ctx = memoryContext(context.storeId, memoryId)
  const sealed = sealEnvelope('memory', context.epoch.memory, ctx, blinding, plaintext)
  const blob = push(objects, newObject('blob', sealed)).oid
  const { kid } = context.epoch
  const times = { created, updated: context.time }
  const live = { memoryId, versionId, path, size, sha256, blob, kid, ...times }
  return { versionId, operation, created, live }
}

/** Moves the snapshot, then encodes the trees that changed and the commit. */
function finish(context: CommitContext, snapshot: Snapshot, parts: Parts): BuiltCommit {
  const { signed, memories, objects, keyring, settings } = parts
  const { record, hash } = signed
  const before = snapshot.head
  checkTree(context.storeId, snapshot)
  // Recovery identities use sequence 0 and have no chain (FORMAT §7).
  const state = { sequence: record.sequence, record: hash, time: record.time }
  const device = record.sequence === 0 ? undefined : { id: record.deviceId, state }
  const undo = snapshot.apply({ head: before, memories, device, keyring, settings })
  try {
    const tree = encodeRoot(context.storeId, snapshot, objects)
    const body = encodeCommit(
      {
        tree,
        parents: before === beforeGenesis ? [] : [before.commit],
        height: record.height,
        record: sealRecord(context, signed.bytes),
        detail: parts.detail,
      },
      context.epoch.group,
    )
    if (body.length > commitBytesMax) {
      throw new StoreError('change_too_large', 'The change is too large for one commit: split it', {
        details: { actual: body.length, limit: commitBytesMax },
      })
    }
    const commit = push(objects, newObject('commit', body)).oid
    snapshot.head = { commit, record: hash, height: record.height, tree }
    return { head: snapshot.head, objects, undo }
  } catch (error) {
    undo()
    throw error
  }
}

/**
 * A cached snapshot makes its radix tree only now. That it hashes to the head's tree keeps whatever
 * may be wrong with a cache out of the history.
 */
function checkTree(storeId: string, snapshot: Snapshot): void {
  if (snapshot.hasTree || snapshot.head === beforeGenesis) return
  if (encodeRoot(storeId, snapshot, []) === snapshot.head.tree) return
  throw new StoreError(
    'tree_mismatch',
    'The cached state does not fit the history; delete the folder gitlocket/cache and open again',
  )
}

function sealRecord(context: CommitContext, bytes: Uint8Array): Sealed {
  const ctx = recordContext(context.storeId)
  return sealEnvelope('record', context.epoch.record, ctx, zeroHash, bytes)
}

/** Writes the trees that changed to `into` and returns the root tree's oid. */
export function encodeRoot(storeId: string, snapshot: Snapshot, into: NewObject[]): Oid {
  const memories = snapshot.tree.encode(into)
  const { keyring, settings } = snapshot
  const entries = rootTree(storeId, { keyring: keyring.oid, settings: settings.oid, memories })
  return push(into, newObject('tree', encodeTree(entries))).oid
}

function push(objects: NewObject[], object: NewObject): NewObject {
  objects.push(object)
  return object
}

const storeFileOids = new Map<string, Oid>()

function storeFileOid(storeId: string): Oid {
  let oid = storeFileOids.get(storeId)
  if (oid === undefined) {
    oid = newObject('blob', storeFile(storeId)).oid
    storeFileOids.set(storeId, oid)
  }
  return oid
}
