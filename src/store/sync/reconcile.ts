// Makes one history of ours and theirs in one transition of the branch (FORMAT §6.4, §10.1): first
// removes from both what either side has redacted; then adopts the head that contains the other, or
// merges them. Redactions commute, so every clone ends with the same commits. Must only be given a
// verified head.

import { equalBytes, toHex } from '../../bytes.ts'
import { assert } from '../../errors.ts'
import { findTreeEntry, type NewObject, type Oid } from '../../git/objects/object.ts'
import { differInRights, type Rights } from '../access/post-revocation.ts'
import type { Author } from '../commits/commit-context.ts'
import type { BuiltCommit } from '../commits/commit.ts'
import { type Divergence, findDivergence } from '../commits/divergence.ts'
import type { History } from '../history/history.ts'
import { findRecord } from '../history/known-commit.ts'
import { lowestOf, rewriteHead, type Rewritten } from '../redaction/rewrite.ts'
import type { StoreSession } from '../session/session.ts'
import type { Build } from '../session/writer.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { type MergedHeads, mergeHeads } from './merge.ts'
import { notCanonicalError } from './refusals.ts'
import { compareSettings, includesRecord, isBuiltOnRedacted } from './remote-head.ts'
import {
  type AppliedRedactions,
  afterRewrite,
  loadTheirs,
  type RemoteHead,
  RemoteHistory,
  sourceWith,
} from './remote-history.ts'
import { buildErasure } from './remote-state.ts'
import { type SyncOptions, nothingMoved, type ReconcileResult } from './report.ts'
import { decideLeaving, type FollowingHeads, type Leaving, takeTheirs } from './take-theirs.ts'
/**
 * The branch has moved durably when it resolves. Undefined, with nothing done, if the keyring or an
 * end of a grant is newer here than in `tip`, by which theirs was found not to be late. Throws
 * `change_too_large` if a merge needs more rows than a commit holds, `keyring_conflict` and storage
 * codes.
 */
export async function reconcile(
  session: StoreSession,
  theirs: RemoteHead,
  tip: Rights,
  author: Author,
  options: ReconcileOptions,
): Promise<ReconcileResult | undefined> {
  const write: Build<ReconcileResult | undefined> = async () => {
    if (differInRights(session.snapshot, tip)) {
      return { built: undefined, result: undefined }
    }
    if (theirs.isSuccessor && session.snapshot.head.commit === theirs.base?.oid) {
      return adoptSuccessor(session, theirs)
    }
    const history = await session.historyNow(options)
    if (findRecord(session, history, theirs.snapshot.head) !== undefined) {
      return { built: await buildErasure(session, [theirs], options), result: nothingMoved }
    }
    return reconcileHeads(beginWork(session, history, theirs, options), author)
  }
  const reconciled = await session.writing(write, true)
  if (reconciled !== undefined && reconciled.erased > 0) session.forgetAll()
  return reconciled
}

/** Moves the branch to a head that only adds to ours: our history is not needed for that. */
function adoptSuccessor(
  session: StoreSession,
  { snapshot, epochs, records, versions, hasMerges }: RemoteHead,
): { built: BuiltCommit; result: ReconcileResult } {
  const { redacted, settings } = session.snapshot
  const isSame = equalBytes(settings.record, snapshot.settings.record)
  const result = {
    ...nothingMoved,
    settings: isSame ? undefined : 'replaced',
    builtOnRedacted: versions.haveNewOn(redacted),
    received: records.size,
    hasMerges,
  } as const
  const both = new Map([...session.epochs, ...epochs])
  return { built: { snapshot, epochs: both, objects: [] }, result }
}

type ReconcileOptions = Pick<
  SyncOptions,
  'progress' | 'signal' | 'rowsMax' | 'takeTheirs' | 'mergeHeld'
>

/** Both heads, and the parts of the transition as they are made. */
interface Work extends FollowingHeads {
  readonly options: ReconcileOptions
  /** The objects that redactions of either side leave without a use. */
  readonly dead: Set<Oid>
}

