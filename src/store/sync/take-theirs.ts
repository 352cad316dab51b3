// Moves the branch to their head where ours cannot be merged into it as a whole (FORMAT §9.3): what
// can be is merged, what this device wrote on the rest is written again if its user has chosen so,
// and all else is left and listed. Must be part of one transition of the branch: reconcile.ts.

import { equalBytes } from '../../bytes.ts'
import { assert } from '../../errors.ts'
import { isInForce } from '../../format/directory.ts'
import { formatId } from '../../format/id.ts'
import type { NewObject, Oid } from '../../git/objects/object.ts'
import { rowsMax } from '../../limits.ts'
import { mayWrite, roleOf } from '../access/authority.ts'
import {
  decodeAt,
  differInRights,
  meetingOf,
  newestOf,
  splitSide,
} from '../access/post-revocation.ts'
import { planChanges } from '../changes/changes.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildChange, type BuiltCommit } from '../commits/commit.ts'
import { type Divergence, newestCommon } from '../commits/divergence.ts'
import { catchUp } from '../history/catch-up.ts'
import { type ContentSource, readMemory } from '../history/contents.ts'
import type { History, HistorySource } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import type { Build } from '../session/writer.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { type GrantWorkDone, writeGrantsAgain } from './grant-work.ts'
import { type BothHeads, type HeadsToMerge, mergeAncestors } from './merge.ts'
import { type LeftLine, planRepeats } from './redo.ts'
import {
  inOrderOfWeight,
  keyringConflictError,
  type LateChange,
  leavesRedactionError,
  readLateChanges,
  grantOverError,
  waitsError,
} from './refusals.ts'
import {
  type AppliedRedactions,
  findKnown,
  loadTheirs,
  NewVersions,
  RemoteHistory,
} from './remote-history.ts'
import { type GrantWork, noGrantWork, type ReconcileResult, type SyncOptions } from './report.ts'

/** How ours is left for theirs. */
export interface Leaving {
  /** The commits of ours that are merged into theirs, with all that they rest on. */
  readonly parts: readonly Oid[]
  /** Those that are left, parents before children. */
  readonly left: readonly Oid[]
  /** All that theirs lacks. */
  readonly commits: readonly Oid[]
  /** Whether changes of this device among them are written again. */
  readonly repeats: boolean
  /** Whether a redaction is among them: theirs keeps the versions that it named. */
  readonly leavesRedaction: boolean
}

/**
 * Undefined if both heads can be merged. Throws `keyring_conflict`, `merge_held` or
 * `permission_denied` if people have to decide and have not.
 */
export async function decideLeaving(
  session: StoreSession,
  source: HistorySource,
  tips: Readonly<Record<keyof Divergence, Snapshot>>,
  divergence: Divergence,
  { takeTheirs: takes = false, signal }: Pick<SyncOptions, 'takeTheirs' | 'signal'>,
): Promise<Leaving | undefined> {
  const { ours, theirs } = tips
  if (!differInRights(ours, theirs)) return undefined
  const directories = { ours: ours.keyring.directory, theirs: theirs.keyring.directory }
  const { isConflict, late, held } = await meetingOf(source, directories, divergence, signal)
  if (isConflict && !takes) throw keyringConflictError(source, divergence, false)
  const isLate = late.ours.has(ours.head.commit)
  const { deviceId, grant } = session.identity
  const role = roleOf(theirs, deviceId)
  const mayMerge = mayWrite(role, 'change')
  // A merge of two machines of the granter ends a grant without any record that does.
  const isOver = grant !== undefined && !mayMerge
  if (!isConflict && !isLate && !isOver && !(takes && held.ours.length > 0)) return undefined
  const { commits, kept, left } = await splitSide(source, tips, divergence, 'ours', signal)
  const leavesRedaction = left.some((oid) => {
    const { record } = decodeAt(source, oid)
    return (
      record.kind === 'redact' && record.rows.some((row) => !theirs.redacted.has(row.versionId))
    )
  })
  if (leavesRedaction && !takes) throw leavesRedactionError()
  if (!mayMerge && !takes && (kept.length > 0 || isAuthor(source, left, deviceId))) {
    if (grant === undefined) throw waitsError(role)
    grant.isOver = true
    throw grantOverError()
  }
  const isAllLeft = leavesRedaction || !mayMerge
  return {
    parts: isAllLeft ? [] : newestOf(source, kept),
    left: isAllLeft ? commits : left,
    commits,
    repeats: takes && mayMerge && theirs.settings.value.archivedAt === undefined,
    leavesRedaction,
  }
}

/** The lost changes, redactions first: those written again are not lost. */
function describeLeft(
  source: HistorySource,
  { left, repeats }: Leaving,
  deviceId: string,
): readonly LateChange[] {
  const own = formatId('device', deviceId)
  const lost = readLateChanges(source, left).filter((change) => {
    return !repeats || change.kind !== 'change' || change.deviceId !== own
  })
  return inOrderOfWeight(lost)
}

