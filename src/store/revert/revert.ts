// Carries out a revert (restore.ts, undo.ts): plans it under the writer lock on the newest head
// with a history up to that head, and commits it as a whole, or with `dryRun` only reports the
// plan.

import type { WorkOptions } from '../../async.ts'
import { sha256OfText } from '../../crypto/digest.ts'
import { StoreError } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import type { GitObject, Oid } from '../../git/objects/object.ts'
import { MEBIBYTE } from '../../limits.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import { checkMayWrite } from '../access/authority.ts'
import { planStates } from '../changes/changes.ts'
import { checkAuthor } from '../commits/author.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildChange } from '../commits/commit.ts'
import type { PlannedRow } from '../commits/new-rows.ts'
import { findBlobAt, readMemory, readVersionContent } from '../history/contents.ts'
import type { StoreSession } from '../session/session.ts'
import type { Build } from '../session/writer.ts'
import type { ObjectSource } from '../snapshot/git-reads.ts'
import type { LiveMemory } from '../snapshot/live-memory.ts'
import type { Revert } from './restore.ts'
import type { RevertPlan, RevertSource, RevertStep } from './revert-plan.ts'

/** At most this many memories are replayed, or texts read, before other work runs. */
const stepsMax = 64
/** Commits and trees that are kept while versions are read. */
const RECENT_BYTES_MAX = 16 * MEBIBYTE

export interface RevertOptions extends Omit<WorkOptions, 'onCommit'> {
  /** Only reports what would be done. */
  readonly dryRun?: boolean | undefined
  /**
   * The `plan` that a user has agreed to. If another one would be carried out by now, nothing is
   * changed (`precondition_failed`).
   */
  readonly confirmed?: string | undefined
}

/**
 * Plans and commits. Rejects as `StoreWriter.apply` does, with what the plan throws, or with
 * `cancelled`; in each case nothing has changed.
 */
export async function revert(
  session: StoreSession,
  plan: (source: RevertSource) => Promise<RevertPlan>,
  author: Author,
  options: RevertOptions = {},
): Promise<Revert> {
  const checked = checkAuthor(author)
  if (options.dryRun === true) {
    return session.planning(async () => {
      const { planned, rows } = await planRows(session, plan, options)
      await session.checkContents(rows, checked)
      const name = await inSlices(nameOf(planned.steps))
      return { commit: undefined, versionIds: [], ...reportOf(planned), plan: name }
    })
  }
  const write: Build<Revert> = async () => {
    checkMayWrite(session.snapshot, session.identity, 'change')
    const { planned, rows, time } = await planRows(session, plan, options)
    await checkConfirmed(options.confirmed, planned.steps)
    const report = reportOf(planned)
    if (rows.length === 0) {
      return { built: undefined, result: { commit: undefined, versionIds: [], ...report } }
    }
    await session.checkContents(rows, checked)
    const context = await session.commitContext(time, checked)
    const reason = checked.reason ?? planned.note
    const built = await buildChange(context, session.snapshot, rows, { ...checked, reason })
    const versionIds = built.versionIds.map((id) => formatId('version', id))
    return { built, result: { commit: built.snapshot.head.commit, versionIds, ...report } }
  }
  return session.writing(write, true)
}

/** What a plan tells its user. */
function reportOf({
  steps,
  left,
  doubtful,
}: RevertPlan): Pick<Revert, 'steps' | 'left' | 'doubtful'> {
  return { steps, left, ...(doubtful && { doubtful }) }
}

async function checkConfirmed(
  confirmed: string | undefined,
  steps: readonly RevertStep[],
): Promise<void> {
  if (confirmed === undefined || confirmed === (await inSlices(nameOf(steps)))) return
  const message = 'The store has changed since the plan was made: look at the new one'
  throw new StoreError('precondition_failed', message)
}

/** Of all that the steps say, texts included. Yields after each. */
function* nameOf(steps: readonly RevertStep[]): Generator<undefined, string> {
  let name = ''
  for (const step of steps) {
    yield
    name = sha256OfText(`${name}${JSON.stringify(step)}`)
  }
  return name === '' ? sha256OfText(name) : name
}

async function planRows(
  session: StoreSession,
  plan: (source: RevertSource) => Promise<RevertPlan>,
  options: RevertOptions,
): Promise<{
  readonly planned: RevertPlan
  readonly rows: readonly PlannedRow[]
  readonly time: number
}> {
  const source = await openSource(session, options)
  const planned = await plan(source)
  const { snapshot } = session
  checkNotArchived(snapshot.settings.value.archivedAt, planned)
  const time = session.nextTime()
  const readContent = (memory: LiveMemory) => source.readMemory(memory)
  const rows = await planStates({ snapshot, now: time, readContent }, planned.states)
  return { planned, rows, time }
}

async function openSource(session: StoreSession, options: RevertOptions): Promise<RevertSource> {
  const { snapshot } = session
  const slice = new TimeSlice(options.signal, stepsMax)
  const contents = { ...session.contents, objects: new RecentObjects(session.contents.objects) }
  return {
    history: await session.historyNow(options),
    snapshot,
    now: session.clock.now(),
    readVersion(entry, at) {
      const known = at && findBlobAt(contents, at.oid, entry.memoryId)
      const content = readVersionContent(contents, entry, known)
      if (content !== undefined) return content
      throw new StoreError('redacted', 'A required version has been erased')
    },
    readMemory: (memory) => readMemory(contents, memory),
    async report(done, total) {
      if (!slice.isOver() && done !== 0 && done !== total) return
      options.progress?.(done, total)
      await slice.next()
    },
  }
}

/** Memory Stores API §5.7: an archived store can be read and emptied, not written. */
function checkNotArchived(archivedAt: number | undefined, { states }: RevertPlan): void {
  if (archivedAt === undefined || states.every(({ target }) => target === undefined)) return
  throw new StoreError(
    'store_archived',
    'The store is archived: memories can only be read or deleted',
  )
}

/**
 * A bounded cache of recently read commits and trees, for work that reads many versions: those of
 * one commit share its bytes and upper trees, and a commit of many rows is large. Must not outlive
 * that work, or erased objects would remain in RAM.
 */
class RecentObjects implements ObjectSource {
  readonly #objects: ObjectSource
  /** Oldest first: a Map keeps the order of insertion. */
  readonly #recent: Map<Oid, GitObject> = new Map()
  #bytes = 0

  constructor(objects: ObjectSource) {
    this.#objects = objects
  }

  read(oid: Oid): GitObject | undefined {
    const object = this.#recent.get(oid) ?? this.#objects.read(oid)
    // A blob is rarely read twice.
    if (object === undefined || object.type === 'blob') return object
    if (!this.#recent.delete(oid)) this.#bytes += object.body.length
    this.#recent.set(oid, object)
    for (const [oldest, { body }] of this.#recent) {
      if (this.#bytes <= RECENT_BYTES_MAX) break
      this.#recent.delete(oldest)
      this.#bytes -= body.length
    }
    return object
  }
}
