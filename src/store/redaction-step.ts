// Builds the one transition of a redaction: current versions of live memories are replaced first if
// that was asked for, the history is made again without the erased ones, and redact records follow
// on top. Moves the snapshot; `undo` moves it back.

import { assert, StoreError } from '../errors.ts'
import type { RecordRow } from '../format/record.ts'
import { zeroHash, zeroId } from '../format/record.ts'
import type { NewObject, Oid } from '../git/object.ts'
import { rowsMax } from '../limits.ts'
import { planChanges } from './changes.ts'
import type { Change, PlannedRow } from './changes.ts'
import { buildChange, buildRedaction } from './commit.ts'
import type { Author, BuiltCommit } from './commit.ts'
import { readMemory } from './contents.ts'
import type { History, VersionEntry } from './history.ts'
import { currentError, isCurrent } from './redaction-plan.ts'
import type { RedactionRequest } from './redaction-plan.ts'
import { rewrite } from './rewrite.ts'
import type { ErasedVersion, Rewritten } from './rewrite.ts'
import type { StoreSession } from './session.ts'
import type { LiveMemory, Snapshot, Undo } from './snapshot.ts'
import type { VerifyOptions } from './verify.ts'

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

/** The commit that takes current versions out of the way. */
interface Clearing {
  readonly built: BuiltCommit
  readonly rows: readonly PlannedRow[]
}

/** Objects that wait in RAM at most before they go to disk. */
const STAGE_AT = 8192
const PLACEHOLDER = '[redacted]'

export async function buildStep(
  session: StoreSession,
  history: History,
  step: Step,
  options: VerifyOptions,
): Promise<{ readonly built: BuiltCommit; readonly outcome: Outcome }> {
  const { snapshot } = session
  const oldHead = snapshot.head.commit
  const undos: Undo[] = []
  const undo = (): void => {
    for (const one of undos.toReversed()) one()
  }
  try {
    const clearing = await clearCurrent(session, step)
    if (clearing !== undefined) undos.push(clearing.built.undo)
    const erased = erasedVersions(history, step.entries, clearing)
    const { rewritten, objects } = await makeAgain(session, history, { erased, clearing }, options)
    undos.push(moveTo(snapshot, rewritten, erased))
    const commits: Oid[] = []
    const time = session.nextTime()
    for (const rows of redactRows(erased)) {
      const context = await session.commitContext(time)
      const { reason } = step.request
      const built = buildRedaction(context, snapshot, { rows, reason }, step.author)
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

/** Deletes or overwrites the live memories whose current version is to be erased. */
async function clearCurrent(session: StoreSession, step: Step): Promise<Clearing | undefined> {
  const { snapshot, random, contents } = session
  const { current = 'refuse' } = step.request
  const entries = step.entries.filter((entry) => isCurrent(snapshot, entry))
  if (entries.length === 0) return undefined
  if (current !== 'delete' && current !== 'overwrite') throw currentError(entries)
  const changes = entries.map((entry) => clearingChange(getLive(snapshot, entry), step.request))
  const now = session.nextTime()
  const readContent = (memory: LiveMemory) => readMemory(contents, memory)
  const rows = planChanges({ snapshot, random, now, readContent }, changes)
  const replaced = new Set(rows.map((row) => row.base))
  const left = entries.filter((entry) => !replaced.has(entry.versionId))
  if (left.length > 0) throw unchangedError(left)
  const context = await session.commitContext(now)
  // Without the caller's reason: it could not be told apart from what is to be erased.
  const { actor, session: authorSession } = step.author
  return { built: buildChange(context, snapshot, rows, { actor, session: authorSession }), rows }
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
  const edit = (content: string): string => content.replace(everywhere, () => PLACEHOLDER)
  return { type: 'edit', path, edit }
}

/** What matches is in the reason alone, so that there is nothing to overwrite in the text. */
function unchangedError(entries: readonly VersionEntry[]): StoreError {
  const { code, details } = currentError(entries)
  return new StoreError(
    code,
    `${entries.length} of the versions are current, and overwriting would not change their ` +
      'texts, since only the reason given for them matches: edit or delete these memories first',
    { details },
  )
}

function getLive(snapshot: Snapshot, { memoryId }: VersionEntry): LiveMemory {
  const live = snapshot.current.get(memoryId)?.live
  assert(live !== undefined, 'a current version belongs to a live memory')
  return live
}

/** What is erased, and where it was current. A deletion made for this repeats the path: it goes. */
function erasedVersions(
  history: History,
  entries: readonly VersionEntry[],
  clearing: Clearing | undefined,
): readonly ErasedVersion[] {
  const next = new Map<string, number>()
  for (const memoryId of new Set(entries.map((entry) => entry.memoryId))) {
    const versions = history.ofMemory(memoryId)
    for (const [index, { versionId }] of versions.entries()) {
      const follower = versions[index + 1]
      if (follower !== undefined) next.set(versionId, follower.commit.height)
    }
  }
  const height = clearing?.built.head.height ?? 0
  const deletions: ErasedVersion[] = []
  for (const { base, versionId, memoryId, operation } of clearing?.rows ?? []) {
    next.set(base, height)
    if (operation !== 'deleted') continue
    deletions.push({ versionId, memoryId, from: height, until: height, operation })
  }
  const erased = entries.map(({ versionId, memoryId, commit, operation }) => ({
    versionId,
    memoryId,
    from: commit.height,
    until: (next.get(versionId) ?? Number.POSITIVE_INFINITY) - 1,
    operation,
  }))
  return [...erased, ...deletions]
}

/** Objects that were not staged are returned; the last of them is the new head's commit. */
async function makeAgain(
  session: StoreSession,
  history: History,
  what: { readonly erased: readonly ErasedVersion[]; readonly clearing: Clearing | undefined },
  options: VerifyOptions,
): Promise<{ readonly rewritten: Rewritten; readonly objects: NewObject[] }> {
  const { contents, storeId, epochs } = session
  const made = new Map(what.clearing?.built.objects.map((object) => [object.oid, object]))
  const commits = history.commits.map((commit) => commit.oid)
  if (what.clearing !== undefined) commits.push(what.clearing.built.head.commit)
  assert(commits.at(-1) === session.snapshot.head.commit, 'the history reaches the head')
  let waiting: NewObject[] = []
  const rewritten = await rewrite({
    objects: { read: (oid) => made.get(oid) ?? contents.objects.read(oid) },
    storeId,
    epochs,
    commits,
    erased: what.erased,
    emit: async (objects) => {
      waiting.push(...objects)
      if (waiting.length < STAGE_AT) return
      await session.objects.stage(waiting)
      waiting = []
    },
    progress: options.progress,
    signal: options.signal,
  })
  const cleared = [...made.values()].filter(({ oid }) => !rewritten.dead.has(oid))
  return { rewritten, objects: [...cleared, ...waiting] }
}

/** The records are the same and so are the memories; commits and trees have other names. */
function moveTo(snapshot: Snapshot, rewritten: Rewritten, erased: readonly ErasedVersion[]): Undo {
  const { head } = snapshot
  const commit = rewritten.commits.at(-1)
  assert(commit !== undefined, 'a rewrite makes at least one commit')
  snapshot.head = { ...head, commit, tree: rewritten.tree }
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
