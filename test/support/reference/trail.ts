// FORMAT §8, what an auditor can verify: commit bytes, group signatures, records and their links,
// members and their rights, device chains, keyrings, rows. What the content key opens is
// contents.ts. One walk from genesis to the head, parents first; the order of the checks is the
// document's.

import { activeBefore, type ActiveGrants } from './active-grants.ts'
import { openArchives } from './archives.ts'
import { fromHex, toHex } from './bytes.ts'
import { checkCanonical, checkGroupSignature, parseCommit, type ParsedCommit } from './commit.ts'
import { detailBytesMax } from './detail.ts'
import { type Author, type Directory, findAuthor, type LastRecord } from './directory.ts'
import { openDeterministic, readKid, recordContext, zeroHedge } from './envelope.ts'
import { checkGrantAuthor, checkGrantRows } from './grants.ts'
import { H } from './hash.ts'
import { storeIdOf } from './identity.ts'
import { decodeKeyring, openDirectory } from './keyring.ts'
import { auditKeys, type Epoch, groupSeed, recordHash } from './keys.ts'
import {
  Ancestry,
  type DeviceState,
  emptyPast,
  type JoinedPast,
  joinPasts,
  type KeyringState,
  type Past,
} from './pasts.ts'
import {
  type ChangeRecord,
  type DecodedRecord,
  decodeRecord,
  hasVersions,
  verifyRecordSignature,
  zeroHash,
} from './record.ts'
import { ensure, refuse } from './refusal.ts'
import type { Repository } from './repository.ts'
import {
  type AllMemories,
  applyChange,
  type NamedRow,
  nameRows,
  redactTargets,
  type VersionFact,
} from './rows.ts'
import { checkGenesisDirectory, checkNextDirectory } from './succession.ts'
import { decodeTree } from './tree.ts'

export interface TrailCommit {
  readonly oid: string
  readonly commit: ParsedCommit
  readonly record: ChangeRecord
  readonly recordHash: string
  /** Those of the record, with their ids. */
  readonly rows: readonly NamedRow[]
  /** The epoch under which record, detail and memories are sealed. */
  readonly epoch: Epoch
  readonly past: Past
}

/** A commit whose record is opened, and not yet checked against its past. */
type OpenedCommit = Omit<TrailCommit, 'past'>

export interface Trail {
  /** From genesis to the head. */
  readonly commits: readonly TrailCommit[]
  /** R of §8.1: version ids. */
  readonly redacted: ReadonlySet<string>
  readonly memories: AllMemories
  readonly directory: Directory
  readonly seed: string
}

export interface TrailKeys {
  readonly storeId: string
  /** That of the head's keyring; genesis shows whether it is the founder's. */
  readonly seed: string
  /** By kid: all that the head's keyring claims, tentative until the walk ends. */
  readonly epochs: ReadonlyMap<string, Epoch>
}

/** All ancestors of the head and itself, parents before children. */
function listCommits(repository: Repository): { oid: string; commit: ParsedCommit }[] {
  const commits = new Map<string, ParsedCommit>()
  const listed = new Set<string>()
  const waiting = [repository.head]
  for (let oid = waiting.at(-1); oid !== undefined; oid = waiting.at(-1)) {
    const commit = commits.get(oid) ?? parseCommit(repository.read('commit', oid))
    commits.set(oid, commit)
    const before = commit.parents.filter((parent) => !listed.has(parent))
    waiting.push(...before)
    if (before.length > 0) continue
    waiting.pop()
    listed.add(oid)
  }
  return [...listed].flatMap((oid) => {
    const commit = commits.get(oid)
    return commit === undefined ? [] : [{ oid, commit }]
  })
}

/** The holder of a grant is in no directory. */
type TrailAuthor = Author | { readonly as: 'grant'; readonly signingKey: Uint8Array }

/** What the walk has gathered. */
interface Walk {
  readonly commits: TrailCommit[]
  readonly byOid: Map<string, TrailCommit>
  readonly ancestry: Ancestry
  /** By record hash, the grants that are active after it. */
  readonly active: Map<string, ActiveGrants>
  readonly all: AllMemories
  readonly redacted: Set<string>
}

export function verifyTrail(repository: Repository, keys: TrailKeys): Trail {
  const all = { versions: new Map<string, VersionFact>(), created: new Map<string, number>() }
  const maps = { byOid: new Map(), active: new Map<string, ActiveGrants>() }
  const gathered = { commits: [], ...maps, redacted: new Set<string>() }
  const walk: Walk = { ...gathered, ancestry: new Ancestry(), all }
  const hashes = new Set<string>()
  for (const { oid, commit } of listCommits(repository)) {
    const { epoch, opened } = openRecord(repository.read('commit', oid), commit, keys)
    const hash = recordHash(keys.seed, opened.body, opened.signature)
    ensure(!hashes.has(hash), 'duplicate_record', 'One record is in two commits')
    hashes.add(hash)
    const { record } = opened
    const rows = nameRows(keys.storeId, hash, record)
    const bare = { oid, commit, record, recordHash: hash, rows, epoch }
    const at = { ...bare, past: verifyRecord(repository, keys, walk, { ...bare, opened }) }
    walk.commits.push(at)
    walk.byOid.set(oid, at)
    const brings = record.keyringHash !== zeroHash
    walk.ancestry.add(hash, record, brings ? at.past.keyring?.directory : undefined)
  }
  const directory = walk.commits.at(-1)?.past.keyring?.directory
  if (directory === undefined) return refuse('commit_malformed', 'There is no commit')
  const { commits, redacted } = walk
  return { commits, redacted, memories: all, directory, seed: keys.seed }
}

