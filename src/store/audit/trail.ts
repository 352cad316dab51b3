// The clone of an auditor, who holds A and not C (FORMAT §4): a bare repository, fetched, verified
// as `audit` verifies it, and kept current. Nothing is merged, enrolled or sent: an auditor writes
// nothing. What was redacted elsewhere is erased here.

import { equalBytes, toHex } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import { systemDisk } from '../../disk/disk.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { headFingerprint } from '../../format/fingerprint.ts'
import { openDiskObjectStore } from '../../git/disk-store/disk-object-store.ts'
import type { Remote } from '../../git/exchange.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import { openAuditKeyring } from '../../keys/keyring.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { TransferProgress } from '../../transport/remote-access.ts'
import { findKeyring } from '../access/authority.ts'
import { wasLeftLate } from '../access/post-revocation.ts'
import { type CommitSource, decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { findDivergence, newestCommon } from '../commits/divergence.ts'
import type { Anchor, VerifiedHead } from '../local/anchor.ts'
import { checkFreshness } from '../session/freshness.ts'
import { localFiles, storageOf } from '../session/open-options.ts'
import { checkIsHead, onSteadyHead } from '../session/steady-head.ts'
import { checkExpected, getHead, readStoreId } from '../session/store-id.ts'
import { getBlob } from '../snapshot/git-reads.ts'
import { addressOf, checkKeepsUp, fetchInto, nameOf } from '../sync/clone-remote.ts'
import { chooseRemote, type RemoteOptions } from '../sync/options.ts'
import { findOutgoing, objectsOf } from '../sync/outgoing.ts'
import { checkStoreId } from '../sync/remote-head.ts'
import { nothingSent, nothingTaken, type SyncReport } from '../sync/report.ts'
import { StagedClone } from '../sync/staged-clone.ts'
import {
  type Audit,
  type AuditOptions,
  auditStore,
  type VerifiedTrail,
  verifyTrail,
} from './audit.ts'

/**
 * `acceptRolledBack` takes what the remote shows for the truth, once, also where it leaves out what
 * this device has verified, or what it wrote before it became an auditor.
 */
export interface TrailOptions extends AuditOptions {
  /** The name of a remote: `origin` by default to join, and to sync the one that there is. */
  readonly remote?: string | undefined
  /** How this machine may talk to the remote. */
  readonly access?: RemoteOptions | undefined
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
}

/**
 * Clones the store of a remote into an absent or empty directory, for an identity that an owner has
 * added by its card. Throws as `joinStore` and `auditStore`; nothing is left then.
 */
export async function joinTrail(options: TrailOptions & { readonly url: string }): Promise<Audit> {
  const { directory, identity, disk = systemDisk, random = systemRandom } = options
  const { url } = addressOf(options)
  return new StagedClone(disk, random, directory).make(async ({ repository }) => {
    await fetchInto(repository, options, async (objects, head, storeId) => {
      const { epochs } = openAuditKeyring(readKeyring(objects, head), storeId, identity)
      await checkKeepsUp({ objects, storeId, epochs }, head, options)
    })
    await withObjects({ ...options, directory: repository }, async ({ exchange, head }) => {
      await exchange.addRemote({ name: nameOf(options), url })
      await exchange.track(nameOf(options), head)
    })
    return auditStore({ ...options, directory: repository })
  })
}

/**
 * Takes over what the remote has, once its trail is verified and contains what this device verified
 * before. Starts over if another process moves the head meanwhile. Throws a remote code,
 * `rolled_back`, `store_id_mismatch`, `wrong_key`, or what verification refuses; nothing is taken
 * over then.
 */
export function syncTrail(options: TrailOptions): Promise<SyncReport> {
  return withObjects(options, (objects) => {
    return onSteadyHead(objects, () => syncOnce(objects, options))
  })
}

async function syncOnce(objects: ObjectStore, options: TrailOptions): Promise<SyncReport> {
  const storeId = readStoreId(objects)
  checkExpected(storeId, options.storeId)
  // The anchor before the head, as in opening a store.
  const { anchor } = localFiles(options, storeId)
  objects.refresh()
  const before = getHead(objects)
  const remote = chooseRemote(objects.exchange.remotes(), options.remote)
  const { head, bytes } = await fetchHead(objects, before, remote, options)
  // Whoever has a clone of the trail has had it from there.
  checkStoreId(objects, head, storeId, { wasShown: true })
  const place = { storeId, anchor, head }
  // Of a clone that nobody has audited, what is here counts as seen.
  const here = { ...place, head: before, before }
  if (anchor.verified === undefined) await takeOver(objects, here, options)
  const isKnown = head === before && isVerified(objects, place, options)
  const news = isKnown ? nothingNew : await takeOver(objects, { ...place, before }, options)
  // Before others may erase what it is read from.
  const words = headFingerprint(storeId, recordOf(objects, place, options))
  await finish(objects)
  await objects.exchange.track(remote.name, head)
  return {
    ...nothingTaken,
    remote: remote.name,
    received: { commits: news.commits, bytes },
    sent: nothingSent,
    erased: news.erased,
    pendingDevices: [],
    head,
    headFingerprint: words,
    forkedDevices: [],
  }
}

interface News {
  readonly commits: number
  readonly erased: number
}

const nothingNew: News = { commits: 0, erased: 0 }

/** A head of the store, and what this device remembers. */
interface Place {
  readonly storeId: string
  readonly anchor: Anchor
  readonly head: Oid
}

/** To a head, from the one that is here. */
interface Move extends Place {
  readonly before: Oid
}

/** The remote's head, with all of its objects here; no ref has moved. */
async function fetchHead(
  objects: ObjectStore,
  here: Oid,
  { url }: Remote,
  options: TrailOptions,
): Promise<{ readonly head: Oid; readonly bytes: number }> {
  const { signal, access, transfer: progress } = options
  // The library loads this file at its start, and few are auditors.
  const { connectFetch } = await import('../../transport/fetch.ts')
  const connection = await connectFetch({ signal, ...access, url })
  try {
    const { head } = connection.refs
    if (head === undefined) throw rolledBackError()
    if (head === here) return { head, bytes: 0 }
    const request = { want: head, haves: [here], into: objects.exchange, progress }
    const { bytes } = await connection.fetch(request)
    return { head, bytes }
  } finally {
    await connection.close()
  }
}

/** Whether it is the very head that this device has verified last. */
function isVerified(objects: ObjectStore, place: Place, options: TrailOptions): boolean {
  const { verified } = place.anchor
  if (verified === undefined) return false
  return equalBytes(recordOf(objects, place, options), verified.record)
}

async function takeOver(objects: ObjectStore, place: Move, options: TrailOptions): Promise<News> {
  const { anchor, before, head } = place
  const trail = await verifyTrail(objects, place, options)
  const source = withEpochsOf(objects, place, trail, options)
  const left = await findLeft(source, place, trail, options)
  const { length: commits } = await findOutgoing(objects, head, [before])
  const dead = await erasedBetween(source, before, head)
  // Each version has a blob of its own, and nothing else of a history goes that is a blob.
  const erased = [...dead].filter((oid) => objects.read(oid)?.type === 'blob').length
  const { snapshot } = trail
  await objects.exclusive(async () => {
    // First of all: the anchor belongs to whoever has moved the head since.
    checkIsHead(objects, before)
    // To what stays: whatever becomes of this process, the store verifies then.
    if (left !== undefined) await anchor.accept(left)
    if (head !== before) {
      const transition = { objects: [], expected: before, next: head }
      await objects.commit([{ ...transition, ...(dead.size > 0 && { dead }) }])
    }
    // Only now: the anchor must not know what the store could lose.
    await anchor.advance(snapshot.head)
  })
  return { commits, erased }
}

/** Packs and erases, also what a sync began that died: nobody writes here and would do it. */
async function finish(objects: ObjectStore): Promise<void> {
  const { journalFrames, purgePending } = objects.status()
  if (journalFrames + purgePending > 0) await objects.checkpoint()
}

interface TrailSource extends CommitSource {
  readonly objects: ObjectStore
}

/** With the epochs of both heads: what is left out may be under one of its own. */
function withEpochsOf(
  objects: ObjectStore,
  { storeId, before }: Move,
  { epochs }: VerifiedTrail,
  { identity }: TrailOptions,
): TrailSource {
  const known = openAuditKeyring(readKeyring(objects, before), storeId, identity).epochs
  return { objects, storeId, epochs: new Map([...known, ...epochs]) }
}

/**
 * If others were right to leave out what was verified here, or is, the newest commit that stays: a
 * device wrote it that was removed already (FORMAT §7.4), or the user says so. Throws
 * `rolled_back` if it is left out otherwise.
 */
async function findLeft(
  source: TrailSource,
  { anchor, before, head }: Move,
  { snapshot }: VerifiedTrail,
  { acceptRolledBack = false, signal }: TrailOptions,
): Promise<VerifiedHead | undefined> {
  let isLeft = false
  for (const verified of knownHeads(source, anchor, before)) {
    if (await isFresh(source, { verified }, snapshot)) continue
    isLeft = true
    const { commit } = verified
    const isRight = commit !== undefined && (await wasLeftLate(source, commit, head))
    if (!isRight && !acceptRolledBack) throw rolledBackError()
  }
  return isLeft ? findCommon(source, { before, head, signal }) : undefined
}

/** The head that is here, and what was verified last, if that is another one. */
function knownHeads(
  source: TrailSource,
  { verified }: Anchor,
  before: Oid,
): readonly VerifiedHead[] {
  const here = headAt(source, before)
  const isSame = verified === undefined || equalBytes(verified.record, here.record)
  return isSame ? [here] : [here, verified]
}

async function isFresh(...args: Parameters<typeof checkFreshness>): Promise<boolean> {
  try {
    await checkFreshness(...args)
    return true
  } catch (error) {
    if (hasCode(error, 'rolled_back')) return false
    throw error
  }
}

/** The newest commit that the history of before and the new one have in common. */
async function findCommon(
  source: CommitSource,
  { before, head, signal }: { before: Oid; head: Oid; signal: AbortSignal | undefined },
): Promise<VerifiedHead> {
  const { ours } = await findDivergence(source, before, head, signal)
  return headAt(source, ours.commits.length === 0 ? before : newestCommon(source, ours).oid)
}

/**
 * What redactions have erased: of the commits that have other names in the new history, what that
 * leads to no more. Commits that it leaves out stay on the disk, on no branch.
 */
async function erasedBetween(
  source: CommitSource,
  before: Oid,
  head: Oid,
): Promise<ReadonlySet<Oid>> {
  const { objects } = source
  const gone = await findOutgoing(objects, before, [head])
  if (gone.length === 0) return new Set()
  const hashOf = ({ oid }: { readonly oid: Oid }): string => toHex(headAt(source, oid).record)
  const news = new Set((await findOutgoing(objects, head, [before])).map(hashOf))
  const renamed = gone.filter((commit) => news.has(hashOf(commit)))
  const erased = new Set(objectsOf(objects, renamed))
  if (erased.size === 0) return erased
  // A tree may be that of another commit, too: all of the history is looked at.
  const slice = new TimeSlice()
  for (const oid of objectsOf(objects, await findOutgoing(objects, head, []))) {
    erased.delete(oid)
    if (slice.isOver()) await slice.next()
  }
  return erased
}

/** The hash of the record of a head. */
function recordOf(
  objects: ObjectStore,
  { storeId, head }: Pick<Place, 'storeId' | 'head'>,
  { identity }: TrailOptions,
): Uint8Array {
  const { epochs } = openAuditKeyring(readKeyring(objects, head), storeId, identity)
  return headAt({ objects, storeId, epochs }, head).record
}

function headAt({ objects, storeId, epochs }: CommitSource, commit: Oid): VerifiedHead {
  const { record, hash } = decodeCommit(storeId, epochs, commit, readCommitBytes(objects, commit))
  return { commit, height: record.height, record: hash }
}

function readKeyring(objects: ObjectStore, head: Oid): Uint8Array {
  return getBlob(objects, findKeyring(objects, head), 'keyring_mismatch')
}

async function withObjects<T>(
  options: TrailOptions,
  work: (objects: ObjectStore) => Promise<T>,
): Promise<T> {
  const { directory } = options
  const objects = await openDiskObjectStore({ directory, ...storageOf(options) })
  try {
    return await work(objects)
  } finally {
    await objects.close()
  }
}

function rolledBackError(): StoreError {
  return new StoreError(
    'rolled_back',
    'The remote shows less than this device has verified before: it was put back, shows another ' +
      'history to you than to others, or leaves out what no member could take over or was never ' +
      'sent. Ask a member why, and accept that once if the answer is right',
  )
}