function isAuthor(source: HistorySource, commits: readonly Oid[], deviceId: string): boolean {
  return commits.some((oid) => decodeAt(source, oid).record.deviceId === deviceId)
}

/** Both heads, where ours is left for theirs. */
export interface FollowingHeads extends BothHeads {
  /** Reads either side, and the new objects of this transition. */
  readonly source: HistorySource
}

/** How both histories differ once the redactions of either side are applied. */
interface Apart {
  readonly divergence: Divergence
  /** Their redactions, if they have rewritten ours. */
  readonly oursApplied: AppliedRedactions | undefined
  /** Their history without our redactions, if it was loaded. */
  readonly theirHistory: History | undefined
}

export interface TakenTheirs extends Pick<
  ReconcileResult,
  'merge' | 'outcomes' | 'settings' | 'hasRepeated' | 'leftLate' | 'grantWork'
> {
  readonly objects: readonly NewObject[]
}

/** Moves to theirs, with what of ours can be merged into it. */
export async function takeTheirs(
  heads: FollowingHeads,
  { divergence, oursApplied, theirHistory }: Apart,
  leaving: Leaving,
  author: Author,
): Promise<TakenTheirs> {
  const { session, source, history: ours, theirs, options } = heads
  const { settings } = session.snapshot
  const { deviceId } = session.identity
  const leftLate = describeLeft(source, leaving, deviceId)
  await noteDropped(heads, leaving.left, divergence)
  const history = theirHistory ?? (await loadTheirs(session, theirs, options))
  const swapped = swap(heads, history, oursApplied, leaving.commits)
  session.moveTo(theirs.snapshot, source.epochs)
  const merged = await mergeAncestors(swapped, author, leaving.parts)
  const objects = [...(merged?.built.objects ?? [])]
  for (const object of objects) heads.made.set(object.oid, object)
  const positionOf = positionsIn(heads, oursApplied)
  const positions = new Set(leaving.left.map(positionOf))
  const contents = { ...session.contents, objects: heads.objects, epochs: source.epochs }
  const line = { history: ours, followed: history, positions, contents }
  const repeated = leaving.repeats ? await writeAgain({ ...heads, line }, deviceId, author) : []
  // Only here: from now on this clone does not have that line any more.
  const writing = { ...heads, line, signal: options.signal }
  const { objects: again, work, settled } = await writeGrantsAgain(writing, author)
  const lost = new Set(leaving.left.filter((oid) => !settled.has(positionOf(oid))))
  const isSame = equalBytes(settings.record, session.snapshot.settings.record)
  return {
    objects: [...objects, ...repeated, ...again],
    merge: merged?.built.snapshot.head.commit,
    outcomes: merged?.outcomes ?? [],
    settings: isSame ? undefined : 'replaced',
    hasRepeated: repeated.length > 0,
    grantWork: work,
    leftLate: leftLate.filter(({ commit }) => lost.has(commit)),
  }
}

/** The heads as seen from theirs: our head is the other one, with these commits. */
function swap(
  heads: FollowingHeads,
  history: History,
  applied: AppliedRedactions | undefined,
  commits: readonly Oid[],
): HeadsToMerge {
  const { session, source, history: ours, theirs } = heads
  const versions = new NewVersions()
  for (const position of commits.map(positionsIn(heads, applied))) {
    for (const entry of ours.rowsAt(position)) versions.addKnown(source, entry)
  }
  return {
    ...heads,
    history,
    theirs: { ...theirs, snapshot: session.snapshot, versions },
    loadRemoteHistory: async () => new RemoteHistory(ours, applied),
  }
}

/** Finds the position of a commit of ours, as their redactions have rewritten it. */
function positionsIn(
  { history, objects }: BothHeads,
  applied: AppliedRedactions | undefined,
): (oid: Oid) => number {
  const rewritten = new Map(
    Array.from(applied?.commits ?? [], ([position, oid]) => [oid, position]),
  )
  return (oid) => {
    const known = rewritten.get(oid)
    if (known !== undefined) return known
    const entry = findKnown(objects, history, oid)
    assert(entry !== undefined, 'our history has our commits')
    return entry.position
  }
}

/** Notes the newest common commit, so that the store opens even if this process dies. */
async function noteDropped(
  { session, source, theirs }: FollowingHeads,
  left: readonly Oid[],
  { ours }: Divergence,
): Promise<void> {
  const records = left.map((oid) => decodeAt(source, oid).hash)
  const common = newestCommon(source, ours)
  await session.noteLeft({ records, common, head: theirs.snapshot.head })
}

/** Where changes are written again, on the session's snapshot. */
interface WritingAgain extends Pick<HeadsToMerge, 'session' | 'made'> {
  readonly line: LeftLine
  readonly options: Pick<SyncOptions, 'signal'>
}

