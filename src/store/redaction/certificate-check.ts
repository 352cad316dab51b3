// Compares a certificate with a verified history, of a member or an auditor (FORMAT §10.1). What it
// finds there is what members have signed: a record of kind redact is by a device that was an
// owner, or the history would not verify. That the object ids and the old head were part of it is
// the signer's word alone, since what proves that is erased; that none of them is, is checked.

import { toHex } from '../../bytes.ts'
import { loadSodium } from '../../crypto/sodium.ts'
import { StoreError } from '../../errors.ts'
import type { Actor, Operation, RedactReason } from '../../format/change-record.ts'
import { parseLinks, treeOf } from '../../format/commit.ts'
import { formatId, parseId } from '../../format/id.ts'
import type { Oid } from '../../git/objects/object.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History, HistorySource } from '../history/history.ts'
import { readConsistently } from '../history/read-consistently.ts'
import type { StoreSession } from '../session/session.ts'
import { getTree, hasObject, type ObjectSource } from '../snapshot/git-reads.ts'
import { readCertificate } from './certificate-text.ts'
import { type RedactionCertificate, signerOf } from './certificate.ts'

/** A redact record of a verified history; ids in text form. */
export interface RedactRecord {
  readonly commit: string
  readonly time: number
  readonly deviceId: string
  readonly actor: Actor | undefined
  readonly session: string | undefined
  readonly redacts: readonly string[]
  readonly redactReason: RedactReason | undefined
}

/** The verified history that a certificate is compared with; ids in text form. */
export interface CertificateTrail {
  readonly storeId: string
  /** The redact record with this hash, 64 hex digits. */
  findRedact(record: string): RedactRecord | undefined
  findVersion(
    versionId: string,
  ): { readonly memoryId: string; readonly operation: Operation } | undefined
  hasCommit(oid: string): boolean
  /** Whether the store has or had this device, `dev_…`. */
  hasDevice(deviceId: string): boolean
  readonly objects: ObjectSource
  /** 40 hex digits. */
  readonly head: string
}

/** Throws `store_id_mismatch` or `certificate_invalid`. */
export function* checkCertificate(
  certificate: RedactionCertificate,
  trail: CertificateTrail,
): Generator<undefined, void> {
  if (certificate.store_id !== trail.storeId) {
    throw new StoreError(
      'store_id_mismatch',
      `The certificate is of the store ${certificate.store_id}, and this one is ${trail.storeId}`,
    )
  }
  const found = certificate.records.map((record) => trail.findRedact(record))
  const records = found.filter((record) => record !== undefined)
  if (records.length < found.length) {
    throw mismatch('it names a redact record that is not in this history')
  }
  for (const record of records) checkRecord(certificate, record)
  if (!trail.hasDevice(signerOf(certificate))) {
    throw mismatch('no device of this store has signed it')
  }
  checkVersions(certificate, trail, records)
  checkCommits(certificate, trail, records)
  const reached = yield* findReached(trail.objects, trail.head, certificate.object_ids)
  if (reached === undefined) return
  throw mismatch(`it names an object as erased that is part of the history, ${reached}`)
}

function checkRecord(certificate: RedactionCertificate, record: RedactRecord): void {
  const { device_id, redacted_at, reason, actor, session_id } = certificate
  if (record.deviceId !== device_id) throw mismatch('another device wrote the redact record')
  const isSame =
    new Date(record.time).toISOString() === redacted_at &&
    record.redactReason === reason &&
    record.actor?.type === actor.type &&
    record.actor.id === actor.id &&
    (record.session ?? null) === session_id
  if (!isSame) throw mismatch('its time, reason, actor or session is not that of the redact record')
}

function checkVersions(
  { versions, may_repeat }: RedactionCertificate,
  trail: CertificateTrail,
  records: readonly RedactRecord[],
): void {
  const redacted = new Set(records.flatMap(({ redacts }) => redacts))
  const isTrue = versions.every(({ memory_version_id, memory_id, operation }) => {
    const version = trail.findVersion(memory_version_id)
    const isRedacted = redacted.has(memory_version_id)
    return isRedacted && version?.memoryId === memory_id && version.operation === operation
  })
  const isThere = may_repeat.every((versionId) => trail.findVersion(versionId) !== undefined)
  if (isTrue && isThere && versions.length === redacted.size) return
  throw mismatch('its versions are not those of the redact record')
}

/**
 * A later redaction gives the records other commits, but never one that they had before. That the
 * old head is no commit follows from the objects, of which it is one.
 */
