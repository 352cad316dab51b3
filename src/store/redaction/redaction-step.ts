// Builds the single transition of a redaction: deletes or overwrites live memories whose current
// version will be erased, if requested, since tree(X) of FORMAT §6.4 holds every current version;
// rewrites the history without the erased versions, and adds redact records on top. Moves the
// session step by step. Must not commit.

import type { WorkOptions } from '../../async.ts'
import { assert, StoreError } from '../../errors.ts'
import type { SignedRow } from '../../format/change-record.ts'
import { zeroHash, zeroId } from '../../format/record.ts'
import type { NewObject, Oid } from '../../git/objects/object.ts'
import { rowsMax } from '../../limits.ts'
import { type Change, planChanges } from '../changes/changes.ts'
import type { Author } from '../commits/commit-context.ts'
import {
  buildChange,
  buildRedaction,
  type BuiltCommit,
  type BuiltVersions,
} from '../commits/commit.ts'
import type { PlannedRow } from '../commits/new-rows.ts'
import { readMemory } from '../history/contents.ts'
import type { VersionEntry } from '../history/history-rows.ts'
import type { History } from '../history/history.ts'
import type { StoreSession } from '../session/session.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { Head, Snapshot } from '../snapshot/snapshot.ts'
import type { ErasedVersion } from './erased-spans.ts'
import { currentError, type RedactionRequest } from './redaction-plan.ts'
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
  /** The versions to erase, and those of them that are current in live memories. */
  readonly entries: readonly VersionEntry[]
  readonly current: readonly VersionEntry[]
  readonly request: RedactionRequest
  readonly author: Author
}

/** A commit that replaces current versions. */
export interface Clearing {
  readonly built: BuiltVersions
  readonly rows: readonly PlannedRow[]
}

const PLACEHOLDER = '[redacted]'
/** At most this many passes overwrite matches: a replacement may produce new ones. */
const PASSES_MAX = 8
/** An overwritten text may grow by at most this factor. */
const GROWTH_MAX = 4

