// Merges a verified head into ours. A merge has a row for every memory that both sides changed
// (FORMAT §6.4), and may need more than one commit holds: ancestors of their head are merged first
// then; where ours alone needs too many, theirs gives way. All commits are one transition of the
// branch: those between need not be heads that verify, since a redaction above them may have erased
// objects below. Must not rewrite histories.

import { hasCode, StoreError } from '../../errors.ts'
import { writesVersions } from '../../format/record-rules.ts'
import type { NewObject, Oid } from '../../git/objects/object.ts'
import { rowsMax } from '../../limits.ts'
import { TimeSlice } from '../../time-slice.ts'
import { isOwner } from '../access/lateness.ts'
import { decodeAt, type Meeting, meetingOf } from '../access/post-revocation.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildMerge, type BuiltCommit, type BuiltVersions } from '../commits/commit.ts'
import type { CommitSource } from '../commits/decoded-commit.ts'
import { compareSnapshots, type Divergence, findDivergence } from '../commits/divergence.ts'
import type { MergeRow } from '../commits/new-rows.ts'
import type { History, HistorySource } from '../history/history.ts'
import { planMerge } from '../merge/plan.ts'
import type { StoreSession } from '../session/session.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import {
  checkMayMerge,
  heldError,
  keyringConflictError,
  readLateChanges,
  theirsLateError,
} from './refusals.ts'
import {
  mergeInput,
  type MergeSides,
  type RemoteHead,
  type RemoteHistory,
} from './remote-history.ts'
import type { SyncOptions, ReconcileResult } from './report.ts'

/** Both heads, and the parts of one transition as they are made. */
export interface BothHeads {
  readonly session: StoreSession
  /** Our history, as it was before their redactions were applied. */
  readonly history: History
  readonly theirs: RemoteHead
  /** Both histories, rewritten by the redactions of either. */
  readonly objects: ObjectSource
  /** Receives new objects until the transition is on disk. */
  readonly made: Map<Oid, NewObject>
  /** The head of theirs, as it was received. */
  readonly head: Oid
  /** Whether an owner has decided to merge what a former owner redacted or set. */
  readonly takesHeld: boolean
  readonly options: Pick<SyncOptions, 'progress' | 'signal' | 'rowsMax'>
}

export interface HeadsToMerge extends BothHeads {
  readonly loadRemoteHistory: () => Promise<RemoteHistory>
}

export interface MergedHeads extends Pick<ReconcileResult, 'outcomes'> {
  /** The newest commit, with the objects of all. */
  readonly built: Pick<BuiltCommit, 'snapshot' | 'objects'>
}

/** One merge, of their head or of one of its ancestors. */
interface OneMerge {
  readonly heads: HeadsToMerge
  readonly author: Author
  /** Their history, with the ancestors that were merged; undefined while none was looked for. */
  readonly past: RemoteHistory | undefined
}

interface Merged extends MergedHeads, Pick<OneMerge, 'past'> {}

/**
 * Moves the session to the merge. Throws `record_after_revocation`, `keyring_conflict`,
 * `merge_held` or `permission_denied`; `change_too_large` if not even an ancestor of theirs is
 * small enough.
 */
export function mergeHeads(
  heads: HeadsToMerge,
  author: Author,
  divergence: Divergence,
): Promise<MergedHeads> {
  return mergeAll({ heads, author, past: undefined }, heads.theirs.snapshot, divergence)
}

/** The same with some of their ancestors, one after the other; undefined if none are given. */
export async function mergeAncestors(
  heads: HeadsToMerge,
  author: Author,
  oids: readonly Oid[],
): Promise<MergedHeads | undefined> {
  let before: Merged | undefined
  for (const oid of oids) {
    const past = before?.past ?? (await heads.loadRemoteHistory())
    const part = await past.snapshotAt(sourceOf(heads), oid, heads.options)
    const merged = await mergeAll({ heads, author, past }, part, await divergenceTo(heads, part))
    before = {
      ...concat(before, merged),
      past: (merged.past ?? past).withMerged(sourceOf(heads), oid),
    }
  }
  return before
}

function concat(before: MergedHeads | undefined, { built, outcomes }: MergedHeads): MergedHeads {
  const objects = [...(before?.built.objects ?? []), ...built.objects]
  return {
    built: { snapshot: built.snapshot, objects },
    outcomes: [...(before?.outcomes ?? []), ...outcomes],
  }
}