/** Checks one record against the state after its parents; returns the state after it. */
function verifyRecord(
  repository: Repository,
  keys: TrailKeys,
  walk: Walk,
  at: OpenedCommit & { readonly opened: DecodedRecord },
): Past {
  const { record, recordHash: hash, rows, oid } = at
  const parents = at.commit.parents.flatMap((parent) => walk.byOid.get(parent) ?? [])
  checkPlace(at.commit, record, parents, walk.commits.length === 0)
  const { past: before, open, needsOwner } = joinedPast(parents, walk)
  checkKeyringLink(record, at.epoch, before.keyring)
  // The founder is looked up in the directory that genesis itself brings.
  let keyring = before.keyring ?? readKeyring(repository, keys, at, undefined)
  const author = checkAuthor(record, walk, keyring.directory)
  const device = before.devices.get(record.deviceId)
  ensure(device?.forked !== true, 'device_forked', 'The author is a device with two machines')
  verifyRecordSignature(keys.seed, at.opened, author.signingKey)
  const state = checkDeviceChain(device, record, author, hash)
  const isOwner = author.as === 'device' && author.role === 'owner'
  ensure(isOwner || !needsOwner, 'merge_needs_owner', 'Only an owner may merge these two')
  if (record.kind === 'keyring' && author.as !== 'grant') {
    const next = readKeyring(repository, keys, at, keyring)
    const sameEpoch = next.epoch.kid === keyring.epoch.kid
    const how = { seed: keys.seed, author, sameEpoch, lastRecord: lastRecordIn(before) }
    checkNextDirectory(keyring.directory, next.directory, how)
    keyring = next
  }
  if (record.kind === 'redact') addRedacted(walk, before, at)
  const current = hasVersions(record)
    ? applyChange(walk.all, before.current, open, { hash, time: record.time, rows })
    : before.current
  const brings = record.settingsHash !== zeroHash
  const settings = brings
    ? { height: record.height, recordHash: hash, commit: oid }
    : before.settings
  const devices = state ? new Map([...before.devices, [record.deviceId, state]]) : before.devices
  if (record.kind === 'grants') {
    checkGrantRows(activeAt(record, walk), record, keyring.directory)
  }
  return { current, devices, keyring, settings }
}

/** The entry in a directory of a device that is removed now. */
function lastRecordIn({ devices }: Past): (deviceId: string) => LastRecord {
  return (deviceId) => {
    const device = devices.get(deviceId)
    if (device === undefined || device.forked) return { sequence: 0, record: zeroHash }
    return { sequence: device.sequence, record: device.hash }
  }
}

/** Adds the versions that a redact record names to those of the walk. */
function addRedacted(
  { all, ancestry, redacted }: Walk,
  before: Past,
  { record, rows }: OpenedCommit,
): void {
  const isInPast = (each: string) => record.parents.some((p) => ancestry.isWithin(each, p))
  for (const id of redactTargets(all.versions, before.current, rows, isInPast)) {
    redacted.add(id)
  }
}

function joinedPast(parents: readonly TrailCommit[], { all, ancestry }: Walk): JoinedPast {
  const [first, second] = parents.map(({ recordHash: hash, past }) => ({ hash, past }))
  const alone = { open: new Map(), needsOwner: false }
  if (first === undefined) return { past: emptyPast, ...alone }
  if (second === undefined) return { past: first.past, ...alone }
  return joinPasts(first, second, all.versions, ancestry)
}

/** Canonical bytes, group signature, envelope, salt, record. */
function openRecord(
  bytes: Uint8Array,
  commit: ParsedCommit,
  { seed, epochs }: TrailKeys,
): { epoch: Epoch; opened: DecodedRecord } {
  checkCanonical(bytes, commit)
  const kid = readKid('record', commit.record)
  const epoch = epochs.get(kid) ?? refuse('envelope_epoch', 'A record has an unknown kid')
  checkGroupSignature(commit, groupSeed(epoch))
  const [keys, context] = [auditKeys(epoch, 'record'), recordContext(seed)]
  const padded = openDeterministic('record', keys, context, zeroHedge, commit.record)
  const opened = decodeRecord(padded)
  const detailMax = detailBytesMax(opened.record.rows.length)
  ensure((commit.detail?.length ?? 0) <= detailMax, 'commit_too_large', 'The detail is too large')
  const right = (commit.detail !== undefined) === hasVersions(opened.record)
  ensure(right, 'commit_malformed', 'A detail belongs to rows of versions')
  return { epoch, opened }
}

