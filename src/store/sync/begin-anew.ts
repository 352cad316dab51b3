// A clone that a grant began, and whose beginning was redacted elsewhere (decision 0066), begins
// anew from a newer start of the granter, in one transition of the branch: the changes of this
// clone that the remote lacks are written again on top, each as a change of its own, and everything
// of the earlier line is erased. newer-start.ts decides whether a start may replace a known state.

import { toHex } from '../../bytes.ts'
import { hasCode, type StoreError } from '../../errors.ts'
import { formatId } from '../../format/id.ts'
import type { Incoming } from '../../git/exchange.ts'
import type { NewObject, Oid } from '../../git/objects/object.ts'
import { inSlices, TimeSlice } from '../../time-slice.ts'
import { decodeAt } from '../access/post-revocation.ts'
import { planChanges } from '../changes/changes.ts'
import { findBound } from '../clone/bound-address.ts'
import { beginsElsewhereError } from '../clone/fetch-all.ts'
import { type NewStart, StartFetch } from '../clone/start-fetch.ts'
import type { Author } from '../commits/commit-context.ts'
import { buildChange } from '../commits/commit.ts'
import { type ContentSource, readMemory } from '../history/contents.ts'
import type { CommitEntry } from '../history/history-rows.ts'
import { History } from '../history/history.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import { type BuiltOn, type BuiltOnRedacted, findBuiltOn } from '../redaction/built-on.ts'
import { finishAnew } from '../session/finish-anew.ts'
import type { StoreSession } from '../session/session.ts'
import { checkAge } from '../session/shown-age.ts'
import type { Build } from '../session/writer.ts'
import { describeMemory, type LiveMemory } from '../snapshot/live-memory.ts'
import { closureOf } from '../snapshot/object-closure.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { Depth } from './fetch.ts'
import {
  checkContains,
  checkIsNewer,
  findLocal,
  type StartedClone,
  newlyRedacted,
} from './newer-start.ts'
import { type LeftLine, planRepeats } from './redo.ts'
import { noNewStartError } from './refusals.ts'
import { seenAs } from './remote-history.ts'
import { accessOf, noteFetches, type Peer } from './remote-state.ts'
import {
  type BegunAnew,
  nothingMoved,
  type ReconcileResult,
  type ReplacedVersion,
} from './report.ts'

interface BeganAnew {
  /** The head of the remote. */
  readonly head: SeenHead
  readonly bytes: number
  readonly reconciled: ReconcileResult
}

/**
 * The branch has moved durably when it resolves. Throws, with nothing changed: `history_needed` if
 * the granter has made no newer start, or the refusal if nothing was redacted; `rolled_back` if the
 * start lacks what the remote has shown; what `StartFetch` throws, or what refuses a change.
 */
export async function beginAnew(
  peer: Peer,
  author: Author,
  refusal: StoreError,
): Promise<BeganAnew> {
  const { session } = peer
  const clone = await startedClone(peer, refusal)
  const incoming = session.objects.exchange.incoming()
  try {
    const { fetched, bytes } = await fetchStart(peer, clone, incoming)
    const { snapshot } = fetched
    const redacted = await session.reading((ours) => newlyRedacted(ours, snapshot))
    if (redacted.size === 0) throw refusal
    await (await findBound(session, peer.remote))?.check(fetched.keyrings, peer.options.signal)
    clone.granted.check(snapshot, session.identity, session.clock.now())
    await session.planning(async () => {
      checkContains(session, await session.historyNow(peer.options), clone, fetched)
    })
    await noteFetches(session, [snapshot.head.commit])
    await session.learnWraps(fetched.wrapsBytes)
    await incoming.accept()
    const reconciled = await session.writing(moving(peer, author, clone, fetched), true)
    session.forgetAll()
    await finishAnew(session)
    // Now, while nothing has brought any of it back that is harmless.
    await session.erase()
    return { head: seenAs(fetched), bytes, reconciled }
  } finally {
    incoming.drop()
  }
}

