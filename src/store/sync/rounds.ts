// Runs rounds of fetch, verify, reconcile and push, until no other clone has pushed in between. Two
// clones that race for the branch both finish: the loser adopts the commits of the winner. Adopts
// all of a verified head or, if a removed device went on writing, the part from before its
// revocation (FORMAT §7.4).

import { hasCode, type StoreError } from '../../errors.ts'
import type { Incoming } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { isOwner } from '../access/lateness.ts'
import { decodeAt, findLateHead, type LateHead } from '../access/post-revocation.ts'
import { findUnmet } from '../clone/bound-address.ts'
import { lacksStateError } from '../clone/remote-address.ts'
import type { Author } from '../commits/commit-context.ts'
import { type Conflict, findConflicts } from '../history/conflicts.ts'
import type { History, HistorySource } from '../history/history.ts'
import { findRecord } from '../history/known-commit.ts'
import { readConsistently } from '../history/read-consistently.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import { beginningOf, hasMoved } from '../session/one-state.ts'
import type { StoreSession } from '../session/session.ts'
import type { Build } from '../session/writer.ts'
import type { Head, Snapshot } from '../snapshot/snapshot.ts'
import { isVerdict } from '../verify/verdict.ts'
import { BackOff } from './back-off.ts'
import { checkIsCurrent } from './current.ts'
import { type Fetched, type FetchedHead, fetchHead, verifyFetched } from './fetch.ts'
import type { Sender } from './push.ts'
import { reconcile } from './reconcile.ts'
import { redoLeft } from './redo.ts'
import { inOrderOfWeight, type LateChange, readLateChanges } from './refusals.ts'
import { verifyRemoteHead } from './remote-head.ts'
import { type RemoteHead, seenAs, sourceWith } from './remote-history.ts'
import { eraseRejected, findSettled, noteFetches, type Peer } from './remote-state.ts'
import {
  addResult,
  addWork,
  type GrantWork,
  type Moved,
  noGrantWork,
  nothingMoved,
  nothingSent,
  type ReconcileResult,
  type ReplacedHead,
  type SyncOptions,
  type SyncReport,
} from './report.ts'
import { writeAllAgain, writeTheirGrantsAgain } from './take-theirs.ts'

/**
 * After a lost race our own commands wait for the further rounds, but no longer than this. If they
 * never stop, each round has more to send than the one before and gets half of the processor, so
 * that another clone has pushed each time that it is done.
 */
const HOLD_MS = 2000

/** The sum of all rounds so far. */
interface RoundTotals {
  readonly received: SyncReport['received']
  readonly reconciled: ReconcileResult
  /** By commit: another round may find the same ones again. */
  readonly late: ReadonlyMap<Oid, LateChange>
  readonly replaced: ReplacedHead | undefined
  /** The snapshot of their head that was merged last: the next round verifies from there. */
  readonly merged: Snapshot | undefined
}

/** Returns the sum of all rounds. Throws as `syncStore`. */
export async function receiveAndSend(peer: Peer, sender: Sender, author: Author): Promise<Moved> {
  const { session, options } = peer
  const before = await session.reading(({ head }) => head)
  let progress: RoundTotals = {
    received: { commits: 0, bytes: 0 },
    reconciled: nothingMoved,
    late: new Map(),
    replaced: undefined,
    merged: undefined,
  }
  const backOff = new BackOff(session, options)
  let goOn: (() => void) | undefined
  try {
    for (;;) {
      const beginning = beginningOf(session)
      let isReceived = false
      try {
        const received = await receive(peer, sender, author, progress.merged)
        isReceived = true
        progress = addReceived(progress, received)
        const sent = options.only === 'pull' ? nothingSent : await sender.send(received.head)
        return await sumOf(peer, before, progress, sent)
      } catch (error) {
        await sender.release()
        const isLost = hasCode(error, 'remote_moved')
        // A push alone adopts nothing, so another round cannot help if the remote has moved.
        if (isLost && !isReceived && options.only === 'push') throw error
        if (!backOff.mayGoOn(error)) throw error
        if (!(await hasMoved(session, beginning, error))) throw error
        // After a failure, verification starts from the common history again.
        if (!isReceived && !isLost) progress = { ...progress, merged: undefined }
        await backOff.pause(error)
        if (isLost) goOn ??= session.holdBack(HOLD_MS)
      }
    }
  } finally {
    goOn?.()
    await sender.release()
  }
}

async function sumOf(
  { session, options }: Peer,
  before: Head,
  { received, reconciled, late, replaced }: RoundTotals,
  sent: Moved['sent'],
): Promise<Moved> {
  const { hasMerges, merge, outcomes, settings, builtOnRedacted, erased } = reconciled
  const { hasRepeated, grantWork, begunAnew } = reconciled
  const mergedElsewhere = hasMerges ? await findMergedElsewhere(session, before, options) : []
  const taken = { merge, outcomes, mergedElsewhere, settings, builtOnRedacted, erased }
  const again = { hasRepeated, grantWork, replaced, begunAnew }
  return { received, ...taken, ...again, late: [...late.values()], sent }
}