function beginWork(
  session: StoreSession,
  history: History,
  theirs: RemoteHead,
  options: ReconcileOptions,
): Work {
  const { storeId } = session
  const made = new Map<Oid, NewObject>()
  const objects = { read: (oid: Oid) => made.get(oid) ?? session.objects.read(oid) }
  const epochs = new Map([...session.epochs, ...theirs.epochs])
  const head = theirs.snapshot.head.commit
  const takesHeld = options.mergeHeld === head
  const { granterOf } = sourceWith(session, theirs)
  const source = { objects, storeId, epochs, granterOf }
  const heads = { session, history, theirs, objects, made, head, takesHeld, options }
  return { ...heads, source, dead: new Set() }
}

async function reconcileHeads(
  work: Work,
  author: Author,
): Promise<{ readonly built: BuiltCommit; readonly result: ReconcileResult }> {
  const { session, theirs, history } = work
  const compared = compare(work)
  const { oursIsPast, redactedByThem, redactedByUs } = compared
  const oursApplied = await rewriteOurs(work, redactedByThem, oursIsPast)
  const leaving = oursIsPast ? undefined : await findLeaving(work)
  const toApply = leaving?.leavesRedaction === true ? new Set<string>() : redactedByUs
  const theirsApplied = await rewriteTheirs(work, toApply)
  const redacts = redactedByThem.size > 0
  if (oursIsPast) {
    assert(redactedByUs.size === 0, 'a history has the redactions of what it contains')
    session.moveTo(theirs.snapshot, work.source.epochs)
    const received = countReceived(history, theirs)
    return { built: transition(work, redacts), result: { ...compared.result, received } }
  }
  const { snapshot = theirs.snapshot } = theirsApplied ?? {}
  const onto = { ...work, theirs: { ...theirs, snapshot } }
  const [our, their] = [session.snapshot.head.commit, snapshot.head.commit]
  const divergence = await findDivergence(work.source, our, their, work.options.signal)
  const received = divergence.theirs.commits.length
  const result = { ...compared.result, received }
  if (leaving === undefined) {
    const { built, outcomes } = await merge(onto, theirsApplied, divergence, author)
    const theirsIntactBelow = theirsApplied?.intactBelow
    return {
      built: transition(work, redacts, built.objects),
      result: { ...result, merge: built.snapshot.head.commit, outcomes, theirsIntactBelow },
    }
  }
  const apart = { divergence, oursApplied, theirHistory: theirsApplied?.history }
  const { objects, ...taken } = await takeTheirs(onto, apart, leaving, author)
  return { built: transition(work, redacts, objects), result: { ...result, ...taken } }
}

function merge(
  work: Work,
  applied: RewrittenTheirs | undefined,
  divergence: Divergence,
  author: Author,
): Promise<MergedHeads> {
  const { session, theirs, options, source } = work
  session.moveTo(session.snapshot, source.epochs)
  const loadRemoteHistory = async (): Promise<RemoteHistory> =>
    applied?.past ?? new RemoteHistory(await loadTheirs(session, theirs, options))
  return mergeHeads({ ...work, loadRemoteHistory }, author, divergence)
}

/** Compares both heads before anything is rewritten. */
function compare({ session, history, theirs, source }: Work): {
  readonly oursIsPast: boolean
  /** The ids of the versions that only one side has redacted. */
  readonly redactedByThem: ReadonlySet<string>
  readonly redactedByUs: ReadonlySet<string>
  readonly result: ReconcileResult
} {
  const ours = session.snapshot
  const redactedByThem = without(theirs.snapshot.redacted, ours.redacted)
  return {
    oursIsPast: includesRecord(session, history, theirs, ours.head),
    redactedByThem,
    redactedByUs: without(ours.redacted, theirs.snapshot.redacted),
    result: {
      ...nothingMoved,
      hasMerges: theirs.hasMerges,
      settings: compareSettings(source, history, ours, theirs),
      builtOnRedacted: isBuiltOnRedacted(history, ours, theirs),
      erased: [...redactedByThem].filter((id) => history.find(id) !== undefined).length,
    },
  }
}

function without(all: ReadonlySet<string>, known: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...all].filter((id) => !known.has(id)))
}