async function startedClone({ session, known }: Peer, refusal: StoreError): Promise<StartedClone> {
  const { granted, identity, storeId, objects, epochs, beginning } = session
  const held = identity.grant
  if (held === undefined || granted === undefined || beginning === undefined) throw refusal
  const { wraps, start } = held.blobsAmong(known.named)
  // A redaction deletes all starts, and the granter makes its own again.
  if (wraps !== undefined && start === undefined) throw noNewStartError(beginning.deviceId, refusal)
  const before = granted.readStart({ objects, storeId, epochs }, held)
  return { held, granted, beginning, before, seen: await known.seen() }
}

/** The newer start, and the state at the head of the remote, in the place for incoming objects. */
async function fetchStart(
  peer: Peer,
  { held, beginning, before }: StartedClone,
  incoming: Incoming,
): Promise<{ readonly fetched: NewStart; readonly bytes: number }> {
  const { storeId, identity } = peer.session
  const depth = new Depth([])
  let bytes = 0
  const place: ConstructorParameters<typeof StartFetch>[2] = {
    objects: incoming,
    shallow: () => depth.shallow,
    async receive(fetch) {
      const received = await fetch(incoming)
      depth.moved(received)
      bytes += received.bytes
    },
  }
  const check: (start: NewStart['start']) => void = (start) => {
    checkIsNewer(before, start)
    checkAge(held, start.time, peer.session.clock.now())
  }
  const { transfer } = peer.options
  const options = { storeId, identity, access: accessOf(peer), transfer, check }
  try {
    return { fetched: await new StartFetch(held, options, place).fetch(), bytes }
  } catch (error) {
    if (!hasCode(error, 'history_needed')) throw error
    throw noNewStartError(beginning.deviceId, error)
  }
}

/** The move of the branch. After a crash, `finishAnew` settles it. */
function moving(
  { session, remote, options }: Peer,
  author: Author,
  clone: StartedClone,
  fetched: NewStart,
): Build<ReconcileResult> {
  return async () => {
    if (session.beginning !== clone.beginning) throw beginsElsewhereError()
    const history = await session.historyNow(options)
    checkContains(session, history, clone, fetched)
    const redacted = newlyRedacted(session.snapshot, fetched.snapshot)
    const line: UnsentLine = {
      history,
      commits: findUnsent(session, history, clone, fetched),
      builtOn: await inSlices(findBuiltOn(history, redacted), options.signal),
      contents: session.contents,
    }
    const epochs = new Map([...session.epochs, ...fetched.epochs])
    session.moveTo(fetched.snapshot, epochs)
    const { objects, ...again } = await writeAgain(session, line, author, options.signal)
    const { snapshot } = session
    const dead = await findDead(session, objects, options.signal)
    await clone.granted.keepNextStart(fetched.startBytes)
    await session.local.anchor.noteAnew(snapshot.head)
    const seen = { ...seenAs(fetched), seenAt: session.clock.now() }
    await session.seenRemotes.noteAnew(remote.name, remote.url, seen)
    // The history that was read until here is emptied.
    const erased = [...redacted].filter((id) => history.find(id) !== undefined).length
    session.moveTo(snapshot, epochs, fetched.beginning)
    const deviceId = formatId('device', fetched.beginning.deviceId)
    const begunAnew = { deviceId, ...again }
    return {
      built: { snapshot, epochs, objects, dead },
      result: { ...nothingMoved, erased, received: fetched.records.size, begunAnew },
    }
  }
}

/** The changes to write again, and how they relate to redacted versions. */
interface UnsentLine extends Pick<LeftLine, 'history' | 'contents'> {
  readonly commits: readonly CommitEntry[]
  readonly builtOn: BuiltOn
}

/** The changes of this clone that the remote never had. A merge of both sides is made again. */
function findUnsent(
  session: StoreSession,
  history: History,
  { seen }: StartedClone,
  { records }: NewStart,
): readonly CommitEntry[] {
  const isLocal = findLocal(session, history, seen)
  return [...history.commits].filter((commit) => {
    if (!isLocal(commit.position) || history.isMerge(commit)) return false
    return !records.has(toHex(decodeAt(session, commit.oid).hash))
  })
}

interface WrittenAgain extends Omit<BegunAnew, 'deviceId'> {
  readonly objects: readonly NewObject[]
}