/** Writes again what one device wrote on a line that is left, in as few commits as it needs. */
async function writeAgain(
  { session, made, line, options }: WritingAgain,
  deviceId: string,
  author: Author,
): Promise<readonly NewObject[]> {
  const { changes } = await planRepeats(session.snapshot, line, deviceId, options.signal)
  const readContent = (memory: LiveMemory): string => readMemory(line.contents, memory)
  const by = { ...author, reason: `Written again for ${nameOf(line, deviceId)}` }
  const objects: NewObject[] = []
  for (let at = 0; at < changes.length; at += rowsMax) {
    const { snapshot } = session
    const now = session.nextTime()
    const some = changes.slice(at, at + rowsMax)
    const { rows } = await planChanges({ snapshot, now, readContent }, some)
    if (rows.length === 0) continue
    const context = await session.commitContext(now, by)
    const built = await buildChange(context, snapshot, rows, by)
    session.moveTo(built.snapshot)
    for (const object of built.objects) {
      made.set(object.oid, object)
      objects.push(object)
    }
  }
  return objects
}

/** A line of theirs that is left for ours. */
export interface TheirLine {
  readonly source: HistorySource
  readonly head: Oid
  /** The commits of it that are not merged. */
  readonly left: readonly Oid[]
}

/** The same for all devices in force, in one transition. Returns them, `dev_…`. */
export async function writeAllAgain(
  session: StoreSession,
  their: TheirLine,
  author: Author,
  options: Pick<SyncOptions, 'progress' | 'signal'>,
): Promise<readonly string[]> {
  const { history, positions } = await readTheirs(session, their, options)
  const authors = new Set(Array.from(positions, (at) => history.commits.at(at)?.deviceId ?? ''))
  const write: Build<readonly string[]> = async () => {
    const { directory } = session.snapshot.keyring
    const inForce = [...authors].filter((deviceId) => isInForce(directory, deviceId))
    const made = new Map<Oid, NewObject>()
    const followed = await session.historyNow(options)
    const line = { history, followed, positions, contents: contentsOf(session, their, made) }
    const built = await buildAgain({ session, made, line, options }, inForce, author)
    return { built, result: inForce.map((deviceId) => formatId('device', deviceId)) }
  }
  return session.writing(write, true)
}

/** The same for grants in force, of which the commits are returned that nothing is lost of. */
export async function writeTheirGrantsAgain(
  session: StoreSession,
  their: TheirLine,
  author: Author,
  options: Pick<SyncOptions, 'progress' | 'signal'>,
): Promise<{ readonly commits: readonly Oid[]; readonly work: GrantWork }> {
  const { source, left } = their
  const isAny = await session.reading(({ grants }) => {
    return left.some((oid) => grants.has(decodeAt(source, oid).record.deviceId))
  })
  if (!isAny) return { commits: [], work: noGrantWork }
  const { history, positions } = await readTheirs(session, their, options)
  const write: Build<Omit<GrantWorkDone, 'objects'>> = async () => {
    const made = new Map<Oid, NewObject>()
    const followed = await session.historyNow(options)
    const line = { history, followed, positions, contents: contentsOf(session, their, made) }
    const { signal } = options
    const { objects, ...result } = await writeGrantsAgain({ session, line, made, signal }, author)
    const { snapshot } = session
    return { built: objects.length === 0 ? undefined : { snapshot, objects }, result }
  }
  const { work, settled } = await session.writing(write, true)
  return { commits: Array.from(settled, (at) => history.commits.at(at)?.oid ?? ''), work }
}

async function readTheirs(
  session: StoreSession,
  { source, head, left }: TheirLine,
  options: Pick<SyncOptions, 'progress' | 'signal'>,
): Promise<Pick<LeftLine, 'history' | 'positions'>> {
  const history = session.newHistory()
  await catchUp(history, source, head, options)
  const commits = left.flatMap((oid) => findKnown(source.objects, history, oid) ?? [])
  return { history, positions: new Set(commits.map(({ position }) => position)) }
}

function contentsOf(
  session: StoreSession,
  { source }: TheirLine,
  made: ReadonlyMap<Oid, NewObject>,
): ContentSource {
  const read: ObjectSource['read'] = (oid) => made.get(oid) ?? source.objects.read(oid)
  return { ...session.contents, objects: { read }, epochs: source.epochs }
}

/** Undefined, with nothing changed, if there is nothing to write. */
async function buildAgain(
  writing: WritingAgain,
  deviceIds: readonly string[],
  author: Author,
): Promise<BuiltCommit | undefined> {
  const objects: NewObject[] = []
  for (const deviceId of deviceIds) objects.push(...(await writeAgain(writing, deviceId, author)))
  const { snapshot } = writing.session
  return objects.length === 0 ? undefined : { snapshot, objects }
}

/** For the note: the newest commit of the device, and why it is not in the history. */
function nameOf({ history, positions }: LeftLine, deviceId: string): string {
  const own = [...positions].filter((at) => history.commits.at(at)?.deviceId === deviceId)
  const newest = history.commits.at(Math.max(...own))
  const device = formatId('device', deviceId)
  return `${device}, until ${newest?.oid.slice(0, 12)}: the keyring had changed apart from it`
}
