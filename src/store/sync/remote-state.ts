// What this store knows of its remotes without contacting them: the newest head that each has
// shown, which commits of ours it certainly has, how many it lacks, and which refused pack is kept.
// Also erases the objects of heads that did not become part of our history (FORMAT §10).

import type { WorkOptions } from '../../async.ts'
import { hasCode } from '../../errors.ts'
import type { Directory } from '../../format/directory.ts'
import type { Incoming, Remote } from '../../git/exchange.ts'
import { findLinks, type Oid } from '../../git/objects/object.ts'
import { refName } from '../../keys/wraps.ts'
import { inSlices } from '../../time-slice.ts'
import type { RemoteAccess, RemoteRefs } from '../../transport/remote-access.ts'
import { containsCommit, containsRecord } from '../commits/ancestors.ts'
import type { BuiltCommit } from '../commits/commit.ts'
import { decodeCommit } from '../commits/decoded-commit.ts'
import { findOutgoing } from '../commits/outgoing.ts'
import type { History, HistorySource } from '../history/history.ts'
import { findRecord } from '../history/known-commit.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import { rewriteHead } from '../redaction/rewrite.ts'
import { onOneState } from '../session/one-state.ts'
import type { StoreSession } from '../session/session.ts'
import type { Build } from '../session/writer.ts'
import { getTree } from '../snapshot/git-reads.ts'
import { findBlob } from '../snapshot/memory-tree.ts'
import { isVerdict } from '../verify/verdict.ts'
import { verifyRemoteHead } from './remote-head.ts'
import { loadTheirs, type RemoteHead, sourceWith } from './remote-history.ts'
import { type SyncOptions } from './report.ts'

/** One sync with one remote. */
export interface Peer {
  readonly session: StoreSession
  readonly remote: Remote
  readonly known: RemoteState
  readonly options: SyncOptions
}

/** How this machine reaches the remote, and whose refs of grants it must find there. */
export function accessOf({ remote, known, options }: Omit<Peer, 'session'>): RemoteAccess {
  const { grantNames } = known
  return { signal: options.signal, ...options.access, url: remote.url, grantNames }
}

/** By the directory, which is the same for most syncs: it may list thousands of removed devices. */
const knownNames: WeakMap<Directory, readonly string[]> = new WeakMap()

/** The names with which the refs of grants end (FORMAT §12): of all devices, or of the granter. */
export async function findGrantNames(session: StoreSession): Promise<readonly string[]> {
  const { identity, epochs } = session
  if (identity.grant !== undefined) return [identity.grant.name]
  const { kid, archived, directory } = await session.reading(({ keyring }) => keyring)
  const first = epochs.get(archived[0] ?? kid)
  const found = knownNames.get(directory)
  if (first === undefined || found !== undefined) return found ?? []
  const devices = [...directory.devices, ...directory.removed]
  const names = devices.map(({ deviceId }) => refName(first, deviceId))
  knownNames.set(directory, names)
  return names
}

export class RemoteState {
  /** The names with which refs of grants end that are asked for in this sync. */
  grantNames: readonly string[] = []
  /** The refs of grants that it has shown in this sync. */
  named: ReadonlyMap<string, Oid> = new Map()
  /** The most refs that one of its lists had beyond those that are kept. */
  #ignored = 0
  readonly #session: StoreSession
  readonly #remote: Remote

  constructor(session: StoreSession, remote: Remote) {
    this.#session = session
    this.#remote = remote
  }

  /** Marks the start of an exchange: a head that is noted with it was seen after this. */
  mark(): Promise<number> {
    return this.#session.seenRemotes.mark()
  }

  seen(): Promise<SeenHead | undefined> {
    return this.#session.seenRemotes.find(this.#remote.name, this.#remote.url)
  }