function addReceived(
  { received, reconciled, late, replaced }: RoundTotals,
  { bytes, ...more }: Received,
): RoundTotals {
  return {
    received: {
      commits: received.commits + more.reconciled.received,
      bytes: received.bytes + bytes,
    },
    reconciled: addResult(reconciled, more.reconciled),
    late: new Map([...late, ...more.late.map((change) => [change.commit, change] as const)]),
    replaced: more.replaced ?? replaced,
    merged: more.merged,
  }
}

/** The result of fetching, verifying and adopting the head of a remote. */
interface Received extends Omit<Adopted, 'head'> {
  /** The remote's head; undefined for an empty remote. */
  readonly head: Oid | undefined
  readonly bytes: number
  /** The remote's head, if it does not verify and a repair replaces it. */
  readonly replaced?: ReplacedHead | undefined
}

/** Adopts the head of the remote, after which no refused one is kept. */
async function receive(
  peer: Peer,
  sender: Sender,
  author: Author,
  merged: Snapshot | undefined,
): Promise<Received> {
  const { session, known, options } = peer
  const mark = await known.mark()
  const incoming = session.objects.exchange.incoming()
  try {
    const received = await adoptFetched(peer, await fetchHead(peer, incoming), {
      sender,
      author,
      merged,
      mark,
    })
    // A repair replaces the head that was refused, and has not yet.
    if (received.head !== undefined && options.repair !== true) await known.forgetRefused()
    return received
  } finally {
    incoming.drop()
  }
}

/** Throws `rolled_back` if this clone lacks the state that the remote's address names. */
async function checkHasState({ session, remote, options }: Peer): Promise<void> {
  if ((await findUnmet(session, remote, options)) !== undefined) throw lacksStateError()
}

interface Adopting {
  readonly sender: Sender
  readonly author: Author
  readonly merged: Snapshot | undefined
  /** Since when the fetch runs. */
  readonly mark: number
}

async function adoptFetched(
  peer: Peer,
  fetched: Fetched,
  { sender, author, merged, mark }: Adopting,
): Promise<Received> {
  const nothing = { bytes: 0, reconciled: nothingMoved, late: [], merged: undefined }
  if (fetched.kind !== 'fetched') await checkHasState(peer)
  if (fetched.kind === 'empty') return { ...nothing, head: undefined }
  if (fetched.kind !== 'fetched') await checkIsCurrent(peer)
  if (fetched.kind === 'seen') return { ...nothing, head: fetched.head }
  if (fetched.kind === 'ours') {
    await settle(peer, fetched.head, mark)
    return { ...nothing, head: fetched.head.oid }
  }
  const { head, bytes, incoming } = fetched
  const verified = await verifyFetched(peer, fetched, merged)
  if (verified.kind === 'apart') {
    // Imported here: a redaction below the beginning of a clone is rare.
    const { beginAnew } = await import('./begin-anew.ts')
    const begun = await beginAnew(peer, author, verified.refusal)
    await settle(peer, begun.head, mark)
    return { ...nothing, ...begun, bytes: bytes + begun.bytes, head: begun.head.oid }
  }
  if (verified.kind === 'replaceable') {
    const adopted = await adoptGood(peer, fetched, verified.refusal, author)
    await settle(peer, undefined, mark)
    return { ...adopted, head, bytes }
  }
  if (verified.kind !== 'accepted') {
    await checkHasState(peer)
    if (verified.kind === 'known') await checkIsCurrent(peer)
    await settle(peer, verified.kind === 'known' ? verified.head : undefined, mark)
    return { ...nothing, head, bytes }
  }
  const { session, options } = peer
  await checkIsCurrent(peer, verified.theirs.snapshot, incoming)
  // After a lost race little is merged, so that the connection does not wait for long.
  if (merged !== undefined && options.only !== 'pull' && !verified.theirs.isSuccessor) {
    await sender.prepare(head)
  }
  const adopted = await adopt({ session, options, incoming, theirs: verified.theirs }, author)
  const intactBelow = adopted.reconciled.theirsIntactBelow
  await settle(peer, adopted.head && { ...adopted.head, intactBelow }, mark)
  return { ...adopted, head, bytes }
}

/** Adopts what verifies below a head that does not, before a repair replaces that head. */
async function adoptGood(
  { session, options }: Peer,
  { head, incoming }: FetchedHead,
  refusal: StoreError,
  author: Author,
): Promise<Omit<Adopted, 'head'> & Pick<Received, 'replaced'>> {
  // Imported here: few remotes are repaired.
  const { acceptAncestor, GoodAncestors } = await import('./repair.ts')
  const from = { session, head, incoming, options }
  let adopted: Omit<Adopted, 'head'> = { reconciled: nothingMoved, late: [], merged: undefined }
  // Where the history begins with a start, nothing shows what a bad commit rests on.
  if (session.beginning !== undefined) return adopted
  const good = await GoodAncestors.of(from)
  for (let theirs = await good.next(); theirs !== undefined; theirs = await good.next()) {
    await acceptAncestor(from, theirs)
    const accepted = session.objects.exchange.incoming()
    try {
      const next = await adopt({ session, options, incoming: accepted, theirs }, author)
      adopted = {
        reconciled: addResult(adopted.reconciled, next.reconciled),
        late: [...adopted.late, ...next.late],
        merged: undefined,
      }
    } finally {
      accepted.drop()
    }
  }
  return { ...adopted, replaced: good.report(head, refusal) }
}

