// The fetch of a sync, and the verification of the head (FORMAT §8, §9): the objects come into a
// place of their own, and the head is accepted if it verifies and contains the head that its remote
// has shown before. Nothing of it is part of the store yet; a refused head changes nothing here,
// except that its pack is kept. Must not send anything.

import { StoreError, hasCode } from '../../errors.ts'
import { parseLinks } from '../../format/commit.ts'
import { findDevice } from '../../format/directory.ts'
import { verifyRecordSignature } from '../../format/record.ts'
import type { BoundaryChange, Incoming } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { historyDepthMax } from '../../limits.ts'
import { inSlices } from '../../time-slice.ts'
import { connectFetch } from '../../transport/fetch.ts'
import type { FetchConnection, FetchRequest } from '../../transport/remote-access.ts'
import { checkAuthor, findKeyring, findRecovery } from '../access/authority.ts'
import { decodeAt } from '../access/post-revocation.ts'
import { findUnmet } from '../clone/bound-address.ts'
import { lacksStateError } from '../clone/remote-address.ts'
import { containsCommit, firstParents } from '../commits/ancestors.ts'
import { readCommitBytes, verifyDecodedCommit } from '../commits/decoded-commit.ts'
import type { History } from '../history/history.ts'
import { findRecord } from '../history/known-commit.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import type { StoreSession } from '../session/session.ts'
import { boundaryOf, type ObjectSource } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { CloneBeginning } from '../verify/beginning.ts'
import { isVerdict } from '../verify/verdict.ts'
import { lacksWholeError, rewrittenError } from './refusals.ts'
import { findNotedRefusal, judgeUnopened, keepRefusedPack, noteRefusal } from './refused-head.ts'
import {
  containsSeen,
  epochsOf,
  findRefusal,
  knownContainsSeen,
  newKeyrings,
  rolledBackError,
  successorContains,
  verifyRemoteHead,
  verifySuccessor,
} from './remote-head.ts'
import { findKnown, type RemoteHead } from './remote-history.ts'
import { accessOf, eraseRejected, type Peer } from './remote-state.ts'
import { isReplaceable } from './report.ts'

/** How many commits are walked back without a history in RAM. */
const WALK_MAX = 256

/** What the remote shows. */
export type Fetched =
  | { readonly kind: 'empty' }
  /** The remote has shown this head before, and our history contains it. */
  | { readonly kind: 'seen'; readonly head: Oid }
  /** Our own head, or one that it was made on. */
  | { readonly kind: 'ours'; readonly head: SeenHead }
  | FetchedHead

/** A head that is not verified, and the objects that came with it. */
export interface FetchedHead {
  readonly kind: 'fetched'
  readonly head: Oid
  /** The head that the remote has shown before. */
  readonly seen: SeenHead | undefined
  readonly incoming: Incoming
  /** The number of bytes received. */
  readonly bytes: number
  /** Where a clone without the earlier history begins, once all of this is accepted. */
  readonly depth: Depth
}

/** More commits than others usually write between two syncs of a clone. */
const SLACK = 16

/** The commits below which a clone has nothing, as they are with the fetched objects. */
export class Depth {
  #shallow: readonly Oid[]

  constructor(shallow: readonly Oid[]) {
    this.#shallow = shallow
  }

  get shallow(): readonly Oid[] {
    return this.#shallow
  }

  moved({ shallow, unshallow }: BoundaryChange): void {
    const ends = new Set(unshallow)
    this.#shallow = [...new Set([...this.#shallow, ...shallow])].filter((oid) => !ends.has(oid))
  }
}

/**
 * Throws a remote code, `rolled_back`, `remote_moved` for a push alone, or the refusal of a head
 * that was refused for good before.
 */
export async function fetchHead(peer: Peer, incoming: Incoming): Promise<Fetched> {
  const { known, options } = peer
  const connection = await connectFetch(accessOf(peer))
  try {
    const { head } = connection.refs
    known.shows(connection.refs)
    const seen = await known.seen()
    if (head === undefined) {
      if (seen !== undefined && options.repair !== true) throw rolledBackError()
      return { kind: 'empty' }
    }
    const isSeenHere = async (): Promise<boolean> => (await known.seenHere()) !== undefined
    if (seen?.oid === head && (await isSeenHere())) return { kind: 'seen', head }
    if (options.only === 'push') throw movedError()
    const ours = await findOurs(peer.session, head, seen === undefined)
    if (ours !== undefined && (seen === undefined || (await isSeenHere()))) {
      return { kind: 'ours', head: ours }
    }
    const refusal = options.repair === true ? undefined : await findNotedRefusal(peer, head)
    if (refusal !== undefined) throw refusal
    const depth = new Depth(boundaryOf(peer.session.objects))
    const bytes = await fetchMissing(peer, connection, head, { incoming, depth })
    return { kind: 'fetched', head, seen, incoming, bytes, depth }
  } finally {
    await connection.close()
  }
}