export async function buildStep(
  session: StoreSession,
  history: History,
  step: RedactionStep,
  options: WorkOptions,
): Promise<{ readonly built: BuiltCommit; readonly outcome: Outcome }> {
  const oldHead = session.snapshot.head.commit
  const clearings: Clearing[] = []
  for await (const clearing of clearCurrent(session, step)) clearings.push(clearing)
  const erased = [...step.entries.map(erasedVersion), ...deletions(history, clearings)]
  const change = { erased, clearings }
  const { rewritten, objects } = await rewriteCleared(session, history, change, options)
  session.moveTo(afterRewrite(session.snapshot, rewritten, erased))
  await session.seenRemotes.noteRewrite(lowestOf(history, rewritten))
  const heads: Head[] = []
  const time = session.nextTime()
  for await (const built of buildRecords(session, erased, step, time)) {
    objects.push(...built.objects)
    heads.push(built.snapshot.head)
  }
  const { snapshot } = session
  const newHead = snapshot.head.commit
  const outcome = { oldHead, newHead, rewritten, erased: inRecordOrder(erased), heads, time }
  return { built: { snapshot, objects, dead: rewritten.dead }, outcome }
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

/** Builds the redact records on the rewritten head; each moves the session. */
async function* buildRecords(
  session: StoreSession,
  erased: readonly ErasedVersion[],
  { request: { reason }, author }: RedactionStep,
  time: number,
): AsyncGenerator<BuiltCommit> {
  for (const rows of redactRows(erased)) {
    const context = await session.commitContext(time, author)
    const built = await buildRedaction(context, session.snapshot, { rows, reason }, author)
    session.moveTo(built.snapshot)
    yield built
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
    return { oid: built.snapshot.head.commit, bases: new Set(rows.map((row) => row.base)) }
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

/** The snapshot at the rewritten head, which has the same records and live memories. */
function afterRewrite(
  snapshot: Snapshot,
  { head: commit, tree }: Rewritten,
  erased: readonly ErasedVersion[],
): Snapshot {
  const redacted = new Set([...snapshot.redacted, ...erased.map(({ versionId }) => versionId)])
  return snapshot.with({ head: { ...snapshot.head, commit, tree }, redacted })
}

/** Ascending, as records have their rows: a certificate that is issued again is the same. */
function inRecordOrder(erased: readonly ErasedVersion[]): readonly ErasedVersion[] {
  return erased.toSorted((a, b) => {
    return a.memoryId + a.versionId < b.memoryId + b.versionId ? -1 : 1
  })
}

/** The rows of the redact records, at most `rowsMax` for each. */
function redactRows(erased: readonly ErasedVersion[]): readonly (readonly SignedRow[])[] {
  const empty = { secondBase: zeroId, operation: undefined, commitment: zeroHash }
  const rows = inRecordOrder(erased).map(({ memoryId, versionId }) => {
    return Object.assign({ memoryId, base: versionId }, empty)
  })
  const records: SignedRow[][] = []
  for (let at = 0; at < rows.length; at += rowsMax) records.push(rows.slice(at, at + rowsMax))
  return records
}

/** Builds as many commits as the limit of rows requires; none if no version is current. */
async function* clearCurrent(
  session: StoreSession,
  { current, request, author }: RedactionStep,
): AsyncGenerator<Clearing> {
  const { snapshot } = session
  if (current.length === 0) return
  if (request.current !== 'delete' && request.current !== 'overwrite') throw currentError(current)
  checkMayOverwrite(snapshot, request)
  for (let start = 0; start < current.length; start += rowsMax) {
    const now = session.nextTime()
    const rows = await planClearing(session, now, current.slice(start, start + rowsMax), request)
    const context = await session.commitContext(now, author)
    // Without the caller's reason, which may repeat the secret.
    const by = { ...author, reason: undefined }
    const built = await buildChange(context, session.snapshot, rows, by)
    session.moveTo(built.snapshot)
    yield { built, rows }
  }
}

async function planClearing(
  session: StoreSession,
  now: number,
  entries: readonly VersionEntry[],
  request: RedactionRequest,
): Promise<readonly PlannedRow[]> {
  const { snapshot, contents } = session
  const changes = entries.map((entry) => clearingChange(getLive(snapshot, entry), request))
  const readContent = (memory: LiveMemory): string => readMemory(contents, memory)
  const { rows } = await planChanges({ snapshot, now, readContent }, changes)
  const replaced = new Set(rows.map((row) => row.base))
  const unchanged = entries.filter((entry) => !replaced.has(entry.versionId))
  if (unchanged.length > 0) throw unchangedError(unchanged)
  return rows
}

/** An archived store can be read and emptied, but not written (Memory Stores API §5.7). */
function checkMayOverwrite({ settings }: Snapshot, request: RedactionRequest): void {
  if (request.current !== 'overwrite' || settings.value.archivedAt === undefined) return
  throw new StoreError(
    'store_archived',
    'The store is archived, so no text can be overwritten: delete these memories instead',
  )
}

function clearingChange({ path }: LiveMemory, request: RedactionRequest): Change {
  if (request.current === 'delete') return { type: 'delete', path }
  const { matching } = request.select
  if (matching === undefined) return { type: 'edit', path, edit: () => `${PLACEHOLDER}\n` }
  const everywhere = new RegExp(matching.source, `${matching.flags.replace(/[gy]/g, '')}g`)
  if (path.search(everywhere) !== -1) {
    throw new StoreError(
      'version_current',
      'The path of a live memory matches too: rename or delete it instead of overwriting it',
    )
  }
  return { type: 'edit', path, edit: (content) => overwritten(content, everywhere) }
}

/** Replaces matches until no match is left: the text around a match may form a new one. */
function overwritten(content: string, everywhere: RegExp): string {
  const lengthMax = GROWTH_MAX * content.length + PLACEHOLDER.length * GROWTH_MAX
  let text = content
  for (let pass = 0; pass < PASSES_MAX && PLACEHOLDER.search(everywhere) === -1; pass += 1) {
    if (text.search(everywhere) === -1) return text
    text = text.replace(everywhere, () => PLACEHOLDER)
    if (text.length > lengthMax) break
  }
  if (content.search(everywhere) === -1) return content
  throw new StoreError(
    'version_current',
    `The pattern would still match after its matches are replaced by ${PLACEHOLDER}: edit or ` +
      'delete these memories first',
  )
}

/** Only the reason matches, or the text is the placeholder already. */
function unchangedError(entries: readonly VersionEntry[]): StoreError {
  const { code, details } = currentError(entries)
  return new StoreError(
    code,
    `${entries.length} of the versions are current, and overwriting would not change their ` +
      'texts, as only the reason given for them matches: edit or delete these memories first',
    { details },
  )
}

function getLive(snapshot: Snapshot, { memoryId }: VersionEntry): LiveMemory {
  const live = snapshot.current.get(memoryId)?.live
  assert(live !== undefined, 'a current version belongs to a live memory')
  return live
}