  /** The head that it has shown, if our history contains it: a restored store may have less. */
  async seenHere(): Promise<SeenHead | undefined> {
    const seen = await this.seen()
    if (seen === undefined) return undefined
    const look = async (): Promise<boolean> => {
      const { commit } = await this.#session.reading(({ head }) => head)
      return this.#leadsTo(commit, seen)
    }
    const leads = await onOneState(this.#session, look).catch((error: unknown) => {
      if (!hasCode(error, 'ref_conflict')) throw error
      // Redactions keep interrupting: search in an exclusive turn.
      return this.#session.planning(() => this.#leadsTo(this.#session.snapshot.head.commit, seen))
    })
    return leads ? seen : undefined
  }

  /** Walks back over all unsent commits, which may be many. */
  #leadsTo(head: Oid, wanted: SeenHead): Promise<boolean> {
    return inSlices(containsRecord(this.#session, head, wanted))
  }

  /**
   * Notes the head that the remote has shown since the mark durably, and in the tracking ref for
   * git's tools. Fetches that are settled with it are forgotten in the same write.
   */
  async note(head: SeenHead, mark: number, settled: readonly Oid[] = []): Promise<void> {
    const { name, url } = this.#remote
    const { objects, seenRemotes, clock } = this.#session
    const { exchange } = objects
    const seen = { ...head, seenAt: clock.now() }
    await objects.exclusive(() => seenRemotes.note(name, url, seen, { mark, settled }))
    await exchange.track(name, head.oid)
  }

  /** Notes the refs in one of its lists. */
  shows({ named, ignored }: Pick<RemoteRefs, 'named' | 'ignored'>): void {
    this.named = named
    let count = 0
    for (const one of ignored.values()) count += one
    this.#ignored = Math.max(this.#ignored, count)
  }

  /**
   * The number of refs that it lists beyond those that are kept; undefined without any, and unless
   * they are more than a user was told before. `isRead`: a user is told now.
   */
  async countIgnored(isRead: boolean): Promise<number | undefined> {
    const count = this.#ignored
    const { name, url } = this.#remote
    const { objects, seenRemotes } = this.#session
    const told = await seenRemotes.ignoredRefs(name, url)
    // Syncs of members may be removing some.
    if (count > 0 && count <= told) return undefined
    if (count !== told && isRead)
      await objects.exclusive(() => seenRemotes.noteIgnoredRefs(name, url, count))
    return count === 0 ? undefined : count
  }

  /** Removes the head that was refused before; called after a successful sync. */
  async forgetRefused(): Promise<void> {
    await this.#session.objects.exchange.forgetRefused(this.#remote.name)
  }

  /**
   * Commits of ours that a remote with this head certainly has, with their ancestors. A redaction
   * may have given the others new ids.
   */
  async commitsBehind(head: Oid, options: WorkOptions): Promise<readonly Oid[]> {
    if (this.#session.objects.read(head) !== undefined) return [head]
    const seen = await this.seen()
    if (seen?.oid !== head || seen.intactBelow === undefined) return []
    const { intactBelow } = seen
    const history = await this.#session.loadHistory(options)
    const entry = findRecord(this.#session, history, seen)
    if (entry === undefined) return []
    const isThere = history.pastOf(entry)
    const tips = history.newest(({ height, position }) => height < intactBelow && isThere(position))
    return tips.map(({ oid }) => oid)
  }
}

export interface RemoteStatus extends Remote {
  /**
   * The number of our commits that it lacked when it was last seen; undefined for a remote on which
   * this device has never seen this store.
   */
  readonly unsent: number | undefined
  /** When it was last synced with, by this machine's clock, ms since 1970. */
  readonly syncedAt: number | undefined
  /** Where its refused head is kept: a bare repository, as a path from the store's directory. */
  readonly evidence: string | undefined
}

/** In the order of the repository's config. */
export async function readRemoteStatus(session: StoreSession): Promise<readonly RemoteStatus[]> {
  const remotes: RemoteStatus[] = []
  for (const remote of session.objects.exchange.remotes()) {
    const unsent = await countUnsent(session, remote)
    const seen = await session.seenRemotes.find(remote.name, remote.url)
    const syncedAt = seen?.seenAt
    remotes.push({ ...remote, unsent, syncedAt, evidence: findEvidence(session, remote) })
  }
  return remotes
}

function findEvidence({ objects }: StoreSession, { name }: Remote): string | undefined {
  try {
    return objects.exchange.refused(name)
  } catch (error) {
    // git allows the name, but a sync does not.
    if (hasCode(error, 'invalid_input')) return undefined
    throw error
  }
}

/** More commits than this are counted in the history, which takes less time than a walk. */
const WALKED_MAX = 500

/** The number that `findUnsent` finds: after an import it is large, and a page asks often. */
async function countUnsent(session: StoreSession, remote: Remote): Promise<number | undefined> {
  const seen = await new RemoteState(session, remote).seen()
  const { height } = await session.reading(({ head }) => head)
  if (seen !== undefined && height - seen.height > WALKED_MAX) {
    const history = await session.loadHistory()
    const entry = history.findCommit(seen.oid, seen.height)
    if (entry !== undefined) {
      const isThere = history.pastOf(entry)
      let count = 0
      for (let at = 0; at < history.commits.length; at += 1) if (!isThere(at)) count += 1
      return count
    }
  }
  return (await findUnsent(session, remote))?.length
}

/**
 * Our commits that a remote lacked when it was last seen; undefined for one on which this device
 * has never seen this store.
 */
export async function findUnsent(
  session: StoreSession,
  remote: Remote,
): Promise<readonly Oid[] | undefined> {
  const known = new RemoteState(session, remote)
  const seen = await known.seen()
  if (seen === undefined) return undefined
  const { commit } = await session.reading(({ head }) => head)
  if (seen.oid === commit) return []
  const there = await known.commitsBehind(seen.oid, {})
  return (await findOutgoing(session.objects, commit, there)).map(({ oid }) => oid)
}

/**
 * Erases what these heads hold of it, durably when it resolves. In one transition: a purge between
 * two would take from one head what another one builds on. `remains` are heads that do not verify.
 */
async function eraseBroughtBack(
  session: StoreSession,
  heads: readonly RemoteHead[],
  options: WorkOptions,
  remains: readonly Oid[] = [],
): Promise<void> {
  const write: Build<boolean> = async () => {
    const built = await buildErasure(session, heads, options, remains)
    return { built, result: built !== undefined }
  }
  if (await session.writing(write, true)) await session.erase()
}

/** Erases redacted versions that a head brought back which is not adopted. */
export async function eraseRejected(
  session: StoreSession,
  incoming: Incoming,
  theirs: RemoteHead,
  options: WorkOptions,
): Promise<void> {
  // Otherwise nothing of it is in the store.
  if (incoming.isEmpty) await eraseBroughtBack(session, [theirs], options)
}

/** A transition that keeps the head. Undefined if there is nothing to erase. Call writing alone. */
export async function buildErasure(
  session: StoreSession,
  heads: readonly RemoteHead[],
  options: WorkOptions,
  remains: readonly Oid[] = [],
): Promise<BuiltCommit | undefined> {
  const history = await session.historyNow(options)
  const dead = new Set<Oid>()
  const gone = [...remains]
  for (const theirs of heads) {
    try {
      for (const oid of await redactedOf(session, theirs, options)) dead.add(oid)
    } catch (error) {
      if (!hasCode(error, 'object_missing')) throw error
      // An earlier transition has marked it dead, and the purge is faster.
      gone.push(theirs.snapshot.head.commit)
    }
  }
  for (const head of gone) {
    for (const oid of await inSlices(remainsOf(session, history, head), options.signal)) {
      dead.add(oid)
    }
  }
  if (dead.size === 0) return undefined
  return { snapshot: session.snapshot, objects: [], dead }
}

/** The objects that a head has and would not have after our redactions. */
async function redactedOf(
  session: StoreSession,
  theirs: RemoteHead,
  options: WorkOptions,
): Promise<Iterable<Oid>> {
  const { redacted } = session.snapshot
  const known = theirs.snapshot.redacted
  const versionIds = new Set([...redacted].filter((id) => !known.has(id)))
  if (versionIds.size === 0) return []
  const source = sourceWith(session, { ...theirs, objects: session.objects })
  const history = await loadTheirs(session, theirs, options)
  const rewritten = await rewriteHead({ source, history, versionIds, emit: drop, ...options })
  return rewritten?.dead ?? []
}

/** Nothing of the head is kept, so the rewritten objects are not stored. */
async function drop(): Promise<void> {}

/** The commits of a head that our history lacks and that are still stored, and their memories. */
function* remainsOf(
  session: StoreSession,
  history: History,
  head: Oid,
): Generator<undefined, readonly Oid[]> {
  const ours = history.oids()
  const remains: Oid[] = []
  const reached = new Set([head])
  for (const oid of reached) {
    yield
    const links = ours.has(oid) ? undefined : findLinksOf(session, oid)
    if (links === undefined) continue
    remains.push(oid, ...memoriesOf(session, history, oid, links.tree))
    for (const parent of links.parents) reached.add(parent)
  }
  return remains
}

function findLinksOf({ objects }: StoreSession, oid: Oid): ReturnType<typeof findLinks> {
  return tolerant(undefined, () => {
    const object = objects.read(oid)
    return object?.type === 'commit' ? findLinks(object.body) : undefined
  })
}

/** The contents that a commit wrote, unless our history has them too. */
function memoriesOf(session: StoreSession, history: History, oid: Oid, root: Oid): readonly Oid[] {
  const { objects, storeId, epochs, snapshot } = session
  return tolerant([], () => {
    const memories = getTree(objects, root).find(({ name }) => name === 'm')?.oid
    const body = objects.read(oid)?.body
    if (memories === undefined || body === undefined) return []
    const { record, hash } = decodeCommit(storeId, epochs, oid, body)
    const source: HistorySource = { objects, storeId, epochs }
    const isOurs =
      findRecord(source, history, { height: record.height, record: hash }) !== undefined
    const kept = new Set<string>()
    for (const { memoryId, versionId } of record.rows) {
      if (isOurs && !snapshot.redacted.has(versionId)) kept.add(memoryId)
    }
    return record.rows.flatMap(({ memoryId, operation }) => {
      if (kept.has(memoryId) || operation === undefined || operation === 'deleted') return []
      return findBlob(objects, memories, memoryId) ?? []
    })
  })
}

/** Returns `otherwise` if an object is unreadable: a purge has erased it, or no key opens it. */
function tolerant<T>(otherwise: T, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (isVerdict(error)) return otherwise
    throw error
  }
}

/** Notes heads durably, before any of their objects becomes part of the store. */
export function noteFetches(
  { objects, seenRemotes }: StoreSession,
  heads: readonly Oid[],
): Promise<void> {
  return objects.exclusive(() => seenRemotes.noteFetches(heads))
}

/**
 * Runs after a sync has adopted the remote's head: erases the redacted versions that noted heads
 * still hold, and returns the heads that are in our own history, missing or refused. Most of them
 * are missing soon: the merge with a head that held redacted versions has marked it dead, and a
 * purge may erase it, or its ancestors, while it is verified here.
 */
export async function findSettled(
  session: StoreSession,
  options: SyncOptions,
): Promise<readonly Oid[]> {
  const { objects, seenRemotes } = session
  const heads = await seenRemotes.fetches()
  const found: Oid[] = []
  for (const head of heads) if (await isUnsettled(session, head, options)) found.push(head)
  let unsettled: readonly Oid[] = found
  if (unsettled.length > 0 && (await session.reading(({ redacted }) => redacted.size > 0))) {
    const history = await session.loadHistory(options)
    const verified = await verifyAll(session, history, unsettled, options)
    const refused = unsettled.filter((head) => !verified.has(head))
    await eraseBroughtBack(session, [...verified.values()], options, refused)
    unsettled = [...verified.keys()].filter((head) => objects.read(head) !== undefined)
  }
  return heads.filter((head) => !unsettled.includes(head))
}

async function isUnsettled(
  session: StoreSession,
  head: Oid,
  { signal }: SyncOptions,
): Promise<boolean> {
  const { objects } = session
  const { commit } = await session.reading((now) => now.head)
  // Looked for last: a purge may take it between two turns.
  if (objects.read(head) === undefined) return false
  return !(await inSlices(containsCommit(objects, commit, head), signal))
}

/** Verifies each head; those that are refused are not in the result. */
async function verifyAll(
  session: StoreSession,
  history: History,
  heads: readonly Oid[],
  options: SyncOptions,
): Promise<ReadonlyMap<Oid, RemoteHead>> {
  const verified = new Map<Oid, RemoteHead>()
  const from = { session, objects: session.objects }
  for (const head of heads) {
    try {
      verified.set(head, await verifyRemoteHead(from, history, head, options))
    } catch (error) {
      if (!isVerdict(error)) throw error
    }
  }
  return verified
}
