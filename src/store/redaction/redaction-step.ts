// Builds the single transition of a redaction: replaces current versions of live memories if
// requested, rewrites the history without the erased versions, and adds redact records on top.
// Moves the snapshot; `undo` moves it back. Must not commit.

import type { WorkOptions } from '../../async.ts'
import { assert } from '../../errors.ts'
import type { SignedRow } from '../../format/change-record.ts'
import { zeroHash, zeroId } from '../../format/record.ts'
import type { NewObject, Oid } from '../../git/objects/object.ts'
import { rowsMax } from '../../limits.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildRedaction, type BuiltCommit } from '../commits/commit.ts'
import type { VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import type { Head, Snapshot, Undo } from '../snapshot/snapshot.ts'
import type { ErasedVersion } from './erased-spans.ts'
import { clearCurrent, type Clearing } from './redaction-clearing.ts'
import type { RedactionRequest } from './redaction-plan.ts'
import { erasedVersion, lowestOf, rewrite, type Rewritten } from './rewrite.ts'

/** The result of one redaction. */
export interface Outcome {
  readonly oldHead: Oid
  readonly newHead: Oid
  readonly rewritten: Rewritten
  readonly erased: readonly ErasedVersion[]
  /** The redact records and their commits, oldest first. */
  readonly heads: readonly Head[]
  /** The time of the redact records, ms since 1970. */
  readonly time: number
}

export interface RedactionStep {
  readonly entries: readonly VersionEntry[]
  readonly request: RedactionRequest
  readonly author: Author
}

export async function buildStep(
  session: StoreSession,
  history: History,
  step: RedactionStep,
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
    const change = { erased, clearings }
    const { rewritten, objects } = await rewriteCleared(session, history, change, options)
    undos.push(moveTo(snapshot, rewritten, erased))
    await session.seenRemotes.noteRewrite(lowestOf(history, rewritten))
    const heads: Head[] = []
    const time = session.nextTime()
    for await (const built of buildRecords(session, erased, step, time)) {
      undos.push(built.undo)
      objects.push(...built.objects)
      heads.push(built.head)
    }
    const { head } = snapshot
    const outcome = { oldHead, newHead: head.commit, rewritten, erased, heads, time }
    return { built: { head, objects, dead: rewritten.dead, undo }, outcome }
  } catch (error) {
    undo()
    throw error
  }
}

/** The deletions that cleared current versions: they repeat the paths, so they are erased too. */
function deletions(history: History, clearings: readonly Clearing[]): readonly ErasedVersion[] {
  return clearings.flatMap(({ built, rows }, index) => {
    const position = history.commits.length + index
    return rows
      .map(({ memoryId, operation }, row) => {
        return { versionId: built.versionIds[row] ?? '', memoryId, operation, position }
      })
      .filter(({ operation }) => operation === 'deleted')
  })
}

/** Builds the redact records on the rewritten head; each moves the snapshot. */
async function* buildRecords(
  session: StoreSession,
  erased: readonly ErasedVersion[],
  { request: { reason }, author }: RedactionStep,
  time: number,
): AsyncGenerator<BuiltCommit> {
  for (const rows of redactRows(erased)) {
    const context = await session.commitContext(time, author)
    yield await buildRedaction(context, session.snapshot, { rows, reason }, author)
  }
}

/**
 * Rewrites the history and the commits that cleared current versions. Returns the objects that
 * were not staged; the last of them is the new head's commit.
 */
async function rewriteCleared(
  session: StoreSession,
  history: History,
  change: { readonly erased: readonly ErasedVersion[]; readonly clearings: readonly Clearing[] },
  { progress, signal }: WorkOptions,
): Promise<{ readonly rewritten: Rewritten; readonly objects: NewObject[] }> {
  const { contents, storeId, epochs } = session
  const cleared = change.clearings.flatMap(({ built }) => built.objects)
  const made = new Map(cleared.map((object) => [object.oid, object]))
  const tail = change.clearings.map(({ built, rows }) => {
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
    erased: change.erased,
    emit: async (objects) => {
      await session.objects.stage(waiting)
      waiting = objects
    },
    progress,
    signal,
  })
  const kept = cleared.filter(({ oid }) => !rewritten.dead.has(oid))
  return { rewritten, objects: [...kept, ...waiting] }
}

/** Moves the snapshot to the rewritten head, which has the same records and live memories. */
function moveTo(snapshot: Snapshot, rewritten: Rewritten, erased: readonly ErasedVersion[]): Undo {
  const { head } = snapshot
  snapshot.head = { ...head, commit: rewritten.head, tree: rewritten.tree }
  for (const { versionId } of erased) snapshot.redacted.add(versionId)
  return () => {
    snapshot.head = head
    for (const { versionId } of erased) snapshot.redacted.delete(versionId)
  }
}

/** The rows of the redact records, at most `rowsMax` for each. */
function redactRows(erased: readonly ErasedVersion[]): readonly (readonly SignedRow[])[] {
  const empty = { secondBase: zeroId, operation: undefined, commitment: zeroHash }
  const rows = erased
    .map(({ memoryId, versionId }) => ({ memoryId, base: versionId, ...empty }))
    .toSorted((a, b) => (a.memoryId + a.base < b.memoryId + b.base ? -1 : 1))
  const records: SignedRow[][] = []
  for (let at = 0; at < rows.length; at += rowsMax) records.push(rows.slice(at, at + rowsMax))
  return records
}