/** Each round merges at least one commit of theirs, so that this ends. */
async function mergeAll(merging: OneMerge, theirs: Snapshot, first: Divergence): Promise<Merged> {
  let divergence = first
  let before: Merged | undefined
  for (;;) {
    const past = before?.past ?? merging.past
    const { isWhole, ...merged } = await mergeNext({ ...merging, past }, theirs, divergence)
    before = { ...concat(before, merged), past: merged.past }
    if (isWhole) return before
    divergence = await divergenceTo(merging.heads, theirs)
  }
}

/**
 * Merges their head or, if one commit has no room for that, the best ancestor for which one has.
 * If ours alone has more to move or to join than a commit has rows, theirs gives way: the oldest
 * commit of theirs changes no more memories than that.
 */
async function mergeNext(
  { heads, author, past: before }: OneMerge,
  theirs: Snapshot,
  divergence: Divergence,
): Promise<Merged & { readonly isWhole: boolean }> {
  let past = before
  let steps: readonly Oid[] | undefined
  for (const keepsOurs of [false, true]) {
    const whole = await tryMerge({ heads, author, past }, theirs, divergence, keepsOurs)
    if (whole !== undefined) return { ...whole, past, isWhole: true }
    steps ??= await stepsTo(heads, theirs, divergence)
    past ??= await heads.loadRemoteHistory()
    const step = await mergeStep({ heads, author, past }, steps, keepsOurs)
    if (step !== undefined) return { ...step, isWhole: false }
  }
  throw tooLargeError()
}

async function stepsTo(
  heads: HeadsToMerge,
  theirs: Snapshot,
  divergence: Divergence,
): Promise<readonly Oid[]> {
  const { late } = await meet(heads, theirs, divergence)
  return findSteps(sourceOf(heads), divergence, late.theirs, heads.options)
}

function meet(heads: HeadsToMerge, theirs: Snapshot, divergence: Divergence): Promise<Meeting> {
  const ours = heads.session.snapshot.keyring.directory
  return meetingOf(sourceOf(heads), { ours, theirs: theirs.keyring.directory }, divergence)
}

async function mergeStep(
  merging: OneMerge & { readonly past: RemoteHistory },
  steps: readonly Oid[],
  keepsOurs: boolean,
): Promise<Merged | undefined> {
  const { heads, past } = merging
  // The farther from their head, the fewer the rows.
  for (let at = 0; at < steps.length; at = Math.ceil((at + steps.length) / 2)) {
    const oid = steps[at] ?? ''
    const part = await past.snapshotAt(sourceOf(heads), oid, heads.options)
    const merged = await tryMerge(merging, part, await divergenceTo(heads, part), keepsOurs)
    if (merged !== undefined) return { ...merged, past: past.withMerged(sourceOf(heads), oid) }
  }
  return undefined
}

/** Undefined, with nothing changed, if it needs more rows than a commit has. */
async function tryMerge(
  merging: OneMerge,
  part: Snapshot,
  divergence: Divergence,
  keepsOurs: boolean,
): Promise<MergedHeads | undefined> {
  try {
    return await mergeOnce(merging, part, divergence, keepsOurs)
  } catch (error) {
    if (hasCode(error, 'change_too_large')) return undefined
    throw error
  }
}

async function mergeOnce(
  merging: OneMerge,
  theirs: Snapshot,
  divergence: Divergence,
  keepsOurs: boolean,
): Promise<MergedHeads> {
  const { heads, author } = merging
  const { session } = heads
  const ours = session.snapshot
  const { other, open } = compareSnapshots(ours, theirs, divergence)
  if (other.areKeyringsApart) throw keyringConflictError(sourceOf(heads), divergence, false)
  const { late, held } = await meet(heads, theirs, divergence)
  if (late.theirs.has(theirs.head.commit)) throw theirsLateError()
  // With the keyring in force: this device may have written before it knew of that keyring.
  const newest = divergence.theirs.keyrings.length > 0 ? theirs : ours
  checkMayMerge(newest, session.identity)
  checkHeld(heads, newest, held)
  const time = session.nextTime()
  const { rows, outcomes } = planMerge(
    mergeInput({ ...sidesOf(merging), ours, theirs, divergence, other, open, keepsOurs }),
  )
  // The texts have passed the guard when they were written.
  await session.checkContents([], author)
  const context = await session.commitContext(time, author, other)
  const built = await buildMerge(context, ours, other, { rows, author })
  session.moveTo(built.snapshot)
  keepMerge(heads, built, rows, time)
  return { built, outcomes }
}

