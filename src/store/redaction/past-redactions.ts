// The redactions of a verified history, and their certificates issued again (FORMAT §10.1). What
// the record does not have, the ids of the erased objects, is in a sealed file of the device that
// redacted, one for each redaction. That file holds ids alone, is written before the branch moves,
// and is believed only if it is whole, of this device and of these records. Until the branch has
// moved, its name ends in `.pending`: the next redaction removes one whose redaction was not made.
// No other file is ever removed, not even of a redaction that a repair has dropped: another remote
// may bring it back.

import { toHex, utf8, utf8Text } from '../../bytes.ts'
import { loadSodium } from '../../crypto/sodium.ts'
import { targetOf } from '../../disk/disk.ts'
import { assert, StoreError } from '../../errors.ts'
import type { Actor, RedactReason } from '../../format/change-record.ts'
import { formatId } from '../../format/id.ts'
import { Bytes } from '../../platform/bytes.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import { readConsistently } from '../history/read-consistently.ts'
import { type CacheFiles, findParts, type PartedPlace, writeParts } from '../local/sealed-cache.ts'
import type { StoreSession } from '../session/session.ts'
import { checkHere } from './certificate-check.ts'
import {
  type RedactedVersion,
  type RedactionCertificate,
  signStatement,
  type Statement,
} from './certificate.ts'

/** A redaction as its records prove it, the ids in text form. */
export interface PastRedaction {
  /** The hash of its first record, 64 hex digits: it identifies the redaction for good. */
  readonly redaction: string
  /** The records, and their commits now, oldest first. */
  readonly records: readonly string[]
  readonly commits: readonly string[]
  /** ms since 1970. */
  readonly time: number
  readonly deviceId: string
  readonly actor: Actor
  readonly session: string | undefined
  readonly reason: RedactReason
  readonly versions: readonly RedactedVersion[]
  /** Whether the ids of the erased objects are known: it was made on this device. */
  readonly hasObjectIds: boolean
}

export interface IssuedCertificate {
  readonly certificate: RedactionCertificate
  /** `unknown`: not made on this device, or by an earlier release. `damaged`: see `doctor`. */
  readonly objectIds: 'known' | 'unknown' | 'damaged'
}

/** The contents of a sealed file. */
export interface ErasedObjects {
  readonly records: readonly string[]
  readonly oldHead: string
  readonly objectIds: readonly string[]
  readonly mayRepeat: readonly string[]
}

interface ErasedFile extends ErasedObjects {
  readonly version: 1
}

const PART_BYTES = 1 << 20

const PENDING = '.pending'

/** Durable. Call before the branch moves, under the writer lock. */
export async function keepErased(files: CacheFiles, erased: ErasedObjects): Promise<void> {
  const file: ErasedFile = { version: 1, ...erased }
  const { path, role } = placeOf(files, erased.records)
  await writeParts(files.owner, { path: path + PENDING, role }, partsOf(utf8(JSON.stringify(file))))
}

/** The branch has moved to the redaction with these records. */
export function settleErased(files: CacheFiles, records: readonly string[]): void {
  const { disk } = files.owner
  const { path } = placeOf(files, records)
  // Another process that redacts may have done it.
  if (disk.stat(path + PENDING) !== undefined) disk.rename(path + PENDING, path)
}

/**
 * Removes the files of redactions that were planned and not made, such as before a crash. Call
 * under the writer lock, with the whole history. Yields after each commit.
 */
export function* sweepErased(session: StoreSession, history: History): Generator<undefined, void> {
  const { owner, directory } = session.erasures
  const pending = new Set(
    owner.disk.list(directory).filter((name) => (targetOf(name) ?? name).endsWith(PENDING)),
  )
  if (pending.size === 0) return
  for (const commit of history.commits) {
    yield
    if (commit.kind !== 'redact') continue
    const record = recordOf(session, commit)
    if (!pending.delete(record + PENDING)) continue
    settleErased(session.erasures, [record])
  }
  for (const name of pending) owner.disk.remove(`${directory}/${name}`)
}

function* partsOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PART_BYTES) yield bytes.subarray(at, at + PART_BYTES)
}

function placeOf({ directory }: CacheFiles, [first]: readonly string[]): PartedPlace {
  assert(first !== undefined, 'a redaction has a record')
  return { path: `${directory}/${first}`, role: 'erased' }
}

/** Undefined without a file, and `damaged` for one that is not of this device and redaction. */
async function readErased(
  files: CacheFiles,
  records: readonly string[],
): Promise<ErasedObjects | 'damaged' | undefined> {
  const place = findPlace(files, records)
  if (place === undefined) return undefined
  const parts = await findParts(files.owner, place)
  if (parts === undefined) return 'damaged'
  // Authenticated as this device's: with this version it has the shape that we write.
  const file: ErasedFile = JSON.parse(utf8Text(Bytes.concat(parts)))
  if (file.version !== 1 || file.records.join() !== records.join()) return 'damaged'
  return file
}