function checkCommits(
  { commits }: RedactionCertificate,
  trail: CertificateTrail,
  records: readonly RedactRecord[],
): void {
  const isTrue = commits.every((oid, index) => {
    return oid === records[index]?.commit || !trail.hasCommit(oid)
  })
  if (isTrue) return
  throw mismatch('its commits are not those of the redaction')
}

function mismatch(problem: string): StoreError {
  return new StoreError(
    'certificate_invalid',
    `The certificate does not agree with the history: ${problem}`,
  )
}

/**
 * One of these objects in the verified history of a head; undefined if it contains none of them.
 * Follows every commit and tree, and reads no blob.
 */
export function* findReached(
  objects: ObjectSource,
  head: Oid,
  oids: readonly Oid[],
): Generator<undefined, Oid | undefined> {
  // This is enough after an erasure: a history that verifies contains only stored objects.
  const named = new Set(oids.filter((oid) => hasObject(objects, oid)))
  if (named.size === 0) return undefined
  const trees = new Set<Oid>()
  const commits = new Set([head])
  // Grows while it is walked.
  for (const commit of commits) {
    if (named.has(commit)) return commit
    const bytes = readCommitBytes(objects, commit)
    for (const parent of parseLinks(bytes).parents) commits.add(parent)
    const found = findInTree(objects, treeOf(bytes), named, trees)
    if (found !== undefined) return found
    yield
  }
  return undefined
}

/** Adds to `seen` the trees without such objects. */
function findInTree(
  objects: ObjectSource,
  root: Oid,
  named: ReadonlySet<Oid>,
  seen: Set<Oid>,
): Oid | undefined {
  const waiting = [root]
  for (let tree = waiting.pop(); tree !== undefined; tree = waiting.pop()) {
    if (named.has(tree)) return tree
    if (seen.has(tree)) continue
    seen.add(tree)
    for (const { oid, mode } of getTree(objects, tree)) {
      if (mode === '40000') waiting.push(oid)
      else if (named.has(oid)) return oid
    }
  }
  return undefined
}

/**
 * Returns the certificate of a text, or of what JSON made of one, if this store's history proves
 * it. Throws the codes of `readCertificate` and of `checkCertificate`.
 */
export async function verifyCertificateHere(
  session: StoreSession,
  given: string | RedactionCertificate,
): Promise<RedactionCertificate> {
  await loadSodium()
  const certificate = readCertificate(given)
  await checkHere(session, certificate)
  return certificate
}

/** Throws the codes of `checkCertificate`. */
export async function checkHere(
  session: StoreSession,
  certificate: RedactionCertificate,
): Promise<void> {
  const { devices, removed } = await session.reading(({ keyring }) => keyring.directory)
  const ids = [...devices, ...removed].map(({ deviceId }) => formatId('device', deviceId))
  await readConsistently(session, (history) => {
    const source = { ...session.contents, deviceIds: new Set(ids) }
    return checkCertificate(certificate, trailOf(session.storeId, source, history))
  })
}

function trailOf(
  storeId: string,
  source: Omit<HistorySource, 'storeId'> & { readonly deviceIds: ReadonlySet<string> },
  history: History,
): CertificateTrail {
  const records = new Map<string, CommitEntry>()
  for (const commit of history.commits) {
    if (commit.kind !== 'redact') continue
    const bytes = readCommitBytes(source.objects, commit.oid)
    records.set(toHex(decodeCommit(storeId, source.epochs, commit.oid, bytes).hash), commit)
  }
  const commits = history.oids()
  return {
    storeId: formatId('store', storeId),
    findRedact: (record) => describeRedact(records.get(record)),
    findVersion(versionId) {
      const version = history.find(parseId('version', versionId))
      if (version === undefined) return undefined
      const { memoryId, operation } = version
      return { memoryId: formatId('memory', memoryId), operation }
    },
    hasCommit: (oid) => commits.has(oid),
    hasDevice: (deviceId) => source.deviceIds.has(deviceId),
    objects: source.objects,
    head: history.head?.oid ?? '',
  }
}

function describeRedact(commit: CommitEntry | undefined): RedactRecord | undefined {
  if (commit === undefined) return undefined
  const { oid, time, deviceId, actor, session, redacts, reason } = commit
  return {
    commit: oid,
    time,
    deviceId: formatId('device', deviceId),
    actor,
    session,
    redacts: redacts.map((versionId) => formatId('version', versionId)),
    redactReason: reason,
  }
}
