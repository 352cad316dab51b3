// The clone of an auditor, a device that holds A and not C (FORMAT §4): a bare repository, which is
// fetched, verified as by `audit`, and kept current. Erases versions that other clones redacted.
// Must not merge, enrol or send: an auditor writes no records.

import { equalBytes, toHex } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import { systemDisk } from '../../disk/disk.ts'
import { hasCode, StoreError } from '../../errors.ts'
import type { Directory } from '../../format/directory.ts'
import { headFingerprint } from '../../format/fingerprint.ts'
import { openDiskObjectStore } from '../../git/disk-store/disk-object-store.ts'
import type { Incoming, Remote } from '../../git/exchange.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Oid } from '../../git/objects/object.ts'
import { openAuditKeyring } from '../../keys/keyring.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { RemoteOptions, TransferProgress } from '../../transport/remote-access.ts'
import { readHeadKeyring } from '../access/authority.ts'
import {
  addressOf,
  checkKeepsUp,
  checkNamed,
  checkState,
  confirmContact,
  contactOf,
  fetchInto,
  type FirstContact,
  type JoinOptions,
  nameOf,
} from '../clone/clone-remote.ts'
import { StagedClone } from '../clone/staged-clone.ts'
import { type CommitSource, decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { findDivergence, newestCommon } from '../commits/divergence.ts'
import { findOutgoing, objectsOf } from '../commits/outgoing.ts'
import type { Anchor, VerifiedHead } from '../local/anchor.ts'
import { localFiles, storageOf } from '../session/open-options.ts'
import { checkIsHead, onSteadyHead } from '../session/steady-head.ts'
import { checkExpected, getHead, readStoreId } from '../session/store-id.ts'
import { chooseRemote } from '../sync/options.ts'
import { findFault } from '../sync/refused-head.ts'
import { checkStoreId } from '../sync/remote-head.ts'
import { findNewDevices, nothingSent, nothingTaken, type SyncReport } from '../sync/report.ts'
import { type Audit, type AuditOptions, withAudit } from './audit.ts'
import {
  checkAccepted,
  findLeftOut,
  keepLeftOut,
  lateChangeOf,
  LeftOutList,
  type LostRecords,
} from './left-out.ts'
import { type VerifiedTrail, verifyTrail } from './verified-trail.ts'

/**
 * `acceptRolledBack` accepts the remote's history once, even if it lacks commits that this device
 * has verified, or that it wrote before it became an auditor.
 */
export interface TrailOptions extends AuditOptions {
  /** The name of a remote; by default `origin` to join, and the only remote to sync. */
  readonly remote?: string | undefined
  /** How this machine may talk to the remote. */
  readonly access?: RemoteOptions | undefined
  readonly transfer?: ((progress: TransferProgress) => void) | undefined
}

/**
 * Clones the store of a remote into an absent or empty directory, for an identity that an owner has
 * added by its card. Throws as `joinStore` and `auditStore`, and leaves nothing behind then.
 */
export async function joinTrail(
  options: TrailOptions & Pick<JoinOptions, 'url' | 'trustFirstContact'>,
): Promise<Audit> {
  const { directory, identity, disk = systemDisk, random = systemRandom } = options
  const { url } = addressOf(options)
  checkNamed(options)
  let contact: FirstContact | undefined
  return new StagedClone(disk, random, directory).make(async ({ repository }) => {
    await fetchInto(repository, options, async (objects, head, storeId) => {
      const keyring = readHeadKeyring(objects, head)
      const opened = await openAuditKeyring(keyring, identity, options.signal)
      const source = { objects, storeId, epochs: opened.epochs }
      await checkKeepsUp(source, head, options)
      await checkState(source, head, options)
      contact = await contactOf(source, head, opened.directory)
    })
    await withObjects({ ...options, directory: repository }, async ({ exchange, head }) => {
      await exchange.addRemote({ name: nameOf(options), url })
      await exchange.track(nameOf(options), head)
    })
    const confirm = () => confirmContact(options, contact)
    return withAudit({ ...options, directory: repository }, async (found) => found, confirm)
  })
}

/**
 * Takes over the remote's head, once its trail is verified and contains what this device verified
 * before. Starts over if another process moves the head concurrently. Throws a remote code,
 * `rolled_back`, `store_id_mismatch`, `wrong_key`, or the code of verification, and takes over
 * nothing then.
 */
export function syncTrail(options: TrailOptions): Promise<SyncReport> {
  return withObjects(options, (objects) => {
    const incoming = objects.exchange.incoming()
    return onSteadyHead(objects, () => {
      return syncOnce({ objects, incoming }, options).finally(() => incoming.drop())
    })
  })
}

/** A clone, and the packs that a sync has fetched. */
interface Fetching {
  readonly objects: ObjectStore
  readonly incoming: Incoming
}

async function syncOnce(clone: Fetching, options: TrailOptions): Promise<SyncReport> {
  const { objects, incoming } = clone
  const storeId = readStoreId(objects)
  checkExpected(storeId, options.storeId)
  // The anchor before the head, as in opening a store.
  const { anchor } = localFiles(options, storeId)
  const list = new LeftOutList(options, storeId)
  objects.refresh()
  const before = getHead(objects)
  const remote = chooseRemote(objects.exchange.remotes(), options.remote)
  const { head, bytes } = await fetchHead(incoming, before, remote, options)
  // A clone of the trail was fetched from its remote, so the remote has shown this store before.
  checkStoreId(incoming, head, storeId, { wasShown: true })
  const target = { storeId, anchor, list, head }
  // The head of a clone that was never audited is taken for seen.
  const current = { ...target, head: before, before }
  if (anchor.verified === undefined) await takeOver(clone, current, options)
  const isKnown = head === before && (await isVerified(objects, target, options))
  const taken = isKnown ? nothingTakenOver : await takeOver(clone, { ...target, before }, options)
  // Read before another process may erase the commits.
  const newDevices = await newDevicesBetween(objects, { ...target, before }, options)
  const fingerprint = headFingerprint(storeId, await recordOf(objects, target, options))
  await finish(objects)
  await objects.exchange.track(remote.name, head)
  return {
    ...nothingTaken,
    remote: remote.name,
    received: { commits: taken.commits, bytes },
    sent: nothingSent,
    erased: taken.erased,
    builtOnRedacted: [],
    late: taken.leftOut.flatMap(lateChangeOf),
    pendingDevices: [],
    head,
    headFingerprint: fingerprint,
    newDevices,
    forkedDevices: [],
  }
}

/**
 * The number of commits that were taken over, and of versions that were erased; and the verified
 * records that are left out.
 */
interface TakenOver {
  readonly commits: number
  readonly erased: number
  readonly leftOut: NonNullable<LostRecords>
}

const nothingTakenOver: TakenOver = { commits: 0, erased: 0, leftOut: [] }

/** A head of the store, with the anchor of this device. */
interface AnchoredHead {
  readonly storeId: string
  readonly anchor: Anchor
  readonly list: LeftOutList
  readonly head: Oid
}

/** A move of the branch from `before` to a head. */
interface Move extends AnchoredHead {
  readonly before: Oid
}

/** Fetches the remote's head with all of its objects; moves no ref. */
async function fetchHead(
  into: Incoming,
  here: Oid,
  { url }: Remote,
  options: TrailOptions,
): Promise<{ readonly head: Oid; readonly bytes: number }> {
  const { signal, access, transfer: progress } = options
  // Imported here: the library loads this file at its start, and few devices are auditors.
  const { connectFetch } = await import('../../transport/fetch.ts')
  const connection = await connectFetch({ signal, ...access, url })
  try {
    const { head } = connection.refs
    if (head === undefined) throw rolledBackError()
    if (head === here) return { head, bytes: 0 }
    const request = { want: head, haves: [here], into, progress }
    const { bytes } = await connection.fetch(request)
    return { head, bytes }
  } finally {
    await connection.close()
  }
}

/** Whether the head is the one that this device has verified last. */
async function isVerified(
  objects: ObjectStore,
  target: AnchoredHead,
  options: TrailOptions,
): Promise<boolean> {
  const { verified } = target.anchor
  if (verified === undefined) return false
  return equalBytes(await recordOf(objects, target, options), verified.record)
}

async function takeOver(
  { objects, incoming }: Fetching,
  move: Move,
  options: TrailOptions,
): Promise<TakenOver> {
  const { anchor, list, before, head } = move
  const trail = await verifyShown(incoming, move, options)
  const source = await withEpochsOf(incoming, move, trail, options)
  const leftOut = await findAllLeftOut(source, move, trail, options)
  checkAccepted(leftOut, options)
  const { signal } = options
  const common = leftOut && (await findCommon(source, { before, head, signal }))
  const { length: commits } = await findOutgoing(incoming, head, [before])
  const dead = await erasedBetween(source, before, head)
  // Each version has its own blob, and no other blob of a history is ever erased.
  const erased = [...dead].filter((oid) => incoming.read(oid)?.type === 'blob').length
  // The head that is here was fetched before, not with what waits.
  if (head !== before) await incoming.accept()
  await keepLeftOut(objects, leftOut)
  await objects.exclusive(async () => {
    // Checked first: if another process has moved the head, it has set the anchor.
    checkIsHead(objects, before)
    if (leftOut !== undefined) await list.add(leftOut)
    // Set to a commit of both histories, so that the store verifies even if this process dies.
    if (common !== undefined) await anchor.accept(common)
    if (head !== before) {
      const transition = { objects: [], expected: before, next: head }
      await objects.commit([{ ...transition, ...(dead.size > 0 && { dead }) }])
    }
    // Only after the commit: the anchor must not name a head that the store could lose.
    await anchor.advance(trail.snapshot.head)
  })
  return { commits, erased, leftOut: leftOut ?? [] }
}

/** A head that this device cannot open is compared without keys: it proves no removal. */
async function verifyShown(
  incoming: Incoming,
  { storeId, before, head }: Move,
  options: TrailOptions,
): Promise<VerifiedTrail> {
  try {
    return await verifyTrail(incoming, { storeId, head }, options)
  } catch (error) {
    if (!hasCode(error, 'wrong_key')) throw error
    throw (await findFault(incoming, before, head, options.signal)) ?? error
  }
}

/** Packs and erases, also after an interrupted sync: no writer of this clone would do it. */
async function finish(objects: ObjectStore): Promise<void> {
  const { journalFrames, purgePending } = objects.status()
  if (journalFrames + purgePending > 0) await objects.checkpoint()
}

/** The devices that the new head has and the old one had not. */
async function newDevicesBetween(
  objects: ObjectStore,
  { before, head }: Move,
  { identity }: TrailOptions,
): Promise<SyncReport['newDevices']> {
  if (before === head) return []
  const directoryAt = async (oid: Oid): Promise<Directory> => {
    return (await openAuditKeyring(readHeadKeyring(objects, oid), identity)).directory
  }
  return findNewDevices(await directoryAt(before), await directoryAt(head), identity.deviceId)
}

interface TrailSource extends CommitSource {
  readonly objects: Incoming
}

/** Adds the epochs of the head here: a dropped commit may be under an epoch that `head` lacks. */
async function withEpochsOf(
  objects: Incoming,
  { storeId, before }: Move,
  { epochs }: VerifiedTrail,
  { identity, signal }: TrailOptions,
): Promise<TrailSource> {
  const keyring = readHeadKeyring(objects, before)
  const { epochs: known } = await openAuditKeyring(keyring, identity, signal)
  return { objects, storeId, epochs: new Map([...known, ...epochs]) }
}

/** The records here, or verified last, that the new history lacks; undefined without any. */
async function findAllLeftOut(
  source: TrailSource,
  { storeId, anchor, before, head }: Move,
  trail: VerifiedTrail,
  options: TrailOptions,
): Promise<LostRecords> {
  const lost = new Map<string, NonNullable<LostRecords>[number]>()
  let lacksSome = false
  for (const known of knownHeads(source, anchor, before)) {
    const found = await findLeftOut(source.objects, { storeId, head, known, trail }, options)
    if (found === undefined) continue
    lacksSome = true
    for (const one of found) lost.set(one.record, one)
  }
  return lacksSome ? [...lost.values()] : undefined
}

/** The head that is here, and the one that was verified last, if it differs. */
function knownHeads(
  source: TrailSource,
  { verified }: Anchor,
  before: Oid,
): readonly VerifiedHead[] {
  const current = headAt(source, before)
  const isSame = verified === undefined || equalBytes(verified.record, current.record)
  return isSame ? [current] : [current, verified]
}

/** The newest commit that the history of `before` and that of `head` have in common. */
async function findCommon(
  source: CommitSource,
  { before, head, signal }: { before: Oid; head: Oid; signal: AbortSignal | undefined },
): Promise<VerifiedHead> {
  const { ours } = await findDivergence(source, before, head, signal)
  return headAt(source, ours.commits.length === 0 ? before : newestCommon(source, ours).oid)
}

/**
 * The objects that redactions have erased: those of rewritten commits that the new history does not
 * reach. Commits that it drops remain on the disk, on no branch.
 */
async function erasedBetween(
  source: CommitSource,
  before: Oid,
  head: Oid,
): Promise<ReadonlySet<Oid>> {
  const { objects } = source
  const missing = await findOutgoing(objects, before, [head])
  if (missing.length === 0) return new Set()
  const hashOf = ({ oid }: { readonly oid: Oid }): string => toHex(headAt(source, oid).record)
  const newRecords = new Set((await findOutgoing(objects, head, [before])).map(hashOf))
  const rewritten = missing.filter((commit) => newRecords.has(hashOf(commit)))
  const erased = new Set([...objectsOf(objects, rewritten)].filter((oid) => oid !== undefined))
  if (erased.size === 0) return erased
  // Walks the whole history: another commit may have the same tree.
  const slice = new TimeSlice()
  for (const oid of objectsOf(objects, await findOutgoing(objects, head, []))) {
    if (oid !== undefined) erased.delete(oid)
    if (slice.isOver()) await slice.next()
  }
  return erased
}

/** The record hash of a head. */
async function recordOf(
  objects: ObjectStore,
  { storeId, head }: Pick<AnchoredHead, 'storeId' | 'head'>,
  { identity, signal }: TrailOptions,
): Promise<Uint8Array> {
  const keyring = readHeadKeyring(objects, head)
  const { epochs } = await openAuditKeyring(keyring, identity, signal)
  return headAt({ objects, storeId, epochs }, head).record
}

function headAt({ objects, storeId, epochs }: CommitSource, commit: Oid): VerifiedHead {
  const { record, hash } = decodeCommit(storeId, epochs, commit, readCommitBytes(objects, commit))
  return { commit, height: record.height, record: hash }
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
    'The remote has less than this device has verified: it was rolled back, shows different ' +
      'histories to different clones, or lacks changes that no member could take over or that ' +
      'were never sent. Ask a member for the cause; if it is legitimate, accept the rollback once',
  )
}