/** Also of a redaction that was made by a process that died before it could settle the file. */
function findPlace(files: CacheFiles, records: readonly string[]): PartedPlace | undefined {
  const { path, role } = placeOf(files, records)
  const found = [path, path + PENDING].find((one) => files.owner.disk.stat(one) !== undefined)
  return found === undefined ? undefined : { path: found, role }
}

/** Newest first. */
export function listRedactions(session: StoreSession): Promise<readonly PastRedaction[]> {
  return readConsistently(session, (history) => findRedactions(session, history))
}

function* findRedactions(
  session: StoreSession,
  history: History,
): Generator<undefined, readonly PastRedaction[]> {
  const groups = yield* groupRecords(history.commits)
  return groups.toReversed().map((commits) => describe(session, history, commits))
}

/**
 * The redact records of each redaction, in their order: one of many versions has several, one on
 * the other and with the same author. Yields after each commit.
 */
export function* groupRecords(
  commits: Iterable<CommitEntry>,
): Generator<undefined, readonly (readonly CommitEntry[])[]> {
  const groups: CommitEntry[][] = []
  // By the record that would continue them. A device that was cloned may have two alike.
  const open = new Map<string, CommitEntry[][]>()
  for (const commit of commits) {
    if (commit.kind !== 'redact') continue
    const { height, time, deviceId, reason, session, actor } = commit
    const author = [time, deviceId, reason, session, actor?.type, actor?.id]
    const started = open.get(JSON.stringify([height, ...author]))?.pop()
    const group = started ?? []
    if (started === undefined) groups.push(group)
    group.push(commit)
    const next = JSON.stringify([height + 1, ...author])
    const alike = open.get(next)
    if (alike === undefined) open.set(next, [group])
    else alike.push(group)
    yield
  }
  return groups
}

/** The hash of its record, 64 hex digits. */
function recordOf({ contents, storeId, epochs }: StoreSession, { oid }: CommitEntry): string {
  return toHex(decodeCommit(storeId, epochs, oid, readCommitBytes(contents.objects, oid)).hash)
}

function describe(
  session: StoreSession,
  history: History,
  commits: readonly CommitEntry[],
): PastRedaction {
  const records = commits.map((commit) => recordOf(session, commit))
  const [first] = commits
  const [redaction] = records
  assert(first !== undefined && redaction !== undefined, 'a redaction has a record')
  const { time, deviceId, actor, reason } = first
  assert(actor !== undefined && reason !== undefined, 'a redact record has an actor and a reason')
  return {
    redaction,
    records,
    commits: commits.map(({ oid }) => oid),
    time,
    deviceId: formatId('device', deviceId),
    actor,
    session: first.session,
    reason,
    versions: commits.flatMap(({ redacts }) => redacts.map((id) => describeVersion(history, id))),
    hasObjectIds: findPlace(session.erasures, records) !== undefined,
  }
}

function describeVersion(history: History, versionId: string): RedactedVersion {
  const version = history.find(versionId)
  assert(version !== undefined, 'a redact record names versions of the history')
  const { memoryId, operation } = version
  return {
    memory_version_id: formatId('version', versionId),
    memory_id: formatId('memory', memoryId),
    operation,
  }
}

/**
 * The certificate of a redaction, by the hash of its first record: as it was issued first if this
 * device made it and has the object ids, else from the record alone. Throws `not_found`.
 */
export async function issueCertificate(
  session: StoreSession,
  redaction: string,
): Promise<IssuedCertificate> {
  await loadSodium()
  const found = (await listRedactions(session)).find((one) => one.redaction === redaction)
  if (found === undefined) throw new StoreError('not_found', 'There is no such redaction')
  const erased = await readErased(session.erasures, found.records)
  const isOwn = found.deviceId === formatId('device', session.identity.deviceId)
  const isKnown = isOwn && erased !== undefined && erased !== 'damaged'
  const statement = statementOf(session, found, isKnown ? erased : undefined)
  const certificate = signStatement(session.identity, statement)
  // Another redaction may have come in between, and the file may be of an older state.
  await checkHere(session, certificate)
  if (isKnown) return { certificate, objectIds: 'known' }
  return { certificate, objectIds: erased === 'damaged' ? 'damaged' : 'unknown' }
}

function statementOf(
  { storeId, identity }: StoreSession,
  found: PastRedaction,
  erased: ErasedObjects | undefined,
): Statement {
  const { records, commits, versions, deviceId } = found
  const newHead = commits.at(-1)
  assert(newHead !== undefined, 'a redaction has a record')
  return {
    type: erased === undefined ? 'gitlocket_redaction_record' : 'gitlocket_redaction',
    version: 1,
    store_id: formatId('store', storeId),
    reason: found.reason,
    redacted_at: new Date(found.time).toISOString(),
    actor: { type: found.actor.type, id: found.actor.id },
    session_id: found.session ?? null,
    device_id: deviceId,
    ...(erased === undefined ? { issued_by: formatId('device', identity.deviceId) } : {}),
    records,
    commits,
    old_head: erased?.oldHead ?? null,
    new_head: newHead,
    versions,
    may_repeat: erased?.mayRepeat ?? [],
    object_ids: erased?.objectIds ?? [],
  }
}
