// FORMAT §8, what an auditor can verify: commit bytes, group signatures, records and their links,
// members and their rights, device chains, keyrings, rows. What the content key opens is
// contents.ts. One straight walk from genesis to the head; the order of the checks is the
// document's.

import { toHex } from './bytes.ts'
import { checkCanonical, checkGroupSignature, parseCommit, type ParsedCommit } from './commit.ts'
import {
  type Author,
  checkGenesisDirectory,
  checkNextDirectory,
  type Directory,
  findAuthor,
} from './directory.ts'
import { openDeterministic, readKid, recordContext, zeroHedge } from './envelope.ts'
import { H } from './hash.ts'
import { decodeKeyring, openArchives, openDirectory } from './keyring.ts'
import { auditKeys, type Epoch, groupSeed, recordHash } from './keys.ts'
import {
  type ChangeRecord,
  type DecodedRecord,
  decodeRecord,
  verifyRecordSignature,
  zeroHash,
} from './record.ts'
import { ensure, refuse } from './refusal.ts'
import type { Repository } from './repository.ts'
import { applyChange, emptyState, type MemoryState, redactTargets } from './rows.ts'
import { decodeTree } from './tree.ts'

export interface TrailCommit {
  readonly oid: string
  readonly commit: ParsedCommit
  readonly record: ChangeRecord
  readonly recordHash: string
  /** The epoch under which record, detail and memories are sealed. */
  readonly epoch: Epoch
}

export interface Trail {
  /** From genesis to the head. */
  readonly commits: readonly TrailCommit[]
  /** R of §8.1: version ids. */
  readonly redacted: ReadonlySet<string>
  readonly memories: MemoryState
  readonly directory: Directory
}

interface DeviceState {
  readonly sequence: number
  readonly hash: string
  readonly time: number
}

interface KeyringState {
  readonly directory: Directory
  readonly epoch: Epoch
  /** kids, oldest first, the current one last. */
  readonly kids: readonly string[]
  /** The hash of the newest keyring record. */
  readonly recordHash: string
}

export interface TrailKeys {
  readonly storeId: string
  /** By kid: all that the head's keyring claims, tentative until the walk ends. */
  readonly epochs: ReadonlyMap<string, Epoch>
}

/** The commits from genesis to the head by first parents; two parents are reserved. */
function listCommits(repository: Repository): { oid: string; commit: ParsedCommit }[] {
  const commits: { oid: string; commit: ParsedCommit }[] = []
  for (let oid: string | undefined = repository.head; oid !== undefined;) {
    const commit = parseCommit(repository.read('commit', oid))
    ensure(commit.parents.length < 2, 'upgrade_required', 'Merges are not part of this version')
    commits.push({ oid, commit })
    oid = commit.parents[0]
  }
  return commits.toReversed()
}

export function verifyTrail(repository: Repository, keys: TrailKeys): Trail {
  const { storeId } = keys
  const commits: TrailCommit[] = []
  const hashes = new Set<string>()
  const redacted = new Set<string>()
  const memories = emptyState()
  const devices = new Map<string, DeviceState>()
  let keyring: KeyringState | undefined
  for (const { oid, commit } of listCommits(repository)) {
    const { epoch, opened } = openRecord(repository.read('commit', oid), commit, keys)
    const { record } = opened
    const hash = recordHash(storeId, opened.body, opened.signature)
    ensure(!hashes.has(hash), 'duplicate_record', 'One record is in two commits')
    hashes.add(hash)
    checkPlace(commit, record, commits.at(-1))
    checkKeyringLink(record, epoch, keyring)
    const at = { commit, record, hash, epoch }
    // The founder is the one author who is looked up in the directory that the record brings.
    keyring ??= readKeyring(repository, keys, at, undefined)
    const author = checkAuthor(record, keyring.directory)
    verifyRecordSignature(storeId, opened, author.signingKey)
    checkDeviceChain(devices, record, author, hash)
    if (record.kind === 'keyring') {
      const next = readKeyring(repository, keys, at, keyring)
      const sameEpoch = next.epoch.kid === keyring.epoch.kid
      checkNextDirectory(keyring.directory, next.directory, { storeId, author, sameEpoch })
      keyring = next
    }
    if (record.kind === 'change') applyChange(memories, record.rows, record.time)
    for (const id of record.kind === 'redact' ? redactTargets(memories, record.rows) : []) {
      redacted.add(id)
    }
    commits.push({ oid, commit, record, recordHash: hash, epoch })
  }
  if (keyring === undefined) return refuse('commit_malformed', 'There is no commit')
  return { commits, redacted, memories, directory: keyring.directory }
}

/** Canonical bytes, group signature, envelope, salt, record. */
function openRecord(
  bytes: Uint8Array,
  commit: ParsedCommit,
  { storeId, epochs }: TrailKeys,
): { epoch: Epoch; opened: DecodedRecord } {
  checkCanonical(bytes, commit)
  const kid = readKid('record', commit.record)
  const epoch = epochs.get(kid) ?? refuse('envelope_epoch', 'A record has an unknown kid')
  checkGroupSignature(commit, groupSeed(epoch))
  const [keys, context] = [auditKeys(epoch, 'record'), recordContext(storeId)]
  const padded = openDeterministic('record', keys, context, zeroHedge, commit.record)
  const opened = decodeRecord(padded)
  const { kind, parents } = opened.record
  ensure(parents.length < 2, 'upgrade_required', 'Merges are not part of this version')
  const right = (commit.detail !== undefined) === (kind === 'change')
  ensure(right, 'commit_malformed', 'A detail belongs to change commits')
  return { epoch, opened }
}