/** Writes each change again, merged by text with the present one, and moves the session. */
async function writeAgain(
  session: StoreSession,
  { history, commits, builtOn, contents }: UnsentLine,
  author: Author,
  signal: AbortSignal | undefined,
): Promise<WrittenAgain> {
  const made = new Map<Oid, NewObject>()
  const read = (oid: Oid) => made.get(oid) ?? contents.objects.read(oid)
  const source = { ...contents, objects: { read }, epochs: session.epochs }
  const renamed = new Map<string, string>()
  const line = { history, followed: new History(), contents: source, renamed }
  const mayRepeat: BuiltOnRedacted[] = []
  const replaced = new Map<string, ReplacedVersion>()
  let changes = 0
  const slice = new TimeSlice(signal)
  for (const commit of commits) {
    if (slice.isOver()) await slice.next()
    const written = await writeOne(session, { ...line, commit }, author)
    if (written.length === 0) continue
    changes += 1
    for (const object of written) made.set(object.oid, object)
    const rows = history.rowsAt(commit.position)
    mayRepeat.push(...copiesOf(session, rows, builtOn, renamed))
    for (const { memoryId, versionId } of rows) {
      const found = findReplacing(session.snapshot, renamed.get(memoryId) ?? memoryId)
      if (found !== undefined) replaced.set(formatId('version', versionId), found)
    }
  }
  return { objects: [...made.values()], changes, mayRepeat, replaced }
}

function findReplacing({ current, head }: Snapshot, memoryId: string): ReplacedVersion | undefined {
  const found = current.get(memoryId)
  if (found === undefined) return undefined
  const { versionId, live } = found
  return {
    commit: head.commit,
    versionId: formatId('version', versionId),
    memory: live && describeMemory(live),
  }
}

/** The objects of the new commit; empty if its effect is here already. */
async function writeOne(
  session: StoreSession,
  line: Omit<LeftLine, 'positions'> & {
    readonly commit: CommitEntry
    readonly contents: ContentSource
    readonly renamed: Map<string, string>
  },
  author: Author,
): Promise<readonly NewObject[]> {
  const { commit, contents, renamed } = line
  const { snapshot, identity } = session
  const positions = new Set([commit.position])
  const plan = await planRepeats(snapshot, { ...line, positions }, identity.deviceId)
  const now = session.nextTime()
  const readContent = (memory: LiveMemory): string => readMemory(contents, memory)
  const { rows } = await planChanges({ snapshot, now, readContent }, plan.changes)
  if (rows.length === 0) return []
  const { actor = author.actor, session: agentSession, note: reason } = commit
  const by: Author = { actor, session: agentSession, reason }
  const built = await buildChange(await session.commitContext(now, by), snapshot, rows, by)
  session.moveTo(built.snapshot)
  for (const [memoryId, path] of plan.created) {
    const created = built.snapshot.paths.findMemory(path)?.memoryId
    if (created !== undefined) renamed.set(memoryId, created)
  }
  return built.objects
}

/** The new versions for those that were written on a redacted one. */
function copiesOf(
  { snapshot }: StoreSession,
  rows: ReturnType<History['rowsAt']>,
  builtOn: BuiltOn,
  renamed: ReadonlyMap<string, string>,
): readonly BuiltOnRedacted[] {
  return rows.flatMap(({ memoryId, versionId }) => {
    const sources = builtOn.get(versionId)
    const live = snapshot.current.get(renamed.get(memoryId) ?? memoryId)?.live
    if (sources === undefined || live === undefined) return []
    const redactedVersionIds = Array.from(sources, (id) => formatId('version', id))
    const found = {
      memoryId: formatId('memory', live.memoryId),
      versionId: formatId('version', live.versionId),
    }
    return [{ ...found, path: live.path, redactedVersionIds }]
  })
}

/** All that is stored and that the new head does not reach. */
async function findDead(
  { objects, snapshot }: StoreSession,
  made: readonly NewObject[],
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<Oid>> {
  const news = new Map(made.map((object) => [object.oid, object]))
  const read = (oid: Oid) => news.get(oid) ?? objects.read(oid)
  const { oids: needed } = await closureOf({ read }, snapshot.head.commit, signal)
  const dead = new Set<Oid>()
  const slice = new TimeSlice(signal)
  for (const oid of objects.objectIds()) {
    if (slice.isOver()) await slice.next()
    if (!needed.has(oid) && !news.has(oid)) dead.add(oid)
  }
  return dead
}
