// Moves the branch to their head where ours cannot be merged into it as a whole (FORMAT §9.3): what
// can be is merged, what this device wrote on the rest is written again if its user has chosen so,
// and all else is left and listed. Must be part of one transition of the branch: reconcile.ts.

import { equalBytes } from '../../bytes.ts'
import { formatId } from '../../format/id.ts'
import type { NewObject, Oid } from '../../git/objects/object.ts'
import { rowsMax } from '../../limits.ts'
import { mayWrite, roleOf } from '../access/authority.ts'
import { decodeAt, meetingOf, newestOf, splitSide } from '../access/post-revocation.ts'
import { planChanges } from '../changes/changes.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildChange } from '../commits/commit.ts'
import type { Divergence } from '../commits/divergence.ts'
import { readMemory } from '../history/contents.ts'
import type { HistorySource } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { Head, Snapshot } from '../snapshot/snapshot.ts'
import { keyringConflictError } from './keyring-conflict.ts'
import { type HeadsToMerge, mergeAncestors } from './merge-heads.ts'
import type { SyncOptions } from './options.ts'
import { leavesRedactionError, waitsError } from './reconcile-refusals.ts'
import type { ReconcileResult } from './reconcile-result.ts'
import { type LeftLine, planRepeats } from './repeated-changes.ts'

/** How ours is left for theirs. */
export interface Leaving {
  /** The commits of ours that are merged into theirs, with all that they rest on. */
  readonly parts: readonly Oid[]
  /** Those that are left, parents before children. */
  readonly left: readonly Oid[]
  /** All that theirs lacks. */
  readonly commits: readonly Oid[]
  /** Whether what this device wrote on what is left is written again. */
  readonly repeats: boolean
  /** Whether a redaction is among what is left: theirs keeps what it named. */
  readonly leavesRedaction: boolean
}

interface Tips {
  readonly ours: Snapshot
  readonly theirs: Snapshot
}

/**
 * Undefined if both heads can be merged. Throws `keyring_conflict`, `merge_held` or
 * `permission_denied` if people have to decide and have not.
 */
export async function decideLeaving(
  session: StoreSession,
  source: HistorySource,
  tips: Tips,
  divergence: Divergence,
  { takeTheirs = false, signal }: Pick<SyncOptions, 'takeTheirs' | 'signal'>,
): Promise<Leaving | undefined> {
  const { ours, theirs } = tips
  if (equalBytes(ours.keyring.record, theirs.keyring.record)) return undefined
  const directories = { ours: ours.keyring.directory, theirs: theirs.keyring.directory }
  const { isConflict, late, held } = await meetingOf(source, directories, divergence, signal)
  if (isConflict && !takeTheirs) throw keyringConflictError(source, divergence, false)
  const isLate = late.ours.has(ours.head.commit)
  if (!isConflict && !isLate && !(takeTheirs && held.ours.length > 0)) return undefined
  const { commits, kept, left } = await splitSide(source, tips, divergence, 'ours', signal)
  const leavesRedaction = left.some((oid) => {
    const { record } = decodeAt(source, oid)
    return record.kind === 'redact' && record.rows.some(({ base }) => !theirs.redacted.has(base))
  })
  if (leavesRedaction && !takeTheirs) throw leavesRedactionError()
  const { deviceId } = session.identity
  const role = roleOf(theirs, deviceId)
  const mayMerge = mayWrite(role, 'change')
  if (!mayMerge && !takeTheirs && (kept.length > 0 || isAuthor(source, left, deviceId))) {
    throw waitsError(role)
  }
  const isAllLeft = leavesRedaction || !mayMerge
  return {
    parts: isAllLeft ? [] : newestOf(source, kept),
    left: isAllLeft ? commits : left,
    commits,
    repeats: takeTheirs && mayMerge && theirs.settings.value.archivedAt === undefined,
    leavesRedaction,
  }
}

function isAuthor(source: HistorySource, commits: readonly Oid[], deviceId: string): boolean {
  return commits.some((oid) => decodeAt(source, oid).record.deviceId === deviceId)
}

/** What `takeTheirs` works on: their head is the session's snapshot, ours the other one. */
export interface Taking extends HeadsToMerge {
  readonly line: LeftLine
}

export interface TakenTheirs extends Pick<ReconcileResult, 'outcomes'> {
  readonly head: Head
  readonly objects: readonly NewObject[]
  /** The commit that merged what could be merged. */
  readonly merge: Oid | undefined
  /** Whether changes of this device were written again. */
  readonly hasRepeated: boolean
}

/** Builds on the session's snapshot, which is at their head; the caller undoes all on failure. */
export async function takeTheirs(
  taking: Taking,
  { parts: [first, ...others], repeats }: Leaving,
  author: Author,
): Promise<TakenTheirs> {
  const { session } = taking
  const merged =
    first === undefined ? undefined : await mergeAncestors(taking, author, [first, ...others])
  const objects = [...(merged?.built.objects ?? [])]
  for (const object of objects) taking.made.set(object.oid, object)
  const { deviceId } = session.identity
  const repeated = repeats ? await writeAgain(taking, deviceId, author) : []
  return {
    head: session.snapshot.head,
    objects: [...objects, ...repeated],
    merge: merged?.built.head.commit,
    outcomes: merged?.outcomes ?? [],
    hasRepeated: repeated.length > 0,
  }
}

/** Where changes are written again, on the session's snapshot. */
export interface WritingAgain extends Pick<HeadsToMerge, 'session' | 'made' | 'undos'> {
  readonly line: LeftLine
  readonly options: Pick<SyncOptions, 'signal'>
}

/** Writes again what one device wrote on a line that is left, in as few commits as it needs. */
export async function writeAgain(
  { session, made, undos, line, options }: WritingAgain,
  deviceId: string,
  author: Author,
): Promise<readonly NewObject[]> {
  const changes = await planRepeats(session.snapshot, line, deviceId, options.signal)
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
    undos.push(built.undo)
    for (const object of built.objects) {
      made.set(object.oid, object)
      objects.push(object)
    }
  }
  return objects
}

/** For the note: the newest commit of the device, and why it is not in the history. */
function nameOf({ history, positions }: LeftLine, deviceId: string): string {
  const own = [...positions].filter((at) => history.commits.at(at)?.deviceId === deviceId)
  const newest = history.commits.at(Math.max(...own))
  const device = formatId('device', deviceId)
  return `${device}, until ${newest?.oid.slice(0, 12)}: the keyring had changed apart from it`
}