/** Parents and height. */
function checkPlace(
  commit: ParsedCommit,
  record: ChangeRecord,
  parent: TrailCommit | undefined,
): void {
  const right = record.parents.join() === (parent?.recordHash ?? '')
  ensure(right, 'record_parents', 'The record names other parents than the commit')
  const height = parent === undefined ? 0 : parent.record.height + 1
  const both = record.height === height && commit.height === height
  ensure(both, 'record_height', 'The height is not the parent’s and one')
}

/** The newest keyring record in the past, and its kid. Genesis has none. */
function checkKeyringLink(
  record: ChangeRecord,
  epoch: Epoch,
  keyring: KeyringState | undefined,
): void {
  const newest = keyring?.recordHash ?? zeroHash
  ensure(record.keyring === newest, 'record_keyring', 'The record names another keyring record')
  const current = keyring === undefined || epoch.kid === keyring.epoch.kid
  ensure(current, 'record_epoch', 'The record is sealed under another epoch')
}

interface KeyringCommit {
  readonly commit: ParsedCommit
  readonly record: ChangeRecord
  readonly hash: string
  readonly epoch: Epoch
}

/** The keyring that a genesis or keyring commit brings; `before` is the one in force so far. */
function readKeyring(
  repository: Repository,
  { storeId, epochs }: TrailKeys,
  { commit, record, hash, epoch: recordEpoch }: KeyringCommit,
  before: KeyringState | undefined,
): KeyringState {
  const bytes = readRootBlob(repository, commit.tree, 'keyring')
  const named = toHex(H(bytes)) === record.keyringHash
  ensure(named, 'keyring_mismatch', 'The record names another keyring')
  const keyring = decodeKeyring(bytes)
  ensure(keyring.storeId === storeId, 'store_id_mismatch', 'The keyring is another store’s')
  const epoch = epochs.get(keyring.kid) ?? refuse('keyring_chain', 'A keyring’s epoch is unknown')
  const directory = openDirectory(keyring, epoch)
  const numbered = directory.number === record.directoryNumber
  ensure(numbered, 'keyring_mismatch', 'The record names another directory number')
  const kids = [...(before?.kids ?? []).filter((kid) => kid !== epoch.kid), epoch.kid]
  const archived = openArchives(keyring, epoch).map((older) => older.kid)
  const complete = [...archived, epoch.kid].join() === kids.join()
  ensure(complete, 'keyring_chain', 'The archives do not hold every epoch before this one')
  if (before === undefined) {
    ensure(recordEpoch.kid === epoch.kid, 'record_epoch', 'Genesis is sealed under its own kid')
    checkGenesisDirectory(storeId, directory)
  } else {
    const last = kids.length > before.kids.length || epoch.kid === before.epoch.kid
    ensure(last, 'keyring_chain', 'An older epoch returned')
  }
  return { directory, epoch, kids, recordHash: hash }
}

/** A blob at the top of a commit's tree. */
export function readRootBlob(repository: Repository, tree: string, name: string): Uint8Array {
  const entries = decodeTree(repository.read('tree', tree))
  const entry = entries.find((e) => e.name === name && e.mode === '100644')
  if (entry === undefined) return refuse('tree_mismatch', 'A file of the store is missing')
  return repository.read('blob', entry.oid)
}

/** Active, with a role that may write this kind. */
function checkAuthor(record: ChangeRecord, directory: Directory): Author {
  const author = findAuthor(directory, record.deviceId)
  if (author === undefined) return refuse('record_device', 'The author is no active member')
  if (author.as === 'recovery') {
    ensure(record.kind === 'keyring', 'record_role', 'A recovery identity writes keyrings only')
    return author
  }
  const writes = author.role === 'owner' || (author.role === 'writer' && record.kind === 'change')
  ensure(writes, 'record_role', 'The author’s role does not allow this kind')
  return author
}

/** Sequence number, previous record and time of one device; recovery identities are exempt. */
function checkDeviceChain(
  devices: Map<string, DeviceState>,
  record: ChangeRecord,
  author: Author,
  hash: string,
): void {
  const { deviceId, sequence, previous, time } = record
  if (author.as === 'recovery') {
    ensure(sequence === 0, 'record_sequence', 'A recovery identity uses sequence 0')
    ensure(previous === zeroHash, 'record_chain', 'A recovery identity has no chain')
    return
  }
  const before = devices.get(deviceId) ?? { sequence: 0, hash: zeroHash, time: 0 }
  ensure(sequence > before.sequence, 'record_sequence', 'The sequence number does not grow')
  ensure(previous === before.hash, 'record_chain', 'The device’s previous record is another')
  ensure(time >= before.time, 'record_time', 'The device’s time goes back')
  devices.set(deviceId, { sequence, hash, time })
}