/**
 * The remote's head if it is ours, or with `orBefore` one that ours was made on lately: what a
 * join has verified and enrolled a device on, whose history it need not read again.
 */
async function findOurs(
  session: StoreSession,
  head: Oid,
  orBefore: boolean,
): Promise<SeenHead | undefined> {
  const { commit: oid, height, record } = await session.reading((now) => now.head)
  if (oid === head) return { oid, height, record }
  const { objects } = session
  if (!orBefore || objects.read(head) === undefined) return undefined
  for (const before of firstParents(objects, oid, WALK_MAX)) {
    if (before.oid !== head) continue
    const known = decodeAt(session, head)
    return { oid: head, height: known.record.height, record: known.hash }
  }
  return undefined
}

/** Returns the bytes received. Without a boundary, another process has completed the clone. */
async function fetchMissing(
  { session, known, options }: Peer,
  connection: FetchConnection,
  head: Oid,
  { incoming: into, depth }: Pick<FetchedHead, 'incoming' | 'depth'>,
): Promise<number> {
  const { objects, knownCommits } = session
  if (objects.read(head) !== undefined) return 0
  const beginning = depth.shallow.length > 0 ? session.beginning : undefined
  const seen = (await known.seen())?.oid
  const { haves, height } = await session.reading(({ head: ours }) => {
    return { haves: chooseHaves(objects, ours.commit, seen, knownCommits), height: ours.height }
  })
  const wraps = wrapsAt(session, connection)
  const wanted = {
    want: head,
    wants: wraps === undefined || objects.read(wraps) !== undefined ? [] : [wraps],
    haves,
    ...(beginning && {
      shallow: depth.shallow,
      deepen: height - beginning.snapshot.head.height + 1 + SLACK,
    }),
  }
  const received = await connection.fetch({ ...wanted, into, progress: options.transfer })
  depth.moved(received)
  const found = wraps === undefined ? undefined : into.read(wraps)
  if (found !== undefined) await session.learnWraps(found.body)
  return received.bytes
}

/** The wraps of the device that gave the grant of a session, if it has one. */
function wrapsAt({ identity }: StoreSession, { refs }: FetchConnection): Oid | undefined {
  return identity.grant?.blobsAmong(refs.named).wraps
}

async function fetchAgain(
  peer: Peer,
  { head, incoming: into, depth }: FetchedHead,
  how: Pick<FetchRequest, 'haves' | 'shallow' | 'deepen'>,
): Promise<void> {
  const connection = await connectFetch(accessOf(peer))
  try {
    if (connection.refs.head !== head) throw movedError()
    const progress = peer.options.transfer
    depth.moved(await connection.fetch({ want: head, into, progress, ...how }))
  } finally {
    await connection.close()
  }
}

/**
 * Fetches all commits down to where this clone begins or, if something is based on an older
 * version, to the floor of the start. Throws `history_needed`.
 */
async function fetchDeeper(
  peer: Peer,
  fetched: FetchedHead,
  { snapshot, start }: CloneBeginning,
  isSecond: boolean,
): Promise<void> {
  const { session } = peer
  const { head, incoming, depth } = fetched
  const end = isSecond ? start?.floor?.height : snapshot.head.height
  if (end === undefined) throw rewrittenError()
  const below = parseLinks(readCommitBytes(incoming, head)).height - end
  if (below < 0 || below > historyDepthMax) throw rewrittenError()
  const ours = await session.reading((now) => now.head.commit)
  const haves = [head, ours]
  await fetchAgain(peer, fetched, { haves, shallow: depth.shallow, deepen: below + 1 })
}

function movedError(): StoreError {
  return new StoreError(
    'remote_moved',
    'The remote has moved since this store last saw it: pull first, or sync',
  )
}

/**
 * Chooses the commits that a fetch offers as `have`, newest first: few, and closer together near
 * the head, so that the remote finds a common one whatever was added or rewritten since. `known`
 * lists the commits of the history by position; it may be empty if the history is not in RAM.
 */
function chooseHaves(
  objects: ObjectSource,
  head: Oid,
  tracked: Oid | undefined,
  known: { readonly length: number; at(index: number): { readonly oid: Oid } | undefined },
): readonly Oid[] {
  const haves = new Set<Oid>([head])
  if (tracked !== undefined && objects.read(tracked) !== undefined) haves.add(tracked)
  let wanted = 1
  for (const { back, oid } of firstParents(objects, head, WALK_MAX)) {
    if (back !== wanted) continue
    haves.add(oid)
    wanted *= 2
  }
  for (let back = WALK_MAX; back <= known.length; back *= 2) {
    const entry = known.at(-back)
    // Another process may have redacted since, which gives the commit another id.
    if (entry !== undefined && objects.read(entry.oid) !== undefined) haves.add(entry.oid)
  }
  return [...haves]
}

