// What this store knows of its remotes without contacting them: the newest head that each has
// shown, which commits of ours it certainly has, how many it lacks, and which refused pack is kept.

import type { WorkOptions } from '../../async.ts'
import { hasCode } from '../../errors.ts'
import type { Remote } from '../../git/exchange.ts'
import type { Oid } from '../../git/objects/object.ts'
import { inSlices } from '../../time-slice.ts'
import type { RemoteAccess } from '../../transport/remote-access.ts'
import { containsRecord } from '../commits/ancestors.ts'
import { findOutgoing } from '../commits/outgoing.ts'
import { findRecord } from '../history/known-commit.ts'
import type { SeenHead } from '../local/remote-state-file.ts'
import { onOneState } from '../session/one-state.ts'
import type { StoreSession } from '../session/session.ts'
import type { SyncOptions } from './report.ts'

/** One sync with one remote. */
export interface Peer {
  readonly session: StoreSession
  readonly remote: Remote
  readonly known: RemoteState
  readonly options: SyncOptions
}

/** How this machine reaches the remote. */
export function accessOf({ remote, options }: Peer): RemoteAccess {
  return { signal: options.signal, ...options.access, url: remote.url }
}

export class RemoteState {
  readonly #session: StoreSession
  readonly #remote: Remote

  constructor(session: StoreSession, remote: Remote) {
    this.#session = session
    this.#remote = remote
  }

  /** Marks the start of an exchange: a head that is noted with it was seen after this. */
  mark(): number {
    return this.#session.seenRemotes.mark()
  }

  seen(): SeenHead | undefined {
    return this.#session.seenRemotes.find(this.#remote.name, this.#remote.url)
  }

  /** The head that it has shown, if our history contains it: a restored store may have less. */
  async seenHere(): Promise<SeenHead | undefined> {
    const seen = this.seen()
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
    const { objects, seenRemotes } = this.#session
    const { exchange } = objects
    await objects.exclusive(() => seenRemotes.note(name, url, head, { mark, settled }))
    await exchange.track(name, head.oid)
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
    const seen = this.seen()
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
  /** Where its refused head is kept: a bare repository, as a path from the store's directory. */
  readonly evidence: string | undefined
}

/** In the order of the repository's config. */
export async function readRemoteStatus(session: StoreSession): Promise<readonly RemoteStatus[]> {
  const remotes: RemoteStatus[] = []
  for (const remote of session.objects.exchange.remotes()) {
    const unsent = (await findUnsent(session, remote))?.length
    remotes.push({ ...remote, unsent, evidence: findEvidence(session, remote) })
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

/**
 * Our commits that a remote lacked when it was last seen; undefined for one on which this device
 * has never seen this store.
 */
export async function findUnsent(
  session: StoreSession,
  remote: Remote,
): Promise<readonly Oid[] | undefined> {
  const known = new RemoteState(session, remote)
  const seen = known.seen()
  if (seen === undefined) return undefined
  const { commit } = await session.reading(({ head }) => head)
  if (seen.oid === commit) return []
  const there = await known.commitsBehind(seen.oid, {})
  return (await findOutgoing(session.objects, commit, there)).map(({ oid }) => oid)
}
