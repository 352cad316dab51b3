// Builds the one transition of a redaction: current versions of live memories are replaced first if
// that was asked for, the history is made again without the erased ones, and redact records follow
// on top. Moves the snapshot; `undo` moves it back.

import type { WorkOptions } from '../../async.ts'
import { assert } from '../../errors.ts'
import type { RecordRow } from '../../format/change-record.ts'
import { zeroHash, zeroId } from '../../format/record.ts'
import type { NewObject, Oid } from '../../git/objects/object.ts'
import { rowsMax } from '../../limits.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildRedaction, type BuiltCommit } from '../commits/commit.ts'
import type { VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import type { Snapshot, Undo } from '../snapshot/snapshot.ts'
import type { ErasedVersion } from './erased-spans.ts'
import { clearCurrent, type Clearing } from './redaction-clearing.ts'
import type { RedactionRequest } from './redaction-plan.ts'
import { erasedVersion, lowestOf, rewrite, type Rewritten } from './rewrite.ts'

/** What one redaction did. */
export interface Outcome {
  readonly oldHead: Oid
  readonly newHead: Oid
  readonly rewritten: Rewritten
  readonly erased: readonly ErasedVersion[]
  /** The commits of the redact records. */
  readonly commits: readonly Oid[]
  /** Of the redact records, ms since 1970. */
  readonly time: number
}

export interface Step {
  readonly entries: readonly VersionEntry[]
  readonly request: RedactionRequest
  readonly author: Author
}

export async function buildStep(
  session: StoreSession,
  history: History,
  step: Step,
  options: WorkOptions,
): Promise<{ readonly built: BuiltCommit; readonly outcome: Outcome }> {
  const { snapshot } = session
  const oldHead = snapshot.head.commit
  const undos: Undo[] = []
  const undo = (): void => {
    for (const one of undos.toReversed()) one()
  }
  try {
    const clearings: Clearing[] = []
    const { entries, request, author } = step
    for await (const clearing of clearCurrent(session, entries, request, author)) {
      clearings.push(clearing)
      undos.push(clearing.built.undo)
    }
    const erased = [...entries.map(erasedVersion), ...deletions(history, clearings)]
    const { rewritten, objects } = await makeAgain(session, history, { erased, clearings }, options)
    undos.push(moveTo(snapshot, rewritten, erased))
    await session.seenRemotes.noteRewrite(lowestOf(history, rewritten))
    const commits: Oid[] = []
    const time = session.nextTime()
    for (const rows of redactRows(erased)) {
      const context = await session.commitContext(time)
      const { reason } = request
      const built = await buildRedaction(context, snapshot, { rows, reason }, author)
      undos.push(built.undo)
      objects.push(...built.objects)
      commits.push(built.head.commit)
    }
    const { head } = snapshot
    const outcome = { oldHead, newHead: head.commit, rewritten, erased, commits, time }
    return { built: { head, objects, dead: rewritten.dead, undo }, outcome }
  } catch (error) {
    undo()
    throw error
  }
}

/** A deletion made for this repeats the path: it goes, too. */
function deletions(history: History, clearings: readonly Clearing[]): readonly ErasedVersion[] {
  return clearings.flatMap(({ rows }, index) => {
    const position = history.commits.length + index
    return rows
      .filter(({ operation }) => operation === 'deleted')
      .map(({ versionId, memoryId, operation }) => ({ versionId, memoryId, operation, position }))
  })
}

/** Objects that were not staged are returned; the last of them is the new head's commit. */
async function makeAgain(
  session: StoreSession,
  history: History,
  what: { readonly erased: readonly ErasedVersion[]; readonly clearings: readonly Clearing[] },
  { progress, signal }: WorkOptions,
): Promise<{ readonly rewritten: Rewritten; readonly objects: NewObject[] }> {
  const { contents, storeId, epochs } = session
  const cleared = what.clearings.flatMap(({ built }) => built.objects)
  const made = new Map(cleared.map((object) => [object.oid, object]))
  const tail = what.clearings.map(({ built, rows }) => {
    return { oid: built.head.commit, bases: new Set(rows.map((row) => row.base)) }
  })
  const newest = tail.at(-1)?.oid ?? history.head?.oid
  assert(newest === session.snapshot.head.commit, 'the history reaches the head')
  let waiting: readonly NewObject[] = []
  const rewritten = await rewrite({
    source: {
      objects: { read: (oid) => made.get(oid) ?? contents.objects.read(oid) },
      storeId,
      epochs,
    },
    history,
    tail,
    erased: what.erased,
    emit: async (objects) => {
      await session.objects.stage(waiting)
      waiting = objects
    },
    progress,
    signal,
  })
  const left = cleared.filter(({ oid }) => !rewritten.dead.has(oid))
  return { rewritten, objects: [...left, ...waiting] }
}

/** The records are the same and so are the memories; commits and trees have other names. */
function moveTo(snapshot: Snapshot, rewritten: Rewritten, erased: readonly ErasedVersion[]): Undo {
  const { head } = snapshot
  snapshot.head = { ...head, commit: rewritten.head, tree: rewritten.tree }
  for (const { versionId } of erased) snapshot.redacted.add(versionId)
  return () => {
    snapshot.head = head
    for (const { versionId } of erased) snapshot.redacted.delete(versionId)
  }
}

/** The rows of the redact records: one record holds so many. */
function redactRows(erased: readonly ErasedVersion[]): readonly (readonly RecordRow[])[] {
  const nothing = { base: zeroId, secondBase: zeroId, operation: undefined, commitment: zeroHash }
  const rows = erased
    .map(({ memoryId, versionId }) => ({ memoryId, versionId, ...nothing }))
    .toSorted((a, b) => {
      const [first, second] = [a.memoryId + a.versionId, b.memoryId + b.versionId]
      return first < second ? -1 : 1
    })
  const records: RecordRow[][] = []
  for (let at = 0; at < rows.length; at += rowsMax) records.push(rows.slice(at, at + rowsMax))
  return records
}