/** Parents and height. */
function checkPlace(
  commit: ParsedCommit,
  record: ChangeRecord,
  parents: readonly TrailCommit[],
  isFirst: boolean,
): void {
  const right = record.parents.join() === parents.map((parent) => parent.recordHash).join()
  ensure(right, 'record_parents', 'The record names other parents than the commit')
  ensure(isFirst === (parents.length === 0), 'record_parents', 'There is one genesis')
  const height = Math.max(-1, ...parents.map((parent) => parent.record.height)) + 1
  const both = record.height === height && commit.height === height
  ensure(both, 'record_height', 'The height is not the parent’s and one')
}

/** The newest keyring record in the past, and its kid; undefined for genesis. */
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

/** The keyring that a genesis or keyring commit brings; `before` is the one in force so far. */
function readKeyring(
  repository: Repository,
  { storeId, seed, epochs }: TrailKeys,
  { oid, commit, record, recordHash: hash, epoch: recordEpoch }: OpenedCommit,
  before: KeyringState | undefined,
): KeyringState {
  const bytes = readRootBlob(repository, commit.tree, 'keyring')
  const named = toHex(H(bytes)) === record.keyringHash
  ensure(named, 'keyring_mismatch', 'The record names another keyring')
  const keyring = decodeKeyring(bytes)
  ensure(keyring.seed === seed, 'store_seed_mismatch', 'The keyring is another store’s')
  const epoch = epochs.get(keyring.kid) ?? refuse('keyring_chain', 'A keyring’s epoch is unknown')
  const directory = openDirectory(keyring, epoch)
  const numbered = directory.number === record.directoryNumber
  ensure(numbered, 'keyring_mismatch', 'The record names another directory number')
  const older = new Set(before?.kids)
  const kids = [...[...older].filter((kid) => kid !== epoch.kid), epoch.kid]
  const archived = openArchives(keyring, epoch).map((one) => one.kid)
  const complete = [...archived, epoch.kid].join() === kids.join()
  ensure(complete, 'keyring_chain', 'The archives do not hold every epoch before this one')
  if (before === undefined) {
    ensure(recordEpoch.kid === epoch.kid, 'record_epoch', 'Genesis is sealed under its own kid')
    checkGenesisDirectory(seed, directory)
    ensure(storeIdOf(hash) === storeId, 'store_id_mismatch', 'Another genesis has this id')
  } else {
    const last = !older.has(epoch.kid) || epoch.kid === before.epoch.kid
    ensure(last, 'keyring_chain', 'An older epoch returned')
  }
  return { directory, epoch, kids, recordHash: hash, commit: oid }
}

/** A blob at the top of a commit's tree. */
export function readRootBlob(repository: Repository, tree: string, name: string): Uint8Array {
  const entries = decodeTree(repository.read('tree', tree))
  const entry = entries.find((e) => e.name === name && e.mode === '100644')
  if (entry === undefined) return refuse('tree_mismatch', 'A file of the store is missing')
  return repository.read('blob', entry.oid)
}

/** Active, with a role that may write this kind. */
function checkAuthor(record: ChangeRecord, walk: Walk, directory: Directory): TrailAuthor {
  const author = findAuthor(directory, record.deviceId)
  if (author === undefined) {
    const { key } = checkGrantAuthor(record, activeAt(record, walk))
    return { as: 'grant', signingKey: fromHex(key) }
  }
  if (author.as === 'recovery') {
    ensure(record.kind === 'keyring', 'record_role', 'A recovery identity writes keyrings only')
    return author
  }
  const ofWriters = record.kind === 'change' || record.kind === 'grants'
  const writes = author.role === 'owner' || (author.role === 'writer' && ofWriters)
  ensure(writes, 'record_role', 'The author’s role does not allow this kind')
  return author
}

/** The grants that are active in the causal past of a record. */
function activeAt({ parents }: ChangeRecord, { ancestry, active }: Walk): ActiveGrants {
  return activeBefore(ancestry.grants, parents, active)
}

/**
 * Sequence number and previous record of one device; recovery identities are exempt. Returns the
 * state after the record.
 */
function checkDeviceChain(
  device: DeviceState | undefined,
  record: ChangeRecord,
  author: TrailAuthor,
  hash: string,
): DeviceState | undefined {
  const { sequence, previous } = record
  if (author.as !== 'device') {
    ensure(sequence === 0, 'record_sequence', 'A recovery identity uses sequence 0')
    ensure(previous === zeroHash, 'record_chain', 'A recovery identity has no chain')
    return undefined
  }
  const before = device ?? { sequence: 0, hash: zeroHash }
  ensure(sequence > before.sequence, 'record_sequence', 'The sequence number does not grow')
  ensure(previous === before.hash, 'record_chain', 'The device’s previous record is another')
  return { sequence, hash, forked: false }
}