export type FetchVerdict =
  | { readonly kind: 'accepted'; readonly theirs: RemoteHead }
  /** The head is in our own history. */
  | { readonly kind: 'known'; readonly head: SeenHead }
  /** The head is refused, and a repair may replace it. */
  | { readonly kind: 'replaceable'; readonly refusal: StoreError }
  /** It lacks the state with which a grant began this clone. */
  | { readonly kind: 'apart'; readonly refusal: StoreError }

/** `merged`: the snapshot of their head that was merged last. Throws a verdict that refuses it. */
export async function verifyFetched(
  peer: Peer,
  fetched: FetchedHead,
  merged: Snapshot | undefined,
): Promise<FetchVerdict> {
  const { session, options } = peer
  const successor = await findSuccessor(peer, fetched)
  // A head that lacks the state that the address names is refused below.
  if (successor !== undefined && !(await lacksState(peer, successor))) {
    return { kind: 'accepted', theirs: successor }
  }
  const history = await session.loadHistory(options)
  try {
    return await verifyCompletely(peer, history, fetched, merged)
  } catch (error) {
    const { identity, beginning } = session
    const isPartial = identity.grant !== undefined && beginning !== undefined
    if (!isPartial || !isVerdict(error) || !hasCode(error, 'history_needed')) {
      return refuse(peer, history, fetched, error)
    }
    const forgery = await checkHeadAuthor(peer, fetched).catch((found: unknown) => ({ found }))
    if (forgery !== undefined) return refuse(peer, history, fetched, forgery.found)
    if (!(await isBelow(peer, fetched, beginning))) return { kind: 'apart', refusal: error }
    return verifyFromGenesis(peer, fetched)
  }
}

async function refuse(
  peer: Peer,
  history: History,
  { head, seen, incoming }: FetchedHead,
  refused: unknown,
): Promise<FetchVerdict> {
  const { session, remote, options } = peer
  if (!isVerdict(refused)) throw refused
  const from = { session, objects: incoming }
  const error = hasCode(refused, 'wrong_key')
    ? await judgeUnopened(from, history, head, seen, options)
    : refused
  const mayReplace = options.repair === true && options.only !== 'pull' && isReplaceable(error)
  // A remote on which our history was never seen may belong to another store.
  const wasOurs = seen !== undefined && findRecord(session, history, seen) !== undefined
  if (mayReplace && wasOurs) return { kind: 'replaceable', refusal: error }
  const what = { remote, head, incoming }
  const verdict = await keepRefusedPack(session, history, what, error, options.signal)
  await noteRefusal(peer, head, verdict)
  throw verdict
}

/**
 * Judges the author of a head by what this clone knows. A clone without its early history asks
 * before it fetches more: a reader, who has the group key, could otherwise work with the host and
 * have each clone fetch and verify everything, for a head that is plainly forged.
 *
 * Throws a code of verification if the head is refused whatever its history may be. An id is the
 * hash of a key, so that a signature that is false under a known id remains so. The rights of a
 * device are certain where the head has the keyring that is in force here: under another one it may
 * have another role, or an unknown author may have been admitted. A grant for changes may have been
 * begun there, or begun again in another role.
 */
async function checkHeadAuthor(
  { session, options }: Peer,
  { head, incoming }: FetchedHead,
): Promise<void> {
  const { storeId } = session
  const epochs = await epochsOf({ session, objects: incoming }, head, options.signal)
  const bytes = readCommitBytes(incoming, head)
  const commit = verifyDecodedCommit(storeId, epochs, head, bytes)
  const { record, epoch, body, signature } = commit
  const { keyring, grants } = await session.reading((now) => now)
  const { directory } = keyring
  const grant = grants.get(record.deviceId)
  const member = findDevice(directory, record.deviceId) ?? findRecovery(directory, record.deviceId)
  const key = member?.signingKey ?? grant?.key
  const checkSignature = (publicKey: Uint8Array): void => {
    verifyRecordSignature(epoch, body, signature, publicKey)
  }
  if (key !== undefined) checkSignature(key)
  const mayBeGrant = member === undefined && record.kind === 'change'
  if (mayBeGrant || findKeyring(incoming, head) !== keyring.oid) return
  // That a device was forked may not be known there.
  const past = { keyring, deviceOf: () => undefined, grantOf: () => grant }
  checkAuthor(past, { record, checkSignature }, undefined)
}

