// The clone of an auditor, a device that holds A and not C (FORMAT §4): a bare repository, which is
// fetched, verified as by `audit`, and kept current. Erases versions that other clones redacted.
// Must not merge, enrol or send: an auditor writes no records.

import { equalBytes, toHex } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import { systemDisk } from '../../disk/system-disk.ts'
import { hasCode, StoreError } from '../../errors.ts'
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
  type FirstContact,
  type JoinOptions,
  nameOf,
} from '../clone/clone-remote.ts'
import { fetchInto } from '../clone/fetch-into.ts'
import { RemoteAddress } from '../clone/remote-address.ts'
import { StagedClone } from '../clone/staged-clone.ts'
import { keyringRecords } from '../commits/ancestors.ts'
import { type CommitSource, decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { findDivergence, newestCommon } from '../commits/divergence.ts'
import { findOutgoing, objectsOf } from '../commits/outgoing.ts'
import type { Anchor, VerifiedHead } from '../local/anchor.ts'
import type { BoundState, RemoteStateFile } from '../local/remote-state-file.ts'
import { localFiles, storageOf } from '../session/open-options.ts'
import { checkIsHead, onSteadyHead } from '../session/steady-head.ts'
import { checkExpected, getHead, readStoreId } from '../session/store-id.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import { findFault } from '../sync/refused-head.ts'
import { checkStoreId } from '../sync/remote-head.ts'
import {
  chooseRemote,
  findNewDevices,
  nothingSent,
  nothingTaken,
  type SyncReport,
} from '../sync/report.ts'
import { type VerifiedTrail, verifyTrail } from './audit-trail.ts'
import { type Audit, type AuditOptions, withAudit } from './audit.ts'
import {
  checkAccepted,
  findLeftOut,
  keepLeftOut,
  lateChangeOf,
  LeftOutList,
  type LostRecords,
} from './left-out.ts'

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
 * Adopts the remote's head, once its trail is verified and contains what this device verified
 * before. Starts over if another process moves the head concurrently. Throws a remote code,
 * `rolled_back`, `store_id_mismatch`, `wrong_key`, or the code of verification, with nothing
 * changed.
 */
export function syncTrail(options: TrailOptions): Promise<SyncReport> {
  return withObjects(options, (objects) => {
    const incoming = objects.exchange.incoming()
    return onSteadyHead(objects, async () => {
      try {
        return await (await TrailSync.start(objects, incoming, options)).run()
      } finally {
        incoming.drop()
      }
    })
  })
}

interface TrailParts {
  readonly objects: ObjectStore
  readonly incoming: Incoming
  readonly options: TrailOptions
  readonly storeId: string
  readonly anchor: Anchor
  readonly seenRemotes: RemoteStateFile
}

/** One attempt to adopt the head of the remote. */
class TrailSync {
  readonly #objects: ObjectStore
  readonly #incoming: Incoming
  readonly #options: TrailOptions
  readonly #storeId: string
  readonly #anchor: Anchor
  readonly #seenRemotes: RemoteStateFile
  readonly #list: LeftOutList
  readonly #before: Oid

  static async start(
    objects: ObjectStore,
    incoming: Incoming,
    options: TrailOptions,
  ): Promise<TrailSync> {
    const storeId = readStoreId(objects)
    checkExpected(storeId, options.storeId)
    // The anchor before the head, as in opening a store.
    const { anchor, seenRemotes } = await localFiles(options, storeId)
    return new TrailSync({ objects, incoming, options, storeId, anchor, seenRemotes })
  }

  private constructor({ objects, incoming, options, storeId, ...files }: TrailParts) {
    this.#objects = objects
    this.#incoming = incoming
    this.#options = options
    this.#storeId = storeId
    this.#anchor = files.anchor
    this.#seenRemotes = files.seenRemotes
    this.#list = new LeftOutList(options, this.#storeId)
    objects.refresh()
    this.#before = getHead(objects)
  }

  async run(): Promise<SyncReport> {
    const objects = this.#objects
    const before = this.#before
    const remote = chooseRemote(objects.exchange.remotes(), this.#options.remote)
    const { head, bytes } = await this.#fetch(remote)
    // A clone of the trail was fetched from its remote, so the remote has shown this store before.
    checkStoreId(this.#incoming, head, this.#storeId, { wasShown: true })
    // The head of a clone that was never audited is treated as seen.
    if (this.#anchor.verified === undefined) await this.#adopt(before)
    const bound = await this.#seenRemotes.findBound(remote.name, remote.url)
    const unmet = bound?.isMet === false ? bound : undefined
    const isKnown = head === before && unmet === undefined && (await this.#isVerified(head))
    const { commits, erased, leftOut } = isKnown
      ? { commits: 0, erased: 0, leftOut: [] }
      : await this.#adopt(head, unmet)
    if (unmet !== undefined) {
      await objects.exclusive(() => this.#seenRemotes.noteMet(remote.name, unmet))
    }
    // Read before another process may erase the commits.
    const newDevices = await this.#newDevices(head)
    const fingerprint = headFingerprint(this.#storeId, await this.#recordOf(head))
    // Packs and erases, also after an interrupted sync: no writer of this clone would do it.
    const { journalFrames, purgePending } = objects.status()
    if (journalFrames + purgePending > 0) await objects.checkpoint()
    await objects.exchange.track(remote.name, head)
    return {
      ...nothingTaken,
      remote: remote.name,
      received: { commits, bytes },
      sent: nothingSent,
      erased,
      builtOnRedacted: [],
      late: leftOut.flatMap(lateChangeOf),
      pendingDevices: [],
      head,
      headFingerprint: fingerprint,
      newDevices,
      forkedDevices: [],
      grants: undefined,
      ignoredRefs: undefined,
      begunAnew: undefined,
    }
  }

  /** Fetches the remote's head with all of its objects; moves no ref. */
  async #fetch({ url }: Remote): Promise<{ readonly head: Oid; readonly bytes: number }> {
    const { signal, access, transfer: progress } = this.#options
    // Imported here: the library loads this file at its start, and few devices are auditors.
    const { connectFetch } = await import('../../transport/fetch.ts')
    const connection = await connectFetch({ signal, ...access, url })
    try {
      const { head } = connection.refs
      if (head === undefined) throw rolledBackError()
      if (head === this.#before) return { head, bytes: 0 }
      const request = { want: head, haves: [this.#before], into: this.#incoming, progress }
      return { head, bytes: (await connection.fetch(request)).bytes }
    } finally {
      await connection.close()
    }
  }

  /** Whether the head is the one that this device has verified last. */
  async #isVerified(head: Oid): Promise<boolean> {
    const { verified } = this.#anchor
    return verified !== undefined && equalBytes(await this.#recordOf(head), verified.record)
  }

  /**
   * The counts are of commits and of erased versions. `unmet`: the state that the address of the
   * remote names, until the trail here has it.
   */
  async #adopt(head: Oid, unmet?: BoundState) {
    const objects = this.#objects
    const incoming = this.#incoming
    const anchor = this.#anchor
    const before = this.#before
    const trail = await this.#verify(head)
    const source = await this.#withEpochsOf(trail)
    if (unmet !== undefined) {
      const address = new RemoteAddress(unmet.url, this.#storeId, unmet.state)
      await address.check(keyringRecords(source, head), this.#options.signal)
    }
    const leftOut = await this.#findLeftOut(source, head, trail)
    checkAccepted(leftOut, this.#options)
    const common = leftOut && (await this.#findCommon(source, head))
    const { length: commits } = await findOutgoing(incoming, head, [before])
    const dead = await erasedBetween(source, before, head)
    // Each version has its own blob, and no other blob of a history is ever erased.
    const erased = [...dead].filter((oid) => incoming.read(oid)?.type === 'blob').length
    // The head here was fetched before, not with the incoming packs.
    if (head !== before) await incoming.accept()
    await keepLeftOut(objects, leftOut)
    await objects.exclusive(async () => {
      // Checked first: if another process has moved the head, it has set the anchor.
      checkIsHead(objects, before)
      if (leftOut !== undefined) await this.#list.add(leftOut)
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
  async #verify(head: Oid): Promise<VerifiedTrail> {
    try {
      return await verifyTrail(this.#incoming, { storeId: this.#storeId, head }, this.#options)
    } catch (error) {
      if (!hasCode(error, 'wrong_key')) throw error
      const { signal } = this.#options
      throw (await findFault(this.#incoming, this.#before, head, signal)) ?? error
    }
  }

  /** The devices that the new head has and the old one had not. */
  async #newDevices(head: Oid): Promise<SyncReport['newDevices']> {
    if (this.#before === head) return []
    const [before, now] = [await this.#open(this.#before), await this.#open(head)]
    return findNewDevices(before.directory, now.directory, this.#options.identity.deviceId)
  }

  /** Adds the epochs of the head here: a dropped commit may be under an epoch that is new to it. */
  async #withEpochsOf({ epochs }: VerifiedTrail): Promise<TrailSource> {
    const { epochs: known } = await this.#open(this.#before, this.#incoming)
    const storeId = this.#storeId
    return { objects: this.#incoming, storeId, epochs: new Map([...known, ...epochs]) }
  }

  /** The records here, or verified last, that the new history lacks; undefined without any. */
  async #findLeftOut(source: TrailSource, head: Oid, trail: VerifiedTrail): Promise<LostRecords> {
    const storeId = this.#storeId
    const { verified } = this.#anchor
    const current = headAt(source, this.#before)
    const isSame = verified === undefined || equalBytes(verified.record, current.record)
    const lost = new Map<string, NonNullable<LostRecords>[number]>()
    let lacksSome = false
    for (const known of isSame ? [current] : [current, verified]) {
      const comparison = { storeId, head, known, trail }
      const found = await findLeftOut(source.objects, comparison, this.#options)
      if (found === undefined) continue
      lacksSome = true
      for (const one of found) lost.set(one.record, one)
    }
    return lacksSome ? [...lost.values()] : undefined
  }

  /** The newest commit that the history here and that of `head` have in common. */
  async #findCommon(source: CommitSource, head: Oid): Promise<VerifiedHead> {
    const { ours } = await findDivergence(source, this.#before, head, this.#options.signal)
    const isHere = ours.commits.length === 0
    return headAt(source, isHere ? this.#before : newestCommon(source, ours).oid)
  }

  /** The record hash of a head. */
  async #recordOf(head: Oid): Promise<Uint8Array> {
    const objects = this.#objects
    const { epochs } = await this.#open(head)
    return headAt({ objects, storeId: this.#storeId, epochs }, head).record
  }

  #open(head: Oid, objects: ObjectSource = this.#objects) {
    const { identity, signal } = this.#options
    return openAuditKeyring(readHeadKeyring(objects, head), identity, signal)
  }
}

interface TrailSource extends CommitSource {
  readonly objects: Incoming
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