/** Redactions and settings of a former owner need an owner who has seen them (FORMAT §7.4). */
function checkHeld(
  heads: HeadsToMerge,
  { keyring }: Snapshot,
  { ours, theirs }: Meeting['held'],
): void {
  if (ours.length + theirs.length === 0) return
  const { session, takesHeld, head } = heads
  const mayMerge = isOwner(keyring.directory, session.identity.deviceId)
  if (mayMerge && takesHeld) return
  const source = sourceOf(heads)
  throw heldError({
    ours: readLateChanges(source, ours),
    theirs: readLateChanges(source, theirs),
    mayMerge,
    head,
  })
}

/** Notes a merge, on which another may be built. */
function keepMerge(
  { made, theirs }: HeadsToMerge,
  { objects, snapshot: { head }, versionIds }: BuiltVersions,
  rows: readonly MergeRow[],
  time: number,
): void {
  for (const object of objects) made.set(object.oid, object)
  const place = { oid: head.commit, time, record: () => head.record }
  theirs.versions.addMerged(versionIds, rows, place)
}

function sidesOf({
  heads,
  past,
}: OneMerge): Pick<
  MergeSides,
  'session' | 'contents' | 'history' | 'versions' | 'findCommon' | 'rowsMax'
> {
  const { session, history, theirs, objects, options } = heads
  return {
    session,
    contents: { ...session.contents, objects },
    history,
    versions: theirs.versions,
    findCommon: past?.commonWith(history) ?? ((versionId) => history.find(versionId)),
    rowsMax: options.rowsMax,
  }
}

function divergenceTo(heads: HeadsToMerge, { head }: Snapshot): Promise<Divergence> {
  const { session, options } = heads
  const { commit } = session.snapshot.head
  return findDivergence(sourceOf(heads), commit, head.commit, options.signal)
}

/** With the epochs that merges have begun. */
function sourceOf({ session, objects, theirs: { snapshot } }: HeadsToMerge): HistorySource {
  const { storeId, epochs, granterOf } = session
  const ofTheirs = (grantId: string) => snapshot.grants.get(grantId)?.granter
  return { objects, storeId, epochs, granterOf: (id) => ofTheirs(id) ?? granterOf(id) }
}

/** Late commits on which others have built (FORMAT §7.4) are merged all at once, or on top of. */
function tooLargeError(): StoreError {
  return new StoreError(
    'change_too_large',
    'Late changes, on which others have built, and changes here conflict in more memories than ' +
      'one commit can merge. Sync this clone with another, empty remote, and from there a device ' +
      'that has built on the late changes: it merges in several commits',
  )
}

/**
 * The ancestors of their head that may be merged first, the best first: the newest for which at
 * most half of what their head leaves open is open, or else the oldest. A commit has a row for each
 * memory that it changes, so that step by step every history is merged.
 */
async function findSteps(
  source: CommitSource,
  divergence: Divergence,
  late: ReadonlySet<Oid>,
  options: Pick<SyncOptions, 'signal' | 'rowsMax'>,
): Promise<readonly Oid[]> {
  const { ours, theirs } = divergence
  const slice = new TimeSlice(options.signal)
  const shared = [...theirs.memories].filter((memoryId) => ours.memories.has(memoryId)).length
  const most = Math.min(Math.floor(shared / 2), options.rowsMax ?? rowsMax)
  const open = new Set<string>()
  const steps: Oid[] = []
  // The newest commit is the head itself.
  for (const oid of theirs.commits.slice(1).toReversed()) {
    if (slice.isOver()) await slice.next()
    const { record } = decodeAt(source, oid)
    const rows = writesVersions(record) ? record.rows : []
    for (const { memoryId } of rows) if (ours.memories.has(memoryId)) open.add(memoryId)
    if (late.has(oid)) continue
    if (open.size > most && steps.length > 0) break
    steps.push(oid)
  }
  return steps.toReversed()
}