/**
 * Whether a head has the state that this clone began with, and so all that is below it here: then
 * only something was merged that is based on an older version. The head's author is
 * checked before: without a key, no one chooses that all of the history is fetched.
 */
async function isBelow(
  { options }: Peer,
  { head, incoming }: FetchedHead,
  { snapshot }: CloneBeginning,
): Promise<boolean> {
  if (options.staysPartial === true) return false
  try {
    const { commit } = snapshot.head
    return await inSlices(containsCommit(incoming, head, commit), options.signal)
  } catch (error) {
    if (!hasCode(error, 'object_missing')) throw error
    return false
  }
}

/** Fetches and verifies all of our history, as `fetch --all` does, and then the head. */
async function verifyFromGenesis(peer: Peer, fetched: FetchedHead): Promise<FetchVerdict> {
  const { session, options } = peer
  const { head, incoming, depth } = fetched
  // Imported here: few clones lack a part of the history.
  const { ALL, beginWhole, verifyWhole } = await import('../clone/fetch-all.ts')
  const ours = await session.reading((now) => now.head.commit)
  const how = { haves: [head, ours], shallow: depth.shallow, deepen: ALL }
  // A process that died may have fetched all of it.
  const fetching = depth.shallow.length > 0 ? fetchAgain(peer, fetched, how) : Promise.resolve()
  const verifying = fetching.then(() => verifyWhole(session, incoming, options))
  const whole = await verifying.catch((error: unknown) => {
    throw lacksWholeError(error)
  })
  try {
    const verdict = await verifyOnce(peer, whole.history, fetched, undefined)
    if (verdict.kind !== 'accepted') return verdict
    return { ...verdict, theirs: { ...verdict.theirs, begin: () => beginWhole(session, whole) } }
  } catch (error) {
    return refuse(peer, whole.history, fetched, error)
  }
}

/** The verified head if it adds to ours. Any other head is verified with our history. */
async function findSuccessor(
  { session, options }: Peer,
  { head, seen, incoming }: FetchedHead,
): Promise<RemoteHead | undefined> {
  try {
    const how = { ...options, wasShown: seen !== undefined }
    const theirs = await verifySuccessor({ session, objects: incoming }, head, how)
    if (theirs === undefined || theirs.records.size === 0) return undefined
    if (seen === undefined || options.repair === true) return theirs
    return (await successorContains(session, theirs, seen)) ? theirs : undefined
  } catch (error) {
    if (!isVerdict(error)) throw error
    return undefined
  }
}

/** Verifies, and fetches missing objects and verifies again at most twice. */
async function verifyCompletely(
  peer: Peer,
  history: History,
  fetched: FetchedHead,
  merged: Snapshot | undefined,
): Promise<FetchVerdict> {
  const { beginning } = peer.session
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await verifyOnce(peer, history, fetched, attempt === 1 ? merged : undefined)
    } catch (error) {
      if (!hasCode(error, 'object_missing')) throw error
      if (beginning !== undefined) {
        if (attempt > 2) throw rewrittenError(error)
        if (attempt === 1) await checkHeadAuthor(peer, fetched)
        await fetchDeeper(peer, fetched, beginning, attempt === 2)
      } else {
        if (attempt > 1) throw error
        // Every object: an interrupted sync may have left only a part of it here.
        await fetchAgain(peer, fetched, { haves: [] })
      }
    }
  }
}

/** Whether neither this clone nor the head has the state that the remote's address names. */
async function lacksState({ session, remote, options }: Peer, theirs: RemoteHead) {
  const address = await findUnmet(session, remote, options)
  return address !== undefined && !(await address.isMetBy(newKeyrings(session, theirs)))
}

async function verifyOnce(
  peer: Peer,
  history: History,
  { head, seen, incoming }: FetchedHead,
  merged: Snapshot | undefined,
): Promise<FetchVerdict> {
  const { session, options } = peer
  const expected = options.repair === true ? undefined : seen
  const known = findKnown(incoming, history, head)
  if (known !== undefined) {
    const isFresh =
      expected === undefined || (await knownContainsSeen(session, history, known, expected))
    if (!isFresh) throw rolledBackError()
    const { oid, height } = known
    return { kind: 'known', head: { oid, height, record: decodeAt(session, oid).hash } }
  }
  const how = { ...options, wasShown: seen !== undefined, merged }
  const theirs = await verifyRemoteHead({ session, objects: incoming }, history, head, how)
  const isFresh = expected === undefined || (await containsSeen(session, history, theirs, expected))
  const refusal =
    (isFresh ? undefined : await findRefusal(session, theirs, options)) ??
    ((await lacksState(peer, theirs)) ? lacksStateError() : undefined)
  if (refusal === undefined) return { kind: 'accepted', theirs }
  await eraseRejected(session, incoming, theirs, options)
  throw refusal
}
