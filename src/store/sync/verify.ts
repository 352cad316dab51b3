// The verification of a fetched head (FORMAT §8, §9): accepts it if it verifies and contains what
// its remote has shown before. A refused head changes nothing here, except that its pack is kept.

import { hasCode, type StoreError } from '../../errors.ts'
import { meetingOf } from '../access/post-revocation.ts'
import { decodeCommit, readCommitBytes } from '../commits/decoded-commit.ts'
import { findDivergence } from '../commits/divergence.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import { findRecord } from '../history/known-commit.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import type { StoreSession } from '../session/session.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { eraseRejected } from './erase.ts'
import { fetchAll, type FetchedHead } from './fetch.ts'
import { keyringConflictError } from './refusals.ts'
import { judgeUnopened, keepRefusedPack } from './refused-head.ts'
import {
  containsSeen,
  findKnown,
  knownContainsSeen,
  rolledBackError,
  successorContains,
  verifyRemoteHead,
  verifySuccessor,
} from './remote-head.ts'
import type { RemoteHead } from './remote-history.ts'
import type { Peer } from './remote-state.ts'
import { isReplaceable, isVerdict } from './report.ts'

export type Verified =
  | { readonly kind: 'accepted'; readonly theirs: RemoteHead }
  /** The head is in our own history. */
  | { readonly kind: 'known'; readonly head: SeenHead }
  /** The head is refused, and a repair may replace it. */
  | { readonly kind: 'replaceable' }

/** `merged`: the snapshot of their head that was merged last. Throws a verdict that refuses it. */
export async function verifyFetched(
  peer: Peer,
  fetched: FetchedHead,
  merged: Snapshot | undefined,
): Promise<Verified> {
  const { session, remote, options } = peer
  const successor = await findSuccessor(peer, fetched)
  if (successor !== undefined) return { kind: 'accepted', theirs: successor }
  const history = await session.loadHistory(options)
  try {
    return await verifyCompletely(peer, history, fetched, merged)
  } catch (refused) {
    if (!isVerdict(refused)) throw refused
    const { head, seen, incoming } = fetched
    const from = { session, objects: incoming }
    const error = hasCode(refused, 'wrong_key')
      ? await judgeUnopened(from, history, head, seen, options)
      : refused
    const mayReplace = options.repair === true && options.only !== 'pull' && isReplaceable(error)
    // A remote on which our history was never seen may belong to another store.
    const wasOurs = seen !== undefined && findRecord(session, history, seen) !== undefined
    if (mayReplace && wasOurs) return { kind: 'replaceable' }
    throw await keepRefusedPack(session, history, { remote, head, incoming }, error, options.signal)
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

/** Fetches every object and verifies again if one is missing. */
async function verifyCompletely(
  peer: Peer,
  history: History,
  fetched: FetchedHead,
  merged: Snapshot | undefined,
): Promise<Verified> {
  try {
    return await verifyOnce(peer, history, fetched, merged)
  } catch (error) {
    if (!hasCode(error, 'object_missing')) throw error
    // An interrupted sync may have left only a part of it here.
    await fetchAll(peer, fetched)
    return verifyOnce(peer, history, fetched, undefined)
  }
}

async function verifyOnce(
  { session, options }: Peer,
  history: History,
  { head, seen, incoming }: FetchedHead,
  merged: Snapshot | undefined,
): Promise<Verified> {
  const expected = options.repair === true ? undefined : seen
  const known = findKnown(incoming, history, head)
  if (known !== undefined) {
    const isFresh =
      expected === undefined || (await knownContainsSeen(session, history, known, expected))
    if (!isFresh) throw rolledBackError()
    return { kind: 'known', head: readSeen(session, known) }
  }
  const how = { ...options, wasShown: seen !== undefined, merged }
  const theirs = await verifyRemoteHead({ session, objects: incoming }, history, head, how)
  const isFresh = expected === undefined || (await containsSeen(session, history, theirs, expected))
  const refusal = isFresh ? undefined : await findRefusal(session, theirs, options)
  if (refusal === undefined) return { kind: 'accepted', theirs }
  await eraseRejected(session, incoming, theirs, options)
  throw refusal
}

/**
 * The refusal of a head that lacks what the remote showed before; undefined if both sides changed
 * the keyring and the user chose to follow the remote.
 */
async function findRefusal(
  session: StoreSession,
  { objects, snapshot, epochs }: RemoteHead,
  { signal, takeTheirs }: Peer['options'],
): Promise<StoreError | undefined> {
  const { storeId } = session
  const ours = await session.reading(({ head, keyring }) => ({ head, keyring }))
  const source = { objects, storeId, epochs: new Map([...session.epochs, ...epochs]) }
  const [our, their] = [ours.head.commit, snapshot.head.commit]
  const divergence = await findDivergence(source, our, their, signal)
  const tips = { ours: ours.keyring.directory, theirs: snapshot.keyring.directory }
  const { isConflict } = await meetingOf(source, tips, divergence, signal)
  if (!isConflict) return rolledBackError()
  return takeTheirs === true ? undefined : keyringConflictError(source, divergence, true)
}

function readSeen(
  { objects, storeId, epochs }: StoreSession,
  { oid, height }: CommitEntry,
): SeenHead {
  const { hash } = decodeCommit(storeId, epochs, oid, readCommitBytes(objects, oid))
  return { oid, height, record: hash }
}