/** Notes the head that the remote has shown, and forgets the fetches that are done with. */
async function settle(
  { session, known, options }: Peer,
  head: SeenHead | undefined,
  mark: number,
): Promise<void> {
  const { objects, seenRemotes } = session
  const settled = await findSettled(session, options)
  // A repair replaces this head, so it is not treated as seen.
  if (head !== undefined && options.repair !== true) await known.note(head, mark, settled)
  else if (settled.length > 0) await objects.exclusive(() => seenRemotes.forgetFetches(settled))
}

/** The merges of other devices above `before`; this device may have merged more than once since. */
async function findMergedElsewhere(
  session: StoreSession,
  before: Head,
  options: SyncOptions,
): Promise<readonly Conflict[]> {
  const { deviceId: own } = session.identity
  const find = function* (history: History): Generator<undefined, readonly Conflict[]> {
    const known = findRecord(session, history, before)
    // Not in the history any more: it was late (FORMAT §7.4).
    if (known === undefined) return []
    const isKnown = history.pastOf(known)
    return yield* findConflicts(history, { limit: Infinity }, ({ position, deviceId }) => {
      return deviceId !== own && !isKnown(position)
    })
  }
  return readConsistently(session, find, options)
}

interface Adopted {
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
async function adopt(candidate: AdoptionCandidate, author: Author): Promise<Adopted> {
  const { session, theirs, options } = candidate
  let done: Omit<Adopted, 'late'> = { reconciled: nothingMoved, head: undefined, merged: undefined }
  await beginEarlier(candidate)
  for (;;) {
    const tip = await session.reading((snapshot) => snapshot)
    const source = sourceWith(session, theirs)
    const keepsOurs = keepsOwnKeyring(session, tip, options)
    const how = { keepsOurs, signal: options.signal }
    const late = await findLateHead(source, { ours: tip, theirs: theirs.snapshot }, how)
    const part =
      late === undefined ? theirs : await findNewestBeforeRevocation(candidate, source, late)
    if (part === undefined) return leaveLate(candidate, done, late, author)
    await acceptObjects(candidate)
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
  const { devices, commits, work } = await repeatLeft(candidate, late, author)
  const rejected = await rejectLate(candidate, late?.commits ?? [])
  const lost = rejected.filter(({ kind, deviceId, commit }) => {
    return !commits.has(commit) && (kind !== 'change' || !devices.includes(deviceId))
  })
  const hasRepeated = done.reconciled.hasRepeated || devices.length > 0
  const grantWork = addWork(done.reconciled.grantWork, work)
  return {
    ...done,
    reconciled: { ...done.reconciled, hasRepeated, grantWork },
    late: inOrderOfWeight([...done.reconciled.leftLate, ...lost]),
  }
}

interface RepeatedLine {
  /** The devices whose changes are here again. */
  readonly devices: readonly string[]
  /** The commits whose effect is here. */
  readonly commits: ReadonlySet<Oid>
  readonly work: GrantWork
}

/**
 * Repeats what devices in force wrote on a dropped line, what the owner chose of it, and what
 * grants in force wrote on late records.
 */
async function repeatLeft(
  { session, theirs, options }: AdoptionCandidate,
  late: LateHead | undefined,
  author: Author,
): Promise<RepeatedLine> {
  if (late === undefined) return { devices: [], commits: new Set(), work: noGrantWork }
  const { left, isConflict } = late
  const line = { source: sourceWith(session, theirs), head: theirs.snapshot.head.commit, left }
  const devices = isConflict ? await writeAllAgain(session, line, author, options) : []
  const redone = isConflict ? await redoLeft(session, line, author, options) : []
  // A pull sends nothing, and the sync that does finds these records again.
  const isPull = options.only === 'pull' || session.identity.grant !== undefined
  if (isPull) return { devices, commits: new Set(redone), work: noGrantWork }
  const { commits, work } = await writeTheirGrantsAgain(session, line, author, options)
  return { devices, commits: new Set([...redone, ...commits]), work }
}

/** Has this clone begin where a head was verified from: late commits are looked for from there. */
async function beginEarlier(candidate: AdoptionCandidate): Promise<void> {
  const { begin } = candidate.theirs
  if (begin === undefined) return
  await acceptObjects(candidate)
  const write: Build<void> = async () => {
    await begin()
    return { built: undefined, result: undefined }
  }
  await candidate.session.writing(write, true)
}

/** Makes the fetched objects part of the store; noted first, in case this process dies. */
async function acceptObjects({ session, incoming, theirs }: AdoptionCandidate): Promise<void> {
  if (incoming.isEmpty) return
  await noteFetches(session, [theirs.snapshot.head.commit])
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
