// The clone of an auditor, who holds A and not C (FORMAT §4): a bare repository, fetched, verified
// as `audit` verifies it, and kept current. Nothing is merged, enrolled or sent: an auditor writes
// nothing. What was redacted elsewhere is erased here.

import { equalBytes } from '../../bytes.ts'
import { systemRandom } from '../../crypto/random.ts'
import { hasCode, StoreError } from '../../errors.ts'
import { openDiskObjectStore } from '../../git/disk-object-store.ts'
import { systemDisk } from '../../git/disk.ts'
import type { Oid } from '../../git/object.ts'
import type { ObjectStore } from '../../git/object-store.ts'
import type { Remote } from '../../git/remotes.ts'
import { openAuditKeyring } from '../../keys/keyring.ts'
import { connectFetch } from '../../transport/fetch.ts'
import type { TransferProgress } from '../../transport/remote-access.ts'
import type { Anchor } from '../anchor.ts'
import { auditStore, verifyTrail } from '../audit.ts'
import type { Audit, AuditOptions, VerifiedTrail } from '../audit.ts'
import { findKeyring } from '../authority.ts'
import { decodeCommit, readCommitBytes } from '../decoded-commit.ts'
import { getBlob } from '../git-reads.ts'
import { checkExpected, checkFreshness, getHead, localFiles, storageOf } from '../open.ts'
import { headWords } from './head-words.ts'
import { Beside } from './beside.ts'
import { wasLeftLate } from './late.ts'
import { addressOf, fetchInto, nameOf } from './join.ts'
import { findOutgoing, objectsOf } from './outgoing.ts'
import type { SyncReport } from './report.ts'
import { nothingSent } from './send.ts'
import { getRemote } from './sync.ts'
import type { RemoteOptions } from './options.ts'
import { readStoreId } from './theirs.ts'

export interface TrailOptions extends Omit<AuditOptions, 'acceptRolledBack'> {
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
  return new Beside(disk, random, directory).make(async ({ repository }) => {
    await fetchInto(repository, options, async (objects, head, storeId) => {
      openAuditKeyring(readKeyring(objects, head), storeId, identity)
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
 * before. Throws a remote code, `rolled_back`, `store_id_mismatch`, `wrong_key`, or what
 * verification refuses; nothing is taken over then.
 */
export function syncTrail(options: TrailOptions): Promise<SyncReport> {
  return withObjects(options, async (objects) => {
    const storeId = readStoreId(objects, getHead(objects))
    checkExpected(storeId, options.storeId)
    // The anchor before the head, as in opening a store.
    const { anchor } = localFiles(options, storeId)
    objects.refresh()
    const before = getHead(objects)
    const remote = getRemote(objects.exchange.remotes(), options.remote)
    const { head, bytes } = await fetchHead(objects, before, remote, options)
    if (readStoreId(objects, head) !== storeId) {
      throw new StoreError('store_id_mismatch', 'The remote holds another store than this one')
    }
    const place = { storeId, anchor, head }
    // Of a clone that nobody has audited, what is here counts as seen.
    const here = { ...place, head: before, before }
    if (anchor.verified === undefined) await takeOver(objects, here, options)
    const isKnown = head === before && isVerified(objects, place, options)
    const news = isKnown ? nothingNew : await takeOver(objects, { ...place, before }, options)
    await objects.exchange.track(remote.name, head)
    return {
      remote: remote.name,
      received: { commits: news.commits, bytes },
      sent: nothingSent,
      merge: undefined,
      outcomes: [],
      keyrings: undefined,
      erased: news.erased,
      awaited: [],
      head,
      headWords: headWords(storeId, recordOf(objects, place, options)),
      late: [],
      forkedDevices: [],
    }
  })
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

/** The remote's head, with all of its objects here; no ref has moved. */
async function fetchHead(
  objects: ObjectStore,
  here: Oid,
  { url }: Remote,
  options: TrailOptions,
): Promise<{ readonly head: Oid; readonly bytes: number }> {
  const { signal, access, transfer: progress } = options
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

async function takeOver(
  objects: ObjectStore,
  place: Place & { readonly before: Oid },
  options: TrailOptions,
): Promise<News> {
  const { anchor, before, head } = place
  const trail = await verifyTrail(objects, place, options)
  const wasLeft = await leavesLate(objects, place, trail, options)
  const commits = findOutgoing(objects, head, [before]).length
  const dead = wasLeft ? new Set<Oid>() : objectsBeside(objects, before, head)
  // Each version has a blob of its own, and nothing else of a history goes that is a blob.
  const erased = [...dead].filter((oid) => objects.read(oid)?.type === 'blob').length
  const { snapshot } = trail
  await objects.exclusive(async () => {
    if (head !== before) {
      const transition = { objects: [], expected: before, next: head }
      await objects.commit([{ ...transition, ...(dead.size > 0 && { dead }) }])
    }
    // Only now: the anchor must not know what the store could lose.
    await (wasLeft ? anchor.accept(snapshot.head) : anchor.advance(snapshot.head))
  })
  return { commits, erased }
}

/**
 * Whether others were right to leave out the head that was verified here: a device wrote it that
 * was removed already (FORMAT §7.4). Throws `rolled_back` if it is left out otherwise.
 */
async function leavesLate(
  objects: ObjectStore,
  { storeId, anchor, before, head }: Place & { readonly before: Oid },
  { epochs, snapshot }: VerifiedTrail,
  { identity }: TrailOptions,
): Promise<boolean> {
  try {
    checkFreshness({ objects, storeId, epochs }, anchor, snapshot)
    return false
  } catch (error) {
    if (!hasCode(error, 'rolled_back')) throw error
    // Its own epochs too: what is late may be under one of its own.
    const known = openAuditKeyring(readKeyring(objects, before), storeId, identity).epochs
    const source = { objects, storeId, epochs: new Map([...known, ...epochs]) }
    if (await wasLeftLate(source, before, head)) return true
    throw rolledBackError()
  }
}

/** What only the history of before leads to; nothing where the new one contains it. */
function objectsBeside(objects: ObjectStore, before: Oid, head: Oid): ReadonlySet<Oid> {
  const gone = findOutgoing(objects, before, [head])
  const beside = new Set(objectsOf(objects, gone))
  if (beside.size === 0) return beside
  // A tree may be that of another commit, too: all of the history is looked at.
  for (const oid of objectsOf(objects, findOutgoing(objects, head, []))) beside.delete(oid)
  return beside
}

/** The hash of the record of a head. */
function recordOf(
  objects: ObjectStore,
  { storeId, head }: Pick<Place, 'storeId' | 'head'>,
  { identity }: TrailOptions,
): Uint8Array {
  const { epochs } = openAuditKeyring(readKeyring(objects, head), storeId, identity)
  return decodeCommit(storeId, epochs, head, readCommitBytes(objects, head)).hash
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
    'The remote shows less than this device has verified before: it was put back, or shows ' +
      'another history to you than to others. Nothing was taken over',
  )
}
