// Adopts a verified head: all of it or, if a removed device went on writing, the part from before
// its revocation (FORMAT §7.4). The fetched objects become part of the store once some are
// adopted; the rest must not bring back redacted versions. Must only be given a verified head.

import { hasCode } from '../../errors.ts'
import type { Incoming } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { isOwner } from '../access/lateness.ts'
import { decodeAt, findLateHead, type LateHead } from '../access/post-revocation.ts'
import type { Author } from '../commits/commit-context.ts'
import type { History, HistorySource } from '../history/history.ts'
import { findRecord } from '../history/known-commit.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import type { StoreSession } from '../session/session.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { eraseRejected, noteFetches } from './erase.ts'
import { reconcile } from './reconcile.ts'
import { redoLeft } from './redo.ts'
import { inOrderOfWeight, type LateChange, readLateChanges } from './refusals.ts'
import { verifyRemoteHead } from './remote-head.ts'
import { type RemoteHead, sourceWith } from './remote-history.ts'
import {
  type SyncOptions,
  addResult,
  isVerdict,
  nothingMoved,
  type ReconcileResult,
} from './report.ts'
import { writeAllAgain } from './take-theirs.ts'

export interface Adopted {
  readonly reconciled: ReconcileResult
  /** The head that the remote must contain from now on; undefined if nothing was adopted. */
  readonly head: SeenHead | undefined
  /** The verified snapshot of the head that was merged last: the next round verifies from there. */
  readonly merged: Snapshot | undefined
  /** Late commits, which were not adopted, newest first (FORMAT §7.4). */
  readonly late: readonly LateChange[]
}

/** A verified head, and the objects that were fetched for it. */
interface AdoptionCandidate {
  readonly session: StoreSession
  readonly options: SyncOptions
  readonly incoming: Incoming
  readonly theirs: RemoteHead
}

/** If the head is late, adopts the part before that (FORMAT §7.4); the push replaces the rest. */
export async function adopt(candidate: AdoptionCandidate, author: Author): Promise<Adopted> {
  const { session, theirs, options } = candidate
  const head = theirs.snapshot.head.commit
  let done: Omit<Adopted, 'late'> = { reconciled: nothingMoved, head: undefined, merged: undefined }
  for (;;) {
    const tip = await session.reading((snapshot) => snapshot)
    const source = sourceWith(session, theirs)
    const keepsOurs = keepsOwnKeyring(session, tip, options)
    const how = { keepsOurs, signal: options.signal }
    const late = await findLateHead(source, { ours: tip, theirs: theirs.snapshot }, how)
    const part =
      late === undefined ? theirs : await findNewestBeforeRevocation(candidate, source, late)
    if (part === undefined) return leaveLate(candidate, done, late, author)
    await acceptObjects(candidate, head)
    const reconciled = await reconcileOrErase(candidate, part, tip, author)
    // Our keyring or grants have changed since, so other commits may be late.
    if (reconciled === undefined) continue
    done = {
      reconciled: addResult(done.reconciled, reconciled),
      head: seenAs(part),
      merged: part.snapshot,
    }
    if (part === theirs) return { ...done, late: done.reconciled.leftLate }
  }
}

/** Only an owner keeps its own changes of the keyring if others have changed it too. */
function keepsOwnKeyring(
  { identity }: StoreSession,
  { keyring }: Pick<Snapshot, 'keyring'>,
  { repair, takeTheirs }: SyncOptions,
): boolean {
  return repair === true && takeTheirs !== true && isOwner(keyring.directory, identity.deviceId)
}

/** Lists the remaining late commits, after repeating those that may be repeated. */
async function leaveLate(
  candidate: AdoptionCandidate,
  done: Omit<Adopted, 'late'>,
  late: LateHead | undefined,
  author: Author,
): Promise<Adopted> {
  const { devices, commits } = await repeatLeft(candidate, late, author)
  const rejected = await rejectLate(candidate, late?.commits ?? [])
  const lost = rejected.filter(({ kind, deviceId, commit }) => {
    return !commits.has(commit) && (kind !== 'change' || !devices.includes(deviceId))
  })
  const hasRepeated = done.reconciled.hasRepeated || devices.length > 0
  return {
    ...done,
    reconciled: { ...done.reconciled, hasRepeated },
    late: inOrderOfWeight([...done.reconciled.leftLate, ...lost]),
  }
}

/** Repeats what devices in force wrote on a dropped line, and what the owner chose of it. */
async function repeatLeft(
  { session, theirs, options }: AdoptionCandidate,
  late: LateHead | undefined,
  author: Author,
): Promise<{ readonly devices: readonly string[]; readonly commits: ReadonlySet<Oid> }> {
  if (late?.isConflict !== true) return { devices: [], commits: new Set() }
  const { left } = late
  const line = { source: sourceWith(session, theirs), head: theirs.snapshot.head.commit, left }
  const devices = await writeAllAgain(session, line, author, options)
  const commits = await redoLeft(session, line, author, options)
  return { devices, commits }
}

/** Makes the fetched objects part of the store; noted first, in case this process dies. */
async function acceptObjects({ session, incoming }: AdoptionCandidate, head: Oid): Promise<void> {
  if (incoming.isEmpty) return
  await noteFetches(session, [head])
  await incoming.accept()
}

/** Reconciles `part`. If it is refused, erases redacted versions that the whole head brought. */
async function reconcileOrErase(
  { session, theirs, incoming, options }: AdoptionCandidate,
  part: RemoteHead,
  tip: Snapshot,
  author: Author,
): Promise<ReconcileResult | undefined> {
  try {
    return await reconcile(session, part, tip, author, options)
  } catch (error) {
    if (isVerdict(error)) await eraseRejected(session, incoming, theirs, options)
    throw error
  }
}

/** The newest commit of a head that is not late and not ours yet; undefined without one. */
async function findNewestBeforeRevocation(
  { session, incoming, options }: AdoptionCandidate,
  source: HistorySource,
  { kept }: LateHead,
): Promise<RemoteHead | undefined> {
  const history = await session.loadHistory(options)
  const isOurs = isOfOurs(source, history)
  for (const oid of kept.toReversed()) {
    // All above it is late. Compared by record: a redaction may have changed the commit id.
    if (isOurs(oid)) return undefined
    try {
      return await verifyRemoteHead({ session, objects: incoming }, history, oid, options)
    } catch (error) {
      // A late redaction has erased details, and no valid record accounts for that.
      if (!hasCode(error, 'detail_missing')) throw error
    }
  }
  return undefined
}

/** Describes the commits of a head that are not in our history, and erases their contents. */
async function rejectLate(
  { session, incoming, theirs, options }: AdoptionCandidate,
  commits: readonly Oid[],
): Promise<readonly LateChange[]> {
  const source = sourceWith(session, theirs)
  const isOurs = isOfOurs(source, await session.loadHistory(options))
  const changes = readLateChanges(
    source,
    commits.filter((oid) => !isOurs(oid)),
  )
  await eraseRejected(session, incoming, theirs, options)
  return changes
}

/** Whether our history has the record of a commit, under whichever commit id. */
function isOfOurs(source: HistorySource, history: History): (oid: Oid) => boolean {
  return (oid) => {
    const { record, hash } = decodeAt(source, oid)
    return findRecord(source, history, { height: record.height, record: hash }) !== undefined
  }
}

function seenAs({ snapshot }: RemoteHead): SeenHead {
  const { commit: oid, height, record } = snapshot.head
  return { oid, height, record }
}