/** The commits that ours lacks of a history that contains ours, counted above the base. */
function countReceived(history: History, { base, records }: RemoteHead): number {
  const common = base && history.findCommit(base.oid, base.height)
  return records.size - (history.commits.length - 1 - (common?.position ?? -1))
}

async function findLeaving({
  session,
  theirs,
  source,
  options,
}: Work): Promise<Leaving | undefined> {
  const tips = { ours: session.snapshot, theirs: theirs.snapshot }
  if (!differInRights(tips.ours, tips.theirs)) return undefined
  const [our, their] = [tips.ours.head.commit, tips.theirs.head.commit]
  const divergence = await findDivergence(source, our, their, options.signal)
  return decideLeaving(session, source, tips, divergence, options)
}

/**
 * Applies their redactions to our history. If theirs contains ours, the rewritten commits must be
 * theirs, and only the dead objects are needed.
 */
async function rewriteOurs(
  work: Work,
  versionIds: ReadonlySet<string>,
  isPast: boolean,
): Promise<AppliedRedactions | undefined> {
  const { session, history, theirs } = work
  const { snapshot } = session
  const rewritten = await rewrite(work, history, versionIds)
  if (rewritten === undefined) return undefined
  await session.seenRemotes.noteRewrite(lowestOf(history, rewritten))
  const { head, tree, commits } = rewritten
  const record = toHex(snapshot.head.record)
  if (isPast && theirs.records.get(record) !== head) throw notCanonicalError()
  session.moveTo(afterRewrite(snapshot, { commit: head, tree }, versionIds))
  return { commits, versionIds }
}

/** Their history under our redactions. */
interface RewrittenTheirs {
  /** As it was before. */
  readonly history: History
  readonly past: RemoteHistory
  readonly snapshot: Snapshot
  /** The height from which on commits were rewritten. */
  readonly intactBelow: number
}

/** Applies our redactions to theirs, so that a clone that lacks them brings nothing back. */
async function rewriteTheirs(
  work: Work,
  versionIds: ReadonlySet<string>,
): Promise<RewrittenTheirs | undefined> {
  if (versionIds.size === 0) return undefined
  const { session, theirs, options } = work
  const history = await loadTheirs(session, theirs, options)
  const rewritten = await rewrite(work, history, versionIds)
  if (rewritten === undefined) return undefined
  const { head, tree, commits } = rewritten
  const snapshot = afterRewrite(theirs.snapshot, { commit: head, tree }, versionIds)
  const past = new RemoteHistory(history, { commits, versionIds })
  return { history, past, snapshot, intactBelow: lowestOf(history, rewritten) }
}

async function rewrite(
  work: Work,
  history: History,
  versionIds: ReadonlySet<string>,
): Promise<Rewritten | undefined> {
  if (versionIds.size === 0) return undefined
  const { source, options } = work
  const emit = (made: readonly NewObject[]): Promise<void> => stage(work, made)
  const rewritten = await rewriteHead({ source, history, versionIds, emit, ...options })
  for (const oid of rewritten?.dead ?? []) work.dead.add(oid)
  return rewritten
}

/** Stages rewritten objects, except those that theirs, rewritten alike, has brought. */
async function stage({ session, made }: Work, rewritten: readonly NewObject[]): Promise<void> {
  const { objects } = session
  const missing = rewritten.filter(({ oid }) => objects.read(oid) === undefined)
  for (const object of missing) {
    // Root trees are read for their keyrings; memory trees and blobs are not read here.
    if (object.type === 'blob' || (object.type === 'tree' && !isRoot(object.body))) continue
    // A copy: the bodies of a batch share one buffer.
    made.set(object.oid, { ...object, body: object.body.slice() })
  }
  if (missing.length > 0) await objects.stage(missing)
}

function isRoot(tree: Uint8Array): boolean {
  return findTreeEntry(tree, '100644', 'keyring') !== undefined
}

/** The move of the branch to where the session is now. */
function transition(
  { session, dead }: Work,
  redacts: boolean,
  objects: readonly NewObject[] = [],
): BuiltCommit {
  const { snapshot } = session
  return { snapshot, objects, ...((redacts || dead.size > 0) && { dead }) }
}
